#include "run/logs.h"

#include "base/mem.h"
#include "base/text.h"
#include "sys/dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEP = 64 << 10, TAIL_MAX = 16 << 10, TAIL_LINES = 5 };

static int write_all(int fd, const struct buf *b)
{
    for (size_t at = 0; at < b->len;) {
        ssize_t n = write(fd, b->s + at, b->len - at);
        if (n < 0 && errno != EINTR)
            return -1;
        at += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Copies in bounded memory, however large the log is; a secret may lie across two steps. */
static int copy(const struct secrets *secrets, int from, int to)
{
    autobuf struct buf raw = BUF_INIT, safe = BUF_INIT;
    for (ssize_t n = 1; n != 0;) {
        buf_reserve(&raw, STEP);
        n = read(from, raw.s + raw.len, STEP);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        raw.len += (size_t)n;
        buf_cut(&safe, 0);
        size_t done = raw.len;
        if (n > 0)
            done = secrets_mask_part(secrets, raw.s, raw.len, &safe);
        else
            secrets_mask(secrets, raw.s, raw.len, &safe);
        memmove(raw.s, raw.s + done, raw.len - done);
        buf_cut(&raw, raw.len - done);
        if (write_all(to, &safe))
            return -1;
    }
    return 0;
}

static int copy_log(struct job *job, const char *name, const char *ending, struct err *err)
{
    const struct run *run = job->run;
    bool again = run->tasks[job->task].logged;
    autofree char *from = mem_printf("%s/%s", job->dir, name);
    autofree char *to =
        mem_printf("%s/%s-%s.log", run->opts.log_dir, run->pf->plan.tasks[job->task].id, ending);
    autoclose int in = open(from, O_RDONLY | O_CLOEXEC);
    autoclose int out =
        open(to, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (again ? O_APPEND : O_TRUNC), 0600);
    if (in < 0 || out < 0 || fchmod(out, 0600) < 0)
        return err_sys(err, "write '%s'", to);
    if (again && dprintf(out, "\n===== retry attempt %d =====\n", job->attempt - 1) < 0)
        return err_sys(err, "write '%s'", to);
    return copy(&run->secrets, in, out) ? err_sys(err, "write '%s'", to) : 0;
}

void logs_copy(struct job *job)
{
    struct run *run = job->run;
    struct err err = {0};
    if (!run->opts.log_dir)
        return;
    if (dirs_make(run->opts.log_dir, &err) || copy_log(job, "out", "stdout", &err) ||
        copy_log(job, "err", "stderr", &err))
        record_error(run, job->task, &err);
    run->tasks[job->task].logged = true;
}

static void read_end(const char *path, struct buf *out)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    off_t start = size > TAIL_MAX ? size - TAIL_MAX : 0;
    buf_reserve(out, TAIL_MAX);
    ssize_t n = size > 0 ? pread(fd, out->s, TAIL_MAX, start) : 0;
    if (n <= 0)
        return;
    out->len = (size_t)n;
    out->s[n] = '\0';
    /* What is cut at the front could be half a secret. */
    const char *lf = start ? memchr(out->s, '\n', out->len) : NULL;
    size_t skip = lf ? (size_t)(lf - out->s) + 1 : 0;
    memmove(out->s, out->s + skip, out->len - skip);
    buf_cut(out, start && !lf ? 0 : out->len - skip);
}

static void add_tail(const struct run *run, const char *s, size_t len, size_t lines,
                     struct buf *out)
{
    autobuf struct buf text = BUF_INIT;
    secrets_mask(&run->secrets, s, len, &text);
    size_t end = text.len;
    while (end && strchr(" \t\r\n", text.s[end - 1]))
        end--;
    size_t start = end;
    for (size_t n = 0; start; start--) {
        if (text.s[start - 1] == '\n' && ++n == lines)
            break;
    }
    while (start < end) {
        const char *lf = memchr(text.s + start, '\n', end - start);
        len = lf ? (size_t)(lf - text.s) - start : end - start;
        text_harmless(out, text.s + start, len && text.s[start + len - 1] == '\r' ? len - 1 : len);
        buf_addch(out, '\n');
        start += len + 1;
    }
}

void logs_shown(const struct run *run, const char *s, size_t len, struct buf *out)
{
    add_tail(run, s, len, SIZE_MAX, out);
}

void logs_tail(const struct run *run, const char *path, size_t lines, struct buf *out)
{
    autobuf struct buf raw = BUF_INIT;
    read_end(path, &raw);
    add_tail(run, raw.s, raw.len, lines, out);
}

static const char *const *explaining(enum failure failure)
{
    static const char *const none[] = {NULL}, *const agent[] = {"err", NULL};
    static const char *const verify[] = {"verify.err", "verify.out", "hook.err", NULL};
    static const char *const setup[] = {"err", "setup.err", "setup.out", NULL};
    switch (failure) {
    case FAILURE_VERIFY:
        return verify;
    case FAILURE_SETUP:
        return setup;
    case FAILURE_NO_CHANGE:
    case FAILURE_SCOPE:
    case FAILURE_CONFLICT:
        return none;
    case FAILURE_AUTH:
    case FAILURE_LIMIT:
    case FAILURE_OVERLOADED:
    case FAILURE_TRANSIENT:
    case FAILURE_TIMEOUT:
    case FAILURE_IDLE:
    case FAILURE_REFUSED:
    case FAILURE_BUDGET:
    case FAILURE_INTERNAL:
    case FAILURE_COUNT_:
        break;
    }
    return agent;
}

void logs_explain(const struct job *job, enum failure failure, struct buf *out)
{
    const char *const *names = explaining(failure);
    size_t before = out->len;
    bool agent = *names && strcmp(*names, "err") == 0;
    for (; *names && out->len == before; names++) {
        autofree char *path = mem_printf("%s/%s", job->dir, *names);
        logs_tail(job->run, path, TAIL_LINES, out);
    }
    if (agent && out->len == before)
        add_tail(job->run, job->report.text.s, job->report.text.len, TAIL_LINES, out);
}

void logs_discard(struct run *run)
{
    for (size_t t = 0; run->opts.no_log && t < run->pf->plan.task_count; t++) {
        const struct task_status *s = &run->tasks[t].status;
        for (int i = 1; (s->state == TASK_LANDED || s->state == TASK_DONE) && i <= s->attempts;
             i++) {
            autofree char *dir = mem_printf("%s/%s/%d", run->dir, run->pf->plan.tasks[t].id, i);
            autofree char *out = mem_printf("%s/out", dir), *err = mem_printf("%s/err", dir);
            (void)unlink(out);
            (void)unlink(err);
        }
    }
}
