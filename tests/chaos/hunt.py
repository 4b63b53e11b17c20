"""Finds the processes of one run by a mark in their environment, and signals no others."""
import os
import signal
import time


def read(path):
    try:
        with open(path, 'rb') as f:
            return f.read()
    except OSError:  # the process has just ended
        return b''


def is_marked(pid, mark):
    return mark in read(f'/proc/{pid}/environ').split(b'\0')


def role(pid):
    argv = read(f'/proc/{pid}/cmdline').split(b'\0')
    names = {b'anabranch-guard': 'guard', b'git': 'git'}
    return 'agent' if argv[1:2] == [b'__sim'] else names.get(os.path.basename(argv[0]), 'other')


def marked(mark):
    return [int(pid) for pid in os.listdir('/proc') if pid.isdigit() and is_marked(pid, mark)]


def below(pid):
    """The descendants of a process. This is much faster than a search of all processes, and git's live only for a moment."""
    children = [int(p) for p in read(f'/proc/{pid}/task/{pid}/children').split()]
    return children + [p for child in children for p in below(child)]


def describe(pids):
    return ['%d: %s' % (p, read(f'/proc/{p}/cmdline').replace(b'\0', b' ').decode(errors='replace'))
            for p in pids]


def send(pid, mark, *signals):
    """Signals a process that has the mark. The descriptor ensures that we signal the process that we checked."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not is_marked(pid, mark):
            return False
        for i, number in enumerate(signals):
            time.sleep(0.03 if i else 0)
            signal.pidfd_send_signal(fd, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)


def end_all(mark, first):
    """Kills all processes with the mark, the given ones first, until none is left."""
    for pid in first:
        send(pid, mark, signal.SIGKILL)
    while left := marked(mark):
        for pid in left:
            send(pid, mark, signal.SIGKILL)


def wait_gone(mark, seconds):
    """Waits until no process is left, or for this many seconds; returns the rest, and the time."""
    begin = time.monotonic()
    while (left := marked(mark)) and time.monotonic() - begin < seconds:
        time.sleep(0.01)
    return left, time.monotonic() - begin
