#include "run/land/durable.h"

#include "base/mem.h"
#include "git/state_paths.h"
#include "git/unsynced.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "sys/proc/boot_id.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int durable_sync(struct run *run, struct err *err)
{
    return unsynced_sync(run->pf->repo.common, err);
}

static bool is_hex(const char *s)
{
    return *s && strspn(s, "0123456789abcdef") == strlen(s);
}

/* True if nothing of an object has reached the disk. The first byte is the header of its
 * compression, which is never zero. */
static bool is_lost(const char *path)
{
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    char first = 0;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    ssize_t n = read(fd, &first, 1);
    return n == 0 || (n == 1 && !first);
}

static int remove_lost_object(void *ctx, const char *dir, const char *name, struct err *err)
{
    size_t *count = ctx;
    autofree char *path = mem_printf("%s/%s", dir, name);
    if (!is_hex(name) || !is_lost(path))
        return 0;
    if (unlink(path) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", path);
    (*count)++;
    return 0;
}

static int remove_lost_objects(void *ctx, const char *dir, const char *name, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    return strlen(name) == 2 && is_hex(name) ? dirs_each(path, remove_lost_object, ctx, err) : 0;
}

/* Removes empty ref files of the run. The folders are nested as deep as
 * refs/anabranch/salvage/RUN/TASK/ATTEMPT. */
static int remove_empty_ref(void *ctx, const char *dir, const char *name, struct err *err)
{
    size_t *count = ctx;
    autofree char *path = mem_printf("%s/%s", dir, name);
    struct stat st;
    if (lstat(path, &st) < 0)
        return 0;
    if (S_ISDIR(st.st_mode))
        return dirs_each(path, remove_empty_ref, ctx, err);
    if (!S_ISREG(st.st_mode) || st.st_size)
        return 0;
    if (unlink(path) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", path);
    (*count)++;
    return 0;
}

/* *ret_yes: every object exists that only these refs lead to. */
static int is_complete(const struct git_place *at, const struct strv *refs, bool *ret_yes,
                       struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status;
    strv_pushl(&args, "rev-list", "--objects", "--quiet", NULL);
    for (size_t i = 0; i < refs->n; i++)
        strv_push(&args, refs->v[i]);
    strv_pushl(&args, "--not", "--exclude=refs/anabranch/*", "--exclude=refs/heads/anabranch/*",
               "--all", NULL);
    if (git_try(at, &args, &out, &errout, &status, err))
        return -1;
    *ret_yes = status == 0;
    return 0;
}

static int remove_broken_ref(const struct git_place *at, const char *ref, size_t *count,
                             struct err *err)
{
    autostrv struct strv one = {0};
    autobuf struct buf out = BUF_INIT;
    bool complete;
    strv_push(&one, ref);
    if (is_complete(at, &one, &complete, err))
        return -1;
    if (complete)
        return 0;
    (*count)++;
    return git_call(at, &out, err, "update-ref", "-d", ref, NULL);
}

static int list_refs(const struct git_place *at, const char *const *below, struct strv *refs,
                     struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    if (git_call(at, &out, err, "for-each-ref", "--format=%(refname)", below[0], below[1], below[2],
                 NULL))
        return -1;
    for (char *next = out.s, *line; (line = strsep(&next, "\n"));) {
        if (*line)
            strv_push(refs, line);
    }
    return 0;
}

static int remove_broken_refs(const struct run *run, size_t *count, struct err *err)
{
    struct git_place at = {.git_dir = run->pf->repo.common};
    autofree char *tip = tip_ref_name(run->id);
    autofree char *heads = mem_printf("refs/heads/anabranch/%s", run->id);
    autofree char *saved = mem_printf(SALVAGE_REFS "%s", run->id);
    autofree char *heads_dir = mem_printf("%s/%s", at.git_dir, heads);
    autofree char *saved_dir = mem_printf("%s/%s", at.git_dir, saved);
    const char *const below[] = {tip, heads, saved};
    autostrv struct strv refs = {0};
    bool complete = true;
    if (dirs_each(heads_dir, remove_empty_ref, count, err) ||
        dirs_each(saved_dir, remove_empty_ref, count, err) || list_refs(&at, below, &refs, err) ||
        (refs.n && is_complete(&at, &refs, &complete, err)))
        return -1;
    for (size_t i = 0; !complete && i < refs.n; i++) {
        if (remove_broken_ref(&at, refs.v[i], count, err))
            return -1;
    }
    return 0;
}

/* git writes ORIG_HEAD before it moves the checkout, and does not sync it. An empty file stops
 * the next move. */
static int remove_empty_orig_head(const struct run *run, struct err *err)
{
    autofree char *path = mem_printf("%s/ORIG_HEAD", run->pf->repo.git_dir);
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size)
        return 0;
    return unlink(path) < 0 ? err_sys(err, "remove '%s'", path) : 0;
}

int durable_mend(struct run *run, struct err *err)
{
    autofree char *note = mem_printf("%s/boot", run->files.state);
    autofree char *objects = mem_printf("%s/objects", run->pf->repo.common);
    if (!run->base.name || boot_is_noted(note))
        return 0;
    return dirs_each(objects, remove_lost_objects, &run->notices.lost_objects, err) ||
                   remove_empty_orig_head(run, err) ||
                   (run->resume && remove_broken_refs(run, &run->notices.lost_refs, err)) ||
                   boot_note(note, err)
               ? -1
               : 0;
}

void durable_tell(struct run *run)
{
    struct err why = {0};
    if ((run->notices.lost_objects || run->notices.lost_refs) &&
        err_set(&why, ERR_ENV,
                "the machine stopped before all data reached the disk: removed %zu empty git "
                "objects and %zu broken refs of this run",
                run->notices.lost_objects, run->notices.lost_refs))
        record_error(run, -1, &why);
}
