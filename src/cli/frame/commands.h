/*
 * The commands, one file each. To add one: write cmd_NAME.c, declare it here, and put it into the
 * list in command.c.
 */
#ifndef CLI_FRAME_COMMANDS_H
#define CLI_FRAME_COMMANDS_H

#include "cli/frame/cli.h"

extern const struct command cmd_bring;
extern const struct command cmd_budget;
extern const struct command cmd_check;
extern const struct command cmd_clean;
extern const struct command cmd_cleanup;
extern const struct command cmd_completion;
extern const struct command cmd_continue;
extern const struct command cmd_converge;
extern const struct command cmd_convert;
extern const struct command cmd_diff;
extern const struct command cmd_shell;
extern const struct command cmd_doctor;
extern const struct command cmd_fanout;
extern const struct command cmd_fill;
extern const struct command cmd_help;
extern const struct command cmd_cost;
extern const struct command cmd_engines;
extern const struct command cmd_explain;
extern const struct command cmd_history;
extern const struct command cmd_init;
extern const struct command cmd_inside;
extern const struct command cmd_logs;
extern const struct command cmd_man;
extern const struct command cmd_materialise;
extern const struct command cmd_own;
extern const struct command cmd_own_commit;
extern const struct command cmd_own_hook;
extern const struct command cmd_pause;
extern const struct command cmd_rehearse;
extern const struct command cmd_report;
extern const struct command cmd_remove;
extern const struct command cmd_replay;
extern const struct command cmd_snapshot;
extern const struct command cmd_resume;
extern const struct command cmd_retry;
extern const struct command cmd_run;
extern const struct command cmd_salvage;
extern const struct command cmd_say;
extern const struct command cmd_serve;
extern const struct command cmd_sim;
extern const struct command cmd_skill;
extern const struct command cmd_skip;
extern const struct command cmd_status;
extern const struct command cmd_stop;
extern const struct command cmd_streams;
extern const struct command cmd_top;
extern const struct command cmd_warden;
extern const struct command cmd_warm;
extern const struct command cmd_workers;

/* Returns the next command that is not hidden, and NULL after the last. Start with *i = 0. */
const struct command *cli_next(size_t *i);

/* Topics of `anabranch help` that are not commands, NULL at the end. */
extern const char *const cli_topics[];

/* Prints that there is no such command (with `topics`: or topic), and suggests the nearest name.
 * Returns EXIT_USAGE. */
int cli_unknown(const char *name, bool topics);

#endif
