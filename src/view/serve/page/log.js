// The output of an agent. The page holds only a few windows of a long log, around the visible part. It
// loads more when the user scrolls and when the agent writes.

import {h, put, say, soon} from './dom.js';
import {bytes} from './format.js';
import {api, runPath} from './live.js';

const chunksMax = 5, near = 1200, pollMs = 700, matchesMax = 1000;

const kinds = {'> ': 'act', '! ': 'trouble', '? ': 'asks'};

// A line, with the search text highlighted.
function lineNode(text, wanted) {
    const node = h('div', {class: `line ${kinds[text.slice(0, 2)] || ''}`});
    const low = wanted && text.toLowerCase();
    let at = 0;
    for (let found; wanted && (found = low.indexOf(wanted, at)) >= 0; at = found + wanted.length)
        node.append(text.slice(at, found), h('mark', {}, text.slice(found, found + wanted.length)));
    node.append(text.slice(at));
    return node;
}

export function logView({run, task, memory}) {
    memory.log ??= {};
    const mine = memory.log;
    if (mine.task !== task.id)
        Object.assign(mine, {task: task.id, attempt: undefined, stream: 'out', chosen: false});
    const path = runPath(run.id, 'tasks', task.id);
    const box = h('div', {class: 'panel scroll log', role: 'log', 'aria-live': 'off', 'aria-label': 'Log', tabindex: 0, onscroll: soon(onScroll)});
    const attempts = h('select', {id: 'log-attempt', onchange: () => choose({attempt: Number(attempts.value)})});
    const streams = h('select', {id: 'log-stream', onchange: () => choose({stream: streams.value})});
    const follow = h('button', {type: 'button', 'aria-pressed': 'true', onclick: () => {
        setFollow(!following);
        if (following)
            tail();
    }}, 'Follow');
    const where = h('span', {class: 'muted num'});
    const slider = h('input', {type: 'range', min: 0, max: 1000, value: 1000, 'aria-label': 'Position in the log', onchange: () => jump(Math.floor(size * slider.value / 1000))});
    const search = h('input', {type: 'search', 'aria-label': 'Search the log', placeholder: 'Search'});
    const result = h('span', {class: 'muted', role: 'status'});
    const previous = h('button', {type: 'button', 'aria-label': 'Previous match', disabled: true, onclick: () => go(-1)}, '↑');
    const next = h('button', {type: 'button', 'aria-label': 'Next match', disabled: true, onclick: () => go(1)}, '↓');
    let chunks = []; // {from, to, node}
    let size = 0, growing = false, following = true, busy = false, wanted = '', matches = [], at = -1, closed = false, timer, turn = 0, shown = 0, still = 0;

    // Drops answers that arrive after the user has moved elsewhere.
    const ask = async (query, attempt = mine.attempt) => {
        const asked = turn;
        const answer = await api(`${path}/log?stream=${mine.stream}${attempt ? `&attempt=${attempt}` : ''}${query}`);
        return asked === turn && !closed ? answer : undefined;
    };

    function setFollow(yes) {
        following = yes;
        follow.setAttribute('aria-pressed', yes);
    }

    function choose(what) {
        Object.assign(mine, what, {chosen: true});
        matches = [];
        setMatches();
        tail();
    }

    function take(answer) {
        size = answer.size;
        growing = answer.growing;
        shown = answer.attempt;
        if (attempts.length !== answer.attempts || Number(attempts.value) !== answer.attempt) {
            put(attempts, Array.from({length: answer.attempts}, (_, i) => h('option', {value: String(i + 1)}, i + 1)));
            attempts.value = answer.attempt;
        }
        const names = answer.streams.includes(mine.stream) ? answer.streams : [mine.stream, ...answer.streams];
        if (streams.dataset.names !== names.join()) {
            put(streams, names.map((name) => h('option', {value: name}, name)));
            streams.dataset.names = names.join();
        }
        streams.value = mine.stream;
        follow.hidden = !growing;
        slider.hidden = size < 64 * 1024;
        place();
    }

    function make(answer) {
        return {from: answer.from, to: answer.to, node: h('div', {class: 'chunk'}, answer.lines.map((l) => lineNode(l, wanted)))};
    }

    function show(answer) {
        chunks = [make(answer)];
        put(box, chunks[0].node, !answer.size && h('p', {class: 'muted'}, growing ? 'No output yet.' : 'No output.'));
    }

    async function load(query, then) {
        turn++;
        busy = true;
        try {
            const answer = await ask(query);
            if (!answer)
                return;
            take(answer);
            const other = answer.streams.find((name) => name !== mine.stream);
            if (!answer.size && !growing && !mine.chosen && other) // this stream is empty: show the other one
                return void choose({stream: other});
            show(answer);
            then?.();
        } catch (error) {
            put(box, h('p', {class: 'muted'}, error.message));
        } finally {
            busy = false;
        }
    }

    const tail = () => load('', () => {
        box.scrollTop = box.scrollHeight;
    });

    const jump = async (byte, then) => {
        setFollow(false);
        await load(`&from=${byte}`, () => {
            box.scrollTop = 0;
            then?.();
        });
        await more();
    };

    // Loads one more window at one end, and drops one at the other.
    async function extend(up) {
        const edge = up ? chunks[0].from : chunks.at(-1).to;
        busy = true;
        try {
            const answer = await ask(up ? `&until=${edge}` : `&from=${edge}`);
            if (!answer)
                return;
            take(answer);
            if (answer.from === answer.to)
                return;
            const chunk = make(answer);
            if (up) {
                const height = box.scrollHeight;
                chunks.unshift(chunk);
                box.prepend(chunk.node);
                box.scrollTop += box.scrollHeight - height;
                if (chunks.length > chunksMax)
                    chunks.pop().node.remove();
            } else {
                chunks.push(chunk);
                box.append(chunk.node);
                if (chunks.length > chunksMax) {
                    const height = box.scrollHeight, top = box.scrollTop;
                    chunks.shift().node.remove();
                    box.scrollTop = top - (height - box.scrollHeight);
                }
            }
        } finally {
            busy = false;
        }
    }

    async function more() {
        if (busy || !chunks.length || closed)
            return;
        const bottom = box.scrollHeight - box.clientHeight - box.scrollTop;
        if (box.scrollTop < near && chunks[0].from > 0)
            await extend(true).catch(() => {});
        else if (bottom < near && chunks.at(-1).to < size)
            await extend(false).catch(() => {});
    }

    function onScroll() {
        if (growing && following && box.scrollHeight - box.clientHeight - box.scrollTop > 200 && Date.now() > still)
            setFollow(false);
        place();
        more();
    }

    function place() {
        if (!chunks.length)
            return;
        const from = chunks[0].from, to = chunks.at(-1).to;
        const part = box.scrollHeight > box.clientHeight ? box.scrollTop / (box.scrollHeight - box.clientHeight) : 1;
        const here = from + (to - from) * part;
        slider.value = size ? Math.round(1000 * here / size) : 1000;
        slider.setAttribute('aria-valuetext', `${bytes(Math.round(here))} of ${bytes(size)}`);
        say(where, bytes(size));
    }

    // Has a new attempt started, and did the user not choose one?
    function hasNewAttempt() {
        const attempts = run.byId.get(task.id).attempts;
        return !mine.attempt && following && attempts > shown;
    }

    async function poll() {
        try {
            if (busy || document.hidden)
                return;
            if (hasNewAttempt() || !chunks.length)
                await tail();
            else if (following && (growing || chunks.at(-1).to < size))
                await append();
            else if (growing)
                await measure();
        } catch {
            // The server does not answer: try again later.
        } finally {
            if (!closed)
                timer = setTimeout(poll, pollMs);
        }
    }

    // Updates the size of the log while the user reads another part of it.
    async function measure() {
        const answer = await ask(`&from=${size}&bytes=1`, shown);
        if (!answer)
            return;
        take(answer);
        more();
    }

    // Appends new output. If we are far behind, jumps to the end instead.
    async function append() {
        const answer = await ask(`&from=${chunks.at(-1).to}`, shown);
        if (!answer)
            return;
        take(answer);
        if (answer.size - answer.to > 512 * 1024)
            return void await tail();
        if (answer.from === answer.to)
            return;
        const chunk = make(answer), last = chunks.at(-1);
        if (last.node.childElementCount + chunk.node.childElementCount < 500) {
            last.node.append(...chunk.node.childNodes);
            last.to = chunk.to;
        } else {
            chunks.push(chunk);
            box.append(chunk.node);
            if (chunks.length > chunksMax)
                chunks.shift().node.remove();
        }
        box.querySelector('p.muted')?.remove();
        still = Date.now() + 300; // we scroll here, not the user
        box.scrollTop = box.scrollHeight;
    }


    function setMatches(more) {
        previous.disabled = next.disabled = !matches.length;
        say(result, !wanted ? '' : matches.length ? `${at + 1} of ${matches.length}${more ? '+' : ''}` : more ? 'searching' : 'no match');
    }

    async function find() {
        wanted = search.value.trim().toLowerCase();
        matches = [];
        at = -1;
        setMatches(Boolean(wanted));
        if (!wanted)
            return;
        const looked = wanted;
        const attempt = mine.attempt ? `&attempt=${mine.attempt}` : '';
        for (let from = 0, hasMore = true; hasMore;) {
            const answer = await api(`${path}/search?stream=${mine.stream}${attempt}&q=${encodeURIComponent(looked)}&from=${from}`);
            if (closed || looked !== wanted)
                return;
            const first = !matches.length;
            matches.push(...answer.matches);
            from = answer.at;
            hasMore = answer.more && matches.length < matchesMax;
            if (first && matches.length)
                await go(1);
            setMatches(answer.more);
        }
    }

    async function go(step) {
        if (!matches.length)
            return;
        at = (at + step + matches.length) % matches.length;
        setMatches();
        const match = matches[at];
        await jump(match.at, () => {
            const lines = [...chunks[0].node.children];
            const line = lines.find((l) => l.textContent === match.line) || lines[0];
            line?.classList.add('here');
        });
        box.querySelector('.here')?.scrollIntoView({block: 'center'});
    }

    search.addEventListener('keydown', (event) => {
        if (event.key === 'Enter') {
            event.preventDefault();
            if (search.value.trim().toLowerCase() === wanted && matches.length)
                go(event.shiftKey ? -1 : 1);
            else
                find().catch((error) => say(result, error.message));
        }
    });
    search.addEventListener('search', () => !search.value && find());
    box.addEventListener('keydown', (event) => {
        if (event.key === 'Home' && chunks[0]?.from > 0) {
            event.preventDefault();
            jump(0);
        } else if (event.key === 'End' && chunks.at(-1)?.to < size) {
            event.preventDefault();
            setFollow(true);
            tail();
        }
    });

    tail();
    timer = setTimeout(poll, pollMs);
    return {
        node: [h('div', {class: 'bar'}, search, previous, next, result, h('span', {class: 'space'}),
            h('label', {for: 'log-attempt'}, 'Attempt'), attempts, h('label', {for: 'log-stream'}, 'Stream'), streams, slider, where, follow), box],
        close: () => {
            closed = true;
            clearTimeout(timer);
        },
    };
}
