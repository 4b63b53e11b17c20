#include "sys/guard/warden.h"

#include "base/mem.h"
#include "base/own.h"
#include "base/strv.h"
#include "sys/guard/leftover_processes.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

enum { PATIENCE_MS = 7000 }; /* time for a guard's grace period and its sweep, with a margin */

int warden_start(struct warden *w, const char *self, const char *run, struct err *err)
{
    autostrv struct strv argv = {0};
    int ends[2];
    pid_t pid;
    strv_pushl(&argv, self, "__warden", "--", run, NULL);
    if (spawn_pipe(ends, err))
        return -1;
    autoclose int reader = ends[0], writer = ends[1];
    struct spawn sp = {.argv = argv.v,
                       .fds = {SPAWN_NULL, SPAWN_NULL, SPAWN_NULL, reader, SPAWN_NONE},
                       .new_session = true};
    if (spawn_start(&sp, &pid, err))
        return -1;
    *w = (struct warden){.pid = pid, .lifeline = steal_fd(&writer)};
    return 0;
}

void warden_dismiss(struct warden *w)
{
    if (!w->pid)
        return;
    (void)!write(w->lifeline, "q", 1); /* works even if the warden has died */
    own_close(&w->lifeline);
    (void)spawn_reap(w->pid, NULL, NULL);
    *w = (struct warden){0};
}

/* These signals are meant for the engine only. */
static int ignore_signals(struct err *err)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++) {
        if (sigaction(ignored[i], &ignore, NULL) < 0)
            return err_sys(err, "ignore signals");
    }
    return 0;
}

/* Kills at once what nobody needs any more. Guards get time to end. A git that moves the user's
 * checkout gets time to finish. */
static int end_all(const char *run, struct err *err)
{
    autofree char *of_run = mem_printf("ANABRANCH_RUN=%s", run);
    const char *const futile[] = {of_run, WARDEN_MARK, NULL};
    (void)leftover_processes_end(futile, 0, NULL, NULL);
    return leftover_processes_end_run(run, PATIENCE_MS, NULL, err);
}

int warden_watch(const char *run, struct err *err)
{
    char order;
    ssize_t n;
    if (fcntl(WARDEN_LIFELINE, F_SETFD, FD_CLOEXEC) < 0)
        return err_sys(err, "a warden is started by the engine, with descriptor 3");
    if (ignore_signals(err))
        return -1;
    while ((n = read(WARDEN_LIFELINE, &order, 1)) < 0 && errno == EINTR)
        ;
    return n > 0 ? 0 : end_all(run, err);
}
