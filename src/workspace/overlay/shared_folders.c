#include "workspace/overlay/shared_folders.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/hash.h"
#include "base/vec.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "sys/proc/boot_id.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DIGITS = 16, /* in each half of a key */
    KEEP = 2,    /* unused copies that we keep of each folder */
    SLACK = 2,   /* seconds by which a file system's clock may be behind */
    LOCK_FILE_MAX = 64 << 20,
    LIST_MAX = 1 << 20,
    DONE_MAX = 256,
};

/* Lock files of package managers: they list all installed packages. */
static const char *const lock_files[] = {
    "Cargo.lock",        "Gemfile.lock",
    "Pipfile.lock",      "bun.lock",
    "bun.lockb",         "composer.lock",
    "deno.lock",         "go.sum",
    "mix.lock",          "npm-shrinkwrap.json",
    "package-lock.json", "packages.lock.json",
    "pdm.lock",          "pnpm-lock.yaml",
    "poetry.lock",       "pubspec.lock",
    "requirements.txt",  "uv.lock",
    "yarn.lock",
};

static void add_hash(struct buf *out, const void *bytes, size_t len)
{
    char hex[HASH_SHA256_DIGITS + 1];
    sha256_hex(bytes, len, hex);
    buf_add(out, hex, DIGITS);
}

/* A lock file that we cannot read counts as missing: the key only saves work. */
static void add_lock_files(struct buf *out, const char *folder)
{
    int len = (int)(strrchr(folder, '/') - folder);
    autobuf struct buf all = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(lock_files); i++) {
        autofree char *path = mem_printf("%.*s/%s", len, folder, lock_files[i]);
        autobuf struct buf text = BUF_INIT;
        if (access(path, F_OK) < 0 || file_read(path, LOCK_FILE_MAX, &text, NULL))
            continue;
        buf_addf(&all, "%s %zu\n", lock_files[i], text.len);
        buf_add(&all, text.s, text.len);
    }
    add_hash(out, all.s, all.len);
}

static void make_key(const char *root, const char *path, struct buf *ret)
{
    autofree char *folder = mem_printf("%s/%s", root, path);
    add_hash(ret, folder, strlen(folder));
    buf_addch(ret, '-');
    add_lock_files(ret, folder);
}

bool shared_folders_is_name(const char *name)
{
    static const char hex[] = "0123456789abcdef";
    return strspn(name, hex) == DIGITS && name[DIGITS] == '-' &&
           strspn(name + DIGITS + 1, hex) == DIGITS;
}

static char *get_part_path(const struct shared_folders *k, const char *name, const char *file)
{
    return mem_printf("%s/%s/%s", k->dir, name, file);
}

static bool is_use_alive(const char *path, const struct buf *text)
{
    autoclose int lock = -1;
    return access(text->s, F_OK) == 0 || dirs_try_lock(path, &lock, NULL) || lock < 0;
}

/* Reads what a run has recorded: its folder, then names, each followed by a NUL. */
static int read_use(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct shared_folders *k = ctx;
    autofree char *path = mem_printf("%s/%s", dir, name);
    autobuf struct buf text = BUF_INIT;
    if (file_read(path, LIST_MAX, &text, err))
        return -1;
    if (!is_use_alive(path, &text)) {
        (void)unlink(path); /* if this fails, the next process tries again */
        return 0;
    }
    const char *end = text.s + text.len;
    for (const char *p = text.s + strlen(text.s) + 1; p < end; p += strlen(p) + 1)
        (void)map_put(&k->used, arena_str(&k->arena, p), strlen(p), k);
    return 0;
}

static int read_uses(struct shared_folders *k, const char *run, struct err *err)
{
    autofree char *uses = mem_printf("%s/uses", k->dir);
    autofree char *own = mem_printf("%s/%s", uses, run ? run : "");
    return (run && dirs_remove(own, err)) || dirs_each(uses, read_use, k, err) ? -1 : 0;
}

/* If `waits` is false and another process has the lock, k->lock is -1. */
static int lock_and_read(struct shared_folders *k, const char *run, bool waits, struct err *err)
{
    autofree char *uses = mem_printf("%s/uses", k->dir), *lock = mem_printf("%s/lock", k->dir);
    if (dirs_make(uses, err) ||
        (waits ? dirs_lock_long(lock, &k->lock, err) : dirs_try_lock(lock, &k->lock, err)))
        return -1;
    return k->lock < 0 ? 0 : read_uses(k, run, err);
}

