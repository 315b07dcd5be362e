// How the guest's screen is shown: fitted to the window or in its own size, in full screen, sharp; and saved as a file.

const KEPT = 'berthos.size';

/** The picture of a broken line, and the size of a living one. */
export class Screen {
    #screen;
    #frozen;
    #guest = null;
    #canvas = null;
    actual = false;

    constructor(screen, frozen) {
        this.#screen = screen;
        this.#frozen = frozen;
        try {
            this.actual = sessionStorage.getItem(KEPT) === 'actual';
        } catch {
            // then it is fitted
        }
        new ResizeObserver(() => this.#sharpen()).observe(screen);
    }

    get canvas() {
        return this.#canvas;
    }

    /** A client that has not connected yet. */
    prepare(guest) {
        guest.background = 'transparent';
        guest.scaleViewport = !this.actual;
        guest.showDotCursor = true;
        guest.qualityLevel = 9;
        this.#guest = guest;
    }

    /** The client has connected: its canvas becomes a part of the page that can be reached and is named. */
    connected(control) {
        const canvas = this.#screen.querySelector('canvas');
        this.#canvas = canvas;
        canvas.setAttribute('role', control ? 'application' : 'img');
        canvas.setAttribute('aria-label', control
            ? 'The guest\u2019s screen. Keys go to the guest. Control, Alt and Shift together lead back to the controls.'
            : 'The guest\u2019s screen, to watch only.');
        if (control) canvas.tabIndex = 0;
        this.#frozen.hidden = true;
        this.#frozen.replaceChildren();
        new MutationObserver(() => this.#sharpen()).observe(canvas, {attributes: true, attributeFilter: ['style', 'width']});
        this.#sharpen();
    }

    /** The line is down: its last picture stays, dimmed, or with forget goes. */
    disconnected(forget) {
        this.#guest = null;
        if (this.#canvas && !forget) {
            this.#canvas.removeAttribute('tabindex');
            this.#canvas.removeAttribute('role');
            this.#canvas.removeAttribute('aria-label');
            this.#frozen.replaceChildren(this.#canvas);
            this.#frozen.hidden = false;
        } else if (forget) {
            this.#frozen.replaceChildren();
            this.#frozen.hidden = true;
        }
        this.#canvas = null;
    }

    /** true: one pixel of the guest is one of the page. false: as large as there is room. */
    set_actual(actual) {
        this.actual = actual;
        if (this.#guest) this.#guest.scaleViewport = !actual;
        try {
            sessionStorage.setItem(KEPT, actual ? 'actual' : 'fit');
        } catch {
            // then only this page remembers
        }
    }

    /** A whole multiple of the guest's pixels is shown as such; in between the browser's smoothing looks better. */
    #sharpen() {
        const canvas = this.#canvas;
        if (!canvas || !canvas.width) return;
        const scale = canvas.getBoundingClientRect().width * window.devicePixelRatio / canvas.width;
        canvas.classList.toggle('whole', scale > 0.99 && Math.abs(scale - Math.round(scale)) < 0.005);
    }
}

/** Saves a picture of the guest under a name that says whose and when. */
export async function save_picture(session) {
    const picture = await session.screenshot();
    const link = document.createElement('a');
    link.href = URL.createObjectURL(picture);
    const now = new Date().toISOString().slice(0, 19).replace(/:/g, '-');
    link.download = `guest-${session.lease_id.slice(0, 10)}-${now}Z.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    return link.download;
}

/** Full screen, in which the browser hands over its own keys where it can. on(state): called at each change. */
export function set_up_full_screen(button, app, on) {
    if (!app.requestFullscreen) {
        button.hidden = true;
        return;
    }
    button.addEventListener('click', async () => {
        if (document.fullscreenElement) {
            await document.exitFullscreen();
            return;
        }
        await app.requestFullscreen({navigationUI: 'hide'});
        // Chromium only. Escape then goes to the guest, and leaves full screen when it is held.
        if (navigator.keyboard && navigator.keyboard.lock) await navigator.keyboard.lock().catch(() => {});
    });
    document.addEventListener('fullscreenchange', () => {
        const full = document.fullscreenElement !== null;
        if (!full && navigator.keyboard && navigator.keyboard.unlock) navigator.keyboard.unlock();
        button.setAttribute('aria-pressed', String(full));
        on(full);
    });
}
