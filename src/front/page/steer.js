// Asking something of a run that goes on: the buttons of the head and of a task. They are there only
// where that could be done: the run is live, the server is not for reading only, and the tab has the
// token. Before anything that ends work there is a question.

import {h, say} from './dom.js';
import {isOver} from './format.js';
import {hasToken, steer} from './live.js';

const saidMs = 20000;

// What came of it, for eyes and for screen readers.
export const said = h('p', {class: 'said', role: 'status'});
let silence;

function tell({ok, text}) {
    clearTimeout(silence);
    said.classList.toggle('bad', !ok);
    say(said, text);
    silence = setTimeout(() => say(said, ''), saidMs);
}

function maySteer({run, start}) {
    return run.isLive() && !start.read_only && hasToken();
}

// Resolves to whether the answer is yes. To leave it by Escape is no; the browser gives the focus back
// to where it was.
function ask(question, consequence, yes) {
    return new Promise((go) => {
        const dialog = h('dialog', {'aria-labelledby': 'question', 'aria-describedby': 'consequence', onclose: () => {
            dialog.remove();
            go(dialog.returnValue === 'yes');
        }}, h('h2', {id: 'question'}, question), h('p', {id: 'consequence'}, consequence),
        h('div', {class: 'bar'}, h('button', {type: 'button', autofocus: true, onclick: () => dialog.close('no')}, 'Cancel'),
            h('button', {type: 'button', class: 'ends', onclick: () => dialog.close('yes')}, yes)));
        document.body.append(dialog);
        dialog.showModal();
    });
}

// A button that asks for one thing at a time. `words` says what, or nothing where the person thought
// better of it.
function button(run, name, words, props = {}) {
    let busy = false;
    return h('button', {type: 'button', ...props, onclick: async () => {
        if (busy)
            return;
        busy = true;
        try {
            const wanted = await words();
            if (wanted)
                tell(await steer(run.id, wanted));
        } catch (error) {
            tell({ok: false, text: `The server cannot be asked: ${error.message}`});
        }
        busy = false;
    }}, name);
}

// One that goes away does not take the focus with it.
function show(node, yes) {
    if (!yes && !node.hidden && node.contains(document.activeElement))
        document.getElementById('view').focus({preventScroll: true});
    node.hidden = !yes;
}

export function runButtons(context) {
    const {run} = context;
    const pause = button(run, 'Pause', () => ({verb: run.paused ? 'continue' : 'pause'}));
    const fewer = button(run, '−', () => ({verb: 'workers', by: -1}), {'aria-label': 'One agent fewer at work'});
    const more = button(run, '+', () => ({verb: 'workers', by: 1}), {'aria-label': 'One agent more at work'});
    const workers = h('span', {class: 'muted'});
    const node = h('div', {class: 'steer', role: 'group', 'aria-label': 'Steer the run', hidden: true}, pause, workers, fewer, more);
    return {
        node,
        update: () => {
            show(node, maySteer(context));
            say(pause, run.paused ? 'Continue' : 'Pause');
            say(workers, run.workers ? `Workers: ${run.workers}` : 'Workers');
        },
    };
}

export function taskButtons(context, task) {
    const {run} = context;
    const stop = button(run, 'Stop', async () => await ask(`Stop ${task.id}?`,
        'Its agent is asked to end, and what it made is saved. The task has failed then, and what depends on it is skipped.', 'Stop it') &&
        {verb: 'stop', task: task.id}, {class: 'ends'});
    const skip = button(run, 'Skip', async () => await ask(`Skip ${task.id}?`,
        'It is not begun in this run, nor is what depends on it.', 'Skip it') && {verb: 'skip', task: task.id}, {class: 'ends'});
    const node = h('div', {class: 'steer', role: 'group', 'aria-label': 'Steer this task', hidden: true}, stop, skip);
    return {
        node,
        update: () => {
            const begun = task.attempts > 0 || !['waiting', 'ready'].includes(task.state);
            show(stop, begun);
            show(skip, !begun);
            show(node, maySteer(context) && !isOver(task.state));
        },
    };
}
