#include "view/dashboard/git_questions.h"

#include "base/map.h"
#include "base/mem.h"
#include "git/format/gitlinks.h"
#include "git/merge/merge.h"
#include "git/state_paths.h"
#include "plan/engine/limits/task_limits.h"
#include "project/secrets.h"
#include "run/state/run_folder.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/proc/loop_capture.h"
#include "workspace/commit/change_size.h"
#include "workspace/overlay/layers.h"
#include "workspace/workspace_hold.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUT_MAX = 8 << 20, INDEX_MAX = 1 << 30, TASKS_MAX = 60 };

/* Limits for the test merge of uncommitted changes. */
enum { FILES_MAX = 20000, BYTES_MAX = 256 << 20 };

struct question {
    struct strv argv, env;
    /* NULL: the answer does not matter. */
    void (*parse_answer)(struct git_look *g, const struct question *q, int status,
                         const struct buf *out);
    uint32_t task;
    size_t a, b; /* indexes into the meetings */
};

/* A task that takes part in the comparison. */
struct party {
    struct buf paths;  /* the paths that it has changed, each followed by NUL */
    struct buf landed; /* the paths that others have landed since it started */
    bool landed_known; /* git answered that */
    char *commit;      /* a commit with all its current changes; NULL: none (yet) */
};

/* Steps of a comparison: list the paths, make commits of uncommitted changes, test the merges. */
enum phase { PHASE_NONE, PHASE_PATHS, PHASE_TREES, PHASE_MERGES };

struct git_look {
    struct loop *loop;
    struct board *board;
    const struct git_repo *repo;
    struct git_place repo_place;
    void (*changed)(void *ctx);
    void *ctx;
    struct secrets secrets; /* masked in all output */
    VEC(struct question) queue;
    size_t next; /* index of the next question */
    struct loop_proc *proc;
    struct screen_text *text; /* receives the diff, or NULL */
    uint32_t text_task;
    bool fresh; /* no part of the answer has arrived yet */
    enum phase phase;
    char *landed;            /* the ref with the landed commits */
    char *run_dir, *scratch; /* scratch: a folder for our private objects and indexes, or NULL */
    struct board_meetings m;
    struct party parties[TASKS_MAX];
    int64_t *files; /* per task, while we count */
};

static void question_done(struct question *q)
{
    strv_done(&q->argv);
    strv_done(&q->env);
}

static void start_next(struct git_look *g);
static void add_scratch_env(const struct git_look *g, struct strv *env);

static void take_answer(struct git_look *g, int status, const struct buf *out)
{
    struct question q = g->queue.v[g->next++];
    if (q.parse_answer)
        q.parse_answer(g, &q, status, out);
    question_done(&q);
}

static void on_answer(void *ctx, int status, const struct buf *out)
{
    struct git_look *g = ctx;
    g->proc = NULL;
    take_answer(g, status, out);
    start_next(g);
}

static void next_phase(struct git_look *g);

/* If git cannot be started, the question gets an empty answer. */
static void start_next(struct git_look *g)
{
    static const struct buf nothing = BUF_INIT;
    while (!g->proc && g->next < g->queue.n) {
        const struct question *q = &g->queue.v[g->next];
        if (loop_capture_start(g->loop, q->argv.v, q->env.v, OUT_MAX, on_answer, g, &g->proc, NULL))
            take_answer(g, GIT_FATAL, &nothing);
    }
    if (g->proc)
        return;
    g->queue.n = g->next = 0;
    if (g->phase)
        next_phase(g);
}

/* Asks git in the task's worktree, or in the repository. */
static void queue_question(struct git_look *g, struct question *q, const struct git_place *at,
                           const struct strv *args)
{
    if (at->work_tree)
        layers_reach(at->work_tree, g->repo->common, &q->argv);
    git_prepare(at, &q->argv, &q->env);
    strv_push(&q->env, "GIT_OPTIONAL_LOCKS=0");
    if (g->phase > PHASE_PATHS)
        add_scratch_env(g, &q->env);
    for (size_t i = 0; i < args->n; i++)
        strv_push(&q->argv, args->v[i]);
    vec_push(&g->queue, *q);
}

static const struct board_task *get_task(const struct git_look *g, uint32_t task)
{
    return &g->board->tasks[task];
}

static bool has_worktree(const struct board_task *t)
{
    return t->workspace && t->branch && access(t->workspace, F_OK) == 0;
}

