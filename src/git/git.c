#include "git/git.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "git/batch.h"
#include "git/config/frozen_config.h"
#include "git/dead_lock.h"
#include "git/fence.h"
#include "git/sign.h"
#include "git/unsynced.h"
#include "sys/guard/proc_table.h"
#include "sys/proc/capture.h"
#include "sys/proc/capture_many.h"
#include "sys/proc/stuck.h"
#include "sys/time_limits.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { OUTPUT_MAX = 1 << 30, RACE_TRIES = 5, RACE_PAUSE_MS = 20, LOCK_MS = 20000 };

/* update-ref reads this as "must not exist", for every hash algorithm. */
#define GIT_NO_COMMIT ""

/* Variables that point git at another repository: the list of `git rev-parse --local-env-vars`,
 * without those that only carry configuration. */
static bool is_repository_variable(const char *entry)
{
    static const char *const names[] = {
        "ANABRANCH_GIT_CONFIG=", /* see git/config/frozen_config.h */
        "GIT_ALTERNATE_OBJECT_DIRECTORIES=",
        "GIT_COMMON_DIR=",
        "GIT_DIR=",
        "GIT_GRAFT_FILE=",
        "GIT_IMPLICIT_WORK_TREE=",
        "GIT_INDEX_FILE=",
        "GIT_INTERNAL_SUPER_PREFIX=",
        "GIT_NAMESPACE=",
        "GIT_NO_REPLACE_OBJECTS=",
        "GIT_OBJECT_DIRECTORY=",
        "GIT_PREFIX=",
        "GIT_REPLACE_REF_BASE=",
        "GIT_SHALLOW_FILE=",
        "GIT_WORK_TREE=",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

static bool is_language(const char *entry)
{
    return strncmp(entry, "LC_ALL=", 7) == 0 || strncmp(entry, "LANGUAGE=", 9) == 0;
}

/* git would write a trace to a file, or among the messages that we read. */
static bool is_trace(const char *entry)
{
    return strncmp(entry, "GIT_TRACE", strlen("GIT_TRACE")) == 0;
}

void git_outside_environment(struct strv *env)
{
    for (char **entry = environ; *entry; entry++) {
        if (!is_repository_variable(*entry))
            strv_push(env, *entry);
    }
}

/* Without these, anyone who can write to the repository could make one object look like another,
 * and the user's configuration (trace2.*) could let our gits write traces to any file. */
static void add_fixed_variables(struct strv *env)
{
    strv_pushl(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1",
               "GIT_GRAFT_FILE=/dev/null/none", "GIT_TRACE2=0", "GIT_TRACE2_EVENT=0",
               "GIT_TRACE2_PERF=0", NULL);
}

/* May our gits have this variable of ours? */
static bool is_for_git(const char *entry)
{
    return !is_repository_variable(entry) && !is_language(entry) && !is_trace(entry);
}

/* `live`: with the current configuration, not the frozen one. */
static void add_environment(struct strv *env, bool live)
{
    for (char **entry = environ; *entry; entry++) {
        if (is_for_git(*entry) && (live || !git_frozen_replaces(*entry)))
            strv_push(env, *entry);
    }
    add_fixed_variables(env);
    if (!live)
        git_frozen_environment(env);
}

void git_environment(struct strv *env)
{
    add_environment(env, false);
}

static int git_run(struct strv *argv, struct buf *out, struct buf *errout, int *ret_status,
                   struct err *err)
{
    autostrv struct strv env = {0};
    git_environment(&env);
    return proc_capture(argv->v, env.v, OUTPUT_MAX, out, errout, ret_status, err);
}

/* Fails with the first line of git's message, without "fatal: ". */
static int fail_with_message(const struct buf *errout, struct err *err)
{
    const char *line = errout->s;
    while (strncmp(line, "hint: ", 6) == 0 && strchr(line, '\n')) /* skip git's hints */
        line = strchr(line, '\n') + 1;
    if (strncmp(line, "fatal: ", 7) == 0)
        line += 7;
    return err_set(err, ERR_ENV, "git: %.*s", (int)strcspn(line, "\n"), line);
}

/* Removes and returns the next line of the answer. */
static char *next_line(char **answer)
{
    char *line = *answer, *end = line + strcspn(line, "\n");
    *answer = *end ? end + 1 : end;
    *end = '\0';
    return line;
}

/* Parses the lines of rev-parse: the top of the work tree, dir relative to it with a slash at the
 * end, git's folder, and the folder that all worktrees share. */
static int parse_places(struct git_repo *repo, char *answer, struct err *err)
{
    repo->root = mem_str(next_line(&answer));
    repo->prefix = mem_str(next_line(&answer));
    repo->git_dir = mem_str(next_line(&answer));
    repo->common = mem_str(next_line(&answer));
    size_t len = strlen(repo->prefix);
    if (len && repo->prefix[len - 1] == '/')
        repo->prefix[len - 1] = '\0';
    return *answer ? err_set(err, ERR_ENV, "git: the path of the repository contains a newline")
                   : 0;
}

/* The questions that git_open() asks git. */
enum { PLACES, SETTINGS, QUESTIONS };

static void prepare_questions(struct proc_job jobs[QUESTIONS], const char *dir)
{
    for (int i = 0; i < QUESTIONS; i++) {
        jobs[i] = (struct proc_job)PROC_JOB_INIT;
        add_environment(&jobs[i].env, true);
        strv_pushl(&jobs[i].argv, "git", "-C", dir, NULL);
    }
    strv_pushl(&jobs[PLACES].argv, "rev-parse", "--path-format=absolute", "--show-toplevel",
               "--show-prefix", "--git-dir", "--git-common-dir", NULL);
    strv_pushl(&jobs[SETTINGS].argv, "config", "--list", "--show-scope", "-z", NULL);
}

static int parse_answers(struct git_repo *repo, const struct proc_job jobs[QUESTIONS],
                         struct err *err)
{
    const struct proc_job *places = &jobs[PLACES], *settings = &jobs[SETTINGS];
    const char *message = places->errout.s;
    if (places->status != 0 || !places->out.len)
        return strstr(message, "not a git repository") ||
                       strstr(message, "must be run in a work tree")
                   ? 0
                   : fail_with_message(&places->errout, err);
    if (parse_places(repo, places->out.s, err))
        return -1;
    if (settings->status != 0)
        return fail_with_message(&settings->errout, err);
    buf_add(&repo->settings, settings->out.s, settings->out.len);
    git_core_read_all(&repo->core, &repo->settings);
    return 0;
}

/* Asks both questions in parallel: most commands begin with git_open(), and git spends most of its
 * time on starting. */
int git_open(struct git_repo *repo, const char *dir, struct err *err)
{
    struct proc_job jobs[QUESTIONS];
    struct err why = {0};
    *repo = (struct git_repo){0};
    prepare_questions(jobs, dir);
    int rc = capture_many(jobs, QUESTIONS, &why);
    if (rc == 0)
        rc = parse_answers(repo, jobs, err);
    else
        rc = why.errnum == ENOENT ? 0 : err_set(err, ERR_ENV, "%s", why.msg);
    for (int i = 0; i < QUESTIONS; i++)
        proc_job_done(&jobs[i]);
    git_fence_note(repo);
    unsynced_allow(repo->core.unsynced);
    return rc;
}

void git_close(struct git_repo *repo)
{
    free(repo->root);
    free(repo->prefix);
    free(repo->git_dir);
    free(repo->common);
    git_core_done(&repo->core);
    buf_done(&repo->settings);
    *repo = (struct git_repo){0};
}

int git_tracked(const struct git_repo *repo, struct buf *out, struct err *err)
{
    autostrv struct strv argv = {0};
    autobuf struct buf errout = BUF_INIT;
    int status;
    strv_pushl(&argv, "git", "-C", repo->root, "ls-files", "-z", NULL);
    if (git_run(&argv, out, &errout, &status, err))
        return -1;
    return status == 0 ? 0 : fail_with_message(&errout, err);
}

void git_wait_for_locks(struct strv *argv)
{
    /* Half of our own limit: git should report what it waited for before we kill it. */
    static const char *const keys[] = {"core.filesRefLockTimeout", "core.packedRefsTimeout"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        strv_push(argv, "-c");
        strv_pushf(argv, "%s=%lld", keys[i], (long long)time_limit(LOCK_MS) / 2);
    }
}

/* For a foreign repository, such as one that an agent created: its configuration may name programs,
 * and we must not run them. git has no single option that switches all of them off. */
static void add_distrust_options(struct strv *argv, struct strv *env)
{
    strv_pushl(argv, "-c", "core.alternateRefsCommand=:", NULL);
    strv_pushl(env, "GIT_ALLOW_PROTOCOL=file", "GIT_NO_LAZY_FETCH=1", NULL);
}

static void add_common_folder(const struct git_place *at, struct strv *argv, struct strv *env)
{
    const char *common = at->live ? NULL : git_frozen_common(at->git_dir, at->common);
    autofree char *worktree_settings = at->live ? NULL : git_frozen_worktree(at->git_dir);
    if (worktree_settings)
        strv_pushl(argv, "-c", NULL), strv_pushf(argv, "include.path=%s", worktree_settings);
    if (common || at->common)
        strv_pushf(env, "GIT_COMMON_DIR=%s", common ? common : at->common);
    if (at->foreign || git_frozen_is_foreign(at->git_dir))
        add_distrust_options(argv, env);
}

void git_environment_at(const char *git_dir, struct strv *env)
{
    const char *common = git_frozen_common(git_dir, NULL);
    git_environment(env);
    if (common)
        strv_pushf(env, "GIT_COMMON_DIR=%s", common);
}

void git_prepare(const struct git_place *at, struct strv *argv, struct strv *env)
{
    strv_pushl(argv, "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c",
               "gc.auto=0", "-c", "maintenance.auto=false", "-c", "submodule.recurse=false", "-c",
               "i18n.commitEncoding=UTF-8", "-c", "i18n.logOutputEncoding=UTF-8", NULL);
    git_wait_for_locks(argv);
    if (at->excludes)
        strv_pushl(argv, "-c", NULL), strv_pushf(argv, "core.excludesFile=%s", at->excludes);
    git_environment(env);
    strv_pushf(env, "GIT_DIR=%s", at->git_dir);
    add_common_folder(at, argv, env);
    if (at->work_tree)
        strv_pushf(env, "GIT_WORK_TREE=%s", at->tree ? "." : at->work_tree);
    if (at->index)
        strv_pushf(env, "GIT_INDEX_FILE=%s", at->index);
}

int git_try(const struct git_place *at, const struct strv *args, struct buf *out,
            struct buf *errout, int *ret_status, struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    autobuf struct buf unwanted = BUF_INIT;
    struct buf *words = errout ? errout : &unwanted;
    size_t before = out ? out->len : 0, said = words->len;
    git_prepare(at, &argv, &env);
    for (size_t i = 0; i < args->n; i++)
        strv_push(&argv, args->v[i]);
    for (int tries = 0; tries < RACE_TRIES; tries++) {
        struct timespec pause = {.tv_nsec = tries * RACE_PAUSE_MS * 1000000L};
        (void)nanosleep(&pause, NULL);
        if (out)
            buf_cut(out, before);
        buf_cut(words, said);
        struct err why = {0};
        struct fence fence;
        int rc = proc_capture_in(at->tree, git_fence(at->common, at->tree, &fence), argv.v, env.v,
                                 OUTPUT_MAX, out, words, ret_status, &why);
        if (rc && (!stuck_is_removed(why.msg) || tries == RACE_TRIES - 1))
            return err_set(err, why.code, "%s", why.msg);
        if (rc)
            continue;
        if (*ret_status == 0 || !git_is_race(words->s + said))
            break;
    }
    return 0;
}

int git_feed(const struct git_place *at, const struct strv *args, const struct buf *in,
             struct buf *out, struct buf *errout, int *ret_status, struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    git_prepare(at, &argv, &env);
    for (size_t i = 0; i < args->n; i++)
        strv_push(&argv, args->v[i]);
    struct fence fence;
    return proc_filter_in(at->tree, git_fence(at->common, at->tree, &fence), in, argv.v, env.v,
                          OUTPUT_MAX, out, errout, ret_status, err);
}

static int run_with(const struct git_place *at, const struct strv *args, const struct buf *in,
                    struct buf *out, struct buf *errout, int *ret_status, struct err *err)
{
    return in ? git_feed(at, args, in, out, errout, ret_status, err)
              : git_try(at, args, out, errout, ret_status, err);
}

int git_ask(const struct git_place *at, const struct strv *args, const struct buf *in,
            struct buf *out, struct err *err)
{
    autobuf struct buf errout = BUF_INIT;
    int status;
    if (run_with(at, args, in, out, &errout, &status, err))
        return -1;
    return status ? err_set(err, ERR_ENV, "git %s: %s", args->v[0], errout.s) : 0;
}

int git_ask_checkout(const char *root, const struct strv *args, const struct buf *in, int max,
                     struct buf *out, struct err *err)
{
    autofree char *git_dir = mem_printf("%s/.git", root);
    struct git_place at = {.git_dir = git_dir, .work_tree = root};
    autobuf struct buf errout = BUF_INIT;
    int status;
    if (run_with(&at, args, in, out, &errout, &status, err))
        return -1;
    return status > max ? err_set(err, ERR_ENV, "git: %.*s", (int)strcspn(errout.s, "\n"), errout.s)
                        : 0;
}

bool git_is_race(const char *words)
{
    return stuck_is_removed(words) ||
           ((strstr(words, "failed to read") || strstr(words, "Invalid path")) &&
            strstr(words, "/worktrees/")) ||
           strstr(words, "unable to create temporary file: No such file or directory");
}

/* Runs git and fails unless the exit status is 0. */
static int run_checked(const struct git_place *at, const struct strv *args, struct buf *out,
                       struct err *err)
{
    autobuf struct buf errout = BUF_INIT;
    int status;
    if (git_try(at, args, out, &errout, &status, err))
        return -1;
    if (status == 0) {
        while (out->len && out->s[out->len - 1] == '\n')
            buf_cut(out, out->len - 1);
        return 0;
    }
    (void)fail_with_message(&errout, err);
    return err_wrap(err, "git %s", args->v[0]);
}

int git_call(const struct git_place *at, struct buf *out, struct err *err, ...)
{
    autostrv struct strv args = {0};
    autobuf struct buf unwanted = BUF_INIT;
    va_list ap;
    va_start(ap, err);
    for (const char *s; (s = va_arg(ap, const char *));)
        strv_push(&args, s);
    va_end(ap);
    return run_checked(at, &args, out ? out : &unwanted, err);
}

static int resolve_by_batch(const struct git_place *at, const char *name, struct buf *out,
                            bool *ret_found, struct err *err)
{
    autofree char *expression = mem_printf("%s^{commit}", name);
    return git_batch_resolve(at->batch, expression, out, ret_found, err);
}

static int resolve_by_process(const struct git_place *at, const char *name, struct buf *out,
                              bool *ret_found, struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf errout = BUF_INIT;
    int status;
    strv_pushl(&args, "rev-parse", "--verify", "--quiet", "--end-of-options", NULL);
    strv_pushf(&args, "%s^{commit}", name);
    if (git_try(at, &args, out, &errout, &status, err))
        return -1;
    if (status > 1)
        return fail_with_message(&errout, err);
    *ret_found = status == 0;
    while (out->len && out->s[out->len - 1] == '\n')
        buf_cut(out, out->len - 1);
    return 0;
}

int git_resolve(const struct git_place *at, const char *name, struct buf *out, struct err *err)
{
    /* A worktree's own HEAD is not known to the process that all share. */
    bool shared = at->batch && strncmp(name, "HEAD", 4) != 0, found = false;
    if ((shared ? resolve_by_batch : resolve_by_process)(at, name, out, &found, err))
        return -1;
    return found ? 0 : err_set(err, ERR_INPUT, "'%s' is not a commit or branch here", name);
}

int git_tree_of(const struct git_place *at, const char *commit, struct buf *out, struct err *err)
{
    autofree char *name = mem_printf("%s^{tree}", commit);
    bool found = false;
    if (!at->batch)
        return git_call(at, out, err, "rev-parse", "--verify", name, NULL);
    if (git_batch_resolve(at->batch, name, out, &found, err))
        return -1;
    return found ? 0 : err_set(err, ERR_ENV, "commit '%s' has no tree", commit);
}

int git_find_fork(const struct git_place *at, const char *a, const char *b, struct buf *ret,
                  struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf errout = BUF_INIT;
    int status;
    strv_pushl(&args, "merge-base", a, b, NULL);
    if (git_try(at, &args, ret, &errout, &status, err))
        return -1;
    buf_cut(ret, strcspn(ret->s, "\n"));
    return status > 1 ? err_set(err, ERR_ENV, "git merge-base: %s", errout.s) : 0;
}

int git_is_ancestor(const struct git_place *at, const char *ancestor, const char *commit,
                    bool *ret_yes, struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf errout = BUF_INIT;
    int status;
    if (strcmp(ancestor, commit) == 0) {
        *ret_yes = true;
        return 0;
    }
    strv_pushl(&args, "merge-base", "--is-ancestor", ancestor, commit, NULL);
    if (git_try(at, &args, NULL, &errout, &status, err))
        return -1;
    if (status > 1)
        return fail_with_message(&errout, err);
    *ret_yes = status == 0;
    return 0;
}

/* Compares the ref with `to`: a killed git may have moved it all the same, or someone else may have
 * made the same move. */
static int check_moved(const struct git_place *at, const char *ref, const char *to, bool *ret_moved,
                       struct err *err)
{
    autobuf struct buf now = BUF_INIT;
    struct err why = {0};
    if (git_resolve(at, ref, &now, &why) && why.code != ERR_INPUT)
        return err_set(err, why.code, "%s", why.msg);
    *ret_moved = strcmp(now.s, to) == 0;
    return 0;
}

/* Only a run writes these refs, and a run is one process. So the owner of an old lock on them has
 * died. */
static bool is_our_ref(const char *ref)
{
    static const char refs[] = "refs/anabranch/", heads[] = "refs/heads/anabranch/";
    return strncmp(ref, refs, strlen(refs)) == 0 || strncmp(ref, heads, strlen(heads)) == 0;
}

/* A git of ours that is killed while it deletes a ref leaves this lock. */
static bool remove_packed_lock(const char *common, const struct buf *errout)
{
    autofree char *lock = mem_printf("%s/packed-refs.lock", common);
    return strstr(errout->s, "packed-refs.lock': File exists") &&
           dead_lock_remove(common, lock, 0, time_limit(LOCK_MS) / 2);
}

static bool remove_dead_lock(const struct git_place *at, const char *ref, const struct buf *errout)
{
    const char *common = at->common ? at->common : at->git_dir;
    autofree char *lock = mem_printf("%s/%s.lock", common, ref);
    return (is_our_ref(ref) && strstr(errout->s, ".lock': File exists") && unlink(lock) == 0) ||
           remove_packed_lock(common, errout);
}

static int update_ref(const struct git_place *at, const char *ref, const char *from, const char *to,
                      const char *why, struct buf *errout, int *ret_status, struct err *err)
{
    autostrv struct strv args = {0};
    if (is_our_ref(ref))
        strv_pushl(&args, "-c", "core.filesRefLockTimeout=1000", NULL);
    strv_pushl(&args, "update-ref", "--no-deref", "-m", why, NULL);
    if (*to)
        strv_pushl(&args, ref, to, *from ? from : GIT_NO_COMMIT, NULL);
    else
        strv_pushl(&args, "-d", ref, from, NULL);
    buf_cut(errout, 0);
    return git_try(at, &args, NULL, errout, ret_status, err);
}

int git_move_ref(const struct git_place *at, const char *ref, const char *from, const char *to,
                 const char *why, bool *ret_moved, struct err *err)
{
    autobuf struct buf errout = BUF_INIT;
    int status;
    if (at->batch && git_batch_move_ref(at->batch, ref, from, to, ret_moved, err))
        return -1;
    if (at->batch && *ret_moved)
        return 0;
    /* The batch did not move it. Try again with a separate process, which reports the reason. */
    for (bool retry = true; retry;) {
        if (update_ref(at, ref, from, to, why, &errout, &status, err))
            return -1;
        retry = status != 0 && remove_dead_lock(at, ref, &errout);
    }
    *ret_moved = status == 0;
    /* These messages say that the ref has moved; any other message is a failure. */
    if (status == 0)
        return 0;
    if (strstr(errout.s, "but expected") || strstr(errout.s, "already exists") ||
        strstr(errout.s, "unable to resolve reference"))
        return check_moved(at, ref, to, ret_moved, err);
    return fail_with_message(&errout, err);
}

/* While `git gc` packs a ref, it may seem to be at another commit for a moment: try again. */
static int delete_ref(const struct git_place *at, const char *ref, const char *was, const char *why,
                      struct err *err)
{
    bool moved = false;
    for (int tries = 0; !moved && tries < RACE_TRIES; tries++) {
        struct timespec pause = {.tv_nsec = tries * RACE_PAUSE_MS * 1000000L};
        autobuf struct buf now = BUF_INIT;
        (void)nanosleep(&pause, NULL);
        if (tries && (git_resolve(at, ref, &now, NULL) || strcmp(now.s, was) != 0))
            return 0;
        if (git_move_ref(at, ref, was, "", why, &moved, err))
            return -1;
    }
    return 0;
}

/* If one ref cannot be deleted, we still delete the others. */
int git_delete_refs(const struct git_place *at, const struct strv *refs, const char *why,
                    struct err *err)
{
    bool moved = false;
    int rc = 0;
    if (at->batch && refs->n && git_batch_delete_refs(at->batch, refs, &moved, err))
        return -1;
    for (size_t i = 0; !moved && i < refs->n; i += 2) {
        if (delete_ref(at, refs->v[i], refs->v[i + 1], why, rc ? NULL : err))
            rc = -1;
    }
    return rc;
}

static int commit_by_batch(struct git_batch *batch, const char *author, const char *tree,
                           const char *const *parents, const char *message, struct buf *ret_commit,
                           struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    buf_addf(&text, "tree %s\n", tree);
    for (; *parents; parents++)
        buf_addf(&text, "parent %s\n", *parents);
    buf_addf(&text, "author %s", author ? author : "");
    if (!author && git_batch_ident(batch, GIT_BATCH_AUTHOR, &text, err))
        return -1;
    buf_addstr(&text, "\ncommitter ");
    if (git_batch_ident(batch, GIT_BATCH_COMMITTER, &text, err))
        return -1;
    buf_addf(&text, "\n\n%s", message);
    if (text.s[text.len - 1] != '\n')
        buf_addch(&text, '\n');
    return git_batch_write(batch, GIT_BATCH_COMMIT, &text, ret_commit, err);
}

/* If signing fails, an unsigned commit is better than none. */
static bool commit_signed(const struct git_place *at, const char *author, const char *tree,
                          const char *const *parents, const char *message, struct buf *ret_commit)
{
    struct sign *sign = git_batch_sign(at->batch);
    if (!sign->on)
        return false;
    sign->on =
        sign_commit_tree(sign, at, author, tree, parents, message, ret_commit, &sign->failure) == 0;
    return sign->on;
}

int git_commit_tree(const struct git_place *at, const char *tree, const char *const *parents,
                    const char *message, struct buf *ret_commit, struct err *err)
{
    return git_commit_tree_by(at, NULL, tree, parents, message, ret_commit, err);
}

int git_commit_tree_by(const struct git_place *at, const char *author, const char *tree,
                       const char *const *parents, const char *message, struct buf *ret_commit,
                       struct err *err)
{
    autostrv struct strv args = {0};
    struct err refused = {0};
    if (at->batch && commit_signed(at, author, tree, parents, message, ret_commit))
        return 0;
    if (at->batch &&
        commit_by_batch(at->batch, author, tree, parents, message, ret_commit, &refused) == 0)
        return 0;
    if (!git_batch_refused(&refused))
        return err_set(err, refused.code, "%s", refused.msg);
    strv_pushl(&args, "commit-tree", tree, "-m", message, NULL);
    for (; *parents; parents++)
        strv_pushl(&args, "-p", *parents, NULL);
    size_t before = ret_commit->len;
    if (run_checked(at, &args, ret_commit, err))
        return -1;
    return ret_commit->len > before ? 0 : err_set(err, ERR_ENV, "git commit-tree printed no id");
}

const char *git_short_name(const char *ref)
{
    static const char heads[] = "refs/heads/";
    return str_begins(ref, heads) ? ref + strlen(heads) : ref;
}
