"""A person works in the checkout while runs land. They rebase, merge, amend, switch, stash, commit and run gc, and
leave operations unfinished for a while. If git refuses one, they try something else."""
import os
import subprocess


class Person:
    """`world` has no unfinished work of the user. The person acts until the world is over, and then ends unfinished operations."""

    def __init__(self, world, rnd):
        self.world, self.rnd, self.files, self.done = world, rnd, [], []

    def git(self, *args):
        """Runs git; true on success."""
        env = {**self.world.env, 'GIT_EDITOR': 'true', 'GIT_SEQUENCE_EDITOR': 'sed -i 1ibreak'}
        p = subprocess.run(['git', '-C', self.world.repo, *args], env=env, stdin=subprocess.DEVNULL, capture_output=True)
        self.done.append(f'{" ".join(args)}: {p.returncode}')
        return p.returncode == 0

    def think(self):
        self.world.over.wait(self.rnd.choice([0, 0.005, 0.05, 0.3]))

    def is_there(self, name):
        return os.path.exists(f'{self.world.repo}/.git/{name}')

    def head(self):
        return self.world.git('symbolic-ref', '-q', '--short', 'HEAD', ok=(0, 1, 128))

    def put(self, name):
        self.world.put(name, f'of {len(self.done)}\n')

    def commits(self):
        name = f'person-{len(self.files)}'
        self.put(name)
        if self.git('add', name) and self.head() == 'main' and self.git('commit', '-q', '-m', name, '--only', '--', name):
            self.files.append(name)
        else:
            while not self.git('reset', '-q', '--', name) and not self.world.over.wait(0.01):
                pass

    def amends(self):
        self.git('commit', '-q', '--amend', '-m', f'amended {len(self.done)}')

    def rebases(self):
        self.git('rebase', '-q', '-i', '--keep-empty', 'HEAD~1')
        self.think()
        if not self.git('rebase', self.rnd.choice(['--abort', '--continue'])):
            self.git('rebase', '--abort')

    def merges(self):
        self.git('merge', '-q', 'conflict')
        self.think()
        self.git('merge', '--abort')

    def picks(self):
        self.git('cherry-pick', 'conflict')
        self.think()
        self.git('cherry-pick', '--abort')

    def switches(self):
        self.git(*self.rnd.choice([('switch', '-q', 'conflict'), ('switch', '-q', '-c', f'own-{len(self.done)}'),
                                   ('switch', '-q', '--detach')]))
        self.think()
        self.git('switch', '-q', 'main')

    def stashes(self):
        self.put('both')
        self.git('stash', 'push', '-q')
        self.think()
        self.git('stash', 'pop', '-q')
        self.git('checkout', '-q', 'HEAD', '--', 'both')

    def packs(self):
        self.git(*self.rnd.choice([('gc', '-q', '--prune=now'), ('repack', '-adq'), ('pack-refs', '--all')]))

    def begin(self):
        """Makes a branch that conflicts with main."""
        self.world.put('keep', 'of main\n')
        self.git('commit', '-q', '-a', '-m', 'keep')
        self.git('switch', '-q', '-c', 'conflict', 'HEAD~1')
        self.world.put('keep', 'of the branch\n')
        self.git('commit', '-q', '-a', '-m', 'conflict')
        self.git('switch', '-q', 'main')

    def ends_all(self):
        """Ends all unfinished operations; true if none is left."""
        for sign, way in (('rebase-merge', ('rebase', '--abort')), ('rebase-apply', ('rebase', '--abort')),
                          ('MERGE_HEAD', ('merge', '--abort')), ('CHERRY_PICK_HEAD', ('cherry-pick', '--abort'))):
            if self.is_there(sign) and not self.git(*way):
                return False
        if self.head() != 'main' and not self.git('switch', '-q', 'main'):
            return False
        while self.world.git('stash', 'list'):
            self.git('checkout', '-q', 'HEAD', '--', 'both')
            if not self.git('stash', 'pop', '-q'):
                return False
        return self.git('checkout', '-q', 'HEAD', '--', 'both')

    def work(self):
        ways = [self.commits, self.commits, self.amends, self.rebases, self.rebases, self.merges, self.picks,
                self.switches, self.switches, self.stashes, self.packs]
        while not self.world.over.is_set():
            self.rnd.choice(ways)()
            if not self.ends_all():
                self.think()
            self.world.over.wait(self.rnd.choice([0, 0, 0.02, 0.2]))
        for _ in range(200):
            if self.ends_all():
                return
            self.world.over.wait(0)
