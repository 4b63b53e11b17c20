"""The invariants that must hold after each interruption and at the end."""
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


def check_exit(engine, code, hits):
    """The exit code is one of the manual, or that of a signal that we sent, handled or not."""
    allowed = {0, 1, 4} | ({3} if any(h.victim != 'engine' for h in hits) else set())
    for number in (getattr(signal, name) for h in hits if h.victim in ('engine', 'all') for name in h.signals):
        allowed |= {-number} if number == signal.SIGKILL else {-number, 128 + number}
    if any(h.what == 'covered' for h in hits) and 'cannot find its folder' in engine.said():
        allowed.add(2)  # it started in the covered repository, and the cover was removed
    want(code in allowed, f'exit code {code} of {engine.plan.name} after {hits}: {engine.said()}')


def check_said(engine):
    """No round ends with a report of a sanitizer or a failed assertion."""
    text = engine.said()
    want(not re.search(r'Sanitizer|runtime error|Assertion|core dumped', text), f'round {engine.rounds}: {text}')


def check_checkout(world):
    """After all that the person has done, main is checked out and unchanged, and no rebase, merge or the like is in progress."""
    world.restless.ends_all()
    head, status = world.restless.head(), world.git('status', '--porcelain=v1', '--untracked-files=no')
    want(head == 'main' and not status, f"the person's checkout is of {head}: {status}")
    now = world.look_at_user()
    want(now['settings'] == world.user['settings'] and now['hooks'] == world.user['hooks'], f'settings: {now}')


def check_user(world):
    if world.restless:
        check_checkout(world)
        return
    now = world.look_at_user()
    for part, before in world.user.items():
        want(now[part] == before, f"the user's {part} changed: {before!r} is now {now[part]!r}")


def check_history(world):
    """The base only moved forward, in the reflog and in what we saw, and it has all commits of people."""
    if world.restless:
        return  # the person rewrites it
    others = list(world.others)
    world.see_base()
    tips = list(world.tips)  # another plan's thread may add more meanwhile
    with open(f'{world.repo}/.git/logs/{world.base}') as f:
        moves = [line.split()[:2] for line in f if line.endswith('\n')]
    moves = moves[1:] + list(zip(tips, tips[1:]))
    world.learn([newer for _, newer in moves])
    for older, newer in moves:
        want(world.contains(newer, older), f'{world.base} was rewound from {older} to {newer}')
    base = world.commit_of(world.base)
    for commit in [world.first, *tips]:
        want(world.contains(base, commit), f'{world.base} was at {commit}, which it has lost')
    for path, commit in others:
        want(world.contains(base, commit), f'the base has lost {path} of someone else')


def check_ledger(world):
    """Everything that an agent wrote is reachable from a ref, or in a workspace that the run reports."""
    with open(world.ledger) as f:
        entries = [line.split() for line in f]
    objects = [line.split(' ', 1) for line in world.git('rev-list', '--objects', '--all').splitlines()]
    known = ''.join(world.blobs([o[0] for o in objects if o[1:] and o[1].endswith(('/work', '/more'))]).values())
    for path in glob.glob(f'{world.repo}/.anabranch/worktrees/*/*/*/work'):
        with open(path) as f:
            known += f.read()
    for task, nonce in entries:
        want(nonce in known, f'work of {task} is lost: {nonce}')


def tip(engine):
    world = engine.world
    return world.commit_of(f'refs/heads/anabranch/{engine.told["run"]}/+result') or world.commit_of(world.base)


def is_published(engine):
    return engine.world.contains(engine.world.commit_of(engine.world.base), tip(engine))


def check_told(engine):
    """All tasks that have landed according to the store really have, even right after an interruption."""
    world, run = engine.world, engine.told
    known = ('finished', 'stopped', 'broken', 'interrupted', 'unknown')
    want(run['state'] in known, f'the run is said to be {run["state"]}')
    if world.restless:
        return  # the person rewrites landed commits: check_work() checks them
    at = [tip(engine), world.commit_of(f'refs/anabranch/runs/{run["run"]}')]
    for task in run['tasks']:
        if task['state'] == 'landed':
            want(any(a and world.contains(a, task['landed']) for a in at),
                 f'{task["id"]} is said to have landed, and has not')


