#include "workspace/overlay/shared_patterns.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text/glob.h"
#include "base/text/str.h"
#include "git/git.h"
#include "sys/fs/file.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FOLDERS_MAX = 32 }; /* each is a layer below every workspace */

struct folder {
    char *path;     /* with a slash at the end */
    size_t pattern; /* index of the pattern that names it */
};

struct finding {
    const struct shared_patterns *s;
    struct folder folders[FOLDERS_MAX];
    size_t n;
    bool *rest; /* for each pattern: it names more than these folders */
};

static void finding_done(struct finding *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->folders[i].path);
    free(f->rest);
}

/* True if one of two paths is inside the other. Both have a slash at the end. */
static bool are_nested(const char *a, const char *b)
{
    size_t n = strlen(a), k = strlen(b);
    return strncmp(a, b, n < k ? n : k) == 0;
}

static bool overlaps_work(const struct shared_patterns *s, const char *path)
{
    autofree char *full = mem_printf("%s/%s", s->root, path);
    autofree char *work = mem_printf("%s/", s->work);
    return are_nested(full, work);
}

static bool has_git(const char *folder)
{
    autofree char *path = mem_printf("%s/.git", folder);
    return file_exists(path);
}

/* True if a path below the root, with a slash at the end, is a folder and every part of it is a
 * folder. */
static bool is_plain_folder(const struct shared_patterns *s, const char *path)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        autofree char *full = mem_printf("%s/%.*s", s->root, (int)(slash - path), path);
        struct stat st;
        if (lstat(full, &st) < 0 || !S_ISDIR(st.st_mode) || has_git(full))
            return false;
    }
    return true;
}

static void add_folder(struct finding *f, size_t pattern, const char *path)
{
    if (f->n == FOLDERS_MAX || overlaps_work(f->s, path) || !is_plain_folder(f->s, path))
        f->rest[pattern] = true;
    else
        f->folders[f->n++] = (struct folder){.path = mem_str(path), .pattern = pattern};
}

/* Adds the entry to which the walk has come if it is a folder that matches. */
static void visit_entry(struct finding *f, size_t pattern, const struct glob *glob, size_t top,
                        FTS *fts, FTSENT *e)
{
    const char *in_project = e->fts_path + top;
    if (e->fts_info != FTS_D || e->fts_level == 0)
        return;
    bool matches = glob_match(glob, in_project);
    if (matches) {
        autofree char *path = mem_printf("%s/", e->fts_path + strlen(f->s->root) + 1);
        add_folder(f, pattern, path);
    }
    bool full = f->n == FOLDERS_MAX;
    f->rest[pattern] = f->rest[pattern] || full; /* other folders may match too */
    if (matches || full || strcmp(e->fts_name, ".git") == 0 || has_git(e->fts_path))
        (void)fts_set(fts, e, FTS_SKIP);
}

/* Adds all folders of the project that match a glob, and none inside them. */
static int find_matches(struct finding *f, size_t pattern, const struct glob *glob, struct err *err)
{
    const struct shared_patterns *s = f->s;
    const char *literal = glob_prefix(glob), *slash = strrchr(literal, '/');
    autofree char *project = mem_printf("%s%s%s", s->root, *s->prefix ? "/" : "", s->prefix);
    autofree char *from = mem_printf("%s%s%.*s", project, slash ? "/" : "",
                                     slash ? (int)(slash - literal) : 0, literal);
    char *const roots[] = {from, NULL};
    autofts FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
    if (!fts)
        return err_sys(err, "look into '%s'", from);
    for (FTSENT *e; (e = fts_read(fts));)
        visit_entry(f, pattern, glob, strlen(project) + 1, fts, e);
    return 0;
}

/* glob_new() rejects patterns that can match nothing. */
static int find_pattern(struct finding *f, size_t i, struct err *err)
{
    const char *pattern = f->s->patterns[i], *prefix = f->s->prefix;
    bool has_text = *pattern, stars = has_text && str_ends(pattern + 1, "/**");
    size_t len = strlen(pattern) - (stars ? 3 : has_text && str_ends(pattern + 1, "/") ? 1 : 0);
    autofree char *name = mem_dup(pattern, len);
    struct glob *glob = *name ? glob_new(name, false) : NULL;
    bool plain = strcspn(name, "*?[\\") == len;
    int rc = 0;
    if (!glob || (!plain && !stars)) {
        f->rest[i] = true;
    } else if (plain) {
        autofree char *path = mem_printf("%s%s%s/", prefix, *prefix ? "/" : "", name);
        add_folder(f, i, path);
    } else {
        rc = find_matches(f, i, glob, err);
    }
    glob_free(glob);
    return rc;
}

