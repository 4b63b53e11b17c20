#include "base/arena.h"
#include "cli/common/plan_opts.h"
#include "cli/frame/commands.h"
#include "project/config_file.h"
#include "project/plan_file.h"
#include "sys/term.h"
#include "view/plan/graph.h"
#include "view/plan/json.h"
#include "view/plan/text.h"

#include <unistd.h>

enum graph_format { GRAPH_NONE, GRAPH_DOT, GRAPH_MERMAID };

struct check_opts {
    struct plan_opts plan;
    bool json, strict;
    int graph;
};

static int print_json(const struct plan_file *pf, const struct problems *ps, struct buf *out)
{
    autoarena struct arena a = {0};
    autoproblems struct problems none;
    problems_init(&none, ps->file);
    int rc = doc_write(out, plan_json(pf, ps, &a), DOC_JSON, &none);
    return rc == 0 ? cli_print(out->s, out->len) : cli_fail(EXIT_ENV, "the plan has no JSON form");
}

static int print_plan(struct plan_file *pf, const struct check_opts *opts)
{
    autobuf struct buf out = BUF_INIT;
    if (opts->graph == GRAPH_DOT)
        plan_graph_dot(pf, &out);
    else if (opts->graph == GRAPH_MERMAID)
        plan_graph_mermaid(pf, &out);
    else
        plan_text(pf, isatty(STDOUT_FILENO) ? term_columns(STDOUT_FILENO) : 0, &out);
    return cli_print(out.s, out.len);
}

/* Checks the configuration that a run of the plan would read. Prints problems and returns false. */
static bool check_config(const struct plan_file *pf)
{
    autoconfig struct config_file cf;
    autobuf struct buf wrong = BUF_INIT;
    const char *root = pf->repo.root ? pf->repo.root : pf->project;
    int rc = config_file_open(&cf, root, &wrong, NULL);
    (void)fwrite(wrong.s, 1, wrong.len, stderr);
    return rc == 0;
}

static int run_check(const void *options, char **argv)
{
    const struct check_opts *opts = options;
    if (opts->json && opts->graph != GRAPH_NONE)
        return cli_usage(&cmd_check, "--json and --graph do not go together");
    autoproblems struct problems ps;
    autoplan struct plan_file pf;
    problems_init(&ps, argv[0]);
    struct doc_options doc = plan_doc_options(&opts->plan);
    (void)plan_file_open(&pf, argv[0], &doc, &ps);
    bool passes = !ps.errors && !(opts->strict && ps.warnings) && check_config(&pf);

    autobuf struct buf out = BUF_INIT;
    int printed = EXIT_OK;
    if (opts->json) {
        printed = print_json(&pf, &ps, &out);
    } else {
        plan_print_problems(&ps);
        if (!ps.errors)
            printed = print_plan(&pf, opts);
    }
    return printed != EXIT_OK ? printed : passes ? EXIT_OK : EXIT_USAGE;
}

static const char *const graph_formats[] = {"none", "dot", "mermaid", NULL};

static const struct opt opts_table[] = {
    {"json", 0, OPT_FLAG, offsetof(struct check_opts, json), NULL, NULL,
     "Print the problems, the plan in canonical form and its graph as JSON"},
    {"graph", 0, OPT_CHOICE, offsetof(struct check_opts, graph), "FORMAT", graph_formats,
     "Print the graph of the plan in this format"},
    {"strict", 0, OPT_FLAG, offsetof(struct check_opts, strict), NULL, NULL,
     "Fail on warnings too"},
    PLAN_OPTS,
    {0},
};

const struct command cmd_check = {
    .name = "check",
    .summary = "Check a plan, and show what it would do",
    .about =
        "Reads a plan in any syntax (YAML, TOML, JSON, or Markdown that holds one of them) and "
        "reports all problems at once, as file:line:column: path: message. If the plan has no "
        "errors, the command shows it in a readable form: its tasks by stage, the paths and "
        "dependencies of each, and the critical path.\n\n"
        "The command runs nothing and changes nothing.",
    .examples = "anabranch check plan.md\tCheck a plan and show its stages\n"
                "anabranch check --strict plan.toml\tFail on warnings too, as in CI\n"
                "anabranch check --graph dot plan.md | dot -Tsvg >plan.svg\tDraw it\n"
                "generate | anabranch check --json -\tCheck the output of another program\n",
    .args = plan_args,
    .opts = opts_table,
    .options_size = sizeof(struct check_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-plan(5)",
    .run = run_check,
};
