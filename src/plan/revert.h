/*
 * Decides if a task would revert landed changes of others. It compares three commits, path by path:
 * the one that the task started from, a landed one that is in the task's history, and the result of
 * the task. The landed commit can be in the task's history because the agent merged it or rebased
 * onto it, or because we gave it to the agent to repair its work.
 */
#ifndef PLAN_REVERT_H
#define PLAN_REVERT_H

#include "base/text/line_edit.h"

#include <stdbool.h>

/* The entry of a commit at a path: a file, a symlink or a submodule. NULL: no entry. */
struct path_entry {
    const char *mode, *id;
};

enum revert {
    REVERT_NONE,  /* others did not change the path, or the task kept their change, or the result is
                   * the task's own change */
    REVERT_WHOLE, /* content or mode is the same as before others changed it */
    REVERT_LINES, /* all three differ: compare the lines of the file, which is empty without an
                     entry */
};

enum revert revert_judge(const struct path_entry *start, const struct path_entry *landed,
                         const struct path_entry *made);

/* For a path that is REVERT_NONE because the task removed it: true if a path that only the task has
 * contains the file from before others changed it. That is a move that drops their change. */
bool revert_moves_old(const struct path_entry *start, const struct path_entry *landed,
                      const struct path_entry *made, const struct path_entry *moved);

/* For a path that is REVERT_LINES: true if the task has undone one edit of others. Both edits start
 * from the landed text: `undo` would undo the edit of others, `made` is an edit of the task. */
bool revert_undoes(const struct line_edit *undo, const struct line_edit *made);

/* The same for all edits of a file, sorted by `at`. */
bool revert_undoes_any(const struct line_edit *undo, size_t undo_count,
                       const struct line_edit *made, size_t made_count);

#endif