def check_states(engine):
    tasks, told = engine.plan.tasks, {t['id']: t for t in engine.told['tasks']}
    states = {name: t['state'] for name, t in told.items()}
    want(set(states) == {t.name for t in tasks}, f'tasks are missing: {states}')
    for task in tasks:
        allowed = set(task.outcome)
        if any(states[d.name] not in ('landed', 'done') for d in task.deps):
            allowed = {'skipped'}
        want(states[task.name] in allowed, f'{task.name} ({task.kind}) is {states[task.name]}: '
             f'{told[task.name]["reason"]}; expected {allowed}')
    clashes = [states[t.name] for t in tasks if t.kind == 'clashes']
    want('conflicted' not in clashes or 'landed' in clashes, f'conflicts with nothing: {states}')


def expected_exit(engine):
    states = {t['state'] for t in engine.told['tasks']}
    if 'conflicted' in states or not is_published(engine):
        return 4
    return 1 if {'failed', 'skipped'} & states else 0


def check_work(world):
    """Landed work and the person's commits are on the base or on a result branch, even after the person rewrote them."""
    places = [world.commit_of(world.base), world.commit_of('refs/heads/main'), *(tip(e) for e in world.engines)]
    trees = [world.tree(p) for p in set(places)]
    for engine in world.engines:
        for task in (t for t in engine.told['tasks'] if t['state'] == 'landed'):
            want(any(f'{task["id"]}/work' in t for t in trees), f'{task["id"]} landed, and its work is nowhere')
    for name in world.restless.files:
        want(any(name in t for t in trees), f'{name} of the person is lost')


def check_outcome(engine, blocked):
    if engine.world.restless:
        want(engine.code == engine.told['exit_code'], f'exit code {engine.code}, in the store {engine.told["exit_code"]}')
        return
    want(is_published(engine) or blocked, 'the base could not be brought to the tip, and nothing is in the way')
    states = {t['id']: t['state'] for t in engine.told['tasks']}
    code, stored = engine.code, engine.told['exit_code']
    want(code == expected_exit(engine), f'exit code {code} with {states}, published: {is_published(engine)}')
    want(stored == code, f'the store has exit code {stored}, it was {code}')


def landed_on(world, commit, engine):
    """The engine's tasks whose landings this commit contains; another run's commit may lack some."""
    landings = {t['id']: t['landed'] for t in engine.told['tasks'] if t['state'] == 'landed'}
    return [t for t in engine.plan.tasks if t.name in landings and world.contains(commit, landings[t.name])]


def expected_tree(world, commit, found):
    """The first tree, the commits of other people, and the landed work of all runs."""
    expected = dict(world.first_tree)
    for path, other in world.others:  # if the base could not follow, it has commits that the tip lacks
        if world.contains(commit, other):
            expected[path] = ('100644', 'of someone else\n')
    for engine in world.engines:
        landed, shared = landed_on(world, commit, engine), engine.plan.shared
        for task in landed:
            task.effects(expected)
        writers = [t.name for t in landed if t.kind == 'clashes']
        if writers:
            want(found.get(shared, ('', ''))[1] in [f'by {w}\n' for w in writers], f'{shared}: {found.get(shared)}')
            expected[shared] = found[shared]
    return expected


def check_tree(world, commit):
    """The tip has the expected content, and each piece once."""
    found = world.tree(commit)
    expected = expected_tree(world, commit, found)
    want(sorted(found) == sorted(expected), f'files on the tip: {sorted(set(found) ^ set(expected))} differ')
    with open(world.ledger) as f:
        noted = {line.split()[1] for line in f}
    for path, (mode, text) in found.items():
        same = expected[path][1] == text if expected[path][1] is not None else text.strip() in noted
        want(same and expected[path][0] == mode, f'{path} on the tip: {mode} {text!r}, expected {expected[path]}')


def check_landed_once(world, commit, engine):
    """The history of the tip has one commit per landing."""
    style, landed = engine.plan.style, {t.name for t in landed_on(world, commit, engine)}
    if style == 'rebase':
        return  # check_tree() covers this: each task's lines are there once
    log = world.git('log', '--format=%(trailers:key=Anabranch-Task,valueonly,separator=%x2C)|%P',
                    f'{world.first}..{commit}')
    for name in (t.name for t in engine.plan.tasks):
        lines = [line.split('|')[1].split() for line in log.splitlines() if line.split('|')[0] == name]
        landings = [parents for parents in lines if len(parents) == (2 if style == 'merge' else 1)]
        want(len(landings) == (name in landed), f'{name}: {len(landings)} landings; landed: {sorted(landed)}')


