/*
 * YAML: we build the tree from libyaml's events. libyaml's document interface keeps no positions of
 * keys. libyaml counts characters and ends lines at more than LF. So we count lines and columns
 * ourselves, like the other readers.
 */
#include "base/node/text_pos.h"
#include "doc/tree/reader.h"
#include "doc/yaml/alias.h"
#include "doc/yaml/error.h"
#include "doc/yaml/scalar.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* We search maps up to this size key by key. */
enum { SMALL_MAP = 16 };

/* An open list or mapping. */
struct level {
    struct node *node;
    struct map seen; /* the keys of a large map */
    struct buf key;  /* of a map: the key whose value comes next */
    struct pos key_pos;
    bool has_key;
    bool key_is_merge;  /* the key is << */
    struct node *merge; /* the value of << */
    struct pos merge_pos;
    bool flow;    /* in brackets */
    uint32_t col; /* column of this block or of the block around it; 0: none */
};

struct reader {
    struct doc *doc;
    struct problems *ps;
    yaml_parser_t parser;
    struct text_pos cursor;
    size_t index;            /* characters before the cursor, in libyaml's count */
    struct yaml_scalar last; /* the last scalar */
    size_t documents, depth;
    bool ended; /* a line with ... ended the document */
    struct yaml_anchors anchors;
    struct level levels[DOC_MAX_DEPTH];
};

static void reader_done(struct reader *r)
{
    for (size_t i = 0; i < DOC_MAX_DEPTH; i++) {
        map_done(&r->levels[i].seen);
        buf_done(&r->levels[i].key);
    }
    yaml_anchors_done(&r->anchors);
    yaml_parser_delete(&r->parser);
}

static struct level *top_level(struct reader *r)
{
    return r->depth ? &r->levels[r->depth - 1] : NULL;
}

static bool wants_key(struct reader *r)
{
    struct level *l = top_level(r);
    return l && l->node->kind == NODE_MAP && !l->has_key;
}

/* Moves the cursor to the character with this index. */
static struct pos seek_index(struct reader *r, size_t index)
{
    const struct text_pos *c = &r->cursor;
    size_t at = c->offset;
    for (; r->index < index && at < c->len; r->index++) {
        do
            at++;
        while (at < c->len && ((unsigned char)c->text[at] & 0xc0) == 0x80);
    }
    return text_pos_seek(&r->cursor, at);
}

static size_t skip_blanks(const struct text_pos *c, size_t at)
{
    while (at < c->len && strchr(" \t\r\n#", c->text[at])) {
        const char *lf = c->text[at] == '#' ? memchr(c->text + at, '\n', c->len - at) : NULL;
        at = c->text[at] != '#' ? at + 1 : lf ? (size_t)(lf - c->text) : c->len;
    }
    return at;
}

/* libyaml's event begins at the anchor or tag of a value. Messages shall point behind them. */
static struct pos seek_value(struct reader *r, const yaml_event_t *e)
{
    (void)seek_index(r, e->start_mark.index);
    struct text_pos c = r->cursor;
    size_t at = c.offset;
    while (at < c.len && strchr("&!", c.text[at])) {
        while (at < c.len && !strchr(" \t\r\n", c.text[at]))
            at++;
        at = skip_blanks(&c, at);
    }
    return text_pos_seek(&c, at);
}

/* The position of a missing value is its key or, in a list, its dash. */
static struct pos seek_absent(struct reader *r, const yaml_event_t *e)
{
    struct level *l = top_level(r);
    size_t at = e->start_mark.index;
    bool dash = l && l->node->kind == NODE_LIST && at && at == e->end_mark.index;
    struct pos pos = seek_index(r, dash ? at - 1 : at);
    return l && l->has_key ? l->key_pos : pos;
}

static const char yaml_prefix[] = "tag:yaml.org,2002:";

