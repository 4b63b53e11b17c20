/*
 * YAML: libfyaml's events become the tree. The document interface is not used, because it copies
 * aliases without a bound, recurses, and is slower. Positions are made from byte offsets, so that
 * they count lines and columns as the other readers do.
 */
#include "base/node/text_pos.h"
#include "doc/tree/reader.h"
#include "doc/yaml/alias.h"
#include "doc/yaml/block.h"
#include "doc/yaml/error.h"
#include "doc/yaml/refuse.h"
#include "doc/yaml/scalar.h"

#include "base/map.h"
#include "base/mem.h"

#include <libfyaml.h>
#include <string.h>

/* Maps up to this size are searched key by key. */
enum { SMALL_MAP = 16 };

/* A list or mapping that is open. */
struct level {
    struct node *node;
    struct map seen; /* the keys of a map that is not small */
    struct buf key;  /* of a map: the key that waits for its value */
    struct pos key_pos;
    bool has_key;
    bool merges;        /* that key is << */
    struct node *merge; /* the value of << */
    struct pos merge_pos;
    bool flow;     /* in brackets */
    size_t indent; /* columns in front of its dashes or keys */
};

struct reader {
    struct doc *doc;
    struct problems *ps;
    struct fy_diag *diag;
    struct fy_parser *parser;
    struct cursor cursor;
    size_t end;       /* offset behind the token that was last seen */
    struct buf block; /* the text of a block scalar */
    size_t documents, depth;
    struct yaml_anchors anchors;
    struct level levels[DOC_MAX_DEPTH];
};

static void reader_done(struct reader *r)
{
    for (size_t i = 0; i < DOC_MAX_DEPTH; i++) {
        map_done(&r->levels[i].seen);
        buf_done(&r->levels[i].key);
    }
    buf_done(&r->block);
    yaml_anchors_done(&r->anchors);
    if (!yaml_error_is_fatal(r->diag))
        fy_parser_destroy(r->parser);
    fy_diag_destroy(r->diag);
}

static struct level *top(struct reader *r)
{
    return r->depth ? &r->levels[r->depth - 1] : NULL;
}

static bool wants_key(struct reader *r)
{
    struct level *l = top(r);
    return l && l->node->kind == NODE_MAP && !l->has_key;
}

static size_t skip_blanks(const struct cursor *c, size_t at)
{
    while (at < c->len && strchr(" \t\r\n#", c->text[at])) {
        const char *lf = c->text[at] == '#' ? memchr(c->text + at, '\n', c->len - at) : NULL;
        at = c->text[at] != '#' ? at + 1 : lf ? (size_t)(lf - c->text) : c->len;
    }
    return at;
}

/* Offset of the | or > in front of a block scalar whose text begins at `text`: it is on the line
 * above, behind the token before. */
static size_t block_header(const struct reader *r, size_t text)
{
    const char *s = r->cursor.text;
    size_t line = text ? text - 1 : 0;
    while (line > r->end && s[line - 1] != '\n')
        line--;
    for (size_t at = line; at < text; at++) {
        if (s[at] == '|' || s[at] == '>')
            return at;
    }
    return text;
}

/* A value that is not there has no token: it is at its key, or at its dash. */
static struct pos absent_pos(struct reader *r)
{
    struct level *l = top(r);
    if (l && l->has_key)
        return l->key_pos;
    size_t at = skip_blanks(&r->cursor, r->end);
    if (!l || at >= r->cursor.len || !strchr("-:?", r->cursor.text[at]))
        return r->cursor.pos;
    r->end = at + 1;
    return cursor_seek(&r->cursor, at);
}

static struct pos scalar_pos(struct reader *r, struct fy_token *token, enum fy_scalar_style style)
{
    if (!token)
        return absent_pos(r);
    size_t at = fy_token_start_mark(token)->input_pos, end = fy_token_end_mark(token)->input_pos;
    if (style == FYSS_LITERAL || style == FYSS_FOLDED) {
        at = block_header(r, at);
    } else if (style != FYSS_PLAIN) { /* the marks are inside of the quotes */
        at--;
        end++;
    }
    struct pos pos = cursor_seek(&r->cursor, at);
    r->end = end;
    return pos;
}

static const char yaml_prefix[] = "tag:yaml.org,2002:";

static int refuse_tag(struct reader *r, struct fy_token *tag, const char *text, size_t len)
{
    size_t at = fy_token_start_mark(tag)->input_pos, skip = strlen(yaml_prefix);
    bool yaml = len > skip && memcmp(text, yaml_prefix, skip) == 0;
    problem_error_at(r->ps, RULE_SYNTAX, cursor_seek(&r->cursor, at),
                     "the tag %s%.*s has no meaning here", yaml ? "!!" : "",
                     (int)(yaml ? len - skip : len), yaml ? text + skip : text);
    return problem_hint(r->ps, "take the tag out");
}

