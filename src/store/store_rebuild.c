/*
 * Recovers earlier runs after their database is lost: from the folders of their attempts, the files
 * written when a run began and when tasks landed, branches and refs. The message of a commit does
 * not prove that something landed: an agent can write that too.
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
    struct map committed; /* the lines of STORE_COMMITTED */
    VEC(struct store_task *) tasks;
};

struct rebuild {
    struct arena arena;
    char *folder; /* the folder of all runs */
    struct map by_id;
    VEC(struct found_run *) runs;
};

/* Reads the start time of a run from its id, "20260301-120000-12ab"; -1 for any other string. */
static int parse_start_time(const char *id, int64_t *ret)
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

static struct found_run *get_run(struct rebuild *rb, const char *id)
{
    struct found_run *run = map_get(&rb->by_id, id, strlen(id));
    int64_t started;
    if (run || parse_start_time(id, &started))
        return run;
    run = arena_alloc(&rb->arena, sizeof(*run));
    run->row =
        (struct store_run){.id = arena_str(&rb->arena, id), .state = "unknown", .started = started};
    (void)map_put(&rb->by_id, run->row.id, strlen(run->row.id), run);
    vec_push(&rb->runs, run);
    return run;
}

static struct store_task *get_task(struct rebuild *rb, struct found_run *run, const char *id)
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

static void note_attempt(struct store_task *task, const char *number)
{
    char *end;
    long n = strtol(number, &end, 10);
    if (*end || n <= task->attempts || n > INT_MAX)
        return;
    task->attempts = (int)n;
    if (strcmp(task->state, "waiting") == 0)
        task->state = "running"; /* its process has ended: shown as interrupted */
}

/* Calls `fn` for each entry of a folder; a missing folder has none. */
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

/* Reads a file of the run's folder, if it exists and is readable. */
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

static const char *copy_string(struct rebuild *rb, const struct node *map, const char *key)
{
    const char *s = node_get_string(map, key, NULL);
    return s ? arena_str(&rb->arena, s) : NULL;
}

static void read_run(struct rebuild *rb, struct found_run *run, const struct node *root)
{
    run->row.plan = copy_string(rb, root, "plan");
    run->row.base = copy_string(rb, root, "base");
    run->row.base_commit = copy_string(rb, root, "base_commit");
    run->row.started = node_get_int(root, "started", run->row.started);
}

static void read_plan(struct rebuild *rb, struct found_run *run, const struct node *root)
{
    const struct node *tasks = node_get(root, "tasks");
    run->row.name = copy_string(rb, root, "name");
    if (!tasks || tasks->kind != NODE_LIST)
        return;
    node_each (node, tasks) {
        const char *id = node->kind == NODE_MAP ? node_get_string(node, "id", NULL) : NULL;
        if (!id)
            continue;
        struct store_task *task = get_task(rb, run, id);
        task->title = copy_string(rb, node, "title");
        task->engine = copy_string(rb, node, "engine");
    }
}

static void count_attempt(struct rebuild *rb, void *ctx, const char *name)
{
    (void)rb;
    note_attempt(ctx, name);
}

struct folder {
    struct found_run *run;
    struct err *err;
    int rc;
};

/* Only a folder that contains attempts belongs to a task. */
static void read_task_folder(struct rebuild *rb, void *ctx, const char *name)
{
    struct folder *folder = ctx;
    struct store_task found = {.state = "waiting"};
    autofree char *path = mem_printf("%s/%s/%s", rb->folder, folder->run->row.id, name);
    if (folder->rc == 0)
        folder->rc = each_entry(rb, path, count_attempt, &found, folder->err);
    if (!found.attempts)
        return;
    struct store_task *task = get_task(rb, folder->run, name);
    task->attempts = found.attempts;
    task->state = found.state;
}

enum { LINES_MAX = 64 << 20 };

static void read_committed(struct rebuild *rb, struct found_run *run)
{
    autofree char *path = mem_printf("%s/%s/" STORE_COMMITTED, rb->folder, run->row.id);
    autobuf struct buf text = BUF_INIT;
    struct err none = {0};
    if (file_read_own(path, LINES_MAX, &text, &none))
        return;
    for (char *next = arena_str(&rb->arena, text.s), *line; (line = strsep(&next, "\n"));)
        (void)map_put(&run->committed, line, strlen(line), line);
}

static void read_run_folder(struct rebuild *rb, void *ctx, const char *name)
{
    struct folder *folder = ctx;
    autofree char *path = mem_printf("%s/%s", rb->folder, name);
    folder->run = get_run(rb, name);
    if (!folder->run || folder->rc)
        return;
    read_doc(rb, folder->run, "run.json", read_run);
    read_doc(rb, folder->run, "plan.json", read_plan);
    read_committed(rb, folder->run);
    folder->rc = each_entry(rb, path, read_task_folder, folder, folder->err);
}

static int read_folders(struct rebuild *rb, struct err *err)
{
    struct folder folder = {.err = err};
    int rc = each_entry(rb, rb->folder, read_run_folder, &folder, err);
    return rc || folder.rc ? -1 : 0;
}

/* Parses "RUN/TASK": the task, or NULL for other names. Modifies `name`. */
static struct store_task *parse_task_name(struct rebuild *rb, char *name)
{
    const char *id = strsep(&name, "/");
    struct found_run *run = name && *name ? get_run(rb, id) : NULL;
    return run ? get_task(rb, run, name) : NULL;
}

/* If we made the commit, the agent was done, and the task continues with its checks. The branch
 * alone proves nothing, because an agent can commit, too. */