def check_left(world):
    """No worktree, ref, lock or temporary file is left, except those for a person."""
    kept = [t for e in world.engines for t in e.told['tasks'] if t['state'] == 'conflicted']
    git = f'{world.repo}/.git'
    listing = world.git('worktree', 'list', '--porcelain').splitlines()
    trees = [line[9:] for line in listing if line.startswith('worktree ')]
    want(len(trees) == 1 + len(kept), f'worktrees: {trees}')
    want(sorted(trees[1:]) == sorted(t['workspace'] for t in kept), f'worktrees: {trees}')
    allowed = {f'refs/heads/{t["branch"]}' for t in kept}
    allowed |= {f'refs/heads/anabranch/{e.told["run"]}/+result' for e in world.engines}
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
    odd -= {'AUTO_MERGE'} if world.restless else set()  # from a merge of the person
    want(not odd, f'left in .git: {odd}')
    want(not os.listdir(f'{world.dir}/tmp'), f'left in TMPDIR: {os.listdir(world.dir + "/tmp")}')


def check_fsck(world):
    # After the person's `repack -ad`, the commit graph still lists deleted commits.
    options = ['-c', 'core.commitGraph=false'] if world.restless else []
    p = subprocess.run(['git', '-C', world.repo, *options, 'fsck', '--full', '--no-dangling', '--no-progress'],
                       env=world.env, capture_output=True, text=True)
    want(p.returncode == 0, f'fsck: {p.stdout}{p.stderr}')


def read_life(text):
    """The flags and the used retries of a past life, as `__replay` prints them."""
    flags, retries = text.split(':')
    return flags, {name: int(n) for name, n in (r.split('=') for r in retries.split(',') if r)}


def is_ahead(replayed, told):
    """The engine has counted a failed attempt, and was killed while it removed the workspace, before it told of the retry."""
    (flags, retries), (told_flags, told_retries) = read_life(replayed), read_life(told)
    return (flags[1:] == told_flags[1:] and told_flags[0] in ('-', flags[0]) and sum(retries.values()) == 1 +
            sum(told_retries.values()) and all(retries.get(c, 0) >= n for c, n in told_retries.items()))


def check_journal(engine):
    """The journal of the engine replays to the states that the store has, and to the past life that the events tell. A task
    that starts, also again, gets its new row later: a resume leaves the old one as long as something of the last attempt is
    left. If the disk refuses a group of writes, its rows are lost, but not its lines of the journal."""
    code, out, err = engine.ask('__replay', engine.told['run'])
    want(code == 0, f'replay: {code}: {err}')
    if any(h.victim in ('full disk', 'read-only disk') for h in engine.hits):
        return
    for task, replayed, stored, *life in map(str.split, out.splitlines()):
        starts = replayed in ('waiting', 'ready', 'preparing') and stored not in ('landed', 'done')
        want(replayed == stored or (starts and engine.told['state'] != 'finished'),
             f'{task} is {stored}, and {replayed} in a replay')
        runs = stored not in ('landed', 'done', 'failed', 'conflicted', 'skipped')
        want(life[0] == life[1] or (runs and is_ahead(*life)),
             f'{task} is {stored}: by a replay {life[0]}, by its events {life[1]}')


def check_between(engine):
    check_said(engine)
    check_history(engine.world)
    if engine.told:
        check_told(engine)
        check_journal(engine)


def check_end(world, blocked=None):
    """`blocked` is the plan that a file of the user's blocks."""
    check_history(world)
    check_user(world)
    check_ledger(world)
    for engine in world.engines:
        check_told(engine)
        check_states(engine)
        check_outcome(engine, blocked == engine.plan)
    if world.restless:
        check_work(world)
    for commit in {tip(e) for e in world.engines} if not world.restless else ():
        check_tree(world, commit)
        for engine in world.engines:
            check_landed_once(world, commit, engine)
    check_left(world)
    check_fsck(world)
