#include "dropin/orchestra_view.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/hash.h"
#include "base/text/str.h"
#include "base/text/timestamp.h"
#include "doc/doc.h"
#include "run/resume/decide.h"
#include "run/state/run_folder.h"
#include "sys/clock.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    MANIFEST_MAX = 256 << 20,
    STATE_MAX = 1 << 20,
    SPARE = 4, /* writing takes at most a fifth of the time */
};

/* .po-run-state-STEM.json, next to the manifest. */
static char *state_file_path(const char *manifest)
{
    const char *slash = strrchr(manifest, '/'), *name = slash ? slash + 1 : manifest;
    const char *dot = strrchr(name, '.');
    size_t stem = dot && dot > name ? (size_t)(dot - name) : strlen(name);
    return mem_printf("%.*s.po-run-state-%.*s.json", (int)(name - manifest), manifest, (int)stem,
                      name);
}

/* Ignores prose, comments, and how the tasks run. */
static void hash_tasks(const struct orchestra *o, char ret_hash[HASH_SHA256_DIGITS + 1])
{
    autobuf struct buf text = BUF_INIT;
    buf_addf(&text, "%s\n", o->pf->plan.cwd ? o->pf->plan.cwd : ".");
    for (uint32_t t = 0; t < o->pf->plan.task_count; t++) {
        run_folder_task_text(o->pf, t, &text);
        buf_addch(&text, '\n');
    }
    sha256_hex(text.s, text.len, ret_hash);
}

int orchestra_state_init(struct orchestra_state *s, const struct orchestra *o, struct err *err)
{
    autobuf struct buf manifest = BUF_INIT;
    *s = (struct orchestra_state){.o = o, .created = o->started};
    s->path = state_file_path(o->path);
    s->done = mem_array(o->pf->plan.task_count, sizeof(*s->done));
    if (file_read_input(o->path, MANIFEST_MAX, &manifest, err))
        return -1;
    sha256_hex(manifest.s, manifest.len, s->hash);
    hash_tasks(o, s->tasks_hash);
    return 0;
}

void orchestra_state_done(struct orchestra_state *s)
{
    free(s->path);
    free(s->done);
}

/* If a listed task depends on one that is not listed, it runs again: its dependents need both. */
static void drop_incomplete(struct orchestra_state *s)
{
    const struct plan *plan = &s->o->pf->plan;
    for (size_t i = 0; i < plan->task_count; i++) {
        const struct task *t = &plan->tasks[s->o->pf->graph.order[i]];
        for (size_t k = 0; k < t->dep_count; k++)
            s->done[t->index] = s->done[t->index] && s->done[t->deps[k]];
    }
}

static bool matches_manifest(const struct orchestra_state *s, const struct node *root)
{
    return strcmp(node_get_string(root, "manifest_hash", ""), s->hash) == 0 ||
           strcmp(node_get_string(root, "tasks_hash", ""), s->tasks_hash) == 0;
}

static int load_done_tasks(struct orchestra_state *s, const struct node *root, struct err *err)
{
    const struct node *list = root->kind == NODE_MAP ? node_get(root, "completed_tasks") : NULL;
    if (root->kind != NODE_MAP || !matches_manifest(s, root))
        return err_set(err, ERR_INPUT, "'%s' belongs to another manifest: starting from scratch",
                       s->path);
    if (!list || list->kind != NODE_LIST)
        return err_set(err, ERR_INPUT, "'%s' is malformed: starting from scratch", s->path);
    node_each (id, list) {
        const struct task *t =
            id->kind == NODE_STRING ? plan_find(&s->o->pf->plan, id->text) : NULL;
        if (t)
            s->done[t->index] = true;
    }
    drop_incomplete(s);
    (void)timestamp_parse(node_get_string(root, "created_at", ""), &s->created);
    return 0;
}

int orchestra_state_load(struct orchestra_state *s, struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    autoproblems struct problems ps;
    struct doc_options json = {.syntax = DOC_JSON};
    autodoc struct doc doc = {0};
    problems_init(&ps, s->path);
    if (access(s->path, F_OK) < 0)
        return err_set(err, ERR_INPUT, "cannot resume: there is no '%s'", s->path);
    if (file_read(s->path, STATE_MAX, &text, err))
        return -1;
    if (doc_parse(&doc, NULL, text.s, text.len, &json, &ps))
        return err_set(err, ERR_INPUT, "'%s' is malformed: starting from scratch", s->path);
    return load_done_tasks(s, doc.root, err);
}

void orchestra_recall(struct orchestra_state *s, struct orchestra *o)
{
    const struct resume *r = run_resumed(o->run);
    for (size_t t = 0; t < o->pf->plan.task_count; t++) {
        enum resume_step step = r->tasks[t].step;
        s->done[t] = step == RESUME_KEEP || step == RESUME_FOUND || step == RESUME_NOT_WANTED;
        o->tasks[t].resumed = s->done[t];
        o->tasks[t].before = r->tasks[t].past ? r->tasks[t].past->row.attempts : 0;
    }
}

static void put_done(const struct orchestra_state *s, struct arena *a, struct node *root)
{
    const struct plan *plan = &s->o->pf->plan;
    struct node *list = node_put_list(a, root, "completed_tasks");
    VEC(const char *) ids = {0};
    for (size_t i = 0; i < plan->task_count; i++) {
        if (s->done[i])
            vec_push(&ids, plan->tasks[i].id);
    }
    if (ids.n)
        qsort(ids.v, ids.n, sizeof(*ids.v), str_compare);
    for (size_t i = 0; i < ids.n; i++)
        node_add_string(a, list, ids.v[i]);
    vec_done(&ids);
}

static int write_state(struct orchestra_state *s, struct err *err)
{
    autoarena struct arena a = {0};
    struct node *root = node_new_map(&a);
    autobuf struct buf created = BUF_INIT, now = BUF_INIT, out = BUF_INIT;
    int64_t start = clock_mono();
    timestamp_format(&created, s->created);
    timestamp_format(&now, clock_wall());
    node_put_string(&a, root, "manifest_path", s->o->path);
    node_put_string(&a, root, "manifest_hash", s->hash);
    node_put_string(&a, root, "tasks_hash", s->tasks_hash);
    put_done(s, &a, root);
    node_put_string(&a, root, "created_at", created.s);
    node_put_string(&a, root, "updated_at", now.s);
    doc_write_lines(&out, root);
    int rc = file_replace(s->path, out.s, out.len, err);
    s->dirty = false;
    s->written = clock_mono();
    s->cost = s->written - start;
    return rc;
}

/* A landed task counts only when the base branch has it. Before that it is on a branch that a
 * later run does not know. */
static void note_finished_tasks(struct orchestra_state *s)
{
    bool published = run_result(s->o->run).published;
    for (uint32_t t = 0; t < s->o->pf->plan.task_count; t++) {
        enum task_state state = run_task(s->o->run, t).state;
        if (s->done[t] || !(state == TASK_DONE || (state == TASK_LANDED && published)))
            continue;
        s->done[t] = true;
        s->dirty = true;
    }
}

int orchestra_state_update(struct orchestra_state *s, bool now, struct err *err)
{
    note_finished_tasks(s);
    if (!now && (!s->dirty || clock_mono() - s->written < SPARE * s->cost))
        return 0;
    return write_state(s, err);
}

int orchestra_state_remove(struct orchestra_state *s, struct err *err)
{
    if (unlink(s->path) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", s->path);
    return 0;
}
