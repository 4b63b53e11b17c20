#include "workspace/commit/lost_commits.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/text/str.h"
#include "sys/fs/file.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Commits in question, each once. */
struct candidates {
    struct strv ids;
    struct map known; /* holds ids that are in question or out of it */
    struct strv keys;
};

static void candidates_done(struct candidates *c)
{
    strv_done(&c->ids);
    strv_done(&c->keys);
    map_done(&c->known);
}

static bool is_id(const char *s, size_t len)
{
    return (len == 40 || len == 64) && strspn(s, "0123456789abcdef") >= len && strspn(s, "0") < len;
}

/* True the first time. */
static bool note(struct candidates *c, const char *id, size_t len)
{
    strv_pushf(&c->keys, "%.*s", (int)len, id);
    return !map_put(&c->known, c->keys.v[c->keys.n - 1], len, c);
}

static void add(struct candidates *c, const char *id, size_t len)
{
    if (is_id(id, len) && note(c, id, len))
        strv_push(&c->ids, c->keys.v[c->keys.n - 1]);
}

/* Whether what git noted is the making of a commit; all else goes to one that was there before. */
static bool is_making(const char *what)
{
    static const char *const words[] = {"commit", "cherry-pick", "revert", "merge",
                                        "am",     "pull",        "rebase"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_begins(what, words[i]))
            return true;
    }
    return false;
}

/* A line of a reflog: old id, new id, who and when, a tab, what. */
static void take_line(struct candidates *c, const char *line, bool replaced)
{
    size_t old = strcspn(line, " "), new = line[old] ? strcspn(line + old + 1, " ") : 0;
    const char *tab = strchr(line, '\t');
    if (!tab || !new || !is_making(tab + 1))
        return;
    if (!replaced && str_begins(tab + 1, "rebase"))
        return;
    if (!replaced && str_begins(tab + 1, "commit (amend)"))
        (void)note(c, line, old);
    add(c, line + old + 1, new);
}

/* From the newest on: what was replaced is told before what was made. */
static void take_log(struct candidates *c, const struct workspace *ws, bool replaced)
{
    autofree char *path = mem_printf("%s/logs/HEAD", ws->admin);
    autobuf struct buf text = BUF_INIT;
    if (file_read(path, FILE_LARGE, &text, NULL)) /* none was kept */
        return;
    while (text.len) {
        if (text.s[text.len - 1] == '\n')
            buf_cut(&text, text.len - 1);
        const char *line = text.s + text.len;
        while (line > text.s && line[-1] != '\n')
            line--;
        take_line(c, line, replaced);
        buf_cut(&text, (size_t)(line - text.s));
    }
}

/* What git keeps in files beside HEAD while it is in the middle of something. */
static void take_files(struct candidates *c, const struct workspace *ws)
{
    static const char *const names[] = {
        "HEAD",        "MERGE_HEAD",      "CHERRY_PICK_HEAD",       "REVERT_HEAD",
        "REBASE_HEAD", "MERGE_AUTOSTASH", "rebase-merge/autostash", "rebase-apply/autostash"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autofree char *path = mem_printf("%s/%s", ws->admin, names[i]);
        autobuf struct buf text = BUF_INIT;
        if (file_read(path, 1 << 20, &text, NULL) == 0)
            add(c, text.s, strcspn(text.s, "\n"));
    }
}

/* Refs that are the worktree's own. Most have none, and then git is not asked. */
static void take_refs(struct candidates *c, const struct workspace *ws)
{
    struct git_place at = workspace_place(ws);
    autofree char *refs = mem_printf("%s/refs", ws->admin);
    autobuf struct buf out = BUF_INIT;
    struct err none = {0};
    if (access(refs, F_OK) < 0 ||
        git_call(&at, &out, &none, "for-each-ref", "--format=%(objecttype) %(objectname)",
                 "refs/worktree", "refs/bisect", "refs/rewritten", NULL))
        return;
    for (char *rest = out.s, *line; (line = strsep(&rest, "\n"));) {
        if (str_begins(line, "commit "))
            add(c, line + strlen("commit "), strlen(line + strlen("commit ")));
    }
}

static void take_branch(struct candidates *c, const struct workspace *ws)
{
    struct git_place at = workspace_place(ws);
    autobuf struct buf id = BUF_INIT;
    struct err none = {0};
    if (ws->branch && git_resolve(&at, ws->branch, &id, &none) == 0)
        add(c, id.s, id.len);
}

