#include "threads/converge/forge.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/shell_quote.h"
#include "base/text/text.h"
#include "doc/doc.h"
#include "sys/fs/file.h"
#include "sys/proc/capture_many.h"
#include "sys/proc/spawn.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_WORDS = 16 };

/* Command lines of the known programs. We replace words in braces. */
struct forge_shape {
    const char *list[MAX_WORDS], *create[MAX_WORDS], *update[MAX_WORDS];
    const char *number, *address, *head; /* members in the output of `list`; head may be NULL */
    const char *foreign;        /* a member that is true if the branch is in a fork; or NULL */
    const char *fork;           /* the option for the repository, if it supports forks; or NULL */
    const char *owner;          /* a member; its `login` is the owner of the branch */
    const char *draft;          /* the option for a draft; NULL: the title says so */
    const char *preferred_name; /* of the program, if it is installed under it; or NULL */
    const char *logins[MAX_WORDS]; /* lists its logins; we then pass it one, and the repository */
};

static const struct forge_shape shapes[] = {
    {.list = {"gh", "pr", "list", "--head", "{branch}", "--state", "open", "--json",
              "number,url,isCrossRepository,headRepositoryOwner"},
     .create = {"gh", "pr", "create", "--head", "{head}", "--base", "{base}", "--title", "{title}",
                "--body", "{body}"},
     .update = {"gh", "pr", "edit", "{pull}", "--title", "{title}", "--body", "{body}"},
     .number = "number",
     .address = "url",
     .foreign = "isCrossRepository",
     .fork = "--repo",
     .owner = "headRepositoryOwner",
     .draft = "--draft"},
    {.list = {"glab", "mr", "list", "--source-branch", "{branch}", "--output", "json"},
     .create = {"glab", "mr", "create", "--source-branch", "{branch}", "--target-branch", "{base}",
                "--title", "{title}", "--description", "{body}", "--yes"},
     .update = {"glab", "mr", "update", "{pull}", "--title", "{title}", "--description", "{body}"},
     .number = "iid",
     .address = "web_url",
     .draft = "--draft"},
    {.list = {"tea", "pulls", "list", "--state", "open", "--fields", "index,head,url", "--output",
              "json"},
     .create = {"tea", "pulls", "create", "--head", "{branch}", "--base", "{base}", "--title",
                "{title}", "--description", "{body}"},
     /* tea has no other way; a pull request is an issue, too. */
     .update = {"tea", "issues", "edit", "{pull}", "--title", "{title}", "--description", "{body}"},
     .number = "index",
     .address = "url",
     .head = "head",
     .preferred_name = "tea-cli", /* in Debian, tea is an editor */
     .logins = {"tea", "login", "list", "--output", "json"}},
};

static int read_setting(const struct git_repo *repo, const char *key, struct buf *out,
                        struct err *err)
{
    struct git_place at = {.git_dir = repo->git_dir, .common = repo->common};
    autostrv struct strv args = {0};
    autobuf struct buf errout = BUF_INIT;
    int status;
    strv_pushl(&args, "config", "--get", key, NULL);
    if (git_try(&at, &args, out, &errout, &status, err))
        return -1;
    if (status > 1)
        return err_set(err, ERR_ENV, "git config %s: %.*s", key, (int)strcspn(errout.s, "\n"),
                       errout.s);
    buf_cut(out, strcspn(out->s, "\n"));
    return 0;
}

static void split_words(const char *words, struct strv *out)
{
    for (words += strspn(words, " \t"); *words; words += strspn(words, " \t")) {
        size_t len = strcspn(words, " \t");
        strv_pushf(out, "%.*s", (int)len, words);
        words += len;
    }
}

static const struct forge_shape *find_shape(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        if (strcmp(shapes[i].create[0], name) == 0)
            return &shapes[i];
    }
    return NULL;
}

int forge_open(struct forge *f, const struct git_repo *repo, struct err *err)
{
    autobuf struct buf name = BUF_INIT, update = BUF_INIT, login = BUF_INIT;
    *f = (struct forge){0};
    if (read_setting(repo, "anabranch.forge", &name, err) ||
        read_setting(repo, "anabranch.forgeUpdate", &update, err))
        return -1;
    if (strcmp(name.s, "tea") == 0 && read_setting(repo, "anabranch.forgeLogin", &login, err))
        return -1;
    f->login = login.len ? buf_steal(&login) : NULL;
    f->shape = find_shape(name.len ? name.s : "gh");
    if (!f->shape && !strstr(name.s, "{branch}"))
        return err_set(err, ERR_INPUT,
                       "anabranch.forge is '%s', but must be gh, glab, tea, or a command with "
                       "{branch} among its words",
                       name.s);
    split_words(name.s, &f->create);
    split_words(update.s, &f->update);
    return 0;
}

