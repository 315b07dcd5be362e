// noVNC's client with the two things that this page adds to its keyboard: the viewer's own layout (layout.js), and
// characters that no key of the guest has, which go through the node's `type` action in their turn.

import RFB from './novnc/core/rfb.js';
import {Layout} from './layout.js';

export class Guest extends RFB {
    #layout = new Layout();
    #waiting = null; // keys that came while a character is being typed by the node, or null

    /** Called with a character that has no key; gives a promise that is kept when it has been dealt with. */
    type_character = async () => {};

    /** Whether the viewer's CapsLock is on. */
    set caps(on) {
        this.#layout.caps = on;
    }

    sendKey(keysym, code, down) {
        if (down === undefined) {
            this.sendKey(keysym, code, true);
            this.sendKey(keysym, code, false);
            return;
        }
        if (this.viewOnly) return;
        if (this.#waiting) this.#waiting.push([keysym, code, down]);
        else this.#send(keysym, code, down);
    }

    /** Presses keys given as [keysym, code] one after the other and lets go of them in reverse, as they lie. */
    chord(keys) {
        for (const [keysym, code] of keys) super.sendKey(keysym, code, true);
        for (const [keysym, code] of [...keys].reverse()) super.sendKey(keysym, code, false);
    }

    /** Presses or lets go of one key as it lies. */
    hold([keysym, code], down) {
        super.sendKey(keysym, code, down);
    }

    #send(keysym, code, down) {
        const {events, text} = this.#layout.translate(keysym, code, down);
        for (const event of events) super.sendKey(...event);
        if (text) this.#type(text);
    }

    async #type(text) {
        this.#waiting = [];
        for (const event of this.#layout.shifts(false)) super.sendKey(...event);
        try {
            await this.type_character(text);
        } finally {
            for (const event of this.#layout.shifts(true)) super.sendKey(...event);
            const waiting = this.#waiting;
            this.#waiting = null;
            // Another such character may be among them: then the rest waits again.
            for (const event of waiting) this.sendKey(...event);
        }
    }
}
