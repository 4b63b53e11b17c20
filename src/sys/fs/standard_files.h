/*
 * struct standard_files: the regular files behind our descriptors 0, 1 and 2 that are open for
 * writing. The shell opened them for us, as in `anabranch run plan.yaml >log 2>&1`: they change
 * because we write to them.
 */
#ifndef SYS_FS_STANDARD_FILES_H
#define SYS_FS_STANDARD_FILES_H

#include "sys/fs/beneath.h"

#include <stddef.h>
#include <sys/stat.h>

struct standard_files {
    struct file_id ids[3];
    size_t n;
};

void standard_files_find(struct standard_files *ret);

bool standard_files_have(const struct standard_files *files, const struct stat *st);

#endif
