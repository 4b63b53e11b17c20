#include "git/format/tree.h"

#include "base/mem.h"
#include "git/format/hash.h"

#include <string.h>

bool tree_next(const struct buf *tree, size_t id_len, size_t *pos, struct tree_entry *ret,
               struct err *err)
{
    const char *start = tree->s + *pos, *end = tree->s + tree->len;
    if (start == end)
        return false;
    const char *space = memchr(start, ' ', (size_t)(end - start));
    const char *nul = space ? memchr(space, '\0', (size_t)(end - space)) : NULL;
    if (!nul || (size_t)(end - nul) <= id_len) {
        (void)err_set(err, ERR_ENV, "a tree object is damaged: run git fsck");
        return false;
    }
    *ret = (struct tree_entry){.mode = start,
                               .name = space + 1,
                               .len = (size_t)(nul - space) - 1,
                               .id = (const unsigned char *)nul + 1,
                               .is_tree = start[strspn(start, "0")] == '4'};
    *pos = (size_t)(nul - tree->s) + 1 + id_len;
    return true;
}

/* The byte at i; the name of a folder continues with a slash. */
static int get_byte_at(const struct tree_entry *e, size_t i)
{
    if (i < e->len)
        return (unsigned char)e->name[i];
    return e->is_tree ? '/' : '\0';
}

int tree_compare(const struct tree_entry *a, const struct tree_entry *b)
{
    size_t common = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->name, b->name, common);
    return order ? order : get_byte_at(a, common) - get_byte_at(b, common);
}

bool tree_same(const struct tree_entry *a, const struct tree_entry *b, size_t id_len)
{
    size_t len = (size_t)(a->name - a->mode);
    return len == (size_t)(b->name - b->mode) && memcmp(a->mode, b->mode, len) == 0 &&
           memcmp(a->id, b->id, id_len) == 0;
}

bool tree_is_usual(const struct tree_entry *e)
{
    static const char *const modes[] = {"100644 ", "100755 ", "120000 ", "160000 ", "40000 "};
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (strncmp(e->mode, modes[i], strlen(modes[i])) == 0)
            return true;
    }
    return false;
}

void tree_add(struct buf *tree, const char *mode, const char *name, size_t len, const char *id)
{
    buf_addf(tree, "%s ", mode);
    buf_add(tree, name, len);
    buf_addch(tree, '\0');
    git_hash_pack(tree, id);
}

void tree_id(struct buf *out, const unsigned char *id, size_t id_len)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < id_len; i++) {
        buf_addch(out, digits[id[i] >> 4]);
        buf_addch(out, digits[id[i] & 15]);
    }
}
