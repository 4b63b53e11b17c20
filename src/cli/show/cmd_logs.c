#include "base/mem.h"
#include "cli/common/lookup.h"
#include "cli/frame/commands.h"
#include "run/state/run_folder.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "view/transcript.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct logs_opts {
    const char *run;
    int64_t attempt;
    bool follow, errors, raw, verify;
};

enum { POLL_MS = 100, STEP = 64 << 10 };

/* The log that we show. */
struct log_view {
    const struct logs_opts *opts;
    struct transcript text;
    struct secrets secrets;
    struct secrets_stream safe;
    int fd; /* -1: no such file yet */
};

/* We mask secrets again, because decoding the agent's output may reveal escaped secrets. */
static int print_text(const struct log_view *s, const struct buf *text)
{
    autobuf struct buf out = BUF_INIT;
    secrets_mask(&s->secrets, text->s, text->len, &out);
    return out.len ? cli_print(out.s, out.len) : EXIT_OK;
}

static int print_bytes(struct log_view *s, const struct buf *bytes)
{
    autobuf struct buf out = BUF_INIT;
    if (s->opts->raw)
        return bytes->len ? cli_print(bytes->s, bytes->len) : EXIT_OK;
    transcript_feed(&s->text, bytes->s, bytes->len, &out);
    return print_text(s, &out);
}

/* Prints the bytes that were written since the last call. */
static int print_new_bytes(struct log_view *s)
{
    char bytes[STEP];
    for (ssize_t n; s->fd >= 0 && (n = read(s->fd, bytes, sizeof(bytes))) != 0;) {
        autobuf struct buf masked = BUF_INIT;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cli_fail(EXIT_ENV, "cannot read the log: %s", strerror(errno));
        secrets_feed(&s->safe, bytes, (size_t)n, &masked);
        int code = print_bytes(s, &masked);
        if (code != EXIT_OK)
            return code;
    }
    return EXIT_OK;
}

static int print_rest(struct log_view *s)
{
    autobuf struct buf out = BUF_INIT, masked = BUF_INIT;
    int code = print_new_bytes(s);
    secrets_end(&s->safe, &masked);
    if (code == EXIT_OK)
        code = print_bytes(s, &masked);
    if (code != EXIT_OK)
        return code;
    transcript_end(&s->text, &out);
    return print_text(s, &out);
}

/* True if the agent of this attempt may still print. Attempt 0 has not started yet. */
static bool is_attempt_live(const struct report *r, const struct report_task *t, int64_t attempt)
{
    if (!report_is_running(r) || t->end != REPORT_UNFINISHED)
        return false;
    if (!attempt)
        return true;
    bool started = strcmp(t->row.state, "preparing") == 0 || strcmp(t->row.state, "running") == 0;
    return attempt == t->row.attempts && started;
}

static void open_file(struct log_view *s, const struct report_task *t, int64_t attempt,
                      const char *name)
{
    if (!t->logs)
        return;
    autofree char *path = mem_printf("%s/%lld/%s", t->logs, (long long)attempt, name);
    (void)file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &s->fd, NULL); /* callers check fd */
}

static void open_log(struct log_view *s, const struct report_task *t, int64_t attempt)
{
    if (s->fd < 0 && attempt)
        open_file(s, t, attempt, s->opts->errors ? "err" : "out");
}

/* We remove an empty log of errors when the attempt ends. */
static bool has_empty_log(struct log_view *s, const struct report_task *t, int64_t attempt)
{
    if (s->opts->errors)
        open_file(s, t, attempt, "out");
    bool empty = s->fd >= 0;
    own_close(&s->fd);
    return empty;
}

/* The store says when an attempt ends. We ask it before we read the last bytes, so that we miss
 * none. */
static int follow_attempt(struct lookup *look, struct log_view *s, const char *run, const char *id,
                          int64_t attempt)
{
    static const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    for (bool live = true; live;) {
        autoreport struct report r = {0};
        const struct report_task *t;
        int code = lookup_run(look, run, &r);
        if (code == EXIT_OK)
            code = lookup_task(&r, id, &t);
        if (code != EXIT_OK)
            return code;
        attempt = attempt ? attempt : t->row.attempts;
        live = is_attempt_live(&r, t, attempt);
        open_log(s, t, attempt);
        code = print_new_bytes(s);
        if (code != EXIT_OK)
            return code;
        if (live)
            (void)nanosleep(&pause, NULL);
    }
    return print_rest(s);
}

