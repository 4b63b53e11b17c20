#include "sys/self.h"

#include <limits.h>
#include <stdlib.h>
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
