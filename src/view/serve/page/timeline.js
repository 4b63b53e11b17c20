// The timeline: one line per task. Only the visible lines are drawn.

import {h, put, soon, svg} from './dom.js';
import {duration, isOver, kindOf, time} from './format.js';
import {api, runPath} from './live.js';

const line = 24, axis = 26;
const told = ['task.preparing', 'task.started', 'task.exited', 'task.landed', 'task.done', 'task.failed', 'task.conflicted',
    'task.parked', 'task.retried'];

// A step that gives a handful of marks.
function stepOf(span, marks) {
    const steps = [100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000, 120000, 300000, 600000, 1800000, 3600000, 7200000, 21600000, 86400000];
    return steps.find((s) => span / s <= marks) || 86400000 * Math.ceil(span / 86400000 / marks);
}

export function timelineView({run}) {
    const parts = new Map(); // by task: [{kind, from, to}]
    const bars = svg('svg', {role: 'group', 'aria-label': 'When each task ran'});
    const scale = svg('svg', {class: 'sticky-axis', height: axis, 'aria-hidden': 'true'});
    const redraw = soon(draw);
    const scroll = h('div', {class: 'panel scroll', role: 'region', 'aria-label': 'Timeline', tabindex: 0, onscroll: redraw}, scale, bars);
    let list = [];

    function begin(task, kind, at) {
        end(task, at);
        const of = parts.get(task) || [];
        of.push({kind, from: at});
        parts.set(task, of);
    }

    function end(task, at, event) {
        const last = parts.get(task)?.at(-1);
        if (last && !last.to)
            Object.assign(last, {to: at, event});
    }

    function take(ev) {
        if (ev.event === 'task.preparing')
            begin(ev.task, 'prepare', ev.time);
        else if (ev.event === 'task.started')
            begin(ev.task, 'run', ev.time);
        else if (ev.event === 'task.exited')
            begin(ev.task, 'land', ev.time);
        else if (told.includes(ev.event))
            end(ev.task, ev.time, ev.event);
    }

    async function load() {
        for (let after = 0, more = true; more;) {
            const page = await api(`${runPath(run.id, 'events')}?names=${told.join()}&after=${after}&max=5000`);
            page.events.forEach(take);
            after = page.last;
            more = page.more;
        }
        run.onEvents.add(onEvents);
        update();
    }

    function onEvents(events) {
        events.forEach(take);
        redraw();
    }

    function update() {
        list = run.tasks.filter((t) => parts.has(t.id) || t.started);
        list.sort((a, b) => (parts.get(a.id)?.[0].from ?? a.started) - (parts.get(b.id)?.[0].from ?? b.started) || a.place - b.place);
        draw();
    }

    // Each attempt has the colour of the event that ended it; the last one has the colour of the task.
    const ends = {'task.parked': 'warn', 'task.landed': 'ok', 'task.done': 'ok'};
    function colour(of, i, state) {
        const part = of[i];
        if (part.kind === 'prepare')
            return part.kind;
        const next = of.findIndex((p, k) => k > i && p.kind === 'run');
        if (next > 0)
            return ends[of.slice(i, next).findLast((p) => p.event)?.event] || 'bad';
        return isOver(state) ? kindOf(state) : part.kind;
    }

    function drawTask(task, index, x, left) {
        const y = index * line, of = parts.get(task.id) || [{kind: 'run', from: task.started, to: task.finished}];
        const now = run.isLive() ? run.now() : run.run.finished || task.finished || task.started;
        const state = run.stateOf(task);
        const rects = of.map((p, i) => {
            const from = x(p.from), to = x(p.to || task.finished || now);
            return svg('rect', {class: `fill-${colour(of, i, state)}`, x: from, y: y + 6, width: Math.max(2, to - from),
                height: line - 12, rx: 2, opacity: p.kind === 'land' ? 0.6 : null});
        });
        const tries = of.filter((p) => p.kind === 'run').length;
        const end = x(of.at(-1).to || task.finished || now), text = duration(run.timeOf(task));
        const name = task.id.length > left / 7.4 ? `${task.id.slice(0, Math.floor(left / 7.4) - 1)}…` : task.id;
        const label = `${name} ${text}, ${state}${tries > 1 ? `, ${tries} attempts` : ''}`;
        return svg('a', {href: `#/r/${encodeURIComponent(run.id)}/task/${encodeURIComponent(task.id)}`, 'aria-label': label},
            svg('rect', {class: 'node', x: 0, y, width: left - 6, height: line, opacity: 0}),
            svg('text', {x: 10, y: y + 16}, name), ' ', rects,
            svg('text', {class: 'faint', x: end + 6, y: y + 16}, text));
    }

    function draw() {
        const width = scroll.clientWidth, left = Math.min(190, width * 0.32);
        if (!width || !run.run)
            return;
        const start = run.run.started;
        const end = run.isLive() ? run.now() : run.run.finished || Math.max(start + 1, ...run.tasks.map((t) => t.finished || 0));
        // The axis leaves out the spans in which the run was interrupted, as the durations do.
        const span = Math.max(1000, run.worked(start, end));
        const place = (ms) => left + (ms / span) * (width - left - 64);
        const x = (at) => place(run.worked(start, at));
        const first = Math.max(0, Math.floor((scroll.scrollTop - axis) / line) - 4);
        const visible = list.slice(first, first + Math.ceil(scroll.clientHeight / line) + 8);
        const step = stepOf(span, Math.max(2, Math.floor((width - left) / 110)));
        const marks = [];
        for (let t = 0; t <= span; t += step)
            marks.push(t);
        const focused = document.activeElement?.getAttribute?.('href');
        scale.setAttribute('width', width);
        put(scale, svg('text', {class: 'faint', x: 10, y: 17}, time(start)),
            marks.filter((t) => t).map((t) => svg('text', {class: 'faint', x: place(t), y: 17, 'text-anchor': 'middle'}, duration(t).replace(/\.0(?=s)| 00[sm]/, ''))));
        bars.setAttribute('width', width);
        bars.setAttribute('height', Math.max(line, list.length * line));
        put(bars, marks.map((t) => svg('line', {class: 'grid', x1: place(t), x2: place(t), y1: first * line, y2: (first + visible.length) * line})),
            run.isLive() ? svg('line', {class: 'now', x1: x(end), x2: x(end), y1: 0, y2: list.length * line}) : null,
            visible.map((task, i) => drawTask(task, first + i, x, left)));
        if (focused && bars.contains(document.activeElement) === false)
            [...bars.querySelectorAll('a')].find((a) => a.getAttribute('href') === focused)?.focus({preventScroll: true});
    }

    const resized = new ResizeObserver(redraw);
    resized.observe(scroll);
    load().catch((error) => put(scroll, h('p', {class: 'note'}, error.message)));
    const legend = [['prepare', 'workspace'], ['run', 'agent running'], ['land', 'commit, verify, land'], ['ok', 'landed'], ['bad', 'failed'],
        ['warn', 'conflict']];
    return {
        title: 'Timeline',
        node: [h('div', {class: 'legend'}, legend.map(([kind, text]) => h('span', {}, h('i', {class: `fill-${kind}`}), text))), scroll],
        update: () => {
            if (parts.size)
                update();
        },
        tick: () => run.isLive() && draw(),
        close: () => {
            run.onEvents.delete(onEvents);
            resized.disconnect();
        },
    };
}
