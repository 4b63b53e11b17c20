#include "git/merge/is_merged.h"

#include "base/mem.h"
#include "git/merge/merge.h"
#include "git/merge/same_patch.h"

#include <string.h>

/* Lists the commits on one side of a range whose patch git also finds on the other side. *ret_all
 * is true if these are all commits of that side. */
static int list_side(const struct git_place *at, const char *side, const char *range,
                     struct buf *ret, bool *ret_all, struct err *err)
{
    autobuf struct buf marks = BUF_INIT;
    if (git_call(at, &marks, err, "rev-list", side, "--cherry-mark", range, "--", NULL))
        return -1;
    *ret_all = marks.len > 0;
    for (char *rest = marks.s, *line; (line = strsep(&rest, "\n"));) {
        if (*line == '=')
            buf_addf(ret, "%s\n", line + 1);
        *ret_all = *ret_all && (!*line || *line == '=');
    }
    return 0;
}

/* Sets *ret_yes if every commit that only `commit` has shares its patch with a commit that only
 * `into` has. git finds the candidates. It gives a merge no patch, so we never find a merge with
 * changes of its own. */
static int has_patches(const struct git_place *at, const char *commit, const char *into,
                       bool *ret_yes, struct err *err)
{
    autofree char *range = mem_printf("%s...%s", into, commit);
    autobuf struct buf ours = BUF_INIT, theirs = BUF_INIT;
    bool all;
    *ret_yes = false;
    if (list_side(at, "--right-only", range, &ours, ret_yes, err))
        return -1;
    if (!*ret_yes)
        return 0;
    return list_side(at, "--left-only", range, &theirs, &all, err) ||
                   patches_are_among(at, &ours, &theirs, ret_yes, err)
               ? -1
               : 0;
}

/* Writes the commit that a squash would create; no ref points to it. We write the object directly,
 * because then it needs no identity and is always the same. */
static int write_squashed(const struct git_place *at, const char *tree, const char *parent,
                          struct buf *ret, struct err *err)
{
    static const char identity[] = "anabranch <anabranch@localhost> 0 +0000";
    autostrv struct strv args = {0};
    autobuf struct buf text = BUF_INIT;
    buf_addf(&text, "tree %s\nparent %s\nauthor %s\ncommitter %s\n\nsquashed\n", tree, parent,
             identity, identity);
    strv_pushl(&args, "hash-object", "-t", "commit", "-w", "--stdin", NULL);
    int rc = git_ask(at, &args, &text, ret, err);
    buf_cut(ret, strcspn(ret->s, "\n"));
    return rc;
}

static int is_squashed(const struct git_place *at, const char *tree, const char *fork,
                       const char *into, bool *ret_yes, struct err *err)
{
    autobuf struct buf squashed_commit = BUF_INIT;
    return write_squashed(at, tree, fork, &squashed_commit, err) ||
                   has_patches(at, squashed_commit.s, into, ret_yes, err)
               ? -1
               : 0;
}

/* Makes every merge driver of the user fail, which counts as a conflict: a driver may drop
 * changes. */
static int refuse_drivers(const struct git_place *at, struct strv *args, struct err *err)
{
    autostrv struct strv ask = {0};
    autobuf struct buf names = BUF_INIT;
    int status;
    strv_pushl(&ask, "config", "-z", "--name-only", "--get-regexp", "^merge\\..*\\.driver$", NULL);
    if (git_try(at, &ask, &names, NULL, &status, err))
        return -1;
    for (const char *p = names.s; p < names.s + names.len; p += strlen(p) + 1) {
        strv_push(args, "-c");
        strv_pushf(args, "%s=false", p);
    }
    return 0;
}

static int is_contained(const struct git_place *at, const char *commit, const char *into,
                        bool *ret_yes, struct err *err)
{
    automerge struct merge_result m = MERGE_RESULT_INIT;
    autostrv struct strv args = {0};
    autobuf struct buf tree = BUF_INIT, out = BUF_INIT, errout = BUF_INIT;
    int status;
    if (refuse_drivers(at, &args, err) || git_tree_of(at, into, &tree, err))
        return -1;
    merge_ask(at, into, commit, &args);
    if (git_try(at, &args, &out, &errout, &status, err) ||
        merge_answer(&out, &errout, status, &m, err))
        return -1;
    *ret_yes = m.clean && strcmp(m.tree.s, tree.s) == 0;
    return 0;
}

/* Compares patches first: this also finds changes that were changed again later. */
static int compare_with_fork(const struct git_place *at, const char *commit, const char *fork,
                             const char *into, enum merged *ret, struct err *err)
{
    autobuf struct buf tree = BUF_INIT, fork_tree = BUF_INIT;
    bool rebased = false, squashed = false, contained = false;
    if (git_tree_of(at, commit, &tree, err) || git_tree_of(at, fork, &fork_tree, err))
        return -1;
    bool changes = strcmp(tree.s, fork_tree.s) != 0;
    if ((changes && has_patches(at, commit, into, &rebased, err)) ||
        (changes && !rebased && is_squashed(at, tree.s, fork, into, &squashed, err)) ||
        (changes && !rebased && !squashed && is_contained(at, commit, into, &contained, err)))
        return -1;
    *ret = rebased     ? MERGED_REBASED
           : squashed  ? MERGED_SQUASHED
           : contained ? MERGED_CONTAINED
                       : MERGED_NOT;
    return 0;
}

int merged_look(const struct git_place *at, const char *commit, const char *into, enum merged *ret,
                struct err *err)
{
    autobuf struct buf fork = BUF_INIT;
    if (git_find_fork(at, commit, into, &fork, err))
        return -1;
    if (fork.len && strcmp(fork.s, commit) != 0)
        return compare_with_fork(at, commit, fork.s, into, ret, err);
    *ret = fork.len ? MERGED_WHOLE : MERGED_NOT;
    return 0;
}
