/*
 * The commands that undo a change of the repository's shared state, for a person to type.
 */
#include "run/shared_private.h"

#include <string.h>

static const char heads[] = "refs/heads/";

static bool begins_with(const char *s, const char *begin)
{
    return strncmp(s, begin, strlen(begin)) == 0;
}

/* A blank and the word, as a shell reads it. */
static void add_word(struct buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    buf_addch(out, ' ');
    if (*word && strspn(word, plain) == strlen(word)) {
        buf_addstr(out, word);
        return;
    }
    buf_addch(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_addstr(out, "'\\''");
        else
            buf_addch(out, *word);
    }
    buf_addch(out, '\'');
}

static void add_words(struct buf *out, const char *first, ...) __attribute__((sentinel));

static void add_words(struct buf *out, const char *first, ...)
{
    va_list ap;
    buf_addstr(out, first);
    va_start(ap, first);
    for (const char *word; (word = va_arg(ap, const char *));)
        add_word(out, word);
    va_end(ap);
}

/* `branch -f` refuses where the branch is checked out, which is as it should be. */
static void undo_branch(const struct git_change *c, struct buf *out)
{
    const char *name = c->name + strlen(heads);
    if (!c->from.s)
        add_words(out, "git branch -D", name, NULL);
    else if (c->to.s)
        add_words(out, "git branch -f", name, c->from.s, NULL);
    else
        add_words(out, "git branch", name, c->from.s, NULL);
}

void undo_ref(const struct git_change *c, struct buf *out)
{
    bool symbolic = (c->from.s && begins_with(c->from.s, "ref: "));
    if (symbolic)
        add_words(out, "git symbolic-ref", c->name, c->from.s + strlen("ref: "), NULL);
    else if (begins_with(c->name, heads))
        undo_branch(c, out);
    else if (!c->from.s)
        add_words(out, "git update-ref -d", c->name, NULL);
    else
        add_words(out, "git update-ref", c->name, c->from.s, NULL);
}

void undo_head(const struct git_change *c, const char *root, struct buf *out)
{
    static const char branch[] = "ref: refs/heads/";
    if (begins_with(c->from.s, branch))
        add_words(out, "git -C", root, "switch", c->from.s + strlen(branch), NULL);
    else
        add_words(out, "git -C", root, "switch", "--detach", c->from.s, NULL);
}

void undo_setting(const char *file, const char *key, const char *value, struct buf *out)
{
    add_words(out, "git config --file", file, NULL);
    if (value)
        add_words(out, "", key, value, NULL);
    else
        add_words(out, " --unset-all", key, NULL);
}

void undo_stash(const char *message, const char *commit, struct buf *out)
{
    add_words(out, "git stash store -m", message, commit, NULL);
}

void undo_file(const char *path, const char *saved, struct buf *out)
{
    if (saved)
        add_words(out, "cp -p", saved, path, NULL);
    else
        add_words(out, "rm", path, NULL);
}
