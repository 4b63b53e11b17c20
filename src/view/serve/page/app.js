// The frame of the page: chooses the run and the view, and draws the head. The address names both:
//
//     #/r/RUN/tasks   graph, timeline, conflicts, costs, history   task/ID/log   compare/RUN/RUN

import {h, put, say} from './dom.js';
import {count, date, duration, kindOf, money, progressOrder, runNode, stateOrder} from './format.js';
import {api, openSession, Run} from './live.js';
import {tasksView} from './tasks.js';
import {runButtons, said} from './steer.js';
import {taskView} from './task.js';
import {graphView} from './graph.js';
import {timelineView} from './timeline.js';
import {conflictsView} from './conflicts.js';
import {costView} from './cost.js';
import {compareView, historyView} from './history.js';

const views = {
    tasks: ['Tasks', tasksView], graph: ['Graph', graphView], timeline: ['Timeline', timelineView],
    conflicts: ['Conflicts', conflictsView], costs: ['Costs', costView], history: ['History', historyView],
    task: [null, taskView, 'tasks'], compare: [null, compareView, 'history'],
};

const top = document.getElementById('top'), nav = document.getElementById('nav'), main = document.getElementById('view');
const memory = {}; // each view keeps its settings here while another one is shown
let start, run, view, head;


function makeHead() {
    head = {
        name: h('h1', {}), state: h('span', {class: 'chip'}), facts: h('div', {class: 'facts'}),
        progress: h('div', {class: 'progress', 'aria-hidden': 'true'}), connection: h('span', {class: 'connection', role: 'status'}),
        newer: h('a', {class: 'newer', hidden: true}, 'A newer run has started'), segments: new Map(),
        steer: runButtons({run, start}),
    };
    put(top, h('div', {class: 'title'}, head.name, head.state, h('div', {class: 'right'}, head.newer, start.read_only ? h('span', {}, 'read-only') : null, head.connection)),
        head.facts, h('div', {class: 'bar'}, head.steer.node, said), head.progress);
}

function fact(value, name) {
    return value ? h('span', {}, h('b', {}, value), ` ${name}`) : null;
}

function drawProgress(counts) {
    for (const state of progressOrder) {
        let part = head.segments.get(state);
        if (!part) {
            part = h('span', {class: `fill-${kindOf(state)}`});
            head.segments.set(state, part);
            head.progress.append(part);
        }
        const n = counts.get(state) || 0;
        part.hidden = !n;
        part.style.flexGrow = n;
    }
}

function drawHead() {
    const counts = run.counts(), r = run.run;
    const took = r.finished || run.isLive() ? run.worked(r.started, r.finished || run.now()) : undefined;
    const usd = run.tasks.reduce((n, t) => n + (t.usd || 0), 0);
    const tokens = run.tasks.reduce((n, t) => n + (t.tokens_in || 0) + (t.tokens_out || 0), 0);
    say(head.name, r.name || r.plan || r.id);
    const stands = `${r.state} ${r.exit_code}`;
    if (head.state.dataset.state !== stands)
        put(head.state, runNode(r));
    head.state.dataset.state = stands;
    put(head.facts, h('span', {class: 'mono'}, r.id), r.base && h('span', {}, 'on ', h('b', {}, r.base)), h('span', {}, date(r.started)), fact(duration(took), ''),
        run.isLive() && run.paused && h('b', {class: 'warn'}, 'paused'),
        h('span', {}, h('b', {}, run.tasks.length), ' tasks: ', stateOrder.filter((s) => counts.get(s)).map((s, i) => [i ? ', ' : '', h('span', {class: kindOf(s)}, `${counts.get(s)} ${s}`)])),
        fact(tokens ? count(tokens) : '', 'tokens'), fact(usd ? money(usd) : '', ''));
    drawProgress(counts);
    head.steer.update();
    const word = run.connected ? run.isLive() ? 'live' : 'connected' : 'not connected, retrying';
    say(head.connection, word);
    head.connection.classList.toggle('off', !run.connected);
    head.newer.hidden = !run.newest || run.newest === run.id || run.newest < run.id;
    head.newer.href = `#/r/${encodeURIComponent(run.newest || '')}/tasks`;
}

function drawNav(current) {
    put(nav, Object.entries(views).filter(([, [name]]) => name).map(([key, [name]]) => h('a', {
        href: `#/r/${encodeURIComponent(run.id)}/${key}`, 'aria-current': key === current ? 'page' : null}, name)));
}


function tell(text) {
    put(main, h('p', {class: 'note', role: 'alert'}, text));
}

async function useRun(id) {
    if (run?.id === id)
        return;
    run?.close();
    run = new Run(id);
    run.watchers.add(() => {
        drawHead();
        view?.update?.();
    });
    makeHead();
    await run.load();
}

async function route() {
    const [id, name = 'tasks', ...rest] = (/^#\/r\/(.*)/.exec(location.hash)?.[1] || '').split('/').map(decodeURIComponent);
    const [, make, parent] = views[name] || views.tasks;
    if (!id) {
        location.replace(`#/r/${encodeURIComponent(start.run)}/tasks`);
        return;
    }
    view?.close?.();
    view = undefined;
    const wanted = location.hash;
    try {
        await useRun(id);
    } catch (error) {
        put(nav, h('a', {href: `#/r/${encodeURIComponent(start.run)}/tasks`}, 'The newest run'));
        run = undefined;
        tell(error.message);
        return;
    }
    if (wanted !== location.hash)
        return;
    drawHead();
    drawNav(parent || name);
    view = make({run, start, memory, rest});
    document.title = `${view.title} · ${run.run.name || run.run.plan || run.id}`;
    put(main, view.node);
    view.update?.();
    if (document.activeElement === document.body || !main.contains(document.activeElement))
        main.focus({preventScroll: true});
}

setInterval(() => {
    if (!run?.run || document.hidden)
        return;
    if (run.isLive()) {
        drawHead();
        view?.tick?.();
    }
}, 1000);

document.getElementById('skip').addEventListener('click', (event) => {
    event.preventDefault();
    main.focus();
});

// "/" moves the focus to the search field.
document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName))
        return;
    const field = main.querySelector('input[type="search"]');
    if (field) {
        event.preventDefault();
        field.focus();
    }
});

async function begin() {
    try {
        await openSession();
        start = await api('start');
    } catch (error) {
        tell(error.status === 401 ? `Access denied: ${error.message}.` : `Cannot reach the server: ${error.message}`);
        return;
    }
    addEventListener('hashchange', route);
    await route();
}

begin();
