// The menu of keys that a browser or the viewer's own desktop keeps for itself, and modifiers that stay down.

const CTRL = [0xffe3, 'ControlLeft'], ALT = [0xffe9, 'AltLeft'], SHIFT = [0xffe1, 'ShiftLeft'];
const SUPER = [0xffeb, 'MetaLeft'], TAB = [0xff09, 'Tab'], ENTER = [0xff0d, 'Enter'];
const letter = (name) => [name.charCodeAt(0), `Key${name.toUpperCase()}`];
const f = (number) => [0xffbd + number, `F${number}`];

export const CTRL_ALT_DEL = [CTRL, ALT, [0xffff, 'Delete']];

const HELD = [['Ctrl', CTRL], ['Alt', ALT], ['Shift', SHIFT], ['Super', SUPER]];

const GROUPS = [
    ['Browser', [
        ['Ctrl+W', [CTRL, letter('w')]], ['Ctrl+T', [CTRL, letter('t')]], ['Ctrl+N', [CTRL, letter('n')]],
        ['Ctrl+Shift+T', [CTRL, SHIFT, letter('t')]], ['Ctrl+Shift+N', [CTRL, SHIFT, letter('n')]],
        ['Ctrl+Tab', [CTRL, TAB]], ['Ctrl+Shift+Tab', [CTRL, SHIFT, TAB]], ['Ctrl+Q', [CTRL, letter('q')]],
    ]],
    ['Desktop', [
        ['Alt+Tab', [ALT, TAB]], ['Alt+F4', [ALT, f(4)]], ['Super', [SUPER]], ['PrintScreen', [[0xff61, 'PrintScreen']]],
        ['Ctrl+Alt+Del', CTRL_ALT_DEL], ['Ctrl+Alt+F1', [CTRL, ALT, f(1)]], ['Ctrl+Alt+F2', [CTRL, ALT, f(2)]],
        ['Ctrl+Alt+F7', [CTRL, ALT, f(7)]],
    ]],
    ['Single keys', [
        ['Esc', [[0xff1b, 'Escape']]], ['Tab', [TAB]], ['Enter', [ENTER]], ['Backspace', [[0xff08, 'Backspace']]],
        ['F1', [f(1)]], ['F5', [f(5)]], ['F11', [f(11)]], ['F12', [f(12)]],
    ]],
];

/** The menu. It opens from its button, and is left by Escape, by Tab, or by choosing. */
export class KeyMenu {
    #button;
    #menu;
    #guest = () => null;
    #chosen;
    #held = new Map(); // name of a modifier -> its item

    /** guest(): the noVNC client or null. chosen(by_pointer): called when an item was used and the menu is closed. */
    constructor(button, menu, guest, chosen) {
        this.#button = button;
        this.#menu = menu;
        this.#guest = guest;
        this.#chosen = chosen;
        this.#fill();
        button.addEventListener('click', () => this.#toggle(menu.hidden));
        button.addEventListener('keydown', (event) => {
            if (event.key !== 'ArrowDown') return;
            event.preventDefault();
            this.#toggle(true);
        });
        menu.addEventListener('keydown', (event) => this.#key(event));
        document.addEventListener('pointerdown', (event) => {
            if (!menu.hidden && !menu.contains(event.target) && !button.contains(event.target)) this.#toggle(false);
        });
        menu.addEventListener('focusout', (event) => {
            if (event.relatedTarget && !menu.contains(event.relatedTarget) && event.relatedTarget !== button) this.#toggle(false);
        });
    }

    /** The line broke, and with it what was held. */
    forget_held() {
        for (const item of this.#held.values()) item.setAttribute('aria-checked', 'false');
        this.#mark();
    }

    close() {
        this.#toggle(false);
    }

    #fill() {
        const element = (tag, properties) => Object.assign(document.createElement(tag), properties);
        const group = (name) => {
            const box = element('div', {className: 'group'});
            box.setAttribute('role', 'group');
            box.setAttribute('aria-label', name);
            const heading = element('span', {className: 'name', textContent: name});
            heading.setAttribute('aria-hidden', 'true');
            box.append(heading);
            this.#menu.append(box);
            return box;
        };
        const item = (box, text, role, use) => {
            const button = element('button', {type: 'button', textContent: text, tabIndex: -1});
            button.setAttribute('role', role);
            button.addEventListener('click', use);
            box.append(button);
            return button;
        };
        const hold = group('Hold down');
        for (const [name, key] of HELD) {
            const button = item(hold, name, 'menuitemcheckbox', () => this.#hold(button, key));
            button.setAttribute('aria-checked', 'false');
            this.#held.set(name, button);
        }
        for (const [name, chords] of GROUPS) {
            const box = group(name);
            for (const [text, keys] of chords) {
                item(box, text, 'menuitem', (event) => {
                    this.#guest()?.chord(keys);
                    this.#toggle(false);
                    this.#button.focus();
                    this.#chosen(event.detail > 0);
                });
            }
        }
    }

    #hold(item, key) {
        const down = item.getAttribute('aria-checked') !== 'true';
        if (!this.#guest()) return;
        this.#guest().hold(key, down);
        item.setAttribute('aria-checked', String(down));
        this.#mark();
    }

    /** The button tells what is held, since the menu is closed while it matters. */
    #mark() {
        const names = [...this.#held].filter(([, item]) => item.getAttribute('aria-checked') === 'true').map(([name]) => name);
        this.#button.querySelector('span').textContent = names.length ? `Keys: ${names.join('+')} held` : 'Keys';
        this.#button.classList.toggle('holding', names.length > 0);
    }

    #toggle(open) {
        if (open === !this.#menu.hidden) return;
        this.#menu.hidden = !open;
        this.#button.setAttribute('aria-expanded', String(open));
        if (open) this.#menu.querySelector('button').focus();
    }

    #key(event) {
        const items = [...this.#menu.querySelectorAll('button')];
        const at = items.indexOf(document.activeElement);
        const steps = {ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1};
        if (event.key in steps) items[(at + steps[event.key] + items.length) % items.length].focus();
        else if (event.key === 'Home') items[0].focus();
        else if (event.key === 'End') items[items.length - 1].focus();
        else if (event.key === 'Escape' || event.key === 'Tab') {
            this.#toggle(false);
            this.#button.focus();
            if (event.key === 'Tab') return; // and on from there
        } else return;
        event.preventDefault();
        event.stopPropagation();
    }
}
