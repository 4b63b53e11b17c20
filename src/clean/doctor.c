#include "clean/doctor.h"

#include "agent/agent.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "clean/disk_use.h"
#include "clean/doctor_probe.h"
#include "git/git.h"
#include "plan/words.h"
#include "run/prepare/provider.h"
#include "run/preflight.h"
#include "sys/contain/cgroup.h"
#include "sys/contain/contain.h"
#include "sys/fs/copy.h"
#include "sys/proc/capture.h"

#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { ANSWER_MAX = 64 << 10 };

const char *const verdict_words[VERDICT_COUNT_] = {"ok", "no", "bad"};

static enum verdict report_failure(struct finding *f, enum verdict verdict, const struct err *err)
{
    buf_addstr(&f->why, err->msg);
    return verdict;
}

/* Runs git outside of any particular repository. A failure of git is an error, too. */
static int run_git(const char *command, const char *argument, struct buf *out, struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    autobuf struct buf errors = BUF_INIT;
    int status;
    strv_pushl(&argv, "git", command, argument, NULL);
    git_environment(&env);
    if (proc_capture(argv.v, env.v, ANSWER_MAX, out, &errors, &status, err))
        return -1;
    while (out->len && out->s[out->len - 1] == '\n')
        buf_cut(out, out->len - 1);
    return status ? err_set(err, ERR_ENV, "git %s ended with %d", command, status) : 0;
}

static enum verdict examine_git(const struct probe *p, struct finding *f)
{
    struct err err = {0};
    (void)p;
    if (run_git("version", NULL, &f->why, &err) || preflight_git_version(f->why.s, &err)) {
        buf_cut(&f->why, 0);
        return report_failure(f, VERDICT_BAD, &err);
    }
    return VERDICT_OK;
}

static enum verdict examine_identity(const struct probe *p, struct finding *f)
{
    autobuf struct buf out = BUF_INIT;
    struct err err = {0};
    (void)p;
    bool known = run_git("var", "GIT_COMMITTER_IDENT", &out, &err) == 0;
    const char *end = known ? strchr(out.s, '>') : NULL;
    if (end)
        buf_add(&f->why, out.s, (size_t)(end - out.s) + 1);
    else
        buf_addstr(&f->why, "git does not know who you are: set user.name and user.email");
    return known ? VERDICT_OK : VERDICT_BAD;
}

static enum verdict examine_repository(const struct probe *p, struct finding *f)
{
    struct git_repo repo = {0};
    struct err err = {0};
    (void)p;
    if (git_open(&repo, ".", &err))
        return report_failure(f, VERDICT_BAD, &err);
    buf_addstr(&f->why,
               repo.root ? repo.root : "not in a repository: only read-only tasks can run");
    enum verdict verdict = repo.root ? VERDICT_OK : VERDICT_NO;
    git_close(&repo);
    return verdict;
}

static enum verdict examine_disk(const struct probe *p, struct finding *f)
{
    struct err err = {0};
    struct statvfs fs;
    (void)p;
    if (preflight_disk(".", &err))
        return report_failure(f, VERDICT_BAD, &err);
    if (statvfs(".", &fs) == 0)
        text_format_bytes(&f->why, (int64_t)(fs.f_bavail * fs.f_frsize));
    buf_addstr(&f->why, " free");
    return VERDICT_OK;
}

static enum verdict examine_reflink(const struct probe *p, struct finding *f)
{
    struct err err = {0};
    (void)p;
    if (copy_can_share(".", &err))
        return report_failure(f, VERDICT_NO, &err);
    buf_addstr(&f->why, "included files share their blocks with the originals");
    return VERDICT_OK;
}

