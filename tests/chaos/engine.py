"""One plan, and the engines that run it one after the other, each until it ends or is disturbed."""
import collections
import json
import os
import subprocess
import time
import uuid

import hunt
from world import Wrong

LIMIT = 90  # seconds that an engine may take, with or without disturbances

Hit = collections.namedtuple('Hit', 'round victim signals what', defaults=((), ''))


class Engine:
    """`told` is the run in the last output of `status`, `code` the exit code of the engine that finished it."""

    def __init__(self, world, plan):
        self.world, self.plan, self.program = world, plan, world.program
        self.mark = f'CHAOS_MARK={uuid.uuid4()}'.encode()
        self.rounds, self.hits, self.slowest = 0, [], 0.0
        self.process = self.told = self.code = None
        world.engines.append(self)

    def file(self, name):
        return f'{self.world.dir}/{self.plan.name}-{self.rounds}.{name}'

    def said(self):
        with open(self.file('err')) as f:
            return f.read().strip()

    def start(self, args, extra):
        mark = dict([self.mark.decode().split('=', 1)], **extra)
        with open(self.file('out'), 'w') as out, open(self.file('err'), 'w') as err:
            self.process = subprocess.Popen([self.program, *args], cwd=self.world.repo, env={**self.world.env, **mark},
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)

    def progress(self):
        """A value that changes with almost every step of the engine."""
        def size(path):
            try:
                st = os.stat(path)
                return st.st_size, st.st_mtime_ns
            except OSError:
                return 0
        git, pid = f'{self.world.repo}/.git', self.process.pid
        return (hunt.read(f'/proc/{pid}/task/{pid}/children'), size(self.file('out')),
                size(f'{git}/anabranch/state.db-wal'), size(f'{git}/anabranch/tmp'), size(f'{git}/worktrees'))

    def watch(self, due):
        """Watches the engine until its end. From its step of progress on, each disturbance is retried until it succeeds."""
        last, step, begin = None, 0, time.monotonic()
        while self.process.poll() is None:
            now = self.progress()
            step += now != last
            last = now
            self.world.see_base()
            while due and step >= due[0].step and due[0].act(self):
                due.pop(0)
            if time.monotonic() - begin > LIMIT:
                raise Wrong(f'the engine hangs: {hunt.describe(hunt.marked(self.mark))}')
            if self.world.over.is_set():
                raise Wrong('given up, as something else went wrong')
            if not due or step < due[0].step:
                time.sleep(0.001)

    def round(self, args, disturbances, extra):
        """Runs one engine, and returns its exit code. Disturbances of step 0 come before its start."""
        begin, due = time.monotonic(), sorted(disturbances, key=lambda d: d.step)
        self.rounds += 1
        while due and due[0].step == 0 and due[0].act(self):
            due.pop(0)
        self.start(args, extra)
        self.watch(due)
        for d in due:
            d.end(self)
        self.hits += [Hit(self.rounds, i.what, (), i.how) for i in self.world.disk.illnesses(begin)]
        return self.process.returncode

    def ask(self, *args):
        """Runs a command undisturbed; returns its exit code and output. If the disk was ill for another plan meanwhile, retries."""
        while True:
            self.world.wait_well()
            begin = time.monotonic()
            p = subprocess.run([self.program, *args], cwd=self.world.repo, env=self.world.env, timeout=LIMIT,
                               stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if p.returncode == 0 or self.world.over.is_set() or not self.world.disk.illnesses(begin):
                return p.returncode, p.stdout, p.stderr

    def look(self):
        """The plan's newest run from `status`, or None if there is none yet."""
        self.told = None
        if os.path.exists(f'{self.world.repo}/.git/anabranch/state.db'):
            code, out, err = self.ask('history', '--json')
            if code and 'nothing was ever run' not in err:
                raise Wrong(f'history: {code}: {err}')
            runs = [r['run'] for r in map(json.loads, out.splitlines()) if r['plan'] == self.plan.file]
            runs = [r for r in runs if os.path.exists(f'{self.world.repo}/.git/anabranch/runs/{r}')]  # otherwise it had not begun
            if runs:
                code, out, err = self.ask('status', '--json', runs[0])
                if code:
                    raise Wrong(f'status: {code}: {err}')
                self.told = json.loads(out)
        return self.told

    def is_hurt(self):
        """True if a disturbance hit something other than the engine: then tasks may fail that otherwise would not."""
        return any(hit.victim != 'engine' for hit in self.hits)

    def end_all(self):
        hunt.end_all(self.mark, [])
        if self.process:
            self.process.wait()
