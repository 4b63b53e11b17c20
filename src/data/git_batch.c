#include "data/git_batch.h"

#include "base/mem.h"
#include "base/strv.h"
#include "data/git.h"
#include "sys/coproc.h"

#include <string.h>

struct git_batch {
    char *git_dir;
    struct coproc objects; /* cat-file --batch-check */
    struct coproc refs;    /* update-ref --stdin */
};

struct git_batch *git_batch_new(const char *git_dir)
{
    struct git_batch *b = mem_alloc(sizeof(*b));
    b->git_dir = mem_str(git_dir);
    coproc_init(&b->objects);
    coproc_init(&b->refs);
    return b;
}

void git_batch_free(struct git_batch *b)
{
    if (!b)
        return;
    coproc_stop(&b->objects);
    coproc_stop(&b->refs);
    free(b->git_dir);
    free(b);
}

static int start(struct git_batch *b, struct coproc *proc, const char *const *args, struct err *err)
{
    struct git_place at = {.git_dir = b->git_dir};
    autostrv struct strv argv = {0}, env = {0};
    if (coproc_running(proc))
        return 0;
    git_prepare(&at, &argv, &env);
    for (; *args; args++)
        strv_push(&argv, *args);
    return coproc_start(proc, argv.v, env.v, err);
}

/* Sends lines and reads one line of answer; a process that was found dead is started again, once.
 */
static int ask(struct git_batch *b, struct coproc *proc, const char *const *args,
               const struct buf *question, struct buf *answer, struct err *err)
{
    for (int attempt = 0;; attempt++) {
        if (start(b, proc, args, err))
            return -1;
        buf_cut(answer, 0);
        if (coproc_write(proc, question->s, question->len, err) == 0 &&
            coproc_read_line(proc, answer, err) == 0)
            return 0;
        coproc_stop(proc);
        if (attempt)
            return err_wrap(err, "git %s", args[0]);
    }
}

int git_batch_resolve(struct git_batch *b, const char *expression, struct buf *out, bool *ret_found,
                      struct err *err)
{
    static const char *const args[] = {"cat-file", "--batch-check=%(objectname)", NULL};
    autobuf struct buf question = BUF_INIT, answer = BUF_INIT;
    if (strchr(expression, '\n'))
        return err_set(err, ERR_INPUT, "'%s' is not a name", expression);
    buf_addf(&question, "%s\n", expression);
    if (ask(b, &b->objects, args, &question, &answer, err))
        return -1;
    /* "EXPRESSION missing", "... ambiguous", or the id alone. */
    *ret_found = !strchr(answer.s, ' ');
    if (*ret_found)
        buf_add(out, answer.s, answer.len);
    return 0;
}

/* update-ref says what is wrong on standard error and ends: that is the answer that it has moved,
 * for git_move_ref() to look into. */
int git_batch_move_ref(struct git_batch *b, const char *ref, const char *from, const char *to,
                       bool *ret_moved, struct err *err)
{
    static const char *const args[] = {"update-ref", "--stdin", "--no-deref", NULL};
    autobuf struct buf line = BUF_INIT, answer = BUF_INIT;
    if (!*to)
        buf_addf(&line, "start\ndelete %s %s\ncommit\n", ref, from);
    else if (*from)
        buf_addf(&line, "start\nupdate %s %s %s\ncommit\n", ref, to, from);
    else
        buf_addf(&line, "start\ncreate %s %s\ncommit\n", ref, to);
    *ret_moved = false;
    if (start(b, &b->refs, args, err))
        return -1;
    if (coproc_write(&b->refs, line.s, line.len, err)) {
        coproc_stop(&b->refs);
        return 0;
    }
    for (int i = 0; i < 2; i++) { /* "start: ok", "commit: ok" */
        buf_cut(&answer, 0);
        if (coproc_read_line(&b->refs, &answer, err)) {
            coproc_stop(&b->refs);
            return 0;
        }
    }
    *ret_moved = strcmp(answer.s, "commit: ok") == 0;
    return 0;
}
