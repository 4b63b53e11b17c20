#include "clean/doctor.h"

#include "agent/agent.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "clean/disk_use.h"
#include "clean/doctor_probe.h"
#include "git/git.h"
#include "plan/words.h"
#include "run/preflight.h"
#include "run/prepare/provider.h"
#include "sys/contain/cgroup.h"
#include "sys/contain/contain.h"
#include "sys/fs/copy.h"
#include "sys/proc/capture.h"

#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { ANSWER_MAX = 64 << 10 };

const char *const verdict_words[VERDICT_COUNT_] = {"ok", "no", "bad"};

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

static int examine_git(const struct probe *p, struct finding *f, struct err *err)
{
    (void)p;
    return run_git("version", NULL, &f->why, err) || preflight_git_version(f->why.s, err) ? -1 : 0;
}

static int examine_identity(const struct probe *p, struct finding *f, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    (void)p;
    if (run_git("var", "GIT_COMMITTER_IDENT", &out, err))
        return err_set(err, ERR_ENV, "git does not know who you are: set user.name and user.email");
    buf_add(&f->why, out.s, strcspn(out.s, ">") + 1);
    return 0;
}

static int examine_repository(const struct probe *p, struct finding *f, struct err *err)
{
    autorepo struct git_repo repo = {0};
    (void)p;
    if (git_open(&repo, ".", err))
        return -1;
    buf_addstr(&f->why,
               repo.root ? repo.root : "not in a repository: only read-only tasks can run");
    f->verdict = repo.root ? VERDICT_OK : VERDICT_NO;
    return 0;
}

static int examine_disk(const struct probe *p, struct finding *f, struct err *err)
{
    struct statvfs fs;
    (void)p;
    if (preflight_disk(".", err))
        return -1;
    if (statvfs(".", &fs) == 0)
        text_format_bytes(&f->why, (int64_t)(fs.f_bavail * fs.f_frsize));
    buf_addstr(&f->why, " free");
    return 0;
}

static int examine_reflink(const struct probe *p, struct finding *f, struct err *err)
{
    (void)p;
    if (copy_can_share(".", err))
        return -1;
    buf_addstr(&f->why, "included files share their blocks with the originals");
    return 0;
}

/* Our own files in the repository. */
static int examine_disk_use(const struct probe *p, struct finding *f, struct err *err)
{
    enum disk_part part = (enum disk_part)p->number;
    autorepo struct git_repo repo = {0};
    struct disk_share share;
    if (git_open(&repo, ".", err) || disk_look(&repo, part, &share, err))
        return -1;
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
    return 0;
}

static int examine_overlay(const struct probe *p, struct finding *f, struct err *err)
{
    autorepo struct git_repo repo = {0};
    (void)p;
    if (git_open(&repo, ".", err) || provider_try_overlay(&repo, err))
        return -1;
    buf_addstr(&f->why, geteuid() == 0 ? "works"
                                       : "works, in a user namespace without sudo and the like; "
                                         "used only on request");
    return 0;
}

static int examine_snapshot(const struct probe *p, struct finding *f, struct err *err)
{
    autorepo struct git_repo repo = {0};
    bool quick = false;
    (void)p;
    if (git_open(&repo, ".", err) || provider_try_snapshot(&repo, NULL, &quick, err))
        return -1;
    buf_addstr(&f->why, quick
                            ? "works"
                            : "works, but deleting one takes as long as its files do: the disk is "
                              "not mounted with user_subvol_rm_allowed");
    return 0;
}

/* The kind of workspace that a run would choose here. */
static int examine_provider(const struct probe *p, struct finding *f, struct err *err)
{
    static const char *const kind_names[] = {
        [PROVIDER_OVERLAY] = "overlays over one base tree",
        [PROVIDER_SNAPSHOT] = "snapshots of one base tree",
        [PROVIDER_AUTO] = "checkouts, reused in repositories of more than about 150 files",
    };
    const char *command = provider_of_environment();
    autorepo struct git_repo repo = {0};
    (void)p;
    if (command) {
        buf_addf(&f->why, "%s, set by ANABRANCH_PROVIDER", command);
        return 0;
    }
    if (git_open(&repo, ".", err))
        return -1;
    buf_addstr(&f->why,
               repo.root ? kind_names[provider_best(&repo, NULL)] : "none outside a repository");
    return 0;
}

/* Starts a guard over a trivial command. */
static int examine_containment(const struct probe *p, struct finding *f, struct err *err)
{
    if (probe_guard(p->self, contain_words[p->number], &f->why, err))
        return -1;
    buf_cut(&f->why, 0);
    buf_addstr(&f->why, p->number == CONTAIN_NAMESPACE && geteuid() != 0
                            ? "works, in a user namespace without sudo and the like"
                            : "works");
    return 0;
}

static int examine_containment_used(const struct probe *p, struct finding *f, struct err *err)
{
    enum contain wanted;
    if (contain_wanted(&wanted, err) || probe_guard(p->self, contain_words[wanted], &f->why, err))
        return -1;
    if (wanted != CONTAIN_ANY)
        buf_addstr(&f->why, ", set by ANABRANCH_CONTAIN");
    return 0;
}

