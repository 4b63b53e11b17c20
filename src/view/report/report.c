#include "view/report/report.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/vec.h"
#include "doc/doc.h"
#include "git/state_paths.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/guard/proc_table.h"
#include "view/report/details.h"
#include "view/state_change_text.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

struct loader {
    struct report *r;
    const char *wanted;
    VEC(struct report_task) tasks;
};

static const char *keep(struct report *r, const char *s)
{
    return s ? arena_str(&r->arena, s) : NULL;
}

static bool take_task(void *ctx, const struct store_task *task)
{
    struct loader *l = ctx;
    struct report_task t = {.row = store_keep_task(task, &l->r->arena), .lane = -1};
    vec_push(&l->tasks, t);
    return true;
}

/* The end of a failed task's output was masked when it was told; the logs themselves are not. */
static void take_failure(struct report *r, const struct store_event *ev, const struct node *data)
{
    struct report_task *t = map_get(&r->by_id, ev->task, strlen(ev->task));
    if (t)
        t->output = keep(r, node_new_string(data, "output", t->output));
}

static void take_salvage(struct report *r, const struct store_event *ev, const struct node *data)
{
    struct report_task *t = map_get(&r->by_id, ev->task, strlen(ev->task));
    if (t && node_get(data, "ref"))
        t->salvaged = ev->attempt;
}

static void take_change(struct report *r, const struct store_event *ev, struct doc *doc)
{
    if (!state_change_text_is_change(doc->root))
        return;
    vec_push(&r->changes, (struct report_change){keep(r, ev->task), doc->root});
    vec_push(&r->docs, *doc);
    *doc = (struct doc){0};
}

/* Its state says whether that is still so. */
static void take_parked(struct report *r, const struct store_event *ev, const struct node *data)
{
    struct report_task *t = map_get(&r->by_id, ev->task, strlen(ev->task));
    if (t && ev->attempt == t->row.attempts && strcmp(t->row.state, "waiting") == 0)
        t->lane = node_new_int(data, "lane", -1);
}

/* The agent that an event is of, where that runs now. */
static struct report_task *find_running(const struct report *r, const struct store_event *ev)
{
    struct report_task *t = map_get(&r->by_id, ev->task, strlen(ev->task));
    bool runs = t && ev->attempt == t->row.attempts && strcmp(t->row.state, "running") == 0;
    return runs ? t : NULL;
}

/* The last that was told counts. */
static void take_doing(struct report *r, const struct store_event *ev, const struct node *data)
{
    struct report_task *t = find_running(r, ev);
    if (strcmp(ev->name, "task.waiting") == 0)
        activity_take_question(&t->doing, data);
    else
        activity_take_action(&t->doing, data, ev->time);
}

static void take_exit(struct report *r, const struct store_event *ev, struct doc *doc)
{
    struct report_task *t = map_get(&r->by_id, ev->task, strlen(ev->task));
    if (!t)
        return;
    activity_done(&t->doing);
    t->outcome = doc->root;
    vec_push(&r->docs, *doc);
    *doc = (struct doc){0};
}

static void take_opened(struct report *r, const struct store_event *ev, const struct node *data)
{
    limits_opened(&r->limits, data, ev->time);
}

static void take_closed(struct report *r, const struct store_event *ev, const struct node *data)
{
    (void)ev;
    limits_closed(&r->limits, data);
}

static void take_resumed(struct report *r, const struct store_event *ev, const struct node *data)
{
    r->paused = false;
    idle_note(&r->idle, ev->time, data);
}

static void take_paused(struct report *r, const struct store_event *ev, const struct node *data)
{
    (void)ev;
    (void)data;
    r->paused = true;
}

/* Of the events, those that say more than the rows; `keep` may keep the data. */
static const struct {
    const char *name;
    bool of_task;
    void (*take)(struct report *r, const struct store_event *ev, const struct node *data);
    void (*keep)(struct report *r, const struct store_event *ev, struct doc *doc);
} told[] = {
    {"task.action", true, take_doing, NULL},         {"task.waiting", true, take_doing, NULL},
    {"task.exited", true, NULL, take_exit},          {"task.failed", true, take_failure, NULL},
    {"task.salvaged", true, take_salvage, NULL},     {"task.parked", true, take_parked, NULL},
    {"git.state_changed", false, NULL, take_change}, {"limit.opened", false, take_opened, NULL},
    {"limit.closed", false, take_closed, NULL},      {"run.resumed", false, take_resumed, NULL},
    {"run.paused", false, take_paused, NULL},
};

