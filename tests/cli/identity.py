#!/usr/bin/env python3
"""Random edits by agents: landed commits are byte for byte those of `git add -A && git commit` after the same edits.

    identity.py PROGRAM FOLDER PROVIDERS SEED...    FOLDER is an empty folder to work in; providers: pool,checkout

The tasks of a plan run one after the other, and each starts from the landed work of the previous one. For comparison, each
edit also runs in a new clone of git's previous commit. The trees of all steps must be the same. A seed decides on the
repository and the edits. If the program rejects a provider here, the test skips it and prints its name. The last line is
"identity: N passed, N failed".

    identity.py edit SEED STEP                      the agent: edits the current folder
"""
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import time

STEPS = 4
ROT = 'tr a-zA-Z n-za-mN-ZA-M'
DATE = '2026-01-01T00:00:00Z'

PLAIN = [b'a', b'b', b'c', b'File', b'file', b'x y', b'n', b'lib', b'keep.log', b'o.tmp', b'build', b'main.c', b'p.txt',
         b'q.crlf', b'r.rot', b's.id', b't.bin']
ODD = [b'new\nline', b'quo"te', b"it's", b'back\\slash', b'\xff\xfe', b'-dash', b'--', b'tab\t', b' lead', b'trail ',
       b'x' * 255, 'é'.encode(), 'e\u0301'.encode(), b'*', b'[a]', b'?', b'#hash', b'!bang', b'.hidden', b'..x', b'a:b',
       b'con', b'$(x)', b'\x01', b'{}', b'%s', b'-', b'\xf0\x9f\x8c\xb1', b'{ROOT}', b'HEAD', b'.gitkeep']
PATTERNS = ['*.log', '*.tmp', 'build', 'build/', '/n', 'lib/*', '!lib/keep.log', '!*.log', 'a', '!a', '**/c', 'x y', '[fF]ile',
            'b/**', '!b/a', '*.o', '\\#hash', '\\!bang', 'quo"te', '?', '# a comment', '', '!/build/', 'trail\\ ']
ATTRIBUTES = '*.txt text\n*.crlf text eol=crlf\n*.rot filter=rot\n*.id ident\n*.bin -text\n'


def git(*args, cwd=None, check=True, **more):
    done = subprocess.run(['git', '-c', 'protocol.file.allow=always', *args], cwd=cwd, capture_output=True, **more)
    if check and done.returncode:
        raise RuntimeError(f'git {args}: {done.stderr.decode(errors="replace")}')
    return done.stdout


class Refused(Exception):
    """The program does not work with that provider here."""


class Features:
    """The features of a seed's repository."""

    def __init__(self, seed):
        rnd = random.Random(seed)
        self.attributes, self.odd = rnd.random() < 0.4, rnd.random() < 0.5
        self.submodule, self.nested = rnd.random() < 0.25, rnd.random() < 0.25
        self.git, self.ignores = rnd.random() < 0.6, rnd.random() < 0.6
        self.many = rnd.random() < 0.2
        self.autocrlf = rnd.choice(['false', 'false', 'input'])
        # Other repositories inside must have ids of the same kind.
        self.format = 'sha256' if rnd.random() < 0.15 and not self.submodule and not self.nested else 'sha1'

    def config(self):
        settings = {'core.autocrlf': self.autocrlf, 'filter.rot.clean': ROT, 'filter.rot.smudge': ROT,
                    'user.name': 'T', 'user.email': 't@example.com', 'advice.addEmbeddedRepo': 'false'}
        return [f'{k}={v}' for k, v in settings.items()]


