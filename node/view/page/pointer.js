// What a pointer has beyond the guest's mouse: the wheel's sideways turns, and the buttons back and forward. QEMU's VNC
// server knows neither, so they go through the node's actions, where the guest has a helper for them.

const NOTCH = 50;               // pixels of a turn, as noVNC takes it for the other direction
const LINE = 19, PAGE = 400;    // pixels of a turn told in lines, in pages
const SIDE = {3: 'back', 4: 'forward'};

/** stage: where it happens. canvas(): the guest's screen or null. act(action): has the node do it; may reject. */
export function set_up_pointer(stage, canvas, act) {
    let turned = 0, busy = false, refused = false;

    const pixel = (event) => {
        const screen = canvas();
        const box = screen.getBoundingClientRect();
        const scale = screen.width / box.width;
        return {x: Math.min(screen.width - 1, Math.max(0, Math.floor((event.clientX - box.left) * scale))),
                y: Math.min(screen.height - 1, Math.max(0, Math.floor((event.clientY - box.top) * scale)))};
    };
    // One at a time, and none any more where the guest has no helper: that does not change under a lease.
    const send = async (action) => {
        if (busy || refused) return;
        busy = true;
        try {
            await act(action);
        } catch (problem) {
            refused = problem.status === 422;
        }
        busy = false;
    };
    const on_screen = (event) => canvas() !== null && event.target === canvas();

    stage.addEventListener('wheel', (event) => {
        if (!on_screen(event) || Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
        event.preventDefault();
        event.stopPropagation();
        turned += event.deltaX * [1, LINE, PAGE][event.deltaMode];
        const dx = Math.trunc(turned / NOTCH);
        if (!dx || busy) return;
        turned -= dx * NOTCH;
        send({op: 'scroll', ...pixel(event), dx: Math.min(100, Math.max(-100, dx))});
    }, {capture: true, passive: false});

    for (const kind of ['mousedown', 'mouseup']) {
        stage.addEventListener(kind, (event) => {
            if (!(event.button in SIDE) || !canvas()) return;
            // Without this the browser would leave the page.
            event.preventDefault();
            event.stopPropagation();
            if (kind === 'mousedown' && on_screen(event)) send({op: 'click', ...pixel(event), button: SIDE[event.button]});
        }, true);
    }
}
