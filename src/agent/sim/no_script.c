/* For a prompt that was written for a real agent: sim touches only files that such an agent may
 * touch. */
#include "agent/sim/sim_private.h"
#include "base/mem.h"
#include "base/text/glob.h"
#include "base/text/str.h"
#include "plan/schedule/claims.h"

#include <string.h>
#include <sys/stat.h>

/* True if an owned path names one file: it is a file, or does not exist and looks like one. */
static bool is_file(const char *owned, const char *claim)
{
    struct stat st;
    size_t len = strlen(owned);
    if (claim[strcspn(claim, "*?[\\")] || (len && owned[len - 1] == '/'))
        return false;
    if (stat(claim, &st) == 0)
        return !S_ISDIR(st.st_mode);
    return strchr(str_last_part(claim), '.');
}

/* Finds a path that both patterns match. */
static bool find_common_path(const struct glob *own, const char *wanted, struct buf *path)
{
    struct glob *glob = glob_new(wanted, false);
    bool found = glob && glob_overlap(own, glob, path);
    glob_free(glob);
    return found;
}

/* Finds the path in the claim that is most similar to rehearsal-TASK.txt; every claim matches some
 * path. */
static bool find_path(const struct glob *own, const char *name, struct buf *path)
{
    static const char *const around[][2] = {{"**/", ".txt"}, {"**/", "*"}, {"**/*", "*"}};
    for (size_t i = 0; i < ARRAY_LEN(around); i++) {
        autofree char *wanted = mem_printf("%s%s%s", around[i][0], name, around[i][1]);
        if (find_common_path(own, wanted, path))
            return true;
    }
    return find_common_path(own, "", path);
}

static int choose_path(const struct sim *sim, const char *owned, struct buf *path, struct err *err)
{
    autobuf struct buf claim = BUF_INIT;
    const char *task = sim->job->task;
    autofree char *name = mem_printf("rehearsal%s%s", task ? "-" : "", task ? task : "");
    const char *wrong = claim_normalise(owned, "", &claim);
    if (wrong)
        return err_set(err, ERR_INPUT, "the owned path '%.200s' %s", owned, wrong);
    if (is_file(owned, claim.s)) {
        buf_addstr(path, claim.s);
        return 0;
    }
    struct glob *own = glob_new(claim.s, false);
    bool found = own && find_path(own, name, path);
    glob_free(own);
    return found ? 0 : err_set(err, ERR_INPUT, "the owned path '%.200s' has no path in it", owned);
}

static int touch_path(struct sim *sim, const char *owned, struct err *err)
{
    autobuf struct buf path = BUF_INIT;
    if (choose_path(sim, owned, &path, err))
        return -1;
    autofree char *action = mem_printf("write %s", path.s);
    autofree char *text =
        mem_printf("rehearsal%s%s, attempt %lld", sim->job->task ? " of " : "",
                   sim->job->task ? sim->job->task : "", (long long)sim->job->attempt);
    if (sim_tell(sim, "action", action, err))
        return -1;
    return sim_do_append(sim, (char *const[]){path.s, text, NULL}, err);
}

int sim_rehearse(struct sim *sim, struct err *err)
{
    size_t files = 0;
    for (const char *s = sim->job->owns ? sim->job->owns : ""; *s; s += *s == '\n') {
        size_t len = strcspn(s, "\n");
        autofree char *owned = mem_dup(s, len);
        if (len && touch_path(sim, owned, err))
            return -1;
        files += len > 0;
        s += len;
    }
    if (!files && touch_path(sim, "", err))
        return -1;
    return sim_sleep(sim->job->estimate / 1000, err);
}