class Editor:
    """Edits the current folder. The edits depend only on the seed and the content, so they are the same in two equal
    folders. `log` records them."""

    def __init__(self, features, rnd):
        self.features, self.rnd, self.log = features, rnd, []

    # The state before

    def look(self):
        """Files and folders, without those of other repositories."""
        links = self.links()
        files, folders = [], []
        for folder, names, others in os.walk(b'.'):
            inside = {n: os.path.relpath(os.path.join(folder, n), b'.') for n in names + others}
            names[:] = sorted(n for n in names if n != b'.git' and inside[n] not in links and
                              not os.path.lexists(os.path.join(folder, n, b'.git')))
            real = [n for n in names if not os.path.islink(inside[n])]
            files += [inside[n] for n in sorted(others) if n != b'.git'] + [inside[n] for n in names if n not in real]
            folders += [inside[n] for n in real]
            names[:] = real
        return sorted(f for f in files if stat.S_IFMT(os.lstat(f).st_mode) in (stat.S_IFREG, stat.S_IFLNK)), sorted(folders)

    def links(self):
        if not self.features.submodule and not self.features.nested:
            return []
        return {line.split(b'\t', 1)[1] for line in git('ls-files', '-sz').split(b'\0') if line.startswith(b'160000')}

    def any_file(self):
        files = [f for f in self.look()[0] if os.path.basename(f) not in (b'.gitattributes', b'.gitmodules')]
        return self.rnd.choice(files or [b'none'])

    def any_folder(self):
        return self.rnd.choice(self.look()[1] or [b'none'])

    def any_name(self):
        return self.rnd.choice(ODD if self.features.odd and self.rnd.random() < 0.4 else PLAIN)

    def any_path(self):
        """A path whose folder usually exists, and sometimes the file too."""
        roll = self.rnd.random()
        if roll < 0.3:
            return self.any_file()
        if roll < 0.75:
            return os.path.join(self.rnd.choice(self.look()[1] + [b'.']), self.any_name())
        return os.path.join(*[self.any_name() for _ in range(self.rnd.choice([1, 1, 2, 3, 8]))])

    def any_text(self):
        rnd = self.rnd
        lines = [rnd.choice(['one', 'two', '$Id$', 'três', '']) for _ in range(rnd.choice([0, 1, 3, 20]))]
        text = rnd.choice(['\n', '\n', '\n', '\r\n']).join(lines) + rnd.choice(['', '\n'])
        return rnd.choice([text.encode(), text.encode(), text.encode() + b'\0\xff', text.encode() * 300])

    def put(self, path, text, mode=0o644):
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        if os.path.islink(path):
            os.unlink(path)
        with open(path, 'wb') as f:
            f.write(text)
        os.chmod(path, mode)

    # Edits: what cannot be done is not done

    def write(self):
        path = self.any_path()
        self.put(path, self.any_text(), self.rnd.choice([0o644, 0o644, 0o755, 0o600]))
        return path

    def append(self):
        path = self.any_file()
        if not os.path.islink(path):
            self.put(path, open(path, 'rb').read() + b'more\n', stat.S_IMODE(os.stat(path).st_mode))
        return path

    def same_size(self):
        """Changes a text but keeps its size and time; not in the second of the last change, because git may not notice it then."""
        path = self.any_file()
        was = os.lstat(path)
        if not os.path.islink(path) and was.st_size:
            text = open(path, 'rb').read()
            while time.time() < int(was.st_ctime) + 1:
                time.sleep(0.02)
            with open(path, 'r+b') as f:
                f.write(bytes([text[0] ^ 1]))
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        return path

    def delete(self):
        path = self.any_file()
        os.unlink(path)
        return path

    def delete_folder(self):
        path = self.any_folder()
        shutil.rmtree(path)
        return path

    def rename(self):
        path, to = self.any_file(), self.any_path()
        os.makedirs(os.path.dirname(to) or b'.', exist_ok=True)
        os.rename(path, to)
        return path, to

    def rename_folder(self):
        path, to = self.any_folder(), self.any_path()
        if not os.path.lexists(to) and not to.startswith(path + b'/'):
            shutil.move(os.fsdecode(path), os.fsdecode(to))
        return path, to

    def case(self):
        path = self.any_file()
        to = os.path.join(os.path.dirname(path), os.path.basename(path).swapcase())
        if not os.path.lexists(to):
            os.rename(path, to)
        return path, to

    def chmod(self):
        path, mode = self.any_file(), self.rnd.choice([0o755, 0o644, 0o700, 0o444, 0o654, 0o645])
        if not os.path.islink(path):
            os.chmod(path, mode)
        return path, mode

    def symlink(self):
        path, to = self.any_path(), self.rnd.choice([b'a', b'../x', b'/nowhere', b'lib', b'new\nline', b'.', b'x' * 200])
        os.makedirs(os.path.dirname(path) or b'.', exist_ok=True)
        if os.path.lexists(path):
            os.unlink(path)
        os.symlink(to, path)
        return path, to

    def file_to_folder(self):
        path = self.any_file()
        os.unlink(path)
        self.put(os.path.join(path, self.any_name()), self.any_text())
        return path

    def folder_to_file(self):
        path = self.any_folder()
        shutil.rmtree(path)
        self.put(path, self.any_text())
        return path

    def folder_anew(self):
        """Deletes a folder and makes it again, with one of its files or another file."""
        path, keep = self.any_folder(), self.any_name()
        shutil.rmtree(path)
        self.put(os.path.join(path, keep), self.any_text())
        return path

    def empty_folder(self):
        path = self.any_path()
        os.makedirs(path)
        return path

    def pipe(self):
        path = self.any_path()
        os.mkfifo(path)
        return path

    def touch(self):
        path = self.any_file()
        os.utime(path, follow_symlinks=False)
        return path

    def ignore(self):
        path = os.path.join(self.rnd.choice(self.look()[1] + [b'.', b'.']), b'.gitignore')
        lines = [self.rnd.choice(PATTERNS) for _ in range(self.rnd.randrange(1, 5))]
        self.put(path, (self.rnd.choice(['\n', '\n', '\r\n']).join(lines) + '\n').encode())
        return path, lines

    def many_files(self):
        for i in range(self.rnd.choice([50, 300])):
            self.put(b'many/%d/%d' % (i % 7, i), b'%d\n' % i)

    def attribute(self):
        """Only for new files: whether git reads existing ones again depends on the clock."""
        name = b'%d' % self.rnd.randrange(1 << 30)
        how = self.rnd.choice([b'text eol=crlf', b'filter=rot', b'-text', b'text=auto', b'ident'])
        if not os.path.lexists(b'.gitattributes') or os.path.isfile(b'.gitattributes'):
            with open(b'.gitattributes', 'ab') as f:
                f.write(b'*.%s %s\n' % (name, how))
            self.put(b'lib/x.' + name, b'one $Id$\r\ntwo\r\n')
        return name, how

    # Calls of git

    def try_git(self, *args):
        done = subprocess.run(['git', *args], capture_output=True)
        return args, done.returncode

    def git_add(self):
        return self.try_git('add', *self.rnd.choice([['--'], ['-f', '--'], ['-N', '--'], ['-u', '--']]), self.any_file())

    def git_add_ignored(self):
        """From now on, git tracks an ignored file that was added by name."""
        out = git('ls-files', '-oiz', '--exclude-standard', '--directory').split(b'\0')
        ignored = sorted(p for p in out if p and not os.path.lexists(os.path.join(p, b'.git')))
        return self.try_git('add', '-f', '--', self.rnd.choice(ignored)) if ignored else None

    def git_commit(self):
        if self.rnd.random() < 0.5:
            git('add', '-A')
        return self.try_git('commit', '-qm', 'by the agent')

    def git_rm(self):
        return self.try_git('rm', '-qf', *self.rnd.choice([[], ['--cached']]), '--', self.any_file())

    def git_mv(self):
        path, to = self.any_file(), self.any_path()
        os.makedirs(os.path.dirname(to) or b'.', exist_ok=True)
        return self.try_git('mv', '-f', '--', path, to)

    def git_mv_folder(self):
        """Copies the folder if it cannot be renamed, as in an overlay that a plain user mounted."""
        path, to = self.any_folder(), self.any_name() + b'.moved'
        if os.path.lexists(to):
            return None
        try:
            os.rename(path, to)
            os.rename(to, path)
            return self.try_git('mv', '--', path, to)
        except OSError:
            tracked = [f for f in git('ls-files', '-z', '--', b':(literal)' + path).split(b'\0') if f]
            shutil.move(os.fsdecode(path), os.fsdecode(to))
            git('rm', '-rqf', '--cached', '--ignore-unmatch', '--', b':(literal)' + path)
            there = [to + f[len(path):] for f in tracked if os.path.lexists(to + f[len(path):])]
            git('add', '-f', '--pathspec-from-file=-', '--pathspec-file-nul', input=b'\0'.join(b':(literal)' + f for f in there))
            return ['mv', '--', path, to], 0

    def git_mode(self):
        return self.try_git('update-index', '--chmod=' + self.rnd.choice(['+x', '-x']), '--', self.any_file())

    def submodule(self):
        what = self.rnd.choice(['commit', 'commit', 'look', 'delete', 'rm'])
        if what == 'delete':
            shutil.rmtree('mods/one')
        elif what == 'rm':
            return self.try_git('rm', '-qf', 'mods/one')
        else:
            git('submodule', '-q', 'update', '--init', 'mods/one')
            with open('mods/one/new', 'w') as f:
                f.write(f'{self.rnd.random()}\n')
            if what == 'commit':
                git('add', '-A', cwd='mods/one')
                git('commit', '-qm', 'inside', cwd='mods/one')
        return what

    def nested(self):
        path = os.path.join(self.rnd.choice(self.look()[1] + [b'.']), b'nest%d' % self.rnd.randrange(3))
        self.put(os.path.join(path, b'inner'), self.any_text())
        if not os.path.lexists(os.path.join(path, b'.git')):
            git('init', '-q', cwd=path)
        git('add', '-A', cwd=path)
        git('commit', '-q', '--allow-empty', '-m', 'nested', cwd=path)
        if self.rnd.random() < 0.5:
            self.put(os.path.join(path, b'left'), b'not committed\n')
        return path

    # All together

    def kinds(self):
        f = self.features
        kinds = [self.write] * 4 + [self.append, self.same_size, self.delete, self.delete_folder, self.rename, self.rename_folder,
                                    self.case, self.chmod, self.symlink, self.file_to_folder, self.folder_to_file,
                                    self.folder_anew, self.empty_folder, self.pipe, self.touch]
        kinds += [self.ignore, self.ignore] if f.ignores else []
        kinds += [self.attribute] if f.attributes else []
        kinds += [self.many_files] if f.many else []
        kinds += [self.submodule, self.submodule] if f.submodule else []
        kinds += [self.nested] if f.nested else []
        kinds += [self.git_add, self.git_add_ignored, self.git_add_ignored, self.git_commit, self.git_rm, self.git_mv,
                  self.git_mv_folder, self.git_mode] if f.git else []
        return kinds

    def edit(self, number, kinds=None):
        for _ in range(number):
            kind = self.rnd.choice(kinds or self.kinds())
            try:
                self.log.append((kind.__name__, kind()))
            except (OSError, shutil.Error, RuntimeError) as e:
                self.log.append((kind.__name__, type(e).__name__))


