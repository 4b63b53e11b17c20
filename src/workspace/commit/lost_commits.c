#include "workspace/commit/lost_commits.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/text/str.h"
#include "sys/fs/file.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Commits that may be lost, each once. */
struct candidates {
    struct strv ids;
    struct map known; /* ids that are candidates or excluded */
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

/* True if the id is new. */
static bool add_known(struct candidates *c, const char *id, size_t len)
{
    strv_pushf(&c->keys, "%.*s", (int)len, id);
    return !map_put(&c->known, c->keys.v[c->keys.n - 1], len, c);
}

static void add_candidate(struct candidates *c, const char *id, size_t len)
{
    if (is_id(id, len) && add_known(c, id, len))
        strv_push(&c->ids, c->keys.v[c->keys.n - 1]);
}

/* True if a reflog message is about a new commit. Other messages are about switching to an
 * existing one. */
static bool makes_commit(const char *message)
{
    static const char *const verbs[] = {"commit", "cherry-pick", "revert", "merge",
                                        "am",     "pull",        "rebase"};
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (str_begins(message, verbs[i]))
            return true;
    }
    return false;
}

/* Reads a reflog line: old id, new id, author and time, a tab, message. */
static void read_log_line(struct candidates *c, const char *line, bool replaced)
{
    size_t old = strcspn(line, " "), new = line[old] ? strcspn(line + old + 1, " ") : 0;
    const char *tab = strchr(line, '\t');
    if (!tab || !new || !makes_commit(tab + 1))
        return;
    if (!replaced && str_begins(tab + 1, "rebase"))
        return;
    if (!replaced && str_begins(tab + 1, "commit (amend)"))
        (void)add_known(c, line, old);
    add_candidate(c, line + old + 1, new);
}

/* Reads the newest line first: so we see that a commit was replaced before we see that it was
 * made. */
static void read_log(struct candidates *c, const struct workspace *ws, bool replaced)
{
    autofree char *path = mem_printf("%s/logs/HEAD", ws->admin);
    autobuf struct buf text = BUF_INIT;
    if (file_read(path, FILE_LARGE, &text, NULL)) /* there is no reflog */
        return;
    while (text.len) {
        if (text.s[text.len - 1] == '\n')
            buf_cut(&text, text.len - 1);
        const char *line = text.s + text.len;
        while (line > text.s && line[-1] != '\n')
            line--;
        read_log_line(c, line, replaced);
        buf_cut(&text, (size_t)(line - text.s));
    }
}

/* Reads commits that git keeps in files beside HEAD during a merge, rebase and so on. */
static void read_state_files(struct candidates *c, const struct workspace *ws)
{
    static const char *const names[] = {
        "HEAD",        "MERGE_HEAD",      "CHERRY_PICK_HEAD",       "REVERT_HEAD",
        "REBASE_HEAD", "MERGE_AUTOSTASH", "rebase-merge/autostash", "rebase-apply/autostash"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autofree char *path = mem_printf("%s/%s", ws->admin, names[i]);
        autobuf struct buf text = BUF_INIT;
        if (file_read(path, 1 << 20, &text, NULL) == 0)
            add_candidate(c, text.s, strcspn(text.s, "\n"));
    }
}

/* Reads the worktree's own refs. Most worktrees have none; then we do not start git. */
static void read_refs(struct candidates *c, const struct workspace *ws)
{
    struct git_place at = workspace_place(ws);
    autofree char *refs = mem_printf("%s/refs", ws->admin);
    autobuf struct buf out = BUF_INIT;
    if (access(refs, F_OK) < 0 ||
        git_call(&at, &out, NULL, "for-each-ref", "--format=%(objecttype) %(objectname)",
                 "refs/worktree", "refs/bisect", "refs/rewritten", NULL))
        return;
    for (char *rest = out.s, *line; (line = strsep(&rest, "\n"));) {
        if (str_begins(line, "commit "))
            add_candidate(c, line + strlen("commit "), strlen(line + strlen("commit ")));
    }
}

static void read_branch(struct candidates *c, const struct workspace *ws)
{
    struct git_place at = workspace_place(ws);
    autobuf struct buf id = BUF_INIT;
    if (ws->branch && git_resolve(&at, ws->branch, &id, NULL) == 0)
        add_candidate(c, id.s, id.len);
}

/* Lists candidates that cannot be reached from any ref. Branches of other workspaces do not count,
 * because they will be deleted like this one. */
static int list_unreachable(const struct workspace *ws, const struct candidates *c,
                            const char *const *kept, struct buf *out, struct err *err)
{
    struct git_place at = {.git_dir = ws->common};
    autostrv struct strv args = {0};
    autobuf struct buf in = BUF_INIT;
    for (size_t i = 0; i < c->ids.n; i++)
        buf_addf(&in, "%s\n", c->ids.v[i]);
    strv_pushl(&args, "rev-list", "--stdin", "--ignore-missing", "--single-worktree", "--not",
               NULL);
    for (; *kept; kept++)
        strv_push(&args, *kept);
    if (ws->branch)
        strv_pushf(&args, "--exclude=%s", ws->branch);
    strv_pushl(&args, "--exclude=refs/heads/anabranch/*", "--all", NULL);
    return git_ask(&at, &args, &in, out, err);
}

/* After a power failure a commit may lack its parents. git cannot walk its history, and we cannot
 * save it, so we drop it. */
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

/* Keeps the candidates that are in the list and not in the history of another one. */
static int keep_tips(const struct workspace *ws, const struct candidates *c, char *list,
                     struct strv *ret, struct err *err)
{
    struct git_place at = {.git_dir = ws->common};
    automap struct map lost = {0};
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT;
    for (char *next = list, *id; (id = strsep(&next, "\n")) && *id;)
        (void)map_put(&lost, id, strlen(id), list);
    strv_pushl(&args, "merge-base", "--independent", NULL);
    for (size_t i = 0; i < c->ids.n; i++) {
        if (map_get(&lost, c->ids.v[i], strlen(c->ids.v[i])))
            strv_push(&args, c->ids.v[i]);
    }
    if (git_ask(&at, &args, NULL, &out, err))
        return -1;
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
        (void)add_known(&c, kept[i], strlen(kept[i]));
    read_log(&c, ws, replaced);
    read_state_files(&c, ws);
    read_refs(&c, ws);
    read_branch(&c, ws);
    if (!c.ids.n)
        return 0;
    struct err broken = {0};
    if (list_unreachable(ws, &c, kept, &list, &broken) &&
        (drop_broken(ws, &c, err) || (c.ids.n && list_unreachable(ws, &c, kept, &list, err))))
        return -1;
    return list.len ? keep_tips(ws, &c, list.s, ret, err) : 0;
}

int lost_commits_tie(const struct git_place *at, const struct strv *strays, const char *message,
                     struct buf *ret_commit, struct err *err)
{
    autobuf struct buf tree = BUF_INIT;
    if (git_tree_of(at, strays->v[0], &tree, err))
        return -1;
    return git_commit_tree(at, tree.s, (const char *const *)strays->v, message, ret_commit, err);
}
