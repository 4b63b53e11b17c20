#include "threads/fanout/fanout.h"

#include "base/mem.h"
#include "threads/claude_settings.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Whether an entry of the folder of Claude Code's settings is their file. */
static bool is_settings(DIR *dir, const char *name)
{
    struct stat st;
    return strcmp(name, strrchr(CLAUDE_SETTINGS, '/') + 1) == 0 &&
           fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode);
}

/* Whether that file is all that is in the folder. */
static bool is_alone(const struct thread *t, const char *folder)
{
    autofree char *path = mem_printf("%s/%s", t->path, folder);
    DIR *dir = opendir(path);
    bool alone = dir != NULL;
    for (struct dirent *e; alone && (e = readdir(dir));)
        alone = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
                is_settings(dir, e->d_name);
    if (dir)
        (void)closedir(dir);
    return alone;
}

bool fanout_made(const struct thread *t, const char *path)
{
    return strcmp(path, THREAD_BRIEF) == 0 || strcmp(path, CLAUDE_SETTINGS) == 0 ||
           (strcmp(path, ".claude/") == 0 && is_alone(t, path));
}
