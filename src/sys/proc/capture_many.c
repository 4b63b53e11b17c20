#include "sys/proc/capture_many.h"

#include "base/mem.h"
#include "sys/clock.h"
#include "sys/interrupt.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"
#include "sys/proc/stuck.h"
#include "sys/time_limits.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUT, ERR, STREAMS };
enum { OUTPUT_MAX = 1 << 30, PATIENCE_MS = 10 * 60 * 1000, LOOK_MS = 100 };

/* A slot runs one job at a time; pid is 0 if the slot is free. */
struct slot {
    struct proc_job *job;
    pid_t pid;
    int fds[STREAMS];
    bool ended;
    int64_t deadline, next_look; /* when we check again if it is stuck */
};

struct crowd {
    struct slot *slots;
    struct pollfd *polls; /* STREAMS entries for each slot */
    size_t width, busy;
};

void proc_job_done(struct proc_job *job)
{
    strv_done(&job->argv);
    strv_done(&job->env);
    buf_done(&job->out);
    buf_done(&job->errout);
}

static int start_job(struct slot *s, struct proc_job *job, struct err *err)
{
    struct spawn sp = {.argv = job->argv.v,
                       .env = job->env.v,
                       .dir = job->dir,
                       .fds = {SPAWN_NULL, SPAWN_NONE, SPAWN_NONE, SPAWN_NONE, SPAWN_NONE},
                       .new_session = true};
    *s = (struct slot){.job = job,
                       .deadline = clock_mono() + time_limit(PATIENCE_MS),
                       .next_look = clock_mono() + stuck_look_ms()};
    int rc = spawn_captured(&sp, s->fds, &s->pid, err);
    if (rc)
        s->pid = 0;
    return rc;
}

static int reap_slot(struct slot *s, struct err *err)
{
    int status;
    if (spawn_reap(s->pid, &status, err))
        return -1;
    s->job->status = spawn_code(status);
    s->pid = 0;
    return 0;
}

static int read_stream(struct slot *s, int stream, struct err *err)
{
    struct buf *to = stream == OUT ? &s->job->out : &s->job->errout;
    char bytes[65536];
    ssize_t n = read(s->fds[stream], bytes, sizeof(bytes));
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : err_sys(err, "read from a child");
    if (n == 0)
        own_close(&s->fds[stream]);
    buf_add(to, bytes, (size_t)n);
    return to->len <= OUTPUT_MAX ? 0
                                 : err_set(err, ERR_ENV, "'%s' wrote more than was expected of it",
                                           s->job->argv.v[0]);
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Called if nobody wrote for a while. A child that has ended may leave processes behind that keep
 * its streams open: a connection of ssh, or a program that a hook started. We note the end now and
 * close the streams at the next check, because by then we have read everything that the child
 * itself wrote. */
static void close_ended(struct crowd *c)
{
    for (size_t i = 0; i < c->width; i++) {
        struct slot *s = &c->slots[i];
        if (s->pid && s->ended) {
            own_close(&s->fds[OUT]);
            own_close(&s->fds[ERR]);
        }
        s->ended = s->pid && has_ended(s->pid);
    }
}

static int check_stuck(struct crowd *c, struct err *err)
{
    int64_t now = clock_mono();
    for (size_t i = 0; i < c->width; i++) {
        struct slot *s = &c->slots[i];
        if (!s->pid || now < s->next_look)
            continue;
        if (stuck_check(s->pid, err))
            return -1;
        s->next_look = clock_mono() + stuck_look_ms();
    }
    return 0;
}

/* Waits for the first event and handles it. */
static int wait_for_event(struct crowd *c, struct err *err)
{
    int64_t now = clock_mono(), end = INT64_MAX;
    for (size_t i = 0; i < c->width; i++) {
        struct slot *s = &c->slots[i];
        for (int k = 0; k < STREAMS; k++)
            c->polls[i * STREAMS + (size_t)k] = (struct pollfd){s->pid ? s->fds[k] : -1, POLLIN, 0};
        end = s->pid && s->deadline < end ? s->deadline : end;
    }
    int64_t wait = end > now ? end - now : 0;
    int ready = poll(c->polls, (nfds_t)(c->width * STREAMS), wait < LOOK_MS ? (int)wait : LOOK_MS);
    if (ready < 0)
        return errno == EINTR ? 0 : err_sys(err, "poll");
    if (ready == 0 && !wait)
        return err_set(err, ERR_ENV, "a child did not end in time");
    if (ready == 0)
        close_ended(c);
    if (check_stuck(c, err))
        return -1;
    for (size_t i = 0; i < c->width * STREAMS; i++) {
        if (c->polls[i].revents && read_stream(&c->slots[i / STREAMS], (int)(i % STREAMS), err))
            return -1;
    }
    return 0;
}

static int reap_ended(struct crowd *c, struct err *err)
{
    for (size_t i = 0; i < c->width; i++) {
        struct slot *s = &c->slots[i];
        if (!s->pid || s->fds[OUT] >= 0 || s->fds[ERR] >= 0)
            continue;
        if (reap_slot(s, err))
            return -1;
        c->busy--;
    }
    return 0;
}

static int fill_slots(struct crowd *c, struct proc_job *jobs, size_t n, size_t *next,
                      struct err *err)
{
    for (size_t i = 0; i < c->width && *next < n; i++) {
        if (c->slots[i].pid)
            continue;
        if (start_job(&c->slots[i], &jobs[*next], err))
            return -1;
        (*next)++;
        c->busy++;
    }
    return 0;
}

/* Sends SIGTERM to all children before it waits for any. */
static void end_all(struct crowd *c)
{
    for (size_t i = 0; i < c->width; i++) {
        if (c->slots[i].pid)
            (void)kill(-c->slots[i].pid, SIGTERM);
    }
    for (size_t i = 0; i < c->width; i++) {
        struct slot *s = &c->slots[i];
        if (!s->pid)
            continue;
        own_close(&s->fds[OUT]);
        own_close(&s->fds[ERR]);
        spawn_end(s->pid);
        (void)reap_slot(s, NULL);
    }
}

int capture_many(struct proc_job *jobs, size_t n, struct err *err)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct crowd c = {.width = processors > 1 ? (size_t)processors : 2};
    size_t next = 0;
    int rc = 0;
    c.slots = mem_array(c.width, sizeof(*c.slots));
    c.polls = mem_array(c.width * STREAMS, sizeof(*c.polls));
    while (rc == 0 && (next < n || c.busy)) {
        if (interrupt_signal())
            rc = err_set(err, ERR_ENV, "stopped by a signal");
        else if (fill_slots(&c, jobs, n, &next, err) || wait_for_event(&c, err) ||
                 reap_ended(&c, err))
            rc = -1;
    }
    end_all(&c);
    free(c.slots);
    free(c.polls);
    return rc;
}
