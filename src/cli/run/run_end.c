#include "cli/run/run_end.h"

#include "sys/fs/dirs.h"
#include "view/report/kept_ref.h"
#include "view/report/summary.h"

int run_end_check(const struct opt_list *reports, const char *log_dir)
{
    struct err err = {0};
    for (size_t i = 0; i < reports->n; i++) {
        enum report_format format;
        if (report_format_of(reports->v[i], &format, &err) || report_check(reports->v[i], &err))
            return cli_fail(EXIT_USAGE, "--report: %s", err.msg);
    }
    if (log_dir && dirs_check(log_dir, &err))
        return cli_fail(EXIT_USAGE, "--log-dir: %s", err.msg);
    return EXIT_OK;
}

static void print_summary(const struct run *run, const struct report *r, bool quiet)
{
    autobuf struct buf out = BUF_INIT;
    struct run_result result = run_result(run);
    summary(r, quiet, &out);
    summary_result(&result, run_base(run), &out);
    (void)cli_print(out.s, out.len); /* output_end() reports a failure */
}

static int write_reports(const struct report *r, const struct report_source *from,
                         const struct opt_list *reports)
{
    struct err err = {0};
    int code = EXIT_OK;
    for (size_t i = 0; i < reports->n; i++) {
        enum report_format format = REPORT_JSON;
        if (report_format_of(reports->v[i], &format, &err) ||
            report_write(r, from, format, reports->v[i], &err))
            code = cli_fail(EXIT_ENV, "cannot write the report: %s", err.msg);
    }
    return code;
}

int run_end(const struct run *run, enum run_end_show show, const struct opt_list *reports, int code)
{
    struct err err = {0};
    autostore struct store *store = NULL;
    autoreport struct report r = {0};
    if (store_open(&store, run_state_dir(run), false, &err) ||
        report_load(&r, store, run_state_dir(run), run_id(run), &err)) {
        if (code != EXIT_ENV) /* an earlier message mostly has the same cause */
            (void)cli_fail(EXIT_ENV, "cannot make the summary: %s", err.msg);
        return code == EXIT_OK ? EXIT_ENV : code;
    }
    struct report_source from = {.store = store, .git_dir = run_repo(run)->common};
    if (!run_result(run).published && report_find_kept(&r, from.git_dir, &err))
        code = cli_fail(EXIT_ENV, "%s", err.msg);
    report_find_merge_place(&r, run_repo(run));
    int written = write_reports(&r, &from, reports);
    if (show != RUN_END_NOTHING)
        print_summary(run, &r, show == RUN_END_PROBLEMS);
    return code == EXIT_OK ? written : code;
}
