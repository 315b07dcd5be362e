'use strict';
// See hostile.html. window.attack(view, api, lease) gives {loot: [what was got], tried: number}.

window.attack = async (view, api, lease) => {
    const loot = [];
    let tried = 0;
    const got = (what, value) => loot.push(`${what}: ${String(value).slice(0, 200)}`);
    const patience = (promise, ms = 4000) => Promise.race([promise, new Promise((resolve) => setTimeout(resolve, ms))]);
    const attempt = async (what, act) => {
        tried += 1;
        try {
            const value = await patience(act());
            if (value !== undefined && value !== null && value !== false) got(what, value);
        } catch {
            // refused, as it must be
        }
    };
    const click = JSON.stringify({op: 'click', x: 100, y: 100});
    const type = JSON.stringify({op: 'type', text: 'hostile'});
    const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

    // Reading by fetch: an answer that can be read at all is loot, whatever its status.
    for (const path of ['', 'vnc.html', 'status', 'screenshot', 'assets/page.js', 'websockify']) {
        await attempt(`fetch ${path}`, async () => (await fetch(view + path)).status);
        await attempt(`fetch with credentials ${path}`, async () => (await fetch(view + path, {credentials: 'include'})).status);
        await attempt(`fetch no-cors ${path}`, async () => (await (await fetch(view + path, {mode: 'no-cors'})).text()) || null);
    }
    for (const path of ['v1/leases', 'v1/node', 'v1/pairing', `v1/leases/${lease}`, `v1/leases/${lease}/view`, `v1/leases/${lease}/screenshot`]) {
        await attempt(`fetch node ${path}`, async () => (await fetch(api + path)).status);
    }

    // Acting without reading the answer: what the guest got is looked at by the test.
    for (const body of [click, type]) {
        for (const kind of ['text/plain', 'application/x-www-form-urlencoded', 'application/json']) {
            await attempt('blind POST', async () => {
                await fetch(`${view}action`, {method: 'POST', mode: 'no-cors', headers: {'Content-Type': kind}, body});
                return null;
            });
            await attempt('blind POST to the node', async () => {
                await fetch(`${api}v1/leases/${lease}/actions`, {method: 'POST', mode: 'no-cors', headers: {'Content-Type': kind}, body});
                return null;
            });
        }
        await attempt('beacon', async () => {
            navigator.sendBeacon(`${view}action`, body);
            return null;
        });
    }
    await attempt('readable POST', async () => (await fetch(`${view}action`, {method: 'POST', body: click})).status);
    await attempt('session', async () => (await fetch(`${view}session`, {method: 'POST'})).status);
    await attempt('bearer', async () => (await fetch(`${view}status`, {headers: {Authorization: `Bearer ${'0'.repeat(64)}`}})).status);

    // A form, whose enctype text/plain can be made to look like JSON.
    await attempt('form', async () => {
        const frame = document.createElement('iframe');
        frame.name = 'target';
        const form = document.createElement('form');
        Object.assign(form, {method: 'post', action: `${view}action`, enctype: 'text/plain', target: 'target'});
        const field = document.createElement('input');
        Object.assign(field, {name: '{"op":"click","x":100,"y":100,"_":"', value: '"}'});
        form.append(field);
        document.body.append(frame, form);
        form.submit();
        await wait(800);
        return frame.contentDocument && frame.contentDocument.body.innerText ? frame.contentDocument.body.innerText : null;
    });

    // The screen by WebSocket: opening it is loot.
    const socket = (address, protocols) => () => new Promise((resolve, reject) => {
        const line = new WebSocket(address, protocols);
        line.onopen = () => resolve(`opened, protocol ${line.protocol}`);
        line.onerror = reject;
    });
    const ws = view.replace('http', 'ws');
    await attempt('socket', socket(`${ws}websockify`, ['binary']));
    await attempt('socket bare', socket(`${ws}websockify`));
    await attempt('socket with a guess', socket(`${ws}websockify`, ['binary', `berthos.${'0'.repeat(64)}`]));
    await attempt('socket with an empty token', socket(`${ws}websockify?token=`, ['binary']));

    // What a page may include from elsewhere.
    const element = (tag, properties, loaded) => () => new Promise((resolve, reject) => {
        const made = document.createElement(tag);
        made.onload = () => resolve(loaded(made));
        made.onerror = reject;
        Object.assign(made, properties);
        document.body.append(made);
    });
    for (const path of ['screenshot', '']) {
        await attempt(`img ${path}`, element('img', {src: view + path}, (image) => `${image.naturalWidth}x${image.naturalHeight}`));
        await attempt(`script ${path}`, element('script', {src: view + path}, () => 'ran'));
    }
    await attempt('script page.js', element('script', {src: `${view}assets/page.js`, type: 'module'}, () => 'ran'));
    await attempt('script session.js', element('script', {src: `${view}assets/session.js`}, () => 'ran'));
    await attempt('style', element('link', {rel: 'stylesheet', href: `${view}assets/page.css`}, () => 'applied'));
    await attempt('object', element('object', {data: view}, (made) => (made.contentDocument ? 'loaded' : null)));
    await attempt('iframe', element('iframe', {src: view}, (frame) => {
        try {
            return frame.contentDocument && frame.contentDocument.querySelector('#badge') ? 'the page' : null;
        } catch {
            // Of another origin, as an error page is too; the test looks into the frames itself.
            return null;
        }
    }));

    // A window of its own, and reading in it.
    await attempt('window', async () => {
        const opened = window.open(view);
        await wait(1500);
        if (!opened) return null;
        try {
            return opened.document.title || opened.sessionStorage.length;
        } finally {
            opened.close();
        }
    });
    await attempt('storage', async () => (sessionStorage.length + localStorage.length) || null);
    await attempt('cookies', async () => document.cookie || null);
    return {loot, tried};
};
