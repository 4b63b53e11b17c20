#include "run/checkout/repair/checkout_repair.h"

#include "base/mem.h"
#include "run/checkout/repair/checkout_changes.h"
#include "sys/fs/file.h"

#include <string.h>
#include <unistd.h>

enum { INDEX_MAX = 1 << 30 };

/* Removes the partial files that a full disk or a kill left. */
static int remove_partial_files(const struct checkout_changes *c, const struct map *staged,
                                bool *ret_some, struct err *err)
{
    for (size_t i = 0; i < c->all.n; i++) {
        const struct checkout_change *change = &c->all.v[i];
        if (!map_get(staged, change->path, strlen(change->path)) &&
            checkout_changes_remove_partial(c, change, ret_some, err))
            return -1;
    }
    return 0;
}

/* *ret_yes: git accepts the fast-forward with these entries, tried on a copy of the index.
 * Otherwise something that is not ours is in the way, and the user's index stays as it is. */
static int test_fast_forward(const struct checkout_changes *c, const char *copy,
                             const struct buf *entries, bool *ret_yes, struct err *err)
{
    struct git_place at = c->at;
    autofree char *real =
        c->at.index ? mem_str(c->at.index) : mem_printf("%s/index", c->at.git_dir);
    autobuf struct buf bytes = BUF_INIT, out = BUF_INIT;
    autostrv struct strv args = {0};
    int status;
    at.index = copy;
    strv_pushl(&args, "read-tree", "-n", "-m", "-u", c->from, c->to, NULL);
    if (file_read(real, INDEX_MAX, &bytes, err) || checkout_changes_remove_index(copy, err) ||
        file_create(copy, bytes.s, bytes.len, err) || checkout_changes_write(&at, entries, err) ||
        git_try(&at, &args, &out, NULL, &status, err))
        return -1;
    *ret_yes = status == 0;
    return 0;
}

static int repair_paths(struct checkout_changes *c, const char *index, bool git_died,
                        bool *ret_some, struct err *err)
{
    autobuf struct buf differing = BUF_INIT, staged = BUF_INIT, entries = BUF_INIT;
    automap struct map excluded = {0}, staged_paths = {0};
    if (checkout_changes_list_files(c, index, &differing, err) ||
        checkout_changes_list_entries(c, c->from, &staged, err))
        return -1;
    checkout_changes_add_paths(&staged_paths, &staged);
    checkout_changes_add_paths(&excluded, &differing);
    checkout_changes_add_paths(&excluded, &staged);
    if (git_died && remove_partial_files(c, &staged_paths, ret_some, err))
        return -1;
    for (size_t i = 0; i < c->all.n; i++) {
        const struct checkout_change *change = &c->all.v[i];
        if (!map_get(&excluded, change->path, strlen(change->path)) &&
            (!checkout_change_is_deleted(change) || checkout_changes_is_gone(c, change->path)))
            checkout_change_add_entry(change, &entries);
    }
    bool passes = false;
    if (entries.len && test_fast_forward(c, index, &entries, &passes, err))
        return -1;
    *ret_some = *ret_some || passes;
    return passes ? checkout_changes_write(&c->at, &entries, err) : 0;
}

int checkout_repair(const struct git_repo *repo, const char *index, const char *dir,
                    const char *from, const char *to, bool git_died, bool *ret_some,
                    struct err *err)
{
    autofree char *scratch = mem_printf("%s/adopt.index", dir);
    const struct git_place at = {
        .git_dir = repo->git_dir, .common = repo->common, .work_tree = repo->root, .index = index};
    autocheckoutchanges struct checkout_changes c = CHECKOUT_CHANGES_INIT;
    *ret_some = false;
    if (checkout_changes_open(&c, &at, from, to, err))
        return -1;
    int rc = c.all.n ? repair_paths(&c, scratch, git_died, ret_some, err) : 0;
    (void)unlink(scratch); /* missing if nothing was to be done */
    return rc;
}
