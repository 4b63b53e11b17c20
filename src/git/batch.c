#include "git/batch.h"

#include "base/mem.h"
#include "git/format/loose_object.h"
#include "git/format/loose_ref.h"
#include "git/format/object_cache.h"
#include "git/format/tree.h"
#include "git/git.h"
#include "git/sign.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "sys/proc/capture_many.h"
#include "sys/proc/coproc.h"
#include "sys/proc/spawn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct git_batch {
    char *git_dir;
    struct coproc objects;                   /* cat-file --batch-command */
    struct coproc refs;                      /* update-ref --stdin */
    bool refs_killed;                        /* the last request killed it */
    bool held;                               /* it holds a lock to release first */
    struct coproc writers[GIT_BATCH_TYPES_]; /* hash-object, one for each type */
    int scratch;                             /* the file from which they read the object */
    size_t id_digits;                        /* length of an id; 0: unknown */
    bool writes_here;                        /* write objects without git */
    struct sign sign;
    struct object_cache known;
    struct buf idents[GIT_BATCH_WHO_]; /* git's answers, or empty */
};

struct git_batch *git_batch_new(const char *git_dir)
{
    struct git_batch *b = mem_alloc(sizeof(*b));
    b->git_dir = mem_str(git_dir);
    b->scratch = -1;
    for (int i = 0; i < GIT_BATCH_WHO_; i++)
        b->idents[i] = (struct buf)BUF_INIT;
    coproc_init(&b->objects);
    coproc_init(&b->refs);
    for (int i = 0; i < GIT_BATCH_TYPES_; i++)
        coproc_init(&b->writers[i]);
    return b;
}

void git_batch_free(struct git_batch *b)
{
    if (!b)
        return;
    /* Close the input of all processes before we wait for the first. */
    coproc_hang_up(&b->objects);
    coproc_hang_up(&b->refs);
    for (int i = 0; i < GIT_BATCH_TYPES_; i++)
        coproc_hang_up(&b->writers[i]);
    coproc_stop(&b->objects);
    coproc_stop(&b->refs);
    for (int i = 0; i < GIT_BATCH_TYPES_; i++)
        coproc_stop(&b->writers[i]);
    for (int i = 0; i < GIT_BATCH_WHO_; i++)
        buf_done(&b->idents[i]);
    object_cache_done(&b->known);
    own_close(&b->scratch);
    free(b->git_dir);
    free(b);
}

static int start_process(struct git_batch *b, struct coproc *proc, const char *const *args,
                         int extra, struct err *err)
{
    struct git_place at = {.git_dir = b->git_dir};
    autostrv struct strv argv = {0}, env = {0};
    if (coproc_running(proc))
        return 0;
    git_prepare(&at, &argv, &env);
    for (; *args; args++)
        strv_push(&argv, *args);
    return coproc_start(proc, argv.v, env.v, extra, err);
}

