// The dependency graph: stages from left to right.

import {h, put, say, svg} from './dom.js';
import {kindOf} from './format.js';

const box = {width: 168, height: 38, x: 58, y: 12}, margin = 16, idMax = 23;

// The stage of each task: one after the last of its dependencies.
function stages(tasks, plan) {
    const stage = new Map();
    const open = new Map(tasks.map((t) => [t.id, (plan.get(t.id)?.depends_on || []).filter((id) => plan.has(id))]));
    const after = new Map();
    for (const [id, needs] of open) {
        for (const need of needs)
            after.set(need, [...(after.get(need) || []), id]);
    }
    const left = new Map([...open].map(([id, needs]) => [id, needs.length]));
    let ready = tasks.filter((t) => !left.get(t.id)).map((t) => t.id);
    for (let n = 0; ready.length; n++) {
        const next = [];
        for (const id of ready) {
            stage.set(id, n);
            for (const follower of after.get(id) || []) {
                left.set(follower, left.get(follower) - 1);
                if (!left.get(follower))
                    next.push(follower);
            }
        }
        ready = next;
    }
    return {stage, needs: open, after};
}

// Sorts each stage by the mean position of its dependencies, so that few lines cross. Long stages take
// several columns.
function layout(tasks, plan) {
    const {stage, needs, after} = stages(tasks, plan);
    const perColumn = Math.max(14, Math.ceil(Math.sqrt(1.8 * tasks.length)));
    const columns = [];
    for (const t of tasks)
        (columns[stage.get(t.id) ?? 0] ||= []).push(t.id);
    const place = new Map();
    let x = margin, rows = 0;
    for (const column of columns.filter(Boolean)) {
        const weight = (id) => {
            const ys = needs.get(id).map((need) => place.get(need)?.y ?? 0);
            return ys.length ? ys.reduce((a, b) => a + b, 0) / ys.length : Infinity;
        };
        const weights = new Map(column.map((id) => [id, weight(id)]));
        column.sort((a, b) => weights.get(a) - weights.get(b) || 0);
        column.forEach((id, i) => {
            place.set(id, {x: x + Math.floor(i / perColumn) * (box.width + box.y), y: margin + (i % perColumn) * (box.height + box.y)});
        });
        const folds = Math.ceil(column.length / perColumn);
        rows = Math.max(rows, Math.min(column.length, perColumn));
        x += folds * (box.width + box.y) - box.y + box.x;
    }
    return {place, needs, after, width: x - box.x + margin, height: 2 * margin + rows * (box.height + box.y) - box.y};
}

function cut(text, n) {
    return text.length > n ? `${text.slice(0, n - 1)}…` : text;
}

