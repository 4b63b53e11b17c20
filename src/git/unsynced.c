#include "git/unsynced.h"

#include "sys/fs/file.h"

static bool noted, allowed;

void unsynced_note(void)
{
    noted = true;
}

bool unsynced_is_noted(void)
{
    return noted;
}

int unsynced_sync(const char *common, struct err *err)
{
    if (!allowed && file_sync_system(common, err))
        return -1;
    noted = false;
    return 0;
}

int unsynced_settle(const char *common, struct err *err)
{
    return noted ? unsynced_sync(common, err) : 0;
}

void unsynced_allow(bool is_allowed)
{
    allowed = is_allowed;
}
