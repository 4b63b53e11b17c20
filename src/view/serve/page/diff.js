// The changes of a task, file by file. Colours and signs mark added and removed lines.

import {h, put, say} from './dom.js';
import {plural} from './format.js';
import {api, runPath} from './live.js';

const openMax = 400, chunk = 200;

// Parses a unified diff of git.
function parse(text) {
    const files = [];
    let file;
    for (const line of text.split('\n')) {
        if (line.startsWith('diff --git ')) {
            file = {name: line.slice(11), lines: [], add: 0, del: 0, inside: false};
            files.push(file);
        } else if (!file) {
            continue;
        } else if (!file.inside && (line.startsWith('--- ') || line.startsWith('+++ '))) {
            const name = line.slice(4).replace(/^[ab]\//, '');
            if (name !== '/dev/null')
                file.name = name;
        } else if (line.startsWith('@@')) {
            file.inside = true;
            file.lines.push(['hunk', line]);
        } else if (file.inside && line.startsWith('+')) {
            file.add++;
            file.lines.push(['add', line]);
        } else if (file.inside && line.startsWith('-')) {
            file.del++;
            file.lines.push(['del', line]);
        } else if (file.inside) {
            file.lines.push(['', line]);
        } else if (!line.startsWith('index ')) {
            file.lines.push(['meta', line]);
            file.name = /^rename to (.*)/.exec(line)?.[1] ?? file.name;
        }
    }
    for (const f of files) {
        if (f.lines.at(-1)?.[1] === '')
            f.lines.pop();
    }
    return files;
}

function fileNode(file, open) {
    const body = h('pre', {});
    const node = h('details', {class: 'panel file', ontoggle: () => node.open && !body.firstChild && fillIn()},
        h('summary', {}, file.name, ' ', h('b', {class: 'plus'}, `+${file.add}`), ' ', h('b', {class: 'minus'}, `−${file.del}`)), body);
    function fillIn() {
        for (let i = 0; i < file.lines.length; i += chunk)
            body.append(h('div', {}, file.lines.slice(i, i + chunk).map(([kind, text]) => h('span', {class: kind}, text))));
    }
    if (open) {
        node.open = true;
        fillIn();
    }
    return node;
}

export function diffView({run, task}) {
    const head = h('p', {class: 'muted', role: 'status'}, 'Loading');
    const box = h('div', {class: 'scroll', role: 'region', 'aria-label': 'Changes', tabindex: 0});
    let shown;

    function show(diff) {
        const files = parse(diff.text);
        let lines = 0;
        const add = files.reduce((n, f) => n + f.add, 0), del = files.reduce((n, f) => n + f.del, 0);
        put(head, files.length ? `${plural(files.length, 'file')} changed, ` : 'No changes.',
            files.length ? [h('b', {class: 'plus'}, `+${add}`), ' ', h('b', {class: 'minus'}, `−${del}`)] : null,
            diff.to ? '' : ' saved, not committed', diff.cut ? '; cut here, "anabranch diff" shows all' : '');
        put(box, files.map((f) => {
            lines += f.lines.length;
            return fileNode(f, f.lines.length <= openMax && lines <= 4 * openMax);
        }));
    }

    async function load() {
        const key = `${task.commit || ''} ${task.attempts}`;
        if (shown === key)
            return;
        shown = key;
        try {
            show(await api(runPath(run.id, 'tasks', task.id, 'diff')));
        } catch (error) {
            put(box);
            say(head, error.message);
        }
    }

    load();
    return {node: [head, box], update: load};
}
