#include "run/state/run_folder.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/hash.h"
#include "base/text/text.h"
#include "doc/doc.h"
#include "git/state_paths.h"
#include "plan/words.h"
#include "run/state/run_state.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"

#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { VERSION = 1, RUN_MAX = 16 << 20, PLAN_MAX = 1 << 30 };

/* True if a plan can contain the text: valid and not blank. */
static bool is_valid_prompt(const struct buf *text)
{
    return text_valid(text->s, text->len) == text->len && strlen(text->s) == text->len &&
           text->s[strspn(text->s, " \t\r\n")];
}

/* Replaces the name of a prompt file by its text. */
static void inline_prompt(const struct plan_file *pf, const struct task *t, struct node *node,
                          struct arena *a)
{
    autobuf struct buf text = BUF_INIT;
    struct node *file = node_get(node, "prompt_file");
    if (!file || plan_file_prompt(pf, t, &text, NULL) || !is_valid_prompt(&text))
        return;
    node_unlink(node, file);
    node_put_string(a, node, "prompt", text.s);
}

/* True if we can read the values of secrets again from the plan's file. */
static bool can_hide_secrets(const struct run *run)
{
    return !run->opts.derived && strcmp(run->files.plan, "-") != 0;
}

static void put_task(const struct plan_file *pf, const struct task *t, bool hide, struct buf *out)
{
    struct arena a = {0};
    struct node *node = plan_encode_task(&pf->plan, t, &a);
    inline_prompt(pf, t, node, &a);
    if (!hide)
        plan_reveal(t, node);
    doc_write_line(out, node);
    arena_done(&a);
}

/* Encodes one task at a time: the tree of a long plan needs much memory. */
static void put_plan(const struct plan_file *pf, bool hide, struct buf *out)
{
    struct arena a = {0};
    struct node *map = plan_encode_frame(&pf->plan, &a), *cwd = node_get(map, "cwd");
    if (cwd) /* it was relative to the plan's folder */
        node_unlink(map, cwd);
    node_put_string(&a, map, "cwd", pf->project);
    doc_write_line(out, map);
    arena_done(&a);
    buf_cut(out, out->len - 1); /* the brace at the end */
    buf_addstr(out, ",\"tasks\":[");
    for (size_t i = 0; i < pf->plan.task_count; i++) {
        buf_addstr(out, i ? "," : "");
        put_task(pf, &pf->plan.tasks[i], hide, out);
    }
    buf_addstr(out, "]}\n");
}

static void drop_member(struct node *node, const char *key)
{
    struct node *member = node_get(node, key);
    if (member)
        node_unlink(node, member);
}

static void write_task(const struct plan_file *pf, uint32_t task, const char *without,
                       struct buf *out)
{
    static const char *const how[] = {
        "engine", "model", "permissions", "estimate", "timeout", "idle_timeout", "retry",
        "group",  "order", "budget",      "limits",   "effort",  "max_turns",    "engine_args"};
    struct arena a = {0};
    const struct task *t = &pf->plan.tasks[task];
    struct node *node = plan_encode_task(&pf->plan, t, &a);
    inline_prompt(pf, t, node, &a);
    for (size_t i = 0; i < ARRAY_LEN(how); i++)
        drop_member(node, how[i]);
    if (without)
        drop_member(node, without);
    doc_write_line(out, node);
    arena_done(&a);
}

void run_folder_task_text(const struct plan_file *pf, uint32_t task, struct buf *out)
{
    write_task(pf, task, NULL, out);
}

void run_folder_task_request(const struct plan_file *pf, uint32_t task, struct buf *out)
{
    write_task(pf, task, "verify", out);
}

/* Makes a path absolute; NULL for no path or "-". */
static const char *make_absolute(const char *path, struct arena *a)
{
    char cwd[PATH_MAX];
    if (!path || strcmp(path, "-") == 0)
        return NULL;
    path += strncmp(path, "./", 2) == 0 ? 2 : 0;
    return *path == '/' || !getcwd(cwd, sizeof(cwd)) ? path : arena_printf(a, "%s/%s", cwd, path);
}

/* A name without a slash stays as it is: the shell looks it up on PATH. */
static const char *make_program_absolute(const char *name, struct arena *a)
{
    return name && strchr(name, '/') ? make_absolute(name, a) : name;
}

/* Saves a digest of the plan's file, to detect later changes. */
static void put_digest(const struct run *run, struct node *map, struct arena *a)
{
    autobuf struct buf text = BUF_INIT;
    char digest[HASH_SHA256_DIGITS + 1];
    if (strcmp(run->files.plan, "-") == 0 ||
        file_read_input(run->files.plan, PLAN_MAX, &text, NULL))
        return;
    sha256_hex(text.s, text.len, digest);
    node_put_string(a, map, "plan_digest", digest);
}

