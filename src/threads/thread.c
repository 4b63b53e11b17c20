#include "threads/thread.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/shell_quote.h"
#include "base/text/text.h"
#include "doc/doc.h"
#include "sys/fs/file.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

enum { VERSION = 1, THREAD_MAX = 4 << 20 };

void thread_done(struct thread *t)
{
    char *const strings[] = {t->id,   t->branch,      t->goal, t->prompt, t->engine, t->enforce,
                             t->base, t->base_commit, t->path, t->admin,  t->pull,   t->pull_state};
    for (size_t i = 0; i < ARRAY_LEN(strings); i++)
        free(strings[i]);
    for (size_t i = 0; i < t->requests.n; i++) {
        free(t->requests.v[i].path);
        free(t->requests.v[i].claimed_by);
    }
    strv_done(&t->owns);
    strv_done(&t->forbids);
    strv_done(&t->after);
    vec_done(&t->requests);
    *t = (struct thread){0};
}

static void damaged_done(struct thread_damaged *d)
{
    char *const strings[] = {d->id, d->path, d->admin, d->problem, d->hint};
    for (size_t i = 0; i < ARRAY_LEN(strings); i++)
        free(strings[i]);
}

void threads_done(struct threads *ts)
{
    for (size_t i = 0; i < ts->n; i++)
        thread_done(&ts->v[i]);
    for (size_t i = 0; i < ts->damaged.n; i++)
        damaged_done(&ts->damaged.v[i]);
    vec_done(&ts->damaged);
    vec_done(ts);
}

static void put_requests(struct arena *a, struct node *map, const struct thread *t)
{
    struct node *list = node_put_list(a, map, "requests");
    for (size_t i = 0; i < t->requests.n; i++) {
        const struct thread_request *r = &t->requests.v[i];
        struct node *node = node_add_map(a, list);
        node_put_string(a, node, "path", r->path);
        node_put_string(a, node, "claimed_by", r->claimed_by);
        node_put_int(a, node, "at", r->at);
    }
}

static struct node *encode_thread(const struct thread *t, struct arena *a)
{
    struct node *map = node_new_map(a);
    node_put_int(a, map, "version", VERSION);
    node_put_string(a, map, "id", t->id);
    node_put_string(a, map, "branch", t->branch);
    node_put_string(a, map, "goal", t->goal);
    node_put_string(a, map, "prompt", t->prompt);
    node_put_string(a, map, "engine", t->engine);
    node_put_strings(a, map, "owns", &t->owns);
    node_put_strings(a, map, "forbids", &t->forbids);
    node_put_strings(a, map, "after", &t->after);
    if (t->ordered)
        node_put_int(a, map, "order", t->order);
    node_put_string(a, map, "enforce", t->enforce);
    node_put_string(a, map, "base", t->base);
    node_put_string(a, map, "base_commit", t->base_commit);
    node_put_int(a, map, "port", t->port);
    node_put_int(a, map, "ports", t->ports);
    node_put_bool(a, map, "made", t->made);
    node_put_bool(a, map, "configured", t->configured);
    put_requests(a, map, t);
    node_put_string(a, map, "pull", t->pull);
    node_put_string(a, map, "pull_state", t->pull_state);
    return map;
}

/* JSON must be UTF-8. The recursion goes as deep as encode() builds: a map, its lists, their
 * maps. */
static bool is_utf8(const struct node *node)
{
    if (node->kind == NODE_STRING)
        return text_valid(node->text, node->len) == node->len;
    if (node->kind != NODE_LIST && node->kind != NODE_MAP)
        return true;
    node_each (child, node) {
        if (!is_utf8(child))
            return false;
    }
    return true;
}

int thread_save(const struct thread *t, struct err *err)
{
    autofree char *path = mem_printf("%s/" THREAD_FILE, t->admin);
    autobuf struct buf text = BUF_INIT;
    autoarena struct arena a = {0};
    const struct node *map = encode_thread(t, &a);
    bool valid = is_utf8(map);
    doc_write_whole_line(&text, map);
    if (!valid)
        return err_set(err, ERR_INPUT, "thread %s: some of its text is not UTF-8", t->id);
    return file_replace(path, text.s, text.len, err);
}

static char *copy_string(const struct node *map, const char *key)
{
    const char *s = node_get_string(map, key, NULL);
    return s ? mem_str(s) : NULL;
}