/* Sends lines and reads one line of the answer. Restarts a dead process once. */
static int ask_git(struct git_batch *b, struct coproc *proc, const char *const *args, int extra,
                   const struct buf *question, struct buf *answer, struct err *err)
{
    for (int attempt = 0;; attempt++) {
        if (start_process(b, proc, args, extra, err))
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

static const char *const cat_file[] = {"cat-file", "--batch-command", NULL};

static int ask_object(struct git_batch *b, const char *verb, const char *expression,
                      struct buf *answer, struct err *err)
{
    autobuf struct buf question = BUF_INIT;
    if (strchr(expression, '\n'))
        return err_set(err, ERR_INPUT, "'%s' is not a name", expression);
    buf_addf(&question, "%s %s\n", verb, expression);
    return ask_git(b, &b->objects, cat_file, SPAWN_NONE, &question, answer, err);
}

/* Reads the size at the end of an answer; returns false for "EXPRESSION missing" and "...
 * ambiguous". */
static bool read_size(const struct buf *answer, size_t *ret_size)
{
    const char *space = strrchr(answer->s, ' ');
    char *end;
    if (!space || space[1] < '0' || space[1] > '9')
        return false;
    *ret_size = (size_t)strtoull(space + 1, &end, 10);
    return !*end;
}

/* Reads the ref from its file, if we know its commit: git named it, or we wrote it. git does not
 * prune a commit while a ref is at it. */
static bool read_ref(const struct git_batch *b, const char *expression, struct buf *out)
{
    static const char commit[] = "^{commit}";
    const char *end = strstr(expression, commit);
    autobuf struct buf id = BUF_INIT;
    if (!end || end[strlen(commit)] || strncmp(expression, "refs/", 5) != 0)
        return false;
    autofree char *name = mem_dup(expression, (size_t)(end - expression));
    if (!loose_ref_read(b->git_dir, name, &id) || !object_cache_is_commit(&b->known, &id))
        return false;
    buf_add(out, id.s, id.len);
    return true;
}

int git_batch_resolve(struct git_batch *b, const char *expression, struct buf *out, bool *ret_found,
                      struct err *err)
{
    autobuf struct buf answer = BUF_INIT;
    size_t size, commit = object_cache_commit(expression);
    const char *root = object_cache_root(&b->known, expression);
    if (root)
        buf_addstr(out, root);
    *ret_found = root || read_ref(b, expression, out);
    if (*ret_found)
        return 0;
    if (ask_object(b, "info", expression, &answer, err))
        return -1;
    *ret_found = read_size(&answer, &size);
    if (!*ret_found)
        return 0;
    size_t len = strcspn(answer.s, " ");
    buf_add(out, answer.s, len);
    b->id_digits = len;
    if (commit)
        object_cache_add_root(&b->known, expression, commit, answer.s, len);
    return 0;
}

static int read_object(struct git_batch *b, const char *expression, struct buf *out,
                       struct buf *ret_id, struct err *err)
{
    autobuf struct buf answer = BUF_INIT;
    size_t size, before = out->len;
    if (ask_object(b, "contents", expression, &answer, err))
        return -1;
    if (!read_size(&answer, &size))
        return err_set(err, ERR_ENV, "git cat-file: %s", answer.s);
    if (coproc_read(&b->objects, size + 1, out, err)) { /* including the newline */
        coproc_stop(&b->objects);
        buf_cut(out, before);
        return err_wrap(err, "git cat-file");
    }
    buf_cut(out, out->len - 1);
    buf_add(ret_id, answer.s, strcspn(answer.s, " "));
    return 0;
}

int git_batch_read(struct git_batch *b, const char *expression, struct buf *out, struct err *err)
{
    autobuf struct buf id = BUF_INIT;
    size_t before = out->len, commit = object_cache_commit(expression);
    const char *root = object_cache_root(&b->known, expression), *name = root ? root : expression;
    const struct object_cache_bytes *tree = object_cache_tree(&b->known, name);
    if (tree) {
        buf_add(out, tree->s, tree->len);
        return 0;
    }
    if (read_object(b, name, out, &id, err))
        return -1;
    if (commit) {
        object_cache_add_root(&b->known, expression, commit, id.s, id.len);
        object_cache_add_tree(&b->known, id.s, id.len, out->s + before, out->len - before);
    }
    return 0;
}

int git_batch_size(struct git_batch *b, const char *id, size_t *ret_size, struct err *err)
{
    autobuf struct buf answer = BUF_INIT;
    if (ask_object(b, "info", id, &answer, err))
        return -1;
    return read_size(&answer, ret_size) ? 0 : err_set(err, ERR_ENV, "git cat-file: %s", answer.s);
}

/* Sends many questions at once and reads the answers to the first n. If we cannot read all answers
 * we stop the process, so that none of them is mistaken for a later answer. */
static int check_objects(struct git_batch *b, const struct buf *questions, size_t n, bool *ret_yes,
                         struct err *err)
{
    autobuf struct buf answer = BUF_INIT;
    size_t size;
    if (n && ask_git(b, &b->objects, cat_file, SPAWN_NONE, questions, &answer, err))
        return -1;
    for (; n; n--) {
        *ret_yes = *ret_yes && read_size(&answer, &size);
        buf_cut(&answer, 0);
        if (n > 1 && coproc_read_line(&b->objects, &answer, err)) {
            coproc_stop(&b->objects);
            return err_wrap(err, "git cat-file");
        }
    }
    return 0;
}

/* True if the object is a file of its own, as new objects are. A newline follows the id. */
static bool is_loose(const struct git_batch *b, const char *id)
{
    autofree char *path =
        mem_printf("%s/objects/%.2s/%.*s", b->git_dir, id, (int)strcspn(id + 2, "\n"), id + 2);
    return access(path, F_OK) == 0;
}

int git_batch_has_all(struct git_batch *b, const struct buf *ids, bool *ret_yes, struct err *err)
{
    enum { BATCH_SIZE = 256 }; /* so many questions and answers fit into the pipes */
    autobuf struct buf questions = BUF_INIT;
    size_t n = 0;
    bool yes = true;
    for (const char *id = ids->s; *id && yes; id += strcspn(id, "\n") + 1) {
        if (is_loose(b, id))
            continue;
        buf_addf(&questions, "info %.*s\n", (int)strcspn(id, "\n"), id);
        if (++n < BATCH_SIZE)
            continue;
        if (check_objects(b, &questions, n, &yes, err))
            return -1;
        buf_cut(&questions, 0);
        n = 0;
    }
    if (check_objects(b, &questions, n, &yes, err))
        return -1;
    *ret_yes = yes;
    return 0;
}

enum { WRITER_ARGS = 7 };

static const char *const hash_object[GIT_BATCH_TYPES_][WRITER_ARGS] = {
    [GIT_BATCH_COMMIT] = {"hash-object", "-w", "-t", "commit", "--no-filters", "--stdin-paths"},
    [GIT_BATCH_TREE] = {"hash-object", "-w", "-t", "tree", "--no-filters", "--stdin-paths"}};

static int open_scratch(struct git_batch *b, struct err *err)
{
    return b->scratch < 0 ? file_scratch(&b->scratch, err) : 0;
}

static int write_object(struct git_batch *b, enum git_batch_type type, const struct buf *bytes,
                        struct buf *ret_id, struct err *err)
{
    autobuf struct buf question = BUF_INIT, answer = BUF_INIT;
    buf_addstr(&question, "/dev/fd/3\n"); /* hash-object reads only paths */
    if (open_scratch(b, err) || file_refill(b->scratch, bytes->s, bytes->len, err) ||
        ask_git(b, &b->writers[type], hash_object[type], b->scratch, &question, &answer, err))
        return -1;
    buf_add(ret_id, answer.s, answer.len);
    return 0;
}

/* Checks as much as git: that the whole tree can be parsed. */
static bool is_tree(const struct buf *bytes, size_t id_len)
{
    struct tree_entry e;
    struct err damage = {0};
    size_t pos = 0;
    while (tree_next(bytes, id_len, &pos, &e, &damage))
        ;
    return !damage.code;
}

/* We learn the length of ids from the first id that git returns. */
static int write_tree(struct git_batch *b, const struct buf *bytes, struct buf *ret_id,
                      struct err *err)
{
    size_t before = ret_id->len;
    if (b->writes_here && b->id_digits && is_tree(bytes, b->id_digits / 2))
        return loose_object_write(b->git_dir, "tree", bytes, b->id_digits, ret_id, err);
    if (write_object(b, GIT_BATCH_TREE, bytes, ret_id, err))
        return -1;
    b->id_digits = ret_id->len - before;
    return 0;
}

static int write_commit(struct git_batch *b, const struct buf *bytes, struct buf *ret_id,
                        struct err *err)
{
    size_t id_digits = strcspn(bytes->s + strlen("tree "), "\n");
    return b->writes_here ? loose_object_write(b->git_dir, "commit", bytes, id_digits, ret_id, err)
                          : write_object(b, GIT_BATCH_COMMIT, bytes, ret_id, err);
}

/* Writes an object even if it was written before: it may have been pruned since, and git does
 * little work if it was not. We add it to the cache, because it is soon read. A commit begins with
 * "tree ID". */
int git_batch_write(struct git_batch *b, enum git_batch_type type, const struct buf *bytes,
                    struct buf *ret_id, struct err *err)
{
    size_t before = ret_id->len;
    const char *tree = bytes->s + strlen("tree ");
    if (type == GIT_BATCH_TREE ? write_tree(b, bytes, ret_id, err)
                               : write_commit(b, bytes, ret_id, err))
        return -1;
    const char *id = ret_id->s + before;
    size_t len = ret_id->len - before;
    if (type == GIT_BATCH_TREE)
        object_cache_add_tree(&b->known, id, len, bytes->s, bytes->len);
    else
        object_cache_add_root(&b->known, id, len, tree, strcspn(tree, "\n"));
    return 0;
}

int git_batch_use_tree(struct git_batch *b, const struct buf *bytes, struct buf *required,
                       struct buf *ret_id, struct err *err)
{
    const char *known = object_cache_tree_id(&b->known, bytes);
    if (!known)
        return git_batch_write(b, GIT_BATCH_TREE, bytes, ret_id, err);
    buf_addstr(ret_id, known);
    buf_addf(required, "%s\n", known);
    return 0;
}

bool git_batch_refused(const struct err *err)
{
    return !err || err->errnum != ETIMEDOUT;
}

static void add_now(struct buf *out)
{
    time_t now = time(NULL);
    struct tm tm = {0};
    (void)localtime_r(&now, &tm);
    long minutes = labs(tm.tm_gmtoff) / 60;
    buf_addf(out, "%lld %c%02ld%02ld", (long long)now, tm.tm_gmtoff < 0 ? '-' : '+', minutes / 60,
             minutes % 60);
}

static const char *const ident_names[] = {
    [GIT_BATCH_AUTHOR] = "GIT_AUTHOR_IDENT", [GIT_BATCH_COMMITTER] = "GIT_COMMITTER_IDENT"};

static int ask_ident(const struct git_batch *b, enum git_batch_who who, struct buf *out,
                     struct err *err)
{
    struct git_place at = {.git_dir = b->git_dir};
    return git_call(&at, out, err, "var", ident_names[who], NULL);
}

/* We ask git once. Only the time changes later, unless the user has fixed that too. */
int git_batch_ident(struct git_batch *b, enum git_batch_who who, struct buf *out, struct err *err)
{
    static const char *const dates[] = {"GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"};
    struct buf *known = &b->idents[who];
    if (!known->len && ask_ident(b, who, known, err))
        return -1;
    const char *mail_end = strrchr(known->s, '>');
    if (!mail_end || getenv(dates[who])) {
        buf_add(out, known->s, known->len);
        return 0;
    }
    buf_add(out, known->s, (size_t)(mail_end - known->s) + 2);
    add_now(out);
    return 0;
}

/* Short timeouts: git_move_ref() waits for locks, because it can tell who owns them. */
static const char *const update_ref[] = {"-c",         "core.filesRefLockTimeout=100",
                                         "-c",         "core.packedRefsTimeout=1000",
                                         "update-ref", "--stdin",
                                         "--no-deref", NULL};

/* Sends lines to update-ref, which answers each command with "VERB: ok". *ret_last is true if the
 * last answer is `expected`. On an error update-ref writes to standard error and ends. We treat
 * that as "the ref has moved", and git_move_ref() finds the cause. */
static int send_ref_lines(struct git_batch *b, const struct buf *lines, int count,
                          const char *expected, bool *ret_last, struct err *err)
{
    autobuf struct buf answer = BUF_INIT;
    *ret_last = b->refs_killed = false;
    if (start_process(b, &b->refs, update_ref, SPAWN_NONE, err))
        return -1;
    bool answered = coproc_write(&b->refs, lines->s, lines->len, err) == 0;
    for (int i = 0; answered && i < count; i++) {
        buf_cut(&answer, 0);
        answered = coproc_read_line(&b->refs, &answer, err) == 0;
    }
    if (!answered) {
        b->refs_killed = coproc_stop(&b->refs);
        b->held = false;
    }
    *ret_last = answered && strcmp(answer.s, expected) == 0;
    return 0;
}

/* Runs the lines as one transaction. */
static int update_refs(struct git_batch *b, const struct buf *lines, bool *ret_moved,
                       struct err *err)
{
    autobuf struct buf all = BUF_INIT;
    bool held = b->held;
    b->held = false;
    buf_addf(&all, "%sstart\n%scommit\n", held ? "abort\n" : "", lines->s);
    return send_ref_lines(b, &all, held ? 3 : 2, "commit: ok", ret_moved, err);
}

static void add_move(struct buf *lines, const struct git_batch_move *m)
{
    if (!*m->to)
        buf_addf(lines, "delete %s %s\n", m->ref, m->from);
    else if (*m->from)
        buf_addf(lines, "update %s %s %s\n", m->ref, m->to, m->from);
    else
        buf_addf(lines, "create %s %s\n", m->ref, m->to);
}

int git_batch_move_refs(struct git_batch *b, const struct git_batch_move *moves, size_t n,
                        bool *ret_moved, struct err *err)
{
    autobuf struct buf lines = BUF_INIT;
    for (size_t i = 0; i < n; i++)
        add_move(&lines, &moves[i]);
    return update_refs(b, &lines, ret_moved, err);
}

int git_batch_move_ref(struct git_batch *b, const char *ref, const char *from, const char *to,
                       bool *ret_moved, struct err *err)
{
    struct git_batch_move move = {.ref = ref, .from = from, .to = to};
    return git_batch_move_refs(b, &move, 1, ret_moved, err);
}

/* A prepared transaction holds its locks, and we never commit it. git also drops it when its input
 * ends. */
int git_batch_hold(struct git_batch *b, const char *ref, const char *commit, bool *ret_held,
                   struct err *err)
{
    autobuf struct buf lines = BUF_INIT;
    buf_addf(&lines, "start\nupdate %s %s\nprepare\n", ref, commit);
    if (send_ref_lines(b, &lines, 2, "prepare: ok", ret_held, err))
        return -1;
    b->held = *ret_held;
    return 0;
}

void git_batch_release(struct git_batch *b)
{
    autobuf struct buf line = BUF_INIT;
    bool released;
    buf_addstr(&line, "abort\n");
    if (b->held && send_ref_lines(b, &line, 1, "abort: ok", &released, NULL) == 0 && !released)
        (void)coproc_stop(&b->refs);
    b->held = false;
}

bool git_batch_was_killed(const struct git_batch *b)
{
    return b->refs_killed;
}

int git_batch_delete_refs(struct git_batch *b, const struct strv *refs, bool *ret_deleted,
                          struct err *err)
{
    autobuf struct buf lines = BUF_INIT;
    for (size_t i = 0; i < refs->n; i += 2)
        add_move(&lines, &(struct git_batch_move){refs->v[i], refs->v[i + 1], ""});
    return update_refs(b, &lines, ret_deleted, err);
}

static void copy_first_line(struct buf *to, const struct proc_job *job)
{
    if (job->status == 0 && !to->len)
        buf_add(to, job->out.s, strcspn(job->out.s, "\n"));
}

int git_batch_begin(struct git_batch *b, struct buf *ret_version, struct err *err)
{
    enum { VERSION = GIT_BATCH_WHO_, QUESTIONS };
    struct git_place at = {.git_dir = b->git_dir};
    struct proc_job jobs[QUESTIONS];
    for (int i = 0; i < QUESTIONS; i++) {
        jobs[i] = (struct proc_job)PROC_JOB_INIT;
        git_prepare(&at, &jobs[i].argv, &jobs[i].env);
        if (i == VERSION)
            strv_push(&jobs[i].argv, "version");
        else
            strv_pushl(&jobs[i].argv, "var", ident_names[i], NULL);
    }
    int rc = capture_many(jobs, QUESTIONS, err);
    for (int i = 0; i < QUESTIONS; i++) {
        if (rc == 0)
            copy_first_line(i == VERSION ? ret_version : &b->idents[i], &jobs[i]);
        proc_job_done(&jobs[i]);
    }
    return rc;
}

int git_batch_get_ready(struct git_batch *b, struct err *err)
{
    int rc = start_process(b, &b->objects, cat_file, SPAWN_NONE, err) ||
             start_process(b, &b->refs, update_ref, SPAWN_NONE, err) || open_scratch(b, err);
    for (int i = 0; rc == 0 && i < GIT_BATCH_TYPES_; i++) {
        if (!b->writes_here)
            rc = start_process(b, &b->writers[i], hash_object[i], b->scratch, err);
    }
    return rc ? -1 : 0;
}

struct sign *git_batch_sign(struct git_batch *b)
{
    return &b->sign;
}

void git_batch_write_here(struct git_batch *b)
{
    b->writes_here = true;
}
