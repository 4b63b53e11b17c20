#include "view/report/details.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/str.h"
#include "git/git.h"
#include "git/state_paths.h"
#include "plan/words.h"
#include "run/state/run_folder.h"
#include "sys/fs/file.h"
#include "view/transcript.h"

#include <stdlib.h>
#include <string.h>

enum { PLAN_MAX = 1 << 30, LINE_MAX_ = 64 << 10 };

static void add_dependencies(struct report_details *m, uint32_t place)
{
    struct report_life *l = &m->task_details[place];
    for (size_t i = 0; i < l->task->dep_count; i++) {
        const char *id = m->plan.tasks[l->task->deps[i]].id;
        const struct report_task *need = map_get(&m->r->by_id, id, strlen(id));
        if (!need)
            continue;
        uint32_t at = (uint32_t)(need - m->r->tasks);
        vec_push(&l->dependencies, at);
        m->dependencies++;
        l->stage = m->task_details[at].stage >= l->stage ? m->task_details[at].stage + 1 : l->stage;
    }
    m->stages = l->stage >= m->stages ? l->stage + 1 : m->stages;
}

/* Only for tasks in the report: the run may have included only a part of the plan. */
static void add_graph_tasks(struct report_details *m)
{
    for (size_t i = 0; i < m->graph.n; i++) {
        const struct task *task = &m->plan.tasks[m->graph.order[i]];
        const struct report_task *t = map_get(&m->r->by_id, task->id, strlen(task->id));
        if (!t)
            continue;
        report_life(m, t)->task = task;
        add_dependencies(m, (uint32_t)(t - m->r->tasks));
    }
}

/* Loads the plan from the run's folder. If it is missing or damaged, the report only lacks its
 * data. */
static void load_plan(struct report_details *m)
{
    if (!m->r->logs)
        return;
    autofree char *path = mem_printf("%s/plan.json", m->r->logs);
    autosaved struct run_folder saved;
    autoproblems struct problems ps;
    struct doc_options opts = {.syntax = DOC_JSON, .max_bytes = PLAN_MAX}, any = {0};
    problems_init(&ps, path);
    if (run_folder_load(&saved, m->r->logs, NULL))
        return;
    m->plan_file = saved.plan_file ? arena_str(&m->arena, saved.plan_file) : NULL;
    if (doc_load(&m->doc, path, &opts, &ps) == 0 &&
        plan_decode_encoded(&m->plan, m->doc.root, saved.kind, &ps) == 0 &&
        graph_init(&m->graph, &m->plan, &ps) == 0)
        add_graph_tasks(m);
    (void)run_folder_recall(&saved, &any, &m->plan,
                            NULL); /* masks the secrets that are known here */
}

struct event_reader {
    struct report_details *m;
    int64_t last; /* time of the previous event */
};

static void end_span(struct report_life *l, int64_t time)
{
    if (!l->span_open)
        return;
    struct report_span *span = &l->spans.v[l->spans.n - 1];
    span->to = time > span->from ? time : span->from;
    l->span_open = false;
}

