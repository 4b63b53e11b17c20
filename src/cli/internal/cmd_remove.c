#include "base/mem.h"
#include "base/own.h"
#include "clean/leftovers.h"
#include "cli/frame/commands.h"
#include "git/state_paths.h"
#include "sys/fs/known_folder.h"
#include "workspace/root_folder.h"

#include <string.h>
#include <sys/resource.h>

struct remove_opts {
    bool idle;
    const char *tidy; /* the lock for --tidy */
};

/* Removes the folder of the run and the folder above, if they are empty. */
static void remove_empty_parents(const char *lock, const char *path)
{
    autofree char *work = mem_str(path);
    char *name = strrchr(work, '/');
    if (!name || name == work)
        return;
    *name = '\0';
    char *run = strrchr(work, '/');
    if (!run || run == work)
        return;
    *run = '\0';
    if (is_run_id(run + 1))
        root_folder_tidy(lock, work, run + 1);
}

static int run_remove(const void *options, char **argv)
{
    const struct remove_opts *opts = options;
    struct err err = {0};
    int code = EXIT_OK;
    if (opts->idle)
        (void)setpriority(PRIO_PROCESS, 0, 19); /* ignore a failure: normal priority does no harm */
    for (; *argv; argv++) {
        if (known_folder_remove(*argv, &err))
            code = cli_fail(EXIT_ENV, "%s", err.msg);
        else if (opts->tidy)
            remove_empty_parents(opts->tidy, known_folder_path(*argv));
    }
    return code;
}

static const struct opt opts_table[] = {
    {"idle", 0, OPT_FLAG, offsetof(struct remove_opts, idle), NULL, NULL,
     "Run with the lowest priority"},
    {"tidy", 0, OPT_STRING, offsetof(struct remove_opts, tidy), "LOCK", NULL,
     "Also remove the folders of the workspaces, if they are empty then"},
    {0},
};

static const struct arg args[] = {
    {.name = "PATH",
     .help = "A file, or a folder with all of its content, or DEV:INO:PATH",
     .repeatable = true},
    {0},
};

const struct command cmd_remove = {
    .name = "__remove",
    .summary = "Delete unused workspaces",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct remove_opts),
    .hidden = true,
    .run = run_remove,
};
