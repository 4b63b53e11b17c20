#include "base/text/str.h"
#include "cli/frame/commands.h"
#include "sys/fs/file.h"

#include <string.h>

enum kind { KIND_TASKS, KIND_THREADS, KIND_STREAMS, KIND_COUNT };
enum syntax { SYNTAX_ANY, SYNTAX_YAML, SYNTAX_TOML, SYNTAX_JSON, SYNTAX_COUNT };

static const char *const kinds[] = {"tasks", "threads", "streams", NULL};
static const char *const syntaxes[] = {"any", "yaml", "toml", "json", NULL};

struct init_opts {
    int syntax, kind;
};

/* Made from templates/ at build time. */
#define template(name)                                                                             \
    extern const unsigned char name[];                                                             \
    extern const size_t name##_len
template(tasks_yaml);
template(tasks_toml);
template(tasks_json);
template(threads_yaml);
template(threads_toml);
template(threads_json);
template(streams_yaml);
template(streams_toml);
template(streams_json);
#undef template

static const struct {
    const unsigned char *text;
    const size_t *len;
} templates[KIND_COUNT][SYNTAX_COUNT] = {
    [KIND_TASKS] = {[SYNTAX_YAML] = {tasks_yaml, &tasks_yaml_len},
                    [SYNTAX_TOML] = {tasks_toml, &tasks_toml_len},
                    [SYNTAX_JSON] = {tasks_json, &tasks_json_len}},
    [KIND_THREADS] = {[SYNTAX_YAML] = {threads_yaml, &threads_yaml_len},
                      [SYNTAX_TOML] = {threads_toml, &threads_toml_len},
                      [SYNTAX_JSON] = {threads_json, &threads_json_len}},
    [KIND_STREAMS] = {[SYNTAX_YAML] = {streams_yaml, &streams_yaml_len},
                      [SYNTAX_TOML] = {streams_toml, &streams_toml_len},
                      [SYNTAX_JSON] = {streams_json, &streams_json_len}},
};

/* The default syntax of each kind, and the default file name for each syntax. */
static const struct {
    enum syntax syntax;
    const char *file[SYNTAX_COUNT];
} defaults[KIND_COUNT] = {
    [KIND_TASKS] = {SYNTAX_YAML, {NULL, "plan.md", "plan.toml", "plan.json"}},
    [KIND_THREADS] = {SYNTAX_TOML, {NULL, "plan.yaml", "plan.toml", "plan.json"}},
    [KIND_STREAMS] = {SYNTAX_JSON, {NULL, "plan.yaml", "plan.toml", "plan.md"}},
};

static bool is_markdown(const char *file)
{
    return str_ends(file, ".md") || str_ends(file, ".markdown");
}

/* Finds the syntax of a file by the ending of its name. SYNTAX_ANY: the name gives none. */
static enum syntax find_syntax(const char *file)
{
    if (str_ends(file, ".yaml") || str_ends(file, ".yml"))
        return SYNTAX_YAML;
    if (str_ends(file, ".toml"))
        return SYNTAX_TOML;
    return str_ends(file, ".json") ? SYNTAX_JSON : SYNTAX_ANY;
}

static void write_template(struct buf *out, enum kind kind, enum syntax syntax, bool markdown)
{
    if (markdown && syntax == SYNTAX_YAML)
        buf_addstr(out, "---\n");
    if (markdown && syntax == SYNTAX_JSON)
        buf_addstr(out, "# My plan\n\nThe program reads only the block below; the rest is for "
                        "people.\n\n```json dispatch\n");
    buf_add(out, templates[kind][syntax].text, *templates[kind][syntax].len);
    if (markdown && syntax == SYNTAX_YAML)
        buf_addstr(out, "---\n\n# My plan\n\nEverything below the front matter is for people.\n");
    if (markdown && syntax == SYNTAX_JSON)
        buf_addstr(out, "```\n");
}

static int run_init(const void *options, char **argv)
{
    const struct init_opts *opts = options;
    const char *file = argv[0];
    enum kind kind = (enum kind)opts->kind;
    enum syntax named = file ? find_syntax(file) : SYNTAX_ANY, syntax = (enum syntax)opts->syntax;
    if (syntax == SYNTAX_ANY)
        syntax = named != SYNTAX_ANY ? named : defaults[kind].syntax;
    if (file && is_markdown(file) && syntax == SYNTAX_TOML) {
        if (opts->syntax == SYNTAX_TOML)
            return cli_usage(&cmd_init, "a plan in Markdown is YAML or JSON, not TOML");
        syntax = SYNTAX_YAML;
    }
    if (named != SYNTAX_ANY && named != syntax)
        return cli_usage(&cmd_init, "'%s' is not a name for a plan in %s", file, syntaxes[syntax]);
    if (!file)
        file = defaults[kind].file[syntax];

    autobuf struct buf text = BUF_INIT;
    struct err err = {0};
    write_template(&text, kind, syntax, is_markdown(file));
    if (file_create(file, text.s, text.len, &err))
        return cli_fail_by(&err);
    autobuf struct buf message = BUF_INIT;
    buf_addf(&message, "Wrote %s. Edit it, then: anabranch check %s\n", file, file);
    return cli_print(message.s, message.len);
}

static const struct opt opts_table[] = {
    {"syntax", 0, OPT_CHOICE, offsetof(struct init_opts, syntax), "SYNTAX", syntaxes,
     "The syntax to write (default: from the ending of FILE, or the usual one for the kind)"},
    {"kind", 0, OPT_CHOICE, offsetof(struct init_opts, kind), "KIND", kinds,
     "The kind of plan: tasks for agents, threads for people, or batches for streams"},
    {0},
};

static const struct arg args[] = {
    {.name = "FILE",
     .help = "The file to write (default: plan.md, or the usual name for the kind)",
     .optional = true,
     .file = true},
    {0},
};

const struct command cmd_init = {
    .name = "init",
    .summary = "Write a first plan",
    .about =
        "Writes a small plan with comments, which `anabranch check` accepts. The command never "
        "overwrites a file.",
    .examples = "anabranch init\tWrite plan.md: Markdown with YAML in front\n"
                "anabranch init work.toml\tWrite it in TOML\n"
                "anabranch init --kind threads\tWrite a plan for your own sessions\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct init_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-plan(5)",
    .run = run_init,
};
