/* A folder for one test: its path is the test's state. */
#ifndef TESTS_UNIT_FOLDER_H
#define TESTS_UNIT_FOLDER_H

#include "base/mem.h"
#include "sys/dirs.h"

#include <stdlib.h>

static int make_folder(void **state)
{
    char *dir = mem_str("/tmp/anabranch-unit-XXXXXX");
    *state = mkdtemp(dir) ? dir : NULL;
    return *state ? 0 : -1;
}

static int remove_folder(void **state)
{
    int rc = dirs_remove(*state, NULL);
    free(*state);
    return rc;
}

#endif
