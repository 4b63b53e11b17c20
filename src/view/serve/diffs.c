/*
 * What git says, by processes beside the server: which lines a task changed, and which files
 * several tasks have changed.
 */
#include "view/serve/serve_private.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/strv.h"
#include "git/state_paths.h"
#include "run/state/run_folder.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum {
    OUTPUT_MAX = 2 << 20,
    LOOK_MS = 100, /* between two looks at how much it has written */
    LOOKS_MAX = 200,
    ERRANDS_MAX = 4,
    PAIRS_MAX = 2000,
    PATHS_SHOWN = 20,
    ASKED_MAX = 200, /* pairs of which git is asked whether they would merge */
};

/* Answers with what git wrote, or asks it something else: then it is true. */
typedef bool answer_fn(struct serve_errand *e, int status, const struct buf *out, bool cut);

struct serve_errand {
    struct serve *serve;
    struct serve_errand *next;
    struct http_call *http; /* NULL: nobody waits any more */
    struct watch *child, *clock;
    pid_t pid;
    int looks;
    int out; /* what it writes */
    answer_fn *answer;
    const char *run;
    struct arena arena; /* for the answer */
    VEC(struct store_task) tasks;
    struct node *root; /* what is known of the answer, while more is asked */
    VEC(struct node *) asked;
};

/* --- processes ---------------------------------------------------------------------------- */

static void guarded_free(struct serve_errand *e)
{
    for (struct serve_errand **at = &e->serve->errands; *at; at = &(*at)->next) {
        if (*at == e) {
            *at = e->next;
            break;
        }
    }
    watch_free(e->child);
    watch_free(e->clock);
    own_close(&e->out);
    vec_done(&e->tasks);
    vec_done(&e->asked);
    arena_done(&e->arena);
    free(e);
}

static void stop(struct serve_errand *e)
{
    if (e->pid)
        (void)kill(e->pid, SIGKILL);
}

static void on_gone(void *ctx, struct http_call *call)
{
    struct serve_errand *e = ctx;
    (void)call;
    e->http = NULL;
    stop(e);
}

