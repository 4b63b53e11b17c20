#include "sys/fs/disk_use.h"

#include "sys/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { BLOCK = 512 }; /* the unit of st_blocks, whatever the file system's block size is */

void disk_use_done(struct disk_use *u)
{
    map_done(&u->seen);
    arena_done(&u->arena);
}

/* True if we have counted the file before, under another name. */
static bool is_known(struct disk_use *u, const struct stat *st)
{
    const uint64_t key[] = {(uint64_t)st->st_dev, (uint64_t)st->st_ino};
    if (S_ISDIR(st->st_mode) || st->st_nlink < 2)
        return false;
    const char *kept = arena_dup(&u->arena, key, sizeof(key));
    return map_put(&u->seen, kept, sizeof(key), u) != NULL;
}

static void count_file(struct disk_use *u, const struct stat *st)
{
    if (is_known(u, st))
        return;
    u->files++;
    u->bytes += (int64_t)st->st_blocks * BLOCK;
}

/* A btrfs subvolume has its own device number without being mounted. So we ask Linux for mounts. */
static bool is_mounted(const FTSENT *e)
{
#ifdef STATX_ATTR_MOUNT_ROOT
    struct statx sx;
    if (statx(AT_FDCWD, e->fts_accpath, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &sx) == 0 &&
        (sx.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT))
        return sx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
#endif
    return e->fts_statp->st_dev != e->fts_parent->fts_statp->st_dev;
}

static void count_entry(struct disk_use *u, FTS *fts, FTSENT *e)
{
    switch (e->fts_info) {
    case FTS_D:
        if (e->fts_level > FTS_ROOTLEVEL && is_mounted(e))
            (void)fts_set(fts, e, FTS_SKIP);
        else
            count_file(u, e->fts_statp);
        break;
    case FTS_DP:
        break;
    case FTS_DNR: /* we counted the folder before we failed to read it */
    case FTS_ERR:
    case FTS_NS:
    case FTS_DC:
        u->partial = u->partial || e->fts_errno != ENOENT;
        break;
    default:
        count_file(u, e->fts_statp);
    }
}

void disk_use_add(struct disk_use *u, const char *path)
{
    char *const roots[] = {(char *)path, NULL};
    autofts FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!fts) {
        u->partial = true;
        return;
    }
    for (FTSENT *e; (errno = 0, e = fts_read(fts));)
        count_entry(u, fts, e);
    u->partial = u->partial || (errno && errno != ENOENT);
}
