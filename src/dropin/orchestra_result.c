#include "dropin/orchestra_view.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "doc/doc.h"
#include "git/state_paths.h"
#include "plan/cause.h"
#include "project/secrets.h"
#include "sys/fs/file.h"

#include <string.h>

enum { RESULT_MAX = 1 << 20, SHOWN_MAX = 2000, TAIL_MAX = 16 << 10, TAIL_LINES = 20 };

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The last non-blank line of s, trimmed. */
static const char *get_last_line(const char *s, size_t len, size_t *ret_len)
{
    while (len && is_blank(s[len - 1]))
        len--;
    size_t start = len;
    while (start && s[start - 1] != '\n')
        start--;
    while (start < len && is_blank(s[start]))
        start++;
    *ret_len = len - start;
    return s + start;
}

/* The text of a scalar, harmless and cut to a printable length. */
static char *get_printable_string(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);
    autobuf struct buf out = BUF_INIT;
    if (!n || n->kind == NODE_NULL || n->kind >= NODE_LIST)
        return NULL;
    text_harmless(&out, n->text, n->len);
    buf_cut(&out, text_fit(out.s, out.len, SHOWN_MAX));
    return out.len ? buf_steal(&out) : NULL;
}

static int64_t parse_count(const struct node *n)
{
    int64_t i = -1;
    if (n && n->kind == NODE_INT)
        i = n->integer;
    else if (n && n->kind == NODE_REAL && n->real >= 0 && n->real < 1e9)
        i = (int64_t)n->real;
    else if (n && n->kind == NODE_STRING)
        i = text_parse_count(n->text, n->len);
    return i < 0 ? -1 : i;
}

static char *get_base_name(char *path)
{
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash)
        memmove(path, slash + 1, strlen(slash + 1) + 1);
    return path;
}

static void parse_result(struct orchestra_result *r, const char *s, size_t len, bool wrapped)
{
    autoarena struct arena a = {0};
    const struct node *map = len ? doc_read_line(&a, s, len) : NULL;
    const struct node *text = map && !wrapped ? node_get(map, "result") : NULL;
    if (text && text->kind == NODE_STRING) { /* the engine's result: the agent's text is inside */
        const char *line = get_last_line(text->text, text->len, &len);
        parse_result(r, line, len, true);
    } else if (map) {
        r->status = get_printable_string(map, "status");
        r->report = get_base_name(get_printable_string(map, "report"));
        r->reason = get_printable_string(map, "reason");
        r->cycles = parse_count(node_get(map, "cycles"));
        r->failed = r->status && strcmp(r->status, "FAILED") == 0;
    }
}

static void mask_secrets(const struct orchestra *o, const char *s, size_t len, struct buf *out)
{
    struct secrets secrets = {0};
    secrets_collect(&secrets, &o->pf->plan);
    secrets_mask_cut(&secrets, s, len, (struct secrets_cut){.front = true}, out);
    secrets_done(&secrets);
}

void orchestra_result_read(const struct orchestra *o, const char *path, struct orchestra_result *r)
{
    autobuf struct buf end = BUF_INIT, masked = BUF_INIT;
    bool cut;
    size_t len;
    *r = (struct orchestra_result){.cycles = -1};
    (void)file_read_end(path, RESULT_MAX, &end, &cut, NULL); /* a longer result is ignored */
    const char *line = get_last_line(end.s, end.len, &len);
    mask_secrets(o, line, len, &masked);
    parse_result(r, masked.s, masked.len, false);
}

/* Classifies by the phrases that the other tool uses; false if the text contains none. */
static bool classify_text(const char *text, enum failure *ret)
{
    static const struct {
        const char *words;
        enum failure failure;
    } known[] = {
        {"\bpermission denied\b", FAILURE_AUTH},
        {"authentication failed", FAILURE_AUTH},
        {"authentication error", FAILURE_AUTH},
        {"invalid api key", FAILURE_AUTH},
        {"credit balance too low", FAILURE_AUTH},
        {"credit balance exceeded", FAILURE_AUTH},
        {"rate limit", FAILURE_LIMIT},
        {"quota exceeded", FAILURE_LIMIT},
        {"quota exhausted", FAILURE_LIMIT},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (cause_mentions(text, known[i].words)) {
            *ret = known[i].failure;
            return true;
        }
    }
    return false;
}

/* Classifies the whole file of an attempt, or its last line. */
static bool classify_file(const char *dir, const char *name, bool last, enum failure *ret)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    autobuf struct buf text = BUF_INIT, line = BUF_INIT;
    bool cut;
    size_t len;
    (void)file_read_end(path, RESULT_MAX, &text, &cut, NULL);
    const char *words = get_last_line(text.s, text.len, &len);
    buf_add(&line, words, len);
    return classify_text(last ? line.s : text.s, ret);
}

static bool is_retried(enum failure failure)
{
    return failure == FAILURE_TRANSIENT || failure == FAILURE_OVERLOADED ||
           failure == FAILURE_LIMIT;
}

enum failure orchestra_blame(void *ctx, uint32_t task, const char *dir, int exit_code,
                             enum failure failure)
{
    enum { USAGE = 2, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };
    (void)ctx;
    (void)task;
    if (!is_retried(failure))
        return failure;
    if (exit_code == USAGE || exit_code == NOT_EXECUTABLE || exit_code == NOT_FOUND)
        return FAILURE_SETUP;
    if (!classify_file(dir, "err", false, &failure) && failure == FAILURE_TRANSIENT)
        (void)classify_file(dir, "out", true, &failure);
    return failure;
}

void orchestra_result_done(struct orchestra_result *r)
{
    free(r->status);
    free(r->report);
    free(r->reason);
    *r = (struct orchestra_result){.cycles = -1};
}

void orchestra_tail(const struct orchestra *o, uint32_t task, struct buf *out)
{
    autofree char *path = attempt_file_path(run_dir(o->run), o->pf->plan.tasks[task].id,
                                            run_task(o->run, task).attempts, "out");
    autobuf struct buf end = BUF_INIT, masked = BUF_INIT;
    bool cut;
    (void)file_read_end(path, TAIL_MAX, &end, &cut, NULL);
    mask_secrets(o, end.s, end.len, &masked);
    const char *lines[TAIL_LINES];
    size_t lens[TAIL_LINES], n = 0, left = masked.len;
    while (n < TAIL_LINES) {
        const char *line = get_last_line(masked.s, left, &lens[n]);
        if (!lens[n])
            break;
        lines[n++] = line;
        left = (size_t)(line - masked.s);
    }
    if (n)
        buf_addf(out, "  Last %zu lines before timeout:\n", n);
    while (n-- > 0) {
        buf_addstr(out, "  > ");
        text_harmless(out, lines[n], lens[n]);
        buf_addch(out, '\n');
    }
}
