#include "run/agent/logs.h"

#include "base/mem.h"
#include "base/text/text.h"
#include "git/state_paths.h"
#include "run/attempt/attempt.h"
#include "run/attempt/feedback.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "run/watch/other_runs.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEP = 64 << 10, TAIL_MAX = 16 << 10, TAIL_LINES = 5 };

/* Copies in bounded memory, until the end or until *left bytes are read. A secret may span two
 * reads. */
static int copy_some(struct secrets_stream *stream, int from, int to, int64_t *left)
{
    autobuf struct buf safe = BUF_INIT;
    autofree char *raw = mem_alloc(STEP);
    for (ssize_t n = 1; n != 0 && *left > 0;) {
        n = read(from, raw, STEP);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        buf_cut(&safe, 0);
        secrets_feed(stream, raw, (size_t)n, &safe);
        *left -= n;
        if (file_write(to, safe.s, safe.len))
            return -1;
    }
    return 0;
}

/* Also writes text that we held back as a possible beginning of a secret. */
static int copy_rest(struct secrets_stream *stream, int from, int to)
{
    autobuf struct buf safe = BUF_INIT;
    int64_t all = INT64_MAX;
    if (copy_some(stream, from, to, &all))
        return -1;
    secrets_end(stream, &safe);
    return file_write(to, safe.s, safe.len);
}

static int copy_all(const struct secrets *secrets, int from, int to)
{
    own_cleanup(secrets_stream_done) struct secrets_stream stream = SECRETS_STREAM_INIT(secrets);
    return copy_rest(&stream, from, to);
}

enum { COPIES = 2, MORE_MAX = 4 << 20 };

struct log_copy {
    int from, to;
    struct secrets_stream stream;
};

/* Copies of the output of a running agent. */
struct logs_copies {
    struct log_copy v[COPIES];
};

static void free_copies(struct attempt *attempt)
{
    for (size_t i = 0; i < COPIES; i++) {
        struct log_copy *c = &attempt->agent.copies->v[i];
        if (c->from >= 0)
            (void)close(c->from);
        if (c->to >= 0)
            (void)close(c->to);
        secrets_stream_done(&c->stream);
    }
    free(attempt->agent.copies);
    attempt->agent.copies = NULL;
}

static char *copy_path(const struct attempt *attempt, size_t i)
{
    static const char *const endings[COPIES] = {"stdout", "stderr"};
    return mem_printf("%s/%s-%s.log", attempt->run->opts.log_dir, task_of(attempt)->id, endings[i]);
}

/* Reports an error and stops copying. */
static void stop_copying(struct attempt *attempt, const struct err *err)
{
    free_copies(attempt);
    record_error(attempt->run, attempt->task, err);
}

static void report_write_error(struct attempt *attempt, size_t i)
{
    autofree char *to = copy_path(attempt, i);
    struct err err = {0};
    (void)err_sys(&err, "write '%s'", to);
    stop_copying(attempt, &err);
}

static int open_copy(struct attempt *attempt, size_t i, struct err *err)
{
    static const char *const names[COPIES] = {"out", "err"};
    struct log_copy *c = &attempt->agent.copies->v[i];
    bool again = task_run(attempt)->has_log_copies;
    autofree char *from = attempt_file(attempt, names[i]), *to = copy_path(attempt, i);
    const int how = O_WRONLY | O_CREAT | O_NOFOLLOW | (again ? O_APPEND : O_TRUNC);
    if (file_open(AT_FDCWD, from, O_RDONLY | O_NOFOLLOW, &c->from, err) ||
        file_open(AT_FDCWD, to, how, &c->to, err))
        return -1;
    if (fchmod(c->to, 0600) < 0 ||
        (again && dprintf(c->to, "\n===== retry attempt %d =====\n", attempt->number - 1) < 0))
        return err_sys(err, "write '%s'", to);
    return 0;
}

void logs_begin(struct attempt *attempt)
{
    struct run *run = attempt->run;
    struct err err = {0};
    logs_end(attempt);
    if (!run->opts.log_dir)
        return;
    if (dirs_make(run->opts.log_dir, &err)) {
        record_error(run, attempt->task, &err);
        return;
    }
    attempt->agent.copies = mem_alloc(sizeof(*attempt->agent.copies));
    for (size_t i = 0; i < COPIES; i++)
        attempt->agent.copies->v[i] = (struct log_copy){-1, -1, SECRETS_STREAM_INIT(&run->secrets)};
    for (size_t i = 0; attempt->agent.copies && i < COPIES; i++) {
        if (open_copy(attempt, i, &err))
            stop_copying(attempt, &err);
    }
    run->tasks[attempt->task].has_log_copies = true;
}

void logs_more(struct attempt *attempt)
{
    for (size_t i = 0; attempt->agent.copies && i < COPIES; i++) {
        struct log_copy *c = &attempt->agent.copies->v[i];
        int64_t left = MORE_MAX;
        if (copy_some(&c->stream, c->from, c->to, &left))
            report_write_error(attempt, i);
    }
}

void logs_end(struct attempt *attempt)
{
    for (size_t i = 0; attempt->agent.copies && i < COPIES; i++) {
        struct log_copy *c = &attempt->agent.copies->v[i];
        if (copy_rest(&c->stream, c->from, c->to))
            report_write_error(attempt, i);
    }
    if (attempt->agent.copies)
        free_copies(attempt);
}

/* True if the file contains a secret. Uses bounded memory. */
static bool has_secret(const struct secrets *secrets, int fd)
{
    autobuf struct buf raw = BUF_INIT;
    for (ssize_t n = 1; n != 0;) {
        size_t keep = raw.len < secrets->longest ? raw.len : secrets->longest - 1;
        memmove(raw.s, raw.s + raw.len - keep, keep);
        buf_cut(&raw, keep);
        buf_reserve(&raw, STEP);
        n = read(fd, raw.s + raw.len, STEP);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return true;
        raw.len += (size_t)n;
        if (secrets_are_in(secrets, raw.s, raw.len))
            return true;
    }
    return false;
}