/* As many bytes as are shown; *ret_cut where there were more. */
static int read_output(const struct serve_errand *e, struct buf *out, bool *ret_cut)
{
    off_t size = lseek(e->out, 0, SEEK_END);
    size_t max = size > OUTPUT_MAX ? OUTPUT_MAX : (size_t)size;
    if (size < 0)
        return -1;
    buf_reserve(out, max + 1);
    while (out->len < max) {
        ssize_t n = pread(e->out, out->s + out->len, max - out->len, (off_t)out->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        out->len += (size_t)n;
    }
    out->s[out->len] = '\0';
    *ret_cut = size > OUTPUT_MAX;
    return 0;
}

static void on_end(void *ctx, int status)
{
    struct serve_errand *e = ctx;
    autobuf struct buf out = BUF_INIT;
    bool cut = false, goes_on = false;
    e->pid = 0;
    if (e->http && read_output(e, &out, &cut))
        serve_answer_error(e->http, 500, "what git wrote cannot be read");
    else if (e->http)
        goes_on = e->answer(e, WIFEXITED(status) ? WEXITSTATUS(status) : 128, &out, cut);
    if (!goes_on)
        guarded_free(e);
}

/* One that writes more than is shown, or takes long, is ended. */
static void on_look(void *ctx)
{
    struct serve_errand *e = ctx;
    struct stat st;
    if (++e->looks > LOOKS_MAX || fstat(e->out, &st) < 0 || st.st_size > OUTPUT_MAX)
        stop(e);
    watch_again(e->clock, LOOK_MS);
}

static int spawn_git(struct serve_errand *e, const struct strv *args, const struct buf *in,
                     struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    autoclose int input = -1;
    struct git_place at = {.git_dir = e->serve->opts.repo->common};
    git_prepare(&at, &argv, &env);
    for (size_t i = 0; i < args->n; i++)
        strv_push(&argv, args->v[i]);
    if (file_scratch(&e->out, err) || (in && file_scratch(&input, err)) ||
        (in && file_refill(input, in->s, in->len, err)))
        return -1;
    struct spawn sp = {.argv = argv.v,
                       .env = env.v,
                       .fds = {in ? input : SPAWN_NULL, e->out, SPAWN_NULL, SPAWN_NONE, SPAWN_NONE},
                       .new_session = true};
    return spawn_start(&sp, &e->pid, err);
}

static size_t count(const struct serve *serve)
{
    size_t n = 0;
    for (const struct serve_errand *e = serve->errands; e; e = e->next)
        n++;
    return n;
}

static struct serve_errand *guarded_new(struct serve_call *c)
{
    struct serve_errand *e = mem_alloc(sizeof(*e));
    e->serve = c->serve;
    e->http = c->http;
    e->run = arena_str(&e->arena, c->run);
    e->out = -1;
    e->next = c->serve->errands;
    c->serve->errands = e;
    return e;
}

static int start_git(struct serve_errand *e, const struct strv *args, const struct buf *in,
                     struct err *err)
{
    own_close(&e->out);
    e->looks = 0;
    if (spawn_git(e, args, in, err))
        return -1;
    watch_free(e->child);
    e->child = loop_child(e->serve->loop, e->pid, on_end, e);
    if (!e->clock)
        e->clock = loop_timer(e->serve->loop, LOOK_MS, on_look, e);
    return 0;
}

/* Starts it, or answers why not. */
static void begin(struct serve_errand *e, const struct strv *args, const struct buf *in)
{
    struct err err = {0};
    http_call_on_gone(e->http, on_gone, e);
    if (start_git(e, args, in, &err) == 0)
        return;
    serve_answer_error(e->http, 500, err.msg);
    guarded_free(e);
}

/* Whether there is a repository, and not too much to do; else that has been answered. */
static bool may_begin(struct serve_call *c)
{
    if (!c->serve->opts.repo->root)
        serve_answer_error(c->http, 404, "this is not a git repository");
    else if (count(c->serve) >= ERRANDS_MAX)
        serve_answer_error(c->http, 503, "git is at work for other pages; try again");
    else
        return true;
    return false;
}

void serve_git_close(struct serve *serve)
{
    while (serve->errands) {
        struct serve_errand *e = serve->errands;
        stop(e);
        if (e->pid)
            (void)waitpid(e->pid, NULL, 0);
        if (e->http)
            http_call_on_gone(e->http, NULL, NULL);
        guarded_free(e);
    }
}

/* --- the diff of a task ------------------------------------------------------------------- */

/* A secret that an agent wrote into a file is no more to be seen than in its log. */
static void mask(const struct serve_errand *e, const struct buf *text, bool cut, struct buf *out)
{
    autofree char *dir = run_path(e->serve->opts.state_dir, e->run);
    struct secrets secrets = {0};
    run_folder_secrets(dir, &secrets);
    secrets_mask_cut(&secrets, text->s, text->len, (struct secrets_cut){.end = cut}, out);
    secrets_done(&secrets);
}

static bool answer_diff(struct serve_errand *e, int status, const struct buf *out, bool cut)
{
    const struct store_task *t = &e->tasks.v[0];
    struct node *root = node_new_map(&e->arena);
    autobuf struct buf text = BUF_INIT;
    if (status != 0 && !cut) {
        serve_answer_error(e->http, 404,
                           t->commit ? "git cannot show the commit of this task"
                                     : "nothing of this task is committed or saved yet");
        return false;
    }
    node_put_string(&e->arena, root, "from", t->start_commit);
    node_put_string(&e->arena, root, "to", t->commit);
    node_put_bool(&e->arena, root, "cut", cut);
    mask(e, out, cut, &text);
    node_put_value(&e->arena, root, "text",
                   node_string(&e->arena, text.s, text.len, (struct pos){0}));
    serve_answer_node(e->http, root);
    return false;
}

/* As `anabranch diff`, but as the repository's own settings have no say in: by programs that they
 * name it could be anything. */
void serve_diff(struct serve_call *c)
{
    autostrv struct strv args = {0};
    autofree char *salvage = salvage_ref_name(c->run, c->task.id, c->task.attempts);
    if (!c->task.start_commit) {
        serve_answer_error(c->http, 404, "this task has not started");
        return;
    }
    if (!may_begin(c))
        return;
    struct serve_errand *e = guarded_new(c);
    vec_push(&e->tasks, store_keep_task(&c->task, &e->arena));
    e->answer = answer_diff;
    strv_pushl(&args, "-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff",
               "--no-textconv", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/",
               "--end-of-options", c->task.start_commit, c->task.commit ? c->task.commit : salvage,
               "--", NULL);
    begin(e, &args, NULL);
}

/* --- files that several tasks changed ----------------------------------------------------- */

/* Tasks that have changed a path, by their place among the errand's. */
struct path {
    const char *name;
    VEC(size_t) tasks;
};

struct pair {
    size_t a, b, n;
    struct node *paths;
};

struct meets {
    struct serve_errand *errand;
    struct map by_path, by_pair;
    VEC(struct path *) paths;
    VEC(struct pair *) pairs;
    bool cut;
};

static void meets_done(struct meets *m)
{
    for (size_t i = 0; i < m->paths.n; i++)
        vec_done(&m->paths.v[i]->tasks);
    vec_done(&m->paths);
    vec_done(&m->pairs);
    map_done(&m->by_path);
    map_done(&m->by_pair);
}

static void add_pair(struct meets *m, size_t a, size_t b, const char *name)
{
    struct arena *arena = &m->errand->arena;
    const char *key = arena_printf(arena, "%zu %zu", a, b);
    struct pair *pair = map_get(&m->by_pair, key, strlen(key));
    if (!pair && m->pairs.n == PAIRS_MAX) {
        m->cut = true;
        return;
    }
    if (!pair) {
        pair = arena_alloc(arena, sizeof(*pair));
        *pair = (struct pair){a, b, 0, node_new_list(arena)};
        (void)map_put(&m->by_pair, key, strlen(key), pair);
        vec_push(&m->pairs, pair);
    }
    if (pair->n++ < PATHS_SHOWN)
        node_add_string(arena, pair->paths, name);
}

static void add_path(struct meets *m, size_t task, const char *name)
{
    struct path *path = map_get(&m->by_path, name, strlen(name));
    if (!path) {
        path = arena_alloc(&m->errand->arena, sizeof(*path));
        path->name = name;
        (void)map_put(&m->by_path, name, strlen(name), path);
        vec_push(&m->paths, path);
    }
    for (size_t i = 0; i < path->tasks.n && !m->cut; i++)
        add_pair(m, path->tasks.v[i], task, name);
    vec_push(&path->tasks, task);
}

/* "COMMIT\0path\0path\0COMMIT\0...", in the order that they were asked for; commits that are gone,
 * and those that changed nothing, are missing. */
static void read_paths(struct meets *m, const struct buf *out)
{
    const struct serve_errand *e = m->errand;
    size_t next = 0, task = 0;
    for (const char *s = out->s, *end = out->s + out->len; s < end; s += strlen(s) + 1) {
        size_t i = next;
        while (i < e->tasks.n && strcmp(e->tasks.v[i].commit, s) != 0)
            i++;
        if (i < e->tasks.n) {
            task = i;
            next = i + 1;
        } else if (next) {
            add_path(m, task, s);
        }
    }
}

/* "STATUS\0TREE\0path\0...path\0\0" for each, in order; 0 is a conflict. */
static bool answer_merges(struct serve_errand *e, int status, const struct buf *out, bool cut)
{
    const char *s = out->s, *end = out->s + out->len;
    for (size_t i = 0; status == 0 && !cut && i < e->asked.n && s < end; i++) {
        node_put_bool(&e->arena, e->asked.v[i], "conflict", strcmp(s, "0") == 0);
        while (s < end && *s)
            s += strlen(s) + 1;
        s++;
    }
    serve_answer_node(e->http, e->root);
    return false;
}

static bool is_landed(const struct store_task *t)
{
    return strcmp(t->state, "landed") == 0;
}

/* Whether the two would merge now; what has landed did. True where git is asked. */
static bool ask_merges(struct serve_errand *e, const struct meets *m)
{
    autostrv struct strv args = {0};
    autobuf struct buf in = BUF_INIT;
    const struct node *list = node_get(e->root, "pairs");
    struct node *map = list->first;
    for (size_t i = 0; i < m->pairs.n && e->asked.n < ASKED_MAX; i++, map = map->next) {
        const struct store_task *a = &e->tasks.v[m->pairs.v[i]->a],
                                *b = &e->tasks.v[m->pairs.v[i]->b];
        if (is_landed(a) && is_landed(b))
            continue;
        buf_addf(&in, "%s %s\n", a->commit, b->commit);
        vec_push(&e->asked, map);
    }
    strv_pushl(&args, "merge-tree", "--write-tree", "--stdin", "-z", "--name-only", "--no-messages",
               NULL);
    e->answer = answer_merges;
    return e->asked.n && start_git(e, &args, &in, NULL) == 0;
}

static bool answer_meets(struct serve_errand *e, int status, const struct buf *out, bool cut)
{
    own_cleanup(meets_done) struct meets m = {.errand = e, .cut = cut};
    struct arena *a = &e->arena;
    if (status != 0 && !cut) {
        serve_answer_error(e->http, 500, "git could not compare the commits of this run");
        return false;
    }
    read_paths(&m, out);
    e->root = node_new_map(a);
    struct node *list = node_put_list(a, e->root, "pairs");
    for (size_t i = 0; i < m.pairs.n; i++) {
        struct node *map = node_add_map(a, list);
        node_put_string(a, map, "a", e->tasks.v[m.pairs.v[i]->a].id);
        node_put_string(a, map, "b", e->tasks.v[m.pairs.v[i]->b].id);
        node_put_int(a, map, "n", (int64_t)m.pairs.v[i]->n);
        node_put_value(a, map, "paths", m.pairs.v[i]->paths);
    }
    node_put_int(a, e->root, "compared", (int64_t)e->tasks.n);
    node_put_bool(a, e->root, "cut", m.cut);
    if (ask_merges(e, &m))
        return true;
    serve_answer_node(e->http, e->root);
    return false;
}

static bool take_committed(void *ctx, const struct store_task *t)
{
    struct serve_errand *e = ctx;
    if (t->commit && t->start_commit)
        vec_push(&e->tasks, store_keep_task(t, &e->arena));
    return true;
}

/* One process for all of them, and one for those that may be in conflict. */
void serve_meets(struct serve_call *c)
{
    autostrv struct strv args = {0};
    autobuf struct buf in = BUF_INIT;
    struct err err = {0};
    if (!may_begin(c))
        return;
    struct serve_errand *e = guarded_new(c);
    e->answer = answer_meets;
    if (store_each_task(c->serve->store, c->run, take_committed, e, &err)) {
        serve_answer_error(c->http, 500, err.msg);
        guarded_free(e);
        return;
    }
    for (size_t i = 0; i < e->tasks.n; i++)
        buf_addf(&in, "%s %s\n", e->tasks.v[i].commit, e->tasks.v[i].start_commit);
    strv_pushl(&args, "diff-tree", "--stdin", "-r", "-z", "--no-renames", "--name-only", NULL);
    begin(e, &args, &in);
}
