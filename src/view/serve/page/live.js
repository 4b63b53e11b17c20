// The data: loaded once, then updated by the server.

import {isOver} from './format.js';
import {soon} from './dom.js';

// Requests that change a run need the token in a header, which no other page can set. We keep the token
// while the tab is open, so that it works after a reload. The storage belongs to our origin including
// the port, and only our own scripts run here (see the content security policy). No other tab has the
// token, it does not stay on disk, and the browser never sends it by itself as it sends a cookie. A tab
// that has only the cookie can only read.
const tokenKey = 'anabranch-token';

export class ApiError extends Error {
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

export async function api(path) {
    const answer = await fetch(`/api/${path}`, {credentials: 'same-origin'});
    const body = await answer.json();
    if (!answer.ok)
        throw new ApiError(answer.status, body.error);
    return body;
}

export function hasToken() {
    return sessionStorage.getItem(tokenKey) !== null;
}

// Sends a request to a run. The result is always {ok, text}, also for errors.
export async function steer(run, words) {
    const answer = await fetch(`/api/${runPath(run, 'steer')}?${new URLSearchParams(words)}`,
        {method: 'POST', headers: {'X-Anabranch-Token': sessionStorage.getItem(tokenKey)}});
    const body = await answer.json();
    if (answer.status === 401)
        sessionStorage.removeItem(tokenKey); // it has expired
    return body.error ? {ok: false, text: body.error} : body;
}

export function runPath(run, ...rest) {
    return ['runs', run, ...rest].map(encodeURIComponent).join('/');
}

// Removes the token from the address, so that it stays out of the history, and exchanges it for a
// cookie.
export async function openSession() {
    const given = /^#token=([0-9a-f]{64})$/.exec(location.hash);
    if (given) {
        sessionStorage.setItem(tokenKey, given[1]);
        history.replaceState(null, '', location.pathname);
    }
    const token = sessionStorage.getItem(tokenKey);
    if (!token)
        return;
    const answer = await fetch('/api/session', {method: 'POST', headers: {'X-Anabranch-Token': token}});
    if (answer.status === 401)
        sessionStorage.removeItem(tokenKey);
}

// The time between two moments, without the spans in which the run was interrupted.
export function worked(idle, from, to) {
    return idle.reduce((ms, span) => ms - Math.max(0, Math.min(to, span.to) - Math.max(from, span.from)), Math.max(0, to - from));
}

export function idleSpans(events) {
    return events.filter((ev) => ev.event === 'run.resumed' && ev.data?.idle_ms > 0).map((ev) => ({from: ev.time - ev.data.idle_ms, to: ev.time}));
}

// The current state of one run. When it changes, `watchers` are called, at most once per frame.
export class Run {
    constructor(id) {
        this.id = id;
        this.tasks = [];
        this.idle = []; // spans in which the run was interrupted
        this.byId = new Map();
        this.watchers = new Set();
        this.onEvents = new Set();
        this.connected = false;
        this.changed = soon(() => this.watchers.forEach((fn) => fn()));
        this.onVisible = () => this.listen();
        document.addEventListener('visibilitychange', this.onVisible);
    }

    async load() {
        const all = await api(runPath(this.id));
        this.run = all.run;
        this.newest = undefined;
        this.skew = all.now - Date.now();
        this.seq = all.seq;
        this.tasks = [];
        this.idle = [];
        this.byId.clear();
        all.tasks.forEach((row) => this.takeTask(row));
        all.recent.sort((a, b) => a.seq - b.seq).forEach((ev) => this.takeEvent(ev));
        this.listen();
        this.changed();
        this.plan().then((plan) => {
            this.needs = plan;
            this.changed();
        }).catch(() => {});
    }

    // The time by the server's clock.
    now() {
        return Date.now() + this.skew;
    }

    takeTask(row) {
        const had = this.byId.get(row.id);
        const task = Object.assign(had || {}, {usd: undefined, tokens_in: undefined, tokens_out: undefined, landed: undefined,
            failure: undefined, reason: undefined, finished: undefined, commit: undefined}, row);
        if (had)
            return;
        this.byId.set(task.id, task);
        this.tasks.push(task);
    }

