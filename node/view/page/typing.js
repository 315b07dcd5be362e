// The dialog that has the node type a text into the guest.

const MAX_CHARACTERS = 16384;

/** Opens from its button. session(): who types. done(count): called when that many characters were entered. */
export function set_up_typing(session, done) {
    const $ = (id) => document.getElementById(id);
    const dialog = $('type-dialog'), text = $('type-text'), enter = $('type-enter'), send = $('type-send');
    const error = $('type-error'), count = $('type-count');
    let at_work = null; // the AbortController of a text being typed

    const normal = () => text.value.replace(/\r\n?/g, '\n');
    const length = () => [...normal()].length;
    const say_error = (sentence) => {
        error.textContent = sentence;
        error.hidden = !sentence;
    };
    const show = () => {
        const characters = length();
        count.textContent = at_work ? `Typing ${characters.toLocaleString('en')} characters\u2026`
            : `${characters.toLocaleString('en')} of at most ${MAX_CHARACTERS.toLocaleString('en')} characters`;
        send.disabled = at_work !== null || characters === 0 || characters > MAX_CHARACTERS;
        text.readOnly = at_work !== null;
        $('type-cancel').textContent = at_work ? 'Stop' : 'Close';
    };

    $('type').addEventListener('click', () => {
        say_error('');
        show();
        dialog.showModal();
        text.focus();
        text.select();
    });
    text.addEventListener('input', () => {
        say_error('');
        show();
    });
    text.addEventListener('keydown', (event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !send.disabled) {
            event.preventDefault();
            dialog.querySelector('form').requestSubmit(send);
        }
    });
    // Escape stops a text under way first, and closes when there is none.
    const leave = (event) => {
        if (at_work) {
            event.preventDefault();
            at_work.abort();
        } else if (event.type === 'click') {
            dialog.close();
        }
    };
    dialog.addEventListener('cancel', leave);
    $('type-cancel').addEventListener('click', leave);

    dialog.querySelector('form').addEventListener('submit', async (event) => {
        event.preventDefault();
        if (send.disabled) return;
        const characters = length();
        const actions = [{op: 'type', text: normal()}];
        if (enter.checked) actions.push({op: 'key', keys: 'Return'});
        at_work = new AbortController();
        say_error('');
        show();
        try {
            await session().act(actions.length === 1 ? actions[0] : {actions}, at_work.signal);
            at_work = null;
            text.value = '';
            dialog.close();
            done(characters);
        } catch (problem) {
            const stopped = at_work.signal.aborted;
            at_work = null;
            say_error(stopped ? 'Stopped. A part of the text may have been entered.' : problem.message);
        }
        show();
    });
    return {close: () => {
        if (at_work) at_work.abort();
        if (dialog.open) dialog.close();
    }};
}
