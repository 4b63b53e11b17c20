#include "cli/run/run_call.h"

#include "base/text/text.h"
#include "cli/common/plan_opts.h"
#include "cli/run/detach.h"
#include "cli/run/run_end.h"
#include "cli/run/run_view.h"
#include "sys/term.h"
#include "view/dry_run_text.h"

#include <string.h>
#include <unistd.h>

static enum run_view_kind get_view_kind(const struct run_call *call)
{
    if (call->json)
        return VIEW_JSON;
    if (detach_is_there())
        return call->quiet ? VIEW_PROBLEMS : VIEW_LINES;
    if (call->dashboard || (!call->no_dashboard && !call->quiet && run_view_can_draw(stdout)))
        return VIEW_LIVE;
    return call->quiet ? VIEW_PROBLEMS : VIEW_LINES;
}

static enum run_end_show get_summary_kind(const struct run_call *call)
{
    return call->json ? RUN_END_NOTHING : call->quiet ? RUN_END_PROBLEMS : RUN_END_ALL;
}

int run_call_check(const struct run_call *call, const struct command *cmd,
                   struct run_options *run_options)
{
    if (call->dashboard && (call->no_dashboard || call->json))
        return cli_usage(cmd, "--dashboard and --%s do not go together",
                         call->json ? "json" : "no-dashboard");
    if (call->dashboard && call->detach)
        return cli_usage(cmd, "--dashboard and --detach do not go together");
    if (run_end_check(&call->reports, run_options->log_dir) != EXIT_OK ||
        (call->engine && plan_find_engine(call->engine, &run_options->engine)))
        return EXIT_USAGE;
    run_options->no_wait = run_options->no_wait || call->no_wait;
    if (call->timeout &&
        (run_options->timeout = text_parse_duration(call->timeout, strlen(call->timeout))) <= 0)
        return cli_usage(cmd, "--timeout: '%s' is not a duration", call->timeout);
    return EXIT_OK;
}

/* We print to standard error, because the output may be redirected. A run that could not begin left
 * nothing to resume. */
static void print_how_to_resume(const struct run *run)
{
    if (access(run_dir(run), F_OK) == 0)
        (void)fprintf(stderr, "To resume this run: anabranch resume %s\n", run_id(run));
}

int run_call_go(const struct run_call *call, struct run *run, const struct plan_file *pf,
                const bool *wanted)
{
    struct err err = {0};
    struct run_view view;
    detach_arrive(run);
    run_view_begin(&view, get_view_kind(call), stdout, run, pf, wanted);
    int rc = run_go(run, &err);
    run_view_end(&view);
    int code = rc ? cli_fail(EXIT_ENV, "%s", err.msg) : run_result(run).exit_code;
    code = run_end(run, get_summary_kind(call), &call->reports, code);
    if (rc || run_result(run).signal)
        print_how_to_resume(run);
    return code;
}

static int print_dry_run(struct run *run, struct plan_file *pf, const bool *wanted)
{
    autobuf struct buf out = BUF_INIT;
    dry_run_text(run, pf, wanted, isatty(STDOUT_FILENO) ? term_columns(STDOUT_FILENO) : 0, &out);
    return cli_print(out.s, out.len);
}

int run_call_open(const struct run_call *call, struct plan_file *pf, const char *path,
                  const struct run_options *ro, bool dry_run)
{
    struct err err = {0};
    struct run *run;
    if (!dry_run)
        plan_file_forget_tree(pf);
    if (run_open(&run, pf, path, ro, &err))
        return cli_fail_by(&err);
    int code =
        dry_run ? print_dry_run(run, pf, ro->wanted) : run_call_go(call, run, pf, ro->wanted);
    run_close(run);
    return code;
}