/* An event of the run without data. */
static void take_bare(struct report *r, const struct store_event *ev, size_t i)
{
    if (told[i].take == take_resumed || told[i].take == take_paused)
        told[i].take(r, ev, NULL);
}

static bool take_event(void *ctx, const struct store_event *ev)
{
    struct report *r = ctx;
    size_t i = 0, n = ARRAY_LEN(told);
    while (i < n && strcmp(told[i].name, ev->name) != 0)
        i++;
    if (i == n || (told[i].of_task && !ev->task))
        return true;
    if (!ev->data) {
        take_bare(r, ev, i);
        return true;
    }
    if (told[i].take == take_doing && !find_running(r, ev)) /* there are many of them */
        return true;
    struct doc doc;
    autoproblems struct problems ps;
    struct doc_options opts = {.syntax = DOC_JSON};
    problems_init(&ps, "event");
    if (doc_parse(&doc, NULL, ev->data, strlen(ev->data), &opts, &ps) == 0) {
        if (told[i].take)
            told[i].take(r, ev, doc.root);
        else
            told[i].keep(r, ev, &doc);
    }
    doc_done(&doc);
    return true;
}

static enum report_end end_of(const char *state)
{
    static const char *const names[] = {"landed", "done", "failed", "conflicted", "skipped"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(state, names[i]) == 0)
            return (enum report_end)i;
    }
    return REPORT_UNFINISHED;
}

static bool is_pending(const char *state)
{
    return strcmp(state, "waiting") == 0 || strcmp(state, "ready") == 0;
}

static int64_t duration(const struct report *r, int64_t started, int64_t finished)
{
    return started ? idle_without(&r->idle, started, finished ? finished : r->end) : -1;
}

bool report_task_is_well(const struct report_task *t)
{
    return t->end == REPORT_LANDED || t->end == REPORT_DONE;
}

bool report_task_ran(const struct report_task *t)
{
    return t->row.attempts > 0;
}

bool report_task_knows_tokens(const struct report_task *t)
{
    return t->row.tokens_in > 0 || t->row.tokens_out > 0;
}

bool report_is_running(const struct report *r)
{
    return strcmp(r->row.state, "running") == 0;
}

const char *report_state(const struct report *r)
{
    return report_is_running(r) && r->paused ? "paused" : r->row.state;
}

static void settle_task(struct report *r, struct report_task *t)
{
    t->end = end_of(t->row.state);
    if (t->end != REPORT_LANDED) /* until then it is what it would land as */
        t->row.landed = NULL;
    if (t->end == REPORT_UNFINISHED && !report_is_running(r) && !is_pending(t->row.state))
        t->row.state = "interrupted";
    if (strcmp(t->row.state, "running") != 0)
        activity_done(&t->doing);
    t->duration = duration(r, t->row.started, t->row.finished);
    if (report_task_ran(t))
        t->logs = arena_printf(&r->arena, "%s/%s", r->logs, t->row.id);
    r->ends[t->end]++;
    r->tokens_in += t->row.tokens_in;
    r->tokens_out += t->row.tokens_out;
    if (t->row.usd >= 0)
        r->usd = (r->usd < 0 ? 0 : r->usd) + t->row.usd;
    else if (report_task_ran(t))
        r->unpriced++;
}

/* When a run that did not end itself was last seen: nobody was there to write it down. */
static int64_t last_seen(const struct report *r)
{
    int64_t last = r->row.started;
    for (size_t i = 0; i < r->n; i++) {
        const struct store_task *t = &r->tasks[i].row;
        last = t->started > last ? t->started : last;
        last = t->finished > last ? t->finished : last;
    }
    return last;
}

static void settle(struct report *r, const char *state_dir)
{
    struct store_run *row = &r->row;
    autofree char *logs = run_path(state_dir, row->id);
    bool alive = proc_table_start((pid_t)row->pid) == row->pid_start && row->pid_start;
    if (report_is_running(r) && !alive)
        row->state = "interrupted";
    r->end = row->finished ? row->finished : alive ? clock_wall() : last_seen(r);
    r->logs = keep(r, logs);
    r->duration = duration(r, row->started, r->end);
    for (size_t i = 0; i < r->n; i++)
        settle_task(r, &r->tasks[i]);
}

static bool is_newer(const char *date, const char *than)
{
    return !than || strcmp(date, than) > 0;
}

