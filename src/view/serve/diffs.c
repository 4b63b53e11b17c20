/*
 * Diffs from git: the lines that a task changed, and the files that several tasks changed. git
 * runs in processes of its own; the server does not wait for them.
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

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum {
    OUTPUT_MAX = 2 << 20,
    CHECK_MS = 100, /* between two checks of the size of the output */
    CHECKS_MAX = 200,
    JOBS_MAX = 4,
    PAIRS_MAX = 2000,
    PATHS_SHOWN = 20,
    MERGES_MAX = 200, /* at most so many pairs are test-merged */
};

/* Answers the request with the output of git, or starts git again; returns true in the latter
 * case. */
typedef bool answer_fn(struct git_job *job, int status, const struct buf *out, bool cut);

struct git_job {
    struct serve *serve;
    struct git_job *next;
    struct http_call *http; /* NULL: the browser is gone */
    struct watch *child, *clock;
    pid_t pid;
    int checks;
    int out; /* the output of git */
    answer_fn *answer;
    const char *run;
    struct arena arena;
    VEC(struct store_task) tasks;
    struct node *root; /* the answer, while git still works on parts of it */
    VEC(struct node *) test_merges;
};

static void free_job(struct git_job *job)
{
    for (struct git_job **at = &job->serve->git_jobs; *at; at = &(*at)->next) {
        if (*at == job) {
            *at = job->next;
            break;
        }
    }
    watch_free(job->child);
    watch_free(job->clock);
    own_close(&job->out);
    vec_done(&job->tasks);
    vec_done(&job->test_merges);
    arena_done(&job->arena);
    free(job);
}

static void kill_git(struct git_job *job)
{
    if (job->pid)
        (void)kill(job->pid, SIGKILL);
}

static void on_browser_gone(void *ctx, struct http_call *call)
{
    struct git_job *job = ctx;
    (void)call;
    job->http = NULL;
    kill_git(job);
}

/* Reads at most OUTPUT_MAX bytes; *ret_cut: there were more. */
static int read_output(const struct git_job *job, struct buf *out, bool *ret_cut)
{
    off_t size = lseek(job->out, 0, SEEK_END);
    size_t max = size > OUTPUT_MAX ? OUTPUT_MAX : (size_t)size;
    *ret_cut = size > OUTPUT_MAX;
    return size < 0 ? -1 : serve_read_at(job->out, 0, max, out, NULL);
}

static void on_git_end(void *ctx, int status)
{
    struct git_job *job = ctx;
    autobuf struct buf out = BUF_INIT;
    bool cut = false, restarted = false;
    job->pid = 0;
    if (job->http && read_output(job, &out, &cut))
        serve_answer_error(job->http, 500, "cannot read the output of git");
    else if (job->http)
        restarted = job->answer(job, WIFEXITED(status) ? WEXITSTATUS(status) : 128, &out, cut);
    if (!restarted)
        free_job(job);
}

/* Kills a git that writes too much or runs too long. */
static void check_output(void *ctx)
{
    struct git_job *job = ctx;
    struct stat st;
    if (++job->checks > CHECKS_MAX || fstat(job->out, &st) < 0 || st.st_size > OUTPUT_MAX)
        kill_git(job);
    watch_again(job->clock, CHECK_MS);
}

static int spawn_git(struct git_job *job, const struct strv *args, const struct buf *in,
                     struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    autoclose int input = -1;
    struct git_place at = {.git_dir = job->serve->opts.repo->common};
    git_prepare(&at, &argv, &env);
    for (size_t i = 0; i < args->n; i++)
        strv_push(&argv, args->v[i]);
    if (file_scratch(&job->out, err) || (in && file_scratch(&input, err)) ||
        (in && file_refill(input, in->s, in->len, err)))
        return -1;
    struct spawn sp = {
        .argv = argv.v,
        .env = env.v,
        .fds = {in ? input : SPAWN_NULL, job->out, SPAWN_NULL, SPAWN_NONE, SPAWN_NONE},
        .new_session = true};
    return spawn_start(&sp, &job->pid, err);
}

static size_t count_jobs(const struct serve *serve)
{
    size_t n = 0;
    for (const struct git_job *job = serve->git_jobs; job; job = job->next)
        n++;
    return n;
}

static struct git_job *new_job(struct serve_call *c)
{
    struct git_job *job = mem_alloc(sizeof(*job));
    job->serve = c->serve;
    job->http = c->http;
    job->run = arena_str(&job->arena, c->run);
    job->out = -1;
    job->next = c->serve->git_jobs;
    c->serve->git_jobs = job;
    return job;
}

static int start_git(struct git_job *job, const struct strv *args, const struct buf *in,
                     struct err *err)
{
    own_close(&job->out);
    job->checks = 0;
    if (spawn_git(job, args, in, err))
        return -1;
    watch_free(job->child);
    job->child = loop_child(job->serve->loop, job->pid, on_git_end, job);
    if (!job->clock)
        job->clock = loop_timer(job->serve->loop, CHECK_MS, check_output, job);
    return 0;
}

