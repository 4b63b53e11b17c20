#include "agent/sim/sim_private.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "doc/doc.h"

#include <string.h>

static const char mark[] = "sim>";

bool sim_script_next(struct sim_script *script, const char **ret_s, size_t *ret_len)
{
    const size_t skip = sizeof(mark) - 1;
    while (script->at < script->end) {
        const char *s = script->at;
        const char *lf = memchr(s, '\n', (size_t)(script->end - s));
        size_t len = (size_t)((lf ? lf : script->end) - s);
        script->at = lf ? lf + 1 : script->end;
        script->line++;
        if (len >= skip && memcmp(s, mark, skip) == 0) {
            *ret_s = s + skip;
            *ret_len = len - skip;
            return true;
        }
    }
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static char *skip_blanks(char *s)
{
    while (is_blank(*s))
        s++;
    return s;
}

/* The length of the JSON string at the beginning of s with its quotes; 0 if it is not closed. */
static size_t measure_quoted(const char *s)
{
    for (size_t i = 1; s[i]; i++) {
        if (s[i] == '"')
            return i + 1;
        if (s[i] == '\\' && s[i + 1])
            i++;
    }
    return 0;
}

/* False if it is not a JSON string, or contains a NUL. */
static bool push_quoted(struct strv *args, const char *s, size_t len)
{
    struct doc doc = {0};
    autoproblems struct problems ps;
    problems_init(&ps, mark);
    bool good = doc_parse(&doc, NULL, s, len, &(struct doc_options){.syntax = DOC_JSON}, &ps) == 0;
    good = good && strlen(doc.root->text) == doc.root->len;
    if (good)
        strv_push(args, doc.root->text);
    doc_done(&doc);
    return good;
}

static char *split_word(char **s)
{
    char *word = *s;
    char *end = word + strcspn(word, " \t\r");
    *s = skip_blanks(end);
    *end = '\0';
    return word;
}

static int parse_arg(char **s, struct strv *args, struct err *err)
{
    if (**s != '"') {
        strv_push(args, split_word(s));
        return 0;
    }
    size_t len = measure_quoted(*s);
    if (!len || ((*s)[len] && !is_blank((*s)[len])) || !push_quoted(args, *s, len))
        return err_set(err, ERR_INPUT, "argument %zu is not a JSON string", args->n + 1);
    *s = skip_blanks(*s + len);
    return 0;
}

/* A shell line may begin with a quote: only a text that is one whole JSON string is decoded. */
static void parse_rest(char **s, struct strv *args)
{
    size_t len = strlen(*s);
    bool quoted = **s == '"' && measure_quoted(*s) == len;
    if (!quoted || !push_quoted(args, *s, len))
        strv_push(args, *s);
    *s += len;
}

static int parse_args(struct sim_call *call, char *s, struct err *err)
{
    const struct sim_step *step = call->step;
    while (*s && call->args.n < step->max) {
        if (call->args.n + 1 == step->max)
            parse_rest(&s, &call->args);
        else if (parse_arg(&s, &call->args, err))
            return -1;
    }
    if (*s)
        return err_set(err, ERR_INPUT, "takes no arguments");
    if (call->args.n < step->min)
        return err_set(err, ERR_INPUT, "needs %s", step->usage);
    return 0;
}

static size_t measure_trimmed(const char *s, size_t len)
{
    while (len && is_blank(s[len - 1]))
        len--;
    return len;
}

static int parse_on(struct sim_call *call, char **s, int64_t attempt, struct err *err)
{
    const char *word = split_word(s);
    int64_t n = text_parse_count(word, strlen(word));
    if (n < 1)
        return err_set(err, ERR_INPUT, "on: '%.80s' is not the number of an attempt", word);
    call->due = call->due && n == attempt;
    return 0;
}

int sim_call_parse(struct sim_call *call, const char *s, size_t len, int64_t attempt,
                   struct err *err)
{
    *call = (struct sim_call){.due = true};
    if (memchr(s, '\0', len) || text_valid(s, len) < len)
        return err_set(err, ERR_INPUT, "is not UTF-8 text");
    autofree char *line = mem_dup(s, measure_trimmed(s, len));
    char *at = skip_blanks(line);
    const char *name = split_word(&at);
    while (strcmp(name, "on") == 0) {
        if (parse_on(call, &at, attempt, err))
            return -1;
        name = split_word(&at);
    }
    call->step = sim_step_find(name, err);
    if (!call->step)
        return -1;
    return parse_args(call, at, err) ? err_wrap(err, "%s", call->step->name) : 0;
}

bool sim_step_is_for_one(const char *s, size_t len)
{
    autofree char *line = mem_dup(s, measure_trimmed(s, len));
    char *at = skip_blanks(line);
    return strcmp(split_word(&at), "on") == 0;
}

void sim_call_done(struct sim_call *call)
{
    strv_done(&call->args);
}
