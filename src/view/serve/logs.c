/*
 * Logs of any size, read in windows. One request reads a bounded part of a log. A search stops
 * after SEARCH_MS and reports how far it came.
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
    LINES_MAX = 1000,    /* shown per window */
    SHOWN_MAX = 4 << 10, /* bytes shown per line */
    LINE_MAX_ = 1 << 20, /* bytes searched per line */
    SEARCH_MS = 40,
    MATCHES_MAX = 100,
};

static const char *const streams[] = {"out",        "err",        "setup.out",
                                      "setup.err",  "hook.out",   "hook.err",
                                      "verify.out", "verify.err", NULL};

/* A log of an attempt, and the names of the attempt's other logs. */
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

/* Below `dir` we follow no symlinks: we show only regular files of the task's folder. */
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

/* On false the request was invalid and has been answered. A missing log is empty. */
static bool find_log(struct serve_call *c, struct log *log)
{
    const char *stream = http_query(c->head, "stream");
    *log = (struct log){.fd = -1, .stream = stream ? stream : "out"};
    log->names = node_new_list(&c->arena);
    if (!is_stream(log->stream) ||
        !http_query_int(c->head, "attempt", c->task.attempts, &log->attempt) ||
        log->attempt > c->task.attempts) {
        serve_answer_error(c->http, 404, "no such log");
        return false;
    }
    autoclose int dir = log->attempt ? open_attempt(c, log->attempt) : -1;
    if (dir >= 0)
        open_streams(log, &c->arena, dir);
    return true;
}

static void init_transcript(struct transcript *t, const struct serve_call *c, const struct log *log)
{
    autofree char *dir = run_path(c->serve->opts.state_dir, c->run);
    transcript_init(t, transcript_dialect(strcmp(log->stream, "out") == 0 ? c->task.engine : NULL));
    transcript_mask(t, dir);
}

int serve_read_at(int fd, int64_t at, size_t n, struct buf *out, struct err *err)
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

/* A line of the log, and its readable form in the window's text. */
struct line {
    int64_t from, to;
    size_t shown; /* its offset in the window's text */
    size_t count; /* number of readable lines */
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

/* The treatment of a last line without a line end in the window. */
enum tail_rule {
    TAIL_LATER,    /* leave it out: more of it may come */
    TAIL_IF_ALONE, /* longer than the window: show it if it is the only line */
    TAIL_LINE,     /* the log ends here: it is a complete line */
};

static void cut_lines(struct window *w, struct transcript *t, enum tail_rule rule)
{
    size_t at = 0;
    while (at < w->bytes.len) {
        const char *lf = memchr(w->bytes.s + at, '\n', w->bytes.len - at);
        size_t end = lf ? (size_t)(lf - w->bytes.s) : w->bytes.len;
        if (!lf && (rule == TAIL_LATER || (rule == TAIL_IF_ALONE && at)))
            break;
        add_line(w, t, at, end - at, end + (lf != NULL));
        at = end + (lf != NULL);
    }
    w->to = w->from + (int64_t)at;
}

/* If the window begins inside a line, drops the rest of that line, unless it fills the whole
 * window. */
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

/* The readable lines of lines[first..end). */
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

/* Limits a window to LINES_MAX readable lines. A window that was requested by its end keeps its
 * last lines. */
static void limit_lines(struct window *w, bool backwards, size_t *ret_first, size_t *ret_end)
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

struct log_range {
    int64_t from, until, bytes;
    bool backwards;
};

/* "from" reads forward from an offset, "until" backward from one; without both we read the end. */
static bool parse_range(const struct serve_call *c, int64_t size, struct log_range *w)
{
    bool from = http_query(c->head, "from"), until = http_query(c->head, "until");
    *w = (struct log_range){.backwards = !from};
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

static int read_window(const struct log *log, const struct log_range *range, struct window *w,
                       struct err *err)
{
    w->from = range->from < range->until ? range->from : range->until;
    if (log->fd < 0 || w->from >= range->until)
        return 0;
    if (serve_read_at(log->fd, w->from, (size_t)(range->until - w->from), &w->bytes, err))
        return -1;
    skip_part(w, log->fd);
    return 0;
}

void serve_log(struct serve_call *c)
{
    autolog struct log log;
    own_cleanup(window_done) struct window w = {.bytes = BUF_INIT, .text = BUF_INIT};
    struct transcript text;
    struct log_range range;
    struct err err = {0};
    size_t first, end;
    if (!find_log(c, &log))
        return;
    if (!parse_range(c, log.size, &range)) {
        serve_answer_error(c->http, 400, "give from or until, and bytes up to 262144");
        return;
    }
    if (read_window(&log, &range, &w, &err)) {
        serve_answer_error(c->http, 500, err.msg);
        return;
    }
    bool growing = is_growing(c, &log), at_end = range.until >= log.size;
    enum tail_rule rule = at_end && growing           ? TAIL_LATER
                          : at_end || range.backwards ? TAIL_LINE
                                                      : TAIL_IF_ALONE;
    init_transcript(&text, c, &log);
    cut_lines(&w, &text, rule);
    transcript_done(&text);
    limit_lines(&w, range.backwards, &first, &end);
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

struct search {
    const char *wanted;
    struct serve_call *call;
    struct node *matches;
    size_t n;
    struct transcript text;
    struct buf shown;
};

/* Searches the readable lines of one line of the log; ignores the case of ASCII letters. */
static void search_line(struct search *s, int64_t at, const char *line, size_t len)
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

/* Searches a piece of the log. Returns the number of bytes searched: whole lines, or the whole
 * piece if it contains no line end. */
static size_t search_piece(struct search *s, int64_t at, const struct buf *piece, bool last)
{
    size_t done = 0;
    while (done < piece->len && s->n < MATCHES_MAX) {
        const char *lf = memchr(piece->s + done, '\n', piece->len - done);
        size_t end = lf ? (size_t)(lf - piece->s) : piece->len;
        if (!lf && !last && done)
            break;
        search_line(s, at + (int64_t)done, piece->s + done, end - done);
        done = end + (lf != NULL);
    }
    return done;
}

/* *ret_at: how far the search came. */
static int search_from(struct search *s, const struct log *log, int64_t from, int64_t *ret_at,
                       struct err *err)
{
    int64_t deadline = clock_mono() + SEARCH_MS;
    while (log->fd >= 0 && from < log->size && s->n < MATCHES_MAX && clock_mono() < deadline) {
        autobuf struct buf piece = BUF_INIT;
        if (serve_read_at(log->fd, from, LINE_MAX_, &piece, err))
            return -1;
        if (!piece.len)
            break;
        from += (int64_t)search_piece(s, from, &piece, from + (int64_t)piece.len >= log->size);
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
        serve_answer_error(c->http, 400,
                           "give the text to find in q, and the offset to start at in from");
        return;
    }
    s.matches = node_new_list(&c->arena);
    init_transcript(&s.text, c, &log);
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