/* Those that no ref leads to. Other workspaces' branches do not count: they go as this one does. */
static int unreachable(const struct workspace *ws, const struct candidates *c,
                       const char *const *kept, struct buf *out, struct err *err)
{
    struct git_place at = {.git_dir = ws->common};
    autostrv struct strv args = {0};
    autobuf struct buf in = BUF_INIT, errout = BUF_INIT;
    int status;
    for (size_t i = 0; i < c->ids.n; i++)
        buf_addf(&in, "%s\n", c->ids.v[i]);
    strv_pushl(&args, "rev-list", "--stdin", "--ignore-missing", "--single-worktree", "--not",
               NULL);
    for (; *kept; kept++)
        strv_push(&args, *kept);
    if (ws->branch)
        strv_pushf(&args, "--exclude=%s", ws->branch);
    strv_pushl(&args, "--exclude=refs/heads/anabranch/*", "--all", NULL);
    if (git_feed(&at, &args, &in, out, &errout, &status, err))
        return -1;
    return status ? err_set(err, ERR_ENV, "git rev-list: %s", errout.s) : 0;
}

/* A power failure can leave a commit without its parents: git cannot walk from there, and nothing
 * can be saved of it. */
static int drop_broken(const struct workspace *ws, struct candidates *c, struct err *err)
{
    struct git_place at = {.git_dir = ws->common};
    struct strv whole = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < c->ids.n; i++) {
        autostrv struct strv args = {0};
        autobuf struct buf errout = BUF_INIT;
        int status = 0;
        strv_pushl(&args, "rev-list", "--quiet", "--single-worktree", c->ids.v[i], "--not",
                   "--exclude=refs/heads/anabranch/*", "--all", NULL);
        rc = git_try(&at, &args, NULL, &errout, &status, err);
        if (rc == 0 && status == 0)
            strv_push(&whole, c->ids.v[i]);
    }
    strv_done(&c->ids);
    c->ids = whole;
    return rc;
}

/* Of those in question the ones that are also in the list, and in no other's history. */
static int reduce(const struct workspace *ws, const struct candidates *c, char *list,
                  struct strv *ret, struct err *err)
{
    struct git_place at = {.git_dir = ws->common};
    automap struct map lost = {0};
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status;
    for (char *next = list, *id; (id = strsep(&next, "\n")) && *id;)
        (void)map_put(&lost, id, strlen(id), list);
    strv_pushl(&args, "merge-base", "--independent", NULL);
    for (size_t i = 0; i < c->ids.n; i++) {
        if (map_get(&lost, c->ids.v[i], strlen(c->ids.v[i])))
            strv_push(&args, c->ids.v[i]);
    }
    if (git_try(&at, &args, &out, &errout, &status, err))
        return -1;
    if (status)
        return err_set(err, ERR_ENV, "git merge-base: %s", errout.s);
    for (char *next = out.s, *id; (id = strsep(&next, "\n")) && *id;)
        strv_push(ret, id);
    return 0;
}

int lost_commits_find(const struct workspace *ws, const char *const *kept, bool replaced,
                      struct strv *ret, struct err *err)
{
    own_cleanup(candidates_done) struct candidates c = {0};
    autobuf struct buf list = BUF_INIT;
    for (size_t i = 0; kept[i]; i++)
        (void)note(&c, kept[i], strlen(kept[i]));
    take_log(&c, ws, replaced);
    take_files(&c, ws);
    take_refs(&c, ws);
    take_branch(&c, ws);
    if (!c.ids.n)
        return 0;
    struct err broken = {0};
    if (unreachable(ws, &c, kept, &list, &broken) &&
        (drop_broken(ws, &c, err) || (c.ids.n && unreachable(ws, &c, kept, &list, err))))
        return -1;
    return list.len ? reduce(ws, &c, list.s, ret, err) : 0;
}

int lost_commits_tie(const struct git_place *at, const struct strv *strays, const char *message,
                     struct buf *ret_commit, struct err *err)
{
    autobuf struct buf tree = BUF_INIT;
    if (git_tree_of(at, strays->v[0], &tree, err))
        return -1;
    return git_commit_tree(at, tree.s, (const char *const *)strays->v, message, ret_commit, err);
}
