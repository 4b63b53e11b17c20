// Formats states, times, numbers and amounts.

import {h} from './dom.js';

// The states of tasks and runs: kind (a colour) and sign.
const states = {
    waiting: ['wait', '○'], ready: ['wait', '◌'], parked: ['warn', '◷'],
    preparing: ['run', '▷'], running: ['run', '▶'],
    committing: ['land', '▸'], verifying: ['land', '▸'], landing: ['land', '▸'],
    landed: ['ok', '✓'], done: ['ok', '✓'], failed: ['bad', '✕'], conflicted: ['warn', '≠'],
    skipped: ['skip-state', '–'], interrupted: ['bad', '‖'],
    finished: ['ok', '✓'], stopped: ['warn', '■'], broken: ['bad', '✕'],
};

// The order of states in lists and counts.
export const stateOrder = ['running', 'preparing', 'committing', 'verifying', 'landing', 'parked', 'failed', 'conflicted',
    'interrupted', 'landed', 'done', 'skipped', 'ready', 'waiting'];

// The order of states in the progress bar: finished first.
export const progressOrder = ['landed', 'done', 'landing', 'verifying', 'committing', 'running', 'preparing', 'parked', 'conflicted', 'failed',
    'interrupted', 'skipped', 'ready', 'waiting'];

export function kindOf(state) {
    return (states[state] || ['wait'])[0];
}

export function isOver(state) {
    return ['landed', 'done', 'failed', 'conflicted', 'skipped', 'interrupted'].includes(state);
}

export function stateNode(state) {
    const [kind, sign] = states[state] || ['wait', '·'];
    return h('span', {class: `state ${kind}`}, h('i', {'aria-hidden': 'true'}, sign), state);
}

// The state of a run. A run that finished with failed tasks or conflicts shows its exit code.
export function runNode(run) {
    if (run.state !== 'finished' || !run.exit_code)
        return stateNode(run.state);
    const kind = run.exit_code === 4 ? 'warn' : 'bad';
    return h('span', {class: `state ${kind}`}, h('i', {'aria-hidden': 'true'}, kind === 'warn' ? '≠' : '✕'), `finished, exit code ${run.exit_code}`);
}

export function duration(ms) {
    if (ms === undefined || ms < 0)
        return '';
    if (ms < 10000)
        return `${(ms / 1000).toFixed(1)}s`;
    const s = Math.floor(ms / 1000);
    if (s < 60)
        return `${s}s`;
    if (s < 3600)
        return `${Math.floor(s / 60)}m ${String(s % 60).padStart(2, '0')}s`;
    if (s < 86400)
        return `${Math.floor(s / 3600)}h ${String(Math.floor(s / 60) % 60).padStart(2, '0')}m`;
    return `${Math.floor(s / 86400)}d ${Math.floor(s / 3600) % 24}h`;
}

// In whole seconds, because it is redrawn every second.
export function seconds(ms) {
    return duration(Math.max(0, ms - ms % 1000)).replace('.0s', 's');
}

function scaled(n, units, step) {
    let i = 0;
    while (n >= step && i + 1 < units.length) {
        n /= step;
        i++;
    }
    return `${i && n < 100 ? n.toFixed(1) : Math.round(n)}${units[i]}`;
}

export function count(n) {
    return n === undefined ? '' : scaled(n, ['', 'k', 'M', 'G'], 1000);
}

export function bytes(n) {
    return scaled(n, [' B', ' KiB', ' MiB', ' GiB'], 1024);
}

export function money(usd) {
    if (usd === undefined)
        return '';
    if (!usd || usd >= 1)
        return `$${usd.toFixed(2)}`;
    return `$${usd.toFixed(usd < 0.01 ? 4 : 3).replace(/(\.\d\d\d?)0$/, '$1')}`;
}

const clock = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23'});
const day = new Intl.DateTimeFormat(undefined, {year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23'});

export function time(ms) {
    return ms ? clock.format(ms) : '';
}

export function date(ms) {
    return ms ? day.format(ms) : '';
}

export function plural(n, word) {
    return `${n} ${word}${n === 1 ? '' : 's'}`;
}
