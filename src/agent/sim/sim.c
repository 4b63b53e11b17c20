#include "agent/sim/sim_private.h"
#include "sys/fs/file.h"

/* Fails because of an error in the script itself: no retry would help. */
static int fail_script(struct sim *sim, const struct err *why, struct err *err)
{
    if (sim_tell_error(sim, "internal", why->msg, err))
        return -1;
    return sim_finish(sim, 1, why->msg, err);
}

static int run_line(struct sim *sim, const char *s, size_t len, struct err *err)
{
    struct sim_call call;
    int rc = sim_call_parse(&call, s, len, sim->job->attempt, err);
    if (rc == 0 && call.due && (rc = call.step->run(sim, call.args.v, err)))
        (void)err_wrap(err, "%s", call.step->name);
    sim_call_done(&call);
    return rc;
}

/* If this fails, resuming the session will fail and report it. */
void sim_remember(const struct sim *sim)
{
    const struct sim_job *job = sim->job;
    if (job->memory)
        (void)file_replace(job->memory, sim->rest, (size_t)(job->prompt + job->len - sim->rest),
                           NULL);
}

static int do_script(struct sim *sim, struct err *err)
{
    const struct sim_job *job = sim->job;
    struct sim_script script = {job->prompt, job->prompt + job->len, 0};
    struct err why;
    const char *s;
    size_t len;
    bool steps = false;
    while (!sim->ended && sim_script_next(&script, &s, &len)) {
        steps = true;
        sim->line = script.line;
        sim->rest = script.at;
        if (run_line(sim, s, len, &why)) {
            (void)err_wrap(&why, "line %zu", sim->line);
            return fail_script(sim, &why, err);
        }
    }
    if (!steps && !job->session && sim_rehearse(sim, &why))
        return fail_script(sim, &why, err);
    return 0;
}

int sim_run(const struct sim_job *job, int *ret_code, struct err *err)
{
    struct sim sim = {.job = job, .said = BUF_INIT};
    int rc = sim_tell_start(&sim, err);
    if (rc == 0)
        rc = do_script(&sim, err);
    if (rc == 0 && !sim.ended)
        rc = sim_finish(&sim, 0, NULL, err);
    if (rc == 0)
        *ret_code = sim.code;
    buf_done(&sim.said);
    return rc;
}