static void init_folders(struct shared_folders *k, const char *state_dir)
{
    *k = (struct shared_folders){
        .state = mem_str(state_dir), .dir = mem_printf("%s/shared", state_dir), .lock = -1};
}

int shared_folders_open(struct shared_folders *k, const char *state_dir, const char *run,
                        struct err *err)
{
    init_folders(k, state_dir);
    if (lock_and_read(k, run, true, err) == 0)
        return 0;
    shared_folders_close(k);
    return -1;
}

void shared_folders_close(struct shared_folders *k)
{
    free(k->state);
    free(k->dir);
    own_close(&k->lock);
    map_done(&k->used);
    arena_done(&k->arena);
    strv_done(&k->taken);
    *k = (struct shared_folders){.lock = -1};
}

bool shared_folders_is_used(const struct shared_folders *k, const char *name)
{
    return map_get(&k->used, name, strlen(name)) != NULL;
}

bool shared_folders_is_orphan(const struct shared_folders *k, const char *name)
{
    autofree char *path = get_part_path(k, name, "path");
    autobuf struct buf text = BUF_INIT;
    return file_read(path, LIST_MAX, &text, NULL) || access(text.s, F_OK) < 0;
}

static void add_tree(const struct shared_folders *k, const char *name, struct buf *out)
{
    autofree char *tree = get_part_path(k, name, "tree");
    buf_add(out, tree, strlen(tree) + 1);
}

int shared_folders_note(const struct shared_folders *k, const char *run, const char *folder,
                        const char *list, struct err *err)
{
    autofree char *path = mem_printf("%s/uses/%s", k->dir, run);
    autobuf struct buf names = BUF_INIT, trees = BUF_INIT;
    buf_add(&names, folder, strlen(folder) + 1);
    for (size_t i = 0; i < k->taken.n; i++) {
        buf_add(&names, k->taken.v[i], strlen(k->taken.v[i]) + 1);
        add_tree(k, k->taken.v[i], &trees);
    }
    return file_create(path, names.s, names.len, err) || file_create(list, trees.s, trees.len, err)
               ? -1
               : 0;
}

int shared_folders_trees(const char *list, struct strv *ret, struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    if (access(list, F_OK) < 0)
        return 0;
    if (file_read(list, LIST_MAX, &text, err))
        return -1;
    for (const char *p = text.s; p < text.s + text.len; p += strlen(p) + 1)
        strv_push(ret, p);
    return 0;
}

/* Retries for a moment: another process that checks if it is in use holds the lock briefly. */
int shared_folders_hold(const char *state_dir, const char *run, int *ret_fd, struct err *err)
{
    autofree char *path = mem_printf("%s/shared/uses/%s", state_dir, run);
    return dirs_share_lock(path, ret_fd, err);
}

void shared_folders_tidy(const char *state_dir)
{
    autokept struct shared_folders k;
    init_folders(&k, state_dir);
    if (access(k.dir, F_OK) == 0)
        (void)lock_and_read(&k, NULL, false, NULL); /* if this fails, the next process does it */
}

static bool is_past(const struct timespec *t)
{
    struct timespec now;
    return clock_gettime(CLOCK_REALTIME, &now) == 0 &&
           (t->tv_sec != now.tv_sec ? t->tv_sec < now.tv_sec : t->tv_nsec <= now.tv_nsec);
}

/* Reads seconds, a dot, nanoseconds and a blank. */
static bool read_time(const char **at, struct timespec *ret)
{
    char *dot, *end;
    long long seconds = strtoll(*at, &dot, 10);
    long ns = *dot == '.' ? strtol(dot + 1, &end, 10) : -1;
    if (dot == *at || ns < 0 || end == dot + 1 || *end != ' ')
        return false;
    *ret = (struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = ns};
    *at = end + 1;
    return true;
}

/* Reads the file `done`; false if the copy is incomplete. Leaves the times unset if they were
 * written before the last reboot or by a clock that was ahead. */