static int examine_controllers(const struct probe *p, struct finding *f, struct err *err)
{
    static const char *const files[] = {"memory.max", "pids.max", "cpu.max"};
    autobuf struct buf place = BUF_INIT;
    struct cgroup cg = CGROUP_INIT;
    size_t writable = 0, count = ARRAY_LEN(files);
    (void)p;
    if (cgroup_place(&place, err) || cgroup_make(&cg, place.s, "doctor", getpid(), err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (faccessat(cg.fd, files[i], W_OK, 0) == 0)
            buf_addf(&f->why, "%s%.*s", writable++ ? ", " : "", (int)strcspn(files[i], "."),
                     files[i]);
    }
    cgroup_remove(&cg);
    if (writable < count)
        buf_addf(&f->why, "%s: guards enforce the limits",
                 writable ? " only" : "none are delegated");
    f->verdict = writable == count ? VERDICT_OK : VERDICT_NO;
    return 0;
}

static int examine_engine(const struct probe *p, struct finding *f, struct err *err)
{
    struct task none = {0};
    if (agent_check((enum agent_engine)p->number, &none, NULL, err))
        return -1;
    buf_addstr(&f->why, "installed");
    if (agent_is_untested((enum agent_engine)p->number))
        buf_addstr(&f->why, "; untested: we follow its documentation");
    return 0;
}

static const struct {
    const char *name, *what;
    int (*examine)(const struct probe *p, struct finding *f, struct err *err);
    enum verdict otherwise; /* if it fails */
    int number;
} rows[] = {
    {"git.version", "git", examine_git, VERDICT_BAD},
    {"git.identity", "committer", examine_identity, VERDICT_BAD},
    {"git.repository", "repository", examine_repository, VERDICT_BAD},
    {"disk.space", "disk", examine_disk, VERDICT_BAD},
    {"disk.reflink", "cheap copies", examine_reflink, VERDICT_NO},
    {"disk.workspaces", "workspaces", examine_disk_use, VERDICT_NO, DISK_WORKSPACES},
    {"disk.leaving", "being deleted", examine_disk_use, VERDICT_NO, DISK_LEAVING},
    {"disk.pristine", "base trees", examine_disk_use, VERDICT_NO, DISK_BASE_TREES},
    {"disk.shared", "shared folders", examine_disk_use, VERDICT_NO, DISK_SHARED},
    {"disk.logs", "logs of runs", examine_disk_use, VERDICT_NO, DISK_LOGS},
    {"disk.vault", "copies of saved work", examine_disk_use, VERDICT_NO, DISK_VAULT},
    {"disk.store", "files of the store", examine_disk_use, VERDICT_NO, DISK_STORE},
    {"workspace.overlay", "overlays", examine_overlay, VERDICT_NO},
    {"workspace.snapshot", "snapshots", examine_snapshot, VERDICT_NO},
    {"workspace.used", "workspaces used", examine_provider, VERDICT_NO},
    {"contain.namespace", "pid namespace", examine_containment, VERDICT_NO, CONTAIN_NAMESPACE},
    {"contain.cgroup", "cgroup", examine_containment, VERDICT_NO, CONTAIN_CGROUP},
    {"contain.subreaper", "subreaper", examine_containment, VERDICT_NO, CONTAIN_SUBREAPER},
    {"contain.group", "process groups", examine_containment, VERDICT_NO, CONTAIN_GROUP},
    {"contain.used", "agents contained by", examine_containment_used, VERDICT_BAD},
    {"cgroup.controllers", "kernel limits", examine_controllers, VERDICT_NO},
    {"engine.claude", "claude", examine_engine, VERDICT_NO, ENGINE_CLAUDE},
    {"engine.codex", "codex", examine_engine, VERDICT_NO, ENGINE_CODEX},
    {"engine.gemini", "gemini", examine_engine, VERDICT_NO, ENGINE_GEMINI},
    {"engine.opencode", "opencode", examine_engine, VERDICT_NO, ENGINE_OPENCODE},
    {"engine.qwen", "qwen", examine_engine, VERDICT_NO, ENGINE_QWEN},
    {"engine.copilot", "copilot", examine_engine, VERDICT_NO, ENGINE_COPILOT},
    {"engine.aider", "aider", examine_engine, VERDICT_NO, ENGINE_AIDER},
};

bool doctor_examine(size_t i, const char *self, struct finding *ret)
{
    if (i >= ARRAY_LEN(rows))
        return false;
    struct err err = {0};
    struct probe p = {.self = self, .number = rows[i].number};
    *ret = (struct finding){
        .name = rows[i].name, .what = rows[i].what, .why = BUF_INIT, .count = -1, .bytes = -1};
    if (rows[i].examine(&p, ret, &err)) {
        buf_cut(&ret->why, 0);
        buf_addstr(&ret->why, err.msg);
        ret->verdict = rows[i].otherwise;
    }
    return true;
}

void finding_done(struct finding *f)
{
    buf_done(&f->why);
}