/* True if the task has started from a commit: then there is something to compare. */
static bool has_changes_to_ask(const struct board_task *t)
{
    return t->start && (t->commit || has_worktree(t) || board_is_over(t->state));
}

static char *end_commit(const struct git_look *g, const struct board_task *t)
{
    return t->commit ? mem_str(t->commit) : salvage_ref_name(g->board->run, t->id, t->attempt);
}

/* The worktree of a task. Included files are excluded from its changes. */
struct worktree {
    struct workspace ws;
    struct git_place at;
    char *excludes; /* or NULL */
};

/* Returns false if an agent has put something else in the place of the workspace. */
static bool worktree_open(struct worktree *s, const struct git_look *g, const struct board_task *t)
{
    autofree char *branch = mem_printf("refs/heads/%s", t->branch);
    autofree char *excludes = attempt_file_path(g->run_dir, t->id, t->attempt, "excludes");
    *s = (struct worktree){0};
    struct err none = {0};
    workspace_adopt(&s->ws, g->repo, t->workspace, t->workspace, branch, NULL);
    if (!layers_there(t->workspace) && workspace_enter(&s->ws, &none)) /* layers: not seen here */
        return false;
    s->at = workspace_place(&s->ws);
    s->at.work_tree = s->ws.path; /* git starts later, in another folder */
    s->at.tree = NULL;
    if (access(excludes, F_OK) == 0)
        s->at.excludes = s->excludes = steal_ptr(excludes);
    return true;
}

static void worktree_close(struct worktree *s)
{
    workspace_done(&s->ws);
    free(s->excludes);
}

/* Asks for the changes since the task started, as names or as a diff. If the work is committed
 * or saved, git runs outside the worktree, where no agent can interfere. */
static void ask_diff(struct git_look *g, struct question *q, uint32_t task, bool names)
{
    const struct board_task *t = get_task(g, task);
    autostrv struct strv args = {0};
    struct git_place at = g->repo_place;
    own_cleanup(worktree_close) struct worktree worktree = {0};
    autofree char *end = end_commit(g, t);
    strv_pushl(&args, "diff", "--no-color", "--no-ext-diff", "--no-textconv",
               "--ignore-submodules=dirty", NULL);
    if (names)
        strv_pushl(&args, "--name-only", "--no-renames", "-z", NULL);
    bool tree = !t->commit && has_worktree(t) && worktree_open(&worktree, g, t);
    if (tree)
        at = worktree.at;
    strv_push(&args, t->start);
    if (!tree)
        strv_push(&args, end);
    strv_push(&args, "--");
    q->task = task;
    queue_question(g, q, &at, &args);
    if (tree) { /* `git diff` does not list new files */
        struct question more = {.parse_answer = q->parse_answer, .task = task, .a = q->a};
        autostrv struct strv list = {0};
        strv_pushl(&list, "ls-files", "--others", "--exclude-standard", NULL);
        if (names)
            strv_push(&list, "-z");
        queue_question(g, &more, &at, &list);
    }
}

static int64_t count_names(const struct buf *out)
{
    int64_t n = 0;
    for (size_t i = 0; i < out->len; i++)
        n += out->s[i] == '\0';
    return n;
}

/* The answer about new files arrives second; count when both are there. */
static void count_files(struct git_look *g, const struct question *q, int status,
                        const struct buf *out)
{
    struct board_task *t = &g->board->tasks[q->task];
    bool last = true;
    if (status == 0)
        g->files[q->task] += count_names(out);
    for (size_t i = g->next; i < g->queue.n; i++)
        last =
            last && !(g->queue.v[i].parse_answer == count_files && g->queue.v[i].task == q->task);
    if (!last || status != 0)
        return;
    bool other = t->files != g->files[q->task];
    t->files = g->files[q->task];
    if (other)
        g->changed(g->ctx);
}

void git_questions_files(struct git_look *g, uint32_t task)
{
    struct question q = {.parse_answer = count_files};
    if (!has_changes_to_ask(get_task(g, task)))
        return;
    g->files[task] = 0;
    ask_diff(g, &q, task, true);
    start_next(g);
}

static void add_masked(const struct git_look *g, const struct buf *out)
{
    autobuf struct buf masked = BUF_INIT;
    secrets_mask(&g->secrets, out->s, out->len, &masked);
    screen_text_add(g->text, masked.s, masked.len);
}

