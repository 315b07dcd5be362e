// The line to the guest's screen: opens it, notices that it broke, and decides what that means.
//
// A line that breaks is taken up again after growing pauses, without touching the guest: the node lets go of whatever
// this viewer held down. Nothing is tried again once the node has said that it is of no use, nor for ever when it says
// nothing any more.

import {Refusal, Unreachable} from './session.js';
import {Guest} from './guest.js';

const PAUSES_MS = [300, 1000, 2000, 4000, 8000];
const GIVE_UP_MS = 60000;       // without any answer of the node
const STATUS_MS = 10000, STATUS_HIDDEN_MS = 60000;
const STATUS_PATIENCE_MS = 8000;
const MISSED = 2;               // so many looks at the status without an answer: the line is dead
const VIEWERS_MAX = 8;

const CLOSED = {4001: 'ended', 4002: 'revoked'};
const WHY = {
    4003: 'This viewer read too slowly and was dropped. The guest runs on, untouched.',
    4004: 'The guest\u2019s display does not answer.',
    4005: 'The node is stopping. The lease may go on when it is back.',
};

/**
 * Dispatches CustomEvents:
 *   state   {state, why, wait_ms}: connecting, connected, waiting (tries again in wait_ms), or for good: ended, revoked,
 *           stale (the node knows this session no more), full, gone
 *   status  the node's status document
 * After 'connected', guest is the noVNC client; it is null otherwise.
 */
export class Link extends EventTarget {
    guest = null;
    #session;
    #target;
    #prepare;
    #stopped = true;
    #tries = 0;
    #silent_since = null; // when the node stopped answering, by performance.now()
    #missed = 0;
    #timer = 0;
    #poll = 0;
    #socket = null;
    #expires_at = null;   // by performance.now()

    /** target: the element that the screen goes into. prepare(guest): called for each client before it connects. */
    constructor(session, target, prepare) {
        super();
        this.#session = session;
        this.#target = target;
        this.#prepare = prepare;
    }

    /** Begins, or begins again after an end. */
    start() {
        this.#stopped = false;
        this.#tries = 0;
        this.#silent_since = null;
        this.#connect();
    }

    /** Tries at once instead of at the end of a pause: the network or the window is back. */
    hurry() {
        if (this.#stopped || this.#socket) return;
        clearTimeout(this.#timer);
        this.#connect();
    }

    /** Takes in a status document, wherever it came from. */
    note(status) {
        if (status.seconds_left !== undefined) {
            this.#expires_at = status.seconds_left === null ? null : performance.now() + status.seconds_left * 1000;
        }
        this.dispatchEvent(new CustomEvent('status', {detail: status}));
    }

    #say(state, more = {}) {
        this.dispatchEvent(new CustomEvent('state', {detail: {state, why: '', wait_ms: 0, ...more}}));
    }

    #end(state) {
        this.#stopped = true;
        clearTimeout(this.#timer);
        clearTimeout(this.#poll);
        if (state !== 'full' && state !== 'gone') this.#session.forget();
        this.#say(state);
    }

    #connect() {
        this.#say('connecting');
        const socket = this.#session.socket();
        this.#socket = socket;
        let opened = false;
        socket.addEventListener('open', () => { opened = true; });
        socket.addEventListener('close', (event) => this.#closed(socket, opened, event.code));
        const guest = new Guest(this.#target, socket, {shared: true});
        this.#prepare(guest);
        guest.addEventListener('connect', () => {
            this.guest = guest;
            this.#tries = 0;
            this.#silent_since = null;
            this.#missed = 0;
            this.#say('connected');
            this.#watch();
        });
        // noVNC takes itself apart on what it cannot read, without the socket having closed by then.
        guest.addEventListener('disconnect', () => socket.close());
    }

    #closed(socket, opened, code) {
        if (socket !== this.#socket) return;
        this.#socket = null;
        this.guest = null;
        clearTimeout(this.#poll);
        if (this.#stopped) return;
        if (code in CLOSED) this.#end(CLOSED[code]);
        else this.#judge(opened, WHY[code] || '');
    }

    /** The line is down and nobody said that it is for good: asks the node. */
    async #judge(opened, why) {
        try {
            const status = await this.#session.status(STATUS_PATIENCE_MS);
            if (this.#stopped || this.#socket) return;
            this.#silent_since = null;
            this.note(status);
            if (status.state === 'ended') this.#end('ended');
            else if (!opened && status.viewers >= VIEWERS_MAX) this.#end('full');
            else this.#wait(why);
        } catch (error) {
            if (this.#stopped || this.#socket) return;
            if (error instanceof Refusal && error.status === 401) this.#end(this.#is_over() ? 'ended' : 'stale');
            else if (error instanceof Refusal && error.status === 404) this.#end('ended');
            else if (error instanceof Unreachable) this.#wait_for_node(why);
            else this.#wait(why || error.message);
        }
    }

    #is_over() {
        return this.#expires_at !== null && performance.now() >= this.#expires_at;
    }

    #wait_for_node(why) {
        const now = performance.now();
        if (this.#silent_since === null) this.#silent_since = now;
        if (this.#is_over()) this.#end('ended');
        else if (now - this.#silent_since >= GIVE_UP_MS) this.#end('gone');
        else this.#wait(why || 'The node does not answer. The guest runs on, as far as this page knows.');
    }

    #wait(why) {
        const pause = PAUSES_MS[Math.min(this.#tries, PAUSES_MS.length - 1)];
        this.#tries += 1;
        // Many viewers that lost one node must not come back in one instant.
        const wait_ms = Math.round(pause * (1 + Math.random() / 4));
        this.#say('waiting', {why, wait_ms});
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#connect(), wait_ms);
    }

    /** Looks at the status now and then: for the clock and the viewers, and to notice a line that is dead in silence. */
    #watch() {
        clearTimeout(this.#poll);
        const look = async () => {
            const socket = this.#socket;
            try {
                const status = await this.#session.status(STATUS_PATIENCE_MS);
                this.#missed = 0;
                if (this.#stopped || socket !== this.#socket) return;
                this.note(status);
            } catch (error) {
                if (this.#stopped || socket !== this.#socket) return;
                if (error instanceof Unreachable) this.#missed += 1;
                if (this.#missed >= MISSED) {
                    this.#drop();
                    return;
                }
            }
            this.#poll = setTimeout(look, document.hidden ? STATUS_HIDDEN_MS : STATUS_MS);
        };
        look();
    }

    /** Gives the line up without waiting for the other end's farewell, which may never come. */
    #drop() {
        const socket = this.#socket;
        this.#socket = null;
        const guest = this.guest;
        this.guest = null;
        if (guest) guest.disconnect();
        else if (socket) socket.close();
        this.#wait_for_node('');
    }
}
