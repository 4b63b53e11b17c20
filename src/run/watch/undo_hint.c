/*
 * The commands with which a person undoes a change of the repository's shared state.
 */
#include "run/watch/watch_private.h"

#include "base/text/shell_quote.h"
#include "base/text/str.h"

#include <string.h>

static const char heads[] = "refs/heads/";

/* `branch -f` refuses if the branch is checked out, as it should. */
static void undo_branch(const struct git_change *c, struct buf *out)
{
    const char *name = c->name + strlen(heads);
    if (!c->from.s)
        shell_quote(out, "git branch -D", name, NULL);
    else if (c->to.s)
        shell_quote(out, "git branch -f", name, c->from.s, NULL);
    else
        shell_quote(out, "git branch", name, c->from.s, NULL);
}

void undo_ref(const struct git_change *c, struct buf *out)
{
    bool symbolic = (c->from.s && str_begins(c->from.s, "ref: "));
    if (symbolic)
        shell_quote(out, "git symbolic-ref", c->name, c->from.s + strlen("ref: "), NULL);
    else if (str_begins(c->name, heads))
        undo_branch(c, out);
    else if (!c->from.s)
        shell_quote(out, "git update-ref -d", c->name, NULL);
    else
        shell_quote(out, "git update-ref", c->name, c->from.s, NULL);
}

void undo_head(const struct git_change *c, const char *root, struct buf *out)
{
    static const char branch[] = "ref: refs/heads/";
    if (str_begins(c->from.s, branch))
        shell_quote(out, "git -C", root, "switch", c->from.s + strlen(branch), NULL);
    else
        shell_quote(out, "git -C", root, "switch", "--detach", c->from.s, NULL);
}

void undo_setting(const char *file, const char *key, const char *value, struct buf *out)
{
    shell_quote(out, "git config --file", file, NULL);
    if (value)
        shell_quote(out, "", key, value, NULL);
    else
        shell_quote(out, " --unset-all", key, NULL);
}

void undo_stash(const char *message, const char *commit, struct buf *out)
{
    shell_quote(out, "git stash store -m", message, commit, NULL);
}

static void add_paths(const struct strv *paths, struct buf *out)
{
    shell_quote(out, " --", NULL);
    for (size_t i = 0; i < paths->n && i < SHARED_MAX; i++)
        shell_quote(out, "", paths->v[i], NULL);
}

void undo_staged(const char *root, const struct strv *paths, struct buf *out)
{
    shell_quote(out, "git -C", root, NULL);
    shell_quote(out, " restore --staged", NULL);
    add_paths(paths, out);
}

/* git takes only one of the two flags at a time. */
void undo_unseen(const char *root, const struct strv *paths, struct buf *out)
{
    static const char *const flags[] = {"--no-assume-unchanged", "--no-skip-worktree"};
    for (size_t i = 0; i < 2; i++) {
        shell_quote(out, i ? " && git -C" : "git -C", root, "update-index", flags[i], NULL);
        add_paths(paths, out);
    }
}

/* Without `rm`, cp would write to the target of a symlink that is there now. */
void undo_file(const char *path, const char *saved, struct buf *out)
{
    shell_quote(out, saved ? "rm -f" : "rm", path, NULL);
    if (saved)
        shell_quote(out, " && cp -p", saved, path, NULL);
}

void undo_link(const char *path, const char *target, struct buf *out)
{
    shell_quote(out, "rm -f", path, NULL);
    shell_quote(out, " && ln -s --", target, path, NULL);
}
