// Where each printable character lies on the guest's keyboard, which is a US one.
//
// noVNC sends QEMU the place of a key, so a German "z" would arrive as the "y" of the US layout. Here a key that stands
// for a printable character is moved to the place that this character has on the guest's keyboard, with Shift as that
// place needs it. On a US keyboard nothing changes.

const ROWS = [
    ['Backquote', '`~'], ['Digit1', '1!'], ['Digit2', '2@'], ['Digit3', '3#'], ['Digit4', '4$'], ['Digit5', '5%'],
    ['Digit6', '6^'], ['Digit7', '7&'], ['Digit8', '8*'], ['Digit9', '9('], ['Digit0', '0)'], ['Minus', '-_'],
    ['Equal', '=+'], ['BracketLeft', '[{'], ['BracketRight', ']}'], ['Backslash', '\\|'], ['Semicolon', ';:'],
    ['Quote', '\'"'], ['Comma', ',<'], ['Period', '.>'], ['Slash', '/?'], ['Space', ' '],
];

const PLACES = new Map();
for (const [code, characters] of ROWS) {
    [...characters].forEach((character, level) => PLACES.set(character, {code, shift: level === 1, letter: false}));
}
for (const character of 'abcdefghijklmnopqrstuvwxyz') {
    const place = {code: `Key${character.toUpperCase()}`, letter: true};
    PLACES.set(character, {...place, shift: false});
    PLACES.set(character.toUpperCase(), {...place, shift: true});
}

const SHIFT_LEFT = 0xffe1, SHIFT_RIGHT = 0xffe2, LEVEL3 = 0xfe03, MODE_SWITCH = 0xff7e;
const SHIFTS = {ShiftLeft: SHIFT_LEFT, ShiftRight: SHIFT_RIGHT};

/** The character that a keysym beyond ASCII stands for (Latin-1 and the Unicode range), or ''. */
function foreign_character(keysym) {
    if (keysym >= 0xa0 && keysym <= 0xff) return String.fromCodePoint(keysym);
    if (keysym > 0x01000100 && keysym <= 0x0110ffff) return String.fromCodePoint(keysym - 0x01000000);
    return '';
}

/** Follows what is down, and turns each event of the viewer's keyboard into events of the guest's. */
export class Layout {
    #shifts = new Set();
    /** Whether the viewer's CapsLock is on: it was sent to the guest as any key, and makes its case there. */
    caps = false;
    #moved = new Map(); // code of the viewer's key -> [keysym, code] it was sent as, or null: not sent

    /** The Shift keys that are down, as events that let go of them (or, with press, take them again). */
    shifts(press) {
        return [...this.#shifts].map((code) => [SHIFTS[code], code, press]);
    }

    /**
     * One event: keysym and code as noVNC gives them. Gives {events: [[keysym, code, down], ...], text}, where text is a
     * character that no key of the guest has, to be typed by other means, else ''.
     */
    translate(keysym, code, down) {
        if (code in SHIFTS) {
            if (down) this.#shifts.add(code);
            else this.#shifts.delete(code);
            return {events: [[keysym, code, down]], text: ''};
        }
        if (!down) {
            const as = this.#moved.get(code);
            if (as === undefined) return {events: [[keysym, code, false]], text: ''};
            this.#moved.delete(code);
            return {events: as ? [[as[0], as[1], false]] : [], text: ''};
        }
        // The guest's keyboard has no third level: what AltGr makes comes as its character.
        if (keysym === LEVEL3 || keysym === MODE_SWITCH) return this.#unsent(code, '');
        const text = foreign_character(keysym);
        if (text) return this.#unsent(code, text);

        const place = keysym >= 0x20 && keysym <= 0x7e ? PLACES.get(String.fromCharCode(keysym)) : undefined;
        if (!place || String(code).startsWith('Numpad')) return {events: [[keysym, code, true]], text: ''};
        const shifted = this.#shifts.size > 0;
        // A capital without Shift or CapsLock comes from keyboards on a screen; QEMU would press CapsLock for it.
        const same_shift = (place.letter && this.caps) || place.shift === shifted;
        if (place.code !== code) this.#moved.set(code, [keysym, place.code]);
        const press = [keysym, place.code, true];
        if (same_shift) return {events: [press], text: ''};
        if (place.shift) {
            return {events: [[SHIFT_LEFT, 'ShiftLeft', true], press, [SHIFT_LEFT, 'ShiftLeft', false]], text: ''};
        }
        return {events: [...this.shifts(false), press, ...this.shifts(true)], text: ''};
    }

    #unsent(code, text) {
        this.#moved.set(code, null);
        return {events: [], text};
    }
}