static void read_branch(struct rebuild *rb, char *name, const char *commit)
{
    autofree char *copy = mem_str(name);
    struct store_task *task = parse_task_name(rb, copy);
    if (!task)
        return;
    autofree char *line = mem_printf("%s %s", commit, task->id);
    task->branch = arena_printf(&rb->arena, "anabranch/%s", name);
    if (map_get(&get_run(rb, task->run)->committed, line, strlen(line)))
        task->state = "committing";
}

/* Parses "RUN/TASK/ATTEMPT". Ignores other salvage of an attempt, and "RUN/+shared/NUMBER": what
 * agents changed in the shared parts of the repository. */
static void read_salvage(struct rebuild *rb, char *name)
{
    const char *id = strsep(&name, "/"), *task_id = strsep(&name, "/");
    struct found_run *run = name && !strchr(name, '/') ? get_run(rb, id) : NULL;
    if (run && strcmp(task_id, STORE_SHARED) != 0)
        note_attempt(get_task(rb, run, task_id), name);
}

static void set_tip(struct rebuild *rb, const char *id, const char *commit)
{
    struct found_run *run = get_run(rb, id);
    if (run)
        run->row.tip = arena_str(&rb->arena, commit);
}

/* True for the branch with unpublished results, which stands beside those of the tasks. */
static bool is_result(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash && strcmp(slash, "/" STORE_RESULT) == 0;
}

/* Parses "REF COMMIT". */
static void read_ref(struct rebuild *rb, char *line)
{
    static const char runs[] = TIP_REFS, heads[] = "refs/heads/anabranch/";
    static const char salvage[] = SALVAGE_REFS;
    char *ref = strsep(&line, " "), *commit = line;
    bool is_head = strncmp(ref, heads, strlen(heads)) == 0;
    char *name = is_head ? ref + strlen(heads) : NULL;
    if (!commit)
        return;
    if (strncmp(ref, runs, strlen(runs)) == 0)
        set_tip(rb, ref + strlen(runs), commit);
    else if (strncmp(ref, salvage, strlen(salvage)) == 0)
        read_salvage(rb, ref + strlen(salvage));
    else if (is_head && is_result(name))
        set_tip(rb, strsep(&name, "/"), commit);
    else if (is_head)
        read_branch(rb, name, commit);
}

static void each_line(struct rebuild *rb, char *text, void (*fn)(struct rebuild *, char *))
{
    for (char *line; (line = strsep(&text, "\n"));) {
        if (*line)
            fn(rb, line);
    }
}

struct landings {
    struct map history; /* ids of reachable commits */
    struct found_run *run;
};

static void read_landed_line(struct rebuild *rb, const struct landings *l, char *line)
{
    const char *commit = strsep(&line, " ");
    if (!line || !*line || !map_get(&l->history, commit, strlen(commit)))
        return;
    struct store_task *task = get_task(rb, l->run, line);
    task->landed = arena_str(&rb->arena, commit);
    task->state = "landed";
}

/* The last line of a task counts: it may have landed again. */
static void read_landed_file(struct rebuild *rb, const struct landings *l)
{
    autofree char *path = mem_printf("%s/%s/" STORE_LANDED, rb->folder, l->run->row.id);
    autobuf struct buf text = BUF_INIT;
    struct err none = {0};
    if (file_read_own(path, LINES_MAX, &text, &none))
        return;
    for (char *next = text.s, *line; (line = strsep(&next, "\n"));)
        read_landed_line(rb, l, line);
}

/* A commit that a run's file of landed tasks names has landed if a branch or a run's own ref still
 * reaches it. We list no commits older than the first run. */
static int read_landed(struct rebuild *rb, const struct git_place *at, struct err *err)
{
    autobuf struct buf out = BUF_INIT, since = BUF_INIT;
    struct landings l = {0};
    int64_t first_start = INT64_MAX;
    for (size_t i = 0; i < rb->runs.n; i++)
        first_start =
            rb->runs.v[i]->row.started < first_start ? rb->runs.v[i]->row.started : first_start;
    buf_addf(&since, "--since=@%lld", (long long)(first_start / 1000 - 1));
    if (git_call(at, &out, err, "rev-list", since.s, "--exclude=anabranch/*", "--branches",
                 "--glob=refs/anabranch/runs", "--glob=refs/heads/anabranch/*/" STORE_RESULT, NULL))
        return -1;
    for (char *next = out.s, *id; (id = strsep(&next, "\n"));)
        (void)map_put(&l.history, id, strlen(id), id);
    for (size_t i = 0; i < rb->runs.n; i++) {
        l.run = rb->runs.v[i];
        read_landed_file(rb, &l);
    }
    map_done(&l.history);
    return 0;
}

static int read_refs(struct rebuild *rb, const char *dir, struct err *err)
{
    autofree char *common = mem_printf("%s/..", dir), *objects = mem_printf("%s/objects", common);
    struct git_place at = {.git_dir = common};
    autobuf struct buf out = BUF_INIT;
    if (access(objects, F_OK) < 0) /* not in a repository */
        return 0;
    if (git_call(&at, &out, err, "for-each-ref", "--format=%(refname) %(objectname)",
                 "refs/anabranch", "refs/heads/anabranch", NULL))
        return -1;
    each_line(rb, out.s, read_ref);
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
        map_done(&rb->runs.v[i]->committed);
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
    if (access(rb.folder, F_OK) < 0) /* there was never a run */
        return 0;
    int rc = read_folders(&rb, err) || read_refs(&rb, dir, err) ? -1 : 0;
    for (size_t i = 0; i < rb.runs.n; i++) { /* also the runs found before a failure */
        if (write_run(store, rb.runs.v[i], rc ? NULL : err))
            return -1;
    }
    *ret_runs = rb.runs.n;
    return rc;
}
