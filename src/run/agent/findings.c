#include "run/agent/findings.h"

#include "base/mem.h"
#include "git/state_paths.h"
#include "run/attempt/attempt.h"
#include "run/attempt/feedback.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "sys/fs/file.h"

#include <errno.h>

enum { FINDINGS_MAX = 1 << 20 };
static const char findings_file[] = "said";

int findings_keep(const struct attempt *attempt, struct err *err)
{
    autofree char *path = attempt_file(attempt, findings_file);
    autobuf struct buf raw = BUF_INIT, text = BUF_INIT;
    if (attempt->agent.report.text.len)
        buf_add(&raw, attempt->agent.report.text.s, attempt->agent.report.text.len);
    else if (run_engine(attempt->run, attempt->task) ==
             ENGINE_COMMAND) /* its output is plain text */
        attempt_read_tail(attempt, "out", &raw);
    struct secrets_cut cut = {.end = raw.len >= JSON_TEXT_MAX};
    secrets_mask_cut(&attempt->run->secrets, raw.s, raw.len, cut, &text);
    return file_replace_private(path, text.s, text.len, err);
}

static int add_findings(const struct run *run, const struct task *from, struct buf *prompt,
                        size_t *told, struct err *err)
{
    int attempt = run->tasks[from->index].status.attempts;
    autofree char *path = attempt_file_path(run->files.dir, from->id, attempt, findings_file);
    autobuf struct buf text = BUF_INIT;
    struct err why = {0};
    if (file_read(path, FINDINGS_MAX, &text, &why)) {
        if (why.errnum == ENOENT) /* not part of this run, or from an older one */
            return 0;
        *err = why;
        return -1;
    }
    if (!text.len)
        return 0;
    if (!(*told)++)
        buf_addstr(prompt, "\n\n# What was found before\n");
    buf_addf(prompt, "\n## By %s%s%s\n\n%s\n", from->id, from->title ? ": " : "",
             from->title ? from->title : "", text.s);
    return 0;
}

int findings_tell(const struct run *run, uint32_t task, struct buf *prompt, struct err *err)
{
    const struct task *t = &run->pf->plan.tasks[task];
    size_t told = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->dep_count; i++) {
        const struct task *from = &run->pf->plan.tasks[t->deps[i]];
        if (from->hand_on)
            rc = add_findings(run, from, prompt, &told, err);
    }
    return rc;
}
