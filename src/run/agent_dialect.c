#include "run/agent_dialect.h"

#include "data/doc.h"

#include <string.h>

enum { TEXT_MAX = 4096 };

struct node *dialect_parse(struct arena *a, const char *line, size_t len)
{
    struct doc doc;
    autoproblems struct problems ps;
    problems_init(&ps, "line");
    struct doc_options opts = {.syntax = DOC_JSON};
    bool good = *line == '{' && doc_parse(&doc, NULL, line, len, &opts, &ps) == 0;
    if (*line != '{')
        return NULL;
    if (!good) {
        doc_done(&doc);
        return NULL;
    }
    *a = doc.arena; /* the tree goes on to live there */
    return doc.root->kind == NODE_MAP ? doc.root : NULL;
}

void dialect_set(struct agent_report *report, struct buf *slot, const char *text)
{
    size_t len = strlen(text);
    buf_cut(slot, 0);
    buf_add(slot, text, len < TEXT_MAX ? len : TEXT_MAX);
    report->changed = true;
}

void dialect_fail(struct agent_report *report, enum failure failure, const char *reason)
{
    report->failed = true;
    report->failure = failure;
    dialect_set(report, &report->reason, reason);
}