static void put_streams(const struct run *run, struct node *map, struct arena *a)
{
    const struct run_options *o = &run->opts;
    node_put_bool(a, map, "streams", true);
    node_put_bool(a, map, "derived", o->derived);
    node_put_bool(a, map, "unchanged_ok", o->unchanged_ok);
    node_put_bool(a, map, "silent_ok", o->silent_ok);
    node_put_bool(a, map, "write_at_root", o->write_at_root);
    node_put_string(a, map, "merge_subject", o->merge_subject);
    if (o->derived)
        put_digest(run, map, a);
    struct node *logger = o->logger ? node_put_list(a, map, "logger") : NULL;
    for (size_t i = 0; logger && o->logger[i]; i++)
        node_add_string(a, logger, o->logger[i]);
}

static void put_options(const struct run *run, struct node *map, struct arena *a)
{
    const struct run_options *o = &run->opts;
    node_put_int(a, map, "workers", (int64_t)o->workers);
    node_put_string(a, map, "engine", o->engine ? engine_words[o->engine] : NULL);
    node_put_string(a, map, "engine_exe", make_program_absolute(o->engine_exe, a));
    node_put_int(a, map, "timeout_ms", o->timeout);
    node_put_bool(a, map, "no_wait", o->no_wait);
    node_put_bool(a, map, "keep", o->keep);
    node_put_string(a, map, "log_dir", make_absolute(o->log_dir, a));
    node_put_bool(a, map, "no_log", o->no_log);
    node_put_string(a, map, "own_file", make_absolute(o->own_file, a));
    node_put_string(a, map, "branch", o->branch);
    if (o->streams)
        put_streams(run, map, a);
    struct node *only = o->wanted ? node_put_list(a, map, "only") : NULL;
    for (size_t i = 0; only && i < run->pf->plan.task_count; i++) {
        if (o->wanted[i])
            node_add_string(a, only, run->pf->plan.tasks[i].id);
    }
}

static void put_run(const struct run *run, bool hide, struct buf *out)
{
    struct arena a = {0};
    struct node *map = node_new_map(&a);
    node_put_int(&a, map, "version", VERSION);
    node_put_string(&a, map, "run", run->id);
    node_put_string(&a, map, "plan", run->files.plan);
    node_put_string(&a, map, "plan_file",
                    run->files.plan_copy ? run->files.plan_copy
                                         : make_absolute(run->files.plan, &a));
    node_put_string(&a, map, "plan_dir", run->pf->dir);
    node_put_int(&a, map, "vocabulary", run->pf->plan.kind);
    node_put_string(&a, map, "base", run->base.name);
    node_put_string(&a, map, "base_commit", run->base.start);
    node_put_int(&a, map, "started", run->started);
    node_put_string(&a, map, "dropin", run->opts.judge ? "parallel-orchestra" : NULL);
    node_put_bool(&a, map, "hides_secrets", hide);
    put_options(run, map, &a);
    doc_write_line(out, map);
    buf_addch(out, '\n');
    arena_done(&a);
}

/* Adds " plan:DIGEST". Each file has its own digest, as they may be written at different times. */
static void add_digest(const char *file, const struct buf *content, struct buf *out)
{
    char digest[HASH_SHA256_DIGITS + 1];
    sha256_hex(content->s, content->len, digest);
    buf_addf(out, " %s:%s", file, digest);
}

/* Adds the new digests to the old ones: if we die before both files are written, the old ones must
 * still be valid. */
static int add_digests(struct store *store, const char *run, const struct buf *digests,
                       struct err *err)
{
    autobuf struct buf all = BUF_INIT;
    if (store_get_seal(store, run, &all, err))
        return -1;
    buf_add(&all, digests->s, digests->len);
    return store_put_seal(store, run, all.s, err);
}

static int write_both(const struct run *run, bool hide, struct err *err)
{
    autofree char *plan_path = mem_printf("%s/plan.json", run->files.dir);
    autofree char *run_path = mem_printf("%s/run.json", run->files.dir);
    autobuf struct buf plan = BUF_INIT, text = BUF_INIT, digests = BUF_INIT;
    put_plan(run->pf, hide, &plan);
    put_run(run, hide, &text);
    add_digest("plan", &plan, &digests);
    add_digest("run", &text, &digests);
    return add_digests(run->journal.store, run->id, &digests, err) ||
                   file_replace_private(plan_path, plan.s, plan.len, err) ||
                   file_replace_private(run_path, text.s, text.len, err) ||
                   store_put_seal(run->journal.store, run->id, digests.s, err)
               ? -1
               : 0;
}