static const struct node *find_list(const struct node *map, const char *key)
{
    static const struct node none = {.kind = NODE_LIST};
    const struct node *n = node_get(map, key);
    return n && n->kind == NODE_LIST ? n : &none;
}

static void copy_list(const struct node *map, const char *key, struct strv *list)
{
    node_each (entry, find_list(map, key)) {
        if (entry->kind == NODE_STRING)
            strv_push(list, entry->text);
    }
}

static void copy_requests(const struct node *map, struct thread *t)
{
    node_each (entry, find_list(map, "requests")) {
        if (entry->kind != NODE_MAP || !node_get_string(entry, "path", NULL))
            continue;
        vec_push(&t->requests, (struct thread_request){
                                   .path = copy_string(entry, "path"),
                                   .claimed_by = copy_string(entry, "claimed_by"),
                                   .at = node_get_int(entry, "at", 0),
                               });
    }
}

static void decode_thread(struct thread *t, const struct node *map)
{
    const struct node *order = node_get(map, "order");
    *t = (struct thread){
        .id = copy_string(map, "id"),
        .branch = copy_string(map, "branch"),
        .goal = copy_string(map, "goal"),
        .prompt = copy_string(map, "prompt"),
        .engine = copy_string(map, "engine"),
        .ordered = order && order->kind == NODE_INT,
        .order = node_get_int(map, "order", 0),
        .enforce = copy_string(map, "enforce"),
        .base = copy_string(map, "base"),
        .base_commit = copy_string(map, "base_commit"),
        .port = node_get_int(map, "port", 0),
        .ports = node_get_int(map, "ports", 0),
        .made = node_get_bool(map, "made"),
        .configured = node_get_bool(map, "configured"),
        .pull = copy_string(map, "pull"),
        .pull_state = copy_string(map, "pull_state"),
    };
    copy_list(map, "owns", &t->owns);
    copy_list(map, "forbids", &t->forbids);
    copy_list(map, "after", &t->after);
    copy_requests(map, t);
}

static int parse_thread(struct thread *t, const char *path, const struct buf *text, struct err *err)
{
    struct doc_options opts = {.syntax = DOC_JSON, .max_bytes = THREAD_MAX};
    autoproblems struct problems ps;
    autodoc struct doc doc;
    problems_init(&ps, path);
    bool valid =
        doc_parse(&doc, NULL, text->s, text->len, &opts, &ps) == 0 && doc.root->kind == NODE_MAP;
    int64_t version = valid ? node_get_int(doc.root, "version", 0) : 0;
    if (valid && version == VERSION)
        decode_thread(t, doc.root);
    if (version && version != VERSION)
        return err_set(err, ERR_ENV, "'%s' was written by another version of this program", path);
    if (!t->id || !t->branch || !t->goal || !t->engine || !t->enforce || !t->base_commit)
        return err_set(err, ERR_ENV, "'%s' is damaged, or not a file of this program", path);
    return 0;
}

/* Finds the worktree. git writes the path of its .git file; newer versions may write it relative to
 * the administrative folder. */
static int find_worktree(const char *admin, char **ret_path, struct err *err)
{
    autofree char *file = mem_printf("%s/gitdir", admin);
    autobuf struct buf text = BUF_INIT;
    if (file_read(file, 1 << 16, &text, err))
        return -1;
    buf_cut(&text, strcspn(text.s, "\n"));
    char *slash = strrchr(text.s, '/');
    if (!slash || strcmp(slash, "/.git") != 0)
        return err_set(err, ERR_ENV, "'%s' does not name the .git of a worktree", file);
    *slash = '\0';
    if (*text.s == '/') {
        *ret_path = mem_str(text.s);
        return 0;
    }
    autofree char *joined = mem_printf("%s/%s", admin, text.s);
    *ret_path = realpath(joined, NULL);
    *ret_path = *ret_path ? *ret_path : steal_ptr(joined);
    return 0;
}

/* The worktree is called "thread-ID", and git names the administrative folder after it. */
static char *guess_id(const char *path, const char *admin)
{
    const char *name = strrchr(path ? path : admin, '/') + 1;
    const char *id = strstr(name, "thread-");
    return mem_str(id ? id + strlen("thread-") : name);
}

