/*
 * Finds the repository on a forge that a remote names.
 */
#ifndef THREADS_CONVERGE_FORGE_URL_H
#define THREADS_CONVERGE_FORGE_URL_H

#include "base/err.h"
#include "git/git.h"

/* Strings are on the heap. */
struct forge_url {
    char *repo;  /* "HOST/OWNER/NAME" */
    char *owner; /* everything between host and name */
};

void forge_url_done(struct forge_url *p);
#define autoplace own_cleanup(forge_url_done)

/* Reads the address of the remote: https, ssh, or the scp form. Returns ERR_INPUT if there is no
 * such remote, or if its address names no repository on a forge. */
int forge_url_find(struct forge_url *p, const struct git_repo *repo, const char *remote,
                   struct err *err);

/* Parses an address. Returns false if it names no repository on a forge. */
bool forge_url_parse(struct forge_url *p, const char *address);

#endif