def agent(seed, step):
    """Writes the log beside that of the program, for comparison: in a different folder, an agent makes different edits."""
    rnd = random.Random(f'{seed} {step}')
    editor = Editor(Features(seed), rnd)
    editor.edit(rnd.choice([1, 2, 4, 8, 16]))
    if os.path.isdir('step') and not os.path.islink('step'):
        shutil.rmtree('step')
    editor.put(b'step', b'%d\n' % step)  # an agent that changes nothing fails
    with open(os.environ['IDENTITY_LOG'], 'w') as f:
        f.write(''.join(f'{entry!r}\n' for entry in editor.log))


class Trial:
    """Tests one seed: with git, and then with the program and each provider."""

    def __init__(self, program, folder, seed):
        self.program, self.seed = program, seed
        self.features, self.dir = Features(seed), f'{folder}/{seed}'
        self.plain = f'{self.dir}/plain'
        os.makedirs(self.dir)

    # By git

    def make_module(self):
        path = f'{self.dir}/module'
        git('init', '-q', path)
        open(f'{path}/inside', 'w').close()
        git('add', '-A', cwd=path)
        git('commit', '-qm', 'module', cwd=path)
        return path

    def make_base(self):
        """Commits on the branch main of `plain`."""
        git('init', '-q', '-b', 'main', f'--object-format={self.features.format}', self.plain)
        for setting in self.features.config():
            git('config', *setting.split('=', 1), cwd=self.plain)
        if self.features.submodule:
            git('submodule', '-q', 'add', self.make_module(), 'mods/one', cwd=self.plain)
        os.chdir(self.plain)
        editor = Editor(self.features, random.Random(f'{self.seed} base'))
        if self.features.attributes:
            editor.put(b'.gitattributes', ATTRIBUTES.encode())
        for path in (b'a', b'File', b'lib/main.c', b'lib/deep/er/p.txt', b'b/a', b'b/run'):
            editor.put(path, editor.any_text(), 0o755 if path == b'b/run' else 0o644)
        editor.edit(12, [editor.write])
        os.symlink('a', 'link')
        git('add', '-A')
        git('commit', '-qm', 'base')
        os.chdir(self.dir)

    def clone(self, branch, path):
        settings = [word for setting in self.features.config() for word in ('-c', setting)]
        git('clone', '-q', '-b', branch, *settings, self.plain, path)
        with open(f'{path}/.git/info/exclude', 'w') as f:
            f.write('/plan.json\n/.anabranch/\n')

    def command(self, step):
        return [sys.executable, os.path.realpath(__file__), 'edit', str(self.seed), str(step)]

    def log(self, who, step):
        return f'{self.dir}/{who}-{step}.log'

    def by_git(self):
        """The trees of all steps; the branch step of `plain` has the last one."""
        trees = [git('rev-parse', 'main^{tree}', cwd=self.plain)]
        git('branch', 'step', 'main', cwd=self.plain)
        for step in range(STEPS):
            path = f'{self.dir}/clone{step}'
            self.clone('step', path)
            subprocess.run(self.command(step), cwd=path, env={**os.environ, 'IDENTITY_LOG': self.log('git', step)}, check=True)
            git('add', '-A', cwd=path)
            git('commit', '-q', '--allow-empty', '-m', str(step), cwd=path)
            git('push', '-q', 'origin', 'HEAD:step', cwd=path)
            trees.append(git('rev-parse', 'HEAD^{tree}', cwd=path))
        return [t.decode().strip() for t in trees]

    # By the program

    def plan(self, provider):
        tasks = [{'id': f's{i}', 'engine': 'command', 'command': self.command(i), 'prompt': 'x', 'retry': 0,
                  'env': {'IDENTITY_LOG': self.log(provider, i)}, 'depends_on': [f's{i - 1}'] if i else []}
                 for i in range(STEPS)]
        return {'base': 'work', 'limits': {'workers': 2}, 'tasks': tasks}

    def by_program(self, provider):
        """The trees that the branch had."""
        repo = f'{self.dir}/{provider}'
        self.clone('main', repo)
        git('branch', '-q', '--no-track', 'work', 'main', cwd=repo)
        with open(f'{repo}/plan.json', 'w') as f:
            json.dump(self.plan(provider), f)
        done = subprocess.run([self.program, 'run', '--json', 'plan.json'], cwd=repo, capture_output=True,
                              env={**os.environ, 'ANABRANCH_PROVIDER': provider})
        said = done.stderr.decode(errors='replace')
        if done.returncode == 2:
            raise Refused(said.strip())
        if done.returncode or 'Sanitizer' in said or 'runtime error' in said:
            raise RuntimeError(f'exit code {done.returncode}: {said}{done.stdout.decode(errors="replace")}')
        out = git('log', '--first-parent', '--reverse', '--format=%T', 'main..work', cwd=repo)
        return [git('rev-parse', 'main^{tree}', cwd=repo).decode().strip()] + out.decode().split()

    def said(self, who, step):
        try:
            with open(self.log(who, step)) as f:
                return f.read()
        except OSError:
            return 'nothing\n'

    def explain(self, provider, want, got):
        """The first step with another tree, and the difference."""
        for step in range(STEPS):
            ours, theirs = self.said(provider, step), self.said('git', step)
            if ours != theirs:
                return f'step {step}: the agent found another folder than in a clone, and did\n{ours}but there\n{theirs}'
        k = next((i for i, (w, g) in enumerate(zip(want, got)) if w != g), min(len(want), len(got)) - 1)
        differ = git('diff-tree', '-r', want[k], got[k], cwd=f'{self.dir}/{provider}', check=False,
                     env={**os.environ, 'GIT_ALTERNATE_OBJECT_DIRECTORIES': f'{self.plain}/.git/objects'})
        logs = ''.join(f'step {i}:\n{self.said("git", i)}' for i in range(STEPS))
        return f'tree {k} of {len(want)}, {len(got)} of ours; from that of git to ours:\n{differ.decode(errors="replace")}{logs}'

    def go(self, providers):
        """The defects of each provider; removes rejected providers."""
        self.make_base()
        want = self.by_git()
        for provider in list(providers):
            try:
                got = self.by_program(provider)
                wrong = None if want == got else self.explain(provider, want, got)
            except RuntimeError as e:
                wrong = str(e)
            except Refused as e:
                print(f'without {provider}: {e}', flush=True)
                providers.remove(provider)
                continue
            yield provider, wrong


def main():
    if sys.argv[1] == 'edit':
        return agent(int(sys.argv[2]), int(sys.argv[3]))
    program, folder, providers = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), sys.argv[3].split(',')
    os.environ.update(GIT_CONFIG_NOSYSTEM='1', GIT_CONFIG_GLOBAL='/dev/null', HOME=folder, GIT_CEILING_DIRECTORIES=folder,
                      GIT_AUTHOR_NAME='T', GIT_AUTHOR_EMAIL='t@example.com', GIT_COMMITTER_NAME='T', LC_ALL='C.UTF-8',
                      GIT_COMMITTER_EMAIL='t@example.com', GIT_AUTHOR_DATE=DATE, GIT_COMMITTER_DATE=DATE)
    passed = failed = 0
    for seed in sys.argv[4:]:
        trial, well = Trial(program, folder, int(seed)), True
        for provider, wrong in trial.go(providers):
            passed, failed, well = passed + (not wrong), failed + bool(wrong), well and not wrong
            if wrong:
                print(f'seed {seed}, {provider}: {wrong}\n    folder: {trial.dir}', flush=True)
        if well:
            shutil.rmtree(trial.dir)
    print(f'identity: {passed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