static int report_tag(struct reader *r, const char *tag)
{
    size_t skip = strlen(yaml_prefix);
    bool yaml = strncmp(tag, yaml_prefix, skip) == 0;
    problem_error_at(r->ps, RULE_SYNTAX, r->cursor.pos, "the tag %s%s is not allowed here",
                     yaml ? "!!" : "", yaml ? tag + skip : tag);
    return problem_hint(r->ps, "remove the tag");
}

/* Finds the kind that a standard tag of YAML means. */
static bool find_tag(const char *tag, enum node_kind *ret_kind)
{
    static const struct {
        const char *name;
        enum node_kind kind;
    } tags[] = {
        {"str", NODE_STRING}, {"int", NODE_INT}, {"bool", NODE_BOOL}, {"null", NODE_NULL},
        {"float", NODE_REAL}, {"map", NODE_MAP}, {"seq", NODE_LIST},
    };
    size_t skip = strlen(yaml_prefix);
    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        if (strncmp(tag, yaml_prefix, skip) == 0 && strcmp(tag + skip, tags[i].name) == 0) {
            *ret_kind = tags[i].kind;
            return true;
        }
    }
    return false;
}

/* On entry *kind is the kind by syntax (NODE_MAP for a scalar); on return it is the kind by tag.
 * The cursor is at the tag. */
static int read_tag(struct reader *r, const yaml_char_t *text, bool scalar, enum node_kind *kind)
{
    const char *tag = (const char *)text;
    if (!tag)
        return 0;
    if (strcmp(tag, "!") == 0) {
        *kind = scalar ? NODE_STRING : *kind;
        return 0;
    }
    enum node_kind named = NODE_NULL;
    if (!find_tag(tag, &named) || (scalar ? named >= NODE_LIST : named != *kind))
        return report_tag(r, tag);
    *kind = named;
    return 0;
}

static int report_duplicate(struct reader *r, const struct level *l, const struct node *first)
{
    problem_error_at(r->ps, RULE_SYNTAX, l->key_pos, "duplicate key \"%s\", first on line %u",
                     l->key.s, first->key_pos.line);
    return problem_hint(r->ps, "rename or remove one of the two");
}

static const struct node *find_key(const struct level *l, const char *key, size_t len)
{
    if (l->node->n > SMALL_MAP)
        return map_get(&l->seen, key, len);
    node_each (member, l->node) {
        if (member->key_len == len && memcmp(member->key, key, len) == 0)
            return member;
    }
    return NULL;
}

static int set_merge_key(struct reader *r, struct pos pos)
{
    struct level *l = top_level(r);
    if (l->merge) {
        problem_error_at(r->ps, RULE_SYNTAX, pos, "duplicate merge key <<");
        return problem_hint(r->ps, "write <<: [*A, *B]");
    }
    l->key_is_merge = true;
    l->merge_pos = pos;
    return 0;
}

static int set_key(struct reader *r, const char *text, size_t len, struct pos pos, bool plain)
{
    struct level *l = top_level(r);
    buf_cut(&l->key, 0);
    buf_add(&l->key, text, len);
    l->key_pos = pos;
    l->has_key = true;
    if (plain && len == 2 && memcmp(text, "<<", 2) == 0)
        return set_merge_key(r, pos);
    const struct node *first = find_key(l, text, len);
    return first ? report_duplicate(r, l, first) : 0;
}

static void remember_key(struct level *l, struct node *member)
{
    if (l->node->n <= SMALL_MAP)
        return;
    if (l->node->n == SMALL_MAP + 1) {
        node_each (m, l->node)
            (void)map_put(&l->seen, m->key, m->key_len, m);
    } else {
        (void)map_put(&l->seen, member->key, member->key_len, member);
    }
}

static void add_value(struct reader *r, struct node *value)
{
    struct level *l = top_level(r);
    if (!l) {
        r->doc->root = value;
    } else if (l->node->kind == NODE_LIST) {
        node_append(l->node, value);
    } else if (l->key_is_merge) {
        l->merge = value;
        l->key_is_merge = l->has_key = false;
    } else {
        node_put(&r->doc->arena, l->node, l->key.s, l->key.len, l->key_pos, value);
        remember_key(l, value);
        l->has_key = false;
    }
}