static void show_diff(struct git_look *g, const struct question *q, int status,
                      const struct buf *out)
{
    if (!g->text || g->text_task != q->task)
        return;
    bool first = g->fresh;
    if (first)
        screen_text_clear(g->text);
    g->fresh = g->text->loading = false;
    const char *const words = "No changes.";
    if (first && status == 0) {
        add_masked(g, out);
    } else if (status == 0 && out->len) {
        screen_text_add(g->text, "New files:", strlen("New files:"));
        add_masked(g, out);
    }
    if (first && (status != 0 || !out->len) && get_task(g, q->task)->commit)
        screen_text_add(g->text, words, strlen(words));
    g->changed(g->ctx);
}

void git_questions_diff(struct git_look *g, uint32_t task, struct screen_text *to)
{
    struct question q = {.parse_answer = show_diff};
    g->text = to;
    g->text_task = task;
    if (!has_changes_to_ask(get_task(g, task))) {
        screen_text_clear(to);
        to->loading = false;
        return;
    }
    g->fresh = true;
    to->loading = !to->lines.n;
    ask_diff(g, &q, task, false);
    start_next(g);
}

void git_questions_forget_diff(struct git_look *g)
{
    if (g->text)
        g->text->loading = false;
    g->text = NULL;
}

static void note_paths(struct git_look *g, const struct question *q, int status,
                       const struct buf *out)
{
    if (status == 0)
        buf_add(&g->parties[q->a].paths, out->s, out->len);
}

static void note_landed_paths(struct git_look *g, const struct question *q, int status,
                              const struct buf *out)
{
    g->parties[q->a].landed_known = status == 0;
    if (status == 0)
        buf_add(&g->parties[q->a].landed, out->s, out->len);
}

/* After a run has ended, its ref exists only if the base branch could not follow it. */
static void find_landed(struct git_look *g)
{
    autobuf struct buf commit = BUF_INIT;
    free(g->landed);
    g->landed = tip_ref_name(g->board->run);
    if (g->board->live || !g->board->base ||
        git_resolve(&g->repo_place, g->landed, &commit, NULL) == 0)
        return;
    free(g->landed);
    g->landed = mem_printf("refs/heads/%s", g->board->base);
}

static void ask_landed(struct git_look *g, size_t i, const char *start)
{
    struct question q = {.parse_answer = note_landed_paths, .a = i};
    autostrv struct strv args = {0};
    strv_pushl(&args, "diff", "--name-only", "--no-renames", "-z", start, g->landed, "--", NULL);
    queue_question(g, &q, &g->repo_place, &args);
}

/* Only changes that have not landed can still conflict. */
static bool is_unlanded(const struct board_task *t)
{
    bool open = board_is_busy(t->state) || t->state == TASK_CONFLICTED || t->resume;
    return t->wanted && open && t->start && (t->commit || has_worktree(t));
}

void git_questions_meetings(struct git_look *g)
{
    if (g->phase || !g->repo->common)
        return;
    g->phase = PHASE_PATHS;
    find_landed(g);
    board_meetings_done(&g->m);
    g->m.tasks = mem_array(TASKS_MAX, sizeof(*g->m.tasks));
    for (uint32_t t = 0; t < g->board->n && g->m.n < TASKS_MAX; t++) {
        const struct board_task *bt = &g->board->tasks[t];
        if (!is_unlanded(bt))
            continue;
        size_t i = g->m.n++;
        struct question q = {.parse_answer = note_paths, .a = i};
        g->m.tasks[i] = t;
        g->parties[i] = (struct party){.paths = BUF_INIT, .landed = BUF_INIT};
        g->parties[i].commit = bt->commit ? mem_str(bt->commit) : NULL;
        ask_diff(g, &q, t, true);
        ask_landed(g, i, bt->start);
    }
    start_next(g);
}

static bool share_a_path(const struct buf *a, const struct buf *b)
{
    automap struct map paths = {0};
    const char *end = a->s + a->len;
    for (const char *s = a->s; s < end; s += strlen(s) + 1)
        (void)map_put(&paths, s, strlen(s), (void *)s);
    end = b->s + b->len;
    for (const char *s = b->s; s < end; s += strlen(s) + 1) {
        if (map_get(&paths, s, strlen(s)))
            return true;
    }
    return false;
}

static enum board_meet *get_meeting_cell(struct git_look *g, size_t a, size_t b)
{
    return a == b ? &g->m.base[a] : &g->m.cells[a * g->m.n + b];
}

