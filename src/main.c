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

static const char *get_called_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Chooses the program by the name that we were called by. Our own internal commands ("__...") work
 * under every name. */
static int run_program(int argc, char **argv)
{
    const char *name = argc ? get_called_name(argv[0]) : "";
    bool internal = argc > 1 && strncmp(argv[1], "__", 2) == 0;
    for (size_t i = 0; !internal && i < ARRAY_LEN(dropins); i++) {
        if (strcmp(name, dropins[i].name) == 0)
            return dropins[i].main(argc, argv);
    }
    return cli_main(argc, argv);
}

/* Guards one command, if anabranch-guard is not installed. */
static int run_guard(char **argv)
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
        return output_end(run_guard(argv + 2));
    /* git calls us by this name for the configured programs: git/config/frozen_config.h. */
    if (argc && strcmp(get_called_name(argv[0]), "anabranch-guard") == 0)
        return output_end(run_guard(argv + 1));
    return output_end(run_program(argc, argv));
}
