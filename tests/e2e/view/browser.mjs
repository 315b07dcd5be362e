// Lets a Python test use Playwright: one JSON document a line in, one out. browser.py is the other end.
//
// In:  {id, target, path, args}: calls target.path(...args), as {target: 3, path: "keyboard.press", args: ["a"]}
// Out: {id, value} or {id, error}. A value that is no plain data becomes {"$handle": n}, bytes {"$bytes": base64}.
// Target 0 is the browser; a page's `$log` is what happened on it: console, errors, requests, refused by policy,
// downloads, WebSocket messages sent.

import {createInterface} from 'node:readline';
import {chromium} from 'playwright-core';

const browser = await chromium.launch({
    executablePath: process.env.BERTHOS_TEST_CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', ...process.argv.slice(2)],
});
const handles = [browser];
const logs = new Map();

function follow(page) {
    const log = {console: [], errors: [], requests: [], violations: [], downloads: [], sent: 0};
    logs.set(page, log);
    page.on('console', (message) => {
        const text = message.text();
        if (text.startsWith('VIOLATION ')) log.violations.push(text.slice(10));
        else log.console.push(`${message.type()}: ${text}`);
    });
    page.on('pageerror', (error) => log.errors.push(String(error)));
    page.on('request', (request) => log.requests.push(request.url()));
    page.on('websocket', (socket) => {
        log.requests.push(socket.url());
        socket.on('framesent', () => { log.sent += 1; });
    });
    page.on('download', (download) => log.downloads.push(download.suggestedFilename()));
}

function is_plain(value) {
    return value === null || typeof value !== 'object' || Array.isArray(value) ||
        Object.getPrototypeOf(value) === Object.prototype;
}

function outward(value) {
    if (value === undefined) return null;
    if (Buffer.isBuffer(value)) return {$bytes: value.toString('base64')};
    if (Array.isArray(value)) return value.map(outward);
    if (is_plain(value)) return value;
    let at = handles.indexOf(value);
    if (at < 0) at = handles.push(value) - 1;
    if (typeof value.mainFrame === 'function' && !logs.has(value)) follow(value);
    return {$handle: at};
}

function inward(value) {
    if (value && typeof value === 'object' && '$handle' in value) return handles[value.$handle];
    return value;
}

async function call({target, path, args}) {
    let object = handles[target];
    if (path === '$log') return logs.get(object);
    const names = path.split('.');
    const last = names.pop();
    for (const name of names) {
        // In the library pages and contexts are reached by methods or properties alike.
        object = object[name];
    }
    return object[last](...(args || []).map(inward));
}

const lines = createInterface({input: process.stdin});
process.stdout.write('{"ready": true}\n');
lines.on('line', async (line) => {
    const request = JSON.parse(line);
    let answer;
    try {
        answer = {id: request.id, value: outward(await call(request))};
    } catch (error) {
        answer = {id: request.id, error: String(error.message || error)};
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
});
lines.on('close', async () => {
    await browser.close().catch(() => {});
    process.exit(0);
});