/* Compares the paths only. */
static void judge_paths(struct git_look *g)
{
    size_t n = g->m.n;
    g->m.cells = mem_array(n * n + 1, sizeof(*g->m.cells));
    g->m.base = mem_array(n + 1, sizeof(*g->m.base));
    for (size_t a = 0; a < n; a++) {
        const struct party *p = &g->parties[a];
        bool apart = p->landed_known && !share_a_path(&p->paths, &p->landed);
        *get_meeting_cell(g, a, a) = apart ? MEET_APART : MEET_UNKNOWN;
        for (size_t b = a + 1; b < n; b++)
            *get_meeting_cell(g, a, b) = *get_meeting_cell(g, b, a) =
                share_a_path(&p->paths, &g->parties[b].paths) ? MEET_UNKNOWN : MEET_APART;
    }
}

/* Makes a private object store. We delete it when we are done. */
static int make_scratch(struct git_look *g)
{
    autofree char *dir = mem_printf("%s/look.XXXXXX", g->run_dir);
    if (g->scratch)
        return 0;
    if (strpbrk(g->repo->common, ":\"") || !mkdtemp(dir))
        return -1;
    autofree char *objects = mem_printf("%s/objects", dir);
    if (dirs_make(objects, NULL))
        return -1;
    g->scratch = steal_ptr(dir);
    return 0;
}

static void add_scratch_env(const struct git_look *g, struct strv *env)
{
    static const char *const names[] = {"AUTHOR", "COMMITTER"};
    if (!g->scratch)
        return;
    strv_pushf(env, "GIT_OBJECT_DIRECTORY=%s/objects", g->scratch);
    strv_pushf(env, "GIT_ALTERNATE_OBJECT_DIRECTORIES=%s/objects", g->repo->common);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        strv_pushf(env, "GIT_%s_NAME=anabranch", names[i]);
        strv_pushf(env, "GIT_%s_EMAIL=anabranch@localhost", names[i]);
    }
}

static void note_commit(struct git_look *g, const struct question *q, int status,
                        const struct buf *out)
{
    if (status == 0)
        g->parties[q->a].commit = mem_dup(out->s, strcspn(out->s, "\n"));
}

static void commit_tree(struct git_look *g, const struct question *q, int status,
                        const struct buf *out)
{
    struct question next = {.parse_answer = note_commit, .a = q->a};
    autostrv struct strv args = {0};
    autofree char *tree = mem_dup(out->s, strcspn(out->s, "\n"));
    if (status != 0)
        return;
    strv_pushl(&args, "commit-tree", tree, "-p", get_task(g, g->m.tasks[q->a])->start, "-m", "now",
               NULL);
    queue_question(g, &next, &g->repo_place, &args);
}

/* Starts with a copy of the agent's index: it knows which files are unchanged, so the next
 * comparison is fast. */
static int copy_index(const struct worktree *worktree, const char *index)
{
    autofree char *own = mem_printf("%s/index", worktree->ws.admin);
    autobuf struct buf bytes = BUF_INIT;
    if (access(index, F_OK) == 0)
        return 0;
    if (file_read(own, INDEX_MAX, &bytes, NULL))
        return -1;
    return file_replace_private(index, bytes.s, bytes.len, NULL);
}

static int64_t get_min_limit(int64_t limit, int64_t most)
{
    return limit > 0 && limit < most ? limit : most;
}

/* True if the change is larger than the task may make, or too large to read quickly. */
static bool is_too_large(const struct git_look *g, size_t i)
{
    struct change_limits may = task_limits_of(g->board->plan, g->m.tasks[i]).change;
    struct change_bounds bounds = {get_min_limit(may.files, FILES_MAX),
                                   get_min_limit(may.bytes, BYTES_MAX)};
    const struct buf *paths = &g->parties[i].paths;
    autochangesize struct change_size size = CHANGE_SIZE_INIT;
    struct err none = {0};
    return change_is_over(&bounds, count_names(paths), 0) ||
           change_add_up(get_task(g, g->m.tasks[i])->workspace, paths, &size, &none) ||
           change_is_over(&bounds, size.files, size.bytes);
}