/* Shows the output of the verification, or of the commit hook that refused the commit. */
static int show_verification(struct log_view *s, const struct report_task *t, int64_t attempt)
{
    static const char *const names[] = {"verify.out", "verify.err", "hook.out", "hook.err"};
    int code = EXIT_OK;
    bool found = false;
    for (size_t i = 0; code == EXIT_OK && i < ARRAY_LEN(names); i++) {
        open_file(s, t, attempt, names[i]);
        found = found || s->fd >= 0;
        code = print_new_bytes(s);
        own_close(&s->fd);
    }
    if (code != EXIT_OK || found)
        return code == EXIT_OK ? print_rest(s) : code;
    return cli_fail(EXIT_ENV, "attempt %lld of '%s' was not verified", (long long)attempt,
                    t->row.id);
}

static int show_attempt(struct lookup *look, struct log_view *s, const struct report *r,
                        const struct report_task *t)
{
    int64_t attempt = s->opts->attempt ? s->opts->attempt : t->row.attempts;
    const char *id = t->row.id;
    if (s->opts->follow && !s->opts->verify && (!attempt || attempt == t->row.attempts) &&
        is_attempt_live(r, t, attempt))
        return follow_attempt(look, s, r->row.id, id, attempt);
    if (!t->row.attempts)
        return cli_fail(EXIT_USAGE, "task '%s' has not started", id);
    if (attempt > t->row.attempts)
        return cli_fail(EXIT_USAGE, "task '%s' had %d attempt%s", id, t->row.attempts,
                        t->row.attempts == 1 ? "" : "s");
    if (s->opts->verify)
        return show_verification(s, t, attempt);
    open_log(s, t, attempt);
    if (s->fd < 0 && has_empty_log(s, t, attempt))
        return EXIT_OK;
    if (s->fd < 0)
        return cli_fail(EXIT_ENV, "attempt %lld of '%s' has no such log", (long long)attempt, id);
    return print_rest(s);
}

static int run_logs(const void *options, char **argv)
{
    const struct logs_opts *opts = options;
    autolook struct lookup look;
    autoreport struct report r = {0};
    const struct report_task *t;
    int code = lookup_open_task(&look, opts->run, argv[0], &r, &t);
    if (code != EXIT_OK)
        return code;
    struct log_view s = {.opts = opts, .fd = -1};
    bool plain = opts->errors || opts->verify;
    transcript_init(&s.text, transcript_dialect(plain ? NULL : t->row.engine));
    s.safe = (struct secrets_stream)SECRETS_STREAM_INIT(&s.secrets);
    run_folder_secrets(r.logs ? r.logs : "", &s.secrets);
    code = show_attempt(&look, &s, &r, t);
    own_close(&s.fd);
    transcript_done(&s.text);
    secrets_stream_done(&s.safe);
    secrets_done(&s.secrets);
    return code;
}

static const struct opt opts_table[] = {
    LOOKUP_RUN_OPT(struct logs_opts),
    {"attempt", 0, OPT_COUNT, offsetof(struct logs_opts, attempt), "N", NULL,
     "Show this attempt (default: the last one)"},
    {"follow", 'f', OPT_FLAG, offsetof(struct logs_opts, follow), NULL, NULL,
     "Keep printing until the attempt ends"},
    {"stderr", 0, OPT_FLAG, offsetof(struct logs_opts, errors), NULL, NULL,
     "Show standard error instead of standard output"},
    {"verify", 0, OPT_FLAG, offsetof(struct logs_opts, verify), NULL, NULL,
     "Show the output of the verification, or of the commit hook that refused the commit"},
    {"raw", 0, OPT_FLAG, offsetof(struct logs_opts, raw), NULL, NULL,
     "Show the raw bytes, without secrets; they may contain terminal control characters"},
    {0},
};

const struct command cmd_logs = {
    .name = "logs",
    .summary = "Show the output of a task's agent",
    .about =
        "If the engine prints events, they are shown for people: the agent's text, '>' for its "
        "actions, '!' for errors, '?' for its questions. Control characters are made visible.",
    .examples = "anabranch logs auth\tShow the output of the agent of the task auth\n"
                "anabranch logs -f auth\tFollow it\n"
                "anabranch logs --verify auth\tShow why its verification failed\n"
                "anabranch logs --raw --attempt 1 auth | jq .type\tPrint the events of "
                "the first attempt\n",
    .args = lookup_task_args,
    .opts = opts_table,
    .options_size = sizeof(struct logs_opts),
    .exits = cli_usual_exits,
    .run = run_logs,
};
