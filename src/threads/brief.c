#include "threads/brief.h"

#include <inttypes.h>
#include <string.h>

void brief_add_code(struct buf *out, const char *s)
{
    size_t longest = 0;
    for (const char *p = strchr(s, '`'); p; p = strchr(p, '`')) {
        size_t n = strspn(p, "`");
        longest = n > longest ? n : longest;
        p += n;
    }
    const char *blank = longest ? " " : "";
    buf_addrep(out, '`', longest + 1);
    buf_addf(out, "%s%s%s", blank, s, blank);
    buf_addrep(out, '`', longest + 1);
}

static void add_paths(struct buf *out, const char *title, const struct strv *paths)
{
    buf_addf(out, "\n## %s\n\n", title);
    for (size_t i = 0; i < paths->n; i++) {
        buf_addstr(out, "- ");
        brief_add_code(out, *paths->v[i] ? paths->v[i] : ".");
        buf_addch(out, '\n');
    }
    if (!paths->n)
        buf_addstr(out, "_(none)_\n");
}

static void add_order(struct buf *out, const struct thread *t)
{
    buf_addstr(out, "\n## Merge order\n\n");
    if (t->ordered)
        buf_addf(out, "%" PRId64 "\n", t->order);
    else
        buf_addstr(out, "_(none)_\n");
    for (size_t i = 0; i < t->after.n; i++)
        buf_addf(out, "%s%s", i ? ", " : "\nIt follows ", t->after.v[i]);
    if (t->after.n)
        buf_addstr(out, ".\n");
}

static void add_rules(struct buf *out)
{
    buf_addstr(out, "\n## Rules\n\n"
                    "Change only what this thread owns: other threads are at work in the rest.\n\n"
                    "- `anabranch own` says which of your changes are outside of it.\n"
                    "- `anabranch own request PATH` asks for one more path: you have it at once "
                    "if no other\n  thread claims it.\n"
                    "- Commit your work on this branch. This file is never committed.\n");
}

static void add_ports(struct buf *out, const struct thread *t)
{
    if (!t->ports)
        return;
    buf_addf(out,
             "\n## Ports\n\n`ANABRANCH_PORT=%" PRId64 "`: %" PRId64 " to %" PRId64
             " are this thread's alone.\n",
             t->port, t->port, t->port + t->ports - 1);
}

void brief(const struct thread *t, struct buf *out)
{
    const char *branch = t->branch + strlen("refs/heads/");
    buf_addf(out, "# Thread %s: %s\n\n## Goal\n\n%s\n", t->id, branch, t->goal);
    if (t->prompt)
        buf_addf(out, "\n%s\n", t->prompt);
    add_paths(out, "Owned paths", &t->owns);
    add_paths(out, "Forbidden paths", &t->forbids);
    add_order(out, t);
    add_rules(out);
    add_ports(out, t);
}
