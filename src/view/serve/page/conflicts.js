// Tasks that changed the same files: in conflict, mergeable, or ordered by a dependency.

import {h, put} from './dom.js';
import {plural} from './format.js';
import {api, runPath} from './live.js';

const shownMax = 40;

function ancestors(plan) {
    const known = new Map();
    return (id) => {
        if (!known.has(id)) {
            const seen = new Set(), open = [...(plan.get(id)?.depends_on || [])];
            while (open.length) {
                const next = open.pop();
                if (seen.has(next))
                    continue;
                seen.add(next);
                open.push(...(plan.get(next)?.depends_on || []));
            }
            known.set(id, seen);
        }
        return known.get(id);
    };
}

export function conflictsView({run}) {
    const head = h('p', {class: 'muted', role: 'status'}, 'Loading');
    const box = h('div', {class: 'panel scroll', role: 'region', 'aria-label': 'Matrix of tasks', tabindex: 0});
    const detail = h('div', {class: 'panel paths', hidden: true, 'aria-live': 'polite'});
    let key;

    function link(id) {
        return h('a', {href: `#/r/${encodeURIComponent(run.id)}/task/${encodeURIComponent(id)}/diff`}, id);
    }

    function show(pair, what) {
        detail.hidden = false;
        put(detail, h('h2', {}, link(pair.a), ' and ', link(pair.b), `: ${what}`), h('ul', {}, pair.paths.map((p) => h('li', {}, p)),
            pair.n > pair.paths.length ? h('li', {}, `and ${pair.n - pair.paths.length} more`) : null));
    }

    function draw(answer, plan) {
        const before = ancestors(plan), degree = new Map(), cell = new Map();
        for (const pair of answer.pairs) {
            for (const id of [pair.a, pair.b])
                degree.set(id, (degree.get(id) || 0) + 1);
            cell.set(`${pair.a}\n${pair.b}`, pair).set(`${pair.b}\n${pair.a}`, pair);
        }
        const kind = (pair) => {
            if (pair.conflict)
                return ['clash', 'in conflict'];
            if (before(pair.a).has(pair.b) || before(pair.b).has(pair.a))
                return ['ordered', 'one depends on the other'];
            return ['meets', pair.conflict === false ? 'both changed it, merges' : 'both changed it, merged'];
        };
        const ids = [...degree.keys()].sort((a, b) => degree.get(b) - degree.get(a)).slice(0, shownMax)
            .sort((a, b) => run.byId.get(a).place - run.byId.get(b).place);
        put(head, answer.pairs.length ? `${plural(degree.size, 'task')} share changed files with another task, in ${plural(answer.pairs.length, 'pair')}` :
            `${plural(answer.compared, 'task')} with commits: no file was changed by two of them.`,
        ids.length < degree.size ? `; the ${ids.length} with the most are shown` : '', answer.cut ? '; there are more' : '');
        box.hidden = !ids.length;
        const worst = answer.pairs.find((pair) => kind(pair)[0] === 'clash') || answer.pairs[0];
        detail.hidden = !worst;
        if (worst)
            show(worst, kind(worst)[1]);
        put(box, h('table', {class: 'matrix'}, h('caption', {class: 'visually-hidden'}, 'Number of files that two tasks have both changed'),
            h('thead', {}, h('tr', {}, h('td', {class: 'self'}), ids.map((id) => h('th', {scope: 'col'}, h('span', {}, id))))),
            h('tbody', {}, ids.map((row) => h('tr', {}, h('th', {scope: 'row'}, link(row)), ids.map((column) => {
                const pair = cell.get(`${row}\n${column}`);
                if (row === column || !pair)
                    return h('td', {class: row === column ? 'self' : ''});
                const [name, what] = kind(pair);
                return h('td', {class: name}, h('button', {type: 'button', title: what, 'aria-label': `${row} and ${column}: ${plural(pair.n, 'file')}, ${what}`,
                    onclick: () => show(pair, what)}, pair.n));
            }))))));
    }

    async function load() {
        const now = run.tasks.map((t) => `${t.commit || ''} ${t.state === 'conflicted'}`).join();
        if (now === key)
            return;
        key = now;
        const [answer, plan] = await Promise.all([api(runPath(run.id, 'meets')), run.plan()]);
        draw(answer, plan);
    }

    const reload = () => load().catch((error) => put(head, error.message));
    reload();
    const legend = [['bad', 'in conflict'], ['warn', 'same file, merges'], ['wait', 'one depends on the other']];
    return {title: 'Conflicts', node: [h('div', {class: 'bar'}, head, h('span', {class: 'space'}),
        h('div', {class: 'legend'}, legend.map(([k, text]) => h('span', {}, h('i', {class: `fill-${k}`}), text)))), box, detail], update: reload};
}
