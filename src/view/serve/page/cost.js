// Costs of a run: totals, by task, model or engine, and over time.

import {h, put, soon, svg} from './dom.js';
import {count, duration, money} from './format.js';
import {api, runPath} from './live.js';

const barsMax = 20;

const ways = {task: (s) => s.task, model: (s) => s.model || 'unknown', engine: (s) => s.engine};

function sumBy(rows, key) {
    const sums = new Map();
    for (const row of rows) {
        const sum = sums.get(key(row)) || {name: key(row), attempts: 0, tokens_in: 0, tokens_out: 0, cache_read: 0, cache_made: 0, usd: 0, unknown: 0};
        sum.attempts++;
        for (const k of ['tokens_in', 'tokens_out', 'cache_read', 'cache_made'])
            sum[k] += row[k];
        sum.usd += row.usd || 0;
        sum.unknown += row.usd === undefined;
        sums.set(sum.name, sum);
    }
    return [...sums.values()];
}

// An unreported cost is unknown, not zero.
function priceOf(sum) {
    return sum.unknown === sum.attempts ? '–' : money(sum.usd) + (sum.unknown ? '+' : '');
}

export function costView({run, memory}) {
    memory.by ??= 'task';
    const tiles = h('dl', {class: 'tiles'});
    const bars = h('figure', {class: 'panel chart'});
    const curve = h('figure', {class: 'panel chart'});
    const table = h('div', {class: 'panel'});
    const select = h('select', {'aria-label': 'By', onchange: () => {
        memory.by = select.value;
        draw();
    }}, Object.keys(ways).map((w) => h('option', {value: w}, w)));
    select.value = memory.by;
    let rows, key;
    const redraw = soon(draw);

    function drawTiles(all, unit) {
        const values = [['Cost', all ? priceOf(all) : '–'], ['Tokens read', count(all?.tokens_in || 0)], ['Tokens written', count(all?.tokens_out || 0)],
            ['From cache', count(all?.cache_read || 0)], ['Attempts', String(all?.attempts || 0)]];
        put(tiles, values.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
        if (all?.unknown && unit === 'usd')
            tiles.append(h('div', {}, h('dt', {}, 'No cost reported'), h('dd', {}, String(all.unknown))));
    }

    function drawBars(sums, value, say) {
        const width = Math.max(260, bars.clientWidth - 24), left = Math.min(180, width * 0.34), most = Math.max(...sums.map(value), 1e-9);
        const shown = sums.slice(0, barsMax), others = sums.slice(barsMax);
        put(bars, h('figcaption', {class: 'bar'}, h('h2', {}, 'By'), select, others.length ? h('span', {class: 'muted'}, `the first ${barsMax} of ${sums.length}`) : null),
            svg('svg', {width, height: shown.length * 22 + 6, role: 'img', 'aria-label': `By ${memory.by}: ${shown.slice(0, 5).map((s) => `${s.name} ${say(s)}`).join(', ')}`},
                shown.map((s, i) => [
                    svg('text', {x: left - 8, y: i * 22 + 19, 'text-anchor': 'end'}, s.name.length > left / 7.4 ? `${s.name.slice(0, Math.floor(left / 7.4) - 1)}…` : s.name),
                    svg('rect', {class: 'fill-run', x: left, y: i * 22 + 8, width: Math.max(1, (width - left - 70) * value(s) / most), height: 14, rx: 2}),
                    svg('text', {class: 'faint', x: left + (width - left - 70) * value(s) / most + 6, y: i * 22 + 19}, say(s))])));
    }

    function drawCurve(value, say) {
        const width = Math.max(260, curve.clientWidth - 24), height = 150, left = 58, bottom = 22;
        const points = [...rows].sort((a, b) => a.time - b.time);
        const from = run.run.started, to = Math.max(run.run.finished || (run.isLive() ? run.now() : 0), points.at(-1).time);
        const span = Math.max(1, run.worked(from, to)); // as in the timeline
        const total = points.reduce((n, p) => n + value(p), 0) || 1e-9;
        const x = (t) => left + run.worked(from, t) / span * (width - left - 10), y = (n) => height - bottom - n / total * (height - bottom - 14);
        let sum = 0, path = `M${x(from)} ${y(0)}`;
        for (const p of points) {
            path += `H${x(p.time)}`;
            sum += value(p);
            path += `V${y(sum)}`;
        }
        path += `H${x(to)}`;
        put(curve, h('figcaption', {}, h('h2', {}, 'Over time')),
            svg('svg', {width, height, role: 'img', 'aria-label': `It grew to ${say(total)} in ${duration(span)}`},
                [0, 0.5, 1].map((part) => [svg('line', {class: 'grid', x1: left, x2: width - 10, y1: y(total * part), y2: y(total * part)}),
                    svg('text', {class: 'faint', x: left - 6, y: y(total * part) + 4, 'text-anchor': 'end'}, say(total * part))]),
                svg('path', {class: 'under', d: `${path}V${y(0)}Z`}), svg('path', {class: 'curve', d: path}),
                [0, 0.5, 1].map((part) => svg('text', {class: 'faint', x: left + part * (width - left - 10), y: height - 5, 'text-anchor': ['start', 'middle', 'end'][part * 2]},
                    duration(span * part)))));
    }

    function drawTable(sums) {
        put(table, h('table', {class: 'plain'}, h('caption', {class: 'visually-hidden'}, `Usage by ${memory.by}`),
            h('thead', {}, h('tr', {}, [memory.by, 'attempts', 'read', 'written', 'from cache', 'cost'].map((c, i) => h('th', {scope: 'col', class: i ? 'num' : ''}, c)))),
            h('tbody', {}, sums.map((s) => h('tr', {}, h('th', {scope: 'row'}, s.name), [s.attempts, count(s.tokens_in), count(s.tokens_out), count(s.cache_read), priceOf(s)]
                .map((c) => h('td', {class: 'num'}, c)))))));
    }

    function draw() {
        if (!rows)
            return;
        const [all] = sumBy(rows, () => 'all');
        const priced = all && all.unknown < all.attempts;
        const value = priced ? (s) => s.usd || 0 : (s) => s.tokens_in + s.tokens_out;
        const words = priced ? (n) => money(n) : (n) => count(n);
        drawTiles(all, priced ? 'usd' : 'tokens');
        bars.hidden = curve.hidden = table.hidden = !rows.length;
        if (!rows.length)
            return;
        const sums = sumBy(rows, ways[memory.by]).sort((a, b) => value(b) - value(a));
        drawBars(sums, value, (s) => (priced ? priceOf(s) : words(value(s))));
        drawCurve(value, words);
        drawTable(sums);
    }

    const none = h('p', {class: 'note', hidden: true}, 'No agent has reported its usage yet.');
    async function load() {
        const now = run.tasks.map((t) => `${t.tokens_in} ${t.usd}`).join();
        if (now === key)
            return;
        key = now;
        rows = (await api(runPath(run.id, 'cost'))).spending;
        none.hidden = rows.length > 0;
        draw();
    }

    const box = h('div', {class: 'flow', role: 'region', 'aria-label': 'Costs', tabindex: 0}, tiles, none, bars, curve, table);
    const resized = new ResizeObserver(redraw);
    resized.observe(box);
    load().catch((error) => put(box, h('p', {class: 'note'}, error.message)));
    return {title: 'Costs', node: [box], update: () => load().catch(() => {}), close: () => resized.disconnect()};
}
