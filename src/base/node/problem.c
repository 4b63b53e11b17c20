#include "base/node/problem.h"

#include "base/text/text.h"

#include <stdlib.h>
#include <string.h>

void problems_init(struct problems *ps, const char *file)
{
    *ps = (struct problems){0};
    ps->file = arena_str(&ps->arena, file);
}

void problems_done(struct problems *ps)
{
    vec_done(&ps->list);
    arena_done(&ps->arena);
}

__attribute__((format(printf, 2, 0))) static const char *
format_harmless(struct problems *ps, const char *fmt, va_list ap)
{
    autobuf struct buf raw = BUF_INIT, safe = BUF_INIT;
    buf_addv(&raw, fmt, ap);
    /* "%.80s" may cut a character in the middle: we drop the incomplete bytes. */
    for (size_t at = 0, n; at < raw.len; at += n ? n : 1) {
        n = text_valid(raw.s + at, raw.len - at);
        text_harmless(&safe, raw.s + at, n);
    }
    return arena_dup(&ps->arena, safe.s, safe.len);
}

static int add_problem(struct problems *ps, enum severity severity, enum rule rule, struct pos pos,
                       const struct node *node, const char *message)
{
    autobuf struct buf path = BUF_INIT;
    node_path(node, &path);
    vec_push(&ps->list, (struct problem){
                            .severity = severity,
                            .rule = rule,
                            .pos = pos,
                            .path = arena_dup(&ps->arena, path.s, path.len),
                            .message = message,
                            .seq = ps->list.n,
                        });
    *(severity == PROBLEM_ERROR ? &ps->errors : &ps->warnings) += 1;
    return -1;
}

#define add_formatted(severity, rule, pos, node)                                                   \
    do {                                                                                           \
        va_list ap;                                                                                \
        va_start(ap, fmt);                                                                         \
        const char *message = format_harmless(ps, fmt, ap);                                        \
        va_end(ap);                                                                                \
        return add_problem(ps, severity, rule, pos, node, message);                                \
    } while (0)

int problem_error(struct problems *ps, enum rule rule, const struct node *node, const char *fmt,
                  ...)
{
    add_formatted(PROBLEM_ERROR, rule, node->pos, node);
}

int problem_warn(struct problems *ps, enum rule rule, const struct node *node, const char *fmt, ...)
{
    add_formatted(PROBLEM_WARNING, rule, node->pos, node);
}

int problem_error_key(struct problems *ps, enum rule rule, const struct node *node, const char *fmt,
                      ...)
{
    add_formatted(PROBLEM_ERROR, rule, node->key ? node->key_pos : node->pos, node);
}

int problem_warn_key(struct problems *ps, enum rule rule, const struct node *node, const char *fmt,
                     ...)
{
    add_formatted(PROBLEM_WARNING, rule, node->key ? node->key_pos : node->pos, node);
}

int problem_error_at(struct problems *ps, enum rule rule, struct pos pos, const char *fmt, ...)
{
    add_formatted(PROBLEM_ERROR, rule, pos, NULL);
}

int problem_hint(struct problems *ps, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (ps->list.n)
        ps->list.v[ps->list.n - 1].hint = format_harmless(ps, fmt, ap);
    va_end(ap);
    return -1;
}

static int compare_positions(const void *pa, const void *pb)
{
    const struct problem *a = pa, *b = pb;
    if (a->pos.line != b->pos.line)
        return a->pos.line < b->pos.line ? -1 : 1;
    if (a->pos.col != b->pos.col)
        return a->pos.col < b->pos.col ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static bool is_same(const struct problem *a, const struct problem *b)
{
    return a->severity == b->severity && a->pos.line == b->pos.line && a->pos.col == b->pos.col &&
           strcmp(a->path, b->path) == 0 && strcmp(a->message, b->message) == 0;
}

void problems_sort(struct problems *ps)
{
    size_t kept = 0;
    if (ps->list.n)
        qsort(ps->list.v, ps->list.n, sizeof(*ps->list.v), compare_positions);
    for (size_t i = 0; i < ps->list.n; i++) {
        const struct problem p = ps->list.v[i];
        if (kept == 0 || !is_same(&p, &ps->list.v[kept - 1]))
            ps->list.v[kept++] = p;
        else
            *(p.severity == PROBLEM_ERROR ? &ps->errors : &ps->warnings) -= 1;
    }
    ps->list.n = kept;
}

const char *rule_name(enum rule rule)
{
    static const char *const names[RULE_COUNT_] = {
        [RULE_TYPE] = "type",
        [RULE_REQUIRED] = "required",
        [RULE_UNKNOWN] = "unknown-key",
        [RULE_VALUE] = "value",
        [RULE_SYNTAX] = "syntax",
        [RULE_FILE] = "file",
        [RULE_COMBINATION] = "combination",
        [RULE_DUPLICATE] = "duplicate",
        [RULE_DEPENDENCY] = "dependency",
        [RULE_GROUP] = "group",
        [RULE_ENV] = "env",
        [RULE_WEBHOOK] = "webhook",
        [RULE_CLAIM] = "claim",
        [RULE_OVERLAP] = "overlap",
    };
    return names[rule];
}

void problem_format(const struct problems *ps, const struct problem *p, struct buf *out)
{
    text_add_harmless(out, ps->file);
    if (p->pos.line)
        buf_addf(out, ":%u:%u", p->pos.line, p->pos.col);
    buf_addstr(out, ": ");
    if (p->severity == PROBLEM_WARNING)
        buf_addstr(out, "warning: ");
    if (*p->path)
        buf_addf(out, "%s: ", p->path);
    buf_addf(out, "%s\n", p->message);
    if (p->hint)
        buf_addf(out, "    hint: %s\n", p->hint);
}