static void ask_commit(struct git_look *g, size_t i)
{
    const struct board_task *t = get_task(g, g->m.tasks[i]);
    own_cleanup(worktree_close) struct worktree worktree = {0};
    autostrv struct strv add = {0}, write = {0};
    if (!has_worktree(t) || is_too_large(g, i) || make_scratch(g))
        return;
    autofree char *index = mem_printf("%s/%s.%d.index", g->scratch, t->id, t->attempt);
    if (!worktree_open(&worktree, g, t))
        return;
    worktree.at.index = index;
    if (copy_index(&worktree, index))
        return;
    struct question first = {0}, then = {.parse_answer = commit_tree, .a = i};
    strv_pushl(&add, "add", "--all", "--ignore-errors", "--", ".", NULL);
    struct err none = {0};
    if (gitlinks_stage(&worktree.at, strlen(t->start), &add, &none))
        return;
    strv_push(&write, "write-tree");
    queue_question(g, &first, &worktree.at, &add);
    queue_question(g, &then, &worktree.at, &write);
}

/* Makes commits only for tasks that share paths with others. */
static void ask_commits(struct git_look *g)
{
    for (size_t a = 0; a < g->m.n; a++) {
        bool meets = false;
        for (size_t b = 0; b < g->m.n; b++)
            meets = meets || *get_meeting_cell(g, a, b) == MEET_UNKNOWN;
        if (meets && !g->parties[a].commit)
            ask_commit(g, a);
    }
}

static void note_merge(struct git_look *g, const struct question *q, int status,
                       const struct buf *out)
{
    enum board_meet meet = status == 0 ? MEET_TOGETHER : status == 1 ? MEET_CONFLICT : MEET_UNKNOWN;
    (void)out;
    *get_meeting_cell(g, q->a, q->b) = *get_meeting_cell(g, q->b, q->a) = meet;
}

static void ask_merges(struct git_look *g)
{
    for (size_t a = 0; a < g->m.n; a++) {
        for (size_t b = a; b < g->m.n; b++) {
            const char *one = a == b ? g->landed : g->parties[a].commit,
                       *two = g->parties[b].commit;
            struct question q = {.parse_answer = note_merge, .a = a, .b = b};
            autostrv struct strv args = {0};
            if (*get_meeting_cell(g, a, b) != MEET_UNKNOWN || !one || !two)
                continue;
            merge_ask(&g->repo_place, one, two, &args);
            queue_question(g, &q, &g->repo_place, &args);
        }
    }
}

static void free_parties(struct git_look *g)
{
    for (size_t i = 0; i < g->m.n; i++) {
        buf_done(&g->parties[i].paths);
        buf_done(&g->parties[i].landed);
        free(g->parties[i].commit);
    }
}

static void next_phase(struct git_look *g)
{
    if (g->phase == PHASE_PATHS) {
        g->phase = PHASE_TREES;
        judge_paths(g);
        ask_commits(g);
    } else if (g->phase == PHASE_TREES) {
        g->phase = PHASE_MERGES;
        ask_merges(g);
    } else {
        free_parties(g);
        g->phase = PHASE_NONE;
        g->m.known = true;
        board_set_meetings(g->board, &g->m);
        g->changed(g->ctx);
        return;
    }
    start_next(g);
}

struct git_look *git_questions_new(struct loop *loop, struct board *board,
                                   const struct git_repo *repo, const char *run_dir,
                                   void (*changed)(void *ctx), void *ctx)
{
    struct git_look *g = mem_alloc(sizeof(*g));
    *g = (struct git_look){.loop = loop,
                           .board = board,
                           .repo = repo,
                           .repo_place = {.git_dir = repo->common},
                           .changed = changed,
                           .ctx = ctx};
    g->run_dir = mem_str(run_dir);
    run_folder_secrets(run_dir, &g->secrets);
    g->files = mem_array(board->n, sizeof(*g->files));
    return g;
}

void git_questions_free(struct git_look *g)
{
    if (!g)
        return;
    loop_capture_cancel(g->proc);
    for (size_t i = g->next; i < g->queue.n; i++)
        question_done(&g->queue.v[i]);
    vec_done(&g->queue);
    if (g->phase)
        free_parties(g);
    if (g->scratch)
        (void)dirs_remove(g->scratch, NULL); /* the cleanup of the run's folder removes the rest */
    free(g->scratch);
    free(g->landed);
    free(g->run_dir);
    secrets_done(&g->secrets);
    board_meetings_done(&g->m);
    free(g->files);
    free(g);
}

bool git_questions_is_busy(const struct git_look *g)
{
    return g->proc;
}
