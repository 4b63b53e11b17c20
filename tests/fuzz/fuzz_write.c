/*
 * doc_write(): a document that is read, written in any syntax and read again is the same tree. The
 * first byte of the input is its syntax: j, t, or any other byte for YAML.
 */
#include "fuzz.h"

#include "base/map.h"

#include <math.h>
#include <string.h>

static bool same_scalar(const struct node *a, const struct node *b)
{
    switch (a->kind) {
    case NODE_BOOL:
        return a->truth == b->truth;
    case NODE_INT:
        return a->integer == b->integer;
    case NODE_REAL:
        return isnan(a->real) ? isnan(b->real)
                              : a->real == b->real && signbit(a->real) == signbit(b->real);
    case NODE_STRING:
    case NODE_TIME:
        return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
    case NODE_NULL:
    case NODE_LIST:
    case NODE_MAP:
        break;
    }
    return true;
}

static bool same_tree(const struct node *a, const struct node *b, bool ordered);

/* TOML moves tables behind the values, so there only the keys have to be the same. */
static bool same_members(const struct node *a, const struct node *b)
{
    automap struct map members = {0};
    node_each (m, b)
        (void)map_put(&members, m->key, m->key_len, m);
    node_each (m, a) {
        const struct node *other = map_get(&members, m->key, m->key_len);
        if (!other || !same_tree(m, other, false))
            return false;
    }
    return true;
}

static bool same_children(const struct node *a, const struct node *b, bool ordered)
{
    const struct node *other = b->first;
    node_each (child, a) {
        if (child->key && (child->key_len != other->key_len ||
                           memcmp(child->key, other->key, child->key_len) != 0))
            return false;
        if (!same_tree(child, other, ordered))
            return false;
        other = other->next;
    }
    return true;
}

/* Recursion is fine: the readers limit the depth. */
static bool same_tree(const struct node *a, const struct node *b, bool ordered)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind < NODE_LIST)
        return same_scalar(a, b);
    if (a->n != b->n)
        return false;
    return a->kind == NODE_MAP && !ordered ? same_members(a, b) : same_children(a, b, ordered);
}

static void round_trip(const struct node *root, enum doc_syntax syntax)
{
    autoproblems struct problems ps;
    autobuf struct buf text = BUF_INIT;
    struct doc again;
    problems_init(&ps, "plan");
    int result = doc_write(&text, root, syntax, &ps);
    fuzz_check_problems(&ps);
    fuzz_check(result == (ps.errors ? -1 : 0));
    if (result == 0) {
        result = fuzz_parse(&again, (const uint8_t *)text.s, text.len, syntax, &ps);
        fuzz_check(result == 0);
        fuzz_check(same_tree(root, again.root, syntax != DOC_TOML));
        doc_done(&again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    autoproblems struct problems ps;
    struct doc doc;
    problems_init(&ps, "plan");
    enum doc_syntax syntax = *data == 'j' ? DOC_JSON : *data == 't' ? DOC_TOML : DOC_YAML;
    if (fuzz_parse(&doc, data + 1, size - 1, syntax, &ps) == 0) {
        round_trip(doc.root, DOC_YAML);
        round_trip(doc.root, DOC_TOML);
        round_trip(doc.root, DOC_JSON);
    }
    doc_done(&doc);
    return 0;
}
