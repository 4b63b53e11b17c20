// The table of tasks. The page holds only the visible rows, so a thousand tasks cost as much as thirty.

import {h, put, say, soon} from './dom.js';
import {count, duration, kindOf, money, seconds, stateNode, stateOrder} from './format.js';

const overscan = 8;

const columns = [
    {key: 'task', name: 'Task', by: (run, t) => t.place},
    {key: 'state', name: 'State', by: (run, t) => stateOrder.indexOf(run.stateOf(t))},
    {key: 'doing', name: 'Activity'},
    {key: 'try', name: 'Attempts', num: true, by: (run, t) => -t.attempts},
    {key: 'time', name: 'Time', num: true, by: (run, t) => -(run.timeOf(t) ?? -1)},
    {key: 'tokens', name: 'Tokens', num: true, by: (run, t) => -((t.tokens_in || 0) + (t.tokens_out || 0))},
    {key: 'cost', name: 'Cost', num: true, by: (run, t) => -(t.usd ?? -1)},
];

// Why a waiting task does not run now.
function whyWaiting(run, task) {
    const open = run.openNeeds(task);
    if (open.length)
        return `waits for ${open.slice(0, 5).join(', ')}${open.length > 5 ? ` and ${open.length - 5} more` : ''}`;
    if (run.paused)
        return 'the run is paused';
    return task.attempts && task.retried ? `will be retried: ${task.retried}` : 'waits for a worker';
}

// The current action of the agent, how long its tool has been running, or what it is asking.
export function actionOf(run, task) {
    const now = run.now();
    if (task.asks)
        return `waits for a person: ${task.asks}`;
    if (task.action && task.since)
        return `in ${task.action} for ${seconds(now - task.since)}`;
    return task.action && task.until > now ? `${task.action} in ${seconds(task.until - now + 999)}` : task.action || '';
}

export function doing(run, task) {
    const state = run.stateOf(task);
    if (run.isLive() && ['waiting', 'ready'].includes(state))
        return whyWaiting(run, task);
    if (state === 'parked')
        return `until ${new Date(task.parked.until).toLocaleTimeString()}: ${task.parked.why || 'a usage limit'}`;
    if (task.reason && kindOf(state) !== 'ok')
        return task.failure && !task.reason.startsWith(task.failure) ? `${task.failure}: ${task.reason}` : task.reason;
    return state === 'running' ? actionOf(run, task) : '';
}

function cells(run, task) {
    const tokens = task.tokens_in === undefined ? '' : count(task.tokens_in + task.tokens_out);
    return ['', '', doing(run, task), task.attempts > 1 ? String(task.attempts) : '', duration(run.timeOf(task)), tokens, money(task.usd)];
}

class Row {
    constructor() {
        this.link = h('a', {});
        this.title = h('span', {class: 'muted'});
        this.cells = columns.map((c, i) => h(i ? 'td' : 'th', {class: `c-${c.key}${c.num ? ' num' : ''}`, scope: i ? null : 'row'}));
        this.cells[0].append(this.link, this.title);
        this.node = h('tr', {}, this.cells);
    }

    show(run, task, index) {
        const state = run.stateOf(task);
        this.id = task.id;
        this.node.setAttribute('aria-rowindex', index + 2);
        this.link.href = `#/r/${encodeURIComponent(run.id)}/task/${encodeURIComponent(task.id)}`;
        say(this.link, task.id);
        say(this.title, task.title || '');
        if (this.state !== state)
            put(this.cells[1], stateNode(state));
        this.state = state;
        cells(run, task).forEach((text, i) => {
            if (i > 1)
                say(this.cells[i], text);
        });
        this.cells[2].title = this.cells[2].textContent;
    }
}