export function graphView({run}) {
    const canvas = h('div', {class: 'panel scroll', role: 'region', 'aria-label': 'Graph of tasks', tabindex: 0});
    const zoomText = h('span', {class: 'muted num'}), hint = h('span', {class: 'muted', role: 'status'});
    const nodes = new Map(), ids = new Map(), edges = [];
    let drawing, plan, zoom = 1, written = false, bright;

    function all(start, next) {
        const seen = new Set(), open = [start];
        while (open.length) {
            const id = open.pop();
            if (seen.has(id))
                continue;
            seen.add(id);
            open.push(...(next.get(id) || []));
        }
        return seen;
    }

    // Highlights the dependencies and dependents of a task.
    function light(id) {
        if (id === bright)
            return;
        bright = id;
        say(hint, id ? `${id}: ${run.stateOf(run.byId.get(id))}` : '');
        const lit = id ? new Set([...all(id, plan.needs), ...all(id, plan.after)]) : new Set();
        drawing.classList.toggle('dim', Boolean(id));
        nodes.forEach((n, at) => n.link.classList.toggle('lit', lit.has(at)));
        edges.forEach((e) => e.line.classList.toggle('lit', lit.has(e.from) && lit.has(e.to)));
    }

    // Zoomed out, a node is one coloured box: a thousand nodes would take long to draw.
    function drawNode(task) {
        const at = plan.place.get(task.id);
        const stripe = svg('rect', {x: at.x, y: at.y, width: box.width, height: box.height, rx: 3});
        const link = svg('a', {href: `#/r/${encodeURIComponent(run.id)}/task/${encodeURIComponent(task.id)}`}, stripe);
        nodes.set(task.id, {link, stripe, at});
        ids.set(link, task.id);
        return link;
    }

    // Adds the texts once they are large enough to read.
    function write() {
        for (const [id, {link, stripe, at, state}] of nodes) {
            const word = svg('text', {class: 'faint', x: at.x + 14, y: at.y + 30}, state);
            stripe.setAttribute('width', 5);
            link.prepend(svg('rect', {class: 'node', x: at.x, y: at.y, width: box.width, height: box.height, rx: 4}));
            link.append(svg('text', {x: at.x + 14, y: at.y + 16}, cut(id, idMax)), ' ', word);
            nodes.get(id).word = word;
        }
        written = true;
    }

    function drawEdge(from, to) {
        const a = plan.place.get(from), b = plan.place.get(to);
        if (!a || !b)
            return null;
        const x1 = a.x + box.width, y1 = a.y + box.height / 2, y2 = b.y + box.height / 2, mid = Math.max(24, (b.x - x1) / 2);
        const line = svg('path', {class: 'edge', d: `M${x1} ${y1}C${x1 + mid} ${y1} ${b.x - mid} ${y2} ${b.x} ${y2}`});
        edges.push({line, from, to});
        return line;
    }

    function draw() {
        const lit = (event) => light(ids.get(event.target.closest('a')));
        drawing = svg('svg', {role: 'group', 'aria-label': 'Tasks by stage', viewBox: `0 0 ${plan.width} ${plan.height}`,
            onmouseover: lit, onmouseleave: () => light(), onfocusin: lit, onfocusout: () => light()});
        const lines = run.tasks.flatMap((t) => plan.needs.get(t.id).map((need) => drawEdge(need, t.id)));
        const order = [...run.tasks].sort((a, b) => plan.place.get(a.id).x - plan.place.get(b.id).x || plan.place.get(a.id).y - plan.place.get(b.id).y);
        drawing.append(...lines.filter(Boolean), ...order.map(drawNode));
        update();
        fit();
        put(canvas, drawing);
    }

    function scale(factor) {
        zoom = Math.min(2, Math.max(0.15, factor));
        drawing.setAttribute('width', plan.width * zoom);
        drawing.setAttribute('height', plan.height * zoom);
        drawing.classList.toggle('far', zoom < 0.45);
        if (zoom >= 0.45 && !written)
            write();
        say(zoomText, `${Math.round(zoom * 100)} %`);
    }

    function fit() {
        scale(Math.min(1, (canvas.clientWidth - 2) / plan.width));
    }

    function update() {
        for (const [id, node] of nodes) {
            const task = run.byId.get(id), state = run.stateOf(task);
            if (node.state === state)
                continue;
            node.state = state;
            node.stripe.setAttribute('class', `fill-${kindOf(state)}`);
            if (node.word)
                say(node.word, state);
            node.link.setAttribute('aria-label', `${cut(id, idMax)} ${state}${id.length > idMax ? ` (${id})` : ''}`);
        }
    }

    run.plan().then((tasks) => {
        plan = layout(run.tasks, tasks);
        draw();
    }).catch((error) => put(canvas, h('p', {class: 'note'}, `Cannot show the graph: ${error.message}`)));
    return {
        title: 'Graph',
        node: [h('div', {class: 'bar'}, h('h2', {}, 'Stages, from left to right'), hint, h('span', {class: 'space'}), zoomText,
            h('button', {type: 'button', 'aria-label': 'Smaller', onclick: () => scale(zoom / 1.25)}, '−'),
            h('button', {type: 'button', 'aria-label': 'Larger', onclick: () => scale(zoom * 1.25)}, '+'),
            h('button', {type: 'button', onclick: fit}, 'Fit')), canvas],
        update,
    };
}
