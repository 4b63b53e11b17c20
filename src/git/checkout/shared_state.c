#include "git/checkout/shared_state.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "sys/clock.h"
#include "sys/fs/file.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum {
    CONTENT_MAX = 1 << 20, /* of the contents that we keep */
    REF_MAX = 64 << 10,    /* a larger file is not a ref ... */
    TEXT_MAX = 64 << 20,   /* ... and not a configuration: git would read all of it */
    SETTLED_S = 2,
    OWN_LEVEL = 2, /* level of refs/anabranch/NAME */
};

static const char own_refs[] = "refs/anabranch/";

/* The files to check; folders are walked. */
static const char *const roots[] = {
    "HEAD",    "config",          "config.worktree",         "hooks",
    "info",    "logs/refs/stash", "objects/info/alternates", "refs",
    "shallow", "worktrees",
};
enum { ROOTS = ARRAY_LEN(roots) };

void git_changes_done(struct git_changes *changes)
{
    arena_done(&changes->arena);
    vec_done(&changes->list);
    strv_done(&changes->odd);
}

static void free_entries(struct git_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(entries[i].name);
        free(entries[i].s);
    }
    free(entries);
}

void shared_state_close(struct shared_state *state)
{
    free_entries(state->entries.v, state->entries.n);
    packed_refs_done(&state->packed);
    free(state->common);
    *state = (struct shared_state){.packed = PACKED_REFS_INIT};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct git_entry *)a)->name, ((const struct git_entry *)b)->name);
}

static struct git_entry *find_entry(const struct git_entry *entries, size_t n, const char *name)
{
    struct git_entry key = {.name = (char *)name};
    return n ? bsearch(&key, entries, n, sizeof(*entries), by_name) : NULL;
}

static struct git_content get_content(const struct git_entry *e)
{
    return e ? (struct git_content){.s = e->s, .len = e->len, .mode = e->mode}
             : (struct git_content){0};
}

struct git_content shared_state_get(const struct shared_state *state, const char *name)
{
    return get_content(find_entry(state->entries.v, state->entries.n, name));
}

static struct git_stamp get_stamp(const struct stat *st, const struct timespec *now)
{
    return (struct git_stamp){.dev = st->st_dev,
                              .ino = st->st_ino,
                              .size = st->st_size,
                              .mtime = st->st_mtim,
                              .ctime = st->st_ctim,
                              .settled = now->tv_sec - st->st_ctim.tv_sec > SETTLED_S};
}

static bool is_known(const struct git_stamp *was, const struct git_stamp *is)
{
    return was->settled && was->dev == is->dev && was->ino == is->ino && was->size == is->size &&
           clock_same(&was->mtime, &is->mtime) && clock_same(&was->ctime, &is->ctime);
}

struct snapshot {
    struct shared_state *state;
    struct timespec now;
    bool tables; /* refs are kept in tables */
    git_entries entries;
    struct packed_refs packed;
    struct git_stamp packed_stamp;
    bool packed_known; /* `packed` is not read: nothing changed */
    struct git_changes *changes;
};

/* Files that git writes for clients that fetch over plain HTTP. Each `git gc` rewrites them, by way
 * of info/refs_XXXXXX. */
static bool is_servers_list(const char *name)
{
    return strcmp(name, "info/refs") == 0 || str_begins(name, "info/refs_");
}

/* The part that a file belongs to; false: not checked. */
static bool get_part(const struct snapshot *l, const char *name, enum git_part *ret)
{
    *ret = GIT_PART_FILE;
    if (str_begins(name, "refs/"))
        *ret = GIT_PART_REF;
    else if (str_begins(name, "hooks/"))
        *ret = GIT_PART_HOOK;
    else if (strcmp(name, "HEAD") == 0 || str_ends(name, "/HEAD"))
        *ret = GIT_PART_HEAD;
    else if (strcmp(name, "config") == 0 || str_ends(name, "config.worktree"))
        *ret = GIT_PART_CONFIG;
    else if (strcmp(name, "logs/refs/stash") == 0)
        *ret = GIT_PART_STASH;
    bool one_line = *ret == GIT_PART_REF || *ret == GIT_PART_HEAD;
    if (str_ends(name, ".lock") || is_servers_list(name) || (l->tables && one_line))
        return false;
    if (str_begins(name, "worktrees/"))
        return *ret == GIT_PART_HEAD || *ret == GIT_PART_CONFIG;
    return *ret != GIT_PART_HOOK || !str_ends(name, ".sample");
}

/* True for our own refs, and folders of them, that nobody watches: "refs/anabranch/modules". */
static bool is_own(const char *name)
{
    static const char *const watched[] = {"salvage", "runs"};
    for (size_t i = 0; str_begins(name, own_refs) && i < ARRAY_LEN(watched); i++) {
        if (str_is_in(name + strlen(own_refs), watched[i]))
            return false;
    }
    return str_begins(name, own_refs) || str_begins(name, "refs/heads/anabranch/");
}