static bool take_spending(void *ctx, const struct store_spending *s)
{
    struct report *r = ctx;
    struct report_task *t = map_get(&r->by_id, s->task, strlen(s->task));
    if (!t || !s->prices)
        return true;
    if (is_newer(s->prices, t->prices))
        t->prices = keep(r, s->prices);
    if (is_newer(s->prices, r->prices))
        r->prices = t->prices;
    return true;
}

static int load(struct loader *l, struct store *store, struct err *err)
{
    struct report *r = l->r;
    if (store_find_run(store, l->wanted, &r->arena, &r->row, err))
        return -1;
    if (!r->row.id)
        return err_set(err, ERR_INPUT, "there is no run '%s'", l->wanted);
    if (store_each_task(store, r->row.id, take_task, l, err))
        return -1;
    r->n = l->tasks.n;
    r->tasks = arena_array(&r->arena, r->n + 1, sizeof(*r->tasks));
    for (size_t i = 0; i < r->n; i++) {
        r->tasks[i] = l->tasks.v[i];
        (void)map_put(&r->by_id, r->tasks[i].row.id, strlen(r->tasks[i].row.id), &r->tasks[i]);
    }
    if (store_each_spending(store, r->row.id, 0, take_spending, r, err))
        return -1;
    return store_each_event(store, r->row.id, 0, take_event, r, err);
}

int report_load(struct report *r, struct store *store, const char *state_dir, const char *run,
                struct err *err)
{
    *r = (struct report){.usd = -1};
    struct loader l = {.r = r, .wanted = run};
    int rc = load(&l, store, err);
    vec_done(&l.tasks);
    if (rc == 0)
        settle(r, state_dir);
    return rc;
}

void report_done(struct report *r)
{
    idle_done(&r->idle);
    map_done(&r->by_id);
    for (size_t i = 0; i < r->n; i++)
        activity_done(&r->tasks[i].doing);
    for (size_t i = 0; i < r->docs.n; i++)
        doc_done(&r->docs.v[i]);
    vec_done(&r->docs);
    vec_done(&r->changes);
    limits_shown_done(&r->limits);
    arena_done(&r->arena);
}

int report_format_of(const char *path, enum report_format *ret, struct err *err)
{
    static const struct {
        const char *ending;
        enum report_format format;
    } endings[] = {{".json", REPORT_JSON},  {".md", REPORT_MD},    {".markdown", REPORT_MD},
                   {".html", REPORT_HTML},  {".htm", REPORT_HTML}, {".xml", REPORT_JUNIT},
                   {".sarif", REPORT_SARIF}};
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash + 1 : path, '.');
    for (size_t i = 0; dot && i < ARRAY_LEN(endings); i++) {
        if (strcasecmp(dot, endings[i].ending) == 0) {
            *ret = endings[i].format;
            return 0;
        }
    }
    return err_set(err, ERR_INPUT,
                   "'%s' must end with .json, .md, .markdown, .html, .xml or .sarif", path);
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? mem_dup(path, slash == path ? 1 : (size_t)(slash - path)) : mem_str(".");
}

int report_check(const char *path, struct err *err)
{
    autofree char *dir = folder_of(path);
    struct stat st;
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(err, ERR_INPUT, "'%s' is %s", path,
                       S_ISLNK(st.st_mode) ? "a symlink" : "not a file");
    return dirs_check(dir, err);
}

int report_add(const struct report *r, const struct report_source *from, enum report_format format,
               struct buf *out, struct err *err)
{
    static const struct {
        void (*write)(struct report_details *, struct buf *);
        bool rows; /* the rows are enough for it */
    } writers[REPORT_FORMAT_COUNT_] = {
        [REPORT_JSON] = {report_json, true},    [REPORT_MD] = {report_md, false},
        [REPORT_HTML] = {report_html, false},   [REPORT_JUNIT] = {report_junit, true},
        [REPORT_SARIF] = {report_sarif, false},
    };
    autoreport_more struct report_details more;
    report_details_init(&more, r, from);
    if (!writers[format].rows && report_details_load(&more, from->store, err))
        return -1;
    writers[format].write(&more, out);
    return 0;
}

int report_write(const struct report *r, const struct report_source *from,
                 enum report_format format, const char *path, struct err *err)
{
    autofree char *dir = folder_of(path);
    autobuf struct buf out = BUF_INIT;
    if (report_add(r, from, format, &out, err) || dirs_make(dir, err))
        return -1;
    return file_replace(path, out.s, out.len, err);
}