static bool read_done(const struct shared_folders *k, const char *name, struct timespec *ret_looked,
                      struct timespec *ret_changed)
{
    autofree char *path = get_part_path(k, name, "done");
    autobuf struct buf text = BUF_INIT;
    struct timespec looked, changed;
    if (file_read(path, DONE_MAX, &text, NULL))
        return false;
    const char *at = text.s;
    if (!read_time(&at, &looked) || !read_time(&at, &changed) || strcmp(at, boot_id()) != 0)
        return true;
    if (is_past(&looked) && is_past(&changed))
        *ret_looked = looked, *ret_changed = changed;
    return true;
}

static int remove_done(const struct shared_folders *k, const char *name, struct err *err)
{
    autofree char *path = get_part_path(k, name, "done");
    return dirs_remove(path, err);
}

static int write_done(const struct shared_folders *k, const char *name,
                      const struct timespec *looked, const struct timespec *changed,
                      struct err *err)
{
    autofree char *path = get_part_path(k, name, "done");
    autobuf struct buf text = BUF_INIT;
    buf_addf(&text, "%lld.%09ld %lld.%09ld %s", (long long)looked->tv_sec, looked->tv_nsec,
             (long long)changed->tv_sec, changed->tv_nsec, boot_id());
    return remove_done(k, name, err) || file_create(path, text.s, text.len, err) ? -1 : 0;
}

struct inclusion {
    const struct shared_folders *k;
    const char *name;
    shared_folders_progress_fn *progress;
    void *ctx;
};

static int before_change(void *ctx, struct err *err)
{
    const struct inclusion *b = ctx;
    return remove_done(b->k, b->name, err);
}

static void report_progress(void *ctx, const struct dir_sync_count *so_far)
{
    const struct inclusion *b = ctx;
    if (b->progress)
        b->progress(b->ctx, so_far);
}

static int make_place(const struct shared_folders *k, const char *name, const char *folder,
                      struct err *err)
{
    autofree char *tree = get_part_path(k, name, "tree"), *path = get_part_path(k, name, "path");
    if (dirs_make_open(tree, err))
        return -1;
    return access(path, F_OK) == 0 ? 0 : file_create(path, folder, strlen(folder), err);
}

/* Removes an incomplete copy: another way to include the folder needs the disk space. */
static void remove_incomplete(const struct shared_folders *k, const char *name)
{
    autofree char *path = mem_printf("%s/%s", k->dir, name);
    (void)dirs_remove(path, NULL);
}

/* `begun`: when we began to compare the copy with the original. If nothing differed, the
 * comparison also covered earlier changes of the copy by others. */
static int record_times(const struct inclusion *b, struct timespec begun,
                        const struct timespec *changed, bool same, struct err *err)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) < 0)
        return err_sys(err, "tell the time");
    begun.tv_sec -= SLACK;
    if (same)
        now = begun.tv_sec > changed->tv_sec ? begun : *changed;
    return write_done(b->k, b->name, &begun, &now, err);
}

/* *ret_there is false if others use the copy and would see it change. */
static int include_one(struct inclusion *b, const char *root, const char *path, bool *ret_there,
                       struct dir_sync_count *ret, struct err *err)
{
    autofree char *tree = get_part_path(b->k, b->name, "tree"),
                  *folder = mem_printf("%s/%s", root, path);
    struct dir_sync m = {.from = root,
                         .to = tree,
                         .path = path,
                         .look = shared_folders_is_used(b->k, b->name),
                         .before = before_change,
                         .progress = report_progress,
                         .ctx = b};
    struct timespec begun;
    bool same = false, done = read_done(b->k, b->name, &m.looked, &m.changed);
    *ret_there = false;
    if (m.look && !done)
        return 0;
    if (clock_gettime(CLOCK_REALTIME, &begun) < 0)
        return err_sys(err, "tell the time");
    if ((!m.look && make_place(b->k, b->name, folder, err)) || dir_sync_run(&m, ret, &same, err)) {
        if (!done)
            remove_incomplete(b->k, b->name);
        return -1;
    }
    *ret_there = !m.look || same;
    return *ret_there ? record_times(b, begun, &m.changed, same, err) : 0;
}

