// The page of the guest view: puts its parts together and says in words how things stand.

import {Session, Refusal, Unreachable} from './session.js';
import {Link} from './link.js';
import {Clock} from './clock.js';
import {KeyMenu, CTRL_ALT_DEL} from './keys.js';
import {set_up_pointer} from './pointer.js';
import {Screen, save_picture, set_up_full_screen} from './screen.js';
import {set_up_typing} from './typing.js';

const $ = (id) => document.getElementById(id);
const CHORD_HINT = 'Keys go to the guest. Ctrl+Alt+Shift leads back to the controls.';
const FRESH = 'For a fresh link run: berth view';

// What each state says: in the bar, and on the card over the screen (title, text, hint, the action's name).
const WORDS = {
    starting: {bar: 'Connecting', title: 'Connecting to the guest\u2026', busy: true},
    connecting: {bar: 'Connecting', title: 'Connecting to the guest\u2026', busy: true},
    connected: {bar: 'Connected'},
    waiting: {bar: 'Reconnecting', title: 'Reconnecting\u2026', busy: true,
              text: 'The connection to the guest was interrupted. The guest runs on, untouched.'},
    ended: {bar: 'Ended', title: 'The lease has ended', final: true,
            text: 'The guest and its disk are gone.', hint: () => `The receipt: berth receipt ${session.lease_id}`},
    revoked: {bar: 'Revoked', title: 'Access was revoked', final: true,
              text: 'The node no longer lets this page see the guest.', hint: FRESH},
    stale: {bar: 'Over', title: 'This session is over', final: true,
            text: 'The node does not know this page any more: the lease has ended, or the node was started anew.', hint: FRESH},
    full: {bar: 'Full', title: 'Another 8 viewers are watching', final: true,
           text: 'A guest can be watched from 8 places at once. One of them has to leave first.', action: 'Try again'},
    gone: {bar: 'Gone', title: 'The node is gone', final: true,
           text: 'Nothing answers here any more: the lease has ended, the node was stopped, or the tunnel to it is closed.',
           hint: `If the lease is still live, the view may have another address now. ${FRESH}`, action: 'Try again'},
    used: {bar: 'No access', title: 'This link was used or is too old', final: true,
           text: 'A link opens the view once, within a minute.', hint: FRESH},
    no_link: {bar: 'No access', title: 'A link is needed', final: true,
              text: 'This address shows a leased guest to who has a link to it.', hint: FRESH},
    refused: {bar: 'Refused', title: 'The node refused', final: true, hint: FRESH},
};

let session = null;
let link = null;
let state = 'starting';
let control = false;
let told_of_chord = false;

const screen = new Screen($('screen'), $('frozen'));
const clock = new Clock($('time'), () => {
    tell('This lease ends in less than a minute. What is not saved elsewhere is lost with it.', true);
});
const keys = new KeyMenu($('keys'), $('keys-menu'), () => link && link.guest, to_guest_after);
const typing = set_up_typing(() => session, (count) => {
    tell(`${count.toLocaleString('en')} characters were typed.`);
    to_guest();
});

// --- saying things --------------------------------------------------------------------------------------------

let toast_timer = 0;

/** A short note on the screen that goes by itself, and for who listens instead of looking. */
function tell(sentence, urgent = false) {
    clearTimeout(toast_timer);
    $('toast').textContent = sentence;
    $('toast').classList.toggle('urgent', urgent);
    $('toast').hidden = false;
    $(urgent ? 'urgent' : 'polite').textContent = sentence;
    toast_timer = setTimeout(() => { $('toast').hidden = true; }, urgent ? 15000 : 5000);
}

/** The note is no longer true. */
function unsay(sentence) {
    if ($('toast').textContent === sentence) $('toast').hidden = true;
}