/* Sets the kind that the tag names. Fails if the text cannot have that kind. */
static int apply_tag(struct reader *r, struct node *n, enum node_kind kind)
{
    if (kind == NODE_STRING)
        return 0;
    yaml_core_resolve(n);
    if (kind == NODE_REAL && n->kind == NODE_INT) {
        n->kind = NODE_REAL;
        n->real = (double)n->integer;
    }
    if (n->kind == kind)
        return 0;
    problem_error_at(r->ps, RULE_SYNTAX, n->pos, "\"%s\" does not match its tag", n->text);
    return problem_hint(r->ps, "remove the tag");
}

static void set_anchor(struct reader *r, const yaml_char_t *anchor, struct node *node)
{
    const char *name = (const char *)anchor;
    if (name)
        yaml_anchor_set(&r->anchors, &r->doc->arena, name, strlen(name), node);
}

/* Remembers the scalar: the next error may be about it. */
static void note_scalar(struct reader *r, const yaml_event_t *e, struct pos pos)
{
    struct level *l = top_level(r);
    bool single = e->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE;
    bool twice = e->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    r->last = (struct yaml_scalar){
        .pos = pos,
        .key_line = l && l->has_key ? l->key_pos.line : 0,
        .lines = e->end_mark.line > e->start_mark.line,
        .end = e->end_mark.index,
        .quote = single  ? '\''
                 : twice ? '"'
                         : '\0',
    };
}

/* In a quoted text, libyaml accepts lines that are indented no deeper than the key. Such lines are
 * other keys, and the quote is not closed. */
static int guard_quote(struct reader *r, const yaml_event_t *e)
{
    struct text_pos c = r->cursor;
    uint32_t col = r->depth ? top_level(r)->col : 0;
    (void)seek_index(r, e->end_mark.index);
    const char *s = c.text + c.offset, *end = c.text + r->cursor.offset;
    while ((s = memchr(s, '\n', (size_t)(end - s)))) {
        const char *line = ++s;
        while (s < end && strchr(" \t\r\n", *s))
            line = *s++ == '\n' ? s : line;
        if (s < end && (size_t)(s - line) < col)
            return yaml_error_quote(r->last.pos, r->ps);
    }
    return 0;
}

/* libyaml reads [?x] as [? x], a mapping; we refuse that. */
static int guard_question(struct reader *r)
{
    const struct text_pos *c = &r->cursor;
    if (!r->depth || !top_level(r)->flow || !c->offset || c->text[c->offset - 1] != '?')
        return 0;
    struct pos pos = {c->pos.line, c->pos.col - 1};
    problem_error_at(r->ps, RULE_SYNTAX, pos, "a text in brackets cannot begin with '?'");
    return problem_hint(r->ps, "put the text in quotes");
}

static int on_scalar(struct reader *r, const yaml_event_t *e)
{
    const char *text = (const char *)e->data.scalar.value;
    size_t len = e->data.scalar.length;
    bool looks_plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct pos pos = looks_plain && !len ? seek_absent(r, e) : seek_value(r, e);
    enum node_kind kind = NODE_MAP;
    if (read_tag(r, e->data.scalar.tag, true, &kind) < 0)
        return -1;
    note_scalar(r, e, pos);
    if (guard_question(r) < 0 || (r->last.quote && r->last.lines && guard_quote(r, e) < 0))
        return -1;
    bool plain = looks_plain && kind == NODE_MAP;
    struct node *n = node_string(&r->doc->arena, text, len, pos);
    n->plain = plain;
    set_anchor(r, e->data.scalar.anchor, n);
    if (wants_key(r))
        return set_key(r, text, len, pos, plain);
    add_value(r, n);
    if (plain)
        yaml_core_resolve(n);
    return plain || kind == NODE_MAP ? 0 : apply_tag(r, n, kind);
}

