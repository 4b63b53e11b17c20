#include "workspace/fill/include.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "git/config/excludes_file.h"
#include "git/git.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "workspace/overlay/shared_folders.h"
#include "workspace/overlay/shared_patterns.h"

#include <fnmatch.h>
#include <string.h>

struct entry {
    char *path;      /* relative to the root; a repository in the repository ends with a slash */
    bool if_ignored; /* include it only if git ignores it */
    bool ignored;
    size_t cover; /* length of the part of the path that git ignores as a whole */
    bool kept;    /* a shared folder: it is in the lists, and is not copied */
    bool lifted;  /* it comes from the same path in the project */
};

struct entries {
    VEC(struct entry) all;
};

static void entries_done(struct entries *es)
{
    for (size_t i = 0; i < es->all.n; i++)
        free(es->all.v[i].path);
    vec_done(&es->all);
}

static bool exists_below(const char *dir, const char *below, const char *name)
{
    autofree char *path = mem_printf("%s/%s%s%s", dir, below, *below ? "/" : "", name);
    return file_exists(path);
}

bool include_is_needed(const char *root, const char *prefix, size_t pattern_count)
{
    return pattern_count || exists_below(root, "", ".worktreeinclude") ||
           exists_below(root, "", ".claude") || (*prefix && exists_below(root, prefix, ".claude"));
}

/* True if the path is in the folder of the workspaces, and that is below the root. */
static bool is_work(const struct include *b, const char *path)
{
    const char *work = str_below(b->work, b->root);
    return work && str_is_in(path, work);
}

/* Runs `git ls-files` in the project and adds the paths that it prints. */
static int add_listed(const struct include *b, struct strv *args, bool if_ignored,
                      struct entries *es, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    if (git_ask_checkout(b->root, args, NULL, 0, &out, err))
        return -1;
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1) {
        if (!is_work(b, p))
            vec_push(&es->all, (struct entry){.path = mem_str(p), .if_ignored = if_ignored});
    }
    return 0;
}

static void begin_list(const struct include *b, const char *dir, struct strv *args)
{
    strv_push(args, "-C");
    strv_pushf(args, "%s%s%s", b->root, *dir ? "/" : "", dir);
    strv_pushl(args, "ls-files", "-z", "--full-name", "--others", NULL);
}

static int list_included(const struct include *b, struct entries *es, struct err *err)
{
    autostrv struct strv args = {0};
    if (!exists_below(b->root, "", ".worktreeinclude"))
        return 0;
    begin_list(b, "", &args);
    strv_push(&args, "--ignored");
    strv_pushf(&args, "--exclude-from=%s/.worktreeinclude", b->root);
    return add_listed(b, &args, true, es, err);
}

/* `rest`: patterns of folders that cannot be shared. */
static int list_patterns(const struct include *b, const struct strv *rest, struct entries *es,
                         struct err *err)
{
    autostrv struct strv args = {0};
    if (!b->pattern_count && !rest->n)
        return 0;
    begin_list(b, b->prefix, &args);
    strv_push(&args, "--");
    for (size_t i = 0; i < b->pattern_count; i++)
        strv_pushf(&args, ":(glob)%s", b->patterns[i]);
    for (size_t i = 0; i < rest->n; i++)
        strv_pushf(&args, ":(glob)%s", rest->v[i]);
    return add_listed(b, &args, false, es, err);
}

/* Leaves out the files in `.claude` that runs write there, and instructions for the user's own
 * session. */
static bool is_for_tasks(const char *name)
{
    static const char *const own[] = {"logs", "worktrees", "memory", "CLAUDE.md"};
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        if (str_is_in(name, own[i]))
            return false;
    }
    return strncmp(name, "reports/", 8) != 0 ||
           fnmatch("plan-report-*.md", name + 8, FNM_PATHNAME) == 0;
}

/* True if the folder is the agent's own home folder. It contains accounts and histories, no
 * project settings, and the agent finds it by itself. */
static bool is_agent_home(const struct include *b, const char *dir)
{
    const char *home = getenv("CLAUDE_CONFIG_DIR"), *user = getenv("HOME");
    autofree char *usual = mem_printf("%s/.claude", user ? user : "");
    autofree char *path = mem_printf("%s/%s", b->root, dir);
    return file_is_same(path, home && *home ? home : usual);
}

