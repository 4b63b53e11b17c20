#include "view/report/report.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "base/vec.h"
#include "doc/doc.h"
#include "git/state_paths.h"
#include "plan/failure.h"
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

static const char *keep_string(struct report *r, const char *s)
{
    return s ? arena_str(&r->arena, s) : NULL;
}

static bool append_task(void *ctx, const struct store_task *task)
{
    struct loader *l = ctx;
    struct report_task t = {.row = store_keep_task(task, &l->r->arena), .lane = -1};
    vec_push(&l->tasks, t);
    return true;
}

/* The run masked this output when it recorded the event. The logs are not masked. */
static void keep_output(struct report *r, const struct store_event *ev, const struct node *data)
{
    struct report_task *t = map_get(&r->by_id, ev->task, strlen(ev->task));
    if (t)
        t->output = keep_string(r, node_get_string(data, "output", t->output));
}

static void note_salvage(struct report *r, const struct store_event *ev, const struct node *data)
{
    struct report_task *t = map_get(&r->by_id, ev->task, strlen(ev->task));
    if (t && node_get(data, "ref"))
        t->salvaged = ev->attempt;
}

/* Saved work of a task has the name ".../RUN/TASK/ATTEMPT". */
static void note_lost_work(struct report *r, const struct node *data)
{
    const char *name = node_get_string(data, "name", "");
    for (size_t i = 0; i < r->n; i++) {
        struct report_task *t = &r->tasks[i];
        autofree char *saved =
            mem_printf(SALVAGE_REFS "%s/%s/%d", t->row.run, t->row.id, t->salvaged);
        if (strcmp(name, saved) == 0)
            t->salvaged = 0;
    }
}

static void keep_change(struct report *r, const struct store_event *ev, struct doc *doc)
{
    if (!state_change_text_is_change(doc->root))
        return;
    if (state_change_text_is_lost(doc->root))
        note_lost_work(r, doc->root);
    vec_push(&r->changes, (struct report_change){keep_string(r, ev->task), doc->root});
    vec_push(&r->docs, *doc);
    *doc = (struct doc){0};
}

/* The task's state tells whether it is still parked. */
static void note_parked(struct report *r, const struct store_event *ev, const struct node *data)
{
    struct report_task *t = map_get(&r->by_id, ev->task, strlen(ev->task));
    if (t && ev->attempt == t->row.attempts && strcmp(t->row.state, "waiting") == 0)
        t->lane = node_get_int(data, "lane", -1);
}

/* The task of the event, if the attempt of the event is running. */
static struct report_task *find_running(const struct report *r, const struct store_event *ev)
{
    struct report_task *t = map_get(&r->by_id, ev->task, strlen(ev->task));
    bool runs = t && ev->attempt == t->row.attempts && strcmp(t->row.state, "running") == 0;
    return runs ? t : NULL;
}

/* The task of the event, if it is not landed. */
static struct report_task *find_unlanded(const struct report *r, const struct store_event *ev)
{
    struct report_task *t = map_get(&r->by_id, ev->task, strlen(ev->task));
    return t && strcmp(t->row.state, "landed") != 0 ? t : NULL;
}

/* The last event counts. */
static void note_activity(struct report *r, const struct store_event *ev, const struct node *data)
{
    struct report_task *t = find_running(r, ev);
    if (strcmp(ev->name, "task.waiting") == 0)
        activity_take_question(&t->doing, data);
    else
        activity_take_action(&t->doing, data, ev->time);
}

/* Few readers need it, so we do not parse it here. */
static void keep_outcome(struct report *r, const struct store_event *ev)
{
    struct report_task *t = map_get(&r->by_id, ev->task, strlen(ev->task));
    if (!t)
        return;
    activity_done(&t->doing);
    t->outcome = keep_string(r, ev->data);
}

/* A landing stands while the agent works on because a person resumed it, but not if the task runs
 * again because its plan was edited. */
static void note_landing(struct report *r, const struct store_event *ev, const struct node *data)
{
    struct report_task *t = find_unlanded(r, ev);
    if (strcmp(ev->name, "task.landed") == 0) {
        t->stands = keep_string(r, node_get_string(data, "commit", NULL));
        t->follows_landing = false;
    } else if (strcmp(ev->name, "task.continued") == 0) {
        t->follows_landing = t->stands;
    } else if (!t->follows_landing) {
        t->stands = NULL;
    }
}

static void open_limit(struct report *r, const struct store_event *ev, const struct node *data)
{
    limits_opened(&r->limits, data, ev->time);
}

static void close_limit(struct report *r, const struct store_event *ev, const struct node *data)
{
    (void)ev;
    limits_closed(&r->limits, data);
}

static void note_resumed(struct report *r, const struct store_event *ev, const struct node *data)
{
    r->paused = false;
    idle_note(&r->idle, ev->time, data);
}

