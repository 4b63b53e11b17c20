/*
 * Finds out what a thread has changed. A path counts if it differs from everything that the thread
 * has taken over: its base, and in the middle of a merge also the merged commits.
 */
#include "base/mem.h"
#include "base/text/str.h"
#include "sys/fs/file.h"
#include "threads/own/own.h"
#include "workspace/commit/commit.h"

#include <errno.h>
#include <string.h>

enum { HEADS_MAX = 1 << 20 };

static struct git_place place_of(const struct own_question *q)
{
    return (struct git_place){
        .git_dir = q->thread->admin,
        .common = q->repo->common,
        .work_tree = q->thread->path,
        .index = q->scope == OWN_STAGED ? q->index : NULL,
    };
}

/* Sorted, without duplicates; the strings point into the text. */
struct set {
    struct buf text;
    VEC(const char *) v;
};

#define SET_INIT                                                                                   \
    {                                                                                              \
        .text = BUF_INIT                                                                           \
    }

static void set_done(struct set *s)
{
    buf_done(&s->text);
    vec_done(&s->v);
}
#define autoset own_cleanup(set_done)

/* Call this when the text is complete. git does not look into an inner repository: it lists it as a
 * folder with a slash, which we remove. */
static void set_index(struct set *s)
{
    for (char *p = s->text.s, *end = p + s->text.len; p < end;) {
        size_t len = strlen(p);
        vec_push(&s->v, p);
        if (len && p[len - 1] == '/')
            p[len - 1] = '\0';
        p += len + 1;
    }
    if (s->v.n)
        qsort(s->v.v, s->v.n, sizeof(*s->v.v), str_compare);
    size_t n = 0;
    for (size_t i = 0; i < s->v.n; i++) {
        if (n == 0 || strcmp(s->v.v[n - 1], s->v.v[i]) != 0)
            s->v.v[n++] = s->v.v[i];
    }
    s->v.n = n;
}

static void set_intersect(struct set *s, const struct set *other)
{
    size_t n = 0;
    for (size_t i = 0, k = 0; i < s->v.n; i++) {
        while (k < other->v.n && strcmp(other->v.v[k], s->v.v[i]) < 0)
            k++;
        if (k < other->v.n && strcmp(other->v.v[k], s->v.v[i]) == 0)
            s->v.v[n++] = s->v.v[i];
    }
    s->v.n = n;
}

static void set_write(const struct set *s, struct buf *out)
{
    for (size_t i = 0; i < s->v.n; i++)
        buf_add(out, s->v.v[i], strlen(s->v.v[i]) + 1);
}

/* Adds the commits of the base branch and of its upstream, if they exist. */
static int add_bases(const struct git_place *at, const char *base, struct strv *args,
                     struct err *err)
{
    autobuf struct buf out = BUF_INIT, upstream = BUF_INIT;
    if (git_call(at, &out, err, "for-each-ref", "--format=%(objectname)%0a%(upstream)", base, NULL))
        return -1;
    char *rest = out.s, *commit = strsep(&rest, "\n"), *name = strsep(&rest, "\n");
    if (*commit)
        strv_push(args, commit);
    if (!name || !*name)
        return 0;
    struct err why = {0};
    if (git_resolve(at, name, &upstream, &why) == 0)
        strv_push(args, upstream.s);
    else if (why.code != ERR_INPUT) /* the upstream may be gone */
        return err_set(err, why.code, "%s", why.msg);
    return 0;
}

/* Finds the commit from which a thread's changes count: the last one that `tip` (of its branch, or
 * HEAD) has in common with the base branch, or the commit that it was made from. */
static int find_base(const struct own_question *q, const char *tip, struct buf *out,
                     struct err *err)
{
    const struct thread *t = q->thread;
    struct git_place at = {.git_dir = t->admin, .common = q->repo->common};
    autostrv struct strv args = {0};
    autobuf struct buf found = BUF_INIT;
    int status;
    strv_pushl(&args, "merge-base", tip, t->base_commit, NULL);
    if (t->base && add_bases(&at, t->base, &args, err))
        return -1;
    if (git_try(&at, &args, &found, NULL, &status, err))
        return -1;
    buf_cut(&found, strcspn(found.s, "\n"));
    buf_addstr(out, status == 0 ? found.s : t->base_commit); /* else the histories are unrelated */
    return 0;
}

static int add_base(const struct own_question *q, struct strv *commits, struct err *err)
{
    autobuf struct buf base = BUF_INIT;
    if (find_base(q, "HEAD", &base, err))
        return -1;
    strv_push(commits, base.s);
    return 0;
}