/* Writes a new file and renames it: readers see either the old or the new one. */
static int mask_file(const struct secrets *secrets, const char *path, struct err *err)
{
    autofree char *other = mem_printf("%s.masked", path);
    autoclose int from = -1, to = -1;
    struct err why = {0};
    if (file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &from, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    if (!has_secret(secrets, from))
        return 0;
    if (file_open(AT_FDCWD, other, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, &to, err))
        return -1;
    if (lseek(from, 0, SEEK_SET) < 0 || copy_all(secrets, from, to) || rename(other, path) < 0)
        return err_sys(err, "remove secrets from '%s'", path);
    return 0;
}

void logs_mask(struct run *run, const char *dir)
{
    static const char *const names[] = {"out",       "err",        "prompt",      "setup.out",
                                        "setup.err", "verify.out", "verify.err",  "teardown.out",
                                        "hook.out",  "hook.err",   "prepare.log", "teardown.err",
                                        "bring.out", "bring.err",  "message"};
    struct err err = {0};
    for (size_t i = 0; run->secrets.values.n && i < ARRAY_LEN(names); i++) {
        autofree char *path = mem_printf("%s/%s", dir, names[i]);
        if (mask_file(&run->secrets, path, &err))
            record_error(run, -1, &err);
    }
}

void logs_mask_all(struct run *run)
{
    for (size_t t = 0; run->secrets.values.n && t < run->pf->plan.task_count; t++) {
        for (int i = 1; i <= run->tasks[t].status.attempts; i++) {
            autofree char *dir = attempt_path(run->files.dir, run->pf->plan.tasks[t].id, i);
            logs_mask(run, dir);
        }
    }
}

/* Returns true if the file has more before this end. */
static bool read_end(const char *path, struct buf *out)
{
    autoclose int fd = -1;
    off_t size =
        file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &fd, NULL) ? 0 : lseek(fd, 0, SEEK_END);
    off_t start = size > TAIL_MAX ? size - TAIL_MAX : 0;
    buf_reserve(out, TAIL_MAX);
    ssize_t n = size > 0 ? pread(fd, out->s, TAIL_MAX, start) : 0;
    if (n <= 0)
        return false;
    out->len = (size_t)n;
    out->s[n] = '\0';
    return start > 0;
}

static void add_tail(const struct run *run, const char *s, size_t len, struct secrets_cut cut,
                     size_t lines, struct buf *out)
{
    autobuf struct buf text = BUF_INIT;
    secrets_mask_cut(&run->secrets, s, len, cut, &text);
    size_t end = text.len, first = 0;
    if (cut.front) { /* drop an incomplete first line */
        const char *lf = memchr(text.s, '\n', text.len);
        first = lf ? (size_t)(lf - text.s) + 1 : end;
    }
    while (end && strchr(" \t\r\n", text.s[end - 1]))
        end--;
    end = end > first ? end : first;
    size_t start = end;
    for (size_t n = 0; start > first; start--) {
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
    add_tail(run, s, len, (struct secrets_cut){.end = len >= JSON_TEXT_MAX}, SIZE_MAX, out);
}

static const char *const *explaining_logs(enum failure failure)
{
    static const char *const none[] = {NULL}, *const agent[] = {"err", NULL};
    static const char *const verify[] = {"verify.err", "verify.out", "hook.err", NULL};
    static const char *const setup[] = {"err", "setup.err", "setup.out", "verify.err", NULL};
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
    case FAILURE_CONTEXT:
    case FAILURE_BUDGET:
    case FAILURE_INTERNAL:
    case FAILURE_STOPPED:
    case FAILURE_COUNT_:
        break;
    }
    return agent;
}

/* Appends the end of a log, without the engine's chatter if the agent wrote it. */
static void add_log_tail(const struct attempt *attempt, const char *path, bool agent,
                         struct buf *out)
{
    autobuf struct buf raw = BUF_INIT;
    bool cut = read_end(path, &raw);
    if (agent)
        agent_drop_chatter(run_engine(attempt->run, attempt->task), &raw);
    add_tail(attempt->run, raw.s, raw.len, (struct secrets_cut){.front = cut}, TAIL_LINES, out);
}

void logs_explain(const struct attempt *attempt, enum failure failure, struct buf *out)
{
    const char *const *names = explaining_logs(failure);
    size_t before = out->len;
    bool agent = *names && strcmp(*names, "err") == 0;
    for (; *names && out->len == before; names++) {
        autofree char *path = mem_printf("%s/%s", attempt->dir, *names);
        add_log_tail(attempt, path, agent, out);
    }
    if (agent && out->len == before)
        add_tail(attempt->run, attempt->agent.report.text.s, attempt->agent.report.text.len,
                 (struct secrets_cut){.end = attempt->agent.report.text.len >= JSON_TEXT_MAX},
                 TAIL_LINES, out);
}

void logs_discard(struct run *run)
{
    for (size_t t = 0; run->opts.no_log && t < run->pf->plan.task_count; t++) {
        int attempts = run->tasks[t].status.attempts;
        for (int i = 1; task_has_succeeded(run->engine->tasks[t].state) && i <= attempts; i++) {
            autofree char *dir = attempt_path(run->files.dir, run->pf->plan.tasks[t].id, i);
            autofree char *out = mem_printf("%s/out", dir), *err = mem_printf("%s/err", dir);
            (void)unlink(out);
            (void)unlink(err);
        }
    }
}
