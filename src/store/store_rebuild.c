/*
 * What is left of earlier runs where their database is lost: the folders of their attempts, what
 * was written there when they began and when tasks landed, branches and refs. What the message of a
 * commit says is no evidence that something has landed: an agent can write that as well.
 */
#include "store/store_private.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/timestamp.h"
#include "base/vec.h"
#include "doc/doc.h"
#include "git/git.h"
#include "git/state_paths.h"
#include "sys/fs/file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct found_run {
    struct store_run row;
    struct map by_id;
    VEC(struct store_task *) tasks;
};

struct rebuild {
    struct arena arena;
    char *folder; /* of all runs */
    struct map by_id;
    VEC(struct found_run *) runs;
};

/* When a run began, by its id: "20260301-120000-12ab". -1 for what is no such id. */
static int time_of(const char *id, int64_t *ret)
{
    char day[9], time[7], random[5], iso[32];
    int end = 0;
    if (sscanf(id, "%8[0-9]-%6[0-9]-%4[0-9a-f]%n", day, time, random, &end) != 3 || end != 20 ||
        id[end])
        return -1;
    (void)snprintf(iso, sizeof(iso), "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", day, day + 4, day + 6, time,
                   time + 2, time + 4);
    return timestamp_parse(iso, ret);
}

static struct found_run *run_of(struct rebuild *rb, const char *id)
{
    struct found_run *run = map_get(&rb->by_id, id, strlen(id));
    int64_t started;
    if (run || time_of(id, &started))
        return run;
    run = arena_alloc(&rb->arena, sizeof(*run));
    run->row =
        (struct store_run){.id = arena_str(&rb->arena, id), .state = "unknown", .started = started};
    (void)map_put(&rb->by_id, run->row.id, strlen(run->row.id), run);
    vec_push(&rb->runs, run);
    return run;
}

static struct store_task *task_of(struct rebuild *rb, struct found_run *run, const char *id)
{
    struct store_task *task = map_get(&run->by_id, id, strlen(id));
    if (task)
        return task;
    task = arena_alloc(&rb->arena, sizeof(*task));
    *task = (struct store_task){
        .run = run->row.id,
        .id = arena_str(&rb->arena, id),
        .state = "waiting",
        .place = (int)run->tasks.n,
        .usd = -1,
    };
    (void)map_put(&run->by_id, task->id, strlen(task->id), task);
    vec_push(&run->tasks, task);
    return task;
}

static void saw_attempt(struct store_task *task, const char *number)
{
    char *end;
    long n = strtol(number, &end, 10);
    if (*end || n <= task->attempts || n > INT_MAX)
        return;
    task->attempts = (int)n;
    if (strcmp(task->state, "waiting") == 0)
        task->state = "running"; /* which nobody is any more: shown as interrupted */
}

/* Calls back for each entry of a folder; one that is not there has none. */
typedef void entry_fn(struct rebuild *rb, void *ctx, const char *name);

static int each_entry(struct rebuild *rb, const char *path, entry_fn *fn, void *ctx,
                      struct err *err)
{
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(err, "open '%s'", path);
    for (struct dirent *entry; (entry = readdir(d));) {
        if (entry->d_name[0] != '.')
            fn(rb, ctx, entry->d_name);
    }
    (void)closedir(d);
    return 0;
}

typedef void doc_fn(struct rebuild *rb, struct found_run *run, const struct node *root);

/* A file of the run's folder, where it is there and can be read. */
static void read_doc(struct rebuild *rb, struct found_run *run, const char *name, doc_fn *fn)
{
    autofree char *path = mem_printf("%s/%s/%s", rb->folder, run->row.id, name);
    struct doc doc;
    struct doc_options opts = {.syntax = DOC_JSON};
    autoproblems struct problems ps;
    problems_init(&ps, path);
    if (access(path, R_OK) < 0)
        return;
    if (doc_load(&doc, path, &opts, &ps) == 0 && doc.root->kind == NODE_MAP)
        fn(rb, run, doc.root);
    doc_done(&doc);
}

static const char *keep(struct rebuild *rb, const struct node *map, const char *key)
{
    const char *s = node_new_string(map, key, NULL);
    return s ? arena_str(&rb->arena, s) : NULL;
}

static void take_run(struct rebuild *rb, struct found_run *run, const struct node *root)
{
    run->row.plan = keep(rb, root, "plan");
    run->row.base = keep(rb, root, "base");
    run->row.base_commit = keep(rb, root, "base_commit");
    run->row.started = node_new_int(root, "started", run->row.started);
}

