#include "git/merge/same_patch.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/text/str.h"

#include <string.h>

/* Appends the patches of some commits. A NUL follows each. */
static int read_patches(const struct git_place *at, const struct buf *commits, struct buf *ret,
                        struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status;
    strv_pushl(&args, "diff-tree", "--stdin", "--root", "-r", "-p", "--binary", "--full-index",
               "--no-renames", "--no-ext-diff", "--no-textconv", "--format=%x00", NULL);
    if (git_feed(at, &args, commits, &out, &errout, &status, err))
        return -1;
    if (status)
        return err_set(err, ERR_ENV, "git diff-tree: %.*s", (int)strcspn(errout.s, "\n"), errout.s);
    buf_add(ret, out.s, out.len + 1);
    return 0;
}

/* Removes the positions of hunks and the ids of blobs. Lines of content begin with another
 * character. */
static void normalize_patch(const char *patch, struct buf *ret)
{
    buf_cut(ret, 0);
    for (const char *line = patch; *line;) {
        size_t len = strcspn(line, "\n") + 1;
        bool is_position = str_begins(line, "@@ ") || str_begins(line, "index ");
        len -= !line[len - 1]; /* the last line may have no newline */
        buf_add(ret, is_position ? "@@\n" : line, is_position ? 3 : len);
        line += len;
    }
}

static void add_patches(const struct buf *patches, struct map *known, struct strv *keys)
{
    autobuf struct buf text = BUF_INIT;
    for (const char *p = patches->s; p < patches->s + patches->len; p += strlen(p) + 1) {
        normalize_patch(p, &text);
        strv_push(keys, text.s);
        (void)map_put(known, keys->v[keys->n - 1], text.len, known);
    }
}

static bool has_all_patches(const struct buf *patches, const struct map *known)
{
    autobuf struct buf text = BUF_INIT;
    bool all = true;
    for (const char *p = patches->s; all && p < patches->s + patches->len; p += strlen(p) + 1) {
        normalize_patch(p, &text);
        all = text.len <= 1 ||
              map_get(known, text.s, text.len); /* 1: the text before the first patch */
    }
    return all;
}

int patches_are_among(const struct git_place *at, const struct buf *commits,
                      const struct buf *among, bool *ret_yes, struct err *err)
{
    autobuf struct buf ours = BUF_INIT, theirs = BUF_INIT;
    autostrv struct strv keys = {0};
    automap struct map known = {0};
    if (read_patches(at, commits, &ours, err) || read_patches(at, among, &theirs, err))
        return -1;
    add_patches(&theirs, &known, &keys);
    *ret_yes = has_all_patches(&ours, &known);
    return 0;
}
