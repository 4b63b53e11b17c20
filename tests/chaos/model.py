"""What must hold, after each interruption and at the end."""
import glob
import os
import re
import signal
import subprocess

from world import Wrong

ENDS = ('landed', 'done', 'failed', 'conflicted', 'skipped')


def want(holds, text):
    if not holds:
        raise Wrong(text)


def check_exit(world, code, hits):
    """Exit codes are those of the manual; signals are those that were sent, before and after they are heeded."""
    allowed = {0, 1, 4} | ({3} if any(h.victim != 'engine' for h in hits) else set())
    for number in (getattr(signal, name) for h in hits if h.victim == 'engine' for name in h.signals):
        allowed |= {-number} if number == signal.SIGKILL else {-number, 128 + number}
    want(code in allowed, f'exit code {code} after {hits}: {world.said()}')


def check_said(world):
    """No round may end with a complaint of a sanitizer or an assertion."""
    for i in range(1, world.rounds + 1):
        with open(f'{world.dir}/{i}.err') as f:
            text = f.read()
        want(not re.search(r'Sanitizer|runtime error|Assertion|core dumped', text), f'round {i}: {text}')


def check_user(world):
    now = world.look_at_user()
    for part, before in world.user.items():
        want(now[part] == before, f"the user's {part} changed: {before!r} is now {now[part]!r}")


def check_history(world):
    """The base only ever went forward, and has all that people put on it."""
    with open(f'{world.repo}/.git/logs/{world.base}') as f:
        moves = [line.split()[:2] for line in f]
    for older, newer in moves[1:]:
        want(world.contains(newer, older), f'{world.base} was rewound from {older} to {newer}')
    base = world.commit_of(world.base)
    want(world.contains(base, world.first), 'the base has lost its beginning')
    for path, commit in world.others:
        want(world.contains(base, commit), f'the base has lost {path} of someone else')


def check_ledger(world):
    """Whatever an agent wrote can be reached from a ref, or is in a workspace that is named."""
    with open(world.ledger) as f:
        entries = [line.split() for line in f]
    objects = [line.split(' ', 1) for line in world.git('rev-list', '--objects', '--all').splitlines()]
    known = ''.join(world.blobs([o[0] for o in objects if o[1:] and o[1].endswith(('/work', '/more'))]).values())
    for path in glob.glob(f'{world.repo}/.anabranch/worktrees/*/*/*/work'):
        with open(path) as f:
            known += f.read()
    for task, nonce in entries:
        want(nonce in known, f'work of {task} is lost: {nonce}')


def tip(world, run):
    return world.commit_of(f'refs/heads/anabranch/{run["run"]}/+result') or world.commit_of(world.base)


def check_told(world, run):
    """What the store says to have landed has, also right after an interruption."""
    known = ('finished', 'stopped', 'broken', 'interrupted', 'unknown')
    want(run['state'] in known, f'the run is said to be {run["state"]}')
    at = [tip(world, run), world.commit_of(f'refs/anabranch/runs/{run["run"]}')]
    for task in run['tasks']:
        if task['state'] == 'landed':
            want(any(a and world.contains(a, task['landed']) for a in at),
                 f'{task["id"]} is said to have landed, and has not')


def check_states(world, run):
    states = {t['id']: t['state'] for t in run['tasks']}
    want(set(states) == {t.name for t in world.plan.tasks}, f'tasks are missing: {states}')
    for task in world.plan.tasks:
        state, allowed = states[task.name], set(task.outcome)
        if any(states[d.name] not in ('landed', 'done') for d in task.deps):
            allowed = {'skipped'}
        reason = next(t['reason'] for t in run['tasks'] if t['id'] == task.name)
        want(state in allowed, f'{task.name} ({task.kind}) is {state}: {reason}; expected {allowed}')
    clashes = [states[t.name] for t in world.plan.tasks if t.kind == 'clashes']
    want('conflicted' not in clashes or 'landed' in clashes, f'conflicts with nothing: {states}')
    return states


