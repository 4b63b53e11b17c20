// One task: its facts, log, changes and events.

import {h, put, say} from './dom.js';
import {count, date, duration, money, stateNode, time} from './format.js';
import {api, runPath} from './live.js';
import {logView} from './log.js';
import {diffView} from './diff.js';
import {taskButtons} from './steer.js';
import {actionOf, doing} from './tasks.js';

function eventsView({run, task}) {
    const body = h('tbody', {});
    const box = h('div', {class: 'panel scroll', role: 'region', 'aria-label': 'Events', tabindex: 0},
        h('table', {class: 'plain'}, h('caption', {class: 'visually-hidden'}, 'Events of this task'),
            h('thead', {}, h('tr', {}, ['Time', 'Event', 'Attempt', 'Details'].map((c) => h('th', {scope: 'col'}, c)))), body));

    function add(events) {
        for (const ev of events) {
            if (ev.task !== task.id)
                continue;
            const what = Object.entries(ev.data || {}).map(([k, v]) => `${k}: ${typeof v === 'string' ? v : JSON.stringify(v)}`).join(', ');
            body.append(h('tr', {}, h('td', {class: 'num'}, time(ev.time)), h('td', {}, ev.event), h('td', {class: 'num'}, ev.attempt || ''),
                h('td', {class: 'wide muted'}, what)));
        }
        while (body.childElementCount > 2000)
            body.firstChild.remove();
    }

    api(`${runPath(run.id, 'events')}?task=${encodeURIComponent(task.id)}&max=2000`).then((page) => {
        add(page.events);
        run.onEvents.add(add);
    }).catch((error) => put(box, h('p', {class: 'note'}, error.message)));
    return {node: [box], close: () => run.onEvents.delete(add)};
}

const parts = {log: ['Log', logView], diff: ['Changes', diffView], events: ['Events', eventsView]};

export function taskView(context) {
    const {run, rest: [id, part = 'log']} = context;
    const task = run.byId.get(id);
    const back = `#/r/${encodeURIComponent(run.id)}/tasks`;
    if (!task || !parts[part])
        return {title: id, node: [h('p', {class: 'note'}, 'No such task. ', h('a', {href: back}, 'All tasks'))]};
    const state = h('span', {});
    const facts = h('div', {class: 'facts'});
    const why = h('div', {class: 'why mono', hidden: true, tabindex: 0, role: 'region', 'aria-label': 'Why it failed'});
    const buttons = taskButtons(context, task);
    const inner = parts[part][1]({...context, task});

    function fact(name, text) {
        return text ? h('span', {}, `${name} `, h('b', {}, text)) : null;
    }

    function update() {
        const now = run.stateOf(task);
        if (state.dataset.state !== now)
            put(state, stateNode(now));
        state.dataset.state = now;
        put(facts, fact('engine', task.engine), fact('attempts', task.attempts > 1 ? String(task.attempts) : ''), fact('started', date(task.started)),
            fact('took', duration(run.timeOf(task))), fact('tokens', task.tokens_in === undefined ? '' : `${count(task.tokens_in)} in, ${count(task.tokens_out)} out`),
            fact('cost', money(task.usd)), fact('commit', (task.landed || task.commit || '').slice(0, 10)), fact('branch', task.branch),
            fact('now', now === 'running' ? actionOf(run, task) : ''));
        const text = [doing(run, {...task, action: '', asks: ''}), task.state === 'failed' ? task.output : ''].filter(Boolean).join('\n');
        why.hidden = !text;
        say(why, text);
        buttons.update();
        inner.update?.();
    }

    update();
    return {
        title: id,
        node: [h('div', {class: 'task-head'}, h('a', {href: back, 'aria-label': 'All tasks'}, '←'), h('h2', {}, task.id), state,
            buttons.node, task.title && h('span', {class: 'muted'}, task.title)), facts, why,
        h('div', {class: 'tabs', role: 'navigation', 'aria-label': 'Parts of this task'}, Object.entries(parts).map(([key, [name]]) => h('a', {
            href: `#/r/${encodeURIComponent(run.id)}/task/${encodeURIComponent(id)}/${key}`, 'aria-current': key === part ? 'page' : null}, name))),
        inner.node],
        update,
        tick: update,
        close: () => inner.close?.(),
    };
}
