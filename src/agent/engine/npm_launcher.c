#include "agent/engine/npm_launcher.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/proc/spawn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

const struct launcher_machine *launcher_machine(void)
{
    static const struct {
        const char *system, *machine;
        struct launcher_machine is;
    } known[] = {
        {"Linux", "x86_64", {"linux", "x64", "x86_64-unknown-linux-musl"}},
        {"Linux", "aarch64", {"linux", "arm64", "aarch64-unknown-linux-musl"}},
        {"Darwin", "x86_64", {"darwin", "x64", "x86_64-apple-darwin"}},
        {"Darwin", "arm64", {"darwin", "arm64", "aarch64-apple-darwin"}},
    };
    struct utsname u;
    if (uname(&u) < 0)
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (strcmp(u.sysname, known[i].system) == 0 && strcmp(u.machine, known[i].machine) == 0)
            return &known[i].is;
    }
    return NULL;
}

static bool ends_in(const char *path, const char *end)
{
    size_t len = strlen(path), n = strlen(end);
    return len > n && path[len - n - 1] == '/' && strcmp(path + len - n, end) == 0;
}

/* The length of "@scope/package" in "@scope/package/file". */
static size_t measure_package(const char *script)
{
    const char *name = strchr(script, '/');
    return name ? (size_t)(name - script) + 1 + strcspn(name + 1, "/") : 0;
}

char *launcher_native(const char *command, const char *script, const char *native)
{
    autofree char *found = spawn_find(command);
    autofree char *real = found ? realpath(found, NULL) : NULL;
    if (!real || !ends_in(real, script))
        return NULL;
    int packages =
        (int)(strlen(real) - strlen(script)); /* length of the packages' folder with its slash */
    autofree char *beside = mem_printf("%.*s%s", packages, real, native);
    if (access(beside, X_OK) == 0)
        return steal_ptr(beside);
    autofree char *below = mem_printf("%.*s%.*s/node_modules/%s", packages, real,
                                      (int)measure_package(script), script, native);
    return access(below, X_OK) == 0 ? steal_ptr(below) : NULL;
}
