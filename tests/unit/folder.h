/* A folder for one test: its path is the state of the test. */
#ifndef TESTS_UNIT_FOLDER_H
#define TESTS_UNIT_FOLDER_H

#include "base/mem.h"
#include "sys/fs/dirs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static inline int make_folder_like(void **state, const char *pattern)
{
    char *dir = mem_str(pattern);
    *state = mkdtemp(dir) ? dir : NULL;
    return *state ? 0 : -1;
}

static inline int make_folder(void **state)
{
    return make_folder_like(state, "/tmp/anabranch-unit-XXXXXX");
}

/* On Linux in a tmpfs, where there is one that everybody may use. */
static inline int make_memory_folder(void **state)
{
    bool there = access("/dev/shm", W_OK | X_OK) == 0;
    return there ? make_folder_like(state, "/dev/shm/anabranch-unit-XXXXXX") : make_folder(state);
}

static int remove_folder(void **state)
{
    int rc = dirs_remove(*state, NULL);
    free(*state);
    return rc;
}

#endif
