#include "git/merge/merge_process.h"

#include "base/mem.h"
#include "git/batch.h"
#include "git/format/hash.h"
#include "git/git.h"
#include "git/merge/merge.h"
#include "git/merge/merge_attributes.h"
#include "sys/proc/coproc.h"
#include "sys/proc/spawn.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FIRST = 3,       /* merges that are not worth it */
    MERGES_MAX = 64, /* of one process: what it has read stays in its memory */
    FAILURES_MAX = 2,
    PROBE_MS = 1000
};

struct merger {
    char *git_dir;
    char *nowhere; /* a folder without folders, where there are no attributes to find */
    struct coproc proc;
    struct buf seen; /* what the process, and the judgement of the settings, rely on */
    struct simple_trees simple;
    unsigned asked, made, failures; /* made: by this process */
    bool flushes;                   /* by its version */
    bool fit;                       /* by the settings */
    bool proven;                    /* it has answered once */
    bool given_up;
};

struct merger *merger_new(const char *git_dir)
{
    struct merger *m = mem_alloc(sizeof(*m));
    m->git_dir = mem_str(git_dir);
    m->nowhere = mem_printf("%s/objects/pack", git_dir);
    m->seen = (struct buf)BUF_INIT;
    coproc_init(&m->proc);
    return m;
}

void merger_free(struct merger *m)
{
    if (!m)
        return;
    (void)coproc_stop(&m->proc);
    simple_trees_done(&m->simple);
    buf_done(&m->seen);
    free(m->nowhere);
    free(m->git_dir);
    free(m);
}

void merger_hang_up(struct merger *m)
{
    coproc_hang_up(&m->proc);
}

void merger_learn_version(struct merger *m, const char *version)
{
    const char *number = version + strcspn(version, "0123456789");
    char *dot;
    long major = strtol(number, &dot, 10), minor = *dot == '.' ? strtol(dot + 1, NULL, 10) : 0;
    m->flushes = major > 2 || (major == 2 && minor >= 49);
}

/* --- what it relies on -------------------------------------------------------------------- */

static void add_packs(const struct merger *m, struct buf *out)
{
    DIR *dir = opendir(m->nowhere);
    for (struct dirent *e; dir && (e = readdir(dir));)
        buf_addf(out, "%s\n", e->d_name);
    if (dir)
        (void)closedir(dir);
}