int shared_folders_bring(struct shared_folders *k, const char *root, const char *path,
                         shared_folders_progress_fn *progress, void *ctx,
                         struct dir_sync_count *ret, struct err *err)
{
    autobuf struct buf name = BUF_INIT;
    make_key(root, path, &name);
    size_t len = name.len;
    bool there = false;
    for (int i = 1; !there; i++) {
        struct inclusion b = {.k = k, .name = name.s, .progress = progress, .ctx = ctx};
        if (include_one(&b, root, path, &there, ret, err))
            return -1;
        if (there)
            strv_push(&k->taken, name.s);
        buf_cut(&name, len);
        buf_addf(&name, "+%d", i);
    }
    return 0;
}

struct copy_age {
    char *name;
    struct timespec used;
};

struct copy_ages {
    VEC(struct copy_age) all;
};

static void copy_ages_done(struct copy_ages *o)
{
    for (size_t i = 0; i < o->all.n; i++)
        free(o->all.v[i].name);
    vec_done(&o->all);
}

static int add_copy_age(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct copy_ages *o = ctx;
    autofree char *done = mem_printf("%s/%s/done", dir, name);
    struct stat st = {0};
    (void)err;
    if (!shared_folders_is_name(name))
        return 0;
    if (stat(done, &st) < 0)
        st = (struct stat){0};
    vec_push(&o->all, (struct copy_age){.name = mem_str(name), .used = st.st_mtim});
    return 0;
}

/* Sorts by folder, newest first. */
static int compare_ages(const void *a, const void *b)
{
    const struct copy_age *x = a, *y = b;
    int order = strncmp(x->name, y->name, DIGITS);
    if (order)
        return order;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec > y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec < y->used.tv_nsec) - (x->used.tv_nsec > y->used.tv_nsec);
}

static bool is_taken(const struct shared_folders *k, const char *name)
{
    for (size_t i = 0; i < k->taken.n; i++) {
        if (strcmp(k->taken.v[i], name) == 0)
            return true;
    }
    return false;
}

/* Moves a copy to tmp/. The caller deletes it later, because that takes long. */
static int move_aside(const struct shared_folders *k, const char *name, struct strv *ret_left,
                      struct err *err)
{
    autofree char *path = mem_printf("%s/%s", k->dir, name), *tmp = mem_printf("%s/tmp", k->state);
    autofree char *aside = mem_printf("%s/shared-%s.%d.gone", tmp, name, (int)getpid());
    if (dirs_make(tmp, err) || dirs_remove(aside, err))
        return -1;
    if (rename(path, aside) < 0)
        return err_sys(err, "remove '%s'", path);
    strv_push(ret_left, aside);
    return 0;
}

int shared_folders_trim(struct shared_folders *k, struct strv *ret_left, struct err *err)
{
    own_cleanup(copy_ages_done) struct copy_ages o = {0};
    size_t n = 0;
    if (dirs_each(k->dir, add_copy_age, &o, err))
        return -1;
    if (o.all.n)
        qsort(o.all.v, o.all.n, sizeof(*o.all.v), compare_ages);
    for (size_t i = 0; i < o.all.n; i++) {
        const char *name = o.all.v[i].name;
        bool new_folder = !i || strncmp(o.all.v[i - 1].name, name, DIGITS) != 0;
        n = new_folder ? 1 : n + 1;
        bool keep = n <= KEEP && !shared_folders_is_orphan(k, name);
        if (!keep && !shared_folders_is_used(k, name) && !is_taken(k, name) &&
            move_aside(k, name, ret_left, err))
            return -1;
    }
    return 0;
}

static int note_copy(void *ctx, const char *dir, const char *name, struct err *err)
{
    bool *any = ctx;
    (void)dir, (void)err;
    *any = *any || shared_folders_is_name(name);
    return 0;
}

void shared_folders_vacate(struct shared_folders *k)
{
    autofree char *uses = mem_printf("%s/uses", k->dir), *lock = mem_printf("%s/lock", k->dir);
    bool any = false;
    if (dirs_each(k->dir, note_copy, &any, NULL) || any || rmdir(uses) < 0)
        return;
    (void)unlink(lock);
    (void)rmdir(k->dir);
}