static int report_key(struct reader *r, struct pos pos)
{
    problem_error_at(r->ps, RULE_SYNTAX, pos, "a key cannot be a list or a mapping");
    return problem_hint(r->ps, "put the key in quotes if it is a text");
}

static void open_level(struct reader *r, struct node *n, bool flow, uint32_t col)
{
    uint32_t block = flow && r->depth ? top_level(r)->col : flow ? 0 : col;
    add_value(r, n);
    struct level *l = &r->levels[r->depth++];
    map_done(&l->seen);
    l->node = n;
    l->has_key = l->key_is_merge = false;
    l->merge = NULL;
    l->flow = flow;
    l->col = block;
}

static int on_start(struct reader *r, const yaml_event_t *e, enum node_kind kind, bool flow,
                    const yaml_char_t *tag, const yaml_char_t *anchor)
{
    struct pos pos = seek_value(r, e);
    if (wants_key(r))
        return report_key(r, pos);
    if (read_tag(r, tag, false, &kind) < 0)
        return -1;
    if (r->depth == DOC_MAX_DEPTH)
        return doc_too_deep(r->ps, pos);
    uint32_t col = r->cursor.pos.col < pos.col ? r->cursor.pos.col : pos.col;
    open_level(r, node_new(&r->doc->arena, kind, pos), flow, col);
    set_anchor(r, anchor, top_level(r)->node);
    return 0;
}

static int report_many_aliases(struct reader *r, struct pos pos)
{
    problem_error_at(r->ps, RULE_SYNTAX, pos,
                     "the aliases stand for more than %d values, or for texts that are too long",
                     YAML_ALIASED_MAX);
    return problem_hint(r->ps, "write the values out instead of using aliases");
}

/* Copies the members of `from` whose keys the mapping does not have. We copy them because an alias
 * may refer to `from` too. */
static int merge_members(struct reader *r, struct level *l, const struct node *from)
{
    node_each (m, from) {
        size_t depth;
        if (find_key(l, m->key, m->key_len))
            continue;
        struct node *copy = yaml_alias_copy(&r->anchors, &r->doc->arena, m, &depth);
        if (!copy)
            return report_many_aliases(r, l->merge_pos);
        copy->key = copy->name = m->key;
        copy->key_len = m->key_len;
        node_append(l->node, copy);
        remember_key(l, copy);
    }
    return 0;
}

static bool can_merge(const struct node *merge)
{
    if (merge->kind == NODE_MAP)
        return true;
    if (merge->kind != NODE_LIST)
        return false;
    node_each (item, merge) {
        if (item->kind != NODE_MAP)
            return false;
    }
    return true;
}

/* The mapping's own keys win, wherever they are. If several merged mappings have a key, the earlier
 * one wins. */
static int merge_maps(struct reader *r, struct level *l)
{
    if (!can_merge(l->merge)) {
        problem_error_at(r->ps, RULE_SYNTAX, l->merge_pos,
                         "the merge key << takes a mapping, or a list of mappings");
        return problem_hint(r->ps, "write <<: *NAME");
    }
    if (l->merge->kind == NODE_MAP)
        return merge_members(r, l, l->merge);
    node_each (item, l->merge) {
        if (merge_members(r, l, item))
            return -1;
    }
    return 0;
}

static int on_end(struct reader *r)
{
    struct level *l = top_level(r);
    if (l->merge && merge_maps(r, l) < 0)
        return -1;
    r->depth--;
    return 0;
}

static int report_document(struct reader *r, size_t index)
{
    problem_error_at(r->ps, RULE_SYNTAX, seek_index(r, index),
                     "a second YAML document begins here");
    return problem_hint(r->ps, "a plan is one document: remove the line with --- or ...");
}

static int report_unknown(struct reader *r, const char *name, struct pos pos)
{
    problem_error_at(r->ps, RULE_SYNTAX, pos, "unknown alias: nothing above is marked with &%s",
                     name);
    return problem_hint(r->ps, "put a text that begins with * in quotes");
}

