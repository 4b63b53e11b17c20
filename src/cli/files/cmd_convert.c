#include "cli/common/plan_opts.h"
#include "cli/frame/commands.h"
#include "plan/plan.h"

struct convert_opts {
    struct plan_opts plan;
    int to; /* index into targets */
};

static const char *const targets[] = {"yaml", "toml", "json", NULL};
static const enum doc_syntax target_syntax[] = {DOC_YAML, DOC_TOML, DOC_JSON};

static int run_convert(const void *options, char **argv)
{
    const struct convert_opts *opts = options;
    autoproblems struct problems ps;
    problems_init(&ps, argv[0]);
    autodoc struct doc doc;
    struct doc_options doc_opts = plan_doc_options(&opts->plan);
    autobuf struct buf out = BUF_INIT;
    int rc = doc_load(&doc, argv[0], &doc_opts, &ps);
    if (rc == 0) {
        plan_apply_defaults(doc.root);
        rc = doc_write(&out, doc.root, target_syntax[opts->to], &ps);
    }
    size_t prose = doc.prose_lines;
    if (rc) {
        plan_print_problems(&ps);
        return EXIT_USAGE;
    }
    if (prose)
        fprintf(stderr, "anabranch: %zu line%s of text around the plan %s not converted\n", prose,
                prose == 1 ? "" : "s", prose == 1 ? "was" : "were");
    return cli_print(out.s, out.len);
}

static const struct opt opts_table[] = {
    {"to", 0, OPT_CHOICE, offsetof(struct convert_opts, to), "SYNTAX", targets,
     "The syntax to write"},
    PLAN_OPTS,
    {0},
};

const struct command cmd_convert = {
    .name = "convert",
    .summary = "Write a plan in another syntax",
    .about =
        "Prints the plan in YAML, TOML or JSON, on standard output. Every key and value stays "
        "the same, prompts byte for byte; keys of other tools (threads, batches, writes ...) "
        "are not translated. Comments, and the text around a plan in Markdown, are not part of "
        "the plan and are left out. A value that the other syntax cannot express (null in TOML, "
        "a date outside of it) is an error.",
    .examples = "anabranch convert plan.md --to toml >plan.toml\tConvert Markdown to TOML\n"
                "anabranch convert plan.toml --to json | jq .\tConvert for other programs\n",
    .args = plan_args,
    .opts = opts_table,
    .options_size = sizeof(struct convert_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-plan(5)",
    .run = run_convert,
};