static void take_plan(struct rebuild *rb, struct found_run *run, const struct node *root)
{
    const struct node *tasks = node_get(root, "tasks");
    run->row.name = keep(rb, root, "name");
    if (!tasks || tasks->kind != NODE_LIST)
        return;
    node_each (node, tasks) {
        const char *id = node->kind == NODE_MAP ? node_new_string(node, "id", NULL) : NULL;
        if (!id)
            continue;
        struct store_task *task = task_of(rb, run, id);
        task->title = keep(rb, node, "title");
        task->engine = keep(rb, node, "engine");
    }
}

static void take_attempt(struct rebuild *rb, void *ctx, const char *name)
{
    (void)rb;
    saw_attempt(ctx, name);
}

struct folder {
    struct found_run *run;
    struct err *err;
    int rc;
};

/* A folder with attempts in it is a task's; another is someone else's. */
static void take_task_folder(struct rebuild *rb, void *ctx, const char *name)
{
    struct folder *folder = ctx;
    struct store_task seen = {.state = "waiting"};
    autofree char *path = mem_printf("%s/%s/%s", rb->folder, folder->run->row.id, name);
    if (folder->rc == 0)
        folder->rc = each_entry(rb, path, take_attempt, &seen, folder->err);
    if (!seen.attempts)
        return;
    struct store_task *task = task_of(rb, folder->run, name);
    task->attempts = seen.attempts;
    task->state = seen.state;
}

static void take_run_folder(struct rebuild *rb, void *ctx, const char *name)
{
    struct folder *folder = ctx;
    autofree char *path = mem_printf("%s/%s", rb->folder, name);
    folder->run = run_of(rb, name);
    if (!folder->run || folder->rc)
        return;
    read_doc(rb, folder->run, "run.json", take_run);
    read_doc(rb, folder->run, "plan.json", take_plan);
    folder->rc = each_entry(rb, path, take_task_folder, folder, folder->err);
}

static int read_folders(struct rebuild *rb, struct err *err)
{
    struct folder folder = {.err = err};
    int rc = each_entry(rb, rb->folder, take_run_folder, &folder, err);
    return rc || folder.rc ? -1 : 0;
}

/* "RUN/TASK": the task, or NULL where that is no name of ours. Cuts `name` up. */
static struct store_task *task_by_name(struct rebuild *rb, char *name)
{
    const char *id = strsep(&name, "/");
    struct found_run *run = name && *name ? run_of(rb, id) : NULL;
    return run ? task_of(rb, run, name) : NULL;
}

static void take_branch(struct rebuild *rb, char *name, const char *task_id)
{
    autofree char *copy = mem_str(name);
    struct store_task *task = task_by_name(rb, copy);
    if (!task)
        return;
    task->branch = arena_printf(&rb->arena, "anabranch/%s", name);
    if (strcmp(task_id, task->id) == 0) /* it says that its agent was done: it is looked at again */
        task->state = "committing";
}

/* "RUN/TASK/ATTEMPT"; beside and below an attempt is what else was saved of it. What agents did to
 * that which all share is "RUN/+shared/NUMBER". */
static void take_salvage(struct rebuild *rb, char *name)
{
    const char *id = strsep(&name, "/"), *task_id = strsep(&name, "/");
    struct found_run *run = name && !strchr(name, '/') ? run_of(rb, id) : NULL;
    if (run && strcmp(task_id, STORE_SHARED) != 0)
        saw_attempt(task_of(rb, run, task_id), name);
}

static void take_tip(struct rebuild *rb, const char *id, const char *commit)
{
    struct found_run *run = run_of(rb, id);
    if (run)
        run->row.tip = arena_str(&rb->arena, commit);
}

/* What could not be published is a branch beside those of the tasks. */
static bool is_result(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash && strcmp(slash, "/" STORE_RESULT) == 0;
}

/* "REF COMMIT TASK", the last by the commit's trailer. */
static void take_ref(struct rebuild *rb, char *line)
{
    static const char runs[] = TIP_REFS, heads[] = "refs/heads/anabranch/";
    static const char salvage[] = SALVAGE_REFS;
    char *ref = strsep(&line, " "), *commit = strsep(&line, " ");
    bool is_head = strncmp(ref, heads, strlen(heads)) == 0;
    char *name = is_head ? ref + strlen(heads) : NULL;
    if (!commit)
        return;
    if (strncmp(ref, runs, strlen(runs)) == 0)
        take_tip(rb, ref + strlen(runs), commit);
    else if (strncmp(ref, salvage, strlen(salvage)) == 0)
        take_salvage(rb, ref + strlen(salvage));
    else if (is_head && is_result(name))
        take_tip(rb, strsep(&name, "/"), commit);
    else if (is_head)
        take_branch(rb, name, line ? line : "");
}

