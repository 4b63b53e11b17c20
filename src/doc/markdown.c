/*
 * Markdown: finds the plan in the file. We find front matter line by line. cmark finds the fenced
 * block, so every fence of CommonMark works, in lists and quotes too.
 */
#include "base/node/text_pos.h"
#include "doc/tree/reader.h"

#include "base/vec.h"

#define CMARK_NO_SHORT_NAMES 1 /* cmark's short name NODE_LIST collides with ours */
#include <cmark.h>
#include <string.h>

struct file {
    const char *text;
    size_t len;
    /* Front matter between its two rules. No front matter: front_lines is 0. */
    size_t front, front_end; /* offsets of the YAML */
    size_t body;             /* offset of the text after it */
    uint32_t front_lines;
};

struct block {
    uint32_t first, last;  /* lines of the file, fences included */
    bool closed;           /* closed by a fence, not by the end of the file */
    char *json;            /* contents without indentation and quote marks */
    VEC(struct pos) lines; /* start of each line of it in the file */
};

struct blocks {
    VEC(struct block) list;
    /* The last line end that we looked up, in our count and in cmark's. */
    struct text_pos cursor;
    size_t at;
    uint32_t number;
};

static void blocks_done(struct blocks *b)
{
    for (size_t i = 0; i < b->list.n; i++) {
        free(b->list.v[i].json);
        vec_done(&b->list.v[i].lines);
    }
    vec_done(&b->list);
}

/* Returns the offset of the next line. *ret_len is the length of this line without trailing white
 * space. */
static size_t next_line(const struct file *f, size_t at, size_t *ret_len)
{
    const char *lf = memchr(f->text + at, '\n', f->len - at);
    size_t end = lf ? (size_t)(lf - f->text) : f->len, next = lf ? end + 1 : end;
    while (end > at && strchr(" \t\r", f->text[end - 1]))
        end--;
    *ret_len = end - at;
    return next;
}

static bool is_rule(const struct file *f, size_t at, size_t len)
{
    return len == 3 && memcmp(f->text + at, "---", 3) == 0;
}

static int find_front(struct file *f, struct problems *ps)
{
    size_t len, at = f->len ? next_line(f, 0, &len) : 0;
    if (!f->len || !is_rule(f, 0, len))
        return 0;
    f->front = at;
    for (uint32_t line = 2; at < f->len; line++) {
        size_t next = next_line(f, at, &len);
        if (is_rule(f, at, len)) {
            f->front_end = at;
            f->front_lines = line;
            f->body = next;
            return 0;
        }
        at = next;
    }
    problem_error_at(ps, RULE_SYNTAX, (struct pos){1, 1}, "the front matter is never closed");
    return problem_hint(ps, "add a line with --- after its last line");
}

static const char *skip_word(const char *s, const char *word)
{
    size_t n = strlen(word);
    return strncmp(s, word, n) == 0 && (!s[n] || strchr(" \t", s[n])) ? s + n : NULL;
}

static bool is_dispatch(const char *info)
{
    const char *rest = info ? skip_word(info, "json") : NULL;
    return rest && skip_word(rest + strspn(rest, " \t"), "dispatch");
}

/* Moves to the end of a line of the body. cmark ends lines at LF, CRLF and a lone CR, so `line`
 * counts them like that. Call it with increasing lines. */
static struct pos seek_line_end(const struct file *f, struct blocks *blocks, uint32_t line)
{
    size_t end = blocks->at;
    for (;;) {
        end += strcspn(f->text + end, "\r\n");
        if (blocks->number == line || end >= f->len)
            return text_pos_seek(&blocks->cursor, end);
        end += f->text[end] == '\r' && f->text[end + 1] == '\n' ? 2 : 1;
        blocks->at = end;
        blocks->number++;
    }
}

static uint32_t count_chars(const char *s, size_t len)
{
    uint32_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)s[i] & 0xc0) != 0x80;
    return n;
}

/* Computes where each line of the block begins in the file. A line of the file ends like the line
 * of the block, and may have other text before it; so we count back from its end. */
