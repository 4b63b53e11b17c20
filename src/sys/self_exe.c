#include "sys/self_exe.h"

#include "base/mem.h"
#include "base/own.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

const char *self_path(void)
{
    static char path[PATH_MAX];
#ifdef __APPLE__
    uint32_t size = sizeof(path);
    return _NSGetExecutablePath(path, &size) == 0 ? path : NULL;
#else
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n < 0)
        return NULL;
    path[n] = '\0';
    return path;
#endif
}

char *self_companion(const char *folder, const char *name)
{
    const char *self = self_path(), *slash = self ? strrchr(self, '/') : NULL;
    autofree char *beside = slash ? mem_printf("%.*s/%s", (int)(slash - self), self, name) : NULL;
    if (beside && access(beside, X_OK) == 0)
        return steal_ptr(beside);
    autofree char *installed = mem_printf("%s/%s", folder, name);
    return access(installed, X_OK) == 0 ? steal_ptr(installed) : NULL;
}