/* Starts git; on failure answers with the error. */
static void start_or_answer(struct git_job *job, const struct strv *args, const struct buf *in)
{
    struct err err = {0};
    http_call_on_gone(job->http, on_browser_gone, job);
    if (start_git(job, args, in, &err) == 0)
        return;
    serve_answer_error(job->http, 500, err.msg);
    free_job(job);
}

/* Needs a repository and a free slot; on false the request has been answered. */
static bool check_can_start(struct serve_call *c)
{
    if (!c->serve->opts.repo->root)
        serve_answer_error(c->http, 404, "this is not a git repository");
    else if (count_jobs(c->serve) >= JOBS_MAX)
        serve_answer_error(c->http, 503, "git is busy with other requests; try again");
    else
        return true;
    return false;
}

void serve_git_close(struct serve *serve)
{
    while (serve->git_jobs) {
        struct git_job *job = serve->git_jobs;
        kill_git(job);
        if (job->pid)
            (void)waitpid(job->pid, NULL, 0);
        if (job->http)
            http_call_on_gone(job->http, NULL, NULL);
        free_job(job);
    }
}

/* An agent may have written a secret into a file; mask it as in logs. */
static void mask_secrets(const struct git_job *job, const struct buf *text, bool cut,
                         struct buf *out)
{
    autofree char *dir = run_path(job->serve->opts.state_dir, job->run);
    struct secrets secrets = {0};
    run_folder_secrets(dir, &secrets);
    secrets_mask_cut(&secrets, text->s, text->len, (struct secrets_cut){.end = cut}, out);
    secrets_done(&secrets);
}

static bool answer_diff(struct git_job *job, int status, const struct buf *out, bool cut)
{
    const struct store_task *t = &job->tasks.v[0];
    struct node *root = node_new_map(&job->arena);
    autobuf struct buf text = BUF_INIT;
    if (status != 0 && !cut) {
        serve_answer_error(job->http, 404,
                           t->commit ? "git cannot show the commit of this task"
                                     : "this task has no commit and no saved work yet");
        return false;
    }
    node_put_string(&job->arena, root, "from", t->start_commit);
    node_put_string(&job->arena, root, "to", t->commit);
    node_put_bool(&job->arena, root, "cut", cut);
    mask_secrets(job, out, cut, &text);
    node_put_value(&job->arena, root, "text",
                   node_string(&job->arena, text.s, text.len, (struct pos){0}));
    serve_answer_node(job->http, root);
    return false;
}

/* Like `anabranch diff`, but ignores settings of the repository that could start any program. */
void serve_diff(struct serve_call *c)
{
    autostrv struct strv args = {0};
    autofree char *salvage = salvage_ref_name(c->run, c->task.id, c->task.attempts);
    if (!c->task.start_commit) {
        serve_answer_error(c->http, 404, "this task has not started");
        return;
    }
    if (!check_can_start(c))
        return;
    struct git_job *job = new_job(c);
    vec_push(&job->tasks, store_keep_task(&c->task, &job->arena));
    job->answer = answer_diff;
    strv_pushl(&args, "-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff",
               "--no-textconv", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/",
               "--end-of-options", c->task.start_commit, c->task.commit ? c->task.commit : salvage,
               "--", NULL);
    start_or_answer(job, &args, NULL);
}

/* The tasks that changed a path, as indexes into job->tasks. */
struct changed_path {
    const char *name;
    VEC(size_t) tasks;
};

struct path_pair {
    size_t a, b, n;
    struct node *paths;
};

struct overlaps {
    struct git_job *job;
    struct map by_path, by_pair;
    VEC(struct changed_path *) paths;
    VEC(struct path_pair *) pairs;
    bool cut;
};

static void overlaps_done(struct overlaps *m)
{
    for (size_t i = 0; i < m->paths.n; i++)
        vec_done(&m->paths.v[i]->tasks);
    vec_done(&m->paths);
    vec_done(&m->pairs);
    map_done(&m->by_path);
    map_done(&m->by_pair);
}

static void add_pair(struct overlaps *m, size_t a, size_t b, const char *name)
{
    struct arena *arena = &m->job->arena;
    const char *key = arena_printf(arena, "%zu %zu", a, b);
    struct path_pair *pair = map_get(&m->by_pair, key, strlen(key));
    if (!pair && m->pairs.n == PAIRS_MAX) {
        m->cut = true;
        return;
    }
    if (!pair) {
        pair = arena_alloc(arena, sizeof(*pair));
        *pair = (struct path_pair){a, b, 0, node_new_list(arena)};
        (void)map_put(&m->by_pair, key, strlen(key), pair);
        vec_push(&m->pairs, pair);
    }
    if (pair->n++ < PATHS_SHOWN)
        node_add_string(arena, pair->paths, name);
}

static void add_path(struct overlaps *m, size_t task, const char *name)
{
    struct changed_path *path = map_get(&m->by_path, name, strlen(name));
    if (!path) {
        path = arena_alloc(&m->job->arena, sizeof(*path));
        path->name = name;
        (void)map_put(&m->by_path, name, strlen(name), path);
        vec_push(&m->paths, path);
    }
    for (size_t i = 0; i < path->tasks.n && !m->cut; i++)
        add_pair(m, path->tasks.v[i], task, name);
    vec_push(&path->tasks, task);
}

