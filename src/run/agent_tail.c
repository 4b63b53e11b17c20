#include "run/agent_tail.h"

#include "base/own.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void agent_tail_open(struct agent_tail *tail, const char *path, const struct dialect *dialect,
                     struct agent_report *report)
{
    tail->fd = -1;
    if (dialect)
        (void)file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &tail->fd,
                        NULL); /* it says nothing */
    dialect_reader_init(&tail->reader, dialect, report);
}

bool agent_tail_more(struct agent_tail *tail)
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

void agent_tail_end(struct agent_tail *tail)
{
    while (agent_tail_more(tail))
        ;
    dialect_reader_end(&tail->reader);
    agent_tail_close(tail);
}

void agent_tail_close(struct agent_tail *tail)
{
    if (tail->reader.report)
        own_close(&tail->fd);
    tail->fd = -1;
    dialect_reader_done(&tail->reader);
}
