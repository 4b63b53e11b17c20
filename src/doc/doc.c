#include "doc/doc.h"

#include "base/node/text_pos.h"
#include "base/text/text.h"
#include "doc/tree/reader.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <string.h>

static size_t get_doc_limit(const struct doc_options *opts)
{
    return opts && opts->max_bytes ? opts->max_bytes : DOC_MAX_BYTES;
}

int doc_too_deep(struct problems *ps, struct pos pos)
{
    problem_error_at(ps, RULE_SYNTAX, pos, "nested deeper than %d levels", DOC_MAX_DEPTH);
    return problem_hint(ps, "reduce the nesting of lists and mappings");
}

static int report_too_large(struct problems *ps, size_t len, size_t max)
{
    autobuf struct buf size = BUF_INIT, limit = BUF_INIT;
    text_format_bytes(&size, (int64_t)len);
    text_format_bytes(&limit, (int64_t)max);
    problem_error_at(ps, RULE_FILE, (struct pos){0}, "is %s (%zu bytes), more than the limit of %s",
                     size.s, len, limit.s);
    return problem_hint(ps, "--max-size raises the limit");
}

/* Every problem already begins with the name of the file, so we do not repeat it. */
static int report_unreadable(struct problems *ps, const struct err *err)
{
    if (err->errnum == EFBIG) {
        problem_error_at(ps, RULE_FILE, (struct pos){0}, "%s", err->msg);
        return problem_hint(ps, "--max-size raises the limit");
    }
    return problem_error_at(ps, RULE_FILE, (struct pos){0}, "cannot be read: %s",
                            strerror(err->errnum));
}

/* Refuses bytes for which another reader might see a different text than we do. */
static int check_bytes(const char *text, size_t len, struct problems *ps)
{
    struct text_pos c = {text, len, 0, {1, 1}};
    size_t valid = text_valid(text, len);
    if (valid < len) {
        problem_error_at(ps, RULE_SYNTAX, text_pos_seek(&c, valid),
                         "invalid UTF-8: unexpected byte 0x%02x", (unsigned char)text[valid]);
        return problem_hint(ps, "save the file as UTF-8");
    }
    const char *nul = len ? memchr(text, '\0', len) : NULL;
    if (nul) {
        problem_error_at(ps, RULE_SYNTAX, text_pos_seek(&c, (size_t)(nul - text)),
                         "the text contains a NUL byte");
        return problem_hint(ps, "save the file as UTF-8 text; UTF-16 is not supported");
    }
    return 0;
}

static int read_syntax(struct doc *doc, const char *text, size_t len, struct problems *ps)
{
    struct pos start = {1, 1};
    switch (doc->syntax) {
    case DOC_MARKDOWN:
        return doc_read_markdown(doc, text, len, ps);
    case DOC_TOML:
        return doc_read_toml(doc, text, len, ps);
    case DOC_JSON:
        return doc_read_json(doc, text, len, start, ps);
    case DOC_YAML:
    case DOC_AUTO:
        break;
    }
    return doc_read_yaml(doc, text, len, start, ps);
}

int doc_parse(struct doc *doc, const char *name, const char *text, size_t len,
              const struct doc_options *opts, struct problems *ps)
{
    *doc = (struct doc){0};
    if (len > get_doc_limit(opts))
        return report_too_large(ps, len, get_doc_limit(opts));
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        len -= 3;
    }
    if (check_bytes(text, len, ps) < 0)
        return -1;
    if (opts && opts->front_matter && doc_has_front_matter(text, len))
        return doc_read_front_matter(doc, text, len, ps);
    doc->syntax = opts ? opts->syntax : DOC_AUTO;
    if (doc->syntax == DOC_AUTO)
        doc->syntax = doc_syntax_guess(name, text, len);
    return read_syntax(doc, text, len, ps);
}

int doc_load(struct doc *doc, const char *path, const struct doc_options *opts, struct problems *ps)
{
    *doc = (struct doc){0};
    autobuf struct buf text = BUF_INIT;
    struct err err;
    if (file_read_input(path, get_doc_limit(opts), &text, &err) < 0)
        return report_unreadable(ps, &err);
    return doc_parse(doc, strcmp(path, "-") == 0 ? NULL : path, text.s, text.len, opts, ps);
}

void doc_done(struct doc *doc)
{
    arena_done(&doc->arena);
    doc->root = NULL;
}

const struct node *doc_read_line(struct arena *a, const char *text, size_t len)
{
    struct doc doc = {0};
    struct doc_options opts = {.syntax = DOC_JSON};
    autoproblems struct problems ps;
    problems_init(&ps, "line");
    bool good = *text == '{' && doc_parse(&doc, NULL, text, len, &opts, &ps) == 0;
    *a = doc.arena; /* the tree stays in this arena */
    return good && doc.root && doc.root->kind == NODE_MAP ? doc.root : NULL;
}
