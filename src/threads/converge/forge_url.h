/*
 * Which repository of a forge a remote is.
 */
#ifndef THREADS_CONVERGE_FORGE_URL_H
#define THREADS_CONVERGE_FORGE_URL_H

#include "base/err.h"
#include "git/git.h"

/* On the heap. */
struct forge_url {
    char *repo;  /* "HOST/OWNER/NAME" */
    char *owner; /* all between the host and the name */
};

void forge_url_done(struct forge_url *p);
#define autoplace own_cleanup(forge_url_done)

/* By the address of the remote: https, ssh, or as scp writes it. ERR_INPUT where there is no such
 * remote, or its address is none of a forge. */
int forge_url_find(struct forge_url *p, const struct git_repo *repo, const char *remote,
                   struct err *err);

/* Of an address; false where it is none of a forge. */
bool forge_url_parse(struct forge_url *p, const char *address);

#endif
