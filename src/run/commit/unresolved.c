#include "run/commit/unresolved.h"

#include "base/mem.h"
#include "git/git.h"
#include "git/merge/merge.h"
#include "run/attempt/attempt.h"
#include "run/attempt/feedback.h"
#include "run/state/run_state.h"
#include "workspace/workspace.h"

#include <string.h>

static void add_path(struct buf *out, const char *path)
{
    buf_addf(out, "%s%s", out->len ? ", " : "", path);
}

static int find_markers(const struct git_place *at, const struct task_run *tr, struct buf *ret,
                        struct err *err)
{
    autofree char *pattern = mem_printf("^(<<<<<<< %s|>>>>>>> %s)", tr->start, tr->commit);
    return git_call(at, ret, err, "diff-index", "--cached", "-z", "--name-only", "--no-renames",
                    "--no-ext-diff", "--no-textconv", "--text", "-G", pattern, tr->start, "--",
                    NULL);
}

int unresolved_read_blob(const struct git_place *at, const char *tree, const char *path,
                         struct buf *out, bool *ret_found, struct err *err)
{
    autostrv struct strv args = {0};
    int status;
    strv_pushl(&args, "cat-file", "blob", NULL);
    strv_pushf(&args, "%s:%s", tree, path);
    if (git_try(at, &args, out, NULL, &status, err))
        return -1;
    *ret_found = status == 0;
    return 0;
}

/* True if an unmerged path is still as the merge left it. */
static int is_untouched(const struct git_place *at, const char *tree, const char *path, bool *ret,
                        struct err *err)
{
    autobuf struct buf left = BUF_INIT, now = BUF_INIT;
    bool was, is;
    if (unresolved_read_blob(at, tree, path, &left, &was, err) ||
        unresolved_read_blob(at, ":0", path, &now, &is, err))
        return -1;
    *ret = was == is && left.len == now.len && memcmp(left.s, now.s, now.len) == 0;
    return 0;
}

/* unmerged: lines "MODE ID STAGE\tPATH", up to three for each path. */
static int check_unmerged(const struct git_place *at, const struct buf *unmerged, const char *tree,
                          struct buf *ret_paths, struct err *err)
{
    const char *last = "";
    for (const char *s = unmerged->s; s < unmerged->s + unmerged->len; s += strlen(s) + 1) {
        const char *tab = strchr(s, '\t'), *path = tab ? tab + 1 : s;
        bool untouched;
        if (strcmp(path, last) == 0)
            continue;
        last = path;
        if (is_untouched(at, tree, path, &untouched, err))
            return -1;
        if (untouched)
            add_path(ret_paths, path);
    }
    return 0;
}

int unresolved_find(struct attempt *attempt, struct buf *ret_paths, struct err *err)
{
    const struct task_run *tr = task_run(attempt);
    struct git_place here = workspace_place(&attempt->ws), staged = here,
                     at = run_place(attempt->run);
    autofree char *index = attempt_file(attempt, "index");
    autobuf struct buf marked = BUF_INIT, unmerged = BUF_INIT;
    automerge struct merge_result m = MERGE_RESULT_INIT;
    workspace_set_tree(&attempt->ws, &at);
    staged.index = index;
    if (find_markers(&staged, tr, &marked, err) ||
        git_call(&here, &unmerged, err, "ls-files", "-z", "--unmerged", NULL) ||
        (unmerged.len && merge_trees(&at, tr->start, tr->commit, &m, err)))
        return -1;
    for (const char *p = marked.s; p < marked.s + marked.len; p += strlen(p) + 1)
        add_path(ret_paths, p);
    return check_unmerged(&staged, &unmerged, m.tree.s, ret_paths, err);
}
