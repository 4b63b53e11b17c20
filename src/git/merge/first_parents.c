#include "git/merge/first_parents.h"

#include "base/buf.h"
#include "base/mem.h"
#include "git/batch.h"

#include <string.h>

enum { STEPS_MAX = 512 };

static int find_index(const char *id, const char *const *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(id, wanted[i]) == 0)
            return (int)i;
    }
    return -1;
}

/* Parses "tree ID" and the first line "parent ID"; false if there is no parent. */
static bool read_first_parent(const struct buf *text, struct buf *id, bool *ret_merge)
{
    static const char parent[] = "\nparent ";
    const size_t len = strlen(parent);
    const char *line = strchr(text->s, '\n');
    if (!line || strncmp(line, parent, len) != 0)
        return false;
    buf_cut(id, 0);
    buf_add(id, line + len, strcspn(line + len, "\n"));
    *ret_merge = strncmp(line + len + id->len, parent, len) == 0;
    return true;
}

int first_parents_find(struct git_batch *batch, const char *commit, const char *const *wanted,
                       size_t n, struct first_parents *ret, struct err *err)
{
    autobuf struct buf id = BUF_INIT, text = BUF_INIT;
    struct first_parents result = {.straight = true};
    buf_addstr(&id, commit);
    for (int steps = 0; (result.found = find_index(id.s, wanted, n)) < 0 && steps < STEPS_MAX;
         steps++) {
        bool merge = false;
        buf_cut(&text, 0);
        if (git_batch_read(batch, id.s, &text, err))
            return -1;
        if (!read_first_parent(&text, &id, &merge))
            break;
        result.straight = result.straight && !merge;
    }
    *ret = result;
    return 0;
}