/** Shows a state; text replaces what it usually says. */
function show(next, text) {
    const words = WORDS[next];
    const changed = next !== state;
    state = next;
    $('app').dataset.state = next;
    $('state-text').textContent = words.bar;
    const card = $('card');
    card.hidden = !words.title;
    card.classList.toggle('busy', Boolean(words.busy));
    if (words.title) {
        const says = text || words.text || '';
        const hint = typeof words.hint === 'function' ? words.hint() : words.hint || '';
        $('card-title').textContent = words.title;
        $('card-text').textContent = says;
        $('card-text').hidden = !says;
        $('card-hint').textContent = hint;
        $('card-hint').hidden = !hint;
        $('card-action').textContent = words.action || '';
        $('card-action').hidden = !words.action;
    }
    const connected = next === 'connected';
    if (!connected) unsay(CHORD_HINT);
    for (const id of ['size', 'cad', 'keys']) $(id).disabled = !connected;
    for (const id of ['type', 'picture']) $(id).disabled = !session || Boolean(words.final);
    if (words.final) {
        keys.close();
        typing.close();
        clock.stop();
        $('viewers').hidden = true;
        document.title = `${words.title} – Berthos`;
        if (document.fullscreenElement) document.exitFullscreen();
        if (changed) {
            $('urgent').textContent = words.title;
            card.focus();
        }
    } else if (changed && (connected || next === 'waiting')) {
        $('polite').textContent = connected ? 'Connected to the guest.' : 'The connection was interrupted. Reconnecting.';
    }
    show_capture();
}

function show_lease(held) {
    control = held.mode === 'control';
    $('app').dataset.mode = held.mode;
    for (const element of document.querySelectorAll('.control')) element.hidden = !control;
    $('mode').hidden = false;
    $('mode').textContent = control ? 'Control' : 'Watch only';
    $('capture').hidden = !control;
    $('lease').hidden = false;
    $('lease').title = held.lease_id;
    $('lease').querySelector('code').textContent = held.lease_id;
    $('help-lease').textContent = held.lease_id;
    $('help-mode').textContent = control ? 'see the guest and use its keyboard and pointer'
        : 'watch; the node takes no key and no click from this page';
    document.title = `GUEST ${held.lease_id.slice(0, 10)} – Berthos`;
}

function show_status(status) {
    if (status.seconds_left !== undefined) {
        clock.set(status.seconds_left);
        $('help-ends').textContent = status.expires_at
            ? new Date(status.expires_at).toLocaleString() : 'when it is ended; it has no time limit';
    }
    if (status.viewers !== undefined) {
        $('viewers').hidden = status.viewers < 2;
        $('viewers').textContent = `${status.viewers} viewers`;
    }
}

// --- the keyboard's way between the guest and the controls -----------------------------------------------------

function captured() {
    return control && screen.canvas !== null && document.activeElement === screen.canvas;
}

/** The line in the bar keeps its place whatever it says: nothing may move under a pointer that is pressed. */
function show_capture() {
    const hint = captured() ? ['Keys go to the guest. ', ' leads back here.'] : ['Click the screen to type into the guest. ', ' comes back.'];
    const chord = document.createElement('kbd');
    chord.textContent = 'Ctrl+Alt+Shift';
    $('capture').replaceChildren(hint[0], chord, hint[1]);
    $('app').classList.toggle('captured', captured());
    // Where the bar has no room for that line it is told once.
    if (captured() && !told_of_chord) {
        told_of_chord = true;
        if (getComputedStyle($('capture')).display === 'none') tell(CHORD_HINT);
    }
}

function to_guest() {
    if (control && screen.canvas) screen.canvas.focus({preventScroll: true});
}

/** After a control was used: who clicked it wants to go on in the guest, who pressed it by key may want it again. */
function to_guest_after(by_pointer) {
    if (by_pointer) to_guest();
}

/** noVNC lets go of all keys when the window loses the focus; the canvas alone losing it is the same to the guest. */
function release_keys() {
    window.dispatchEvent(new Event('blur'));
}

const down = new Set();
const CHORD = [/^Control/, /^AltLeft$/, /^Shift/];

function watch_chord(event) {
    if (event.type === 'keyup') {
        down.delete(event.code);
        return;
    }
    if (link && link.guest) link.guest.caps = event.getModifierState('CapsLock');
    down.add(event.code);
    if (down.size !== CHORD.length || !CHORD.every((one) => [...down].some((code) => one.test(code)))) return;
    event.preventDefault();
    event.stopPropagation();
    down.clear();
    release_keys();
    unsay(CHORD_HINT);
    first_control().focus();
}

function first_control() {
    return [...$('tools').querySelectorAll('button')].find((button) => !button.hidden && !button.disabled) || $('help');
}

