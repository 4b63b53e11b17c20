/*
 * struct config_file: the configuration on disk: the user's file,
 * $XDG_CONFIG_HOME/anabranch/anabranch.toml, and the repository's file, anabranch.toml at its
 * root, which takes precedence. Both are optional.
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

/* Reads both files; root is the folder of the repository or project, or NULL. If there are errors
 * it fails with ERR_INPUT and the first one, and adds all of them to `wrong`, line by line, if
 * that is not NULL. Call config_file_close() in every case. */
int config_file_open(struct config_file *cf, const char *root, struct buf *wrong, struct err *err);
void config_file_close(struct config_file *cf);
#define autoconfig own_cleanup(config_file_close)

#endif
