/*
 * The settings of Claude Code in a worktree that are for one user alone, and never committed: a
 * hook of ours is added to what the user has there, and taken out again.
 */
#ifndef THREADS_CLAUDE_SETTINGS_H
#define THREADS_CLAUDE_SETTINGS_H

#include "threads/thread.h"

#define CLAUDE_SETTINGS ".claude/settings.local.json"
#define CLAUDE_HOOK     "__own-hook" /* in its command: by this word it is known again */

/* Makes Claude Code call the command before it writes a file, and no other of ours.
 * *ret_done is false, and nothing is changed, where the settings are not this worktree's alone:
 * git tracks the file, or it or its folder is a symlink. ERR_INPUT where they are not JSON. */
int claude_settings_add(const struct thread *t, const char *command, bool *ret_done,
                        struct err *err);

/* The other way round. What the user had before is there again byte by byte, unless something else
 * was changed meanwhile. */
int claude_settings_remove(const struct thread *t, struct err *err);

/* Whether an absolute path is one where Claude Code keeps plans and memories of its own, outside of
 * all projects, but by the tools that it writes files with. */
bool claude_keeps(const char *path);

#endif