/* The activity that the event starts; -1: none; -2: the activity does not change. */
static int parse_activity(const char *event)
{
    static const struct {
        const char *event;
        int activity;
    } table[] = {
        {"task.preparing", REPORT_PREPARING},
        {"task.started", REPORT_RUNNING},
        {"task.exited", REPORT_LANDING},
        {"task.parked", REPORT_PARKED},
        {"task.ready", -1},
        {"task.retried", -1},
        {"task.landed", -1},
        {"task.done", -1},
        {"task.conflicted", -1},
        {"task.failed", -1},
        {"task.skipped", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (strcmp(table[i].event, event) == 0)
            return table[i].activity;
    }
    return -2;
}

static void add_span(struct report_life *l, const struct store_event *ev)
{
    int activity = parse_activity(ev->name);
    if (activity == -2)
        return;
    end_span(l, ev->time);
    if (activity < 0)
        return;
    vec_push(&l->spans, (struct report_span){ev->time, ev->time, (enum report_doing)activity});
    l->span_open = true;
}

/* Keeps the paths of the last violation. */
static void keep_outside_paths(struct report_details *m, struct report_life *l,
                               const struct node *data)
{
    const struct node *paths = node_get(data, "paths");
    if (!paths || paths->kind != NODE_LIST)
        return;
    l->outside_paths.n = 0;
    node_each (path, paths)
        vec_push(&l->outside_paths, arena_str(&m->arena, path->text));
}

/* Parses "path (lines 3-5, 9), path" and keeps the paths. The lines of the conflict markers are
 * useless afterwards. */
static void keep_conflicts(struct report_details *m, struct report_life *l, const struct node *data)
{
    l->conflicts.n = 0;
    for (const char *s = node_get_string(data, "files", ""); *s;) {
        const char *lines = strstr(s, " (line"), *comma = strstr(s, ", ");
        const char *end = comma ? comma : s + strlen(s);
        if (lines && lines < end) {
            const char *close = strchr(lines, ')');
            vec_push(&l->conflicts, arena_dup(&m->arena, s, (size_t)(lines - s)));
            end = close ? close + 1 : s + strlen(s);
        } else {
            vec_push(&l->conflicts, arena_dup(&m->arena, s, (size_t)(end - s)));
        }
        s = end + (strncmp(end, ", ", 2) == 0 ? 2 : strlen(end));
    }
}

static void keep_event_data(struct report_details *m, struct report_life *l,
                            const struct store_event *ev)
{
    bool outside_paths = strcmp(ev->name, "scope.violated") == 0;
    bool conflicts = strcmp(ev->name, "task.conflicted") == 0;
    autoarena struct arena a = {0};
    const struct node *data = ev->data && (outside_paths || conflicts)
                                  ? doc_read_line(&a, ev->data, strlen(ev->data))
                                  : NULL;
    if (data && outside_paths)
        keep_outside_paths(m, l, data);
    else if (data)
        keep_conflicts(m, l, data);
}

static bool apply_event(void *ctx, const struct store_event *ev)
{
    struct event_reader *event_reader = ctx;
    struct report_details *m = event_reader->m;
    const struct report_task *t =
        ev->task ? map_get(&m->r->by_id, ev->task, strlen(ev->task)) : NULL;
    if (t) {
        add_span(report_life(m, t), ev);
        keep_event_data(m, report_life(m, t), ev);
    }
    /* The process died without an event: end the spans at the last event before the resume. */
    for (size_t i = 0; strcmp(ev->name, "run.resumed") == 0 && i < m->r->n; i++)
        end_span(&m->task_details[i], event_reader->last);
    event_reader->last = ev->time;
    return true;
}

static int load_events(struct report_details *m, struct store *store, struct err *err)
{
    struct event_reader event_reader = {.m = m};
    if (store_each_event(store, m->r->row.id, 0, apply_event, &event_reader, err))
        return -1;
    for (size_t i = 0; i < m->r->n; i++)
        end_span(&m->task_details[i], m->r->end);
    return 0;
}

static struct report_spending *find_spending(struct report_details *m,
                                             const struct store_spending *s)
{
    for (size_t i = 0; i < m->spending.n; i++) {
        struct report_spending *sum = &m->spending.v[i];
        if (str_same(sum->engine, s->engine) && str_same(sum->model, s->model))
            return sum;
    }
    struct report_spending sum = {
        .engine = arena_str(&m->arena, s->engine ? s->engine : "unknown"),
        .model = s->model ? arena_str(&m->arena, s->model) : NULL,
    };
    vec_push(&m->spending, sum);
    return &m->spending.v[m->spending.n - 1];
}

static bool add_spending(void *ctx, const struct store_spending *s)
{
    struct report_spending *sum = find_spending(ctx, s);
    sum->attempts++;
    sum->tokens_in += s->tokens_in;
    sum->tokens_out += s->tokens_out;
    sum->cache_read += s->cache_read;
    sum->cache_made += s->cache_made;
    sum->usd += s->usd > 0 ? s->usd : 0;
    sum->unpriced += s->usd < 0;
    return true;
}

void report_details_init(struct report_details *m, const struct report *r,
                         const struct report_source *from)
{
    *m = (struct report_details){.r = r, .git_dir = from->git_dir};
    diffs_init(&m->diffs, from->git_dir);
    m->task_details = arena_array(&m->arena, r->n + 1, sizeof(*m->task_details));
}

int report_details_load(struct report_details *m, struct store *store, struct err *err)
{
    load_plan(m);
    secrets_collect(&m->secrets, &m->plan);
    if (load_events(m, store, err))
        return -1;
    return store_each_spending(store, m->r->row.id, 0, add_spending, m, err);
}

void report_details_done(struct report_details *m)
{
    for (size_t i = 0; i < m->r->n; i++) {
        vec_done(&m->task_details[i].spans);
        vec_done(&m->task_details[i].outside_paths);
        vec_done(&m->task_details[i].conflicts);
        vec_done(&m->task_details[i].dependencies);
    }
    vec_done(&m->spending);
    secrets_done(&m->secrets);
    diffs_done(&m->diffs);
    map_done(&m->salvaged);
    graph_done(&m->graph);
    plan_done(&m->plan);
    doc_done(&m->doc);
    arena_done(&m->arena);
}

void report_part_done(struct report_part *part)
{
    buf_done(&part->text);
}

static bool has_lost_secret(const struct report_details *m, const struct report_task *t)
{
    const struct task *task = report_life(m, t)->task;
    for (size_t i = 0; task && i < task->env.n; i++) {
        const struct env_var *v = &task->env.v[i];
        bool lost = v->from ? !getenv(v->from) : v->value && strcmp(v->value, "(secret)") == 0;
        if (v->secret && lost) /* plan_encode() writes "(secret)" */
            return true;
    }
    return false;
}

static const char lost_secret[] =
    "Left out: this report cannot mask a secret of this task, because it is not in the environment "
    "of the process that made the report.";

static void mask_secrets(const struct report_details *m, struct buf *text)
{
    struct buf masked = BUF_INIT;
    secrets_mask(&m->secrets, text->s, text->len, &masked);
    buf_done(text);
    *text = masked;
}

/* Asks git once per run. If git fails, we assume that nothing was saved. */
static void list_salvage_refs(struct report_details *m)
{
    struct git_place at = {.git_dir = m->git_dir};
    autobuf struct buf out = BUF_INIT;
    autofree char *below = mem_printf(SALVAGE_REFS "%s/", m->r->row.id);
    m->salvage_listed = true;
    if (git_call(&at, &out, NULL, "for-each-ref", "--format=%(objectname) %(refname)", below, NULL))
        return;
    for (char *s = out.s; *s;) {
        size_t len = strcspn(s, "\n");
        char *name = memchr(s, ' ', len);
        char *end = s + len + (s[len] == '\n');
        s[len] = '\0';
        if (name && strlen(name + 1) > strlen(below)) {
            char *commit = arena_dup(&m->arena, s, (size_t)(name - s));
            char *key = arena_str(&m->arena, name + 1 + strlen(below));
            (void)map_put(&m->salvaged, key, strlen(key), commit);
        }
        s = end;
    }
}

/* The task's commit, else the saved work of its last attempt, else NULL. */
static const char *find_end_commit(struct report_details *m, const struct report_task *t)
{
    if (t->row.commit || !t->salvaged)
        return t->row.commit;
    if (!m->salvage_listed)
        list_salvage_refs(m);
    autofree char *key = mem_printf("%s/%d", t->row.id, t->salvaged);
    return map_get(&m->salvaged, key, strlen(key));
}

void report_details_diff(struct report_details *m, const struct report_task *t, size_t max,
                         struct report_part *ret)
{
    *ret = (struct report_part){.text = BUF_INIT};
    const char *end = m->git_dir && t->row.start_commit ? find_end_commit(m, t) : NULL;
    if (!end)
        return;
    if (diffs_get(&m->diffs, t->row.start_commit, end, max, &ret->diff, &ret->text, NULL))
        ret->wrong = "Its commits are no longer in the repository, or git could not show them.";
    else if (has_lost_secret(m, t))
        ret->wrong = lost_secret;
    ret->cut = ret->diff.cut;
    if (ret->wrong)
        buf_cut(&ret->text, 0);
    else
        mask_secrets(m, &ret->text);
}

static void add_transcript(const char *engine, const char *s, size_t len, struct buf *out)
{
    struct transcript text;
    transcript_init(&text, transcript_dialect(engine));
    transcript_feed(&text, s, len, out);
    transcript_end(&text, out);
    transcript_done(&text);
}

/* The start of the first whole line in a text that was cut and masked. Skips the part in which a
 * cut secret could have escaped the mask. */
static size_t find_safe_line(const struct report_details *m, const struct buf *text)
{
    size_t unsure = 2 * m->secrets.longest;
    const char *lf = unsure < text->len ? memchr(text->s + unsure, '\n', text->len - unsure) : NULL;
    return lf ? (size_t)(lf + 1 - text->s) : text->len;
}

/* Keeps at most the last `max` bytes, from the start of a line. */
static bool keep_end(struct buf *text, size_t max)
{
    if (text->len <= max)
        return false;
    const char *at = memchr(text->s + text->len - max, '\n', max);
    struct buf kept = BUF_INIT;
    if (at)
        buf_add(&kept, at + 1, (size_t)(text->s + text->len - at - 1));
    buf_done(text);
    *text = kept;
    return true;
}

/* Reads more than `max` bytes, because the events of an engine are longer than their readable
 * form. */
void report_details_log(struct report_details *m, const struct report_task *t, size_t max,
                        struct report_part *ret)
{
    *ret = (struct report_part){.text = BUF_INIT};
    autobuf struct buf raw = BUF_INIT;
    if (!t->logs) {
        ret->wrong = report_task_ran(t) ? "The log is gone." : NULL;
        return;
    }
    autofree char *path = mem_printf("%s/%d/out", t->logs, t->row.attempts);
    if (file_read_end(path, max * 4 + LINE_MAX_, &raw, &ret->cut, NULL))
        ret->wrong = "The log is gone.";
    else if (has_lost_secret(m, t))
        ret->wrong = lost_secret;
    if (ret->wrong)
        return;
    mask_secrets(m, &raw);
    size_t whole = ret->cut ? find_safe_line(m, &raw) : 0;
    add_transcript(t->row.engine, raw.s + whole, raw.len - whole, &ret->text);
    mask_secrets(m, &ret->text);
    ret->cut = keep_end(&ret->text, max) || ret->cut;
}