static bool is_left_out(const FTSENT *e, const char *name)
{
    if (str_begins(name, "worktrees/"))
        return e->fts_level > 1;
    if (e->fts_level == OWN_LEVEL && str_begins(name, own_refs))
        return is_own(name);
    return strcmp(name, "refs/heads/anabranch") == 0;
}

/* For a symlink, reads its target. For a file that is too large, or no regular file, uses size and
 * time instead of the content. */
static int read_content(const FTSENT *e, struct buf *out, struct err *err)
{
    const struct stat *st = e->fts_statp;
    if (S_ISLNK(st->st_mode)) {
        buf_addstr(out, "-> ");
        return file_read_link(AT_FDCWD, e->fts_accpath, out)
                   ? err_sys(err, "read link '%s'", e->fts_accpath)
                   : 0;
    }
    if (S_ISREG(st->st_mode) && st->st_size <= CONTENT_MAX)
        return file_read_own(e->fts_accpath, CONTENT_MAX, out, err);
    buf_addf(out, "%lld bytes of %lld.%09ld", (long long)st->st_size, (long long)st->st_mtime,
             st->st_mtim.tv_nsec);
    return 0;
}

/* The file has gone meanwhile or we may not read it: there is nothing to compare. */
static bool is_ignored_error(int errnum)
{
    return errnum == ENOENT || errnum == EACCES;
}

static int add_entry(struct snapshot *l, const FTSENT *e, const char *name, struct err *err)
{
    struct git_entry *was = find_entry(l->state->entries.v, l->state->entries.n, name), now = {0};
    autobuf struct buf content = BUF_INIT;
    struct err why = {0};
    if (!get_part(l, name, &now.part))
        return 0;
    now.stamp = get_stamp(e->fts_statp, &l->now);
    now.mode = e->fts_statp->st_mode;
    if (was && is_known(&was->stamp, &now.stamp))
        buf_add(&content, was->s, was->len);
    else if (read_content(e, &content, &why))
        return is_ignored_error(why.errnum) ? 0 : err_set(err, why.code, "%s", why.msg);
    if (now.part == GIT_PART_REF || now.part == GIT_PART_HEAD)
        buf_cut(&content, strcspn(content.s, "\n"));
    now.len = content.len;
    now.s = buf_steal(&content);
    now.name = mem_str(name);
    vec_push(&l->entries, now);
    return 0;
}

/* True if git would wait for it or read it without an end. */
static bool is_odd(const struct snapshot *l, const FTSENT *e, const char *name)
{
    enum git_part part;
    struct stat st = *e->fts_statp;
    if (!get_part(l, name, &part) || (S_ISLNK(st.st_mode) && stat(e->fts_accpath, &st) < 0))
        return false;
    off_t max = part == GIT_PART_REF || part == GIT_PART_HEAD ? REF_MAX : TEXT_MAX;
    bool large = st.st_size > max && part != GIT_PART_HOOK && part != GIT_PART_STASH;
    return !S_ISDIR(st.st_mode) && (!S_ISREG(st.st_mode) || large);
}

/* True if the last snapshot holds all of a file. */
static bool has_whole_content(const struct git_entry *was)
{
    return was && S_ISREG(was->mode) && was->stamp.size <= CONTENT_MAX;
}

static int restore_file(const char *path, const struct git_entry *was, struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    buf_add(&text, was->s, was->len);
    if (was->part == GIT_PART_REF || was->part == GIT_PART_HEAD)
        buf_addch(&text, '\n');
    return file_create(path, text.s, text.len, err) ||
                   (chmod(path, was->mode & 07777) < 0 && err_sys(err, "chmod '%s'", path))
               ? -1
               : 0;
}

/* Restores the file of an odd entry and keeps the entry. */
static int restore_entry(struct snapshot *l, const char *path, const struct git_entry *was,
                         struct err *err)
{
    struct git_entry now = *was;
    struct stat st;
    if (restore_file(path, was, err))
        return -1;
    if (lstat(path, &st) < 0)
        return err_sys(err, "look at '%s'", path);
    now.stamp = get_stamp(&st, &l->now);
    now.name = mem_str(was->name);
    now.s = mem_dup(was->s, was->len);
    vec_push(&l->entries, now);
    return 0;
}

