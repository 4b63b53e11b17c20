#include "sys/term.h"

#include "base/own.h"
#include "sys/own_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t term_columns(int fd)
{
    const char *columns = getenv("COLUMNS");
    unsigned long width = columns ? strtoul(columns, NULL, 10) : 0;
    struct winsize size;
    if (width > 0 && width < 10000)
        return width;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

struct term_size term_size(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) < 0)
        return (struct term_size){0};
    return (struct term_size){size.ws_col, size.ws_row};
}

bool term_pause(int fd, int ms)
{
    struct pollfd out = {.fd = fd};
    return poll(&out, 1, ms) <= 0 || !(out.revents & (POLLERR | POLLHUP));
}

/* With `stty tostop` a write from the background would stop us, so we block SIGTTOU. */
void term_bell(void)
{
    autoclose int fd = open("/dev/tty", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    sigset_t set, before;
    if (fd < 0)
        return;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTTOU);
    if (sigprocmask(SIG_BLOCK, &set, &before) < 0)
        return;
    ssize_t written = write(fd, "\a", 1);
    (void)written; /* a missing bell does not matter */
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}
