"""A repository with unfinished work of a user, in which we disturb runs."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time

from disk import Disk

# A disk in memory is several times as fast.
PLACE = os.environ.get('TMPDIR') or ('/dev/shm' if os.access('/dev/shm', os.W_OK) else None)


# git's message if it cannot remove its lock, for example on a disk that has just become read-only.
LOCK_LEFT = re.compile(r"unable to unlink '(.*\.lock)'")


class Wrong(Exception):
    """An invariant does not hold."""


class World:
    """`engines` run in it, each in a thread, until it is `over`."""

    def __init__(self, program, small_disk=False):
        self.program, self.engines, self.over = program, [], threading.Event()
        self.dir = tempfile.mkdtemp(prefix='anabranch-chaos-', dir=PLACE)
        self.disk = Disk(f'{self.dir}/disk', small_disk)
        self.repo = f'{self.dir}/disk/repo'
        self.ledger = f'{self.dir}/ledger'
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(('GIT_', 'ANABRANCH'))}
        self.env.update(HOME=f'{self.dir}/home', GIT_CONFIG_GLOBAL='/dev/null', GIT_CONFIG_NOSYSTEM='1',
                        GIT_CEILING_DIRECTORIES=self.dir, LC_ALL='C.UTF-8', CHAOS_LEDGER=self.ledger,
                        TMPDIR=f'{self.dir}/tmp', XDG_CONFIG_HOME=f'{self.dir}/home/.config')
        if os.environ.get('ANABRANCH_PROVIDER'):
            self.env['ANABRANCH_PROVIDER'] = os.environ['ANABRANCH_PROVIDER']
        self.restless = None  # a person who rewrites and switches: person.py
        self.others, self.parents, self.tips, self.own_locks = [], {}, [], []
        self.lock, self.persons_turn = threading.Lock(), threading.Lock()
        for name in ('home', 'disk/repo', 'tmp'):
            os.makedirs(f'{self.dir}/{name}')
        open(self.ledger, 'w').close()

    def end_all(self):
        """Ends remaining processes, and keeps the evidence."""
        for engine in self.engines:
            engine.end_all()
        self.disk.heal()
        self.disk.remove(f'{self.dir}/kept')

    def remove(self):
        self.disk.remove()
        shutil.rmtree(self.dir)

    def wait_well(self):
        """Waits until the disk is healthy; the disturbance heals it."""
        while self.disk.ill and not self.over.wait(0.001):
            pass

    def git(self, *args, ok=(0,), stdin=None):
        p = subprocess.run(['git', '-C', self.repo, *args], env=self.env, input=stdin, capture_output=True, text=True)
        self.own_locks += [(lock, os.stat(lock).st_ino) for lock in LOCK_LEFT.findall(p.stderr) if os.path.exists(lock)]
        if p.returncode not in ok:
            raise Wrong(f'git {" ".join(args)}: {p.returncode}: {p.stderr.strip()}')
        return p.stdout.strip() if p.returncode == 0 else ''

    def commit_of(self, ref):
        """The commit of a ref, or an empty string."""
        try:
            with open(f'{self.repo}/.git/{ref}') as f:
                return f.read().strip()
        except FileNotFoundError:  # packed, or not there
            return self.git('rev-parse', '--verify', '-q', f'{ref}^{{commit}}', ok=(0, 1, 128))

    def contains(self, tip, commit):
        """True if one commit is an ancestor of another. Searches near ancestors first, because most are near."""
        self.learn([tip])
        seen, level = {tip}, [tip]
        while level and commit not in seen:
            level = list(dict.fromkeys(p for c in level for p in self.parents[c] if p not in seen))
            seen.update(level)
        return commit in seen

    def learn(self, commits):
        """Learns the parents of commits and of all their ancestors; asks git once for each history."""
        new = [c for c in commits if c not in self.parents]
        if new:
            log = self.git('rev-list', '--parents', '--stdin', stdin='\n'.join(new) + '\n')
            self.parents.update({line.split()[0]: line.split()[1:] for line in log.splitlines()})

    def see_base(self):
        """Records the position of the base if it has moved."""
        with self.lock:
            now = self.commit_of(self.base)
            if now and self.tips[-1:] != [now]:
                self.tips.append(now)

    def refs(self, *under):
        lines = self.git('for-each-ref', '--format=%(refname) %(objectname)', *under).splitlines()
        return dict(line.split() for line in lines)

    def tree(self, commit):
        """The files of a commit, as path: (mode, text)."""
        entries = [e.split(None, 3) for e in self.git('ls-tree', '-r', '-z', commit).split('\0') if e]
        texts = self.blobs([e[2] for e in entries])
        return {e[3]: (e[0], texts[e[2]]) for e in entries}

    def blobs(self, ids):
        if not ids:
            return {}
        p = subprocess.run(['git', '-C', self.repo, 'cat-file', '--batch'], env=self.env, check=True,
                           input='\n'.join(ids).encode() + b'\n', capture_output=True)
        texts, at = {}, 0
        while at < len(p.stdout):
            end = p.stdout.index(b'\n', at)
            name, kind, size = p.stdout[at:end].decode().split()
            if kind == 'blob':
                texts[name] = p.stdout[end + 1:end + 1 + int(size)].decode()
            at = end + 2 + int(size)
        return texts

    def put(self, path, text, mode=0o644):
        path = f'{self.repo}/{path}'
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as f:
            f.write(text)
        os.chmod(path, mode)

    def begin(self, plans, base, blocked, restless=None):
        self.base, self.plans = f'refs/heads/{base}', plans
        subprocess.run(['git', 'init', '-q', '-b', 'main', self.repo], env=self.env, check=True)
        for key, value in (('user.name', 'Chaos'), ('user.email', 'chaos@example.com'), ('gc.auto', '0')):
            self.git('config', key, value)
        for name in ('keep', 'dirty', 'staged', 'both', 'exec', *(p.shared for p in plans)):
            self.put(name, f'{name} at first\n')
        for task in (t for p in plans for t in p.tasks):
            for name in ('old', 'mv', 'mode'):
                self.put(f'{task.name}/{name}', f'{name} of {task.name}\n')
        self.git('add', '-A')
        self.git('commit', '-q', '-m', 'begin')
        if base != 'main':
            self.git('branch', base)
        self.first = self.commit_of(self.base)
        self.first_tree = self.tree(self.first)
        self.restless = restless
        self.leave_plans()
        if restless:
            restless.begin()
        else:
            self.leave_unfinished(blocked)
        self.user = self.look_at_user()

    def leave_plans(self):
        with open(f'{self.repo}/.git/info/exclude', 'a') as f:
            f.writelines(f'{p.file}\n' for p in self.plans)
        for plan in self.plans:
            self.put(plan.file, json.dumps(plan.document, indent=1))
        self.mine = [p.file for p in self.plans]

    def leave_unfinished(self, blocked):
        """Makes changed, staged and untracked files with various modes; and `blocked`, which a task will try to write."""
        self.put('dirty', 'changed by the user\n', 0o600)
        self.put('staged', 'staged by the user\n')
        self.put('both', 'staged\n')
        self.git('add', 'staged', 'both')
        self.put('both', 'staged, and changed again\n')
        os.chmod(f'{self.repo}/exec', 0o755)
        self.put('notes/untracked', 'of the user\n', 0o640)
        self.mine += ['dirty', 'staged', 'both', 'exec', 'notes/untracked']
        if blocked:
            self.put(blocked, 'of the user\n')
            self.mine.append(blocked)

    def look_at_user(self):
        """Everything of the user's that a run must not change."""
        files = {}
        for path in self.mine:
            st = os.lstat(f'{self.repo}/{path}')
            with open(f'{self.repo}/{path}') as f:
                files[path] = (st.st_mode, st.st_mtime_ns, st.st_ino, f.read())
        with open(f'{self.repo}/.git/config') as config, open(f'{self.repo}/.git/info/exclude') as exclude:
            settings = config.read(), exclude.read()
        hooks = {e.name: e.stat().st_mtime_ns for e in os.scandir(f'{self.repo}/.git/hooks')}
        return {'files': files, 'settings': settings, 'hooks': hooks,
                'index': self.git('ls-files', '-s', *self.mine), 'HEAD': self.git('symbolic-ref', 'HEAD'),
                'status': self.git('status', '--porcelain=v1', '-uall'), 'stash': self.git('stash', 'list'),
                'own refs': self.refs('refs/tags', 'refs/remotes')}

    def someone_commits(self):
        """A person commits to the base. If they meet a lock, they retry, as people do."""
        with self.persons_turn:
            path, end = f'other-{len(self.others) + 1}', time.monotonic() + 10
            while not self.tries_to_commit(path):
                if self.disk.ill:
                    end = time.monotonic() + 10
                if time.monotonic() > end:
                    raise Wrong(f'someone else could not commit to {self.base} for 10 seconds')
                time.sleep(0.01)

    def take_own_locks_away(self):
        """Removes a lock, as a person does after git reported that it could not; only the same file that git named."""
        while self.own_locks:
            lock, inode = self.own_locks[-1]
            if os.path.exists(lock) and os.stat(lock).st_ino == inode:
                os.unlink(lock)
            self.own_locks.pop()

    def tries_to_commit(self, path):
        try:
            self.take_own_locks_away()
            if not self.committed(path):  # a try that git reported as failed may have committed
                self.commit_here(path) if self.base == 'refs/heads/main' else self.commit_beside(path)
            self.others.append((path, self.committed(path)))
            return True
        except (Wrong, OSError):
            return False

    def committed(self, path):
        return self.git('log', '-1', '--format=%H', self.base, '--', path)

    def commit_here(self, path):
        self.put(path, 'of someone else\n')
        self.git('add', path)
        self.git('commit', '-q', '-m', path, '--only', '--', path)

    def commit_beside(self, path):
        old = self.commit_of(self.base)
        blob = self.git('hash-object', '-w', '--stdin', stdin='of someone else\n')
        listing = self.git('ls-tree', old) + f'\n100644 blob {blob}\t{path}\n'
        tree = self.git('mktree', stdin=listing)
        self.git('update-ref', self.base, self.git('commit-tree', tree, '-p', old, '-m', path), old)