export function tasksView({run, memory}) {
    memory.filter ??= {text: '', states: new Set(), sort: 'task', back: false};
    const filter = memory.filter;
    const rows = [];
    const before = h('tr', {class: 'gap', 'aria-hidden': 'true'}, h('td', {}));
    const after = h('tr', {class: 'gap', 'aria-hidden': 'true'}, h('td', {}));
    const body = h('tbody', {}, before, after);
    const heads = columns.map((c) => h('th', {scope: 'col', class: `c-${c.key}${c.num ? ' num' : ''}`},
        c.by ? h('button', {type: 'button', onclick: () => sortBy(c.key)}, c.name) : c.name));
    const table = h('table', {class: 'tasks'}, h('caption', {class: 'visually-hidden'}, 'Tasks'),
        h('thead', {}, h('tr', {'aria-rowindex': 1}, heads)), body);
    const scroll = h('div', {class: 'panel scroll', role: 'region', 'aria-label': 'Table of tasks', tabindex: 0, onscroll: soon(draw)}, table);
    const none = h('p', {class: 'note', hidden: true}, 'No matching tasks.');
    const chips = h('div', {class: 'bar', role: 'group', 'aria-label': 'Filter by state'});
    const shown = h('span', {class: 'muted', role: 'status'});
    const input = h('input', {type: 'search', value: filter.text, 'aria-label': 'Filter tasks', placeholder: 'Filter: name, title, activity',
        oninput: () => {
            filter.text = input.value;
            select();
        }});
    let list = [], height = 0;

    function matches(task) {
        if (filter.states.size && !filter.states.has(run.stateOf(task)))
            return false;
        const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
        if (!words.length)
            return true;
        const text = `${task.id} ${task.title || ''} ${task.engine || ''} ${run.stateOf(task)} ${doing(run, task)}`.toLowerCase();
        return words.every((word) => text.includes(word));
    }

    function sortBy(key) {
        filter.back = filter.sort === key && !filter.back;
        filter.sort = key;
        select();
    }

    function select() {
        const column = columns.find((c) => c.key === filter.sort);
        const sign = filter.back ? -1 : 1;
        list = run.tasks.filter(matches);
        list.sort((a, b) => sign * (column.by(run, a) - column.by(run, b)) || a.place - b.place);
        columns.forEach((c, i) => c.by && heads[i].setAttribute('aria-sort',
            c.key !== filter.sort ? 'none' : filter.back ? 'descending' : 'ascending'));
        table.setAttribute('aria-rowcount', list.length + 1);
        say(shown, list.length === run.tasks.length ? `${list.length} tasks` : `${list.length} of ${run.tasks.length} tasks`);
        none.hidden = list.length > 0;
        drawChips();
        draw();
    }

    function drawChips() {
        const counts = run.counts();
        const wanted = stateOrder.filter((s) => counts.has(s) || filter.states.has(s));
        if (chips.dataset.states !== wanted.join()) {
            put(chips, wanted.map((s) => h('button', {type: 'button', 'data-state': s, onclick: () => {
                filter.states.has(s) ? filter.states.delete(s) : filter.states.add(s);
                select();
            }}, h('span', {class: kindOf(s)}, s), ' ', h('b', {class: 'num'}))));
            chips.dataset.states = wanted.join();
        }
        for (const chip of chips.children) {
            chip.setAttribute('aria-pressed', filter.states.has(chip.dataset.state));
            say(chip.querySelector('b'), counts.get(chip.dataset.state) || 0);
        }
    }

    // Reuses the rows for other tasks when the table scrolls; the focus stays with its task.
    function draw() {
        const focused = rows.find((row) => row.link === document.activeElement)?.id;
        height ||= parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row')) || 32;
        const first = Math.max(0, Math.floor(scroll.scrollTop / height) - overscan);
        const n = Math.min(list.length - first, Math.ceil(scroll.clientHeight / height) + 2 * overscan);
        while (rows.length < n) {
            const row = new Row();
            rows.push(row);
            after.before(row.node);
        }
        while (rows.length > Math.max(0, n))
            rows.pop().node.remove();
        before.firstChild.style.height = `${first * height}px`;
        after.firstChild.style.height = `${Math.max(0, list.length - first - n) * height}px`;
        rows.forEach((row, i) => row.show(run, list[first + i], first + i));
        const row = focused && rows.find((r) => r.id === focused);
        if (row && row.link !== document.activeElement)
            row.link.focus({preventScroll: true});
    }

    // Up and Down move from task to task, also to tasks that have no row yet.
    function onKey(event) {
        const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity}[event.key];
        if (!step || !list.length)
            return;
        const at = rows.findIndex((row) => row.link === document.activeElement);
        const index = at < 0 ? -1 : list.findIndex((t) => t.id === rows[at].id);
        const next = Math.min(list.length - 1, Math.max(0, index + step));
        event.preventDefault();
        if (next * height < scroll.scrollTop)
            scroll.scrollTop = next * height;
        else if ((next + 3) * height > scroll.scrollTop + scroll.clientHeight)
            scroll.scrollTop = (next + 3) * height - scroll.clientHeight;
        draw();
        rows.find((row) => row.id === list[next].id)?.link.focus({preventScroll: true});
    }
    scroll.addEventListener('keydown', onKey);

    const resized = new ResizeObserver(soon(() => {
        height = 0;
        draw();
    }));
    resized.observe(scroll);
    select();
    return {
        title: 'Tasks',
        node: [h('div', {class: 'bar'}, input, chips, h('span', {class: 'space'}), shown), scroll, none],
        update: select,
        tick: draw,
        close: () => resized.disconnect(),
    };
}