static int list_claude(const struct include *b, const char *prefix, struct entries *es,
                       struct err *err)
{
    autofree char *dir = mem_printf("%s%s.claude", prefix, *prefix ? "/" : "");
    autostrv struct strv args = {0};
    if (!exists_below(b->root, "", dir) || is_agent_home(b, dir))
        return 0;
    begin_list(b, "", &args);
    strv_push(&args, "--");
    strv_pushf(&args, ":(top,literal)%s", dir);
    size_t kept = es->all.n, first = es->all.n;
    if (add_listed(b, &args, false, es, err))
        return -1;
    for (size_t i = first; i < es->all.n; i++) {
        struct entry e = es->all.v[i];
        const char *name = e.path + strlen(dir);
        if (is_for_tasks(name + (*name == '/')))
            es->all.v[kept++] = e;
        else
            free(e.path);
    }
    es->all.n = kept;
    return 0;
}

/* Lists the paths of the index at or below `dir`, and with `others` also untracked and ignored
 * ones. */
static int list_below(const struct include *b, const char *dir, bool others, struct buf *out,
                      struct err *err)
{
    autostrv struct strv args = {0};
    strv_pushl(&args, "-C", b->root, "ls-files", "-z", "--full-name", "--cached", NULL);
    if (others)
        strv_push(&args, "--others");
    strv_push(&args, "--");
    strv_pushf(&args, ":(top,literal)%s", dir);
    return git_ask_checkout(b->root, &args, NULL, 0, out, err);
}

static const char *skip_text(const char *s, const struct buf *list)
{
    s += strlen(s) + 1;
    return s < list->s + list->len ? s : NULL;
}

/* Adds the project's `.claude` for agents that look for it at the top. Leaves out its settings,
 * which would apply to another folder there, and files that the top has itself. */
static int list_lifted(const struct include *b, struct entries *es, struct err *err)
{
    static const char top[] = ".claude/", settings[] = "settings.json";
    autofree char *dir = mem_printf("%s/.claude", b->prefix);
    autobuf struct buf found = BUF_INIT, own = BUF_INIT;
    automap struct map tracked = {0};
    size_t skip = strlen(b->prefix) + 1;
    if (!exists_below(b->root, "", dir) || is_agent_home(b, dir))
        return 0;
    if (list_below(b, dir, true, &found, err) || list_below(b, ".claude", false, &own, err))
        return -1;
    for (const char *p = own.len ? own.s : NULL; p; p = skip_text(p, &own))
        (void)map_put(&tracked, p, strlen(p), es);
    for (const char *p = found.len ? found.s : NULL; p; p = skip_text(p, &found)) {
        const char *path = p + skip, *name = path + strlen(top);
        if (strncmp(path, top, strlen(top)) == 0 && is_for_tasks(name) &&
            strcmp(name, settings) != 0 && !map_get(&tracked, path, strlen(path)))
            vec_push(&es->all, (struct entry){.path = mem_str(path), .lifted = true});
    }
    return 0;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *ea = a, *eb = b;
    int order = strcmp(ea->path, eb->path);
    if (!order && ea->lifted != eb->lifted)
        return (int)eb->lifted - (int)ea->lifted;
    return order ? order : (int)ea->if_ignored - (int)eb->if_ignored;
}

/* Removes duplicates; keeps the entry with fewer conditions. */
static void remove_duplicates(struct entries *es)
{
    size_t kept = 0;
    qsort(es->all.v, es->all.n, sizeof(*es->all.v), compare_entries);
    for (size_t i = 0; i < es->all.n; i++) {
        if (kept && strcmp(es->all.v[kept - 1].path, es->all.v[i].path) == 0)
            free(es->all.v[i].path);
        else
            es->all.v[kept++] = es->all.v[i];
    }
    es->all.n = kept;
}

/* Writes the entries and all their parent folders, each followed by a NUL: git judges these one by
 * one, while its lists of ignored folders are not exact. */
static void add_paths(const struct entries *es, struct buf *in)
{
    automap struct map asked = {0};
    for (size_t i = 0; i < es->all.n; i++) {
        const char *path = es->all.v[i].path;
        for (const char *s = strchr(path, '/'); s && s[1]; s = strchr(s + 1, '/')) {
            size_t len = (size_t)(s - path);
            if (map_put(&asked, path, len, es->all.v))
                continue;
            buf_add(in, path, len);
            buf_addch(in, '\0');
        }
        buf_add(in, path, strlen(path) + 1);
    }
}

static void mark_ignored(struct entries *es, const struct buf *output)
{
    automap struct map ignored = {0};
    for (const char *p = output->s; p < output->s + output->len; p += strlen(p) + 1)
        (void)map_put(&ignored, p, strlen(p), es->all.v);
    for (size_t i = 0; i < es->all.n; i++) {
        struct entry *e = &es->all.v[i];
        e->cover = strlen(e->path);
        e->ignored = map_get(&ignored, e->path, e->cover) != NULL;
        for (const char *s = strchr(e->path, '/'); s && s[1]; s = strchr(s + 1, '/')) {
            if (e->lifted || !map_get(&ignored, e->path, (size_t)(s - e->path)))
                continue;
            e->cover = (size_t)(s - e->path) + 1;
            e->ignored = true;
            break;
        }
    }
}

