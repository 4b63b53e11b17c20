"""The processes of one run, found by a mark in their environment; nothing else is ever signalled."""
import os
import signal
import time


def read(path):
    try:
        with open(path, 'rb') as f:
            return f.read()
    except OSError:  # it ends as we look
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
    """Its descendants; far quicker than to look at all processes, as those of git are gone in a moment."""
    children = [int(p) for p in read(f'/proc/{pid}/task/{pid}/children').split()]
    return children + [p for child in children for p in below(child)]


def describe(pids):
    return ['%d: %s' % (p, read(f'/proc/{p}/cmdline').replace(b'\0', b' ').decode(errors='replace'))
            for p in pids]


def send(pid, mark, *signals):
    """Signals a process that has the mark; the descriptor makes sure that it is the one looked at."""
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
    """Kills all that have the mark, those that are known first, until there is none."""
    for pid in first:
        send(pid, mark, signal.SIGKILL)
    while left := marked(mark):
        for pid in left:
            send(pid, mark, signal.SIGKILL)


def wait_gone(mark, seconds):
    """The processes that are still there after so many seconds, and how long it took."""
    begin = time.monotonic()
    while (left := marked(mark)) and time.monotonic() - begin < seconds:
        time.sleep(0.01)
    return left, time.monotonic() - begin
