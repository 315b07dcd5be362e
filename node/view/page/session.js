// The right to see the guest, as this tab holds it, and requests made with it.
//
// A link brings a ticket (or a pairing token) as ?token=. It is taken out of the address bar before anything else, and
// exchanged for a secret of this tab's own. The secret lives in sessionStorage: that is bound to the whole origin,
// port included, and dies with the tab. A cookie would be sent to every port of this host, each of them perhaps
// another program's; localStorage would outlive the tab.

const KEY = 'berthos.session';
const PATIENCE_MS = 10000;

/** The node's answer was a refusal: its HTTP status, machine word and sentence. */
export class Refusal extends Error {
    constructor(status, code, sentence) {
        super(sentence);
        this.status = status;
        this.code = code;
    }
}

/** There was no answer at all: the network, the tunnel or the node is gone, or it took too long. */
export class Unreachable extends Error {}

/**
 * One request to this view's own listener.
 * options: method, body (a document), signal (to give it up), patience_ms (0: as long as it takes).
 * Gives the Response, whose status is a success; throws Refusal, Unreachable, or the signal's AbortError.
 */
async function request(path, bearer, options = {}) {
    const {method = 'GET', body, signal, patience_ms = PATIENCE_MS} = options;
    const given_up = new AbortController();
    const give_up = () => given_up.abort();
    const timer = patience_ms ? setTimeout(give_up, patience_ms) : 0;
    if (signal) {
        if (signal.aborted) give_up();
        signal.addEventListener('abort', give_up);
    }
    const headers = {Authorization: `Bearer ${bearer}`};
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    let answer;
    try {
        // The default mode, 'cors', is on purpose: in others the no-referrer policy turns Origin into "null",
        // which the node refuses.
        answer = await fetch(path, {
            method, headers, body: body === undefined ? undefined : JSON.stringify(body),
            cache: 'no-store', credentials: 'omit', redirect: 'error', signal: given_up.signal,
        });
    } catch (error) {
        if (signal && signal.aborted) throw error;
        throw new Unreachable('no answer from the node');
    } finally {
        clearTimeout(timer);
        // The signal stays bound where a body is still to be read: giving up then ends that too.
        if (signal && !answer) signal.removeEventListener('abort', give_up);
    }
    if (answer.ok) return answer;
    const document = await answer.json().catch(() => ({}));
    throw new Refusal(answer.status, String(document.code || ''),
                      String(document.error || `the node answered with status ${answer.status}`));
}

/** Takes the token of a link out of the address bar: {token, or null; narrow: only to watch}. */
function take_token() {
    const address = new URL(location.href);
    const token = address.searchParams.get('token');
    const narrow = address.searchParams.get('mode') === 'watch';
    if (address.search || address.hash) history.replaceState(null, '', address.pathname);
    return {token, narrow};
}

// In memory until the node has answered to it, so that a node out of reach for a moment does not cost the link.
const brought = take_token();

export class Session {
    /** Only for open(): what the tab holds. */
    constructor(held) {
        this.secret = held.secret;
        this.mode = held.mode;
        this.lease_id = held.lease_id;
    }

    /**
     * Uses the link that opened this page, or what an earlier load of this tab left. Gives [session, status document].
     * Throws Refusal (status 401: the link is of no use; with code 'stale': what was left is of none; with 'no_link':
     * there is neither) or Unreachable.
     */
    static async open() {
        const {token, narrow} = brought;
        const kept = Session.#kept();
        if (token) {
            try {
                const answer = await request(narrow ? 'session?mode=watch' : 'session', token, {method: 'POST'});
                const held = await answer.json();
                brought.token = null;
                const session = new Session(held);
                session.#keep();
                return [session, {state: 'live', ...held}];
            } catch (error) {
                // A link opened twice in one tab: what the first time gave is still good.
                if (!(error instanceof Refusal && error.status === 401 && kept)) throw error;
            }
        }
        if (!kept) throw new Refusal(401, 'no_link', 'this address has no link of a lease in it');
        try {
            return [kept, await kept.status()];
        } catch (error) {
            if (!(error instanceof Refusal && error.status === 401) || token) throw error;
            kept.forget();
            throw new Refusal(401, 'stale', error.message);
        }
    }

    static #kept() {
        try {
            const held = JSON.parse(sessionStorage.getItem(KEY));
            return held && typeof held.secret === 'string' ? new Session(held) : null;
        } catch {
            return null;
        }
    }

    #keep() {
        try {
            sessionStorage.setItem(KEY, JSON.stringify({secret: this.secret, mode: this.mode, lease_id: this.lease_id}));
        } catch {
            // A browser without storage: the view works, a reload needs a fresh link.
        }
    }

    /** The secret is of no use any more. */
    forget() {
        try {
            sessionStorage.removeItem(KEY);
        } catch {
            // nothing was kept
        }
    }

    /** What the node says of the lease and of this viewer now. */
    async status(patience_ms = PATIENCE_MS) {
        return (await request('status', this.secret, {patience_ms})).json();
    }

    /** Has the guest do one action; takes as long as that takes. signal gives it up, and the node releases its keys. */
    async act(action, signal) {
        return (await request('action', this.secret, {method: 'POST', body: action, signal, patience_ms: 0})).json();
    }

    /** The guest's screen as a PNG. */
    async screenshot() {
        return (await request('screenshot', this.secret)).blob();
    }

    /** A WebSocket to the guest's screen. A browser cannot set headers on one, so the secret goes as a subprotocol. */
    socket() {
        const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
        const path = new URL('websockify', location.href).pathname;
        return new WebSocket(`${scheme}://${location.host}${path}`, ['binary', `berthos.${this.secret}`]);
    }
}
