/*
 * git's index and trees, read without git: for any bytes, we read nothing outside of them, and the
 * results can be read again. There is no git here: the target accepts all objects, and every
 * second object exists.
 */
#include "fuzz.h"

#include "base/mem.h"
#include "base/own.h"
#include "base/text/hash.h"
#include "git/batch.h"
#include "git/format/index.h"
#include "git/format/tree.h"
#include "git/tree/index_tree.h"
#include "sys/fs/file.h"

#include <string.h>

struct git_batch {
    size_t id_len; /* in hexadecimal digits */
};

/* Stand-ins for git */

int git_batch_resolve(struct git_batch *batch, const char *expression, struct buf *out,
                      bool *ret_found, struct err *err)
{
    (void)err;
    fuzz_check(strlen(expression) == batch->id_len);
    *ret_found = expression[batch->id_len - 1] % 2;
    if (*ret_found)
        buf_addstr(out, expression);
    return 0;
}

int git_batch_has_all(struct git_batch *batch, const struct buf *ids, bool *ret_yes,
                      struct err *err)
{
    (void)err;
    fuzz_check(ids->len % (batch->id_len + 1) == 0);
    *ret_yes = true;
    return 0;
}

bool git_batch_refused(const struct err *err)
{
    return !err || err->errnum == 0;
}

static size_t count_entries(const struct buf *tree, size_t id_len, struct err *err)
{
    size_t n = 0, pos = 0, last = 0;
    for (struct tree_entry e; tree_next(tree, id_len, &pos, &e, err); n++, last = pos) {
        fuzz_check(pos > last && pos <= tree->len && !e.name[e.len]);
        fuzz_check(tree_compare(&e, &e) == 0 && tree_same(&e, &e, id_len));
    }
    return n;
}

int git_batch_write(struct git_batch *batch, enum git_batch_type type, const struct buf *bytes,
                    struct buf *ret_id, struct err *err)
{
    char digest[HASH_SHA256_DIGITS + 1];
    fuzz_check(type == GIT_BATCH_TREE);
    (void)count_entries(bytes, batch->id_len / 2, err);
    fuzz_check(err->code == 0);
    sha256_hex(bytes->s, bytes->len, digest);
    buf_add(ret_id, digest, batch->id_len);
    return 0;
}

int git_batch_use_tree(struct git_batch *batch, const struct buf *bytes, struct buf *required,
                       struct buf *ret_id, struct err *err)
{
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    if (bytes->len % 3)
        return git_batch_write(batch, GIT_BATCH_TREE, bytes, ret_id, err);
    buf_add(ret_id, zeros, batch->id_len);
    buf_addf(required, "%.*s\n", (int)batch->id_len, zeros);
    return 0;
}

/* Reading */

static bool is_id(const struct git_index *index, const unsigned char *id)
{
    const char *start = index->bytes.s, *s = (const char *)id;
    return s > start && s + index->id_len <= start + index->bytes.len;
}

static void check_nodes(const struct git_index *index, const char *at, const char *end)
{
    const char *before = at;
    for (struct git_index_node node; git_index_node(index, &at, end, &node); before = at) {
        fuzz_check(node.name == before && at > before && at <= end && node.subtrees >= 0);
        fuzz_check(node.entries < 0 || is_id(index, node.id));
    }
}

static void check_index(const char *path, size_t id_len)
{
    autogitindex struct git_index index = {0};
    autobuf struct buf last = BUF_INIT;
    struct err err = {0};
    fuzz_check(git_index_open(&index, path, id_len, &err) == 0);
    const char *end = index.bytes.s + index.bytes.len, *start;
    size_t len;
    for (struct git_index_entry e; git_index_next(&index, &e);) {
        fuzz_check(strlen(e.path) <= index.bytes.len * index.bytes.len);
        fuzz_check(is_id(&index, e.id));
        fuzz_check(e.unsorted == (strcmp(last.s, e.path) >= 0));
        buf_cut(&last, 0);
        buf_addstr(&last, e.path);
    }
    const unsigned char *root = git_index_root(&index);
    fuzz_check(!root || is_id(&index, root));
    if (git_index_extension(&index, "TREE", &start, &len)) {
        fuzz_check(index.good && !index.left && start > index.bytes.s && start + len <= end);
        check_nodes(&index, start, start + len);
    }
}

static void check_tree_of(const char *path, size_t id_len)
{
    struct git_batch batch = {id_len};
    autobuf struct buf tree = BUF_INIT;
    struct err err = {0};
    bool done = false;
    fuzz_check(index_tree(&batch, path, id_len, &tree, &done, &err) == 0);
    fuzz_check(tree.len == (done ? id_len : 0));
}

static void check_tree(const uint8_t *data, size_t size, size_t id_len)
{
    autobuf struct buf tree = BUF_INIT;
    struct err err = {0};
    buf_add(&tree, data, size);
    fuzz_check(count_entries(&tree, id_len / 2, &err) <= size / (id_len / 2 + 2));
}

/* The first byte says how long an id is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    struct err err = {0};
    if (!size)
        return 0;
    size_t id_len = *data % 2 ? 64 : 40;
    fuzz_check(file >= 0 || file_scratch(&file, &err) == 0);
    fuzz_check(file_refill(file, (const char *)data + 1, size - 1, &err) == 0);
    autofree char *path = mem_printf("/dev/fd/%d", file);
    check_index(path, id_len);
    check_tree_of(path, id_len);
    check_tree(data + 1, size - 1, id_len);
    return 0;
}