/* Parses "COMMIT\0path\0path\0COMMIT\0...", in the order of our input. Commits that are gone or
 * that changed nothing are missing. */
static void read_paths(struct overlaps *m, const struct buf *out)
{
    const struct git_job *job = m->job;
    size_t next = 0, task = 0;
    for (const char *s = out->s, *end = out->s + out->len; s < end; s += strlen(s) + 1) {
        size_t i = next;
        while (i < job->tasks.n && strcmp(job->tasks.v[i].commit, s) != 0)
            i++;
        if (i < job->tasks.n) {
            task = i;
            next = i + 1;
        } else if (next) {
            add_path(m, task, s);
        }
    }
}

/* Parses "STATUS\0TREE\0path\0...path\0\0" per pair, in order; status 0 is a conflict. */
static bool answer_test_merges(struct git_job *job, int status, const struct buf *out, bool cut)
{
    const char *s = out->s, *end = out->s + out->len;
    for (size_t i = 0; status == 0 && !cut && i < job->test_merges.n && s < end; i++) {
        node_put_bool(&job->arena, job->test_merges.v[i], "conflict", strcmp(s, "0") == 0);
        while (s < end && *s)
            s += strlen(s) + 1;
        s++;
    }
    serve_answer_node(job->http, job->root);
    return false;
}

static bool is_landed(const struct store_task *t)
{
    return strcmp(t->state, "landed") == 0;
}

/* Starts test merges of the pairs, except pairs that have both landed; true if git is running. */
static bool start_test_merges(struct git_job *job, const struct overlaps *m)
{
    autostrv struct strv args = {0};
    autobuf struct buf in = BUF_INIT;
    const struct node *list = node_get(job->root, "pairs");
    struct node *map = list->first;
    for (size_t i = 0; i < m->pairs.n && job->test_merges.n < MERGES_MAX; i++, map = map->next) {
        const struct store_task *a = &job->tasks.v[m->pairs.v[i]->a],
                                *b = &job->tasks.v[m->pairs.v[i]->b];
        if (is_landed(a) && is_landed(b))
            continue;
        buf_addf(&in, "%s %s\n", a->commit, b->commit);
        vec_push(&job->test_merges, map);
    }
    strv_pushl(&args, "merge-tree", "--write-tree", "--stdin", "-z", "--name-only", "--no-messages",
               NULL);
    job->answer = answer_test_merges;
    return job->test_merges.n && start_git(job, &args, &in, NULL) == 0;
}

static bool answer_overlaps(struct git_job *job, int status, const struct buf *out, bool cut)
{
    own_cleanup(overlaps_done) struct overlaps m = {.job = job, .cut = cut};
    struct arena *a = &job->arena;
    if (status != 0 && !cut) {
        serve_answer_error(job->http, 500, "git could not compare the commits of this run");
        return false;
    }
    read_paths(&m, out);
    job->root = node_new_map(a);
    struct node *list = node_put_list(a, job->root, "pairs");
    for (size_t i = 0; i < m.pairs.n; i++) {
        struct node *map = node_add_map(a, list);
        node_put_string(a, map, "a", job->tasks.v[m.pairs.v[i]->a].id);
        node_put_string(a, map, "b", job->tasks.v[m.pairs.v[i]->b].id);
        node_put_int(a, map, "n", (int64_t)m.pairs.v[i]->n);
        node_put_value(a, map, "paths", m.pairs.v[i]->paths);
    }
    node_put_int(a, job->root, "compared", (int64_t)job->tasks.n);
    node_put_bool(a, job->root, "cut", m.cut);
    if (start_test_merges(job, &m))
        return true;
    serve_answer_node(job->http, job->root);
    return false;
}

static bool add_committed_task(void *ctx, const struct store_task *t)
{
    struct git_job *job = ctx;
    if (t->commit && t->start_commit)
        vec_push(&job->tasks, store_keep_task(t, &job->arena));
    return true;
}

/* Runs one git for all changed paths, and one for the test merges. */
void serve_meets(struct serve_call *c)
{
    autostrv struct strv args = {0};
    autobuf struct buf in = BUF_INIT;
    struct err err = {0};
    if (!check_can_start(c))
        return;
    struct git_job *job = new_job(c);
    job->answer = answer_overlaps;
    if (store_each_task(c->serve->store, c->run, add_committed_task, job, &err)) {
        serve_answer_error(c->http, 500, err.msg);
        free_job(job);
        return;
    }
    for (size_t i = 0; i < job->tasks.n; i++)
        buf_addf(&in, "%s %s\n", job->tasks.v[i].commit, job->tasks.v[i].start_commit);
    strv_pushl(&args, "diff-tree", "--stdin", "-r", "-z", "--no-renames", "--name-only", NULL);
    start_or_answer(job, &args, &in);
}
