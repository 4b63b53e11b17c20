/*
 * Logs, of any size, by windows: what is read of one at a time is bounded, and so is the time that
 * a search takes before it answers with how far it came.
 */
#include "view/serve/serve_private.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "git/state_paths.h"
#include "sys/clock.h"
#include "sys/own_fd.h"
#include "view/transcript.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum {
    WINDOW = 64 << 10,
    WINDOW_MAX = 256 << 10,
    LINES_MAX = 1000,    /* that are shown of a window */
    SHOWN_MAX = 4 << 10, /* bytes of a line */
    LINE_MAX_ = 1 << 20, /* of a line that is searched */
    SEARCH_MS = 40,
    MATCHES_MAX = 100,
};

static const char *const streams[] = {"out",        "err",        "setup.out",
                                      "setup.err",  "hook.out",   "hook.err",
                                      "verify.out", "verify.err", NULL};

/* --- finding ------------------------------------------------------------------------------ */

/* A log of an attempt, and which others there are. */
struct log {
    int fd;
    int64_t size;
    const char *stream;
    int64_t attempt;
    struct node *names;
};

static void log_done(struct log *log)
{
    own_close(&log->fd);
}
#define autolog own_cleanup(log_done)

/* Below `dir` nothing is followed: what a task's folder holds is a file in it, or is not shown. */
static int open_below(int dir, const char *name, int flags)
{
    return openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags);
}

