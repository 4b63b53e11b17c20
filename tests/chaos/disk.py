"""The disk of a repository. If it is a small disk of its own, it can be full or read-only for a while."""
import collections
import errno
import os
import shutil
import stat
import subprocess
import time

SMALL = 72 << 20  # bytes: the minimum that a run requires at its start, and a little more

Illness = collections.namedtuple('Illness', 'what how begin')


def mount(*args):
    return subprocess.run(['mount', *args], capture_output=True).returncode == 0


def mount_small(path):
    """A small disk in memory, or a btrfs if workspaces must be snapshots."""
    if os.environ.get('ANABRANCH_PROVIDER') != 'snapshot':
        return mount('-t', 'tmpfs', '-o', f'size={SMALL}', 'chaos', path)
    image = f'{path}.image'
    with open(image, 'wb') as f:
        f.truncate(3 * SMALL)  # the file system itself needs half of it
    made = subprocess.run(['mkfs.btrfs', '-q', '-m', 'single', image], capture_output=True).returncode == 0
    return made and mount('-o', 'loop', image, path)


def sockets(folder, names):
    return [name for name in names if stat.S_ISSOCK(os.lstat(f'{folder}/{name}').st_mode)]


class Disk:
    def __init__(self, path, small):
        self.path, self.ballast = path, f'{path}/ballast'
        os.mkdir(path)
        self.mounted = small and mount_small(path)
        self.missing = small and not self.mounted
        self.ill, self.past = None, []  # past: pairs of an illness and the time of its end

    def remove(self, keep_in=None):
        if self.mounted:
            if keep_in:
                shutil.copytree(self.path, keep_in, symlinks=True, ignore=sockets)
            subprocess.run(['umount', self.path], check=True)

    def illnesses(self, since):
        """The illnesses that ended after this moment, and the present one."""
        return [i for i, end in self.past if end > since] + ([self.ill] if self.ill else [])

    def fill(self):
        self.ill = Illness('full disk', '', time.monotonic())
        with open(self.ballast, 'wb', buffering=0) as f:
            try:
                while True:
                    f.write(bytes(1 << 16))
            except OSError as e:
                if e.errno != errno.ENOSPC:
                    raise

    def forbid_writing(self):
        """Makes the disk read-only; true on success. The kernel refuses this while a file is open for writing, as the
        store is while an engine lives. Then we cover the repository with a read-only mount, which affects everything
        except open files."""
        begin, repo = time.monotonic(), f'{self.path}/repo'
        how = 'remounted' if mount('-o', 'remount,ro', self.path) else 'covered'
        if how == 'covered' and not mount('--bind', repo, repo):
            return False
        self.ill = Illness('read-only disk', how, begin)
        return how == 'remounted' or mount('-o', 'remount,bind,ro', repo)

    def heal(self):
        """Heals the disk. Processes that started under the cover still use it, so make it writable before removing it."""
        if not self.ill:
            return
        if os.path.exists(self.ballast):
            os.truncate(self.ballast, 0)  # a process that was just forked may still have it open
            os.unlink(self.ballast)
        elif self.ill.how == 'remounted':
            subprocess.run(['mount', '-o', 'remount,rw', self.path], check=True)
        else:
            subprocess.run(['mount', '-o', 'remount,bind,rw', f'{self.path}/repo'], check=True)
            subprocess.run(['umount', '-l', f'{self.path}/repo'], check=True)
        self.past.append((self.ill, time.monotonic()))
        self.ill = None
