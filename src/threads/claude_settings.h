/*
 * Adds a hook to the local settings of Claude Code in a worktree. These settings belong to one user
 * and are never committed.
 */
#ifndef THREADS_CLAUDE_SETTINGS_H
#define THREADS_CLAUDE_SETTINGS_H

#include "threads/thread.h"

#define CLAUDE_SETTINGS ".claude/settings.local.json"
#define CLAUDE_HOOK     "__own-hook" /* in its command: identifies our hook */

/* Makes Claude Code call `command` before it writes a file. Replaces a hook that we added before.
 * *ret_done is false, and nothing changes, if the settings may not belong to this worktree alone:
 * git tracks the file, or the file or its folder is a symlink. ERR_INPUT if they are not JSON. */
int claude_settings_add(const struct thread *t, const char *command, bool *ret_done,
                        struct err *err);

/* True if Claude Code keeps its own plans or memories at this absolute path. It writes them
 * outside all projects, but with the same tools as other files. */
bool claude_keeps(const char *path);

#endif
