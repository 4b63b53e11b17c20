/*
 * struct git_core: the settings of a repository that control how files become objects, and how
 * commits are signed.
 */
#ifndef GIT_CONFIG_CORE_SETTINGS_H
#define GIT_CONFIG_CORE_SETTINGS_H

#include "base/buf.h"

#include <stdbool.h>

struct git_core {
    bool ignore_case;
    bool plain;    /* git stores bytes, names and modes of files unchanged, unless attributes of the
                    * project or the repository say otherwise, and has no rules for permissions of new
                    * files */
    bool verbatim; /* git writes files with the bytes of their objects, unless attributes say
                    * otherwise */
    bool programs; /* a filter or merge driver is configured, which git may start; set only by
                    * git_core_read_all() */
    bool attributes;                         /* some attributes apply to every repository */
    bool unsynced;                           /* the user switched off syncing: core.fsync=none */
    bool sign;                               /* commit.gpgsign */
    char *sign_format, *sign_gpg, *sign_ssh; /* gpg.format and the programs; NULL: the default */
    char *excludes; /* the user's own file of ignore patterns; NULL: unknown */
};

/* Parses the output of `git config -z --get-regexp` for the settings above. */
void git_core_read(struct git_core *core, const struct buf *settings);

/* Parses all settings, as printed by `git config --list --show-scope -z`. */
void git_core_read_all(struct git_core *core, const struct buf *settings);
void git_core_done(struct git_core *core);

#endif
