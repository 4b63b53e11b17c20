#include "workspace/overlay/upper_scan.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "git/format/index.h"
#include "git/format/tree.h"
#include "sys/contain/overlayfs.h"
#include "sys/fs/beneath.h"
#include "sys/fs/file.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { VERSION = 2, FLAGS = 2 /* bytes between an entry's id and its path */ };

struct scan {
    struct work_scan *found;
    const struct tracked *tracked;
    size_t root; /* length of the upper folder's path with the slash */
};

void tracked_close(struct tracked *t)
{
    git_index_done(&t->index);
    vec_done(&t->paths);
    *t = (struct tracked)TRACKED_INIT;
}

static bool read_paths(struct tracked *t, const char *tree)
{
    autobuf struct buf id = BUF_INIT;
    bool good = t->index.good && t->index.version == VERSION;
    t->no_attributes = true;
    for (struct git_index_entry e; good && git_index_next(&t->index, &e);) {
        good = git_index_is_plain(&e);
        t->no_attributes = t->no_attributes && !git_index_is_attributes(e.path);
        vec_push(&t->paths, (const char *)e.id + t->index.id_len + FLAGS);
    }
    const unsigned char *root = good && t->index.good ? git_index_root(&t->index) : NULL;
    if (root)
        tree_id(&id, root, t->index.id_len);
    return root && strcmp(id.s, tree) == 0;
}

bool tracked_open(struct tracked *t, const char *index, const char *tree)
{
    *t = (struct tracked)TRACKED_INIT;
    return git_index_open(&t->index, index, strlen(tree), NULL) == 0 && read_paths(t, tree);
}

/* The index of the first tracked path that is not less than `path`. */
static size_t lower_bound(const struct scan *s, const char *path)
{
    size_t low = 0, high = s->tracked->paths.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(s->tracked->paths.v[middle], path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_tracked(const struct scan *s, const char *path)
{
    size_t i = lower_bound(s, path);
    return i < s->tracked->paths.n && strcmp(s->tracked->paths.v[i], path) == 0;
}

/* Returns the index of the first tracked path below a folder, and in *ret_end the index after the
 * last. */
static size_t find_below(const struct scan *s, const char *path, size_t *ret_end)
{
    autofree char *inside = mem_printf("%s/", path);
    size_t len = strlen(inside), first = lower_bound(s, inside);
    for (*ret_end = first; *ret_end < s->tracked->paths.n; ++*ret_end) {
        if (strncmp(s->tracked->paths.v[*ret_end], inside, len) != 0)
            break;
    }
    return first;
}

static bool has_below(const struct scan *s, const char *path)
{
    autofree char *inside = mem_printf("%s/", path);
    size_t i = lower_bound(s, inside);
    return i < s->tracked->paths.n && strncmp(s->tracked->paths.v[i], inside, strlen(inside)) == 0;
}

static bool add_path(struct scan *s, struct strv *list, const char *path, const char *end)
{
    strv_pushf(list, "%s%s", path, end);
    return s->found->changed.n + s->found->untracked.n <= WORK_SCAN_MAX;
}

static bool add_whiteout(struct scan *s, const char *path)
{
    if (is_tracked(s, path))
        return add_path(s, &s->found->changed, path, "");
    return !has_below(s, path) || add_path(s, &s->found->changed, path, "/");
}

static bool add_file(struct scan *s, const char *path)
{
    if (is_tracked(s, path))
        return add_path(s, &s->found->changed, path, "");
    if (has_below(s, path) && !add_path(s, &s->found->changed, path, "/"))
        return false;
    return add_path(s, &s->found->untracked, path, "");
}

static bool is_in_upper(const struct scan *s, const FTSENT *folder, const char *path)
{
    autofree char *full = mem_printf("%.*s%s", (int)s->root, folder->fts_path, path);
    return file_exists(full);
}

/* Adds tracked paths that the folder hides and does not contain. The walk comes to its other files
 * later. */
static bool add_hidden(struct scan *s, const FTSENT *folder, const char *path)
{
    size_t end, i = find_below(s, path, &end);
    for (; i < end; i++) {
        if (!is_in_upper(s, folder, s->tracked->paths.v[i]) &&
            !add_path(s, &s->found->changed, s->tracked->paths.v[i], ""))
            return false;
    }
    return true;
}

/* Adds a new folder as one path, whatever it contains. */
static bool add_upper_folder(struct scan *s, FTS *fts, FTSENT *e, const char *path)
{
    enum overlay_folder kind = overlay_folder(e->fts_accpath);
    bool was_file = is_tracked(s, path);
    if (kind == OVERLAY_MOVED)
        return false;
    if (was_file || !has_below(s, path)) {
        (void)fts_set(fts, e, FTS_SKIP);
        return add_path(s, was_file ? &s->found->changed : &s->found->untracked, path,
                        was_file ? "" : "/");
    }
    return kind == OVERLAY_MERGED || add_hidden(s, e, path);
}

static bool add_entry(struct scan *s, FTS *fts, FTSENT *e)
{
    if (e->fts_level == 0)
        return e->fts_info == FTS_D || e->fts_info == FTS_DP;
    const char *path = e->fts_path + s->root;
    if (e->fts_level == 1 && strcmp(e->fts_name, ".git") == 0) {
        (void)fts_set(fts, e, FTS_SKIP);
        return true;
    }
    switch (e->fts_info) {
    case FTS_D:
        return add_upper_folder(s, fts, e, path);
    case FTS_DP:
        return true;
    case FTS_F:
    case FTS_SL:
    case FTS_SLNONE:
    case FTS_DEFAULT:
        return overlay_is_whiteout(e->fts_statp) ? add_whiteout(s, path) : add_file(s, path);
    default:
        return false;
    }
}

static bool scan_upper(struct scan *s, const char *upper)
{
    char *const roots[] = {(char *)upper, NULL};
    autofts FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    bool good = fts;
    FTSENT *e = NULL;
    s->root = strlen(upper) + 1;
    while (good && (errno = 0, e = fts_read(fts)))
        good = add_entry(s, fts, e);
    return good && !errno;
}

bool upper_scan_open(struct work_scan *s, const char *upper, const struct tracked *t)
{
    struct scan scan = {.found = s, .tracked = t};
    autoclose int folder = -1;
    *s = (struct work_scan){.no_attributes = t->no_attributes};
    if (beneath_folder(upper, &folder, NULL))
        return false;
    char name[BENEATH_NAME];
    beneath_name(folder, name);
    autofree char *path = mem_printf(
        "%s/.",
        *name ? name
              : upper); /* use the folder that we opened, even if another one takes its name */
    return scan_upper(&scan, path);
}