bool forge_knows_forks(const struct forge *f)
{
    return f->shape && f->shape->fork;
}

bool forge_is_other(const struct forge *f)
{
    return f->shape != &shapes[0];
}

static const char *get_program(const struct forge *f)
{
    if (!f->shape)
        return f->create.v[0];
    return f->shape->preferred_name && spawn_finds(f->shape->preferred_name)
               ? f->shape->preferred_name
               : f->shape->create[0];
}

int forge_check(const struct forge *f, struct err *err)
{
    const char *program = get_program(f);
    return spawn_finds(program) ? 0
                                : err_set(err, ERR_ENV,
                                          "'%s', which makes pull requests, is not installed; "
                                          "--no-push prints the commands instead",
                                          program);
}

void forge_close(struct forge *f)
{
    strv_done(&f->create);
    strv_done(&f->update);
    if (f->away)
        (void)rmdir(f->away); /* fails if the program left something there */
    free(f->login);
    free(f->repo);
    free(f->away);
    *f = (struct forge){0};
}

struct values {
    const struct forge_pull *pull;
    const char *title, *number, *head;
};

static const char *find_value(const struct values *w, const char *name, size_t len)
{
    const struct {
        const char *name, *value;
    } table[] = {{"{branch}", w->pull->branch},
                 {"{base}", w->pull->base},
                 {"{title}", w->title},
                 {"{body}", w->pull->body},
                 {"{pull}", w->number},
                 {"{body-file}", w->pull->body_file},
                 {"{head}", w->head}};
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (strlen(table[i].name) == len && strncmp(table[i].name, name, len) == 0)
            return table[i].value ? table[i].value : "";
    }
    return NULL;
}

/* Does not expand the inserted values again. */
static void expand_word(const struct values *w, const char *word, struct strv *argv)
{
    autobuf struct buf out = BUF_INIT;
    while (*word) {
        size_t len = *word == '{' ? strcspn(word, "}") + 1 : 1;
        const char *value = *word == '{' ? find_value(w, word, len) : NULL;
        if (value)
            buf_addstr(&out, value);
        else
            buf_addch(&out, *word);
        word += value ? len : 1;
    }
    strv_push(argv, out.s);
}

/* Forges without drafts take a pull request for a draft if its title begins so. */
static char *get_title(const struct forge *f, const struct forge_pull *p)
{
    bool in_title = p->draft && f->shape && !f->shape->draft;
    return mem_printf("%s%s", in_title ? "WIP: " : "", p->title);
}

static void add_words(const struct forge *f, const struct forge_pull *p, const char *const *words,
                      const char *number, struct strv *argv)
{
    autofree char *title = get_title(f, p);
    autofree char *head = p->owner ? mem_printf("%s:%s", p->owner, p->branch) : mem_str(p->branch);
    struct values w = {p, title, number, head};
    if (f->shape) {
        strv_push(argv, get_program(f));
        words++;
    }
    for (; *words; words++)
        expand_word(&w, *words, argv);
    if (p->repo && f->shape && f->shape->fork)
        strv_pushl(argv, f->shape->fork, p->repo, NULL);
    if (f->repo && f->login)
        strv_pushl(argv, "--login", f->login, NULL);
    if (f->repo)
        strv_pushl(argv, "--repo", f->repo, NULL);
}

static void add_create(const struct forge *f, const struct forge_pull *p, struct strv *argv)
{
    const char *const *own = (const char *const *)f->create.v;
    add_words(f, p, f->shape ? f->shape->create : own, "", argv);
    if (p->draft && f->shape && f->shape->draft)
        strv_push(argv, f->shape->draft);
}

static void add_update(const struct forge *f, const struct forge_pull *p, const char *number,
                       struct strv *argv)
{
    const char *const *own = (const char *const *)f->update.v;
    add_words(f, p, f->shape ? f->shape->update : own, number, argv);
}

/* The number at the end of an address. */
static const char *get_last_part(const char *address)
{
    const char *slash = strrchr(address, '/');
    return slash ? slash + 1 : address;
}