static int remove_odd(struct snapshot *l, const FTSENT *e, const char *name, struct err *err)
{
    const struct git_entry *was = find_entry(l->state->entries.v, l->state->entries.n, name);
    if (unlink(e->fts_path) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", e->fts_path);
    if (l->changes)
        strv_push(&l->changes->odd, name);
    return has_whole_content(was) ? restore_entry(l, e->fts_path, was, err) : 0;
}

static int visit_file(struct snapshot *l, FTS *fts, FTSENT *e, struct err *err)
{
    const char *name = e->fts_path + strlen(l->state->common) + 1;
    switch (e->fts_info) {
    case FTS_D:
        if (is_left_out(e, name))
            (void)fts_set(fts, e, FTS_SKIP);
        return 0;
    case FTS_DP:
        return 0;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        errno = e->fts_errno;
        return is_ignored_error(errno) ? 0 : err_sys(err, "look at '%s'", e->fts_path);
    default:
        return is_odd(l, e, name) ? remove_odd(l, e, name, err) : add_entry(l, e, name, err);
    }
}

static int walk_files(struct snapshot *l, struct err *err)
{
    char *paths[ROOTS + 1] = {0};
    for (size_t i = 0; i < ROOTS; i++)
        paths[i] = mem_printf("%s/%s", l->state->common, roots[i]);
    autofts FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    int rc = fts ? 0 : err_sys(err, "look into '%s'", l->state->common);
    for (FTSENT *e; rc == 0 && (e = fts_read(fts));)
        rc = visit_file(l, fts, e, err);
    for (size_t i = 0; i < ROOTS; i++)
        free(paths[i]);
    if (rc == 0 && l->entries.n)
        qsort(l->entries.v, l->entries.n, sizeof(*l->entries.v), by_name);
    return rc;
}

static int ask_git(const struct snapshot *l, struct buf *out, struct err *err)
{
    struct git_place at = {.git_dir = l->state->common};
    autostrv struct strv args = {0};
    autobuf struct buf head = BUF_INIT;
    int status;
    strv_pushl(&args, "symbolic-ref", "-q", "HEAD", NULL);
    if (git_try(&at, &args, &head, NULL, &status, err))
        return -1;
    buf_cut(&head, strcspn(head.s, "\n"));
    if (status == 0)
        buf_addf(out, "ref: %s HEAD\n", head.s);
    return git_call(&at, out, err, "for-each-ref", "--format=%(objectname) %(refname)", NULL);
}

static bool uses_tables(const struct shared_state *state)
{
    autofree char *path = mem_printf("%s/reftable/tables.list", state->common);
    return access(path, F_OK) == 0;
}

/* If packed-refs is not a regular file, replaces it with its last content. */
static int repair_packed(struct snapshot *l, const char *path, struct err *err)
{
    const struct packed_refs *was = &l->state->packed;
    autobuf struct buf text = BUF_INIT;
    struct stat st;
    if (l->tables || lstat(path, &st) < 0 || S_ISREG(st.st_mode) ||
        (S_ISLNK(st.st_mode) && (stat(path, &st) < 0 || S_ISREG(st.st_mode))))
        return 0;
    if (unlink(path) < 0)
        return err_sys(err, "remove '%s'", path);
    if (l->changes)
        strv_push(&l->changes->odd, "packed-refs");
    for (size_t i = 0; i < was->refs.n; i++)
        buf_addf(&text, "%s %s\n", was->refs.v[i].value, was->refs.v[i].name);
    return text.len ? file_create(path, text.s, text.len, err) : 0;
}

/* The stat data of one file shows if packed refs have changed. */
static int read_packed(struct snapshot *l, struct err *err)
{
    const char *name = l->tables ? "reftable/tables.list" : "packed-refs";
    autofree char *path = mem_printf("%s/%s", l->state->common, name);
    autobuf struct buf text = BUF_INIT;
    struct stat st = {0};
    if (repair_packed(l, path, err))
        return -1;
    if (stat(path, &st) < 0 && errno != ENOENT)
        return err_sys(err, "look at '%s'", path);
    l->packed_stamp = get_stamp(&st, &l->now);
    l->packed_known = is_known(&l->state->packed_stamp, &l->packed_stamp);
    if (l->packed_known || !st.st_ino)
        return 0;
    if (l->tables ? ask_git(l, &text, err) : file_read(path, FILE_LARGE, &text, err))
        return -1;
    packed_refs_parse(&l->packed, &text);
    return 0;
}

static struct git_content copy_content(struct arena *a, struct git_content c)
{
    if (c.s)
        c.s = arena_dup(a, c.s, c.len);
    return c;
}

static void add_change(struct snapshot *l, enum git_part part, const char *name,
                       struct git_content from, struct git_content to)
{
    struct arena *a = &l->changes->arena;
    bool same_mode = from.mode == to.mode || part != GIT_PART_HOOK;
    if (from.s && to.s && from.len == to.len && memcmp(from.s, to.s, to.len) == 0 && same_mode)
        return;
    if (from.s || to.s)
        vec_push(&l->changes->list,
                 (struct git_change){part, arena_str(a, name), copy_content(a, from),
                                     copy_content(a, to)});
}

static struct git_content get_packed_content(const struct packed_refs *p, const char *name)
{
    const char *value = packed_refs_get(p, name);
    return (struct git_content){.s = value, .len = value ? strlen(value) : 0};
}

/* `either` is `was` or `is`, and never NULL. */
static void compare_entry(struct snapshot *l, const struct git_entry *either,
                          const struct git_entry *was, const struct git_entry *is)
{
    struct git_content from = get_content(was), to = get_content(is);
    const struct packed_refs *packed = l->packed_known ? &l->state->packed : &l->packed;
    if (!was && either->part == GIT_PART_REF)
        from = get_packed_content(&l->state->packed, either->name);
    if (!is && either->part == GIT_PART_REF)
        to = get_packed_content(packed, either->name);
    add_change(l, either->part, either->name, from, to);
}

/* Skips refs that are or were files: compare_entry() has compared these. */
static void compare_packed(void *ctx, const char *name, const char *from, const char *to)
{
    struct snapshot *l = ctx;
    bool head = strcmp(name, "HEAD") == 0;
    if (is_own(name) || find_entry(l->state->entries.v, l->state->entries.n, name) ||
        find_entry(l->entries.v, l->entries.n, name))
        return;
    add_change(l, head ? GIT_PART_HEAD : GIT_PART_REF, name,
               (struct git_content){.s = from, .len = from ? strlen(from) : 0},
               (struct git_content){.s = to, .len = to ? strlen(to) : 0});
}

static void compare_snapshots(struct snapshot *l)
{
    const struct shared_state *s = l->state;
    for (size_t i = 0, k = 0; i < s->entries.n || k < l->entries.n;) {
        const struct git_entry *was = i < s->entries.n ? &s->entries.v[i] : NULL;
        const struct git_entry *is = k < l->entries.n ? &l->entries.v[k] : NULL;
        int order = !was ? 1 : !is ? -1 : by_name(was, is);
        i += order <= 0;
        k += order >= 0;
        const struct git_entry *either = order <= 0 ? was : is;
        if (either)
            compare_entry(l, either, order <= 0 ? was : NULL, order >= 0 ? is : NULL);
    }
    if (!l->packed_known)
        packed_refs_compare(&s->packed, &l->packed, compare_packed, l);
}

static void replace_snapshot(struct snapshot *l)
{
    struct shared_state *s = l->state;
    free_entries(s->entries.v, s->entries.n);
    s->entries = l->entries;
    s->packed_stamp = l->packed_stamp;
    s->tables = l->tables;
    if (l->packed_known)
        return;
    packed_refs_done(&s->packed);
    s->packed = l->packed;
}

static int take_snapshot(struct shared_state *state, struct git_changes *changes, struct err *err)
{
    struct snapshot l = {.state = state,
                         .changes = changes,
                         .packed = PACKED_REFS_INIT,
                         .tables = uses_tables(state)};
    if (clock_gettime(CLOCK_REALTIME, &l.now) < 0)
        return err_sys(err, "read the clock");
    /* Read files first, then packed refs: git first packs a ref, then deletes its file. */
    if (walk_files(&l, err) || read_packed(&l, err)) {
        free_entries(l.entries.v, l.entries.n);
        packed_refs_done(&l.packed);
        return -1;
    }
    if (changes)
        compare_snapshots(&l);
    replace_snapshot(&l);
    return 0;
}

void shared_state_note_ref(struct shared_state *state, const char *ref, const char *commit)
{
    struct git_entry *e = find_entry(state->entries.v, state->entries.n, ref);
    size_t n = state->entries.n, i = n;
    if (state->tables)
        return;
    if (!e) {
        vec_push(&state->entries, (struct git_entry){0});
        while (i && strcmp(state->entries.v[i - 1].name, ref) > 0)
            i--;
        e = &state->entries.v[i];
        memmove(e + 1, e, (n - i) * sizeof(*e));
        *e = (struct git_entry){.part = GIT_PART_REF, .name = mem_str(ref)};
    }
    free(e->s);
    e->s = mem_str(commit);
    e->len = strlen(commit);
    e->stamp = (struct git_stamp){0};
}

int shared_state_look(struct shared_state *state, struct git_changes *changes, struct err *err)
{
    return take_snapshot(state, changes, err);
}

int shared_state_open(struct shared_state *state, const char *common, struct err *err)
{
    *state = (struct shared_state){.common = mem_str(common), .packed = PACKED_REFS_INIT};
    if (take_snapshot(state, NULL, err) == 0)
        return 0;
    shared_state_close(state);
    return -1;
}