static void note_paused(struct report *r, const struct store_event *ev, const struct node *data)
{
    (void)ev;
    (void)data;
    r->paused = true;
}

/* The events that tell more than the rows: one function for each, of the kind that it needs. A
 * `keep` function may take ownership of the data; `take` gets it unparsed. */
static const struct {
    const char *name;
    bool of_task;
    void (*apply)(struct report *r, const struct store_event *ev, const struct node *data);
    void (*keep)(struct report *r, const struct store_event *ev, struct doc *doc);
    void (*take)(struct report *r, const struct store_event *ev);
} event_rules[] = {
    {"task.action", true, .apply = note_activity},
    {"task.waiting", true, .apply = note_activity},
    {"task.exited", true, .take = keep_outcome},
    {"task.failed", true, .apply = keep_output},
    {"task.salvaged", true, .apply = note_salvage},
    {"task.parked", true, .apply = note_parked},
    {"task.landed", true, .apply = note_landing},
    {"task.continued", true, .apply = note_landing},
    {"task.started", true, .apply = note_landing},
    {"git.state_changed", false, .keep = keep_change},
    {"limit.opened", false, .apply = open_limit},
    {"limit.closed", false, .apply = close_limit},
    {"run.resumed", false, .apply = note_resumed},
    {"run.paused", false, .apply = note_paused},
};

/* Events of the run that need no data. */
static void apply_bare_event(struct report *r, const struct store_event *ev, size_t i)
{
    if (event_rules[i].apply == note_resumed || event_rules[i].apply == note_paused)
        event_rules[i].apply(r, ev, NULL);
}

static bool apply_event(void *ctx, const struct store_event *ev)
{
    struct report *r = ctx;
    size_t i = 0, n = ARRAY_LEN(event_rules);
    while (i < n && strcmp(event_rules[i].name, ev->name) != 0)
        i++;
    if (i == n || (event_rules[i].of_task && !ev->task))
        return true;
    if (!ev->data) {
        apply_bare_event(r, ev, i);
        return true;
    }
    if (event_rules[i].take) {
        event_rules[i].take(r, ev);
        return true;
    }
    if ((event_rules[i].apply == note_activity && !find_running(r, ev)) ||
        (event_rules[i].apply == note_landing && !find_unlanded(r, ev)))
        return true; /* skip the many old ones without parsing them */
    autodoc struct doc doc;
    autoproblems struct problems ps;
    struct doc_options opts = {.syntax = DOC_JSON};
    problems_init(&ps, "event");
    if (doc_parse(&doc, NULL, ev->data, strlen(ev->data), &opts, &ps) == 0) {
        if (event_rules[i].apply)
            event_rules[i].apply(r, ev, doc.root);
        else
            event_rules[i].keep(r, ev, &doc);
    }
    return true;
}

const char *const report_end_names[REPORT_END_COUNT_] = {
    [REPORT_LANDED] = "landed",   [REPORT_DONE] = "done",
    [REPORT_FAILED] = "failed",   [REPORT_CONFLICTED] = "conflicted",
    [REPORT_SKIPPED] = "skipped", [REPORT_UNFINISHED] = "unfinished",
};

const char *const report_end_words[REPORT_END_COUNT_] = {
    [REPORT_LANDED] = "landed",   [REPORT_DONE] = "done",
    [REPORT_FAILED] = "failed",   [REPORT_CONFLICTED] = "in conflict",
    [REPORT_SKIPPED] = "skipped", [REPORT_UNFINISHED] = "unfinished",
};

static enum report_end parse_end(const char *state)
{
    enum report_end end = 0;
    while (end < REPORT_UNFINISHED && strcmp(state, report_end_names[end]) != 0)
        end++;
    return end;
}

static bool is_pending(const char *state)
{
    return strcmp(state, "waiting") == 0 || strcmp(state, "ready") == 0;
}

static int64_t work_time(const struct report *r, int64_t started, int64_t finished)
{
    return started ? idle_without(&r->idle, started, finished ? finished : r->end) : -1;
}

bool report_task_is_well(const struct report_task *t)
{
    return t->end == REPORT_LANDED || t->end == REPORT_DONE;
}

bool report_task_failed_after_landing(const struct report_task *t)
{
    return t->end == REPORT_LANDED && t->row.failure;
}

void report_task_add_further_work(const struct report_task *t, struct buf *out)
{
    bool stopped = strcmp(t->row.failure, failure_names[FAILURE_STOPPED]) == 0;
    buf_addf(out, "further work %s", stopped ? "stopped" : "failed: ");
    text_addf(out, "%s: %s", stopped ? "" : t->row.failure, t->row.reason ? t->row.reason : "");
}