void forge_print(const struct forge *f, const struct forge_pull *p, struct buf *out)
{
    autostrv struct strv argv = {0};
    if (!p->known)
        add_create(f, p, &argv);
    else if (f->shape || f->update.n)
        add_update(f, p, f->repo ? get_last_part(p->known) : p->known, &argv);
    if (!argv.n)
        return;
    shell_quote(out, " &&\n(cd", f->repo ? "/" : p->dir, NULL);
    buf_addstr(out, " &&");
    if (!f->shape) { /* a command may use the file */
        shell_quote(out, " printf %s", p->body, NULL);
        shell_quote(out, " >", p->body_file, NULL);
        buf_addstr(out, " &&");
    }
    for (size_t i = 0; i < argv.n; i++)
        shell_quote(out, "", argv.v[i], NULL);
    buf_addstr(out, ")");
}

/* Reports the first line that is not empty. */
static int report_failure(const struct proc_job *job, struct err *err)
{
    const char *message = job->errout.len ? job->errout.s : job->out.s;
    message += strspn(message, "\n\t ");
    if (!*message)
        return err_set(err, ERR_ENV, "%s ended with %d", job->argv.v[0], job->status);
    return err_set(err, ERR_ENV, "%s: %.*s", job->argv.v[0], (int)strcspn(message, "\n"), message);
}

/* Runs job->argv without any prompt. In the worktree we name the repository for the gits that the
 * program starts. */
static int run_program(const struct forge *f, struct proc_job *job, const struct forge_pull *p,
                       struct err *err)
{
    const char *dir = f->away || !p ? f->away : p->dir;
    git_outside_environment(&job->env);
    if (p && !f->away) {
        strv_pushf(&job->env, "GIT_DIR=%s", p->git_dir);
        strv_pushf(&job->env, "GIT_COMMON_DIR=%s", p->common);
        strv_pushf(&job->env, "GIT_WORK_TREE=%s", p->dir);
    }
    strv_pushl(&job->env, "GH_PROMPT_DISABLED=1", "GIT_TERMINAL_PROMPT=0", NULL);
    job->dir = dir;
    if (capture_many(job, 1, err))
        return -1;
    return job->status == 0 ? 0 : report_failure(job, err);
}

bool forge_wants_place(const struct forge *f)
{
    return f->shape && f->shape->logins[0];
}

/* "https://HOST:3000/", "HOST:22" or "HOST". */
static bool is_host(const char *address, const char *host, size_t len)
{
    const char *scheme = strstr(address, "://");
    address = scheme ? scheme + 3 : address;
    return strcspn(address, ":/") == len && strncasecmp(address, host, len) == 0;
}

/* The default login of the host, or else the first. */
static char *choose_login(const struct buf *list, const char *host, size_t len)
{
    struct doc_options opts = {.syntax = DOC_JSON};
    autoproblems struct problems ps;
    autodoc struct doc doc;
    const char *login = NULL;
    problems_init(&ps, "tea");
    if (doc_parse(&doc, NULL, list->s, list->len, &opts, &ps) || doc.root->kind != NODE_LIST)
        return NULL;
    node_each (entry, doc.root) {
        bool same_host =
            entry->kind == NODE_MAP && (is_host(node_get_string(entry, "url", ""), host, len) ||
                                        is_host(node_get_string(entry, "ssh_host", ""), host, len));
        if (same_host && (!login || strcmp(node_get_string(entry, "default", ""), "true") == 0))
            login = node_get_string(entry, "name", "");
    }
    return login ? mem_str(login) : NULL;
}

static int find_login(struct forge *f, const char *place, struct err *err)
{
    own_cleanup(proc_job_done) struct proc_job job = PROC_JOB_INIT;
    size_t host = strcspn(place, "/");
    strv_push(&job.argv, get_program(f));
    for (size_t i = 1; i < MAX_WORDS && f->shape->logins[i]; i++)
        strv_push(&job.argv, f->shape->logins[i]);
    if (run_program(f, &job, NULL, err))
        return -1;
    f->login = choose_login(&job.out, place, host);
    if (!f->login)
        return err_set(
            err, ERR_ENV,
            "%s has no login for '%.*s': make one with '%s login add', or choose another "
            "with the git setting anabranch.forgeLogin",
            f->shape->create[0], (int)host, place, get_program(f));
    return 0;
}

int forge_locate(struct forge *f, const char *place, bool prints, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    autofree char *empty_dir = mem_printf("%s/anabranch-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    struct err none = {0};
    f->repo = mem_str(place + strcspn(place, "/") + 1);
    if (!mkdtemp(empty_dir))
        return err_sys(err, "make a folder in '%s'", tmp && *tmp ? tmp : "/tmp");
    f->away = steal_ptr(empty_dir);
    if (f->login)
        return 0;
    return find_login(f, place, prints ? &none : err) && !prints ? -1 : 0;
}

static void add_member(struct buf *out, const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);
    if (n && n->kind == NODE_INT)
        buf_addf(out, "%lld", (long long)node_get_int(map, key, 0));
    else
        buf_addstr(out, node_get_string(map, key, ""));
}

