#include "view/state_change_text.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"

#include <string.h>

enum { VALUE_COLUMNS = 60 };

/* Shortens a commit id as git does; cuts other long values at the end. */
static void add_value(struct buf *out, const char *s)
{
    bool id = strlen(s) >= 40 && strspn(s, "0123456789abcdef") == strlen(s);
    if (id) {
        buf_addf(out, "%.10s", s);
        return;
    }
    size_t start = out->len;
    text_add_harmless(out, s);
    size_t fits = text_fit(out->s + start, out->len - start, VALUE_COLUMNS);
    if (fits < out->len - start) {
        buf_cut(out, start + fits);
        buf_addstr(out, "...");
    }
}

/* The words for each kind of object: created, changed, deleted. `at` precedes the new value;
 * NULL: the value is not printed. */
static const struct change_words {
    const char *what, *before, *made, *at, *changed, *gone;
} change_table[] = {
    {"ref", "", "was made", " at ", "was moved", "was deleted"},
    {"head", "", "was made", " at ", "was switched", "was removed"},
    {"stash", "stash ", "was made", NULL, "was changed", "was dropped"},
    {"config", "", "was set", " to ", "was set", "was unset"},
    {"hook", "", "was added", NULL, "was changed", "was removed"},
    {"file", "", "was added", NULL, "was changed", "was removed"},
    {"special", "", "was not a file", NULL, "was not a file", "was no longer a file"},
    {"untracked", "the file ", "was made", NULL, "was changed", "was deleted"},
};

static const struct change_words *find_words(const char *what)
{
    for (size_t i = 0; i < ARRAY_LEN(change_table); i++) {
        if (strcmp(change_table[i].what, what) == 0)
            return &change_table[i];
    }
    return &change_table[0];
}

static void add_change(const struct node *data, const struct change_words *w, struct buf *out)
{
    const char *from = node_get_string(data, "from", NULL), *to = node_get_string(data, "to", NULL);
    buf_addstr(out, w->before);
    text_add_harmless(out, node_get_string(data, "name", ""));
    buf_addf(out, " %s", !to ? w->gone : from ? w->changed : w->made);
    if (!w->at)
        return;
    if (from) {
        buf_addstr(out, to ? " from " : ", it was ");
        add_value(out, from);
    }
    if (to) {
        buf_addstr(out, from ? " to " : w->at);
        add_value(out, to);
    }
}

static void add_files(const struct node *data, bool index, struct buf *out)
{
    const struct node *paths = node_get(data, "paths");
    int64_t more = node_get_int(data, "more", 0);
    text_addf(out, index ? "the index of %s was changed" : "files in %s were changed",
              node_get_string(data, "name", ""));
    for (const struct node *p = paths && paths->kind == NODE_LIST ? paths->first : NULL; p;
         p = p->next) {
        text_addf(out, "%s%s", p == paths->first ? ": " : ", ", p->text);
    }
    if (more)
        buf_addf(out, " and %lld more", (long long)more);
}

static void add_count(const struct node *data, struct buf *out)
{
    const char *name = node_get_string(data, "name", NULL);
    long long more = (long long)node_get_int(data, "more", 0);
    if (name)
        text_addf(out, "%lld ref%s below %s", more, more == 1 ? "" : "s", name);
    else
        buf_addf(out, "%lld other %s%s", more,
                 strcmp(node_get_string(data, "what", ""), "untracked") == 0 ? "file" : "thing",
                 more == 1 ? "" : "s");
    buf_addf(out, " %s changed", more == 1 ? "was" : "were");
}

static void add_field(const struct node *data, const char *key, const char *before, struct buf *out)
{
    const char *value = node_get_string(data, key, NULL);
    if (value)
        text_addf(out, "%s%s", before, value);
}

bool state_change_text_is_change(const struct node *data)
{
    return data && node_get_string(data, "what", NULL);
}

bool state_change_text_is_lost(const struct node *data)
{
    return node_get_bool(data, "lost");
}

void state_change_text(const struct node *data, struct buf *out)
{
    const char *what = node_get_string(data, "what", "");
    bool index = strcmp(what, "index") == 0;
    if (index || strcmp(what, "checkout") == 0)
        add_files(data, index, out);
    else if (node_get_int(data, "more", 0))
        add_count(data, out);
    else
        add_change(data, find_words(what), out);
    if (node_get_bool(data, "restored")) {
        buf_addstr(out, "; put back");
        add_field(data, "saved", ", the changed file is ", out);
    }
    if (state_change_text_is_lost(data))
        buf_addstr(out, "; its work is lost");
    add_field(data, "kept", "; kept as ", out);
    add_field(data, "undo", "; to undo: ", out);
}

void state_change_text_tasks(const struct node *data, struct buf *out)
{
    const struct node *tasks = node_get(data, "tasks");
    int64_t more = node_get_int(data, "more_tasks", 0);
    if (!tasks || tasks->kind != NODE_LIST)
        return;
    node_each (task, tasks) {
        text_addf(out, "%s%s", task == tasks->first ? "one of " : ", ", task->text);
    }
    if (more)
        buf_addf(out, " and %lld more", (long long)more);
}
