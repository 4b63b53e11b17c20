#include "agent/output_tail.h"

#include "base/own.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void output_tail_open(struct output_tail *tail, const char *path, const struct dialect *dialect,
                      struct agent_report *report)
{
    tail->fd = -1;
    if (dialect)
        (void)file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &tail->fd,
                        NULL); /* a missing file has no lines */
    dialect_reader_init(&tail->reader, dialect, report);
}

bool output_tail_more(struct output_tail *tail)
{
    char bytes[65536];
    ssize_t n;
    do
        n = tail->fd < 0 ? 0 : read(tail->fd, bytes, sizeof(bytes));
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    dialect_reader_feed(&tail->reader, bytes, (size_t)n);
    return true;
}

void output_tail_end(struct output_tail *tail)
{
    while (output_tail_more(tail))
        ;
    dialect_reader_end(&tail->reader);
    output_tail_close(tail);
}

void output_tail_close(struct output_tail *tail)
{
    if (tail->reader.report)
        own_close(&tail->fd);
    tail->fd = -1;
    dialect_reader_done(&tail->reader);
}

void agent_errors_open(struct agent_errors *errors, const char *path, enum agent_engine engine,
                       struct agent_report *report)
{
    *errors = (struct agent_errors){.fd = -1, .engine = engine, .report = report, .line = BUF_INIT};
    if (agent_is_heard(engine))
        (void)file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &errors->fd, NULL);
}

static void read_bytes(struct agent_errors *e, const char *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        const char *lf = memchr(bytes + at, '\n', n - at);
        size_t len = lf ? (size_t)(lf - bytes) - at : n - at;
        size_t room = AGENT_LINE_MAX > e->line.len ? AGENT_LINE_MAX - e->line.len : 0;
        buf_add(&e->line, bytes + at, len < room ? len : room);
        at += len + 1;
        if (!lf)
            return;
        agent_hear(e->engine, e->report, e->line.s);
        buf_cut(&e->line, 0);
    }
}

static bool read_more_errors(struct agent_errors *errors)
{
    char bytes[16384];
    ssize_t n;
    do
        n = read(errors->fd, bytes, sizeof(bytes));
    while (n < 0 && errno == EINTR);
    if (n > 0)
        read_bytes(errors, bytes, (size_t)n);
    return n > 0;
}

void agent_errors_read(struct agent_errors *errors)
{
    enum { STEPS = 64 };
    for (int i = 0; errors->report && errors->fd >= 0 && i < STEPS; i++) {
        if (!read_more_errors(errors))
            return;
    }
}

void agent_errors_end(struct agent_errors *errors)
{
    while (errors->report && errors->fd >= 0 && read_more_errors(errors))
        ;
}

void agent_errors_close(struct agent_errors *errors)
{
    if (!errors->report)
        return;
    own_close(&errors->fd);
    buf_done(&errors->line);
    *errors = (struct agent_errors){0};
}