static int check_file(const char *dir, const char *file, size_t max, const char *known,
                      struct err *err)
{
    autofree char *path = mem_printf("%s/%s.json", dir, file);
    autobuf struct buf content = BUF_INIT, digest = BUF_INIT;
    if (file_read(path, max, &content, err))
        return -1;
    add_digest(file, &content, &digest);
    if (strstr(known, digest.s))
        return 0;
    return err_set(
        err, ERR_INPUT,
        "'%s' is not as the run wrote it: another program, such as an agent, has changed "
        "it; run the plan's file again",
        path);
}

int run_folder_check(struct store *store, const char *run, const char *dir, struct err *err)
{
    autobuf struct buf digests = BUF_INIT;
    if (store_get_seal(store, run, &digests, err))
        return -1;
    if (!digests.len) /* an older version started the run */
        return 0;
    return check_file(dir, "run", RUN_MAX, digests.s, err) ||
                   check_file(dir, "plan", PLAN_MAX, digests.s, err)
               ? -1
               : 0;
}

int run_folder_write(const struct run *run, struct err *err)
{
    return write_both(run, can_hide_secrets(run), err);
}

int run_folder_forget(const struct run *run, struct err *err)
{
    return can_hide_secrets(run) ? 0 : write_both(run, true, err);
}

void run_folder_remove(const char *dir)
{
    autofree char *plan_path = mem_printf("%s/plan.json", dir);
    autofree char *run_path = mem_printf("%s/run.json", dir);
    (void)unlink(plan_path); /* fails if it does not exist */
    (void)unlink(run_path);
}

static enum agent_engine parse_engine(const char *name)
{
    for (int i = 1; name && engine_words[i]; i++) {
        if (strcmp(name, engine_words[i]) == 0)
            return (enum agent_engine)i;
    }
    return ENGINE_UNSET;
}

static void load_logger(struct run_folder *saved, const struct node *list)
{
    if (!list || list->kind != NODE_LIST || !list->n)
        return;
    node_each (word, list)
        strv_push(&saved->logger, word->kind == NODE_STRING ? word->text : "");
    saved->options.logger = (const char *const *)saved->logger.v;
}

static void load_options(struct run_folder *saved, const struct node *map)
{
    const struct node *only = node_get(map, "only");
    saved->options = (struct run_options){
        .workers = (size_t)node_get_int(map, "workers", 0),
        .base = saved->base,
        .engine = parse_engine(node_get_string(map, "engine", NULL)),
        .engine_exe = node_get_string(map, "engine_exe", NULL),
        .timeout = node_get_int(map, "timeout_ms", 0),
        .no_wait = node_get_bool(map, "no_wait"),
        .keep = node_get_bool(map, "keep"),
        .log_dir = node_get_string(map, "log_dir", NULL),
        .no_log = node_get_bool(map, "no_log"),
        .own_file = node_get_string(map, "own_file", NULL),
        .streams = node_get_bool(map, "streams"),
        .derived = node_get_bool(map, "derived"),
        .unchanged_ok = node_get_bool(map, "unchanged_ok"),
        .silent_ok = node_get_bool(map, "silent_ok"),
        .write_at_root = node_get_bool(map, "write_at_root"),
        .branch = node_get_string(map, "branch", NULL),
        .merge_subject = node_get_string(map, "merge_subject", NULL),
    };
    load_logger(saved, node_get(map, "logger"));
    if (only && only->kind == NODE_LIST) {
        node_each (id, only)
            strv_push(&saved->only, id->kind == NODE_STRING ? id->text : "");
    }
}

static void load_run(struct run_folder *saved, const struct node *map)
{
    saved->run = node_get_string(map, "run", "");
    saved->plan = node_get_string(map, "plan", "-");
    saved->plan_file = node_get_string(map, "plan_file", NULL);
    saved->plan_dir = node_get_string(map, "plan_dir", "/");
    saved->kind = (enum plan_kind)node_get_int(map, "vocabulary", PLAN_TASKS);
    saved->base = node_get_string(map, "base", NULL);
    saved->base_commit = node_get_string(map, "base_commit", NULL);
    saved->started = node_get_int(map, "started", 0);
    saved->dropin = node_get_string(map, "dropin", NULL);
    saved->digest = node_get_string(map, "plan_digest", NULL);
    saved->hides = node_get_bool(map, "hides_secrets");
    load_options(saved, map);
}