bool report_task_is_saved(const struct report_task *t)
{
    return t->salvaged && (t->end == REPORT_FAILED ||
                           (report_task_failed_after_landing(t) && t->salvaged == t->row.attempts));
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

static void complete_task(struct report *r, struct report_task *t)
{
    t->end = parse_end(t->row.state);
    bool works_on = t->end == REPORT_UNFINISHED || t->end == REPORT_CONFLICTED;
    if (t->end != REPORT_LANDED) /* the row has only the commit that would land */
        t->row.landed = works_on ? t->stands : NULL;
    if (t->end == REPORT_UNFINISHED && !report_is_running(r) && !is_pending(t->row.state))
        t->row.state = "interrupted";
    if (strcmp(t->row.state, "running") != 0)
        activity_done(&t->doing);
    t->duration = work_time(r, t->row.started, t->row.finished);
    if (t->row.workspace && !file_exists(t->row.workspace))
        t->row.workspace = NULL;
    if (report_task_ran(t) && r->logs)
        t->logs = arena_printf(&r->arena, "%s/%s", r->logs, t->row.id);
    r->ends[t->end]++;
    r->tokens_in += t->row.tokens_in;
    r->tokens_out += t->row.tokens_out;
    if (t->row.usd >= 0)
        r->usd = (r->usd < 0 ? 0 : r->usd) + t->row.usd;
    else if (report_task_ran(t))
        r->unpriced++;
}

/* The end of a run that was killed: the last time in its rows. */
static int64_t get_last_seen(const struct report *r)
{
    int64_t last = r->row.started;
    for (size_t i = 0; i < r->n; i++) {
        const struct store_task *t = &r->tasks[i].row;
        last = t->started > last ? t->started : last;
        last = t->finished > last ? t->finished : last;
    }
    return last;
}

static void complete_report(struct report *r, const char *state_dir)
{
    struct store_run *row = &r->row;
    r->merge_place.base = row->base;
    autofree char *logs = run_path(state_dir, row->id);
    bool alive = proc_table_start((pid_t)row->pid) == row->pid_start && row->pid_start;
    if (report_is_running(r) && !alive)
        row->state = "interrupted";
    r->end = row->finished ? row->finished : alive ? clock_wall() : get_last_seen(r);
    r->logs = file_exists(logs) ? keep_string(r, logs) : NULL;
    r->duration = work_time(r, row->started, r->end);
    for (size_t i = 0; i < r->n; i++)
        complete_task(r, &r->tasks[i]);
}

static bool is_newer(const char *date, const char *than)
{
    return !than || strcmp(date, than) > 0;
}

static bool note_prices(void *ctx, const struct store_spending *s)
{
    struct report *r = ctx;
    struct report_task *t = map_get(&r->by_id, s->task, strlen(s->task));
    if (!t || !s->prices)
        return true;
    if (is_newer(s->prices, t->prices))
        t->prices = keep_string(r, s->prices);
    if (is_newer(s->prices, r->prices))
        r->prices = t->prices;
    return true;
}

static int load_rows(struct loader *l, struct store *store, struct err *err)
{
    struct report *r = l->r;
    if (store_find_run(store, l->wanted, &r->arena, &r->row, err))
        return -1;
    if (!r->row.id)
        return err_set(err, ERR_INPUT, "there is no run '%s'", l->wanted);
    if (store_each_task(store, r->row.id, append_task, l, err))
        return -1;
    r->n = l->tasks.n;
    r->tasks = steal_ptr(l->tasks.v);
    for (size_t i = 0; i < r->n; i++)
        (void)map_put(&r->by_id, r->tasks[i].row.id, strlen(r->tasks[i].row.id), &r->tasks[i]);
    if (store_each_spending(store, r->row.id, 0, note_prices, r, err))
        return -1;
    return store_each_event(store, r->row.id, 0, apply_event, r, err);
}

int report_load(struct report *r, struct store *store, const char *state_dir, const char *run,
                struct err *err)
{
    *r = (struct report){.usd = -1};
    struct loader l = {.r = r, .wanted = run};
    int rc = load_rows(&l, store, err);
    vec_done(&l.tasks);
    if (rc == 0)
        complete_report(r, state_dir);
    return rc;
}

void report_done(struct report *r)
{
    merge_place_done(&r->merge_place);
    idle_done(&r->idle);
    map_done(&r->by_id);
    for (size_t i = 0; i < r->n; i++)
        activity_done(&r->tasks[i].doing);
    free(r->tasks);
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

static char *get_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? mem_dup(path, slash == path ? 1 : (size_t)(slash - path)) : mem_str(".");
}

int report_check(const char *path, struct err *err)
{
    autofree char *dir = get_folder(path);
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
        bool rows; /* needs only the rows */
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
    autofree char *dir = get_folder(path);
    autobuf struct buf out = BUF_INIT;
    if (report_add(r, from, format, &out, err) || dirs_make(dir, err))
        return -1;
    return file_replace(path, out.s, out.len, err);
}