/* Our own files in the repository. */
static enum verdict examine_disk_use(const struct probe *p, struct finding *f)
{
    enum disk_part part = (enum disk_part)p->number;
    struct git_repo repo = {0};
    struct disk_share share;
    struct err err = {0};
    int rc = git_open(&repo, ".", &err) || disk_look(&repo, part, &share, &err) ? -1 : 0;
    git_close(&repo);
    if (rc)
        return report_failure(f, VERDICT_NO, &err);
    f->count = (int64_t)share.count;
    f->bytes = share.bytes;
    f->partial = share.partial;
    if (share.count) {
        buf_addf(&f->why, "%zu with %s", share.count, share.partial ? "at least " : "");
        text_format_bytes(&f->why, share.bytes);
        buf_addf(&f->why, " in %s; %s", share.place.s, disk_end(part));
    } else {
        buf_addstr(&f->why, "none");
    }
    disk_share_done(&share);
    return VERDICT_OK;
}

static enum verdict examine_overlay(const struct probe *p, struct finding *f)
{
    struct git_repo repo = {0};
    struct err err = {0};
    (void)p;
    int rc = git_open(&repo, ".", &err) || provider_try_overlay(&repo, &err) ? -1 : 0;
    git_close(&repo);
    if (rc)
        return report_failure(f, VERDICT_NO, &err);
    buf_addstr(&f->why, geteuid() == 0 ? "works"
                                       : "works, in a user namespace without sudo and the like; "
                                         "used only on request");
    return VERDICT_OK;
}

static enum verdict examine_snapshot(const struct probe *p, struct finding *f)
{
    struct git_repo repo = {0};
    struct err err = {0};
    bool quick = false;
    (void)p;
    int rc =
        git_open(&repo, ".", &err) || provider_try_snapshot(&repo, NULL, &quick, &err) ? -1 : 0;
    git_close(&repo);
    if (rc)
        return report_failure(f, VERDICT_NO, &err);
    buf_addstr(&f->why, quick
                            ? "works"
                            : "works, but deleting one takes as long as its files do: the disk is "
                              "not mounted with user_subvol_rm_allowed");
    return VERDICT_OK;
}

/* The kind of workspace that a run would choose here. */
static enum verdict examine_provider(const struct probe *p, struct finding *f)
{
    static const char *const kind_names[] = {
        [PROVIDER_OVERLAY] = "overlays over one base tree",
        [PROVIDER_SNAPSHOT] = "snapshots of one base tree",
        [PROVIDER_AUTO] = "checkouts, reused in repositories of more than about 150 files",
    };
    const char *command = provider_of_environment();
    struct git_repo repo = {0};
    struct err err = {0};
    (void)p;
    if (command) {
        buf_addf(&f->why, "%s, set by ANABRANCH_PROVIDER", command);
        return VERDICT_OK;
    }
    if (git_open(&repo, ".", &err))
        return report_failure(f, VERDICT_NO, &err);
    buf_addstr(&f->why,
               repo.root ? kind_names[provider_best(&repo, NULL)] : "none outside a repository");
    git_close(&repo);
    return VERDICT_OK;
}

/* Starts a guard over a trivial command. */
static enum verdict examine_containment(const struct probe *p, struct finding *f)
{
    struct err err = {0};
    if (probe_guard(p->self, contain_words[p->number], &f->why, &err)) {
        buf_cut(&f->why, 0);
        return report_failure(f, p->number == CONTAIN_ANY ? VERDICT_BAD : VERDICT_NO, &err);
    }
    buf_cut(&f->why, 0);
    buf_addstr(&f->why, p->number == CONTAIN_NAMESPACE && geteuid() != 0
                            ? "works, in a user namespace without sudo and the like"
                            : "works");
    return VERDICT_OK;
}

static enum verdict examine_containment_used(const struct probe *p, struct finding *f)
{
    struct err err = {0};
    enum contain wanted;
    if (contain_wanted(&wanted, &err) ||
        probe_guard(p->self, contain_words[wanted], &f->why, &err)) {
        buf_cut(&f->why, 0);
        return report_failure(f, VERDICT_BAD, &err);
    }
    if (wanted != CONTAIN_ANY)
        buf_addstr(&f->why, ", set by ANABRANCH_CONTAIN");
    return VERDICT_OK;
}

