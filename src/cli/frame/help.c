#include "cli/frame/help.h"

#include "base/mem.h"
#include "cli/frame/commands.h"
#include "cli/frame/help_page.h"
#include "cli/frame/options.h"
#include "cli/frame/wrap.h"

#include <string.h>

static void add_words_entry(struct page *page, const char *label, const char *help,
                            const char *const *choices)
{
    autobuf struct buf text = BUF_INIT;
    buf_addstr(&text, help);
    if (choices) {
        buf_addstr(&text, ": ");
        options_add_words(&text, choices, ", ", " or ");
    }
    page_add_entry(page, label, text.s);
}

/* The text between an option and its value. */
static const char *get_value_prefix(const struct opt *opt)
{
    return opt->kind == OPT_OPTIONAL_CHOICE ? "[=" : opt->arg ? " " : "";
}

void help_usage_words(const struct command *cmd, struct strv *out)
{
    if (!cmd) {
        strv_pushl(out, "[OPTION]...", "COMMAND", "[ARGUMENT]...", NULL);
        return;
    }
    strv_push(out, cmd->name);
    for (const struct opt *o = cmd->opts; o && o->name; o++)
        strv_pushf(out, "[--%s%s%s%s]%s", o->name, get_value_prefix(o), o->arg ? o->arg : "",
                   o->kind == OPT_OPTIONAL_CHOICE ? "]" : "", o->kind == OPT_LIST ? "..." : "");
    for (const struct arg *a = cmd->args; a && a->name; a++)
        strv_pushf(out, "%s%s%s%s", a->optional ? "[" : "", a->name, a->optional ? "]" : "",
                   a->repeatable ? "..." : "");
}

static void add_usage(struct page *page, const struct command *cmd)
{
    autostrv struct strv words = {0};
    page_add_heading(page, "Usage");
    buf_addstr(&page->text, "  anabranch");
    struct wrap w = {.out = &page->text, .width = page->width, .indent = 4, .column = 11};
    help_usage_words(cmd, &words);
    for (size_t i = 0; i < words.n; i++)
        wrap_word(&w, words.v[i], strlen(words.v[i]));
    wrap_end(&w);
}

static void add_args(struct page *page, const struct command *cmd)
{
    if (!cmd->args || !cmd->args->name)
        return;
    page_add_heading(page, "Arguments");
    for (const struct arg *a = cmd->args; a->name; a++)
        page_measure(page, a->name);
    for (const struct arg *a = cmd->args; a->name; a++)
        add_words_entry(page, a->name, a->help, a->choices);
}

static char *get_opt_label(const struct opt *opt)
{
    const char letter[] = {'-', opt->letter, ',', '\0'};
    return mem_printf("%s --%s%s%s%s", opt->letter ? letter : "   ", opt->name,
                      get_value_prefix(opt), opt->arg ? opt->arg : "",
                      opt->kind == OPT_OPTIONAL_CHOICE ? "]" : "");
}

static void add_opts(struct page *page, const struct command *cmd)
{
    const struct opt *opt;
    page_add_heading(page, "Options");
    for (size_t i = 0; (opt = options_at(cmd, i)); i++) {
        autofree char *label = get_opt_label(opt);
        page_measure(page, label);
    }
    for (size_t i = 0; (opt = options_at(cmd, i)); i++) {
        autofree char *label = get_opt_label(opt);
        add_words_entry(page, label, opt->help, opt->choices);
    }
}

bool help_next_example(const char **examples, char **ret_call, char **ret_what)
{
    const char *line = *examples;
    if (!line || !*line)
        return false;
    size_t len = strcspn(line, "\n");
    size_t call = strcspn(line, "\t\n");
    size_t what = call + (line[call] == '\t');
    *ret_call = mem_dup(line, call);
    *ret_what = mem_dup(line + what, len - what);
    *examples = line + len + (line[len] == '\n');
    return true;
}

static void add_examples(struct page *page, const char *examples)
{
    char *call, *what;
    if (examples)
        page_add_heading(page, "Examples");
    while (help_next_example(&examples, &call, &what)) {
        buf_addf(&page->text, "  %s\n", call);
        if (*what)
            page_add_text(page, what, 6);
        free(call);
        free(what);
    }
}

static void add_exit_code(struct page *page, const struct exit_meaning *m)
{
    autofree char *label = mem_printf("%d", m->code);
    page_add_entry(page, label, m->meaning);
}

static bool has_exit_code(const struct command *cmd, enum exit_code code)
{
    const enum exit_code *exits = cmd->exits;
    while (*exits != code && *exits != EXIT_OK)
        exits++;
    return *exits == code;
}

static void add_exit_codes(struct page *page, const struct command *cmd)
{
    if (cmd && !cmd->exits)
        return;
    page_add_heading(page, "Exit codes");
    page_measure(page, "130"); /* the widest label */
    for (const struct exit_meaning *m = cli_exit_codes; m->meaning; m++) {
        if (!cmd || has_exit_code(cmd, m->code))
            add_exit_code(page, m);
    }
}

static void add_see_also(struct page *page, const struct command *cmd)
{
    page_add_heading(page, "See also");
    buf_addf(&page->text, "  anabranch(1)%s%s\n", cmd->see_also ? ", " : "",
             cmd->see_also ? cmd->see_also : "");
}

static void add_commands(struct page *page)
{
    const struct command *cmd;
    page_add_heading(page, "Commands");
    for (size_t i = 0; (cmd = cli_next(&i));)
        page_measure(page, cmd->name);
    for (size_t i = 0; (cmd = cli_next(&i));)
        page_add_entry(page, cmd->name, cmd->summary);
}

static int help_program(void)
{
    static const char intro[] =
        "anabranch runs coding agents side by side on one git repository, each on its own branch, "
        "and lands their results.";
    static const char more[] = "'anabranch help COMMAND' explains a command; 'anabranch help "
                               "exit-codes' explains the exit codes.";
    autopage struct page page;
    page_init(&page);
    page_add_text(&page, intro, 0);
    add_usage(&page, NULL);
    add_commands(&page);
    add_opts(&page, NULL);
    buf_addch(&page.text, '\n');
    page_add_text(&page, more, 0);
    return page_print(&page);
}

static int help_command(const struct command *cmd)
{
    autopage struct page page;
    page_init(&page);
    page_add_text(&page, cmd->summary, 0);
    add_usage(&page, cmd);
    if (cmd->about) {
        buf_addch(&page.text, '\n');
        page_add_text(&page, cmd->about, 0);
    }
    add_args(&page, cmd);
    add_opts(&page, cmd);
    add_examples(&page, cmd->examples);
    add_exit_codes(&page, cmd);
    add_see_also(&page, cmd);
    return page_print(&page);
}

int cli_help(const struct command *cmd)
{
    return cmd ? help_command(cmd) : help_program();
}

int help_topic(const char *topic)
{
    autopage struct page page;
    page_init(&page);
    if (strcmp(topic, "exit-codes") != 0)
        return cli_unknown(topic, true);
    page_add_text(&page, "Every command of anabranch ends with one of these codes.", 0);
    add_exit_codes(&page, NULL);
    return page_print(&page);
}