function set_up_keyboard() {
    $('stage').addEventListener('keydown', watch_chord, true);
    $('stage').addEventListener('keyup', watch_chord, true);
    window.addEventListener('blur', () => down.clear());
    $('stage').addEventListener('focusin', show_capture);
    $('stage').addEventListener('focusout', () => {
        down.clear();
        release_keys();
        // by then the next element has the focus
        setTimeout(show_capture, 0);
    });
    $('tools').addEventListener('keydown', (event) => {
        const buttons = [...$('tools').querySelectorAll('button')].filter((button) => !button.hidden && !button.disabled);
        const at = buttons.indexOf(document.activeElement);
        const steps = {ArrowRight: 1, ArrowLeft: -1};
        if (event.key in steps && at >= 0) buttons[(at + steps[event.key] + buttons.length) % buttons.length].focus();
        else if (event.key === 'Escape' && $('keys-menu').hidden) to_guest();
        else return;
        event.preventDefault();
    });
}

// --- controls -----------------------------------------------------------------------------------------------

function show_size() {
    $('size').setAttribute('aria-pressed', String(screen.actual));
    $('app').classList.toggle('actual', screen.actual);
}

function set_up_controls() {
    show_size();
    $('size').addEventListener('click', (event) => {
        screen.set_actual(!screen.actual);
        show_size();
        to_guest_after(event.detail > 0);
    });
    set_up_full_screen($('full'), $('app'), () => to_guest());
    $('cad').addEventListener('click', (event) => {
        link.guest?.chord(CTRL_ALT_DEL);
        tell('Ctrl-Alt-Del was pressed in the guest.');
        to_guest_after(event.detail > 0);
    });
    $('picture').addEventListener('click', async (event) => {
        to_guest_after(event.detail > 0);
        try {
            tell(`Saved as ${await save_picture(session)}.`);
        } catch (problem) {
            tell(`There is no picture: ${problem.message}`, true);
        }
    });
    $('help').addEventListener('click', () => $('help-dialog').showModal());
    $('card-action').addEventListener('click', () => {
        if (link) link.start();
        else start();
    });
}

// --- the line ---------------------------------------------------------------------------------------------------

function prepare(guest) {
    screen.prepare(guest);
    guest.viewOnly = !control;
    guest.type_character = async (text) => {
        try {
            await session.act({op: 'type', text});
        } catch (problem) {
            tell(problem instanceof Refusal ? problem.message : `\u201c${text}\u201d could not be typed.`, true);
        }
    };
}

function follow(next) {
    if (next.state === 'connected') {
        screen.connected(control);
        show('connected');
        // Whoever is at a control or in a dialog stays there.
        if ([document.body, $('card'), null].includes(document.activeElement)) to_guest();
        show_capture();
        return;
    }
    if (state === 'connected') keys.forget_held();
    const final = Boolean(WORDS[next.state].final);
    if (next.state !== 'connecting') screen.disconnected(final);
    // From one try to the next the card does not flicker between its two words.
    if (next.state === 'connecting' && state === 'waiting') return;
    show(next.state, final ? '' : next.why);
}

async function start() {
    show('starting');
    try {
        const [opened, status] = await Session.open();
        session = opened;
        show_lease(session);
        show_status(status);
        if (status.state === 'ended') {
            session.forget();
            show('ended');
            return;
        }
        link = new Link(session, $('screen'), prepare);
        link.addEventListener('state', (event) => follow(event.detail));
        link.addEventListener('status', (event) => show_status(event.detail));
        link.note(status);
        link.start();
    } catch (problem) {
        if (problem instanceof Unreachable) show('gone');
        else if (problem instanceof Refusal && ['no_link', 'stale'].includes(problem.code)) show(problem.code);
        else if (problem instanceof Refusal && problem.status === 401) show('used');
        else if (problem instanceof Refusal) show('refused', problem.message);
        else throw problem;
    }
}

set_up_keyboard();
set_up_controls();
set_up_pointer($('stage'), () => (control && link && link.guest ? screen.canvas : null), (action) => session.act(action));
window.addEventListener('online', () => link && link.hurry());
document.addEventListener('visibilitychange', () => {
    if (!document.hidden && link) link.hurry();
});
start();
