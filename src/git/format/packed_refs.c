#include "git/format/packed_refs.h"

#include <stdbool.h>
#include <string.h>

void packed_refs_done(struct packed_refs *p)
{
    buf_done(&p->text);
    vec_done(&p->refs);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct packed_ref *)a)->name, ((const struct packed_ref *)b)->name);
}

/* Names contain no spaces; values may. */
static bool parse_line(char *line, struct packed_ref *ret)
{
    char *blank = strrchr(line, ' ');
    if (*line == '#' || *line == '^' || !blank)
        return false;
    *blank = '\0';
    *ret = (struct packed_ref){.name = blank + 1, .value = line};
    return true;
}

void packed_refs_parse(struct packed_refs *p, struct buf *text)
{
    bool sorted = true;
    packed_refs_done(p);
    p->text = *text;
    *text = (struct buf)BUF_INIT;
    for (char *next = p->text.s, *line; (line = strsep(&next, "\n"));) {
        struct packed_ref ref;
        if (!parse_line(line, &ref))
            continue;
        sorted = sorted && (!p->refs.n || by_name(&p->refs.v[p->refs.n - 1], &ref) < 0);
        vec_push(&p->refs, ref);
    }
    if (!sorted) /* written by an old git */
        qsort(p->refs.v, p->refs.n, sizeof(*p->refs.v), by_name);
}

const char *packed_refs_get(const struct packed_refs *p, const char *name)
{
    struct packed_ref key = {.name = name};
    const struct packed_ref *ref =
        p->refs.n ? bsearch(&key, p->refs.v, p->refs.n, sizeof(*p->refs.v), by_name) : NULL;
    return ref ? ref->value : NULL;
}

void packed_refs_compare(const struct packed_refs *before, const struct packed_refs *now,
                         packed_refs_fn *fn, void *ctx)
{
    for (size_t i = 0, k = 0; i < before->refs.n || k < now->refs.n;) {
        const struct packed_ref *was = i < before->refs.n ? &before->refs.v[i] : NULL;
        const struct packed_ref *is = k < now->refs.n ? &now->refs.v[k] : NULL;
        int order = !was ? 1 : !is ? -1 : by_name(was, is);
        i += order <= 0;
        k += order >= 0;
        if (was && order < 0)
            fn(ctx, was->name, was->value, NULL);
        else if (is && order > 0)
            fn(ctx, is->name, NULL, is->value);
        else if (was && is && strcmp(was->value, is->value) != 0)
            fn(ctx, is->name, was->value, is->value);
    }
}