static void add_file(const struct merger *m, const char *name, struct buf *out)
{
    autofree char *path = mem_printf("%s/%s", m->git_dir, name);
    struct stat st;
    if (stat(path, &st) == 0)
        buf_addf(out, "%s %llu %lld %lld.%09ld\n", name, (unsigned long long)st.st_ino,
                 (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

/* What git reads when it starts and does not look at again, or not always. */
static void look(const struct merger *m, struct buf *out)
{
    static const char *const files[] = {"config",      "config.worktree",         "shallow",
                                        "info/grafts", "objects/info/alternates", "refs/replace"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        add_file(m, files[i], out);
    add_packs(m, out);
}

/* Whether no setting makes a merge depend on where it is made: drivers and filters are run there,
 * and a file of attributes may be given relative to it. */
static bool has_fit_settings(const struct merger *m)
{
    static const char keys[] =
        "^(core\\.attributesfile|merge\\.(default|renormalize|.*\\.driver))$";
    struct git_place at = {.git_dir = m->git_dir};
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT;
    int status;
    strv_pushl(&args, "config", "--name-only", "--get-regexp", keys, NULL);
    return git_try(&at, &args, &out, NULL, &status, NULL) == 0 && status == 1 && !out.len;
}

static bool exists(const char *folder, const char *name)
{
    autofree char *path = mem_printf("%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static bool is_id(const char *s)
{
    size_t len = strspn(s, "0123456789abcdef");
    return !s[len] && (len == GIT_HASH_SHA1 || len == GIT_HASH_MAX);
}

static bool is_simple(struct merger *m, const struct git_place *at, const char *base,
                      const char *commit)
{
    struct err err = {0}; /* for git to tell */
    bool simple = false;
    return simple_trees_since(&m->simple, at->batch, base, commit, &simple, &err) == 0 && simple;
}

/* The cheap questions first. */
static bool may_merge(struct merger *m, const struct git_place *at, const char *base,
                      const char *ours, const char *theirs)
{
    return is_id(base) && is_id(ours) && is_id(theirs) && !at->common &&
           strcmp(at->git_dir, m->git_dir) == 0 && !exists(m->git_dir, "info/attributes") &&
           !(at->work_tree && exists(at->work_tree, ".gitattributes")) &&
           is_simple(m, at, base, ours) && is_simple(m, at, base, theirs);
}

/* --- the process -------------------------------------------------------------------------- */

static int start(struct merger *m, struct err *err)
{
    struct git_place at = {.git_dir = m->git_dir, .work_tree = m->nowhere};
    autostrv struct strv argv = {0}, env = {0};
    if (!m->flushes)
        strv_pushl(&argv, "stdbuf", "-o0", NULL);
    git_prepare(&at, &argv, &env);
    strv_pushl(&argv, "-C", m->nowhere, "merge-tree", "--write-tree", "--name-only",
               "--no-messages", "--stdin", NULL);
    m->made = 0;
    return coproc_start(&m->proc, argv.v, env.v, SPAWN_NONE, err);
}

/* "1" or "0" for clean or not, the tree's id, the paths in conflict, an empty one: each with a NUL
 * behind it, and nothing more. */
static int read_answer(struct merger *m, size_t id_len, struct merge_result *ret, struct err *err)
{
    autobuf struct buf clean = BUF_INIT;
    size_t before;
    if (coproc_read_word(&m->proc, &clean, err) || coproc_read_word(&m->proc, &ret->tree, err))
        return -1;
    do {
        before = ret->conflicts.len;
        if (coproc_read_word(&m->proc, &ret->conflicts, err))
            return -1;
        buf_addch(&ret->conflicts, '\0');
    } while (ret->conflicts.len > before + 1);
    buf_cut(&ret->conflicts, before);
    ret->clean = strcmp(clean.s, "1") == 0;
    bool good = is_id(ret->tree.s) && ret->tree.len == id_len && !m->proc.pending.len &&
                (ret->clean ? !ret->conflicts.len : strcmp(clean.s, "0") == 0);
    return good ? 0 : err_set(err, ERR_ENV, "not an answer");
}

static int ask(struct merger *m, const char *ours, const char *theirs, struct merge_result *ret,
               struct err *err)
{
    autobuf struct buf line = BUF_INIT;
    buf_addf(&line, "%s %s\n", ours, theirs);
    return coproc_write(&m->proc, line.s, line.len, err) || read_answer(m, strlen(ours), ret, err)
               ? -1
               : 0;
}

/* A merge that changes nothing tells whether answers come before the end of all questions. */
static int prove(struct merger *m, const struct git_place *at, const char *commit, struct err *err)
{
    automerge struct merge_result r = MERGE_RESULT_INIT;
    autobuf struct buf tree = BUF_INIT;
    if (m->proven)
        return 0;
    m->proc.wait_ms = PROBE_MS;
    if (git_tree_of(at, commit, &tree, err) || ask(m, commit, commit, &r, err))
        return -1;
    m->proc.wait_ms = 0;
    m->proven = r.clean && strcmp(r.tree.s, tree.s) == 0;
    return m->proven ? 0 : err_set(err, ERR_ENV, "not the answer");
}

static void failed(struct merger *m)
{
    (void)coproc_stop(&m->proc);
    m->given_up = !m->proven || ++m->failures == FAILURES_MAX;
}

/* Stops a process that no longer sees what is there, and judges the settings again. */
static void look_again(struct merger *m)
{
    autobuf struct buf now = BUF_INIT;
    look(m, &now);
    bool same = now.len == m->seen.len && memcmp(now.s, m->seen.s, now.len) == 0;
    if (!same || m->made == MERGES_MAX)
        (void)coproc_stop(&m->proc);
    if (same)
        return;
    m->fit = has_fit_settings(m);
    buf_cut(&m->seen, 0);
    buf_add(&m->seen, now.s, now.len);
}

static bool get_ready(struct merger *m, const struct git_place *at, const char *commit)
{
    look_again(m);
    if (!m->fit || coproc_running(&m->proc))
        return m->fit;
    m->given_up = !m->flushes && !spawn_finds("stdbuf");
    if (m->given_up)
        return false;
    if (start(m, NULL) == 0 && prove(m, at, commit, NULL) == 0)
        return true;
    failed(m);
    return false;
}

bool merger_merge(struct merger *m, const struct git_place *at, const char *base, const char *ours,
                  const char *theirs, struct merge_result *ret)
{
    automerge struct merge_result r = MERGE_RESULT_INIT;
    if (m->given_up || ++m->asked <= FIRST || !may_merge(m, at, base, ours, theirs) ||
        !get_ready(m, at, ours))
        return false;
    if (ask(m, ours, theirs, &r, NULL)) {
        failed(m);
        return false;
    }
    m->made++;
    struct merge_result old = *ret;
    *ret = r;
    r = old;
    return true;
}
