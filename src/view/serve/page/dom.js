// Builds elements from values. Text always stays text: no code of the page parses it as markup.

const svgSpace = 'http://www.w3.org/2000/svg';

// Characters that could mislead a reader: controls (except tabs and line ends), bidirectional and
// invisible format characters. eslint-disable-next-line no-control-regex
const harmful = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

export function harmless(text) {
    return String(text).replace(harmful, (c) => {
        const code = c.charCodeAt(0);
        return code < 0x100 ? '\\x' + code.toString(16).toUpperCase().padStart(2, '0') : `\\u{${code.toString(16).toUpperCase()}}`;
    });
}

function fill(node, props, children) {
    for (const [key, value] of Object.entries(props || {})) {
        if (value === undefined || value === null || value === false)
            continue;
        if (key.startsWith('on'))
            node.addEventListener(key.slice(2), value);
        else if (key === 'value' || key === 'checked' || key === 'disabled')
            node[key] = value;
        else
            node.setAttribute(key, value === true ? '' : typeof value === 'number' ? value : harmless(value));
    }
    add(node, children);
    return node;
}

function add(node, children) {
    for (const child of children.flat(9)) {
        if (child === undefined || child === null || child === false)
            continue;
        node.append(child instanceof Node ? child : document.createTextNode(harmless(child)));
    }
}

// h('a', {href: '#x', onclick: fn}, 'text', child, [children])
export function h(tag, props, ...children) {
    return fill(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
    return fill(document.createElementNS(svgSpace, tag), props, children);
}

export function put(node, ...children) {
    node.replaceChildren();
    add(node, children);
    return node;
}

// Sets the text only if it differs, so that nothing is redrawn needlessly.
export function say(node, text) {
    const safe = harmless(text);
    if (node.textContent !== safe)
        node.textContent = safe;
}

// Calls fn in the next frame, once, however often it is requested.
export function soon(fn) {
    let asked = false;
    return () => {
        if (asked)
            return;
        asked = true;
        requestAnimationFrame(() => {
            asked = false;
            fn();
        });
    };
}
