#include "run/process/output_limits.h"

#include "base/mem.h"
#include "run/attempt/attempt.h"
#include "run/process/process.h"
#include "run/state/run_state.h"
#include "sys/guard/guard.h"
#include "sys/own_fd.h"

#include <sys/stat.h>
#include <unistd.h>

enum { CHECK_MS = 250 };

struct task_limits output_limits_of(const struct attempt *attempt)
{
    return task_limits_of(&attempt->run->pf->plan, attempt->task);
}

enum { STREAMS = 2 };

struct flood {
    struct attempt *attempt;
    struct watch *timer;
    int fds[STREAMS];             /* the agent may have removed the files since */
    int64_t start_sizes[STREAMS]; /* file sizes when the command started */
    int64_t max;                  /* limit on what the command adds to both */
};

static int64_t get_size(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? (int64_t)st.st_size : 0;
}

static int64_t count_added(const struct flood *f)
{
    int64_t sum = 0;
    for (int i = 0; i < STREAMS; i++) {
        int64_t more = get_size(f->fds[i]) - f->start_sizes[i];
        sum += more > 0 ? more : 0;
    }
    return sum;
}

static void on_timer(void *ctx)
{
    struct flood *f = ctx;
    if (count_added(f) > f->max) {
        f->attempt->command.printed_too_much = true;
        process_order(f->attempt, GUARD_KILL);
    } else {
        watch_again(f->timer, CHECK_MS);
    }
}

struct output_sizes output_sizes_of(int out, int err)
{
    return (struct output_sizes){get_size(out), get_size(err)};
}

struct flood *output_watch_watch(struct attempt *attempt, int out, int err,
                                 struct output_sizes before)
{
    int64_t max = output_limits_of(attempt).output;
    struct flood *f = mem_alloc(sizeof(*f));
    *f = (struct flood){
        .attempt = attempt,
        .fds = {out, err},
        .start_sizes = {before.out, before.err},
        .max = max > attempt->command.printed_bytes ? max - attempt->command.printed_bytes : 0};
    if (max) {
        f->timer = loop_timer(attempt->run->loop, CHECK_MS, on_timer, f);
        return f;
    }
    output_watch_free(f);
    return NULL;
}

/* Cuts the files at the limit: nobody reads the rest. */
static void cut_files(const struct flood *f)
{
    int64_t left = f->max;
    for (int i = 0; i < STREAMS; i++) {
        int64_t more = get_size(f->fds[i]) - f->start_sizes[i];
        if (more > left && ftruncate(f->fds[i], (off_t)(f->start_sizes[i] + left)) < 0)
            return; /* the file keeps its size */
        left -= more > left ? left : more > 0 ? more : 0;
    }
}

void output_watch_free(struct flood *f)
{
    if (!f)
        return;
    watch_free(f->timer);
    for (int i = 0; i < STREAMS; i++)
        own_close(&f->fds[i]);
    free(f);
}

void output_watch_end(struct flood *f)
{
    if (!f)
        return;
    int64_t sum = count_added(f);
    f->attempt->command.printed_too_much = f->attempt->command.printed_too_much || sum > f->max;
    f->attempt->command.printed_bytes += sum;
    if (f->attempt->command.printed_too_much)
        cut_files(f);
    output_watch_free(f);
}