static int drop_unignored(const struct include *b, struct entries *es, struct err *err)
{
    enum { NONE_IGNORED = 1 };
    autobuf struct buf in = BUF_INIT, out = BUF_INIT;
    autostrv struct strv args = {0};
    add_paths(es, &in);
    strv_pushl(&args, "-C", b->root, "check-ignore", "-z", "--stdin", NULL);
    if (git_ask_checkout(b->root, &args, &in, NONE_IGNORED, &out, err))
        return -1;
    mark_ignored(es, &out);
    size_t kept = 0;
    for (size_t i = 0; i < es->all.n; i++) {
        if (es->all.v[i].if_ignored && !es->all.v[i].ignored)
            free(es->all.v[i].path);
        else
            es->all.v[kept++] = es->all.v[i];
    }
    es->all.n = kept;
    return 0;
}

/* Writes a path as a pattern that matches only this path. One exception: a pattern cannot contain
 * a line end, so we write `?` for it, which matches any character. */
static void add_pattern(struct buf *out, const char *path, size_t len)
{
    buf_addch(out, '/');
    for (size_t i = 0; i < len; i++) {
        if (path[i] == '\n' || path[i] == '\r') {
            buf_addch(out, '?');
            continue;
        }
        if (strchr("\\*?[ ", path[i]))
            buf_addch(out, '\\');
        buf_addch(out, path[i]);
    }
    buf_addch(out, '\n');
}

static int write_lists(const struct include *b, const struct entries *es, struct err *err)
{
    autobuf struct buf patterns = BUF_INIT, paths = BUF_INIT;
    if (excludes_add_own(b->root, &patterns, err))
        return -1;
    const struct entry *last = NULL;
    for (size_t i = 0; i < es->all.n; i++) {
        const struct entry *e = &es->all.v[i];
        if (last && last->cover == e->cover && memcmp(last->path, e->path, e->cover) == 0)
            continue; /* they are sorted, so duplicates are neighbours */
        last = e;
        add_pattern(&patterns, e->path, e->cover);
        buf_add(&paths, e->path, e->cover);
        buf_addch(&paths, '\0');
    }
    return file_create(b->excludes, patterns.s, patterns.len, err) ||
                   file_create(b->brought, paths.s, paths.len, err)
               ? -1
               : 0;
}

struct sharing {
    const struct include *b;
    struct include_count *count;  /* everything so far ... */
    struct include_count earlier; /* ... and the part of earlier folders */
};

static void count_shared(void *ctx, const struct dir_sync_count *so_far)
{
    const struct sharing *k = ctx;
    *k->count = k->earlier;
    k->count->all.files += so_far->files;
    k->count->all.bytes += so_far->bytes;
    k->count->all.cloned += so_far->copied.cloned;
    k->count->kept += so_far->files - so_far->copied.files;
    if (k->b->progress)
        k->b->progress(k->b->ctx, k->count);
}

static void add_shared(struct entries *es, const char *path)
{
    vec_push(&es->all, (struct entry){.path = mem_str(path), .kept = true});
}

static int share_folders(struct sharing *k, struct shared_folders *kept, const struct strv *folders,
                         struct entries *es, struct err *err)
{
    for (size_t i = 0; i < folders->n; i++) {
        autofree char *path = mem_dup(folders->v[i], strlen(folders->v[i]) - 1);
        struct dir_sync_count count;
        k->earlier = *k->count;
        if (shared_folders_bring(kept, k->b->root, path, count_shared, k, &count, err))
            return -1;
        add_shared(es, folders->v[i]);
    }
    return 0;
}

/* Deletes shared folders that nobody needs; `clean` removes what we cannot delete. */
static void trim_shared(const struct include *b, struct shared_folders *kept)
{
    autobuf struct buf paths = BUF_INIT;
    autostrv struct strv left = {0};
    (void)shared_folders_trim(kept, &left, NULL);
    for (size_t i = 0; i < left.n; i++)
        buf_add(&paths, left.v[i], strlen(left.v[i]) + 1);
    if (left.n)
        (void)file_create(b->keep->left, paths.s, paths.len, NULL);
}

static int keep_shared(const struct include *b, const struct strv *folders, struct entries *es,
                       struct include_count *count, struct err *err)
{
    const struct include_keep *how = b->keep;
    struct sharing k = {.b = b, .count = count};
    autokept struct shared_folders kept = {.lock = -1};
    if (shared_folders_open(&kept, how->state, how->run, err) ||
        share_folders(&k, &kept, folders, es, err) ||
        shared_folders_note(&kept, how->run, how->folder, how->list, err))
        return -1;
    trim_shared(b, &kept);
    return 0;
}