static int open_attempt(const struct serve_call *c, int64_t attempt)
{
    autofree char *runs = runs_path(c->serve->opts.state_dir);
    autofree char *number = mem_printf("%lld", (long long)attempt);
    autoclose int top = open(runs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoclose int run = top < 0 ? -1 : open_below(top, c->run, O_DIRECTORY);
    autoclose int task = run < 0 ? -1 : open_below(run, c->task.id, O_DIRECTORY);
    return task < 0 ? -1 : open_below(task, number, O_DIRECTORY);
}

static void open_streams(struct log *log, struct arena *a, int dir)
{
    for (size_t i = 0; streams[i]; i++) {
        autoclose int fd = open_below(dir, streams[i], O_NONBLOCK);
        struct stat st;
        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        bool wanted = strcmp(streams[i], log->stream) == 0;
        if (st.st_size || wanted)
            node_add_string(a, log->names, streams[i]);
        if (wanted) {
            log->fd = steal_fd(&fd);
            log->size = st.st_size;
        }
    }
}

static bool is_stream(const char *name)
{
    for (size_t i = 0; streams[i]; i++) {
        if (strcmp(streams[i], name) == 0)
            return true;
    }
    return false;
}

/* False where the request is wrong, which has been answered; a log that is not there is empty. */
static bool find_log(struct serve_call *c, struct log *log)
{
    const char *stream = http_query(c->head, "stream");
    *log = (struct log){.fd = -1, .stream = stream ? stream : "out"};
    log->names = node_new_list(&c->arena);
    if (!is_stream(log->stream) ||
        !http_query_int(c->head, "attempt", c->task.attempts, &log->attempt) ||
        log->attempt > c->task.attempts) {
        serve_answer_error(c->http, 404, "there is no such log");
        return false;
    }
    autoclose int dir = log->attempt ? open_attempt(c, log->attempt) : -1;
    if (dir >= 0)
        open_streams(log, &c->arena, dir);
    return true;
}

static void begin_reading(struct transcript *t, const struct serve_call *c, const struct log *log)
{
    autofree char *dir = run_path(c->serve->opts.state_dir, c->run);
    transcript_init(t, transcript_dialect(strcmp(log->stream, "out") == 0 ? c->task.engine : NULL));
    transcript_mask(t, dir);
}

/* Appends up to n bytes from there. */
static int read_at(int fd, int64_t at, size_t n, struct buf *out, struct err *err)
{
    buf_reserve(out, n + 1);
    while (n) {
        ssize_t got = pread(fd, out->s + out->len, n, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, "read the log");
        if (!got)
            break;
        out->len += (size_t)got;
        at += got;
        n -= (size_t)got;
    }
    out->s[out->len] = '\0';
    return 0;
}

/* --- windows ------------------------------------------------------------------------------ */

/* A line of the log, and what is shown of it. */
struct line {
    int64_t from, to;
    size_t shown; /* where its part of the text begins */
    size_t count; /* lines that are shown */
};

struct window {
    int64_t from, to;
    struct buf bytes, text;
    VEC(struct line) lines;
};

static void window_done(struct window *w)
{
    buf_done(&w->bytes);
    buf_done(&w->text);
    vec_done(&w->lines);
}

static size_t count_lines(const char *s, size_t len)
{
    size_t n = 0;
    for (const char *end = s + len; (s = memchr(s, '\n', (size_t)(end - s))); s++)
        n++;
    return n;
}

static void add_line(struct window *w, struct transcript *t, size_t from, size_t len, size_t end)
{
    struct line line = {w->from + (int64_t)from, w->from + (int64_t)end, w->text.len, 0};
    transcript_line(t, w->bytes.s + from, len, &w->text);
    line.count = count_lines(w->text.s + line.shown, w->text.len - line.shown);
    vec_push(&w->lines, line);
}

/* What is to be done with a line that has no end in the window. */
enum rest {
    REST_LATER, /* more of it may come */
    REST_LONG,  /* it is shown where there is no other: it is longer than the window */
    REST_LAST,  /* it is one */
};

static void cut_lines(struct window *w, struct transcript *t, enum rest rest)
{
    size_t at = 0;
    while (at < w->bytes.len) {
        const char *lf = memchr(w->bytes.s + at, '\n', w->bytes.len - at);
        size_t end = lf ? (size_t)(lf - w->bytes.s) : w->bytes.len;
        if (!lf && (rest == REST_LATER || (rest == REST_LONG && at)))
            break;
        add_line(w, t, at, end - at, end + (lf != NULL));
        at = end + (lf != NULL);
    }
    w->to = w->from + (int64_t)at;
}

/* Where the window begins in the middle of a line, that is left out, unless there is no other. */
static void skip_part(struct window *w, int fd)
{
    char before = '\n';
    if (w->from && pread(fd, &before, 1, w->from - 1) == 1 && before != '\n') {
        const char *lf = memchr(w->bytes.s, '\n', w->bytes.len);
        size_t skip = lf ? (size_t)(lf - w->bytes.s) + 1 : 0;
        memmove(w->bytes.s, w->bytes.s + skip, w->bytes.len - skip);
        buf_cut(&w->bytes, w->bytes.len - skip);
        w->from += (int64_t)skip;
    }
}

static void add_shown(struct arena *a, struct node *list, const char *s, size_t len)
{
    size_t cut = len > SHOWN_MAX ? text_valid(s, SHOWN_MAX) : len;
    if (cut == len)
        node_append(list, node_string(a, s, len, (struct pos){0}));
    else
        node_add_string(a, list,
                        arena_printf(a, "%.*s ... (%zu bytes more)", (int)cut, s, len - cut));
}

/* What is shown of the lines from `first` to before `end`. */
static struct node *encode_lines(struct arena *a, const struct window *w, size_t first, size_t end)
{
    struct node *list = node_new_list(a);
    for (size_t i = first; i < end; i++) {
        const char *s = w->text.s + w->lines.v[i].shown;
        for (size_t n = w->lines.v[i].count; n; n--) {
            const char *lf = strchr(s, '\n');
            add_shown(a, list, s, (size_t)(lf - s));
            s = lf + 1;
        }
    }
    return list;
}

/* As many as may be shown: the last ones where the window was asked for by its end. */
static void limit(struct window *w, bool backwards, size_t *ret_first, size_t *ret_end)
{
    size_t n = 0, first = 0, end = w->lines.n;
    if (backwards) {
        for (first = end; first && n + w->lines.v[first - 1].count <= LINES_MAX; first--)
            n += w->lines.v[first - 1].count;
        first -= first == end && end;
        w->from = end ? w->lines.v[first].from : w->from;
    } else {
        for (end = 0; end < w->lines.n && n + w->lines.v[end].count <= LINES_MAX; end++)
            n += w->lines.v[end].count;
        end += !end && w->lines.n;
        w->to = end ? w->lines.v[end - 1].to : w->to;
    }
    *ret_first = first;
    *ret_end = end;
}

static bool is_growing(const struct serve_call *c, const struct log *log)
{
    static const char *const over[] = {"landed", "done", "failed", "conflicted", "skipped"};
    for (size_t i = 0; i < ARRAY_LEN(over); i++) {
        if (strcmp(c->task.state, over[i]) == 0)
            return false;
    }
    return log->attempt == c->task.attempts && strcmp(c->row.state, "running") == 0;
}

struct wish {
    int64_t from, until, bytes;
    bool backwards;
};

/* "from" goes forwards from a byte, "until" backwards from one; without both it is the end. */
static bool read_wish(const struct serve_call *c, int64_t size, struct wish *w)
{
    bool from = http_query(c->head, "from"), until = http_query(c->head, "until");
    *w = (struct wish){.backwards = !from};
    if (!http_query_int(c->head, "from", 0, &w->from) ||
        !http_query_int(c->head, "until", size, &w->until) ||
        !http_query_int(c->head, "bytes", WINDOW, &w->bytes) || (from && until) || !w->bytes ||
        w->bytes > WINDOW_MAX)
        return false;
    w->until = w->until < size ? w->until : size;
    if (from)
        w->until = w->from + w->bytes < size ? w->from + w->bytes : size;
    else
        w->from = w->until > w->bytes ? w->until - w->bytes : 0;
    return true;
}

static int read_window(const struct log *log, const struct wish *wish, struct window *w,
                       struct err *err)
{
    w->from = wish->from < wish->until ? wish->from : wish->until;
    if (log->fd < 0 || w->from >= wish->until)
        return 0;
    if (read_at(log->fd, w->from, (size_t)(wish->until - w->from), &w->bytes, err))
        return -1;
    skip_part(w, log->fd);
    return 0;
}

void serve_log(struct serve_call *c)
{
    autolog struct log log;
    own_cleanup(window_done) struct window w = {.bytes = BUF_INIT, .text = BUF_INIT};
    struct transcript text;
    struct wish wish;
    struct err err = {0};
    size_t first, end;
    if (!find_log(c, &log))
        return;
    if (!read_wish(c, log.size, &wish)) {
        serve_answer_error(c->http, 400, "from or until, and bytes up to 262144");
        return;
    }
    if (read_window(&log, &wish, &w, &err)) {
        serve_answer_error(c->http, 500, err.msg);
        return;
    }
    bool growing = is_growing(c, &log), at_end = wish.until >= log.size;
    enum rest rest = at_end && growing          ? REST_LATER
                     : at_end || wish.backwards ? REST_LAST
                                                : REST_LONG;
    begin_reading(&text, c, &log);
    cut_lines(&w, &text, rest);
    transcript_done(&text);
    limit(&w, wish.backwards, &first, &end);
    struct node *root = node_new_map(&c->arena);
    node_put_int(&c->arena, root, "attempt", log.attempt);
    node_put_int(&c->arena, root, "attempts", c->task.attempts);
    node_put_value(&c->arena, root, "streams", log.names);
    node_put_int(&c->arena, root, "size", log.size);
    node_put_int(&c->arena, root, "from", w.from);
    node_put_int(&c->arena, root, "to", w.to);
    node_put_bool(&c->arena, root, "growing", growing);
    node_put_value(&c->arena, root, "lines", encode_lines(&c->arena, &w, first, end));
    serve_answer_node(c->http, root);
}

/* --- searching ---------------------------------------------------------------------------- */

struct search {
    const char *wanted;
    struct serve_call *call;
    struct node *matches;
    size_t n;
    struct transcript text;
    struct buf shown;
};

/* Line by line of what is shown; ASCII letters in either case. */
static void lookup_into(struct search *s, int64_t at, const char *line, size_t len)
{
    struct arena *a = &s->call->arena;
    buf_cut(&s->shown, 0);
    transcript_line(&s->text, line, len, &s->shown);
    for (char *next = s->shown.s, *one; s->n < MATCHES_MAX && (one = strsep(&next, "\n"));) {
        const char *found = strcasestr(one, s->wanted);
        if (!found)
            continue;
        struct node *map = node_add_map(a, s->matches);
        struct node *texts = node_new_list(a);
        add_shown(a, texts, one, strlen(one));
        node_put_int(a, map, "at", at);
        node_put_string(a, map, "line", texts->first->text);
        s->n++;
    }
}

/* Goes through a piece; returns how much of it is done: whole lines, or all where it has no end. */
static size_t lookup_through(struct search *s, int64_t at, const struct buf *piece, bool last)
{
    size_t done = 0;
    while (done < piece->len && s->n < MATCHES_MAX) {
        const char *lf = memchr(piece->s + done, '\n', piece->len - done);
        size_t end = lf ? (size_t)(lf - piece->s) : piece->len;
        if (!lf && !last && done)
            break;
        lookup_into(s, at + (int64_t)done, piece->s + done, end - done);
        done = end + (lf != NULL);
    }
    return done;
}

/* *ret_at is how far it came. */
static int search_from(struct search *s, const struct log *log, int64_t from, int64_t *ret_at,
                       struct err *err)
{
    int64_t deadline = clock_mono() + SEARCH_MS;
    while (log->fd >= 0 && from < log->size && s->n < MATCHES_MAX && clock_mono() < deadline) {
        autobuf struct buf piece = BUF_INIT;
        if (read_at(log->fd, from, LINE_MAX_, &piece, err))
            return -1;
        if (!piece.len)
            break;
        from += (int64_t)lookup_through(s, from, &piece, from + (int64_t)piece.len >= log->size);
    }
    *ret_at = from;
    return 0;
}

void serve_search(struct serve_call *c)
{
    autolog struct log log;
    struct err err = {0};
    int64_t from, at;
    struct search s = {.wanted = http_query(c->head, "q"), .call = c, .shown = BUF_INIT};
    if (!find_log(c, &log))
        return;
    if (!s.wanted || !*s.wanted || !http_query_int(c->head, "from", 0, &from)) {
        serve_answer_error(c->http, 400, "q is what to look for, from a byte");
        return;
    }
    s.matches = node_new_list(&c->arena);
    begin_reading(&s.text, c, &log);
    int rc = search_from(&s, &log, from, &at, &err);
    struct node *root = node_new_map(&c->arena);
    if (rc) {
        serve_answer_error(c->http, 500, err.msg);
    } else {
        node_put_value(&c->arena, root, "matches", s.matches);
        node_put_int(&c->arena, root, "size", log.size);
        node_put_int(&c->arena, root, "at", at);
        node_put_bool(&c->arena, root, "more", at < log.size && log.fd >= 0);
        serve_answer_node(c->http, root);
    }
    transcript_done(&s.text);
    buf_done(&s.shown);
}