static void map_lines(const struct file *f, struct blocks *blocks, struct block *b, uint32_t fence)
{
    b->first = seek_line_end(f, blocks, fence).line;
    for (const char *s = b->json, *lf; *s; s = lf + (*lf == '\n')) {
        lf = s + strcspn(s, "\n");
        struct pos end = seek_line_end(f, blocks, ++fence);
        end.col -= count_chars(s, (size_t)(lf - s));
        vec_push(&b->lines, end);
    }
    vec_push(&b->lines, (struct pos){blocks->cursor.pos.line + 1, 1});
}

static void add_block(const struct file *f, struct blocks *blocks, cmark_node *node)
{
    struct block b = {.json = mem_str(cmark_node_get_literal(node))};
    uint32_t start = (uint32_t)cmark_node_get_start_line(node);
    map_lines(f, blocks, &b, start);
    b.last = b.first + (uint32_t)cmark_node_get_end_line(node) - start;
    b.closed = b.last - b.first >= b.lines.n;
    vec_push(&blocks->list, b);
}

static void find_blocks(const struct file *f, struct blocks *blocks)
{
    const char *body = f->text + f->body;
    if (f->len == f->body || !memmem(body, f->len - f->body, "dispatch", 8))
        return;
    blocks->cursor = (struct text_pos){f->text, f->len, 0, {1, 1}};
    blocks->at = f->body;
    blocks->number = 1;
    cmark_node *root = cmark_parse_document(body, f->len - f->body, CMARK_OPT_DEFAULT);
    cmark_iter *iter = cmark_iter_new(root);
    while (cmark_iter_next(iter) != CMARK_EVENT_DONE) {
        cmark_node *node = cmark_iter_get_node(iter);
        if (cmark_node_get_type(node) == CMARK_NODE_CODE_BLOCK &&
            is_dispatch(cmark_node_get_fence_info(node)))
            add_block(f, blocks, node);
    }
    cmark_iter_free(iter);
    cmark_node_free(root);
}

static const char *const plan_keys[] = {"tasks", "threads", "batches"};

static uint32_t plan_key_in_tree(const struct node *root)
{
    for (size_t i = 0; i < 3; i++) {
        const struct node *n = node_get(root, plan_keys[i]);
        if (n)
            return n->key_pos.line;
    }
    return 0;
}

static uint32_t plan_key_in_text(const struct file *f)
{
    size_t at = f->front, len;
    for (uint32_t line = 2; at < f->front_end; line++) {
        for (size_t i = 0; i < 3; i++) {
            size_t n = strlen(plan_keys[i]);
            if (strncmp(f->text + at, plan_keys[i], n) == 0 && f->text[at + n] == ':')
                return line;
        }
        at = next_line(f, at, &len);
    }
    return 0;
}

/* Returns the line of the key that makes the front matter a plan, or 0. If the front matter is not
 * valid YAML, it may belong to another program or be a plan with a mistake. So we then search its
 * text for such a key. */
static uint32_t plan_line(const struct file *f)
{
    autoproblems struct problems ignored;
    struct doc doc = {0};
    problems_init(&ignored, "");
    int result = doc_read_yaml(&doc, f->text + f->front, f->front_end - f->front,
                               (struct pos){2, 1}, &ignored);
    uint32_t line = result == 0 ? plan_key_in_tree(doc.root) : plan_key_in_text(f);
    doc_done(&doc);
    return line;
}

static size_t count_prose(const struct file *f, uint32_t first, uint32_t last)
{
    size_t prose = 0, len;
    uint32_t line = 1;
    for (size_t at = 0; at < f->len; line++) {
        size_t next = next_line(f, at, &len);
        bool rule = f->front_lines && (line == 1 || line == f->front_lines);
        bool blank = strspn(f->text + at, " \t\r") >= len;
        prose += !rule && !blank && (line < first || line > last);
        at = next;
    }
    return prose;
}