/* The kind that a tag of YAML's own stands for. */
static bool find_tag(const char *text, size_t len, enum node_kind *ret_kind)
{
    static const struct {
        const char *name;
        enum node_kind kind;
    } tags[] = {
        {"str", NODE_STRING}, {"int", NODE_INT}, {"bool", NODE_BOOL}, {"null", NODE_NULL},
        {"float", NODE_REAL}, {"map", NODE_MAP}, {"seq", NODE_LIST},
    };
    size_t skip = strlen(yaml_prefix);
    if (len < skip || memcmp(text, yaml_prefix, skip) != 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        if (len - skip == strlen(tags[i].name) &&
            memcmp(text + skip, tags[i].name, len - skip) == 0) {
            *ret_kind = tags[i].kind;
            return true;
        }
    }
    return false;
}

/* *kind comes as what the value looks like, NODE_MAP for a scalar without a tag, and leaves as what
 * its tag makes of it. */
static int read_tag(struct reader *r, struct fy_token *tag, bool scalar, enum node_kind *kind)
{
    if (!tag)
        return 0;
    size_t len = 0;
    const char *text = fy_token_get_text(tag, &len);
    if (len == 1 && *text == '!') {
        *kind = scalar ? NODE_STRING : *kind;
        return 0;
    }
    enum node_kind named = NODE_NULL;
    if (!find_tag(text, len, &named) || (scalar ? named >= NODE_LIST : named != *kind))
        return refuse_tag(r, tag, text, len);
    *kind = named;
    return 0;
}