def check_tree(world, run, states):
    """The tip is the first tree, what others committed, and what landed, each once."""
    expected, found = dict(world.first_tree), world.tree(tip(world, run))
    writers = [t.name for t in world.plan.tasks if t.kind == 'clashes' and states[t.name] == 'landed']
    for path, commit in world.others:  # where the base could not follow, it has some that the tip has not
        if world.contains(tip(world, run), commit):
            expected[path] = ('100644', 'of someone else\n')
    for task in world.plan.tasks:
        if states[task.name] == 'landed':
            task.effects(expected)
    if writers:
        want(found.get('shared', ('', ''))[1] in [f'by {w}\n' for w in writers], f'shared: {found.get("shared")}')
        expected['shared'] = found['shared']
    want(sorted(found) == sorted(expected), f'files on the tip: {sorted(set(found) ^ set(expected))} differ')
    with open(world.ledger) as f:
        noted = {line.split()[1] for line in f}
    for path, (mode, text) in found.items():
        same = expected[path][1] == text if expected[path][1] is not None else text.strip() in noted
        want(same and expected[path][0] == mode, f'{path} on the tip: {mode} {text!r}, expected {expected[path]}')


def check_landed_once(world, run, states):
    """One commit on the way to the tip for each landing."""
    style = world.plan.style
    if style == 'rebase':
        return  # the tree shows it: each task's lines are there once
    log = world.git('log', '--format=%(trailers:key=Anabranch-Task,valueonly,separator=%x2C)|%P',
                    f'{world.first}..{tip(world, run)}')
    for name, state in states.items():
        lines = [line.split('|')[1].split() for line in log.splitlines() if line.split('|')[0] == name]
        landings = [parents for parents in lines if len(parents) == (2 if style == 'merge' else 1)]
        if style == 'merge' or state != 'landed':
            want(len(landings) == (state == 'landed'), f'{name} is {state}, with {len(landings)} landings')
        else:
            want(len(landings) == 1, f'{name} landed {len(landings)} times')


def check_left(world, run, states):
    """No worktree, ref, lock or temporary file but those that a person is to look at."""
    kept = [t for t in run['tasks'] if t['state'] == 'conflicted']
    git = f'{world.repo}/.git'
    listing = world.git('worktree', 'list', '--porcelain').splitlines()
    trees = [line[9:] for line in listing if line.startswith('worktree ')]
    want(len(trees) == 1 + len(kept), f'worktrees: {trees}')
    want(sorted(trees[1:]) == sorted(t['workspace'] for t in kept), f'worktrees: {trees}')
    allowed = {f'refs/heads/{t["branch"]}' for t in kept} | {f'refs/heads/anabranch/{run["run"]}/+result'}
    refs = world.refs('refs/heads/anabranch', 'refs/anabranch')
    left = [r for r in refs if r not in allowed and not r.startswith('refs/anabranch/salvage/')]
    want(not left, f'refs are left: {left}')
    locks = [p for p in glob.glob(f'{git}/**/*.lock', recursive=True) if '/anabranch/runs/' not in p]
    want(not locks, f'locks are left: {locks}')
    want(not os.listdir(f'{git}/anabranch/tmp'), f'left: {os.listdir(git + "/anabranch/tmp")}')
    want(kept or not os.path.exists(f'{world.repo}/.anabranch'), f'{world.repo}/.anabranch is left')
    admin = os.listdir(f'{git}/worktrees') if os.path.exists(f'{git}/worktrees') else []
    want(len(admin) == len(kept), f'left in .git/worktrees: {admin}')
    odd = {e for e in os.listdir(git) if e.startswith(('MERGE_', 'CHERRY', 'AUTO_', 'REVERT', 'rebase', 'sequencer'))}
    want(not odd, f'left in .git: {odd}')
    want(not os.listdir(f'{world.dir}/tmp'), f'left in TMPDIR: {os.listdir(world.dir + "/tmp")}')


def check_fsck(world):
    p = subprocess.run(['git', '-C', world.repo, 'fsck', '--full', '--no-dangling', '--no-progress'],
                       env=world.env, capture_output=True, text=True)
    want(p.returncode == 0, f'fsck: {p.stdout}{p.stderr}')


def expected_exit(world, run, states):
    if 'conflicted' in states.values() or tip(world, run) != world.commit_of(world.base):
        return 4
    return 1 if {'failed', 'skipped'} & set(states.values()) else 0


def check_between(world, run):
    check_said(world)
    check_history(world)
    if run:
        check_told(world, run)


def check_end(world, run, code, blocked):
    check_between(world, run)
    check_user(world)
    check_ledger(world)
    states = check_states(world, run)
    published = tip(world, run) == world.commit_of(world.base)
    want(published or blocked, 'the base could not be brought to the tip, and nothing is in the way')
    want(code == expected_exit(world, run, states), f'exit code {code} with {states}, published: {published}')
    want(run['exit_code'] == code, f'the store has exit code {run["exit_code"]}, it was {code}')
    check_tree(world, run, states)
    check_landed_once(world, run, states)
    check_left(world, run, states)
    check_fsck(world)