static int list_ignored(const struct finding *f, struct buf *ret, struct err *err)
{
    autobuf struct buf in = BUF_INIT;
    autostrv struct strv args = {0};
    for (size_t i = 0; i < f->n; i++)
        buf_add(&in, f->folders[i].path, strlen(f->folders[i].path) + 1);
    strv_pushl(&args, "-C", f->s->root, "check-ignore", "-z", "--stdin", NULL);
    return git_ask_checkout(f->s->root, &args, &in, 1, ret, err); /* 1: git ignores none of them */
}

static int list_tracked(const struct finding *f, struct buf *ret, struct err *err)
{
    autostrv struct strv args = {0};
    strv_pushl(&args, "-C", f->s->root, "ls-files", "-z", "--", NULL);
    for (size_t i = 0; i < f->n; i++)
        strv_pushf(&args, ":(top,literal)%s", f->folders[i].path);
    return git_ask_checkout(f->s->root, &args, NULL, 0, ret, err);
}

/* Adds every folder that contains a path of git's output, or is one. */
static void add_parents(struct map *ret, const struct buf *output)
{
    for (const char *p = output->s; p < output->s + output->len; p += strlen(p) + 1) {
        for (const char *slash = strchr(p, '/'); slash; slash = strchr(slash + 1, '/'))
            (void)map_put(ret, p, (size_t)(slash - p) + 1, ret);
    }
}

static int drop_unfit(struct finding *f, struct err *err)
{
    autobuf struct buf ignored = BUF_INIT, tracked = BUF_INIT;
    automap struct map all_ignored = {0}, some_tracked = {0};
    size_t kept = 0;
    if (list_ignored(f, &ignored, err) || list_tracked(f, &tracked, err))
        return -1;
    for (const char *p = ignored.s; p < ignored.s + ignored.len; p += strlen(p) + 1)
        (void)map_put(&all_ignored, p, strlen(p), f);
    add_parents(&some_tracked, &tracked);
    for (size_t i = 0; i < f->n; i++) {
        struct folder *folder = &f->folders[i];
        size_t len = strlen(folder->path);
        if (map_get(&all_ignored, folder->path, len) && !map_get(&some_tracked, folder->path, len))
            f->folders[kept++] = *folder;
        else
            f->rest[folder->pattern] = true, free(folder->path);
    }
    f->n = kept;
    return 0;
}

static int by_path(const void *a, const void *b)
{
    const struct folder *x = a, *y = b;
    return strcmp(x->path, y->path);
}

/* The folders are sorted, so a nested or equal one follows directly after its parent. */
static void write_results(struct finding *f, struct strv *ret_folders, struct strv *ret_rest)
{
    const char *last = NULL;
    qsort(f->folders, f->n, sizeof(*f->folders), by_path);
    for (size_t i = 0; i < f->n; i++) {
        if (last && are_nested(last, f->folders[i].path))
            continue;
        last = f->folders[i].path;
        strv_push(ret_folders, last);
    }
    for (size_t i = 0; i < f->s->pattern_count; i++) {
        if (f->rest[i])
            strv_push(ret_rest, f->s->patterns[i]);
    }
}

int shared_patterns_find(const struct shared_patterns *s, struct strv *ret_folders,
                         struct strv *ret_rest, struct err *err)
{
    own_cleanup(finding_done) struct finding f = {.s = s};
    f.rest = mem_array(s->pattern_count + 1, sizeof(*f.rest));
    for (size_t i = 0; i < s->pattern_count; i++) {
        if (find_pattern(&f, i, err))
            return -1;
    }
    if (f.n && drop_unfit(&f, err))
        return -1;
    write_results(&f, ret_folders, ret_rest);
    return 0;
}
