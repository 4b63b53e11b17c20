#include "fuzz.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void fuzz_fail(const char *file, int line, const char *condition)
{
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

char *fuzz_line(struct fuzz_input *in)
{
    const uint8_t *lf = in->size ? memchr(in->data, '\n', in->size) : NULL;
    size_t len = lf ? (size_t)(lf - in->data) : in->size;
    char *line = mem_dup(in->data, len);
    for (size_t i = 0; i < len; i++) {
        if (!line[i])
            line[i] = '.';
    }
    in->data += len + (lf != NULL);
    in->size -= len + (lf != NULL);
    return line;
}

bool fuzz_is_path(const char *s)
{
    for (size_t len; len = strcspn(s, "/"), true; s += len + 1) {
        if (!len || (len <= 2 && strncmp(s, "..", len) == 0))
            return false;
        if (!s[len])
            return true;
    }
}

char *fuzz_path_like(const char *pattern, unsigned variant)
{
    static const char *const stars[FUZZ_VARIANTS] = {"", "a", "a/b", "/a"};
    struct buf path = BUF_INIT;
    for (const char *p = pattern; *p; p++) {
        const char *close = *p == '[' && p[1] ? strchr(p + 2, ']') : NULL;
        if (*p == '*')
            buf_addstr(&path, stars[variant]);
        else if (*p == '?')
            buf_addch(&path, 'a');
        else if (close)
            buf_addch(&path, p[1 + variant % 2]), p = close;
        else if (*p != '\\')
            buf_addch(&path, *p);
    }
    return buf_steal(&path);
}

bool fuzz_is_harmless(const char *s, size_t len)
{
    for (size_t at = 0, n; at < len; at += n) {
        uint32_t c;
        n = text_decode(s + at, len - at, &c);
        if (!n || c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e))
            return false;
    }
    return true;
}

void fuzz_check_problems(const struct problems *ps)
{
    size_t errors = 0;
    for (size_t i = 0; i < ps->list.n; i++) {
        const struct problem *p = &ps->list.v[i];
        autobuf struct buf line = BUF_INIT;
        problem_format(ps, p, &line);
        fuzz_check(*p->message && fuzz_is_harmless(p->message, strlen(p->message)));
        fuzz_check(fuzz_is_harmless(p->path, strlen(p->path)));
        fuzz_check(!p->hint || fuzz_is_harmless(p->hint, strlen(p->hint)));
        fuzz_check(text_valid(line.s, line.len) == line.len);
        errors += p->severity == PROBLEM_ERROR;
    }
    fuzz_check(errors == ps->errors && ps->list.n - errors == ps->warnings);
}

/* The length in characters of each line of the text, the first being line 1. */
struct lines {
    VEC(uint32_t) chars;
};

static void lines_init(struct lines *l, const char *text, size_t len)
{
    vec_push(&l->chars, 0);
    vec_push(&l->chars, 0);
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n')
            vec_push(&l->chars, 0);
        else
            l->chars.v[l->chars.n - 1] += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
}

/* The place behind the last character counts, and so does the line behind the last one: something
 * may be missing there. */
static bool lines_have(const struct lines *l, struct pos pos)
{
    uint32_t chars = pos.line < l->chars.n ? l->chars.v[pos.line] : 0;
    return pos.line >= 1 && pos.line <= l->chars.n && pos.col >= 1 && pos.col <= chars + 1;
}

static void check_members(const struct node *parent)
{
    automap struct map keys = {0};
    size_t n = 0;
    node_each (child, parent) {
        fuzz_check(child->parent == parent && child->index == n++);
        fuzz_check(!child->next == (child == parent->last));
        fuzz_check((parent->kind == NODE_MAP) == (child->key != NULL));
        if (!child->key)
            continue;
        fuzz_check(child->key[child->key_len] == '\0' && child->name == child->key);
        fuzz_check(!map_put(&keys, child->key, child->key_len, child));
    }
    fuzz_check(n == parent->n);
}

static void check_node(const struct node *n, const struct lines *lines)
{
    fuzz_check(lines_have(lines, n->pos));
    fuzz_check(!n->key || lines_have(lines, n->key_pos));
    if (n->kind >= NODE_LIST) {
        check_members(n);
        return;
    }
    fuzz_check(n->text && n->text[n->len] == '\0' && text_valid(n->text, n->len) == n->len);
}

static void check_tree(const struct node *root, const struct lines *lines)
{
    size_t depth = 1;
    for (const struct node *n = root; n;) {
        check_node(n, lines);
        if (n->kind >= NODE_LIST && n->first) {
            n = n->first;
            fuzz_check(++depth <= DOC_MAX_DEPTH + 1);
            continue;
        }
        for (; n != root && !n->next; depth--)
            n = n->parent;
        n = n == root ? NULL : n->next;
    }
}

int fuzz_parse(struct doc *doc, const uint8_t *data, size_t size, enum doc_syntax syntax,
               struct problems *ps)
{
    struct doc_options opts = {.syntax = syntax};
    struct lines lines = {0};
    autofree char *text = mem_dup(data, size);
    bool mark = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    lines_init(&lines, text + (mark ? 3 : 0), size - (mark ? 3 : 0));
    int result = doc_parse(doc, NULL, text, size, &opts, ps);
    fuzz_check(result == (ps->errors ? -1 : 0) && ps->errors <= 1);
    fuzz_check_problems(ps);
    for (size_t i = 0; i < ps->list.n; i++)
        fuzz_check(lines_have(&lines, ps->list.v[i].pos));
    if (result == 0)
        check_tree(doc->root, &lines);
    vec_done(&lines.chars);
    return result;
}

int fuzz_document(const uint8_t *data, size_t size, enum doc_syntax syntax)
{
    autoproblems struct problems ps;
    struct doc doc;
    problems_init(&ps, "plan");
    (void)fuzz_parse(&doc, data, size, syntax, &ps);
    doc_done(&doc);
    return 0;
}