int run_folder_load(struct run_folder *saved, const char *dir, struct err *err)
{
    autofree char *path = mem_printf("%s/run.json", dir);
    autobuf struct buf text = BUF_INIT;
    autoproblems struct problems ps;
    struct doc_options opts = {.syntax = DOC_JSON, .max_bytes = RUN_MAX};
    struct err why = {0};
    *saved = (struct run_folder){0};
    problems_init(&ps, path);
    if (file_read(path, RUN_MAX, &text, &why))
        return err_set(err, ERR_INPUT, "no saved files to resume from: %s", why.msg);
    if (doc_parse(&saved->doc, NULL, text.s, text.len, &opts, &ps) ||
        saved->doc.root->kind != NODE_MAP)
        return err_set(err, ERR_INPUT, "'%s' is damaged", path);
    if (node_get_int(saved->doc.root, "version", 0) != VERSION)
        return err_set(err, ERR_INPUT, "'%s' was written by another version of this program", path);
    load_run(saved, saved->doc.root);
    return 0;
}

void run_folder_done(struct run_folder *saved)
{
    doc_done(&saved->doc);
    strv_done(&saved->only);
    strv_done(&saved->logger);
}

int run_folder_plan(const struct run_folder *saved, const char *dir, struct plan_file *pf,
                    struct problems *ps)
{
    autofree char *path = mem_printf("%s/plan.json", dir);
    struct plan_origin origin = {.dir = saved->plan_dir, .kind = saved->kind};
    return plan_file_reopen(pf, path, &origin, ps);
}

static bool has_hidden_secrets(const struct plan *plan)
{
    for (size_t t = 0; t < plan->task_count; t++) {
        for (size_t i = 0; i < plan->tasks[t].env.n; i++) {
            if (plan->tasks[t].env.v[i].secret && plan->tasks[t].env.v[i].value)
                return true;
        }
    }
    return false;
}

int run_folder_recall(const struct run_folder *saved, const struct doc_options *opts,
                      struct plan *plan, struct err *err)
{
    const char *path = saved->plan_file ? saved->plan_file : saved->plan;
    autoproblems struct problems ps = {0};
    struct plan from = {0};
    struct doc doc;
    const struct task *t = NULL;
    if (!saved->hides || !has_hidden_secrets(plan))
        return 0;
    problems_init(&ps, path);
    if (doc_load(&doc, path, opts, &ps) == 0)
        (void)plan_decode(&from, doc.root, &doc.arena,
                          &ps); /* the part that it could decode is enough */
    const struct env_var *lost = plan_recall(plan, &from, &t);
    plan_done(&from);
    doc_done(&doc);
    if (!lost)
        return 0;
    return err_set(
        err, ERR_INPUT,
        "the run does not keep the value of '%s', a secret of task '%s', and '%s' does not "
        "have it any more",
        lost->name, t->id, path);
}

void run_folder_secrets(const char *dir, struct secrets *ret)
{
    autofree char *path = mem_printf("%s/plan.json", dir);
    struct doc_options json = {.syntax = DOC_JSON, .max_bytes = PLAN_MAX}, any = {0};
    autosaved struct run_folder saved;
    autoproblems struct problems ps;
    struct plan plan = {0};
    struct doc doc = {0};
    problems_init(&ps, path);
    if (run_folder_load(&saved, dir, NULL) == 0 && doc_load(&doc, path, &json, &ps) == 0 &&
        plan_decode_encoded(&plan, doc.root, saved.kind, &ps) == 0)
        (void)run_folder_recall(&saved, &any, &plan, NULL); /* we mask those that we know */
    secrets_collect(ret, &plan);
    plan_done(&plan);
    doc_done(&doc);
}

int run_folder_lock(const char *dir, int *ret_fd, struct err *err)
{
    autofree char *path = mem_printf("%s/" RUN_LOCK, dir);
    return dirs_try_lock(path, ret_fd, err);
}

int run_folder_lock_after(const char *dir, const struct proc_id *engine, int *ret_fd,
                          struct err *err)
{
    enum { PATIENCE_MS = 2000, PAUSE_MS = 5 };
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
    int64_t end = clock_mono() + PATIENCE_MS;
    for (;; (void)nanosleep(&pause, NULL)) {
        bool lives = proc_table_lives(
            engine); /* check before the lock: then no other engine takes over unnoticed */
        if (run_folder_lock(dir, ret_fd, err))
            return -1;
        if (*ret_fd >= 0 || lives || clock_mono() >= end)
            return 0;
    }
}