static int duplicate(struct reader *r, const struct level *l, const struct node *first)
{
    problem_error_at(r->ps, RULE_SYNTAX, l->key_pos,
                     "the key \"%s\" is there twice, first in line %u", l->key.s,
                     first->key_pos.line);
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

static int take_merge_key(struct reader *r, struct pos pos)
{
    struct level *l = top(r);
    if (l->merge) {
        problem_error_at(r->ps, RULE_SYNTAX, pos, "the merge key << is there twice");
        return problem_hint(r->ps, "write <<: [*A, *B]");
    }
    l->merges = true;
    l->merge_pos = pos;
    return 0;
}

static int take_key(struct reader *r, const char *text, size_t len, struct pos pos, bool plain)
{
    struct level *l = top(r);
    buf_cut(&l->key, 0);
    buf_add(&l->key, text, len);
    l->key_pos = pos;
    l->has_key = true;
    if (!l->node->pos.line)
        l->node->pos = pos;
    if (plain && len == 2 && memcmp(text, "<<", 2) == 0)
        return take_merge_key(r, pos);
    const struct node *first = find_key(l, text, len);
    return first ? duplicate(r, l, first) : 0;
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

static void take_value(struct reader *r, struct node *value)
{
    struct level *l = top(r);
    if (!l) {
        r->doc->root = value;
    } else if (l->node->kind == NODE_LIST) {
        node_append(l->node, value);
    } else if (l->merges) {
        l->merge = value;
        l->merges = l->has_key = false;
    } else {
        node_put(&r->doc->arena, l->node, l->key.s, l->key.len, l->key_pos, value);
        remember_key(l, value);
        l->has_key = false;
    }
}

/* A tag decides over the look of the text, as long as the text can be that. */
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
    problem_error_at(r->ps, RULE_SYNTAX, n->pos, "\"%s\" is not what its tag says", n->text);
    return problem_hint(r->ps, "take the tag out");
}

/* The text of a scalar, decoded; NULL with a problem. */
static const char *scalar_text(struct reader *r, struct fy_token *token, enum fy_scalar_style style,
                               size_t *ret_len)
{
    *ret_len = 0;
    if (!token)
        return "";
    size_t start = fy_token_start_mark(token)->input_pos;
    size_t end = fy_token_end_mark(token)->input_pos, indent = r->depth ? top(r)->indent : 0;
    if (style == FYSS_LITERAL || style == FYSS_FOLDED) {
        if (r->depth && yaml_guard_block(&r->cursor, start, end, indent, r->ps) < 0)
            return NULL;
        buf_cut(&r->block, 0);
        yaml_block_text(&r->block, r->cursor.text, block_header(r, start), end, indent);
        *ret_len = r->block.len;
        return r->block.s;
    }
    if (yaml_guard_scalar(&r->cursor, start, end, r->ps) < 0)
        return NULL;
    const char *text = fy_token_get_text(token, ret_len);
    if (!text)
        abort();
    return text;
}

static void set_anchor(struct reader *r, struct fy_token *anchor, struct node *node)
{
    size_t len = 0;
    const char *name = anchor ? fy_token_get_text(anchor, &len) : NULL;
    if (name)
        yaml_anchor_set(&r->anchors, &r->doc->arena, name, len, node);
}

static int on_scalar(struct reader *r, const struct fy_event *e)
{
    struct fy_token *token = e->scalar.value;
    enum fy_scalar_style style = token ? fy_token_scalar_style(token) : FYSS_PLAIN;
    size_t len;
    const char *text = scalar_text(r, token, style, &len);
    if (!text)
        return -1;
    enum node_kind kind = NODE_MAP;
    if (read_tag(r, e->scalar.tag, true, &kind) < 0)
        return -1;
    struct pos pos = scalar_pos(r, token, style);
    bool plain = style == FYSS_PLAIN && kind == NODE_MAP;
    struct node *n = node_string(&r->doc->arena, text, len, pos);
    n->plain = plain;
    set_anchor(r, e->scalar.anchor, n);
    if (wants_key(r))
        return take_key(r, text, len, pos, plain);
    take_value(r, n);
    if (plain)
        yaml_core_resolve(n);
    return plain || kind == NODE_MAP ? 0 : apply_tag(r, n, kind);
}

static int refuse_key(struct reader *r, struct pos pos)
{
    problem_error_at(r->ps, RULE_SYNTAX, pos, "a key cannot be a list or a mapping");
    return problem_hint(r->ps, "put the key in quotes if it is a text");
}

static void open_level(struct reader *r, struct node *n, bool flow)
{
    take_value(r, n);
    struct level *l = &r->levels[r->depth++];
    map_done(&l->seen);
    l->node = n;
    l->has_key = l->merges = false;
    l->merge = NULL;
    l->flow = flow;
}

/* A block mapping is where its first key is, and the pair in [a: b] tells that it has begun only
 * after its key; so the position of those is left to the key. */
static int on_start(struct reader *r, enum node_kind kind, struct fy_token *start,
                    struct fy_token *tag, struct fy_token *anchor)
{
    size_t at = start ? fy_token_start_mark(start)->input_pos : r->end;
    bool flow = at < r->cursor.len && r->cursor.text[at] == (kind == NODE_MAP ? '{' : '[');
    if (wants_key(r))
        return refuse_key(r, cursor_seek(&r->cursor, at));
    if (read_tag(r, tag, false, &kind) < 0)
        return -1;
    if (r->depth == DOC_MAX_DEPTH)
        return doc_too_deep(r->ps, cursor_seek(&r->cursor, at));
    struct pos pos = {0};
    if (flow || kind == NODE_LIST)
        pos = cursor_seek(&r->cursor, at);
    if (r->end < at + flow)
        r->end = at + flow;
    open_level(r, node_new(&r->doc->arena, kind, pos), flow);
    set_anchor(r, anchor, top(r)->node);
    top(r)->indent = start ? (size_t)fy_token_start_mark(start)->column : 0;
    return 0;
}

static int refuse_many(struct reader *r, struct pos pos)
{
    problem_error_at(r->ps, RULE_SYNTAX, pos,
                     "the aliases stand for more than %d values, or for texts that are too long",
                     YAML_ALIASED_MAX);
    return problem_hint(r->ps, "write out what is meant");
}

/* Members that the mapping has no key for, as copies: an alias may stand for `from` as well. */
static int merge_members(struct reader *r, struct level *l, const struct node *from)
{
    node_each (m, from) {
        size_t depth;
        if (find_key(l, m->key, m->key_len))
            continue;
        struct node *copy = yaml_alias_copy(&r->anchors, &r->doc->arena, m, &depth);
        if (!copy)
            return refuse_many(r, l->merge_pos);
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

/* The mapping's own keys go first, wherever they are; then the earlier of several mappings. */
static int merge(struct reader *r, struct level *l)
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

static int on_end(struct reader *r, struct fy_token *end)
{
    struct level *l = top(r);
    if (l->flow && end)
        r->end = fy_token_end_mark(end)->input_pos;
    if (l->merge && merge(r, l) < 0)
        return -1;
    r->depth--;
    return 0;
}

static int on_document(struct reader *r, const struct fy_event *e)
{
    if (r->documents++ == 0)
        return 0;
    size_t at = skip_blanks(&r->cursor, r->end);
    struct fy_token *start = e->document_start.document_start;
    if (start)
        at = fy_token_start_mark(start)->input_pos;
    else if (r->cursor.len - at >= 3 && memcmp(r->cursor.text + at, "...", 3) == 0)
        at = skip_blanks(&r->cursor, at + 3);
    problem_error_at(r->ps, RULE_SYNTAX, cursor_seek(&r->cursor, at),
                     "a second YAML document begins here");
    return problem_hint(r->ps, "a plan is one document: take the line with --- or ... out");
}

static int refuse_unknown(struct reader *r, const char *name, size_t len, struct pos pos)
{
    problem_error_at(r->ps, RULE_SYNTAX, pos, "nothing above is marked with &%.*s", (int)len, name);
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

static int take_alias(struct reader *r, const struct node *from, struct pos pos)
{
    size_t depth = 0;
    struct node *copy = yaml_alias_copy(&r->anchors, &r->doc->arena, from, &depth);
    if (!copy)
        return refuse_many(r, pos);
    if (r->depth + depth > DOC_MAX_DEPTH)
        return doc_too_deep(r->ps, pos);
    copy->pos = pos;
    take_value(r, copy);
    return 0;
}

static int on_alias(struct reader *r, const struct fy_event *e)
{
    struct fy_token *token = e->alias.anchor;
    size_t at = fy_token_start_mark(token)->input_pos, len = 0;
    const char *name = fy_token_get_text(token, &len);
    struct pos pos = cursor_seek(&r->cursor, at ? at - 1 : 0);
    struct node *from = name ? yaml_anchor_get(&r->anchors, name, len) : NULL;
    r->end = fy_token_end_mark(token)->input_pos;
    if (!from)
        return refuse_unknown(r, name ? name : "", len, pos);
    if (is_open(r, from)) {
        problem_error_at(r->ps, RULE_SYNTAX, pos, "the alias *%.*s is inside of what it stands for",
                         (int)len, name);
        return problem_hint(r->ps, "take it out");
    }
    if (!wants_key(r))
        return take_alias(r, from, pos);
    if (from->kind >= NODE_LIST)
        return refuse_key(r, pos);
    return take_key(r, from->text, from->len, pos, false);
}

static int on_event(struct reader *r, const struct fy_event *e)
{
    switch (e->type) {
    case FYET_DOCUMENT_START:
        return on_document(r, e);
    case FYET_MAPPING_START:
        return on_start(r, NODE_MAP, e->mapping_start.mapping_start, e->mapping_start.tag,
                        e->mapping_start.anchor);
    case FYET_SEQUENCE_START:
        return on_start(r, NODE_LIST, e->sequence_start.sequence_start, e->sequence_start.tag,
                        e->sequence_start.anchor);
    case FYET_MAPPING_END:
        return on_end(r, e->mapping_end.mapping_end);
    case FYET_SEQUENCE_END:
        return on_end(r, e->sequence_end.sequence_end);
    case FYET_SCALAR:
        return on_scalar(r, e);
    case FYET_ALIAS:
        return on_alias(r, e);
    case FYET_NONE:
    case FYET_STREAM_START:
    case FYET_STREAM_END:
    case FYET_DOCUMENT_END:
        break;
    }
    return 0;
}

static void reader_init(struct reader *r, struct cursor cursor)
{
    r->cursor = cursor;
    r->block = (struct buf)BUF_INIT;
    for (size_t i = 0; i < DOC_MAX_DEPTH; i++)
        r->levels[i].key = (struct buf)BUF_INIT;
    r->diag = yaml_error_collector();
    struct fy_parse_cfg cfg = {
        .flags = FYPCF_QUIET | FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE,
        .diag = r->diag,
    };
    r->parser = fy_parser_create(&cfg);
    if (!r->parser || fy_parser_set_string(r->parser, cursor.text, cursor.len) < 0)
        abort();
}

int doc_read_yaml(struct doc *doc, const char *text, size_t len, struct pos start,
                  struct problems *ps)
{
    struct cursor begin = {text, len, 0, start};
    own_cleanup(reader_done) struct reader r = {.doc = doc, .ps = ps};
    doc->syntax = DOC_YAML;
    doc->root = NULL;
    reader_init(&r, begin);
    if (yaml_guard_text(begin, ps) < 0)
        return -1;
    for (struct fy_event *e; (e = fy_parser_parse(r.parser));) {
        int result = on_event(&r, e);
        fy_parser_event_free(r.parser, e);
        if (result < 0)
            return -1;
    }
    if (fy_parser_get_stream_error(r.parser)) {
        struct level *l = top(&r);
        return yaml_error_report(r.diag, begin, l && l->flow ? l->node : NULL, ps);
    }
    if (!doc->root) {
        doc->root = node_string(&doc->arena, "", 0, start);
        doc->root->kind = NODE_NULL;
    }
    return 0;
}
