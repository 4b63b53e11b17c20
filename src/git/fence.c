#include "git/fence.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The last repository opened: the only one that has workspaces. */
static struct {
    char *common;
    struct fence fence;
    bool is_wanted;
} noted;

/* If git is a script, it may write anywhere. */
static bool is_program(void)
{
    autofree char *path = spawn_find("git");
    autoclose int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    char bytes[2];
    return fd >= 0 && read(fd, bytes, sizeof(bytes)) == sizeof(bytes) &&
           memcmp(bytes, "#!", sizeof(bytes)) != 0;
}

static void add_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        noted.fence.folders[noted.fence.n++] = fd;
}

static void add_linked(const char *common)
{
    static const char *const names[] = {"objects", "refs", "logs", "worktrees", "anabranch"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autofree char *path = mem_printf("%s/%s", common, names[i]);
        struct stat st;
        if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
            add_folder(path);
    }
}

void git_fence_note(const struct git_repo *repo)
{
    while (noted.fence.n)
        own_close(&noted.fence.folders[--noted.fence.n]);
    free(noted.common);
    noted.common = repo->common ? mem_str(repo->common) : NULL;
    noted.is_wanted = repo->common && !repo->core.programs && is_program();
    if (!noted.is_wanted)
        return;
    add_folder(repo->common);
    add_linked(repo->common);
}

const struct fence *git_fence(const char *common, const int *tree, struct fence *store)
{
    if (!noted.is_wanted || !noted.fence.n || !tree || !common || strcmp(common, noted.common) != 0)
        return NULL;
    *store = noted.fence;
    store->folders[store->n++] = *tree;
    return store;
}
