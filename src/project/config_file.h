/*
 * struct config_file: the configuration as it lies on disk: the user's,
 * $XDG_CONFIG_HOME/anabranch/anabranch.toml, and that of a repository, anabranch.toml at its root,
 * which goes before it. Neither has to be there.
 */
#ifndef PROJECT_CONFIG_FILE_H
#define PROJECT_CONFIG_FILE_H

#include "base/buf.h"
#include "base/err.h"
#include "doc/doc.h"
#include "plan/decode/config.h"

struct config_file {
    struct config config;
    struct doc docs[2];
};

/* Reads both; root is the folder of the repository or project, or NULL. ERR_INPUT where something
 * is wrong, with the first of it; all of it, line by line, is added to `wrong` where that is not
 * NULL. To be released in every case. */
int config_file_open(struct config_file *cf, const char *root, struct buf *wrong, struct err *err);
void config_file_close(struct config_file *cf);
#define autoconfig own_cleanup(config_file_close)

#endif
