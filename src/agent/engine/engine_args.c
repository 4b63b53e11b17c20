#include "agent/engine/engine_args.h"

#include "plan/words.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* A name ends where a value may begin; some parsers read "--a.b" as part "b" of "--a". */
static size_t name_len(const char *s)
{
    return strcspn(s, "=.");
}

/* Some parsers read "--approvalMode" as "--approval-mode", and "--y" as "-y". Single letters are
 * case-sensitive. */
static bool same_name(const char *arg, const char *name, size_t len, bool abbreviates)
{
    const char *a = arg + strspn(arg, "-"), *b = name + strspn(name, "-");
    const char *a_end = a + name_len(a), *b_end = name + len;
    enum { SHORTEST = 3 };
    if (a_end - a == 1 || b_end - b == 1)
        return a_end - a == 1 && b_end - b == 1 && *a == *b;
    for (size_t n = 0;; n++) {
        a += a < a_end ? strspn(a, "-") : 0;
        b += strspn(b, "-");
        if (a >= a_end)
            return b >= b_end || (abbreviates && n >= SHORTEST);
        if (b >= b_end || tolower((unsigned char)*a++) != tolower((unsigned char)*b++))
            return false;
    }
}

static bool is_one_of(const char *arg, const char *names, bool abbreviates)
{
    for (size_t len; *names; names += len + strspn(names + len, " ")) {
        len = strcspn(names, " ");
        if (same_name(arg, names, len, abbreviates))
            return true;
    }
    return false;
}

/* True if a value such as `sandbox_mode="x"` or `sandbox_mode.a=1` sets the setting. */
static bool sets_setting(const char *value, const char *setting)
{
    value += strspn(value, " \t\"'");
    size_t len = strlen(setting);
    return strncmp(value, setting, len) == 0 && strchr("=. \t\"'", value[len]);
}

/* The value of an option: the text after its '=', or the next word. */
static const char *find_value(const struct node *item)
{
    const char *equals = strchr(item->text, '=');
    if (equals)
        return equals + 1;
    return item->next && item->next->kind == NODE_STRING ? item->next->text : "";
}

static const struct denied_option *find_in(const struct denied_option *list, const struct task *t,
                                           const struct node *item, bool abbreviates)
{
    bool reads = engine_only_reads(t);
    for (const struct denied_option *d = list; d && d->names; d++) {
        if (is_one_of(item->text, d->names, abbreviates) && (reads || !d->reading) &&
            (!d->setting || sets_setting(find_value(item), d->setting)))
            return d;
    }
    return NULL;
}

static const struct denied_option *find_denied(const struct task *t, const struct node *item,
                                               const struct engine_args_rules *rules)
{
    const struct denied_option *found = find_in(rules->denied, t, item, rules->abbreviates);
    return found ? found : find_in(rules->shared_denied, t, item, rules->abbreviates);
}

static void add_denied_error(const struct node *item, const struct denied_option *d,
                             const struct engine_args_rules *rules, struct problems *ps)
{
    int len = (int)(strspn(item->text, "-") + name_len(item->text + strspn(item->text, "-")));
    if (d->setting)
        problem_error(ps, RULE_COMBINATION, item, "a plan must not pass '%.*s %s' to %s", len,
                      item->text, d->setting, rules->engine);
    else
        problem_error(ps, RULE_COMBINATION, item, "a plan must not pass '%.*s' to %s", len,
                      item->text, rules->engine);
    if (d->reading)
        problem_hint(ps, "the task may only read: use 'permissions' instead");
    else if (d->instead)
        problem_hint(ps, "use the key '%s' instead", d->instead);
    else
        problem_hint(ps, "anabranch sets this itself");
}

static bool is_joined(const char *s)
{
    return s[0] == '-' && isalpha((unsigned char)s[1]) && s[2];
}

/* A word that is not an option may be the value of the option before it, or part of the prompt;
 * only for the first word can we tell. */
static void check_arg(const struct task *t, const struct node *item,
                      const struct engine_args_rules *rules, struct problems *ps)
{
    const struct denied_option *denied = NULL;
    if (strcmp(item->text, "--") == 0 || strcmp(item->text, "-") == 0) {
        problem_error(ps, RULE_COMBINATION, item, "everything after '%s' would be the prompt",
                      item->text);
        problem_hint(ps, "use the key 'prompt' instead");
    } else if (*item->text != '-') {
        if (item->index > 0)
            return;
        problem_error(ps, RULE_COMBINATION, item, "'%.100s' is not an option", item->text);
        problem_hint(ps, "an option begins with '-'; put instructions into 'prompt'");
    } else if (is_joined(item->text)) {
        problem_error(ps, RULE_COMBINATION, item, "'%.100s' combines several words", item->text);
        problem_hint(ps, "write each option and each value as an entry of its own");
    } else if ((denied = find_denied(t, item, rules))) {
        add_denied_error(item, denied, rules, ps);
    }
}

void engine_args_check(const struct task *t, const struct engine_args_rules *rules,
                       struct problems *ps)
{
    const struct node *list = t->engine_args_node;
    if (!t->engine_args.n || !list)
        return;
    if (!rules->denied) {
        problem_error(ps, RULE_COMBINATION, list, "%s does not support 'engine_args'",
                      rules->engine);
        problem_hint(ps, "put all arguments into 'command'");
        return;
    }
    node_each (item, list) {
        if (item->kind == NODE_STRING)
            check_arg(t, item, rules, ps);
    }
}

void engine_option_push(struct strv *argv, const char *option, const char *value)
{
    if (value)
        strv_pushl(argv, option, value, NULL);
}

const char *engine_effort(const struct task *t)
{
    return t->effort ? effort_words[t->effort] : NULL;
}

bool engine_only_reads(const struct task *t)
{
    return t->read_only || t->permissions == PERMISSIONS_READ;
}

void engine_args_push(const struct task *t, struct strv *argv)
{
    for (size_t i = 0; i < t->engine_args.n; i++)
        strv_push(argv, t->engine_args.v[i]);
}
