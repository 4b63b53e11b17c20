#include "run/half_forward.h"

#include "base/mem.h"
#include "run/adopt.h"
#include "run/forward.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { NOTE_MAX = 4 * PATH_MAX, OUTPUT_MAX = 1 << 20 };

static char *note_path(const struct git_repo *repo)
{
    return mem_printf("%s/anabranch/forwarding", repo->common);
}

/* Each with a NUL behind it: a path may have any other character. */
int half_forward_note(const struct git_repo *repo, const char *ref, const char *from,
                      const char *to, const char *path, struct err *err)
{
    const char *const fields[] = {ref, from, to, path};
    autofree char *file = note_path(repo);
    autobuf struct buf text = BUF_INIT;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        buf_add(&text, fields[i], strlen(fields[i]) + 1);
    return file_replace(file, text.s, text.len, err);
}

void half_forward_forget(const struct git_repo *repo)
{
    autofree char *file = note_path(repo);
    (void)unlink(file); /* who finds it finds nothing to do */
}

/* What the note says. */
struct half {
    struct buf text;
    const char *ref, *from, *to, *path;
};

static bool read_note(const struct git_repo *repo, struct half *h)
{
    autofree char *file = note_path(repo);
    const char **const fields[] = {&h->ref, &h->from, &h->to, &h->path};
    if (access(file, F_OK) < 0 || file_read(file, NOTE_MAX, &h->text, NULL))
        return false;
    const char *p = h->text.s, *end = p + h->text.len;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (p >= end)
            return false;
        *fields[i] = p;
        p += strlen(p) + 1;
    }
    return p == end;
}

static struct git_place place_of(const struct git_repo *there)
{
    return (struct git_place){
        .git_dir = there->git_dir, .common = there->common, .work_tree = there->root};
}

/* Whether git was ready but for the branch, which it moves last. */
static int has_index(const struct git_repo *there, const struct half *h, bool *ret_yes,
                     struct err *err)
{
    struct git_place at = place_of(there);
    autostrv struct strv args = {0};
    autobuf struct buf none = BUF_INIT;
    int status;
    strv_pushl(&args, "diff-index", "--cached", "--quiet", h->to, "--", NULL);
    if (git_try(&at, &args, &none, NULL, &status, err))
        return -1;
    *ret_yes = status == 0;
    return 0;
}

static int finish(const struct git_repo *there, const struct half *h, struct buf *ret_from,
                  struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    int status;
    forward_command(there, there->root, h->to, &argv, &env);
    if (proc_capture(argv.v, env.v, OUTPUT_MAX, NULL, NULL, &status, err))
        return -1;
    if (status == 0)
        buf_addstr(ret_from, h->from);
    return 0;
}

static int mend_in(const struct base_turn *turn, const struct git_repo *there, const struct half *h,
                   struct buf *ret_from, struct err *err)
{
    autofree char *state = mem_printf("%s/anabranch", there->common);
    bool some = false, ready = false;
    if (!there->root || !forward_is_here(there, h->ref))
        return 0;
    base_turn_clear(turn, there, h->ref);
    if (has_index(there, h, &ready, err) ||
        (!ready && adopt(there, state, h->from, h->to, true, &some, err)))
        return -1;
    return ready || some ? finish(there, h, ret_from, err) : 0;
}

static int mend(const struct base_turn *turn, const struct git_repo *repo, const struct half *h,
                struct buf *ret_from, struct err *err)
{
    struct git_place at = {.git_dir = repo->common};
    autobuf struct buf now = BUF_INIT;
    struct git_repo there;
    if (git_resolve(&at, h->ref, &now, NULL) || strcmp(now.s, h->from) != 0)
        return 0;
    int rc = git_open(&there, h->path, NULL) ? 0 : mend_in(turn, &there, h, ret_from, err);
    git_close(&there);
    return rc;
}

int half_forward_mend(const struct base_turn *turn, const struct git_repo *repo,
                      struct buf *ret_from, struct err *err)
{
    struct half h = {.text = BUF_INIT};
    int rc = read_note(repo, &h) ? mend(turn, repo, &h, ret_from, err) : 0;
    if (h.text.len)
        half_forward_forget(repo);
    buf_done(&h.text);
    return rc ? err_wrap(err, "a move of the base that was killed") : 0;
}