/* Another fork may have a branch of the same name. */
static bool is_from_owner(const struct forge_shape *s, const char *owner, const struct node *entry)
{
    const struct node *by = s->owner ? node_get(entry, s->owner) : NULL;
    return by && by->kind == NODE_MAP && strcasecmp(node_get_string(by, "login", ""), owner) == 0;
}

static bool is_ours(const struct forge_shape *s, const struct forge_pull *p,
                    const struct node *entry)
{
    if (p->owner)
        return is_from_owner(s, p->owner, entry);
    return (!s->head || strcmp(node_get_string(entry, s->head, ""), p->branch) == 0) &&
           !(s->foreign && node_get_bool(entry, s->foreign));
}

/* Takes the first entry for the branch. */
static int parse_list(const struct forge_shape *s, const struct forge_pull *p,
                      const struct buf *text, struct buf *ret_number, struct buf *ret_address,
                      struct err *err)
{
    struct doc_options opts = {.syntax = DOC_JSON};
    autoproblems struct problems ps;
    autodoc struct doc doc;
    problems_init(&ps, s->list[0]);
    bool valid = doc_parse(&doc, NULL, text->s, text->len, &opts, &ps) == 0;
    if (valid && doc.root->kind == NODE_NULL)
        return 0;
    if (!valid || doc.root->kind != NODE_LIST)
        return err_set(err, ERR_ENV, "%s: unexpected answer", s->list[0]);
    node_each (entry, doc.root) {
        if (entry->kind != NODE_MAP || !is_ours(s, p, entry) || ret_number->len)
            continue;
        add_member(ret_number, entry, s->number);
        add_member(ret_address, entry, s->address);
    }
    return 0;
}

static int find_pull_request(const struct forge *f, const struct forge_pull *p,
                             struct buf *ret_number, struct buf *ret_address, struct err *err)
{
    own_cleanup(proc_job_done) struct proc_job job = PROC_JOB_INIT;
    if (!f->shape) {
        buf_addstr(ret_number, p->known ? p->known : "");
        buf_addstr(ret_address, ret_number->s);
        return 0;
    }
    add_words(f, p, f->shape->list, "", &job.argv);
    if (run_program(f, &job, p, err))
        return -1;
    bool empty = strspn(job.out.s, " \t\n") == job.out.len;
    return empty ? 0 : parse_list(f->shape, p, &job.out, ret_number, ret_address, err);
}

/* The last word that looks like an address, or else the last line. */
static void find_address(const struct buf *text, const char *branch, struct buf *out)
{
    const char *found = NULL, *line = branch;
    for (const char *s = text->s; *s; s += strspn(s, " \t\n")) {
        if (strncmp(s, "https://", 8) == 0 || strncmp(s, "http://", 7) == 0)
            found = s;
        s += strcspn(s, " \t\n");
    }
    for (const char *s = text->s; *s; s += strspn(s, "\n")) {
        line = s;
        s += strcspn(s, "\n");
    }
    if (found)
        text_harmless(out, found, strcspn(found, " \t\n"));
    else
        text_harmless(out, line, strcspn(line, "\n"));
}

static int write_body(const struct forge_pull *p, struct err *err)
{
    return file_replace(p->body_file, p->body, strlen(p->body), err);
}

int forge_propose(const struct forge *f, const struct forge_pull *p, struct buf *ret_address,
                  enum forge_deed *ret_deed, struct err *err)
{
    autobuf struct buf number = BUF_INIT, address = BUF_INIT;
    own_cleanup(proc_job_done) struct proc_job job = PROC_JOB_INIT;
    if (find_pull_request(f, p, &number, &address, err))
        return -1;
    *ret_deed = !number.len ? FORGE_MADE : f->shape || f->update.n ? FORGE_UPDATED : FORGE_LEFT;
    if (*ret_deed == FORGE_MADE)
        add_create(f, p, &job.argv);
    else if (*ret_deed == FORGE_UPDATED)
        add_update(f, p, number.s, &job.argv);
    int rc = f->shape ? 0 : write_body(p, err);
    if (rc == 0 && *ret_deed != FORGE_LEFT)
        rc = run_program(f, &job, p, err);
    if (!f->shape)
        (void)unlink(p->body_file);
    if (rc == 0 && number.len)
        buf_add(ret_address, address.s, address.len);
    else if (rc == 0)
        find_address(&job.out, p->branch, ret_address);
    return rc;
}
