#include "git/diffs.h"

#include "base/strv.h"
#include "git/git.h"
#include "sys/proc/spawn.h"

#include <stdlib.h>
#include <string.h>

/* git echoes a line that is not the id of an object, so this line marks the end of an answer. No
 * line of a patch begins like this. */
static const char end_mark[] = "=end";

void diffs_init(struct diffs *d, const char *git_dir)
{
    *d = (struct diffs){.git_dir = git_dir};
    coproc_init(&d->proc);
}

void diffs_done(struct diffs *d)
{
    (void)coproc_stop(&d->proc);
}

/* We disable the programs that settings or attributes name. */
static int start_process(struct diffs *d, struct err *err)
{
    struct git_place at = {.git_dir = d->git_dir};
    autostrv struct strv argv = {0}, env = {0};
    if (coproc_running(&d->proc))
        return 0;
    git_prepare(&at, &argv, &env);
    strv_pushl(&argv, "-c", "core.bigFileThreshold=1m", "diff-tree", "--stdin", "-r", "-M",
               "--numstat", "-p", "--no-color", "--no-ext-diff", "--no-textconv", NULL);
    return coproc_start(&d->proc, argv.v, env.v, SPAWN_NONE, err);
}

/* Parses "12\t3\tpath", or "-\t-\tpath" for a file that is not text. */
static void add_counts(struct diff *ret, const char *line)
{
    char *rest;
    ret->files++;
    ret->added += strtoll(line, &rest, 10);
    if (*rest == '\t')
        ret->removed += strtoll(rest + 1, NULL, 10);
}

static bool is_id(const struct buf *line)
{
    return line->len >= 40 && strspn(line->s, "0123456789abcdef") == line->len;
}

/* Reads one answer: the commit's id, the counts, an empty line, the patch, the end mark. */
static int read_answer(struct diffs *d, size_t max, struct diff *ret, struct buf *patch,
                       struct err *err)
{
    size_t before = patch->len, lines = 0;
    bool in_counts = true;
    while (!ret->cut) {
        autobuf struct buf line = BUF_INIT;
        if (coproc_read_line(&d->proc, &line, err))
            return -1;
        if (strcmp(line.s, end_mark) == 0)
            return 0;
        if (in_counts && (!line.len || is_id(&line))) {
            in_counts = line.len != 0;
        } else if (in_counts) {
            add_counts(ret, line.s);
        } else if (patch->len - before + line.len + 1 > max || ++lines > max / DIFF_LINE) {
            ret->cut = true;
        } else {
            buf_add(patch, line.s, line.len);
            buf_addch(patch, '\n');
        }
    }
    (void)coproc_stop(&d->proc); /* do not read the rest: it may be long */
    return 0;
}

int diffs_get(struct diffs *d, const char *from, const char *to, size_t max, struct diff *ret,
              struct buf *patch, struct err *err)
{
    autobuf struct buf question = BUF_INIT;
    struct diff found = {0};
    size_t before = patch->len;
    buf_addf(&question, "%s %s\n%s\n", to, from, end_mark);
    if (start_process(d, err) || coproc_write(&d->proc, question.s, question.len, err) ||
        read_answer(d, max, &found, patch, err)) {
        (void)coproc_stop(&d->proc);
        buf_cut(patch, before);
        return err_wrap(err, "git diff-tree");
    }
    *ret = found;
    return 0;
}
