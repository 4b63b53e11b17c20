#include "base/mem.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "dropin/dropin.h"
#include "git/sign.h"
#include "sys/guard/guard_args.h"

#include <string.h>

static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
} dropins[] = {
    {"cast-parallel", dropin_cast},
    {"cast-parallel.sh", dropin_cast},
    {"parallel-orchestra", dropin_orchestra},
    {"parallel-sessions", dropin_sessions},
};

static const char *called_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The program by the name that it was called by. What it starts itself with is its own under any
 * name. */
static int run(int argc, char **argv)
{
    const char *name = argc ? called_name(argv[0]) : "";
    bool internal = argc > 1 && strncmp(argv[1], "__", 2) == 0;
    for (size_t i = 0; !internal && i < ARRAY_LEN(dropins); i++) {
        if (strcmp(name, dropins[i].name) == 0)
            return dropins[i].main(argc, argv);
    }
    return cli_main(argc, argv);
}

/* What the engine starts for each command, where anabranch-guard is not installed. */
static int guard(char **argv)
{
    struct err err = {0};
    return guard_main(argv, &err) ? cli_fail((enum exit_code)GUARD_NOT_STARTED, "%s", err.msg)
                                  : EXIT_OK;
}

int main(int argc, char **argv)
{
    if (sign_is_wanted(argc, argv)) {
        sign_exec(argv);
        return EXIT_ENV;
    }
    if (output_begin() < 0)
        return EXIT_ENV;
    if (argc > 1 && strcmp(argv[1], "__guard") == 0)
        return output_end(guard(argv + 2));
    if (argc && strcmp(called_name(argv[0]), "anabranch-guard") ==
                    0) /* git, by git/config/frozen_config.h */
        return output_end(guard(argv + 1));
    return output_end(run(argc, argv));
}
