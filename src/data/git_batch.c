#include "data/git_batch.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/strv.h"
#include "data/git.h"
#include "sys/coproc.h"
#include "sys/file.h"
#include "sys/spawn.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MEMORY_MAX = 4 << 20 };

struct remembered {
    const char *bytes;
    size_t len;
};

struct git_batch {
    char *git_dir;
    struct coproc objects;                   /* cat-file --batch-command */
    struct coproc refs;                      /* update-ref --stdin */
    struct coproc writers[GIT_BATCH_TYPES_]; /* hash-object, one for each type */
    int scratch;                             /* where it finds what to write */
    struct map written;                /* digest of a tree's bytes: its id, of those written here */
    struct map roots;                  /* a commit's id: its tree's */
    struct map trees;                  /* a tree's id: its bytes */
    struct arena arena;                /* what these lead to */
    struct buf idents[GIT_BATCH_WHO_]; /* as git told them, or empty */
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
    coproc_stop(&b->objects);
    coproc_stop(&b->refs);
    for (int i = 0; i < GIT_BATCH_TYPES_; i++)
        coproc_stop(&b->writers[i]);
    for (int i = 0; i < GIT_BATCH_WHO_; i++)
        buf_done(&b->idents[i]);
    map_done(&b->written);
    map_done(&b->roots);
    map_done(&b->trees);
    arena_done(&b->arena);
    own_close(&b->scratch);
    free(b->git_dir);
    free(b);
}

static int start(struct git_batch *b, struct coproc *proc, const char *const *args, int extra,
                 struct err *err)
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

/* Sends lines and reads one line of answer; a process that was found dead is started again, once.
 */
