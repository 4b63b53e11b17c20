#include "doc/yaml/error.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The beginning of a message of libfyaml; ours, where that says more; what to do. */
struct advice {
    const char *starts, *message, *hint;
};

static const struct advice advices[] = {
    {"tab character may not", "a tab in the indentation", "YAML is indented with spaces only"},
    {"cannot use tab", "a tab in the indentation", "YAML is indented with spaces only"},
    {"invalid tab used", "a tab in the indentation", "YAML is indented with spaces only"},
    {"invalid nested block mapping", "a second ': ' in one line",
     "put the text behind the first colon in quotes"},
    {"block sequence on the same line", "a list item on the line of its key",
     "begin the list on the next line, or write [a, b]"},
    {"plain scalar cannot start with", "a text cannot begin with this character",
     "put the text in quotes"},
    {"wrongly indented double-quoted", "this quote is not closed",
     "close the quote; text over several lines is easier with |"},
    {"wrongly indented single-quoted", "this quote is not closed",
     "close the quote; text over several lines is easier with |"},
    {"double-quoted scalar without closing", "this quote is not closed",
     "close the quote; text over several lines is easier with |"},
    {"single-quoted scalar without closing", "this quote is not closed",
     "close the quote; text over several lines is easier with |"},
    {"invalid trailing content after double-quoted", "text behind the closing quote",
     "a quote inside of double quotes is written \\\""},
    {"invalid trailing content after single-quoted", "text behind the closing quote",
     "a quote inside of single quotes is written ''"},
    {"did not find expected '-'", "this line is indented wrongly",
     "the keys of a list item begin in the same column"},
    {"double-quoted scalar has invalid", "no escape of YAML",
     "a backslash in double quotes is written \\\\"},
    {"invalid escape", NULL, "a backslash in double quotes is written \\\\"},
    {"invalid multiline plain key", "text over several lines cannot be a key",
     "is the next line indented too far?"},
    {"could not find expected ':'", "a key without a colon",
     "a key is followed by a colon and a space; or is the line indented wrongly?"},
    {"missing ':'", "a key without a colon", "a list item is a dash and a space"},
    {"invalid value after mapping", "neither a key nor part of the line above",
     "a key is followed by a colon and a space; or is the line indented wrongly?"},
    {"invalid indentation", "this line is indented wrongly",
     "the keys of one mapping begin in the same column"},
    {"invalid scalar at the end of block sequence", "this line is indented wrongly",
     "the keys of a list item begin in the same column"},
    {"undefined tag prefix", "a tag that is not YAML's own", "take the tag out"},
    {"block scalar no linebreak", "text on the line of | or >", "begin the text on the next line"},
    {"invalid alias", "a text cannot begin with '*'", "put the text in quotes"},
    {"invalid anchor", "a text cannot begin with '&'", "put the text in quotes"},
};

struct fy_diag *yaml_error_collector(void)
{
    struct fy_diag_cfg cfg;
    fy_diag_cfg_default(&cfg);
    cfg.fp = NULL;
    cfg.colorize = false;
    struct fy_diag *diag = fy_diag_create(&cfg);
    if (!diag)
        abort();
    fy_diag_set_collect_errors(diag, true);
    return diag;
}

static const struct fy_diag_error *first_error(struct fy_diag *diag)
{
    void *iter = NULL;
    const struct fy_diag_error *e = fy_diag_errors_iterate(diag, &iter);
    while (e && e->type < FYET_ERROR)
        e = fy_diag_errors_iterate(diag, &iter);
    return e;
}

bool yaml_error_is_fatal(struct fy_diag *diag)
{
    void *iter = NULL;
    const struct fy_diag_error *e;
    while ((e = fy_diag_errors_iterate(diag, &iter))) {
        if (strncmp(e->msg, "cannot use tab", 14) == 0)
            return true;
    }
    return false;
}

/* libfyaml begins the text of a quoted scalar behind its quote, and some of its errors behind the
 * tab that they are about. */
static size_t error_offset(const struct cursor *c, const struct fy_diag_error *e)
{
    const struct fy_mark *mark = e->fyt ? fy_token_start_mark(e->fyt) : NULL;
    size_t at = mark ? mark->input_pos : c->len;
    if (at && strstr(e->msg, "without closing quote"))
        at--;
    while (at && strstr(e->msg, "tab ") && strchr(" \t", c->text[at - 1]))
        at--;
    return at;
}

static bool is_blank_from(const struct cursor *c, size_t at)
{
    while (at < c->len && strchr(" \t\r\n", c->text[at]))
        at++;
    return at >= c->len;
}

int yaml_error_report(struct fy_diag *diag, struct cursor c, const struct node *open,
                      struct problems *ps)
{
    const struct fy_diag_error *e = first_error(diag);
    if (!e)
        return problem_error_at(ps, RULE_SYNTAX, c.pos, "not valid YAML");
    size_t at = error_offset(&c, e);
    if (open && is_blank_from(&c, at))
        return problem_error_at(ps, RULE_SYNTAX, open->pos, "this '%c' is never closed",
                                open->kind == NODE_LIST ? '[' : '{');
    const struct advice *found = NULL;
    for (size_t i = 0; !found && i < ARRAY_LEN(advices); i++) {
        if (strncmp(e->msg, advices[i].starts, strlen(advices[i].starts)) == 0)
            found = &advices[i];
    }
    problem_error_at(ps, RULE_SYNTAX, cursor_seek(&c, at), "%s",
                     found && found->message ? found->message : e->msg);
    return found ? problem_hint(ps, "%s", found->hint) : -1;
}