static void each_line(struct rebuild *rb, char *text, void (*fn)(struct rebuild *, char *))
{
    for (char *line; (line = strsep(&text, "\n"));) {
        if (*line)
            fn(rb, line);
    }
}

struct landings {
    struct map history; /* commits */
    struct found_run *run;
};

static void take_landed(struct rebuild *rb, const struct landings *l, char *line)
{
    const char *commit = strsep(&line, " ");
    if (!line || !*line || !map_get(&l->history, commit, strlen(commit)))
        return;
    struct store_task *task = task_of(rb, l->run, line);
    task->landed = arena_str(&rb->arena, commit);
    task->state = "landed";
}

/* The last word on a task counts: it may have landed again. */
static void read_run_landed(struct rebuild *rb, const struct landings *l)
{
    enum { LANDED_MAX = 64 << 20 };
    autofree char *path = mem_printf("%s/%s/" STORE_LANDED, rb->folder, l->run->row.id);
    autobuf struct buf text = BUF_INIT;
    struct err none = {0};
    if (file_read_own(path, LANDED_MAX, &text, &none))
        return;
    for (char *next = text.s, *line; (line = strsep(&next, "\n"));)
        take_landed(rb, l, line);
}

/* What the notes of a run name has landed as long as a branch or a run's own ref leads to it. What
 * is older than the first of the runs is not asked for. */
static int read_landed(struct rebuild *rb, const struct git_place *at, struct err *err)
{
    autobuf struct buf out = BUF_INIT, since = BUF_INIT;
    struct landings l = {0};
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < rb->runs.n; i++)
        first = rb->runs.v[i]->row.started < first ? rb->runs.v[i]->row.started : first;
    buf_addf(&since, "--since=@%lld", (long long)(first / 1000 - 1));
    if (git_call(at, &out, err, "rev-list", since.s, "--exclude=anabranch/*", "--branches",
                 "--glob=refs/anabranch/runs", "--glob=refs/heads/anabranch/*/" STORE_RESULT, NULL))
        return -1;
    for (char *next = out.s, *id; (id = strsep(&next, "\n"));)
        (void)map_put(&l.history, id, strlen(id), id);
    for (size_t i = 0; i < rb->runs.n; i++) {
        l.run = rb->runs.v[i];
        read_run_landed(rb, &l);
    }
    map_done(&l.history);
    return 0;
}

static int read_refs(struct rebuild *rb, const char *dir, struct err *err)
{
    autofree char *common = mem_printf("%s/..", dir), *objects = mem_printf("%s/objects", common);
    struct git_place at = {.git_dir = common};
    autobuf struct buf out = BUF_INIT;
    if (access(objects, F_OK) < 0) /* in no repository */
        return 0;
    if (git_call(&at, &out, err, "for-each-ref",
                 "--format=%(refname) %(objectname) "
                 "%(contents:trailers:key=Anabranch-Task,valueonly,separator=%x20)",
                 "refs/anabranch", "refs/heads/anabranch", NULL))
        return -1;
    each_line(rb, out.s, take_ref);
    return rb->runs.n ? read_landed(rb, &at, err) : 0;
}

static int write_run(struct store *store, const struct found_run *run, struct err *err)
{
    if (store_put_run(store, &run->row, err))
        return -1;
    for (size_t i = 0; i < run->tasks.n; i++) {
        if (store_put_task(store, run->tasks.v[i], err))
            return -1;
    }
    return 0;
}

static void rebuild_done(struct rebuild *rb)
{
    for (size_t i = 0; i < rb->runs.n; i++) {
        map_done(&rb->runs.v[i]->by_id);
        vec_done(&rb->runs.v[i]->tasks);
    }
    vec_done(&rb->runs);
    map_done(&rb->by_id);
    arena_done(&rb->arena);
    free(rb->folder);
}

int store_rebuild(struct store *store, const char *dir, size_t *ret_runs, struct err *err)
{
    own_cleanup(rebuild_done) struct rebuild rb = {.folder = runs_path(dir)};
    if (access(rb.folder, F_OK) < 0) /* there never was a run */
        return 0;
    int rc = read_folders(&rb, err) || read_refs(&rb, dir, err) ? -1 : 0;
    for (size_t i = 0; i < rb.runs.n; i++) { /* what was found before a failure, too */
        if (write_run(store, rb.runs.v[i], rc ? NULL : err))
            return -1;
    }
    *ret_runs = rb.runs.n;
    return rc;
}
