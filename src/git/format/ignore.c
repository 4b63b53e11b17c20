#include "git/format/ignore.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/str.h"

#include <string.h>

enum { PATTERN_MAX = 4096 }; /* the limit of base/text/glob.h */

void ignore_cut(struct ignore *x, size_t n)
{
    while (x->patterns.n > n) {
        struct ignore_pattern *p = &x->patterns.v[--x->patterns.n];
        glob_free(p->glob);
        free(p->literal);
    }
}

void ignore_done(struct ignore *x)
{
    ignore_cut(x, 0);
    vec_done(&x->patterns);
}

size_t ignore_count(const struct ignore *x)
{
    return x->patterns.n;
}

/* Removes spaces at the end, except after a backslash. */
static void trim_spaces(struct buf *line)
{
    size_t keep = 0;
    for (size_t i = 0; i < line->len; i++) {
        if (line->s[i] == '\\' && i + 1 < line->len)
            i++;
        else if (line->s[i] == ' ')
            continue;
        keep = i + 1;
    }
    buf_cut(line, keep);
}

/* Parses and removes the marks at both ends of a pattern; NULL if the line is a comment or
 * empty. */
static const char *parse_marks(struct ignore_pattern *p, struct buf *line)
{
    const char *s = line->s;
    if (*s == '#')
        return NULL;
    p->un_ignore = *s == '!';
    s += p->un_ignore;
    p->folders = *s && line->s[line->len - 1] == '/';
    if (p->folders)
        buf_cut(line, line->len - 1);
    p->anywhere = !strchr(s, '/');
    s += *s == '/';
    return *s ? s : NULL;
}

/* Skips a pattern that can match nothing. */
static bool add_line(struct ignore *x, size_t base, const char *s, size_t len)
{
    autobuf struct buf line = BUF_INIT;
    struct ignore_pattern p = {.base = base};
    buf_add(&line, s, len);
    trim_spaces(&line);
    const char *pattern = parse_marks(&p, &line);
    if (!pattern)
        return true;
    if (strlen(pattern) > PATTERN_MAX)
        return false;
    if (pattern[strcspn(pattern, "*?[\\")])
        p.glob = glob_new(pattern, false);
    else
        p.literal = mem_str(pattern);
    if (p.glob || p.literal)
        vec_push(&x->patterns, p);
    return true;
}

bool ignore_add(struct ignore *x, size_t base, const char *text, size_t len)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark: some editors write it first */
    const char *end = text + len;
    if (len >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0)
        text += strlen(mark);
    while (text < end) {
        const char *lf = memchr(text, '\n', (size_t)(end - text)), *stop = lf ? lf : end;
        size_t n = (size_t)(stop - text);
        if (memchr(text, '\0', n))
            return false;
        if (!add_line(x, base, text, n && lf && text[n - 1] == '\r' ? n - 1 : n))
            return false;
        text = lf ? lf + 1 : end;
    }
    return true;
}

static bool matches_path(const struct ignore_pattern *p, const char *path, bool is_folder)
{
    const char *subject = p->anywhere ? str_last_part(path) : path + p->base;
    if (p->folders && !is_folder)
        return false;
    return p->glob ? glob_match(p->glob, subject) : strcmp(p->literal, subject) == 0;
}

bool ignore_has(const struct ignore *x, const char *path, bool is_folder)
{
    for (size_t i = x->patterns.n; i-- > 0;) {
        if (matches_path(&x->patterns.v[i], path, is_folder))
            return !x->patterns.v[i].un_ignore;
    }
    return false;
}