/* Adds the commits that are being merged. */
static int add_merged(const struct own_question *q, struct strv *commits, struct err *err)
{
    autofree char *path = mem_printf("%s/MERGE_HEAD", q->thread->admin);
    autobuf struct buf text = BUF_INIT;
    struct err why = {0};
    if (file_read(path, HEADS_MAX, &text, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    for (char *rest = text.s, *line; (line = strsep(&rest, "\n"));) {
        if (*line)
            strv_push(commits, line);
    }
    return 0;
}

/* These options make git's answer independent of the user's configuration. */
static void add_diff_options(struct strv *args)
{
    strv_pushl(args, "diff", "--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff",
               "--ignore-submodules=dirty", NULL);
}

static int diff_commit(const struct own_question *q, const char *commit, struct set *s,
                       struct err *err)
{
    struct git_place at = place_of(q);
    autostrv struct strv args = {0};
    autobuf struct buf errout = BUF_INIT;
    int status;
    add_diff_options(&args);
    if (q->scope == OWN_STAGED)
        strv_push(&args, "--cached");
    strv_pushl(&args, commit, "--", NULL);
    if (git_try(&at, &args, &s->text, &errout, &status, err))
        return -1;
    if (status != 0)
        return err_set(err, q->scope == OWN_RANGE ? ERR_INPUT : ERR_ENV, "git diff %s: %.*s",
                       commit, (int)strcspn(errout.s, "\n"), errout.s);
    set_index(s);
    return 0;
}

/* The paths that differ from each of the commits. */
static int diff_all(const struct own_question *q, const struct strv *commits, struct set *s,
                    struct err *err)
{
    if (diff_commit(q, commits->v[0], s, err))
        return -1;
    for (size_t i = 1; i < commits->n && s->v.n; i++) {
        autoset struct set other = SET_INIT;
        if (diff_commit(q, commits->v[i], &other, err))
            return -1;
        set_intersect(s, &other);
    }
    return 0;
}

static int check_worktree(const struct own_question *q, struct buf *out, struct err *err)
{
    struct git_place at = place_of(q);
    autostrv struct strv commits = {0};
    autoset struct set changed = SET_INIT, all = SET_INIT;
    if (add_base(q, &commits, err) || add_merged(q, &commits, err) ||
        diff_all(q, &commits, &changed, err) ||
        git_call(&at, &all.text, err, "ls-files", "-z", "--others", "--exclude-standard",
                 "--full-name", "--", ":/", NULL))
        return -1;
    set_write(&changed, &all.text);
    set_index(&all);
    set_write(&all, out);
    return 0;
}

static int check_index(const struct own_question *q, struct buf *out, struct err *err)
{
    autostrv struct strv commits = {0};
    autoset struct set changed = SET_INIT;
    strv_push(&commits, "HEAD");
    if (add_base(q, &commits, err) || add_merged(q, &commits, err) ||
        diff_all(q, &commits, &changed, err))
        return -1;
    set_write(&changed, out);
    return 0;
}

static int check_branch(const struct own_question *q, struct buf *out, struct err *err)
{
    struct git_place at = {.git_dir = q->repo->common};
    autobuf struct buf base = BUF_INIT;
    if (find_base(q, q->thread->branch, &base, err))
        return -1;
    return commit_paths(&at, base.s, q->thread->branch, out, err);
}

static int check_range(const struct own_question *q, struct buf *out, struct err *err)
{
    autoset struct set changed = SET_INIT;
    if (*q->range == '-' || !strstr(q->range, ".."))
        return err_set(err, ERR_INPUT, "'%s' is not a range of commits, FROM..TO", q->range);
    if (diff_commit(q, q->range, &changed, err))
        return -1;
    set_write(&changed, out);
    return 0;
}

int own_check(const struct own_question *q, struct own_verdict *v, struct err *err)
{
    static int (*const checks[])(const struct own_question *, struct buf *, struct err *) = {
        [OWN_WORK_TREE] = check_worktree,
        [OWN_STAGED] = check_index,
        [OWN_COMMITTED] = check_branch,
        [OWN_RANGE] = check_range,
    };
    autobuf struct buf paths = BUF_INIT;
    *v = (struct own_verdict){0};
    if (checks[q->scope](q, &paths, err))
        return err_wrap(err, "thread %s", q->thread->id);
    struct own_rules *rules = own_rules_new(q->all, q->repo->core.ignore_case);
    own_verdict_add(v, rules, q->thread, paths.s, paths.len);
    own_rules_free(rules);
    return 0;
}
