#include "git/merge/merge.h"

#include "base/mem.h"
#include "git/batch.h"
#include "git/merge/merge_plain_trees.h"

#include <string.h>

void merge_result_done(struct merge_result *m)
{
    buf_done(&m->tree);
    buf_done(&m->conflicts);
}

/* Parses the tree's id, the paths, an empty path and messages. A NUL follows each. */
static void parse_result(struct merge_result *ret, const struct buf *out)
{
    const char *s = out->s, *end = out->s + out->len;
    buf_addstr(&ret->tree, s);
    for (s += strlen(s) + 1; s < end && *s; s += strlen(s) + 1)
        buf_add(&ret->conflicts, s, strlen(s) + 1);
}

void merge_ask(const struct git_place *at, const char *ours, const char *theirs, struct strv *args)
{
    if (at->work_tree && !at->tree) /* else git would read attributes in our current folder */
        strv_pushl(args, "-C", at->work_tree, NULL);
    strv_pushl(args, "merge-tree", "--write-tree", "--name-only", "-z", "--messages", ours, theirs,
               NULL);
}

int merge_answer(const struct buf *out, const struct buf *errout, int status,
                 struct merge_result *ret, struct err *err)
{
    if (status > 1 || !out->len)
        return err_set(err, ERR_ENV, "git merge-tree: %.*s", (int)strcspn(errout->s, "\n"),
                       errout->s);
    buf_cut(&ret->tree, 0);
    buf_cut(&ret->conflicts, 0);
    parse_result(ret, out);
    ret->clean = status == 0;
    if (ret->clean)
        buf_cut(&ret->conflicts, 0);
    return 0;
}

int merge_trees(const struct git_place *at, const char *ours, const char *theirs,
                struct merge_result *ret, struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status;
    merge_ask(at, ours, theirs, &args);
    if (git_try(at, &args, &out, &errout, &status, err))
        return -1;
    return merge_answer(&out, &errout, status, ret, err);
}

int merge_since(const struct git_place *at, const char *base, const char *ours, const char *theirs,
                struct merge_result *ret, struct err *err)
{
    bool plain = at->batch;
    buf_cut(&ret->tree, 0);
    if (plain && merge_plain_trees(at->batch, base, ours, theirs, &ret->tree, &plain, err))
        return -1;
    ret->clean = plain;
    return plain ? 0 : merge_trees(at, ours, theirs, ret, err);
}

/* merge-tree finds the base in the history. So we create a stand-in commit with the tree of `onto`
 * whose parent is the parent of the picked commit: that parent is the base we want. */
int merge_pick(const struct git_place *at, const char *onto, const char *commit,
               struct merge_result *ret, struct err *err)
{
    autobuf struct buf tree = BUF_INIT, parent = BUF_INIT, stand_in = BUF_INIT;
    autofree char *parent_name = mem_printf("%s^1", commit);
    if (git_tree_of(at, onto, &tree, err) || git_resolve(at, parent_name, &parent, err))
        return -1;
    const char *const parents[] = {parent.s, NULL};
    if (git_commit_tree(at, tree.s, parents, "stand-in for a merge", &stand_in, err))
        return -1;
    return merge_since(at, parent.s, stand_in.s, commit, ret, err);
}

/* Parses "MODE ID STAGE\tPATH". First removes the existing entry of a path from the index. */
static void add_stages(struct buf *out, const char *s, const char *end, size_t id_len)
{
    const char *last = NULL;
    for (; s < end && *s; s += strlen(s) + 1) {
        const char *path = strchr(s, '\t');
        if (!path)
            continue;
        if (!last || strcmp(last, path) != 0) {
            buf_addf(out, "0 %0*d%s", (int)id_len, 0, path);
            buf_addch(out, '\0');
        }
        last = path;
        buf_add(out, s, strlen(s) + 1);
    }
}

int merge_stages(const struct git_place *at, const char *ours, const char *theirs, struct buf *out,
                 struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf answer = BUF_INIT, errout = BUF_INIT;
    int status;
    if (at->work_tree && !at->tree)
        strv_pushl(&args, "-C", at->work_tree, NULL);
    strv_pushl(&args, "merge-tree", "--write-tree", "-z", "--no-messages", ours, theirs, NULL);
    if (git_try(at, &args, &answer, &errout, &status, err))
        return -1;
    if (status > 1 || !answer.len)
        return err_set(err, ERR_ENV, "git merge-tree: %.*s", (int)strcspn(errout.s, "\n"),
                       errout.s);
    size_t id_len = strlen(answer.s);
    if (status == 1)
        add_stages(out, answer.s + id_len + 1, answer.s + answer.len, id_len);
    return 0;
}

/* The line ranges between conflict markers. */
static void add_hunks(struct buf *out, const struct buf *file)
{
    size_t line = 1, start = 0, n = 0;
    for (const char *s = file->s; *s; line++) {
        if (strncmp(s, "<<<<<<< ", 8) == 0)
            start = line;
        else if (strncmp(s, ">>>>>>> ", 8) == 0 && start)
            buf_addf(out, "%s%zu-%zu", n++ ? ", " : " (lines ", start, line);
        s += strcspn(s, "\n");
        s += *s == '\n';
    }
    if (n)
        buf_addch(out, ')');
}

int merge_describe(const struct git_place *at, const struct merge_result *m, struct buf *out,
                   struct err *err)
{
    const char *end = m->conflicts.s + m->conflicts.len;
    for (const char *path = m->conflicts.s; path < end; path += strlen(path) + 1) {
        autostrv struct strv args = {0};
        autobuf struct buf file = BUF_INIT;
        int status;
        strv_pushl(&args, "cat-file", "blob", NULL);
        strv_pushf(&args, "%s:%s", m->tree.s, path);
        if (git_try(at, &args, &file, NULL, &status, err))
            return -1;
        buf_addf(out, "%s%s", path == m->conflicts.s ? "" : ", ", path);
        if (status == 0) /* else one side has no such file: no lines to show */
            add_hunks(out, &file);
    }
    return 0;
}
