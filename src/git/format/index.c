#include "git/format/index.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "git/format/hash.h"
#include "sys/clock.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Offsets in an entry. */
enum {
    AT_CTIME = 0,
    AT_CTIME_NS = 4,
    AT_MTIME = 8,
    AT_MTIME_NS = 12,
    AT_DEV = 16,
    AT_INO = 20,
    AT_MODE = 24,
    AT_UID = 28,
    AT_GID = 32,
    AT_SIZE = 36,
    AT_ID = GIT_INDEX_ID,
};

enum {
    WRITTEN_VERSION = 2,
    HEADER = 12,
    ASSUME_VALID = 0x8000,
    EXTENDED = 0x4000,
    STAGE = 0x3000,
    SKIP_WORKTREE = 0x4000,
    INTENT_TO_ADD = 0x2000,
    LENGTH = 0x0fff, /* the length of the path, or of a longer one */
};

static uint32_t read_u32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static unsigned read_u16(const unsigned char *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static bool read_header(struct git_index *x)
{
    if (x->bytes.len < HEADER + x->id_len || memcmp(x->at, "DIRC", 4) != 0)
        return false;
    x->version = read_u32(x->at + 4);
    x->left = read_u32(x->at + 8);
    x->at += HEADER;
    x->end -= x->id_len;
    return x->version >= 2 && x->version <= 4;
}

void git_index_done(struct git_index *x)
{
    buf_done(&x->bytes);
    buf_done(&x->name);
}

/* Reads how many bytes to remove from the end of the last name; false if the number does not
 * end. */
static bool read_strip(struct git_index *x, size_t *ret)
{
    size_t value = 0;
    for (int i = 0; i < 5 && x->at < x->end; i++) {
        unsigned char c = *x->at++;
        value = (i ? (value + 1) << 7 : 0) + (c & 127);
        if (!(c & 128)) {
            *ret = value;
            return true;
        }
    }
    return false;
}

/* Reads the name after an entry's fixed part, and skips the padding. */
static bool read_name(struct git_index *x, const unsigned char *entry, bool *ret_unsorted)
{
    size_t strip = x->name.len;
    if (x->version == 4 && (!read_strip(x, &strip) || strip > x->name.len))
        return false;
    const unsigned char *nul = memchr(x->at, '\0', (size_t)(x->end - x->at));
    if (!nul)
        return false;
    const char *differs = x->name.s + x->name.len - strip;
    *ret_unsorted = strcmp(differs, (const char *)x->at) >= 0;
    buf_cut(&x->name, x->name.len - strip);
    buf_add(&x->name, x->at, (size_t)(nul - x->at));
    size_t len = (size_t)(nul - entry);
    size_t step = x->version == 4 ? len + 1 : (len + 8) & ~(size_t)7;
    if (step > (size_t)(x->end - entry))
        return false;
    x->at = entry + step;
    return true;
}

/* Skips the name by the length in the entry. Does not check that it ends there. */
static bool skip_name(struct git_index *x, const unsigned char *entry, size_t len)
{
    size_t step = ((size_t)(x->at - entry) + len + 8) & ~(size_t)7;
    if (step > (size_t)(x->end - entry))
        return false;
    x->at = entry + step;
    return true;
}

static bool read_or_skip_name(struct git_index *x, const unsigned char *entry, unsigned flags,
                              bool *ret_unsorted)
{
    size_t len = flags & LENGTH;
    if (!x->nameless || x->version == 4 || len == LENGTH)
        return read_name(x, entry, ret_unsorted);
    *ret_unsorted = false;
    return skip_name(x, entry, len);
}

/* The extension "link" means that most entries are in another file. */
static bool is_split(const struct git_index *x)
{
    const char *start;
    size_t len;
    return git_index_extension(x, "link", &start, &len);
}

int git_index_open(struct git_index *x, const char *path, size_t id_len, struct err *err)
{
    struct err why = {0};
    *x = (struct git_index){.bytes = BUF_INIT, .name = BUF_INIT, .id_len = id_len / 2};
    bool there = file_read(path, FILE_LARGE, &x->bytes, &why) == 0;
    if (!there && why.errnum != ENOENT)
        return err_set(err, why.code, "%s", why.msg);
    x->at = (const unsigned char *)x->bytes.s;
    x->end = x->at + x->bytes.len;
    x->good = true;
    x->good = !there || (read_header(x) && !is_split(x));
    return 0;
}

char *git_index_path(const char *git_dir)
{
    return mem_printf("%s/index", git_dir);
}

struct stat git_index_stat(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st : (struct stat){0};
}

static bool read_entry(struct git_index *x, struct git_index_entry *ret)
{
    const unsigned char *e = x->at;
    size_t fixed = AT_ID + x->id_len + 2;
    if ((size_t)(x->end - e) < fixed + 2)
        return false;
    unsigned flags = read_u16(e + fixed - 2);
    unsigned more = flags & EXTENDED ? read_u16(e + fixed) : 0;
    bool unsorted;
    x->at = e + fixed + (flags & EXTENDED ? 2 : 0);
    if (!read_or_skip_name(x, e, flags, &unsorted))
        return false;
    *ret = (struct git_index_entry){.path = x->name.s,
                                    .id = e + AT_ID,
                                    .ctime = read_u32(e + AT_CTIME),
                                    .ctime_ns = read_u32(e + AT_CTIME_NS),
                                    .mtime = read_u32(e + AT_MTIME),
                                    .mtime_ns = read_u32(e + AT_MTIME_NS),
                                    .ino = read_u32(e + AT_INO),
                                    .mode = read_u32(e + AT_MODE),
                                    .size = read_u32(e + AT_SIZE),
                                    .unmerged = flags & STAGE,
                                    .intended = more & INTENT_TO_ADD,
                                    .unseen = flags & ASSUME_VALID || more & SKIP_WORKTREE,
                                    .unsorted = unsorted && !x->nameless};
    return true;
}

bool git_index_next(struct git_index *x, struct git_index_entry *ret)
{
    if (!x->good || !x->left)
        return false;
    x->good = read_entry(x, ret);
    if (x->good && --x->left == 0 && is_split(x))
        x->good = false;
    return x->good;
}

size_t git_index_length(size_t path_len, size_t id_len)
{
    return (AT_ID + id_len + 2 + path_len + 8) & ~(size_t)7;
}

static void write_u32(unsigned char *p, uint64_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(value >> (24 - 8 * i));
}

void git_index_set_stat(unsigned char *e, const struct stat *st)
{
    write_u32(e + AT_CTIME, (uint64_t)st->st_ctim.tv_sec);
    write_u32(e + AT_CTIME_NS, (uint64_t)st->st_ctim.tv_nsec);
    write_u32(e + AT_MTIME, (uint64_t)st->st_mtim.tv_sec);
    write_u32(e + AT_MTIME_NS, (uint64_t)st->st_mtim.tv_nsec);
    write_u32(e + AT_DEV, st->st_dev);
    write_u32(e + AT_INO, st->st_ino);
    write_u32(e + AT_UID, st->st_uid);
    write_u32(e + AT_GID, st->st_gid);
    write_u32(e + AT_SIZE, (uint64_t)st->st_size);
}

/* Completes the fixed part with the mode and appends it, the id, the name and padding. */
static void add_entry(struct buf *out, unsigned char fixed[AT_ID], uint32_t mode, const char *path,
                      const unsigned char *id, size_t id_len)
{
    size_t start = out->len, len = strlen(path), flags = len < LENGTH ? len : LENGTH;
    write_u32(fixed + AT_MODE, mode);
    buf_add(out, fixed, AT_ID);
    buf_add(out, id, id_len);
    buf_addch(out, (char)(flags >> 8));
    buf_addch(out, (char)flags);
    buf_add(out, path, len);
    buf_addrep(out, '\0', start + git_index_length(len, id_len) - out->len);
}

void git_index_add(struct buf *out, const char *path, uint32_t mode, const char *id,
                   const struct stat *st)
{
    unsigned char fixed[AT_ID] = {0};
    autobuf struct buf packed = BUF_INIT;
    git_index_set_stat(fixed, st);
    git_hash_pack(&packed, id);
    add_entry(out, fixed, mode, path, (const unsigned char *)packed.s, packed.len);
}

void git_index_add_blank(struct buf *out, const struct git_index_entry *e, size_t id_len)
{
    unsigned char fixed[AT_ID] = {0};
    add_entry(out, fixed, e->mode, e->path, e->id, id_len);
}

static void add_u32(struct buf *out, size_t value)
{
    unsigned char bytes[4];
    write_u32(bytes, value);
    buf_add(out, bytes, sizeof(bytes));
}

int git_index_write(const char *path, const struct buf *entries, size_t n, const char *trees,
                    size_t trees_len, size_t id_len, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    buf_addstr(&out, "DIRC");
    add_u32(&out, WRITTEN_VERSION);
    add_u32(&out, n);
    buf_add(&out, entries->s, entries->len);
    if (trees_len) {
        buf_addstr(&out, "TREE");
        add_u32(&out, trees_len);
        buf_add(&out, trees, trees_len);
    }
    git_hash_add(&out, out.s, out.len, 2 * id_len);
    return file_create(path, out.s, out.len, err);
}

bool git_index_same_time(const struct timespec *t, uint32_t seconds, uint32_t ns)
{
    return (uint32_t)t->tv_sec == seconds && (!ns || (uint32_t)t->tv_nsec == ns);
}

/* The index has no permissions for a symlink. */
bool git_index_is_plain(const struct git_index_entry *e)
{
    return !e->unmerged && !e->intended && !e->unseen && !e->unsorted &&
           (S_ISREG(e->mode) || S_ISLNK(e->mode));
}

bool git_index_is_attributes(const char *path)
{
    return strcmp(str_last_part(path), ".gitattributes") == 0;
}

bool git_index_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           clock_same(&a->st_mtim, &b->st_mtim);
}

