#include "project/plan_writes.h"

#include "base/text/text.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* like the kernel */

/* Appends the components of `path` to `out`, which is absolute and has no slash at the end.
 * Resolves "." and ".." without looking at the disk. */
static void add_lexically(struct buf *out, const char *path)
{
    for (const char *s = path; *s;) {
        size_t len = strcspn(s, "/");
        if (len == 2 && memcmp(s, "..", 2) == 0) {
            const char *slash = strrchr(out->s, '/');
            buf_cut(out, slash ? (size_t)(slash - out->s) : 0);
        } else if (len && !(len == 1 && *s == '.')) {
            buf_addf(out, "/%.*s", (int)len, s);
        }
        s += len + (s[len] == '/');
    }
}

/* The length of the path before the first component with a wildcard. */
static size_t get_literal_length(const char *path)
{
    size_t wild = strcspn(path, GLOB_SPECIAL);
    if (!path[wild])
        return wild;
    while (wild && path[wild - 1] != '/')
        wild--;
    return wild ? wild - 1 : 0;
}

/* Resolves the symlinks of an absolute path without "..". Keeps components that do not exist. -1
 * if there is a symlink loop. */
static int follow_links(const char *path, struct buf *out)
{
    autobuf struct buf rest = BUF_INIT;
    int links = 0;
    buf_addstr(&rest, path);
    for (size_t at = 0; at < rest.len;) {
        char target[PATH_MAX];
        size_t before = out->len, len = strcspn(rest.s + at, "/");
        autobuf struct buf one = BUF_INIT;
        buf_add(&one, rest.s + at, len);
        at += len + (rest.s[at + len] == '/');
        add_lexically(out, one.s);
        ssize_t n = out->len > before ? readlink(out->s, target, sizeof(target) - 1) : -1;
        if (n < 0)
            continue;
        if (++links > LINKS_MAX)
            return -1;
        autobuf struct buf next = BUF_INIT;
        buf_add(&next, target, (size_t)n);
        buf_addf(&next, "/%s", rest.s + at);
        buf_cut(out, *target == '/' ? 0 : before);
        buf_cut(&rest, 0);
        buf_add(&rest, next.s, next.len);
        at = 0;
    }
    return 0;
}

/* Appends the path within the repository. A place outside gets a name that no tracked path can
 * have. */
static void add_place(const struct plan_file *pf, const char *place, struct buf *out)
{
    const char *top = pf->repo.root ? pf->repo.root : pf->project;
    size_t len = strcmp(top, "/") == 0 ? 0 : strlen(top);
    if (strncmp(place, top, len) == 0 && (place[len] == '/' || !place[len]))
        buf_addstr(out, place + len + (place[len] == '/'));
    else
        buf_addf(out, CLAIMS_OUTSIDE "%s", place);
}

static void add_pattern(struct buf *out, const char *place, const char *wild, bool is_folder)
{
    autobuf struct buf text = BUF_INIT;
    text_escape(&text, place, GLOB_SPECIAL);
    buf_addf(&text, "%s%s%s", text.len && *wild ? "/" : "", wild, *wild && is_folder ? "/**" : "");
    struct glob *glob = glob_new(text.s, false);
    if (glob)
        buf_addstr(out, text.s);
    else
        text_escape(out, text.s, GLOB_SPECIAL);
    glob_free(glob);
}

static void resolve_claim(struct plan_file *pf, struct claim *claim, struct problems *ps)
{
    autobuf struct buf path = BUF_INIT, real = BUF_INIT, place = BUF_INIT, pattern = BUF_INIT;
    size_t len = strlen(claim->text);
    if (*claim->text != '/')
        add_lexically(&path, pf->dir);
    add_lexically(&path, claim->text);
    size_t literal = path.len ? get_literal_length(path.s) : 0;
    autobuf struct buf lead = BUF_INIT;
    buf_add(&lead, path.s, literal);
    if (follow_links(lead.s, &real)) {
        problem_error(ps, RULE_CLAIM, claim->node, "'%.80s' contains a symlink loop", claim->text);
        buf_cut(&real, 0);
        buf_addstr(&real, lead.s);
    }
    add_place(pf, real.s, &place);
    const char *wild = literal < path.len ? path.s + literal + 1 : "";
    add_pattern(&pattern, place.s, wild, len && claim->text[len - 1] == '/');
    claim->pattern = arena_dup(&pf->doc.arena, pattern.s, pattern.len);
}

void plan_writes_resolve(struct plan_file *pf, struct problems *ps)
{
    for (size_t i = 0; i < pf->plan.task_count; i++) {
        struct claim_list *owns = &pf->plan.tasks[i].owns;
        for (size_t k = 0; k < owns->n; k++)
            resolve_claim(pf, &owns->v[k], ps);
    }
}
