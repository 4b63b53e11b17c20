#include "run/transcript.h"

#include "base/build.h"
#include "base/text.h"
#include "data/doc.h"

#include <string.h>

/* A tab harms nobody, and indents code. */
static void add_line(struct buf *out, const char *s, size_t len)
{
    while (len) {
        const char *tab = memchr(s, '\t', len);
        size_t n = tab ? (size_t)(tab - s) : len;
        text_harmless(out, s, n);
        if (tab)
            buf_addch(out, '\t');
        s += n + (tab != NULL);
        len -= n + (tab != NULL);
    }
    buf_addch(out, '\n');
}

/* Each line of a text behind a mark. */
static void add_text(struct buf *out, const char *mark, const char *s, size_t len)
{
    while (len) {
        const char *lf = memchr(s, '\n', len);
        size_t n = lf ? (size_t)(lf - s) : len;
        buf_addstr(out, mark);
        add_line(out, s, n && s[n - 1] == '\r' ? n - 1 : n);
        s += n + (lf != NULL);
        len -= n + (lf != NULL);
    }
}

static void add_string(struct buf *out, const char *mark, const char *s)
{
    add_text(out, mark, s, strlen(s));
}

/* What the agent says, and what it ends with. */
static void add_words(struct transcript *t, struct buf *out, const char *mark, const char *s)
{
    add_string(out, mark, s);
    buf_cut(&t->last, 0);
    buf_addstr(&t->last, s);
}

static void add_result(struct transcript *t, struct buf *out, const char *s)
{
    if (strcmp(s, t->last.s) != 0)
        add_string(out, "! ", s);
}

static bool is_true(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);
    return n && n->kind == NODE_BOOL && n->truth;
}

/* --- sim ---------------------------------------------------------------------------------- */

static void show_sim(struct transcript *t, const struct node *map, struct buf *out)
{
    const char *type = build_string(map, "type", ""), *text = build_string(map, "text", "");
    if (strcmp(type, "text") == 0)
        add_words(t, out, "", text);
    else if (strcmp(type, "action") == 0)
        add_string(out, "> ", text);
    else if (strcmp(type, "ask") == 0)
        add_string(out, "? ", text);
    else if (strcmp(type, "error") == 0)
        add_words(t, out, "! ", text);
    else if (strcmp(type, "limit") == 0)
        add_string(out, "! ", "usage limit reached");
    else if (strcmp(type, "result") == 0 && !is_true(map, "ok"))
        add_result(t, out, text);
}

/* --- claude ------------------------------------------------------------------------------- */

static void show_tool(const struct node *block, struct buf *out)
{
    static const char *const keys[] = {"file_path", "path", "command",
                                       "pattern",   "url",  "description"};
    const struct node *input = node_get(block, "input");
    autobuf struct buf text = BUF_INIT;
    buf_addstr(&text, build_string(block, "name", "tool"));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *value = build_string(input, keys[i], NULL);
        if (!value)
            continue;
        buf_addf(&text, " %s", value);
        break;
    }
    add_text(out, "> ", text.s, text.len);
}

/* What a tool answers is a string, or a list of blocks. */
static void show_refusal(const struct node *block, struct buf *out)
{
    const struct node *content = node_get(block, "content");
    if (content && content->kind == NODE_STRING)
        add_text(out, "! ", content->text, content->len);
    if (!content || content->kind != NODE_LIST)
        return;
    node_each (part, content)
        add_string(out, "! ", build_string(part, "text", ""));
}

static void show_blocks(struct transcript *t, const struct node *map, struct buf *out)
{
    const struct node *content = node_get(node_get(map, "message"), "content");
    bool agent = strcmp(build_string(map, "type", ""), "assistant") == 0;
    if (!content || content->kind != NODE_LIST)
        return;
    node_each (block, content) {
        const char *type = build_string(block, "type", "");
        if (agent && strcmp(type, "text") == 0)
            add_words(t, out, "", build_string(block, "text", ""));
        else if (agent && strcmp(type, "tool_use") == 0)
            show_tool(block, out);
        else if (strcmp(type, "tool_result") == 0 && is_true(block, "is_error"))
            show_refusal(block, out);
    }
}

static void show_claude(struct transcript *t, const struct node *map, struct buf *out)
{
    const char *type = build_string(map, "type", "");
    if (strcmp(type, "assistant") == 0 || strcmp(type, "user") == 0)
        show_blocks(t, map, out);
    else if (strcmp(type, "result") == 0 && is_true(map, "is_error"))
        add_result(t, out, build_string(map, "result", build_string(map, "subtype", "error")));
}

void transcript_done(struct transcript *t)
{
    buf_done(&t->last);
}

void transcript_line(struct transcript *t, const char *line, size_t len, struct buf *out)
{
    struct arena a = {0};
    bool speaks = t->engine == ENGINE_SIM || t->engine == ENGINE_CLAUDE;
    const struct node *map = speaks && len ? doc_read_line(&a, line, len) : NULL;
    if (!map)
        add_line(out, line, len && line[len - 1] == '\r' ? len - 1 : len);
    else if (t->engine == ENGINE_SIM)
        show_sim(t, map, out);
    else
        show_claude(t, map, out);
    arena_done(&a);
}
