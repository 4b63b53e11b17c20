// Earlier runs, and a comparison of two runs.

import {h, put} from './dom.js';
import {count, date, duration, kindOf, money, runNode, stateNode, stateOrder} from './format.js';
import {api, idleSpans, runPath, worked} from './live.js';

const link = (...parts) => `#/r/${parts.map(encodeURIComponent).join('/')}`;

function timeOf(run) {
    const end = run.finished || (run.state === 'running' ? Date.now() : undefined);
    return end && Math.max(0, end - run.started - (run.idle_ms || 0));
}

function statesBar(states) {
    const parts = stateOrder.filter((s) => states[s]);
    return h('span', {title: parts.map((s) => `${states[s]} ${s}`).join(', ')}, parts.map((s, i) => [i ? ' ' : '', h('span', {class: kindOf(s)}, `${states[s]} ${s}`)]));
}

export function historyView({run}) {
    const chosen = new Set();
    const compare = h('button', {type: 'button', disabled: true, onclick: () => {
        const [a, b] = [...chosen].sort();
        location.hash = link(run.id, 'compare', a, b);
    }}, 'Compare the two');
    const body = h('tbody', {});
    const columns = ['', 'Run', 'Plan', 'Started', 'State', 'Time', 'Tasks', 'Cost'];
    const numbers = [5, 7], wide = [2, 3, 7];
    const kind = (i) => `${numbers.includes(i) ? 'num' : ''} ${wide.includes(i) ? 'only-wide' : ''}`;

    function choose(id, yes) {
        yes ? chosen.add(id) : chosen.delete(id);
        compare.disabled = chosen.size !== 2;
    }

    function row(r) {
        const cells = [h('input', {type: 'checkbox', 'aria-label': `Compare ${r.id}`, onchange: (e) => choose(r.id, e.target.checked)}), null, r.name || r.plan || '', date(r.started),
            runNode(r), duration(timeOf(r)), statesBar(r.states), r.unpriced === r.tasks ? '–' : money(r.usd)];
        return h('tr', {'aria-current': r.id === run.id ? 'true' : null}, cells.map((c, i) => (i === 1 ? h('th', {scope: 'row'}, h('a', {href: link(r.id, 'tasks')}, r.id)) :
            h('td', {class: kind(i)}, c))));
    }

    api('runs?max=200').then((answer) => put(body, answer.runs.map(row)))
        .catch((error) => put(body, h('tr', {}, h('td', {colspan: columns.length}, error.message))));
    return {
        title: 'History',
        node: [h('div', {class: 'bar'}, h('h2', {}, 'Runs, newest first'), h('span', {class: 'space'}), h('span', {class: 'muted'}, 'select two to'), compare),
            h('div', {class: 'panel scroll', role: 'region', 'aria-label': 'Runs', tabindex: 0}, h('table', {class: 'plain'}, h('caption', {class: 'visually-hidden'}, 'Runs'),
                h('thead', {}, h('tr', {}, columns.map((c, i) => (c ? h('th', {scope: 'col', class: kind(i)}, c) : h('td', {}))))), body))],
    };
}


function total(all) {
    const tasks = all.tasks;
    const of = (...states) => tasks.filter((t) => states.includes(t.state)).length;
    return {
        'landed or done': of('landed', 'done'), failed: of('failed'), conflicted: of('conflicted'), skipped: of('skipped'),
        attempts: tasks.reduce((n, t) => n + t.attempts, 0), time: timeOf({...all.run, idle_ms: idleSpans(all.recent).reduce((ms, span) => ms + span.to - span.from, 0)}),
        tokens: tasks.reduce((n, t) => n + (t.tokens_in || 0) + (t.tokens_out || 0), 0), cost: tasks.reduce((n, t) => n + (t.usd || 0), 0),
    };
}

const say = {time: duration, tokens: count, cost: money};
const better = {'landed or done': 1};
const outcomes = ['landed or done', 'failed', 'conflicted', 'skipped'];

// Less is better only where as much was done.
function delta(name, a, b, fair) {
    if (a === undefined || b === undefined || a === b)
        return h('td', {class: 'num muted'}, a === b && a !== undefined ? 'same' : '');
    const text = (say[name] || String)(Math.abs(b - a));
    const good = Math.sign(b - a) === (better[name] || -1);
    return h('td', {class: `num ${fair ? good ? 'better' : 'worse' : ''}`}, `${b > a ? '+' : '−'}${text}`);
}

function taskTime(t) {
    return t?.started && t.finished ? worked(t.idle, t.started, t.finished) : undefined;
}

function taskRow(id, a, b) {
    const state = (t) => h('td', {}, t ? stateNode(t.state) : h('span', {class: 'muted'}, 'not in this run'));
    const fair = kindOf(a?.state) === 'ok' && kindOf(b?.state) === 'ok';
    return h('tr', {}, h('th', {scope: 'row'}, id), state(a), state(b), h('td', {class: 'num only-wide'}, duration(taskTime(a))), h('td', {class: 'num only-wide'}, duration(taskTime(b))),
        delta('time', taskTime(a), taskTime(b), fair), h('td', {class: 'num only-wide'}, money(a?.usd)), h('td', {class: 'num only-wide'}, money(b?.usd)));
}

export function compareView({run, rest: [first, second]}) {
    const box = h('div', {class: 'flow', role: 'region', 'aria-label': 'Two runs', tabindex: 0}, h('p', {class: 'note', role: 'status'}, 'Loading'));

    function show(a, b) {
        const sums = [total(a), total(b)];
        const ids = [...new Set([...a.tasks, ...b.tasks].map((t) => t.id))];
        const of = (all) => {
            const idle = idleSpans(all.recent);
            return new Map(all.tasks.map((t) => [t.id, {...t, idle}]));
        };
        const [inA, inB] = [of(a), of(b)];
        const heads = [a, b].map((all) => h('th', {scope: 'col', class: 'num'}, h('a', {href: link(all.run.id, 'tasks')}, all.run.id)));
        put(box, h('div', {class: 'panel'}, h('table', {class: 'plain'}, h('caption', {class: 'visually-hidden'}, 'Total'),
            h('thead', {}, h('tr', {}, h('td', {}), heads, h('th', {scope: 'col', class: 'num'}, 'change'))),
            h('tbody', {}, Object.keys(sums[0]).map((name) => h('tr', {}, h('th', {scope: 'row'}, name), sums.map((s) => h('td', {class: 'num'}, (say[name] || String)(s[name] ?? ''))),
                delta(name, sums[0][name], sums[1][name], outcomes.includes(name) || sums[0][outcomes[0]] === sums[1][outcomes[0]])))))),
        h('div', {class: 'panel'}, h('table', {class: 'plain'}, h('caption', {class: 'visually-hidden'}, 'Task by task'),
            h('thead', {}, h('tr', {}, ['Task', 'before', 'after', 'time before', 'after', 'time', 'cost before', 'after'].map((c, i) => h('th', {scope: 'col', class: `${i > 2 ? 'num' : ''} ${i > 2 && i !== 5 ? 'only-wide' : ''}`}, c)))),
            h('tbody', {}, ids.map((id) => taskRow(id, inA.get(id), inB.get(id)))))));
    }

    Promise.all([api(runPath(first)), api(runPath(second))]).then(([a, b]) => show(a, b))
        .catch((error) => put(box, h('p', {class: 'note'}, error.message)));
    return {title: 'Two runs', node: [h('div', {class: 'bar'}, h('a', {href: link(run.id, 'history')}, '← History'), h('h2', {}, 'Two runs, the older one first')), box]};
}
