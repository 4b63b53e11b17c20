#include "plan/revert.h"

#include <string.h>

static bool is_same(const struct path_entry *a, const struct path_entry *b)
{
    return a && b ? strcmp(a->mode, b->mode) == 0 && strcmp(a->id, b->id) == 0 : a == b;
}

/* True if the task reverted one part (mode or id) of an entry that exists in all three commits. */
static bool is_reverted(const char *start, const char *landed, const char *made)
{
    return strcmp(start, landed) != 0 && strcmp(made, start) == 0;
}

enum revert revert_judge(const struct path_entry *start, const struct path_entry *landed,
                         const struct path_entry *made)
{
    if (is_same(start, landed) || is_same(made, landed))
        return REVERT_NONE;
    if (is_same(made, start))
        return REVERT_WHOLE;
    if (!start || !landed ||
        !made) /* removed on one side and changed on the other, or added on both sides */
        return REVERT_NONE;
    return is_reverted(start->id, landed->id, made->id) ||
                   is_reverted(start->mode, landed->mode, made->mode)
               ? REVERT_WHOLE
               : REVERT_LINES;
}

bool revert_moves_old(const struct path_entry *start, const struct path_entry *landed,
                      const struct path_entry *made, const struct path_entry *moved)
{
    return start && landed && !made && moved && strcmp(start->id, landed->id) != 0 &&
           strcmp(moved->id, start->id) == 0;
}
