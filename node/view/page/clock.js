// The time that the lease has left, counted down between what the node says.

/** Seconds as a person reads them: "2 h 05 min", "59:07". */
export function as_time(seconds) {
    const whole = Math.max(0, Math.ceil(seconds));
    const two = (number) => String(number).padStart(2, '0');
    if (whole >= 3600) return `${Math.floor(whole / 3600)} h ${two(Math.floor(whole / 60) % 60)} min`;
    return `${Math.floor(whole / 60)}:${two(whole % 60)}`;
}

const WARN_SECONDS = 60;

/** Shows the time left in an element; warns once when the last minute begins. */
export class Clock {
    #element;
    #warn;
    #ends_at = null; // by performance.now()
    #timer = 0;
    #warned = false;

    /** warn(): called when no more than a minute is left. */
    constructor(element, warn) {
        this.#element = element;
        this.#warn = warn;
    }

    /** seconds: what is left now; null: the lease has no time limit. */
    set(seconds) {
        clearTimeout(this.#timer);
        this.#ends_at = seconds === null ? null : performance.now() + seconds * 1000;
        this.#element.hidden = false;
        if (this.#ends_at === null) {
            this.#element.textContent = 'no time limit';
            this.#element.dataset.level = 'calm';
        } else {
            this.#tick();
        }
    }

    /** The lease is over: nothing is counted any more. */
    stop() {
        clearTimeout(this.#timer);
        this.#element.hidden = true;
    }

    #tick() {
        const left = (this.#ends_at - performance.now()) / 1000;
        const last = left <= WARN_SECONDS;
        this.#element.textContent = left > 0 ? `${as_time(left)} left` : 'ending';
        this.#element.dataset.level = last ? 'last' : 'calm';
        if (last && !this.#warned) {
            this.#warned = true;
            this.#warn();
        }
        if (!last) this.#warned = false;
        // At the moment when the shown second changes, not some time after it.
        if (left > 0) this.#timer = setTimeout(() => this.#tick(), (left % 1) * 1000 + 5);
    }
}