static int report_many(const struct blocks *blocks, struct problems *ps)
{
    autobuf struct buf lines = BUF_INIT;
    size_t n = blocks->list.n, shown = n < 20 ? n : 20;
    for (size_t i = 0; i < shown; i++)
        buf_addf(&lines, "%s%u",
                 i == 0       ? ""
                 : i + 1 == n ? " and "
                              : ", ",
                 blocks->list.v[i].first);
    problem_error_at(ps, RULE_SYNTAX, (struct pos){blocks->list.v[1].first, 1},
                     "%zu `json dispatch` blocks, on lines %s%s", n, lines.s,
                     shown < n ? " ..." : "");
    return problem_hint(ps, "a plan is one block: join them, or remove a word from the fence");
}

static int report_both(uint32_t front, uint32_t block, struct problems *ps)
{
    problem_error_at(ps, RULE_SYNTAX, (struct pos){block, 1},
                     "two plans: the front matter (line %u) and a `json dispatch` block (line %u)",
                     front, block);
    return problem_hint(ps, "remove one of the two");
}

static int report_none(struct problems *ps)
{
    problem_error_at(ps, RULE_SYNTAX, (struct pos){1, 1}, "there is no plan in this Markdown file");
    return problem_hint(ps, "a plan is YAML between two lines of --- at the top of the file, or a "
                            "fenced block that begins with ```json dispatch");
}

static void to_file_pos(struct pos *pos, const struct block *b)
{
    size_t i = pos->line - b->lines.v[0].line;
    if (!pos->line)
        return;
    if (i >= b->lines.n)
        i = b->lines.n - 1;
    pos->col += b->lines.v[i].col - 1;
    pos->line = b->lines.v[i].line;
}

static void to_file_positions(struct node *root, const struct block *b)
{
    for (struct node *n = root; n;) {
        to_file_pos(&n->pos, b);
        to_file_pos(&n->key_pos, b);
        if (n->kind >= NODE_LIST && n->first) {
            n = n->first;
            continue;
        }
        while (n && !n->next)
            n = n->parent;
        n = n ? n->next : NULL;
    }
}

static int read_block(struct doc *doc, const struct block *b, struct problems *ps)
{
    size_t before = ps->list.n;
    struct pos start = {b->lines.v[0].line, 1};
    int result = doc_read_json(doc, b->json, strlen(b->json), start, ps);
    if (result == 0)
        to_file_positions(doc->root, b);
    for (size_t i = before; i < ps->list.n; i++)
        to_file_pos(&ps->list.v[i].pos, b);
    if (result < 0 && !b->closed)
        problem_hint(ps, "the fence on line %u is never closed", b->first);
    return result;
}

static int read_front(struct doc *doc, const struct file *f, struct problems *ps)
{
    doc->prose_lines = count_prose(f, 1, f->front_lines);
    return doc_read_yaml(doc, f->text + f->front, f->front_end - f->front, (struct pos){2, 1}, ps);
}

int doc_read_front_matter(struct doc *doc, const char *text, size_t len, struct problems *ps)
{
    struct file f = {.text = text, .len = len};
    doc->markdown = true;
    return find_front(&f, ps) < 0 ? -1 : read_front(doc, &f, ps);
}

int doc_read_markdown(struct doc *doc, const char *text, size_t len, struct problems *ps)
{
    struct file f = {.text = text, .len = len};
    own_cleanup(blocks_done) struct blocks blocks = {0};
    doc->markdown = true;
    if (find_front(&f, ps) < 0)
        return -1;
    find_blocks(&f, &blocks);
    if (blocks.list.n == 0)
        return f.front_lines ? read_front(doc, &f, ps) : report_none(ps);
    if (blocks.list.n > 1)
        return report_many(&blocks, ps);
    const struct block *b = &blocks.list.v[0];
    uint32_t plan = f.front_lines ? plan_line(&f) : 0;
    if (plan)
        return report_both(plan, b->first, ps);
    doc->prose_lines = count_prose(&f, b->first, b->last);
    return read_block(doc, b, ps);
}