static char *choose_hint(const char *admin, bool unreadable)
{
    autofree char *file = mem_printf("%s/" THREAD_FILE, admin);
    autobuf struct buf out = BUF_INIT;
    if (unreadable) {
        buf_addstr(&out, "make it readable; nothing else of the thread has changed");
        return buf_steal(&out);
    }
    buf_addstr(&out, "restore the file from a copy, or give up the thread (git keeps its "
                     "worktree and branch):");
    shell_quote(&out, " rm", file, NULL);
    return buf_steal(&out);
}

static void add_damaged(struct threads *ts, const char *admin, bool unreadable,
                        const struct err *why)
{
    struct thread_damaged d = {.admin = mem_str(admin),
                               .problem = mem_str(why->msg),
                               .hint = choose_hint(admin, unreadable)};
    (void)find_worktree(admin, &d.path, NULL);
    d.id = guess_id(d.path, admin);
    vec_push(&ts->damaged, d);
}

static void load_one(struct threads *ts, const char *worktrees, const char *name)
{
    autofree char *admin = mem_printf("%s/%s", worktrees, name);
    autofree char *path = mem_printf("%s/" THREAD_FILE, admin);
    autobuf struct buf text = BUF_INIT;
    struct thread t = {0};
    struct err why = {0};
    if (file_read(path, THREAD_MAX, &text, &why)) {
        if (why.errnum != ENOENT && why.errnum != ENOTDIR)
            add_damaged(ts, admin, why.errnum == EACCES, &why);
        return;
    }
    if (parse_thread(&t, path, &text, &why) || find_worktree(admin, &t.path, &why)) {
        add_damaged(ts, admin, false, &why);
        thread_done(&t);
        return;
    }
    t.admin = steal_ptr(admin);
    vec_push(ts, t);
}

int threads_load(struct threads *ts, const struct git_repo *repo, struct err *err)
{
    autofree char *worktrees = mem_printf("%s/worktrees", repo->common);
    *ts = (struct threads){0};
    DIR *dir = opendir(worktrees);
    if (!dir)
        return errno == ENOENT ? 0 : err_sys(err, "read '%s'", worktrees);
    errno = 0;
    for (struct dirent *e; (e = readdir(dir)); errno = 0) {
        if (*e->d_name != '.')
            load_one(ts, worktrees, e->d_name);
    }
    int rc = errno ? err_sys(err, "read '%s'", worktrees) : 0;
    (void)closedir(dir);
    threads_sort(ts);
    return rc;
}

static int compare_threads(const void *left, const void *right)
{
    const struct thread *a = left, *b = right;
    if (a->ordered != b->ordered)
        return a->ordered ? -1 : 1;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return a->id && b->id ? text_natural(a->id, b->id) : 0;
}

static int compare_damaged(const void *left, const void *right)
{
    const struct thread_damaged *a = left, *b = right;
    return text_natural(a->id, b->id);
}

void threads_sort(struct threads *ts)
{
    if (ts->n)
        qsort(ts->v, ts->n, sizeof(*ts->v), compare_threads);
    if (ts->damaged.n)
        qsort(ts->damaged.v, ts->damaged.n, sizeof(*ts->damaged.v), compare_damaged);
}

struct thread *threads_find(const struct threads *ts, const char *id)
{
    for (size_t i = 0; i < ts->n; i++) {
        if (strcmp(ts->v[i].id, id) == 0)
            return &ts->v[i];
    }
    return NULL;
}

struct thread_damaged *threads_find_damaged(const struct threads *ts, const char *id)
{
    for (size_t i = 0; i < ts->damaged.n; i++) {
        if (strcmp(ts->damaged.v[i].id, id) == 0)
            return &ts->damaged.v[i];
    }
    return NULL;
}

int threads_check(const struct threads *ts, struct err *err)
{
    if (!ts->damaged.n)
        return 0;
    const struct thread_damaged *d = &ts->damaged.v[0];
    /* d->hint has a command in it, which err_set() might truncate. */
    return err_set(err, ERR_ENV, "thread %s: %s; 'anabranch status' says what to do", d->id,
                   d->problem);
}

static bool contains_folder(const char *tree, const char *dir)
{
    autofree char *real = realpath(tree, NULL);
    size_t len = real ? strlen(real) : 0;
    return real && strncmp(dir, real, len) == 0 && (dir[len] == '/' || !dir[len]);
}

struct thread *thread_here(const struct threads *ts, const char *dir)
{
    autofree char *real = realpath(dir, NULL);
    for (size_t i = 0; real && i < ts->n; i++) {
        if (contains_folder(ts->v[i].path, real))
            return &ts->v[i];
    }
    return NULL;
}
