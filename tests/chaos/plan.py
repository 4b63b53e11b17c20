"""Random plans of sim tasks, with the expected outcome of each task."""

# Each attempt writes new content, and then records it in a ledger outside of the repository. From then on, git must
# have everything that is in the ledger.
WORK = 'sh mkdir -p {t} && read -r n </proc/sys/kernel/random/uuid && echo $n >>{t}/{name}' \
       ' && echo {t} $n >>"$CHAOS_LEDGER"'

LANDS, DONE, FAILS, MAY_CLASH = {'landed'}, {'done'}, {'failed'}, {'landed', 'conflicted'}


def work(task, name='work'):
    return WORK.format(t=task, name=name)


# kind: weight, outcome, steps ({t}: the task's name and folder, {s}: a file that all tasks of the plan share), keys of the task
KINDS = {
    'writes': (8, LANDS, [work('{t}')], {}),
    'edits': (5, LANDS, [work('{t}'), 'delete {t}/old', 'rename {t}/mv {t}/moved',
                         'chmod 755 {t}/mode', 'symlink mode {t}/link'], {}),
    'commits': (3, LANDS, [work('{t}'), 'commit by itself', work('{t}', 'more')], {}),
    'verified': (2, LANDS, [work('{t}')], {'verify': 'test -s {t}/work'}),
    'flaky': (1, LANDS, [work('{t}'), 'on 1 exit 1'], {}),
    'unverified': (1, LANDS, [work('{t}'), 'on 1 write {t}/bad x', 'on 2 sh rm -f {t}/bad'],
                   {'verify': 'test ! -e {t}/bad'}),
    'returns': (0.7, LANDS, [work('{t}'), 'on 1 write elsewhere-{t} x', 'on 2 sh rm -f elsewhere-{t}'],
                {'owns': ['{t}/'], 'retry': {'scope': 1}}),
    'limited': (0.3, LANDS, [work('{t}'), 'on 1 limit 10ms'], {}),
    'rejected': (1, FAILS, [work('{t}')], {'verify': 'false', 'retry': {'verify': 0}}),
    'breaks': (1, FAILS, [work('{t}'), 'exit 1'], {'retry': 0}),
    'dies': (1, FAILS, [work('{t}'), 'signal KILL'], {'retry': 0}),
    'hangs': (0.3, FAILS, [work('{t}'), 'hang'], {'timeout': '1s'}),
    'empty': (0.5, FAILS, ['say nothing to do'], {}),
    'strays': (0.7, FAILS, [work('{t}'), 'write elsewhere-{t} x'], {'owns': ['{t}/']}),
    'clashes': (2, MAY_CLASH, [work('{t}'), 'write {s} "by {t}"'], {}),
    'reads': (1, DONE, ['say read'], {'read_only': True}),
    'scribbles': (1, DONE, [work('{t}')], {'read_only': True}),
    'daemon': (1, LANDS, [work('{t}'), 'daemon exec sleep 60'], {}),
    'stubborn daemon': (0.5, LANDS, [work('{t}'), "daemon trap '' TERM INT HUP; sleep 60 & wait"], {}),
    'spawns': (1, LANDS, [work('{t}'), 'spawn sleep 60'], {}),
    'stubborn': (1, LANDS, ['ignore TERM', 'ignore INT', work('{t}'), 'sleep 150ms'], {}),
}


def shared_by(task):
    """The name of the shared file. Concurrent plans have different ones, by the first letter of their tasks."""
    return f'shared-{task[0]}'


def fill(value, task):
    """Replaces {t} and {s} in all texts of a value."""
    if isinstance(value, str):
        return value.replace('{t}', task).replace('{s}', shared_by(task))
    if isinstance(value, list):
        return [fill(v, task) for v in value]
    if isinstance(value, dict):
        return {k: fill(v, task) for k, v in value.items()}
    return value


class Task:
    def __init__(self, name, kind, deps=()):
        self.name, self.kind, self.deps = name, kind, list(deps)
        _, self.outcome, self.steps, self.keys = KINDS[kind]

    def encode(self, rnd):
        steps = fill(list(self.steps), self.name)
        for dep in self.deps:
            steps.insert(0, f'sh test -s {dep.name}/work' if dep.outcome in (LANDS, MAY_CLASH) else 'say hi')
        for _ in range(rnd.randrange(3)):
            steps.insert(rnd.randrange(len(steps) + 1), f'sleep {rnd.randrange(1, 60)}ms')
        prompt = ''.join(f'sim> {s}\n' for s in steps)
        return {'id': self.name, 'engine': 'sim', 'prompt': prompt,
                'depends_on': [d.name for d in self.deps], **fill(self.keys, self.name)}

    def effects(self, tree):
        """Applies the landing to a tree of path: (mode, text). The text None stands for one line of the ledger."""
        if self.kind == 'edits':
            del tree[f'{self.name}/old']
            tree[f'{self.name}/moved'] = tree.pop(f'{self.name}/mv')
            tree[f'{self.name}/mode'] = ('100755', tree[f'{self.name}/mode'][1])
            tree[f'{self.name}/link'] = ('120000', 'mode')
        for name in ('work', 'more') if self.kind == 'commits' else ('work',):
            tree[f'{self.name}/{name}'] = ('100644', None)


class Plan:
    """`style` is the landing style of the plan; `document` is the content of `file`."""

    def __init__(self, tasks, style, document):
        self.tasks, self.style, self.document = tasks, style, document
        self.name, self.shared = tasks[0].name[0], shared_by(tasks[0].name)
        self.file = f'plan-{self.name}.json'


def standard(rnd):
    """A plan with tasks of all kinds, always the same."""
    a, b = Task('t0', 'writes'), Task('t1', 'unverified')
    tasks = [a, b, Task('t2', 'edits', [a]), Task('t3', 'clashes'), Task('t4', 'clashes'), Task('t5', 'reads', [a])]
    entries = [t.encode(rnd) for t in tasks]
    entries[0]['order'], entries[2]['order'] = 1, 2
    return Plan(tasks, 'merge', {'base': 'main', 'limits': {'workers': 3}, 'tasks': entries})


def dress(rnd, entry):
    """Adds groups, orders and owned paths, which change only the timing."""
    if rnd.random() < 0.2:
        entry['group'] = 'g'
    if rnd.random() < 0.2:
        entry['order'] = rnd.randrange(5)
    return entry


def random_plan(rnd, base, letter):
    kinds, weights = list(KINDS), [k[0] for k in KINDS.values()]
    tasks = []
    for i in range(rnd.choice([1, 2, 3, 4, 4, 5, 6, 8, 12])):
        deps = rnd.sample(tasks, min(len(tasks), rnd.choice([0, 0, 0, 1, 1, 2])))
        tasks.append(Task(f'{letter}{i}', rnd.choices(kinds, weights)[0], deps))
    landing = {'at': rnd.choice(['each', 'each', 'end']), 'style': rnd.choice(['merge', 'merge', 'squash', 'rebase'])}
    if rnd.random() < 0.2:
        landing['verify'] = 'test -e keep'
    document = {
        'name': 'chaos', 'base': base, 'landing': landing,
        'limits': {'workers': rnd.randrange(1, 5), 'groups': {'g': rnd.randrange(1, 3)}},
        'tasks': [dress(rnd, t.encode(rnd)) for t in tasks],
    }
    document['workspace'] = {'provider': rnd.choice(['auto', 'pool'])}
    if rnd.random() < 0.2:
        document['workspace'].update(setup='test -e keep', teardown='test -e .git')
    return Plan(tasks, landing['style'], document)