static enum verdict examine_controllers(const struct probe *p, struct finding *f)
{
    static const char *const files[] = {"memory.max", "pids.max", "cpu.max"};
    autobuf struct buf place = BUF_INIT;
    struct cgroup cg = CGROUP_INIT;
    struct err err = {0};
    size_t writable = 0, count = ARRAY_LEN(files);
    (void)p;
    if (cgroup_place(&place, &err) || cgroup_make(&cg, place.s, "doctor", getpid(), &err))
        return report_failure(f, VERDICT_NO, &err);
    for (size_t i = 0; i < count; i++) {
        if (faccessat(cg.fd, files[i], W_OK, 0) == 0)
            buf_addf(&f->why, "%s%.*s", writable++ ? ", " : "", (int)strcspn(files[i], "."),
                     files[i]);
    }
    cgroup_remove(&cg);
    if (writable < count)
        buf_addf(&f->why, "%s: guards enforce the limits",
                 writable ? " only" : "none are delegated");
    return writable == count ? VERDICT_OK : VERDICT_NO;
}

static enum verdict examine_engine(const struct probe *p, struct finding *f)
{
    struct err err = {0};
    struct task none = {0};
    if (agent_check((enum agent_engine)p->number, &none, NULL, &err))
        return report_failure(f, VERDICT_NO, &err);
    buf_addstr(&f->why, "installed");
    if (agent_is_untested((enum agent_engine)p->number))
        buf_addstr(&f->why, "; untested: we follow its documentation");
    return VERDICT_OK;
}

static const struct {
    const char *name, *what;
    enum verdict (*examine)(const struct probe *p, struct finding *f);
    int number;
} rows[] = {
    {"git.version", "git", examine_git, 0},
    {"git.identity", "committer", examine_identity, 0},
    {"git.repository", "repository", examine_repository, 0},
    {"disk.space", "disk", examine_disk, 0},
    {"disk.reflink", "cheap copies", examine_reflink, 0},
    {"disk.workspaces", "workspaces", examine_disk_use, DISK_WORKSPACES},
    {"disk.leaving", "being deleted", examine_disk_use, DISK_LEAVING},
    {"disk.pristine", "base trees", examine_disk_use, DISK_BASE_TREES},
    {"disk.shared", "shared folders", examine_disk_use, DISK_SHARED},
    {"disk.logs", "logs of runs", examine_disk_use, DISK_LOGS},
    {"disk.vault", "copies of saved work", examine_disk_use, DISK_VAULT},
    {"disk.store", "files of the store", examine_disk_use, DISK_STORE},
    {"workspace.overlay", "overlays", examine_overlay, 0},
    {"workspace.snapshot", "snapshots", examine_snapshot, 0},
    {"workspace.used", "workspaces used", examine_provider, 0},
    {"contain.namespace", "pid namespace", examine_containment, CONTAIN_NAMESPACE},
    {"contain.cgroup", "cgroup", examine_containment, CONTAIN_CGROUP},
    {"contain.subreaper", "subreaper", examine_containment, CONTAIN_SUBREAPER},
    {"contain.group", "process groups", examine_containment, CONTAIN_GROUP},
    {"contain.used", "agents contained by", examine_containment_used, 0},
    {"cgroup.controllers", "kernel limits", examine_controllers, 0},
    {"engine.claude", "claude", examine_engine, ENGINE_CLAUDE},
    {"engine.codex", "codex", examine_engine, ENGINE_CODEX},
    {"engine.gemini", "gemini", examine_engine, ENGINE_GEMINI},
    {"engine.opencode", "opencode", examine_engine, ENGINE_OPENCODE},
    {"engine.qwen", "qwen", examine_engine, ENGINE_QWEN},
    {"engine.copilot", "copilot", examine_engine, ENGINE_COPILOT},
    {"engine.aider", "aider", examine_engine, ENGINE_AIDER},
};

bool doctor_examine(size_t i, const char *self, struct finding *ret)
{
    if (i >= ARRAY_LEN(rows))
        return false;
    struct probe p = {.self = self, .number = rows[i].number};
    *ret = (struct finding){
        .name = rows[i].name, .what = rows[i].what, .why = BUF_INIT, .count = -1, .bytes = -1};
    ret->verdict = rows[i].examine(&p, ret);
    return true;
}

void finding_done(struct finding *f)
{
    buf_done(&f->why);
}