static int ask(struct git_batch *b, struct coproc *proc, const char *const *args, int extra,
               const struct buf *question, struct buf *answer, struct err *err)
{
    for (int attempt = 0;; attempt++) {
        if (start(b, proc, args, extra, err))
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

/* --- objects ------------------------------------------------------------------------------ */

static int ask_object(struct git_batch *b, const char *verb, const char *expression,
                      struct buf *answer, struct err *err)
{
    static const char *const args[] = {"cat-file", "--batch-command", NULL};
    autobuf struct buf question = BUF_INIT;
    if (strchr(expression, '\n'))
        return err_set(err, ERR_INPUT, "'%s' is not a name", expression);
    buf_addf(&question, "%s %s\n", verb, expression);
    return ask(b, &b->objects, args, SPAWN_NONE, &question, answer, err);
}

/* The size that ends an answer; false for "EXPRESSION missing" and "... ambiguous". */
static bool read_size(const struct buf *answer, size_t *ret_size)
{
    const char *space = strrchr(answer->s, ' ');
    char *end;
    if (!space || space[1] < '0' || space[1] > '9')
        return false;
    *ret_size = (size_t)strtoull(space + 1, &end, 10);
    return !*end;
}

/* --- what is remembered ------------------------------------------------------------------- */

/* Objects never change, so that what was said of one stays true. All is forgotten when it gets too
 * much. */
static void make_room(struct git_batch *b)
{
    if (b->arena.total < MEMORY_MAX)
        return;
    map_done(&b->written);
    map_done(&b->roots);
    map_done(&b->trees);
    arena_done(&b->arena);
}

static void remember(struct git_batch *b, struct map *map, const char *key, size_t len,
                     const void *value, size_t size)
{
    struct remembered *r = arena_alloc(&b->arena, sizeof(*r));
    *r = (struct remembered){arena_dup(&b->arena, value, size), size};
    (void)map_put(map, arena_dup(&b->arena, key, len), len, r);
}

/* "ID^{tree}": what comes before that, or 0 for another expression. */
static size_t commit_len(const char *expression)
{
    size_t len = strspn(expression, "0123456789abcdef");
    return len >= 40 && strcmp(expression + len, "^{tree}") == 0 ? len : 0;
}

/* The tree's id, where it is remembered; else the expression as it is. */
static const char *tree_name(const struct git_batch *b, const char *expression)
{
    const struct remembered *root = map_get(&b->roots, expression, commit_len(expression));
    return root ? root->bytes : expression;
}

/* --- reading ------------------------------------------------------------------------------ */

int git_batch_resolve(struct git_batch *b, const char *expression, struct buf *out, bool *ret_found,
                      struct err *err)
{
    autobuf struct buf answer = BUF_INIT;
    size_t size, commit = commit_len(expression);
    const char *known = tree_name(b, expression);
    if (known != expression) {
        buf_addstr(out, known);
        *ret_found = true;
        return 0;
    }
    if (ask_object(b, "info", expression, &answer, err))
        return -1;
    *ret_found = read_size(&answer, &size);
    if (!*ret_found)
        return 0;
    size_t len = strcspn(answer.s, " ");
    buf_add(out, answer.s, len);
    make_room(b);
    if (commit)
        remember(b, &b->roots, expression, commit, answer.s, len);
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
    if (coproc_read(&b->objects, size + 1, out, err)) { /* with a line's end behind it */
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
    size_t before = out->len, commit = commit_len(expression);
    const char *name = tree_name(b, expression);
    const struct remembered *tree = map_get(&b->trees, name, strlen(name));
    if (tree) {
        buf_add(out, tree->bytes, tree->len);
        return 0;
    }
    if (read_object(b, name, out, &id, err))
        return -1;
    make_room(b);
    if (commit) {
        remember(b, &b->roots, expression, commit, id.s, id.len);
        remember(b, &b->trees, id.s, id.len, out->s + before, out->len - before);
    }
    return 0;
}

/* --- writing ------------------------------------------------------------------------------ */

static int write_object(struct git_batch *b, enum git_batch_type type, const struct buf *bytes,
                        struct buf *ret_id, struct err *err)
{
    static const char *const names[] = {[GIT_BATCH_COMMIT] = "commit", [GIT_BATCH_TREE] = "tree"};
    const char *const args[] = {"hash-object",   "-w", "-t", names[type], "--no-filters",
                                "--stdin-paths", NULL};
    autobuf struct buf question = BUF_INIT, answer = BUF_INIT;
    buf_addstr(&question, "/dev/fd/3\n"); /* a path is all that it takes */
    if ((b->scratch < 0 && file_scratch(&b->scratch, err)) ||
        file_refill(b->scratch, bytes->s, bytes->len, err) ||
        ask(b, &b->writers[type], args, b->scratch, &question, &answer, err))
        return -1;
    buf_add(ret_id, answer.s, answer.len);
    return 0;
}

/* Most folders of one commit are those of another: each tree is written once. */
static int write_tree(struct git_batch *b, const struct buf *bytes, struct buf *ret_id,
                      struct err *err)
{
    char digest[65];
    size_t before = ret_id->len;
    sha256_hex(bytes->s, bytes->len, digest);
    const struct remembered *known = map_get(&b->written, digest, 64);
    if (known) {
        buf_add(ret_id, known->bytes, known->len);
        return 0;
    }
    if (write_object(b, GIT_BATCH_TREE, bytes, ret_id, err))
        return -1;
    const char *id = ret_id->s + before;
    make_room(b);
    remember(b, &b->written, digest, 64, id, ret_id->len - before);
    remember(b, &b->trees, id, ret_id->len - before, bytes->s, bytes->len);
    return 0;
}

/* "tree ID" is a commit's first line. */
static int write_commit(struct git_batch *b, const struct buf *bytes, struct buf *ret_id,
                        struct err *err)
{
    size_t before = ret_id->len;
    if (write_object(b, GIT_BATCH_COMMIT, bytes, ret_id, err))
        return -1;
    make_room(b);
    remember(b, &b->roots, ret_id->s + before, ret_id->len - before, bytes->s + 5,
             strcspn(bytes->s + 5, "\n"));
    return 0;
}

int git_batch_write(struct git_batch *b, enum git_batch_type type, const struct buf *bytes,
                    struct buf *ret_id, struct err *err)
{
    return type == GIT_BATCH_TREE ? write_tree(b, bytes, ret_id, err)
                                  : write_commit(b, bytes, ret_id, err);
}

/* --- who ---------------------------------------------------------------------------------- */

static void add_now(struct buf *out)
{
    time_t now = time(NULL);
    struct tm tm = {0};
    (void)localtime_r(&now, &tm);
    long minutes = labs(tm.tm_gmtoff) / 60;
    buf_addf(out, "%lld %c%02ld%02ld", (long long)now, tm.tm_gmtoff < 0 ? '-' : '+', minutes / 60,
             minutes % 60);
}

static int ask_ident(const struct git_batch *b, const char *which, struct buf *out, struct err *err)
{
    struct git_place at = {.git_dir = b->git_dir};
    return git_call(&at, out, err, "var", which, NULL);
}

/* git is asked once; what changes is the time, unless the user has fixed that as well. */
int git_batch_ident(struct git_batch *b, enum git_batch_who who, struct buf *out, struct err *err)
{
    static const char *const names[] = {"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"};
    static const char *const dates[] = {"GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"};
    struct buf *known = &b->idents[who];
    if (!known->len && ask_ident(b, names[who], known, err))
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

/* --- refs --------------------------------------------------------------------------------- */

/* update-ref says what is wrong on standard error and ends: that is the answer that it has moved,
 * for git_move_ref() to look into. */
int git_batch_move_ref(struct git_batch *b, const char *ref, const char *from, const char *to,
                       bool *ret_moved, struct err *err)
{
    /* It is git_move_ref() that waits for locks, and knows which. */
    static const char *const args[] = {
        "-c", "core.filesRefLockTimeout=100", "update-ref", "--stdin", "--no-deref", NULL};
    autobuf struct buf line = BUF_INIT, answer = BUF_INIT;
    if (!*to)
        buf_addf(&line, "start\ndelete %s %s\ncommit\n", ref, from);
    else if (*from)
        buf_addf(&line, "start\nupdate %s %s %s\ncommit\n", ref, to, from);
    else
        buf_addf(&line, "start\ncreate %s %s\ncommit\n", ref, to);
    *ret_moved = false;
    if (start(b, &b->refs, args, SPAWN_NONE, err))
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
