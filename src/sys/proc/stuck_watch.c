#include "sys/proc/stuck_watch.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/clock.h"
#include "sys/fs/file.h"
#include "sys/interrupt_child.h"
#include "sys/own_fd.h"
#include "sys/proc/stuck.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

struct stuck_watch {
    struct watch *timer;
    pid_t group;
    int64_t began;
    char *log;
};

static void log_reason(const struct stuck_watch *w, const struct err *err)
{
    autoclose int fd = -1;
    if (w->log && file_open(AT_FDCWD, w->log, O_WRONLY | O_APPEND | O_NOFOLLOW, &fd, NULL) == 0)
        (void)dprintf(fd, "%s\n", err->msg); /* if this fails, nobody learns why it ended */
}

static void on_timer(void *ctx)
{
    struct stuck_watch *w = ctx;
    struct err err = {0};
    if (interrupt_until(w->began, INT64_MAX) <= clock_mono())
        (void)err_set(&err, ERR_ENV, "git had not ended when the run was stopped");
    if (err.code || stuck_check(w->group, &err)) {
        log_reason(w, &err);
        (void)kill(-w->group, SIGKILL);
        return;
    }
    watch_again(w->timer, stuck_look_ms());
}

struct stuck_watch *stuck_watch_new(struct loop *loop, pid_t group, const char *log)
{
    struct stuck_watch *w = mem_alloc(sizeof(*w));
    *w = (struct stuck_watch){
        .group = group, .began = clock_mono(), .log = log ? mem_str(log) : NULL};
    w->timer = loop_timer(loop, stuck_look_ms(), on_timer, w);
    return w;
}

void stuck_watch_free(struct stuck_watch *w)
{
    if (!w)
        return;
    watch_free(w->timer);
    free(w->log);
    free(w);
}
