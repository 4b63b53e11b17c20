#include "workspace/commit/vault.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/own.h"
#include "git/state_paths.h"
#include "git/unsynced.h"
#include "sys/fs/dirs.h"
#include "sys/own_dir.h"
#include "workspace/commit/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_MAX = 1 << 20, DEPTH = 3 }; /* RUN/TASK/ATTEMPT */

#define LOCK ".lock"

static char *get_vault_dir(const struct git_place *at)
{
    return state_file_path(at->git_dir, "vault");
}

static bool is_branch(const char *ref)
{
    return strncmp(ref, VAULT_BRANCHES, strlen(VAULT_BRANCHES)) == 0;
}

/* A salvage has several refs, but one bundle: "RUN/TASK/1", "RUN/TASK/1.commits",
 * "RUN/TASK/1.nested/2". */
static char *get_bundle_path(const struct git_place *at, const char *ref)
{
    autofree char *dir = get_vault_dir(at);
    if (is_branch(ref))
        return mem_printf("%s/%s/branch" VAULT_ENDING, dir, ref + strlen(VAULT_BRANCHES));
    const char *id = ref + strlen(SALVAGE_REFS), *name = id;
    for (int i = 1; i < DEPTH && strchr(name, '/'); i++)
        name = strchr(name, '/') + 1;
    size_t len = (size_t)(name - id) + strcspn(name, "./");
    return mem_printf("%s/%.*s%s", dir, (int)len, id, VAULT_ENDING);
}

/* An agent may have replaced the bundle by anything, so we read it with care. */
static int read_header(const char *path, struct buf *out, struct err *err)
{
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, "open '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_ENV, "'%s' is not a file", path);
    for (ssize_t n = 1; n && out->len < HEADER_MAX && !strstr(out->s, "\n\n");) {
        buf_reserve(out, 4096);
        n = read(fd, out->s + out->len, 4096);
        if (n < 0)
            return err_sys(err, "read '%s'", path);
        out->len += (size_t)n;
        out->s[out->len] = '\0';
    }
    char *end = strstr(out->s, "\n\n");
    if (!end || strncmp(out->s, "# v", 3) != 0)
        return err_set(err, ERR_ENV, "'%s' is no longer a bundle", path);
    buf_cut(out, (size_t)(end + 1 - out->s));
    return 0;
}

/* An agent may have replaced a folder by a symlink, so we check all of them. */
static int check_folders(const struct git_place *at, const char *dir, struct err *err)
{
    autofree char *path = mem_str(dir), *vault = get_vault_dir(at);
    for (size_t len = strlen(vault); strlen(path) >= len; *strrchr(path, '/') = '\0') {
        struct stat st;
        if (lstat(path, &st) < 0)
            return err_sys(err, "look at '%s'", path);
        if (!S_ISDIR(st.st_mode))
            return err_set(err, ERR_ENV, "'%s' is not a folder", path);
    }
    return 0;
}

