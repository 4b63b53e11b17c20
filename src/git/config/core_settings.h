/*
 * struct git_core: what a repository's settings say of how files become objects, and of whether and
 * how commits are signed.
 */
#ifndef GIT_CONFIG_CORE_SETTINGS_H
#define GIT_CONFIG_CORE_SETTINGS_H

#include "base/buf.h"

#include <stdbool.h>

struct git_core {
    bool ignore_case;
    bool plain;      /* git takes bytes, names and modes of files as they are, unless attributes of
                      * the project or the repository say otherwise, and has no rules of its own for
                      * who may read what it writes */
    bool verbatim;   /* files are written as their objects are, unless attributes say otherwise */
    bool programs;   /* a filter or merge driver is configured, which git may start; only told by
                      * git_core_read_all() */
    bool attributes; /* there are some that hold in every repository */
    bool unsynced;   /* the user wants nothing of git's synced: core.fsync=none */
    bool sign;       /* commit.gpgsign */
    char *sign_format, *sign_gpg, *sign_ssh; /* gpg.format and the programs; NULL: the usual */
    char *excludes; /* the user's own file of patterns to ignore; NULL: not known */
};

/* Reads what `git config -z --get-regexp` printed of the settings that it is made of. */
void git_core_read(struct git_core *core, const struct buf *settings);

/* The same from all settings, as `git config --list --show-scope -z` printed them. */
void git_core_read_all(struct git_core *core, const struct buf *settings);
void git_core_done(struct git_core *core);

#endif
