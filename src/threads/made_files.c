#include "threads/fanout/fanout.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "threads/claude_settings.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* True if it is the settings file in Claude Code's folder. */
static bool is_settings(DIR *dir, const char *name)
{
    struct stat st;
    return strcmp(name, strrchr(CLAUDE_SETTINGS, '/') + 1) == 0 &&
           fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode);
}

/* True if the settings file is the only entry of the folder. */
static bool has_only_settings(const struct thread *t, const char *folder)
{
    autofree char *path = mem_printf("%s/%s", t->path, folder);
    DIR *dir = opendir(path);
    bool alone = dir != NULL;
    for (struct dirent *e; alone && (e = readdir(dir));)
        alone = str_is_dots(e->d_name) || is_settings(dir, e->d_name);
    if (dir)
        (void)closedir(dir);
    return alone;
}

bool fanout_made(const struct thread *t, const char *path)
{
    return strcmp(path, THREAD_BRIEF) == 0 || strcmp(path, CLAUDE_SETTINGS) == 0 ||
           (strcmp(path, ".claude/") == 0 && has_only_settings(t, path));
}