static bool is_open(const struct reader *r, const struct node *node)
{
    for (size_t i = 0; i < r->depth; i++) {
        if (r->levels[i].node == node)
            return true;
    }
    return false;
}

static int add_alias(struct reader *r, const struct node *from, struct pos pos)
{
    size_t depth = 0;
    struct node *copy = yaml_alias_copy(&r->anchors, &r->doc->arena, from, &depth);
    if (!copy)
        return report_many_aliases(r, pos);
    if (r->depth + depth > DOC_MAX_DEPTH)
        return doc_too_deep(r->ps, pos);
    copy->pos = pos;
    add_value(r, copy);
    return 0;
}

static int on_alias(struct reader *r, const yaml_event_t *e)
{
    const char *name = (const char *)e->data.alias.anchor;
    struct pos pos = seek_index(r, e->start_mark.index);
    struct node *from = yaml_anchor_get(&r->anchors, name, strlen(name));
    if (!from)
        return report_unknown(r, name, pos);
    if (is_open(r, from)) {
        problem_error_at(r->ps, RULE_SYNTAX, pos,
                         "the alias *%s refers to a value that contains it", name);
        return problem_hint(r->ps, "remove it");
    }
    if (!wants_key(r))
        return add_alias(r, from, pos);
    if (from->kind >= NODE_LIST)
        return report_key(r, pos);
    return set_key(r, from->text, from->len, pos, false);
}

static int on_event(struct reader *r, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return r->documents++ ? report_document(r, e->start_mark.index) : 0;
    case YAML_DOCUMENT_END_EVENT:
        r->ended = !e->data.document_end.implicit;
        return 0;
    case YAML_MAPPING_START_EVENT:
        return on_start(r, e, NODE_MAP, e->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE,
                        e->data.mapping_start.tag, e->data.mapping_start.anchor);
    case YAML_SEQUENCE_START_EVENT:
        return on_start(r, e, NODE_LIST, e->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE,
                        e->data.sequence_start.tag, e->data.sequence_start.anchor);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        return on_end(r);
    case YAML_SCALAR_EVENT:
        return on_scalar(r, e);
    case YAML_ALIAS_EVENT:
        return on_alias(r, e);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
        break;
    }
    return 0;
}

static int report_text(struct reader *r, struct text_pos begin)
{
    struct level *l = top_level(r);
    if (r->ended && r->parser.error == YAML_PARSER_ERROR)
        return report_document(r, r->parser.problem_mark.index);
    return yaml_error_report(&r->parser, begin, l && l->flow ? l->node : NULL, &r->last, r->ps);
}

/* Reads one event. *ret_more is false after the last one. */
static int read_event(struct reader *r, struct text_pos begin, bool *ret_more)
{
    yaml_event_t e;
    if (!yaml_parser_parse(&r->parser, &e))
        return report_text(r, begin);
    int result = on_event(r, &e);
    *ret_more = e.type != YAML_STREAM_END_EVENT;
    yaml_event_delete(&e);
    return result;
}

static void reader_init(struct reader *r, struct text_pos begin)
{
    r->cursor = begin;
    for (size_t i = 0; i < DOC_MAX_DEPTH; i++)
        r->levels[i].key = (struct buf)BUF_INIT;
    if (!yaml_parser_initialize(&r->parser))
        abort();
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)begin.text, begin.len);
}

int doc_read_yaml(struct doc *doc, const char *text, size_t len, struct pos start,
                  struct problems *ps)
{
    struct text_pos begin = {text, len, 0, start};
    own_cleanup(reader_done) struct reader r = {.doc = doc, .ps = ps};
    doc->syntax = DOC_YAML;
    doc->root = NULL;
    reader_init(&r, begin);
    if (yaml_error_guard(begin, ps) < 0)
        return -1;
    for (bool more = true; more;) {
        if (read_event(&r, begin, &more) < 0)
            return -1;
    }
    if (!doc->root) {
        doc->root = node_string(&doc->arena, "", 0, start);
        doc->root->kind = NODE_NULL;
    }
    return 0;
}
