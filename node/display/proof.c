#include "display/proof.h"

#include "base/clock.h"
#include "base/sync.h"

#define CONFIRM_MS 10000 /* how long an agent may owe its answer */
#define RETRY_US   100000

/* Asks the agent until it answers. In slices that grow, so that a caller who goes away is noticed. */
static int ask_agent(struct turn *turn, struct error *err)
{
    const struct display_helper *helper = &turn->input->helper;
    int64_t until_ms = clock_deadline(CONFIRM_MS);
    for (int64_t slice_ms = 1000;; slice_ms += 1000) {
        struct error why = ERROR_INIT;
        if (helper->confirm(helper->context, clock_deadline(slice_ms), &why) == 0)
            return 0;
        if (why.code == ERROR_PAUSED || why.code == ERROR_NOT_FOUND) {
            *err = why;
            return -1;
        }
        LOCK_SCOPE(&turn->session->mutex);
        if (clock_left_ms(until_ms) == 0 && turn_check(turn, err) == 0)
            return error_set(err, ERROR_GUEST_FAILED,
                             "the guest does not take input: its agent has not answered for %d s (%s)",
                             CONFIRM_MS / 1000, why.text);
        if (turn_hold_until(turn, clock_monotonic_us() + RETRY_US, true, err) < 0)
            return -1;
    }
}

static void *run_question(void *argument)
{
    struct turn *turn = argument;
    struct error err = ERROR_INIT;
    int result = ask_agent(turn, &err);
    LOCK_SCOPE(&turn->session->mutex);
    turn->question.result = result;
    turn->question.err = err;
    turn->question.answered = true;
    pthread_cond_broadcast(&turn->session->changed);
    return NULL;
}

static void note_taken(struct input_state *input, uint64_t keys, uint64_t moves)
{
    input->keys_taken = keys > input->keys_taken ? keys : input->keys_taken;
    input->moves_taken = moves > input->moves_taken ? moves : input->moves_taken;
}

int proof_ask(struct turn *turn, struct error *err)
{
    struct input_state *input = turn->input;
    struct turn_question *question = &turn->question;
    uint64_t keys = input->keys_delivered;
    uint64_t moves = turn->session->echoes >= input->move_ping ? input->moves_sent : input->moves_taken;
    if (!input->helper.confirm)
        note_taken(input, keys, moves);
    if (question->asked || (keys <= input->keys_taken && moves <= input->moves_taken))
        return 0;
    *question = (struct turn_question){.keys = keys, .moves = moves};
    if (sync_thread_start(&question->thread, "display-ask", run_question, turn, err) < 0)
        return -1;
    question->asked = true;
    return 0;
}

int proof_hear(struct turn *turn, struct error *err)
{
    struct turn_question *question = &turn->question;
    if (!question->answered)
        return 0;
    pthread_join(question->thread, NULL); /* all that it still does is to let go of the mutex, as it has */
    question->asked = question->answered = false;
    if (question->result < 0) {
        *err = question->err;
        return -1;
    }
    note_taken(turn->input, question->keys, question->moves);
    return 0;
}

void proof_join(struct turn *turn)
{
    if (turn->question.asked)
        pthread_join(turn->question.thread, NULL);
    turn->question.asked = false;
}

int proof_await(struct turn *turn, struct error *err)
{
    struct session *session = turn->session;
    struct input_state *input = turn->input;
    LOCK_SCOPE(&session->mutex);
    if (turn_await(turn, input->move_ping, err) < 0)
        return -1;
    for (;;) {
        if (turn_check(turn, err) < 0 || proof_hear(turn, err) < 0)
            return -1;
        if (input->keys_taken >= input->keys_delivered && input->moves_taken >= input->moves_sent)
            return 0;
        if (proof_ask(turn, err) < 0)
            return -1;
        if (turn->question.asked && !turn->question.answered)
            sync_cond_wait(&session->changed, &session->mutex, turn->deadline_ms);
    }
}