static void add_shares(const struct include *b, struct strv *rest)
{
    for (size_t i = 0; i < b->share_count; i++)
        strv_push(rest, b->shares[i]);
}

/* Sharing failed: copies all of them instead. If that fails too, it reports why. */
static int fall_back_to_copies(const struct include *b, struct entries *es, struct strv *rest,
                               struct include_count *count, struct err *err)
{
    entries_done(es);
    strv_done(rest);
    *count = (struct include_count){0};
    add_shares(b, rest);
    return dirs_remove(b->keep->list, err);
}

/* Shares folders; appends the patterns of those that we cannot share to `rest`, to be copied. */
static int share_or_copy(const struct include *b, struct entries *es, struct strv *rest,
                         struct include_count *count, struct err *err)
{
    struct shared_patterns share = {.root = b->root,
                                    .prefix = b->prefix,
                                    .work = b->work,
                                    .patterns = b->shares,
                                    .pattern_count = b->share_count};
    autostrv struct strv folders = {0};
    struct err why = {0};
    if (!b->keep || !b->share_count) {
        add_shares(b, rest);
        return 0;
    }
    if (shared_patterns_find(&share, &folders, rest, err))
        return -1;
    return folders.n && keep_shared(b, &folders, es, count, &why)
               ? fall_back_to_copies(b, es, rest, count, err)
               : 0;
}

/* True if a path is in one of the shared folders, which are in the map. */
static bool is_in_shared(const struct map *kept, const char *path)
{
    for (const char *s = strchr(path, '/'); s; s = strchr(s + 1, '/')) {
        if (map_get(kept, path, (size_t)(s - path) + 1))
            return true;
    }
    return false;
}

/* Removes entries inside shared folders, but not the folders themselves. */
static void drop_shared(struct entries *es)
{
    automap struct map kept = {0};
    size_t n = 0;
    for (size_t i = 0; i < es->all.n; i++) {
        const char *path = es->all.v[i].path;
        if (es->all.v[i].kept)
            (void)map_put(&kept, path, strlen(path), es);
    }
    for (size_t i = 0; kept.n && i < es->all.n; i++) {
        struct entry e = es->all.v[i];
        if (e.kept || !is_in_shared(&kept, e.path))
            es->all.v[n++] = e;
        else
            free(e.path);
    }
    es->all.n = kept.n ? n : es->all.n;
}

static struct include_count add_up(const struct include_count *before,
                                   const struct copy_count *copied)
{
    struct include_count sum = *before;
    sum.all.files += copied->files;
    sum.all.bytes += copied->bytes;
    sum.all.cloned += copied->cloned;
    return sum;
}

/* Copies the entries that come from the project's folder (`lifted`), or the others. */
static int copy_from(const struct include *b, const char *from, bool lifted,
                     const struct entries *es, struct include_count *ret, struct err *err)
{
    const struct include_count before = *ret;
    struct copy *copy;
    int rc = 0;
    if (copy_open(&copy, from, b->to, err))
        return -1;
    for (size_t i = 0; rc == 0 && i < es->all.n; i++) {
        if (es->all.v[i].kept || es->all.v[i].lifted != lifted)
            continue;
        rc = copy_path(copy, es->all.v[i].path, err);
        struct copy_count copied = copy_count(copy);
        *ret = add_up(&before, &copied);
        if (b->progress)
            b->progress(b->ctx, ret);
    }
    struct err why;
    if (copy_close(copy, &why) && rc == 0)
        rc = err_set(err, why.code, "%s", why.msg);
    return rc;
}

static int copy_all(const struct include *b, const struct entries *es, struct include_count *ret,
                    struct err *err)
{
    autofree char *project = mem_printf("%s/%s", b->root, b->prefix);
    if (copy_from(b, b->root, false, es, ret, err))
        return -1;
    return b->at_top && *b->prefix ? copy_from(b, project, true, es, ret, err) : 0;
}

int include_run(const struct include *b, struct include_count *ret, struct err *err)
{
    own_cleanup(entries_done) struct entries es = {0};
    autostrv struct strv rest = {0};
    *ret = (struct include_count){0};
    if (share_or_copy(b, &es, &rest, ret, err) || list_included(b, &es, err) ||
        list_patterns(b, &rest, &es, err) || list_claude(b, "", &es, err) ||
        (*b->prefix && list_claude(b, b->prefix, &es, err)) ||
        (*b->prefix && b->at_top && list_lifted(b, &es, err)))
        return -1;
    if (!es.all.n)
        return 0;
    remove_duplicates(&es);
    drop_shared(&es);
    return drop_unignored(b, &es, err) || write_lists(b, &es, err) || copy_all(b, &es, ret, err)
               ? -1
               : 0;
}
