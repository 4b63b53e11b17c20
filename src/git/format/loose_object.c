#include "git/format/loose_object.h"

#include "base/mem.h"
#include "base/text/hash.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { MODE = 0444, TRIES = 100 };

/* A large tree consists mostly of ids, which do not compress. */
enum { STORED_MIN = 16 << 10 };

static void put_header(struct buf *out, const char *type, const struct buf *bytes)
{
    buf_addf(out, "%s %zu", type, bytes->len);
    buf_addch(out, '\0');
}

void loose_object_id(struct buf *out, const char *type, const struct buf *bytes, size_t digits)
{
    char hex[HASH_SHA256_DIGITS + 1];
    struct hash h;
    autobuf struct buf header = BUF_INIT;
    put_header(&header, type, bytes);
    hash_init(&h, digits);
    hash_add(&h, header.s, header.len);
    hash_add(&h, bytes->s, bytes->len);
    hash_end_hex(&h, hex);
    buf_addstr(out, hex);
}

static int get_level(const struct buf *object)
{
    bool is_tree = strncmp(object->s, "tree ", 5) == 0;
    return is_tree && object->len >= STORED_MIN ? Z_NO_COMPRESSION : Z_BEST_SPEED;
}

static int deflate_object(const struct buf *object, struct buf *out, struct err *err)
{
    int level = get_level(object);
    uLongf len = compressBound(object->len);
    buf_reserve(out, len);
    if (compress2((Bytef *)out->s, &len, (const Bytef *)object->s, object->len, level) != Z_OK)
        return err_set(err, ERR_ENV, "an object could not be compressed");
    out->len = len;
    return 0;
}

/* Writes a file under a name that git treats as unfinished and removes when it cleans up. Returns
 * its path, or NULL. */
static char *write_temporary(const char *folder, const struct buf *bytes, struct err *err)
{
    autofree char *path = mem_printf("%s/tmp_obj_XXXXXX", folder);
    autoclose int fd = mkdir(folder, 0777) == 0 || errno == EEXIST ? mkostemp(path, O_CLOEXEC) : -1;
    if (fd < 0) {
        (void)err_sys(err, "write in '%s'", folder);
        return NULL;
    }
    if (file_write(fd, bytes->s, bytes->len) || fchmod(fd, MODE) < 0 || close(steal_fd(&fd)) < 0) {
        (void)err_sys(err, "write '%s'", path);
        (void)unlink(path);
        return NULL;
    }
    return steal_ptr(path);
}

static int write_file(const char *folder, const char *path, const struct buf *bytes,
                      struct err *err)
{
    autofree char *temporary = write_temporary(folder, bytes, err);
    if (!temporary)
        return -1;
    if (rename(temporary, path) == 0)
        return 0;
    (void)err_sys(err, "write '%s'", path);
    (void)unlink(temporary);
    return -1;
}

/* `git gc` removes empty folders, and unfinished files if it is told to: then we try again. */
static int write_object(const char *folder, const char *path, const struct buf *object,
                        struct err *err)
{
    autobuf struct buf bytes = BUF_INIT;
    struct err why = {0};
    if (deflate_object(object, &bytes, err))
        return -1;
    for (int tries = 0; tries < TRIES; tries++) {
        if (write_file(folder, path, &bytes, &why) == 0)
            return 0;
        if (why.errnum != ENOENT)
            break;
    }
    if (err)
        *err = why;
    return -1;
}

int loose_object_write(const char *git_dir, const char *type, const struct buf *bytes,
                       size_t digits, struct buf *ret_id, struct err *err)
{
    autobuf struct buf id = BUF_INIT, object = BUF_INIT;
    loose_object_id(&id, type, bytes, digits);
    autofree char *folder = mem_printf("%s/objects/%.2s", git_dir, id.s);
    autofree char *path = mem_printf("%s/%s", folder, id.s + 2);
    if (utimensat(AT_FDCWD, path, NULL, 0) < 0) {
        put_header(&object, type, bytes);
        buf_add(&object, bytes->s, bytes->len);
        if (write_object(folder, path, &object, err))
            return -1;
    }
    buf_add(ret_id, id.s, id.len);
    return 0;
}