/* Nobody else makes this bundle, so a lock on it comes from a git process that was killed. */
static int make_bundle(const struct git_place *at, const char *path, const char *ref,
                       const char *start, struct err *err)
{
    autofree char *others = mem_printf("--glob=%s.*", ref), *from = mem_printf("^%s", start);
    autofree char *lock = mem_printf("%s" LOCK, path);
    if (unlink(lock) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", lock);
    int rc = git_call(at, NULL, err, "bundle", "create", "--quiet", path, ref, others, from, NULL);
    (void)unlink(lock);
    return rc;
}

/* True if the bundle's header has a line for this ref at this commit. */
static bool has_commit(const char *path, const char *ref, const char *commit)
{
    autobuf struct buf header = BUF_INIT;
    autofree char *line = mem_printf("\n%s %s\n", commit, ref);
    return read_header(path, &header, NULL) == 0 && strstr(header.s, line);
}

static bool is_in_history(const struct git_place *at, const char *commit, const char *start)
{
    bool yes = false;
    return git_is_ancestor(at, commit, start, &yes, NULL) == 0 && yes;
}

/* If somebody moves the ref before git has read it, the bundle does not have our commit. Then we
 * restore the ref and try again. */
static int make_checked_bundle(const struct git_place *at, const char *ref, const char *commit,
                               const char *start, bool *ret_moved, struct err *err)
{
    enum { TRIES = 5 };
    autofree char *path = get_bundle_path(at, ref);
    autofree char *dir = mem_dup(path, (size_t)(strrchr(path, '/') - path));
    if (dirs_make(dir, err) || check_folders(at, dir, err))
        return -1;
    for (int tries = 0; tries < TRIES; tries++) {
        *ret_moved = tries > 0;
        if (make_bundle(at, path, ref, start, err) == 0 && has_commit(path, ref, commit))
            return 0;
        if (is_in_history(at, commit, start)) /* git refuses to make an empty bundle */
            return 0;
        if (git_call(at, NULL, err, "update-ref", "--no-deref", ref, commit, NULL))
            return -1;
    }
    return -1;
}

/* Fails if somebody has deleted objects of the commit. */
static int check_complete(const struct git_place *at, const char *commit, const char *start,
                          struct err *err)
{
    autofree char *from = mem_printf("^%s", start);
    return git_call(at, NULL, err, "rev-list", "--objects", "--quiet", commit, from, NULL);
}

int vault_keep(const struct git_place *at, const char *ref, const char *commit, const char *start,
               struct err *ret_note, struct err *err)
{
    struct git_place place = {.git_dir = at->git_dir};
    struct err why = {0};
    bool moved = false;
    *ret_note = (struct err){0};
    unsynced_note();
    if (make_checked_bundle(&place, ref, commit, start, &moved, &why)) {
        (void)err_set(ret_note, ERR_ENV, "the vault has no copy of %s: %s", ref, why.msg);
        return check_complete(&place, commit, start, err);
    }
    if (moved)
        (void)err_set(ret_note, ERR_ENV, "another program had deleted or moved %s: it is restored",
                      ref);
    return 0;
}

int vault_tidy(const struct git_place *at, const char *run, struct err *err)
{
    autofree char *dir = get_vault_dir(at), *of_run = mem_printf("%s/%s", dir, run);
    return dirs_remove_endings(of_run, LOCK, err);
}

int vault_drop(const struct git_place *at, const char *ref, struct err *err)
{
    autofree char *path = get_bundle_path(at, ref);
    autofree char *dir = mem_dup(path, (size_t)(strrchr(path, '/') - path));
    if (access(dir, F_OK) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(err, "look at '%s'", dir);
    if (check_folders(at, dir, err))
        return -1;
    if (unlink(path) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(err, "remove '%s'", path);
    for (int i = 1; i < DEPTH; i++) { /* removes only empty folders */
        *strrchr(path, '/') = '\0';
        if (rmdir(path) < 0)
            break;
    }
    return 0;
}

struct restorer {
    struct git_place at;
    const char *below; /* prefix of the refs that we restore */
    struct map refs;   /* commit of each ref */
    char *text;        /* the text to which `refs` points */
    struct strv *restored;
};

/* Reads the refs of all salvages: "ID REF" each. */
static int read_refs(struct restorer *m, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    if (git_call(&m->at, &out, err, "for-each-ref", "--format=%(objectname) %(refname)", m->below,
                 NULL))
        return -1;
    m->text = buf_steal(&out);
    for (char *next = m->text, *line; next && (line = strsep(&next, "\n"));) {
        char *ref = strchr(line, ' ');
        if (!ref)
            continue;
        *ref++ = '\0';
        (void)map_put(&m->refs, ref, strlen(ref), line);
    }
    return 0;
}

/* Splits a header line "ID REF" into its parts and returns REF; NULL if the line is not a ref of
 * this bundle. */
static char *parse_ref(const struct restorer *m, const char *path, char *line)
{
    char *ref = strchr(line, ' ');
    if (*line == '-' || *line == '#' || *line == '@' || !ref ||
        strncmp(ref + 1, m->below, strlen(m->below)) != 0)
        return NULL;
    autofree char *own = get_bundle_path(&m->at, ref + 1);
    *ref++ = '\0';
    return strcmp(own, path) == 0 ? ref : NULL;
}

static bool is_at(const struct restorer *m, const char *ref, const char *id)
{
    const char *now = map_get(&m->refs, ref, strlen(ref));
    return now && strcmp(now, id) == 0;
}

/* Appends the refs that are missing or elsewhere, as pairs of id and ref. */
static void find_missing(const struct restorer *m, const char *path, char *header, struct strv *out)
{
    for (char *next = header, *line; next && (line = strsep(&next, "\n"));) {
        const char *ref = parse_ref(m, path, line);
        if (!ref || is_at(m, ref, line))
            continue;
        strv_push(out, line);
        strv_push(out, ref);
    }
}

static int restore_bundle(struct restorer *m, const char *path, struct err *err)
{
    autobuf struct buf header = BUF_INIT;
    autostrv struct strv missing = {0};
    if (read_header(path, &header, err))
        return -1;
    find_missing(m, path, header.s, &missing);
    if (missing.n && git_call(&m->at, NULL, err, "bundle", "unbundle", path, NULL))
        return -1;
    for (size_t i = 0; i + 1 < missing.n; i += 2) {
        if (git_call(&m->at, NULL, err, "update-ref", "--no-deref", "-m", "anabranch: restore",
                     missing.v[i + 1], missing.v[i], NULL))
            return -1;
        strv_push(m->restored, missing.v[i + 1]);
    }
    return 0;
}

static bool is_bundle(const FTSENT *e)
{
    size_t len = strlen(e->fts_name), n = strlen(VAULT_ENDING);
    return e->fts_info == FTS_F && e->fts_level == DEPTH && len > n &&
           strcmp(e->fts_name + len - n, VAULT_ENDING) == 0;
}

/* Continues after a bundle that it cannot read; reports the first failure. */
static int restore_all(struct restorer *m, const char *dir, struct err *err)
{
    char *const paths[] = {(char *)dir, NULL};
    int rc = 0;
    autofts FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!fts)
        return err_sys(err, "look into '%s'", dir);
    for (FTSENT *e; (e = fts_read(fts));) {
        if (e->fts_info == FTS_D && e->fts_level >= DEPTH)
            (void)fts_set(fts, e, FTS_SKIP);
        else if (is_bundle(e) && restore_bundle(m, e->fts_path, rc ? NULL : err))
            rc = -1;
    }
    return rc;
}

int vault_restore(const struct git_place *at, const char *ref, struct strv *ret_refs,
                  struct err *err)
{
    autofree char *dir = get_vault_dir(at), *path = ref ? get_bundle_path(at, ref) : mem_str(dir);
    struct restorer m = {.at = {.git_dir = at->git_dir},
                         .below = ref && is_branch(ref) ? ref : SALVAGE_REFS,
                         .restored = ret_refs};
    if (access(path, F_OK) < 0)
        return 0;
    int rc = read_refs(&m, err);
    if (rc == 0)
        rc = ref ? restore_bundle(&m, path, err) : restore_all(&m, dir, err);
    map_done(&m.refs);
    free(m.text);
    return rc;
}
