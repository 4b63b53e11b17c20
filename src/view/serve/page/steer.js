// Steers a running run: the buttons of the head and of a task. They are shown only if they work: the run
// is live, the server is not read-only, and the tab has the token. Before work ends, we ask the user to
// confirm.

import {h, say} from './dom.js';
import {isOver} from './format.js';
import {hasToken, steer} from './live.js';

const saidMs = 20000;
const sayMax = 6000; // length of the text in the request's address

// The result of the last request, also for screen readers.
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

// Resolves to true for yes, or to the text of the field if there is one. Escape means no; the browser
// then restores the focus.
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

// A button that sends one request at a time. `words` returns the request, or nothing if the user
// cancelled.
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
            tell({ok: false, text: `Request not sent: ${error.message}`});
        }
        busy = false;
    }}, name);
}

// If the focused element is hidden, the focus moves to the view.
function show(node, yes) {
    if (!yes && !node.hidden && node.contains(document.activeElement))
        document.getElementById('view').focus({preventScroll: true});
    node.hidden = !yes;
}

export function runButtons(context) {
    const {run} = context;
    const pause = button(run, 'Pause', () => ({verb: run.paused ? 'continue' : 'pause'}));
    const fewer = button(run, '−', () => ({verb: 'workers', by: -1}), {'aria-label': 'One worker fewer'});
    const more = button(run, '+', () => ({verb: 'workers', by: 1}), {'aria-label': 'One worker more'});
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
        'The agent is asked to stop, and its work is saved. The task fails, and tasks that depend on it are skipped.', 'Stop it') &&
        {verb: 'stop', task: task.id}, {class: 'ends'});
    const skip = button(run, 'Skip', async () => await ask(`Skip ${task.id}?`,
        'This run does not start it, nor the tasks that depend on it.', 'Skip it') && {verb: 'skip', task: task.id}, {class: 'ends'});
    const retry = button(run, 'Retry', () => ({verb: 'retry', task: task.id}));
    const restart = button(run, 'Restart from scratch', async () => await ask(`Restart ${task.id} from scratch?`,
        'The agent starts a new session in a new workspace. The work of the last attempt is saved.', 'Restart from scratch') &&
        {verb: 'retry', task: task.id, fresh: 1}, {class: 'ends'});
    const talk = button(run, 'Say …', async () => {
        const text = await ask(`Say something to the agent of ${task.id}`,
            'The agent receives it in its session. An agent that is running receives it when it has finished, before its work lands.', 'Say it',
            h('textarea', {rows: 5, 'aria-label': 'Message to the agent', autofocus: true}));
        if (text && encodeURIComponent(text).length > sayMax)
            throw new Error('the message is too long for this page; use "anabranch say"');
        return text && {verb: 'say', task: task.id, text};
    });
    const node = h('div', {class: 'steer', role: 'group', 'aria-label': 'Steer this task', hidden: true}, stop, skip, retry, restart, talk);
    return {
        node,
        update: () => {
            const begun = task.attempts > 0 || !['waiting', 'ready'].includes(task.state);
            const over = isOver(task.state), well = ['landed', 'done'].includes(task.state);
            show(stop, !over && begun);
            show(skip, !over && !begun);
            show(retry, over);
            show(restart, over && task.attempts > 0);
            show(talk, task.attempts > 0);
            show(node, maySteer(context) && !well);
        },
    };
}
