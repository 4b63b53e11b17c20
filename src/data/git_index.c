#include "data/git_index.h"

#include "base/buf.h"
#include "sys/file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Where things are in an entry (gitformat-index(5)). */
enum { AT_MTIME = 8, AT_MTIME_NS = 12, AT_INO = 20, AT_MODE = 24, AT_SIZE = 36, AT_ID = 40 };

enum {
    HEADER = 12,
    ASSUME_VALID = 0x8000,
    EXTENDED = 0x4000,
    STAGE = 0x3000,
    SKIP_WORKTREE = 0x4000,
    INTENT_TO_ADD = 0x2000,
    KIND = 0170000,
    FOLDER = 0040000, /* of a sparse index */
    SUBMODULE = 0160000,
};

struct reader {
    const unsigned char *at, *end;
    size_t id; /* bytes */
    uint32_t version;
    struct buf name;
};

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static unsigned get16(const unsigned char *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

/* How many bytes of the last name do not count any more; false: it does not end. */
static bool take_strip(struct reader *r, size_t *ret)
{
    size_t value = 0;
    for (int i = 0; i < 5 && r->at < r->end; i++) {
        unsigned char c = *r->at++;
        value = (i ? (value + 1) << 7 : 0) + (c & 127);
        if (!(c & 128)) {
            *ret = value;
            return true;
        }
    }
    return false;
}

/* The name behind an entry's fixed part, and the blanks behind that. */
static bool take_name(struct reader *r, const unsigned char *entry)
{
    size_t strip = r->name.len;
    if (r->version == 4 && (!take_strip(r, &strip) || strip > r->name.len))
        return false;
    const unsigned char *nul = memchr(r->at, '\0', (size_t)(r->end - r->at));
    if (!nul)
        return false;
    buf_cut(&r->name, r->name.len - strip);
    buf_add(&r->name, r->at, (size_t)(nul - r->at));
    size_t len = (size_t)(nul - entry);
    size_t step = r->version == 4 ? len + 1 : (len + 8) & ~(size_t)7;
    if (step > (size_t)(r->end - entry))
        return false;
    r->at = entry + step;
    return true;
}

static bool take_entry(struct reader *r, git_index_fn *fn, void *ctx)
{
    const unsigned char *e = r->at;
    size_t fixed = AT_ID + r->id + 2;
    if ((size_t)(r->end - e) < fixed + 2)
        return false;
    unsigned flags = get16(e + fixed - 2);
    unsigned more = flags & EXTENDED ? get16(e + fixed) : 0;
    r->at = e + fixed + (flags & EXTENDED ? 2 : 0);
    if (!take_name(r, e))
        return false;
    struct git_index_entry entry = {.path = r->name.s,
                                    .mtime = get32(e + AT_MTIME),
                                    .mtime_ns = get32(e + AT_MTIME_NS),
                                    .ino = get32(e + AT_INO),
                                    .mode = get32(e + AT_MODE),
                                    .size = get32(e + AT_SIZE)};
    uint32_t kind = entry.mode & KIND;
    if (!(flags & (ASSUME_VALID | STAGE)) && !(more & (SKIP_WORKTREE | INTENT_TO_ADD)) &&
        kind != FOLDER && kind != SUBMODULE)
        fn(ctx, &entry);
    return true;
}

/* Extensions follow, each with its name and size; "link" says that most entries are elsewhere. */
static bool is_split(const struct reader *r)
{
    const unsigned char *p = r->at;
    while ((size_t)(r->end - p) > r->id + 8) {
        if (memcmp(p, "link", 4) == 0)
            return true;
        size_t size = get32(p + 4);
        if (size > (size_t)(r->end - p) - 8)
            return false;
        p += 8 + size;
    }
    return false;
}

static bool read_entries(struct reader *r, git_index_fn *fn, void *ctx)
{
    if (r->end - r->at < HEADER || memcmp(r->at, "DIRC", 4) != 0)
        return false;
    uint32_t n = get32(r->at + 8);
    r->version = get32(r->at + 4);
    r->at += HEADER;
    if (r->version < 2 || r->version > 4)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!take_entry(r, fn, ctx))
            return false;
    }
    return !is_split(r);
}

int git_index_each(const char *path, size_t id_len, git_index_fn *fn, void *ctx, struct err *err)
{
    autobuf struct buf bytes = BUF_INIT;
    struct err why = {0};
    if (file_read(path, SIZE_MAX, &bytes, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    struct reader r = {.at = (const unsigned char *)bytes.s, .id = id_len / 2, .name = BUF_INIT};
    r.end = r.at + bytes.len;
    bool good = read_entries(&r, fn, ctx);
    buf_done(&r.name);
    return good ? 0 : err_set(err, ERR_INPUT, "'%s' is an index of an unknown kind", path);
}
