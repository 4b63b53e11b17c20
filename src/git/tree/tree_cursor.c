#include "git/tree/tree_cursor.h"

#include "base/mem.h"

int tree_cursor_open(struct tree_cursor *c, struct git_batch *batch, const char *tree,
                     size_t id_len, struct err *err)
{
    c->id_len = id_len;
    return git_batch_read(batch, tree, &c->bytes, err) || tree_cursor_next(c, err) ? -1 : 0;
}

int tree_cursor_open_commit(struct tree_cursor *c, struct git_batch *batch, const char *commit,
                            size_t id_len, struct err *err)
{
    autofree char *tree = mem_printf("%s^{tree}", commit);
    return tree_cursor_open(c, batch, tree, id_len, err);
}

int tree_cursor_open_entry(struct tree_cursor *c, struct git_batch *batch,
                           const struct tree_entry *folder, size_t id_len, struct err *err)
{
    autobuf struct buf id = BUF_INIT;
    tree_id(&id, folder->id, id_len);
    return tree_cursor_open(c, batch, id.s, id_len, err);
}

int tree_cursor_next(struct tree_cursor *c, struct err *err)
{
    struct err damage = {0};
    c->has_entry = tree_next(&c->bytes, c->id_len, &c->pos, &c->entry, &damage);
    return damage.code ? err_set(err, damage.code, "%s", damage.msg) : 0;
}

void tree_cursor_done(struct tree_cursor *c)
{
    buf_done(&c->bytes);
}