    takeRunEvent(ev) {
        if (ev.event === 'run.paused')
            this.paused = true;
        else if (ev.event === 'run.started' || ev.event === 'run.resumed')
            this.paused = false;
        else if (ev.event === 'run.workers')
            this.workers = ev.data.workers;
        this.idle.push(...idleSpans([ev]));
    }

    takeEvent(ev) {
        const task = ev.task && this.byId.get(ev.task);
        if (!ev.task)
            this.takeRunEvent(ev);
        if (!task)
            return;
        if (['task.action', 'task.waiting', 'task.parked', 'task.retried', 'task.continued'].includes(ev.event))
            Object.assign(task, {action: undefined, since: undefined, until: undefined, asks: undefined});
        if (ev.event === 'task.action')
            Object.assign(task, {action: ev.data?.action, since: ev.data?.tool ? ev.time - (ev.data.ms || 0) : undefined, until: Date.parse(ev.data?.until) || undefined});
        else if (ev.event === 'task.waiting')
            task.asks = ev.data?.question || 'something';
        else if (ev.event === 'task.parked')
            task.parked = {attempt: ev.attempt, until: ev.time + (ev.data.delay_ms || 0), why: ev.data.reason};
        else if (ev.event === 'task.failed')
            task.output = ev.data && ev.data.output;
        else if (ev.event === 'task.retried' || ev.event === 'task.continued')
            task.retried = ev.data && ev.data.reason;
    }

    take(message) {
        message.tasks.forEach((row) => this.takeTask(row));
        message.events.forEach((ev) => this.takeEvent(ev));
        this.run = message.run;
        this.newest = message.newest;
        this.skew = message.now - Date.now();
        if (message.events.length) {
            this.seq = message.events.at(-1).seq;
            this.onEvents.forEach((fn) => fn(message.events));
        }
        this.changed();
    }

    // Only a visible tab listens: a browser opens few connections per server.
    listen() {
        if (document.hidden || this.closed) {
            this.source?.close();
            this.source = undefined;
            return;
        }
        if (this.source && this.source.readyState !== EventSource.CLOSED)
            return;
        const source = new EventSource(`/api/${runPath(this.id, 'live')}?after=${this.seq}`);
        this.source = source;
        source.onopen = () => this.setConnected(true);
        source.onmessage = (m) => this.take(JSON.parse(m.data));
        source.onerror = () => {
            this.setConnected(false);
            if (source.readyState === EventSource.CLOSED && !this.closed)
                this.again();
        };
    }

    // The browser gave up because the server refused. A new session may help.
    again() {
        clearTimeout(this.retry);
        this.retry = setTimeout(async () => {
            await openSession().catch(() => {});
            this.listen();
        }, 2000);
    }

    setConnected(yes) {
        this.connected = yes;
        this.changed();
    }

    close() {
        this.closed = true;
        clearTimeout(this.retry);
        document.removeEventListener('visibilitychange', this.onVisible);
        this.listen();
    }

    isLive() {
        return this.run?.state === 'running';
    }

    // The state to show: in a run that has ended no task is running.
    stateOf(task) {
        if (!this.isLive() && !isOver(task.state) && !['waiting', 'ready'].includes(task.state))
            return 'interrupted';
        if (task.state === 'waiting' && task.parked && task.parked.attempt === task.attempts && task.parked.until > this.now())
            return 'parked';
        return task.state;
    }

    timeOf(task) {
        if (!task.started)
            return undefined;
        const end = task.finished || (this.isLive() ? this.now() : this.run.finished || task.started);
        return this.worked(task.started, end);
    }

    worked(from, to) {
        return worked(this.idle, from, to);
    }

    // Dependencies that have not finished yet.
    openNeeds(task) {
        const needs = this.needs?.get(task.id)?.depends_on || [];
        return needs.filter((id) => !['landed', 'done'].includes(this.byId.get(id)?.state));
    }

    counts() {
        const counts = new Map();
        for (const task of this.tasks) {
            const state = this.stateOf(task);
            counts.set(state, (counts.get(state) || 0) + 1);
        }
        return counts;
    }

    // The plan with its dependencies; loaded once.
    plan() {
        this.planned ||= api(runPath(this.id, 'plan')).then((plan) => new Map(plan.tasks.map((t) => [t.id, t])));
        return this.planned;
    }
}
