/*
 * Whether a task would undo what others have landed, judged path by path from three commits: the
 * one that the task began at, one that has landed and that the task's history includes, and what
 * the task made. The task's history may include what others landed because its agent merged it,
 * rebased onto it, or was given it in order to repair its work.
 */
#ifndef PLAN_REVERT_H
#define PLAN_REVERT_H

#include <stdbool.h>

/* What a commit has at a path: a file, a symlink or a submodule. NULL stands for nothing. */
struct path_entry {
    const char *mode, *id;
};

enum revert {
    REVERT_NONE,  /* others did not change the path, or the task has what they made of it, or
                   * something that only the task made */
    REVERT_WHOLE, /* content or mode is again what it was before others changed it */
    REVERT_LINES, /* all three differ: the lines of the file say whether others' changes are there
                   */
};

enum revert revert_judge(const struct path_entry *start, const struct path_entry *landed,
                         const struct path_entry *made);

/* For a path that is REVERT_NONE because the task removed it: whether a path that only the task has
 * shows the file as it was before others changed it, which is a move that leaves their change out.
 */
bool revert_moves_old(const struct path_entry *start, const struct path_entry *landed,
                      const struct path_entry *made, const struct path_entry *moved);

#endif
