// Asking something of a run that goes on: the buttons of the head and of a task. They are there only
// where that could be done: the run is live, the server is not for reading only, and the tab has the
// token. Before anything that ends work there is a question.

import {h, say} from './dom.js';
import {isOver} from './format.js';
import {hasToken, steer} from './live.js';

const saidMs = 20000;
const sayMax = 6000; // of an address, in which it goes to the server

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

// Resolves to whether the answer is yes; with a field, to the text in that. To leave it by Escape is no;
// the browser gives the focus back to where it was.
function ask(question, consequence, yes, field) {
    return new Promise((go) => {
        const dialog = h('dialog', {'aria-labelledby': 'question', 'aria-describedby': 'consequence', onclose: () => {
            dialog.remove();
            go(dialog.returnValue === 'yes' && (field ? field.value.trim() : true));
        }}, h('h2', {id: 'question'}, question), h('p', {id: 'consequence'}, consequence), field,
        h('div', {class: 'bar'}, h('button', {type: 'button', autofocus: !field, onclick: () => dialog.close('no')}, 'Cancel'),
            h('button', {type: 'button', class: field ? null : 'ends', onclick: () => dialog.close('yes')}, yes)));
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
            tell({ok: false, text: `It was not asked: ${error.message}`});
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
    const retry = button(run, 'Retry', () => ({verb: 'retry', task: task.id}));
    const anew = button(run, 'Begin anew', async () => await ask(`Begin ${task.id} anew?`,
        'A new session begins, in a new workspace. What is left of the last attempt is saved.', 'Begin anew') &&
        {verb: 'retry', task: task.id, fresh: 1}, {class: 'ends'});
    const talk = button(run, 'Say …', async () => {
        const text = await ask(`Say something to the agent of ${task.id}`,
            'It goes on in its session. One that is at work hears it when it is done, before what it made lands.', 'Say it',
            h('textarea', {rows: 5, 'aria-label': 'What it is told', autofocus: true}));
        if (text && encodeURIComponent(text).length > sayMax)
            throw new Error('that is too long for a page; "anabranch say" takes more');
        return text && {verb: 'say', task: task.id, text};
    });
    const node = h('div', {class: 'steer', role: 'group', 'aria-label': 'Steer this task', hidden: true}, stop, skip, retry, anew, talk);
    return {
        node,
        update: () => {
            const begun = task.attempts > 0 || !['waiting', 'ready'].includes(task.state);
            const over = isOver(task.state), well = ['landed', 'done'].includes(task.state);
            show(stop, !over && begun);
            show(skip, !over && !begun);
            show(retry, over);
            show(anew, over && task.attempts > 0);
            show(talk, task.attempts > 0);
            show(node, maySteer(context) && !well);
        },
    };
}
