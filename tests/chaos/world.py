"""A repository with a user's unfinished work in it, and a run that is disturbed in it."""
import collections
import errno
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid

import hunt

LIMIT = 90  # seconds that an engine may take, undisturbed or not
# Where there is a disk in memory, the same goes several times as fast.
PLACE = os.environ.get('TMPDIR') or ('/dev/shm' if os.access('/dev/shm', os.W_OK) else None)
SMALL_DISK = 72 << 20  # bytes: what a run asks for at its start, and a little


class Wrong(Exception):
    """An invariant does not hold."""


Hit = collections.namedtuple('Hit', 'round victim signals what', defaults=((), ''))


class World:
    def __init__(self, program, small_disk=False):
        self.program = program
        self.dir = tempfile.mkdtemp(prefix='anabranch-chaos-', dir=PLACE)
        self.mounted = small_disk and self.mount()
        self.no_disk = small_disk and not self.mounted
        self.repo = f'{self.dir}/disk/repo'
        self.ledger = f'{self.dir}/ledger'
        self.mark = f'CHAOS_MARK={uuid.uuid4()}'.encode()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(('GIT_', 'ANABRANCH'))}
        self.env.update(HOME=f'{self.dir}/home', GIT_CONFIG_GLOBAL='/dev/null', GIT_CONFIG_NOSYSTEM='1',
                        GIT_CEILING_DIRECTORIES=self.dir, LC_ALL='C.UTF-8', CHAOS_LEDGER=self.ledger,
                        TMPDIR=f'{self.dir}/tmp')
        self.rounds, self.hits, self.others, self.slowest = 0, [], [], 0.0
        self.commits, self.histories = 0, {}
        for name in ('home', 'disk/repo', 'tmp'):
            os.makedirs(f'{self.dir}/{name}')
        open(self.ledger, 'w').close()

    def mount(self):
        os.mkdir(f'{self.dir}/disk')
        return subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={SMALL_DISK}', 'chaos', f'{self.dir}/disk'],
                              capture_output=True).returncode == 0

    def unmount(self, keep):
        if self.mounted:
            if keep:
                shutil.copytree(f'{self.dir}/disk', f'{self.dir}/kept', symlinks=True)
            subprocess.run(['umount', f'{self.dir}/disk'], check=True)

    def remove(self):
        self.unmount(False)
        shutil.rmtree(self.dir)

    # --- git

    def git(self, *args, ok=(0,), stdin=None):
        p = subprocess.run(['git', '-C', self.repo, *args], env=self.env, input=stdin, capture_output=True, text=True)
        if p.returncode not in ok:
            raise Wrong(f'git {" ".join(args)}: {p.returncode}: {p.stderr.strip()}')
        return p.stdout.strip() if p.returncode == 0 else ''

    def commit_of(self, ref):
        """The commit of a ref, or nothing."""
        try:
            with open(f'{self.repo}/.git/{ref}') as f:
                return f.read().strip()
        except FileNotFoundError:  # packed, or not there
            return self.git('rev-parse', '--verify', '-q', f'{ref}^{{commit}}', ok=(0, 1, 128))

    def contains(self, tip, commit):
        """Whether one commit is an ancestor of another; each history is asked for once."""
        if tip not in self.histories:
            self.histories[tip] = set(self.git('rev-list', tip).split())
        return commit in self.histories[tip]

    def refs(self, *under):
        lines = self.git('for-each-ref', '--format=%(refname) %(objectname)', *under).splitlines()
        return dict(line.split() for line in lines)

    def tree(self, commit):
        """path: (mode, text) of all files of a commit."""
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

    # --- the user's part

    def put(self, path, text, mode=0o644):
        path = f'{self.repo}/{path}'
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as f:
            f.write(text)
        os.chmod(path, mode)

    def begin(self, plan, base, blocked):
        self.plan, self.base = plan, f'refs/heads/{base}'
        subprocess.run(['git', 'init', '-q', '-b', 'main', self.repo], env=self.env, check=True)
        for key, value in (('user.name', 'Chaos'), ('user.email', 'chaos@example.com'), ('gc.auto', '0')):
            self.git('config', key, value)
        for name in ('keep', 'shared', 'dirty', 'staged', 'both', 'exec'):
            self.put(name, f'{name} at first\n')
        for task in plan.tasks:
            for name in ('old', 'mv', 'mode'):
                self.put(f'{task.name}/{name}', f'{name} of {task.name}\n')
        self.git('add', '-A')
        self.git('commit', '-q', '-m', 'begin')
        if base != 'main':
            self.git('branch', base)
        self.first = self.commit_of(self.base)
        self.first_tree = self.tree(self.first)
        self.leave_unfinished(blocked)
        self.user = self.look_at_user()

    def leave_unfinished(self, blocked):
        """Changed, staged, both, untracked, with modes of their own; and `blocked`, where a task will want to write."""
        with open(f'{self.repo}/.git/info/exclude', 'a') as f:
            f.write('plan.json\n')
        self.put('plan.json', json.dumps(self.plan.document, indent=1))
        self.put('dirty', 'changed by the user\n', 0o600)
        self.put('staged', 'staged by the user\n')
        self.put('both', 'staged\n')
        self.git('add', 'staged', 'both')
        self.put('both', 'staged, and changed again\n')
        os.chmod(f'{self.repo}/exec', 0o755)
        self.put('notes/untracked', 'of the user\n', 0o640)
        if blocked:
            self.put(blocked, 'of the user\n')
        self.mine = ['dirty', 'staged', 'both', 'exec', 'notes/untracked', 'plan.json'] + [blocked] * bool(blocked)

    def look_at_user(self):
        """All of the user's that a run must leave alone."""
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
        """A person commits to the base meanwhile; where they meet a lock they try again, as people do."""
        self.commits += 1
        path, end = f'other-{self.commits}', time.monotonic() + 10
        checked_out = self.base == 'refs/heads/main'
        while time.monotonic() < end:
            try:
                if checked_out:
                    self.put(path, 'of someone else\n')
                    self.git('add', path)
                    self.git('commit', '-q', '-m', path, '--only', '--', path)
                else:
                    self.commit_beside(path)
                self.others.append((path, self.git('log', '-1', '--format=%H', self.base, '--', path)))
                return
            except Wrong:
                time.sleep(0.01)
        raise Wrong(f'someone else could not commit to {self.base} for 10 seconds')

    def commit_beside(self, path):
        old = self.commit_of(self.base)
        blob = self.git('hash-object', '-w', '--stdin', stdin='of someone else\n')
        listing = self.git('ls-tree', old) + f'\n100644 blob {blob}\t{path}\n'
        tree = self.git('mktree', stdin=listing)
        self.git('update-ref', self.base, self.git('commit-tree', tree, '-p', old, '-m', path), old)

    # --- the engine

    def said(self):
        with open(f'{self.dir}/{self.rounds}.err') as f:
            return f.read().strip()

    def start(self, args, extra):
        self.rounds += 1
        out, err = (open(f'{self.dir}/{self.rounds}.{name}', 'w') for name in ('out', 'err'))
        mark = dict([self.mark.decode().split('=', 1)], **extra)
        with out, err:
            self.engine = subprocess.Popen([self.program, *args], cwd=self.repo, env={**self.env, **mark},
                                           stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)

    def progress(self):
        """Changes with about everything that the engine does."""
        def size(path):
            try:
                st = os.stat(path)
                return st.st_size, st.st_mtime_ns
            except OSError:
                return 0
        children = hunt.read(f'/proc/{self.engine.pid}/task/{self.engine.pid}/children')
        return (children, size(f'{self.dir}/{self.rounds}.out'), size(f'{self.repo}/.git/anabranch/state.db-wal'),
                size(f'{self.repo}/.git/anabranch/tmp'), size(f'{self.repo}/.git/worktrees'))

    def watch(self, disturbances):
        """Sees the engine to its end; each disturbance is tried from its step of progress on until it is done."""
        last, step, begin, due = None, 0, time.monotonic(), sorted(disturbances, key=lambda d: d.step)
        while self.engine.poll() is None:
            now = self.progress()
            step += now != last
            last = now
            while due and step >= due[0].step and due[0].act(self):
                due.pop(0)
            if time.monotonic() - begin > LIMIT:
                raise Wrong(f'the engine hangs: {hunt.describe(hunt.marked(self.mark))}')
            if not due or step < due[0].step:
                time.sleep(0.001)
        self.release()
        return self.engine.returncode

    def fill_disk(self):
        with open(f'{self.dir}/disk/ballast', 'wb', buffering=0) as f:
            try:
                while True:
                    f.write(bytes(1 << 16))
            except OSError as e:
                if e.errno != errno.ENOSPC:
                    raise

    def release(self):
        if os.path.exists(f'{self.dir}/disk/ballast'):
            os.unlink(f'{self.dir}/disk/ballast')

    def run(self, *args, **extra):
        """Undisturbed: what it said and its exit code."""
        p = subprocess.run([self.program, *args], cwd=self.repo, env={**self.env, **extra},
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
        return p.returncode, p.stdout, p.stderr

    def status(self):
        """The newest run as `status` tells it, or None where there was none yet."""
        if not os.path.exists(f'{self.repo}/.git/anabranch/state.db'):
            return None
        code, out, err = self.run('history', '--json')
        if (code == 0 and not out.strip()) or 'nothing was ever run' in err:
            return None
        code, out, err = self.run('status', '--json')
        if code:
            raise Wrong(f'status: {code}: {err}')
        return json.loads(out)

    def is_hurt(self):
        """Whether tasks may have failed that should not: something else than the engine was hit."""
        return any(hit.victim != 'engine' for hit in self.hits)

    def figures(self):
        return len(self.hits), self.slowest, self.rounds, self.no_disk

    def end_all(self):
        for pid in hunt.marked(self.mark):
            hunt.send(pid, self.mark, signal.SIGKILL)
        if self.engine.poll() is None:
            self.engine.kill()
        self.engine.wait()
