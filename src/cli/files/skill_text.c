#include "cli/files/skill_text.h"

#include "base/text/hash.h"

#include <stdbool.h>
#include <string.h>

#define BEGIN "<!-- anabranch: begin -->\n"
#define SEAL  "<!-- anabranch: end, sha256 "

/* Made at build time. */
extern const unsigned char SKILL_md[];
extern const size_t SKILL_md_len;

/* A part of a file's text. */
struct piece {
    const char *s;
    size_t len;
};

void skill_add_text(struct buf *out, enum skill_form form)
{
    static const char fence[] = "\n---\n\n"; /* the end of the front matter */
    const char *s = (const char *)SKILL_md, *end = s + SKILL_md_len;
    const char *body = memmem(s, SKILL_md_len, fence, strlen(fence));
    if (form == SKILL_SECTION && body)
        s = body + strlen(fence);
    buf_add(out, s, (size_t)(end - s));
}

static void add_seal(struct buf *out, const char *s, size_t len)
{
    char digest[HASH_SHA256_DIGITS + 1];
    sha256_hex(s, len, digest);
    buf_addf(out, SEAL "%s -->\n", digest);
}

static void add_current_text(struct buf *out, enum skill_form form)
{
    if (form == SKILL_SECTION)
        buf_addstr(out, BEGIN);
    skill_add_text(out, form);
    add_seal(out, out->s, out->len);
}

static bool is_same(struct piece p, const struct buf *b)
{
    return p.len == b->len && memcmp(p.s, b->s, p.len) == 0;
}

/* True if the piece ends with the right seal. */
static bool is_sealed(struct piece p)
{
    autobuf struct buf seal = BUF_INIT;
    add_seal(&seal, "", 0); /* every seal has the same length */
    if (p.len < seal.len)
        return false;
    size_t len = p.len - seal.len;
    buf_cut(&seal, 0);
    add_seal(&seal, p.s, len);
    return memcmp(p.s + len, seal.s, seal.len) == 0;
}

static enum skill_state find_state(enum skill_form form, struct piece p, const struct buf *current)
{
    autobuf struct buf bare = BUF_INIT; /* the user may have copied the source */
    skill_add_text(&bare, form);
    if (!p.len)
        return SKILL_ABSENT;
    if (is_same(p, current))
        return SKILL_CURRENT;
    return is_sealed(p) || is_same(p, &bare) ? SKILL_OURS : SKILL_THEIRS;
}

/* Finds our section of a file, up to the end of the line with the seal. If there is none, returns
 * an empty piece at the end of the file. */
static int find_section(const struct buf *file, struct piece *ret, struct err *err)
{
    const char *begin = memmem(file->s, file->len, BEGIN, strlen(BEGIN));
    *ret = (struct piece){file->s + file->len, 0};
    if (!begin)
        return 0;
    size_t rest = (size_t)(ret->s - begin);
    const char *seal = memmem(begin, rest, SEAL, strlen(SEAL));
    const char *end = seal ? memchr(seal, '\n', (size_t)(ret->s - seal)) : NULL;
    if (!end)
        return err_set(err, ERR_INPUT, "our section has a beginning but no end: remove it first");
    *ret = (struct piece){begin, (size_t)(end + 1 - begin)};
    return 0;
}

int skill_renew(enum skill_form form, const struct buf *old, enum skill_state *ret_state,
                struct buf *ret_new, struct err *err)
{
    autobuf struct buf current = BUF_INIT;
    struct piece p = {old->s, old->len};
    if (form == SKILL_SECTION && find_section(old, &p, err))
        return -1;
    add_current_text(&current, form);
    *ret_state = find_state(form, p, &current);
    size_t before = (size_t)(p.s - old->s);
    buf_add(ret_new, old->s, before);
    if (*ret_state == SKILL_ABSENT && before)
        buf_addstr(ret_new, old->s[before - 1] == '\n' ? "\n" : "\n\n");
    buf_add(ret_new, current.s, current.len);
    buf_add(ret_new, p.s + p.len, old->len - before - p.len);
    return 0;
}