bool git_index_fits(const struct git_index_entry *e, const struct stat *st)
{
    mode_t checked_bits = S_ISREG(st->st_mode) ? S_IFMT | 0100 : S_IFMT;
    return git_index_same_time(&st->st_mtim, e->mtime, e->mtime_ns) &&
           (uint32_t)st->st_size == e->size && (uint32_t)st->st_ino == e->ino &&
           (st->st_mode & checked_bits) == (e->mode & checked_bits);
}

/* Each extension begins with its name and size. */
bool git_index_extension(const struct git_index *x, const char name[4], const char **ret_start,
                         size_t *ret_len)
{
    const unsigned char *p = x->at;
    while (x->good && !x->left && x->end - p > 8) {
        size_t size = read_u32(p + 4);
        if (size > (size_t)(x->end - p) - 8)
            return false;
        if (memcmp(p, name, 4) == 0) {
            *ret_start = (const char *)p + 8;
            *ret_len = size;
            return true;
        }
        p += 8 + size;
    }
    return false;
}

/* Parses "NAME\0ENTRIES SUBTREES\n", and an id unless ENTRIES is -1. */
bool git_index_node(const struct git_index *x, const char **at, const char *end,
                    struct git_index_node *ret)
{
    char *after;
    const char *nul = memchr(*at, '\0', (size_t)(end - *at));
    const char *lf = nul ? memchr(nul, '\n', (size_t)(end - nul)) : NULL;
    if (!lf)
        return false;
    struct git_index_node node = {.name = *at, .id = (const unsigned char *)lf + 1};
    node.entries = strtol(nul + 1, &after, 10);
    node.subtrees = strtol(after, &after, 10);
    size_t id = node.entries >= 0 ? x->id_len : 0;
    if (after != lf || node.subtrees < 0 || (size_t)(end - lf) - 1 < id)
        return false;
    *at = lf + 1 + id;
    *ret = node;
    return true;
}

const unsigned char *git_index_root(const struct git_index *x)
{
    struct git_index_node root;
    const char *at;
    size_t len;
    if (!git_index_extension(x, "TREE", &at, &len) || !git_index_node(x, &at, at + len, &root))
        return NULL;
    return !*root.name && root.entries >= 0 ? root.id : NULL;
}
