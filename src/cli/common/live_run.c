#include "cli/common/live_run.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "git/state_paths.h"
#include "run/control/client.h"
#include "run/state/run_folder.h"
#include "sys/clock.h"
#include "sys/own_fd.h"

#include <string.h>
#include <time.h>

enum { ANSWER_MS = 10000, END_MS = 10000, POLL_MS = 20 };

static bool is_alive(const char *dir)
{
    autoclose int lock = -1;
    return run_folder_lock(dir, &lock, NULL) == 0 && lock < 0;
}

struct live_runs {
    const struct lookup *look;
    char *id; /* of the newest live run */
    char *other;
};

static bool add_live_run(void *ctx, const struct store_run *run)
{
    struct live_runs *found = ctx;
    autofree char *dir = run_path(found->look->state_dir, run->id);
    if (strcmp(run->state, "running") != 0 || !is_alive(dir))
        return true;
    if (found->id)
        found->other = mem_str(run->id);
    else
        found->id = mem_str(run->id);
    return !found->other;
}

static int find_only_live(struct lookup *look, char **ret_id)
{
    struct live_runs found = {.look = look};
    struct err err = {0};
    int rc = store_each_run(look->store, add_live_run, &found, &err);
    autofree char *id = found.id, *other = found.other;
    if (rc)
        return cli_fail(EXIT_ENV, "%s", err.msg);
    if (other)
        return cli_fail(EXIT_USAGE,
                        "several runs are running: choose one with --run %s or --run %s", id,
                        other);
    *ret_id = steal_ptr(id);
    return EXIT_OK;
}

static int find_named(struct lookup *look, const char *word, char **ret_id)
{
    autoreport struct report r = {0};
    int code = lookup_run(look, word, &r);
    if (code == EXIT_OK)
        *ret_id = mem_str(r.row.id);
    return code;
}

/* Finds the run that `word` names, or (NULL) the only live run. *ret_dir is its folder, or NULL if
 * the run is not alive; then we print nothing. */
static int find_run(struct lookup *look, const char *word, char **ret_id, char **ret_dir)
{
    int code = word ? find_named(look, word, ret_id) : find_only_live(look, ret_id);
    autofree char *dir = *ret_id ? run_path(look->state_dir, *ret_id) : NULL;
    if (dir && is_alive(dir))
        *ret_dir = steal_ptr(dir);
    return code;
}

static int print_answer(const struct buf *text)
{
    autobuf struct buf out = BUF_INIT;
    text_harmless(&out, text->s, text->len);
    buf_addch(&out, '\n');
    return cli_print(out.s, out.len);
}

/* Without a live run, the user meant the newest one. */
static int fail_not_running(struct lookup *look, const char *id, const char *instead)
{
    autoreport struct report r = {0};
    int code = id ? EXIT_OK : lookup_run(look, NULL, &r);
    if (code != EXIT_OK)
        return code;
    return cli_fail(EXIT_USAGE, "run %s is not running: %s", id ? id : r.row.id, instead);
}

int live_run_ask(const char *word, const struct node *request, const char *instead)
{
    autolook struct lookup look;
    autofree char *id = NULL, *dir = NULL;
    autobuf struct buf text = BUF_INIT;
    struct err err = {0};
    bool done = false;
    int code = lookup_open(&look);
    if (code == EXIT_OK)
        code = find_run(&look, word, &id, &dir);
    if (code != EXIT_OK)
        return code;
    if (!dir)
        return fail_not_running(&look, id, instead);
    if (control_call(dir, request, &done, &text, &err))
        return err.code == ERR_INPUT ? fail_not_running(&look, id, instead)
                                     : cli_fail(EXIT_ENV, "%s", err.msg);
    return done ? print_answer(&text) : cli_fail(EXIT_USAGE, "%s", text.s);
}

/* Waits until the run has ended, and takes its lock. */
static bool wait_for_end(const char *dir, int64_t ms, int *ret_lock)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000};
    int64_t end = clock_mono() + ms;
    while (run_folder_lock(dir, ret_lock, NULL) || *ret_lock < 0) {
        if (clock_mono() >= end)
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* Prints the answer of the run, or why there is none. */
static int print_answer_of(const struct node *answer, const struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    if (!answer)
        return cli_fail(err->code == ERR_INPUT ? EXIT_USAGE : EXIT_ENV, "%s",
                        err->code ? err->msg : "cannot read the run's answer");
    buf_addstr(&text, node_get_string(answer, "text", ""));
    return control_says(answer, "ok") ? print_answer(&text) : cli_fail(EXIT_USAGE, "%s", text.s);
}

bool live_run_try(const char *dir, const struct node *request, int *ret_lock, int *ret_code)
{
    const struct node *answer = NULL;
    autoarena struct arena a = {0};
    struct err err = {0};
    int rc = control_ask(dir, request, ANSWER_MS, &a, &answer, &err);
    bool ending = rc || control_says(answer, "ends");
    bool ended = ending && wait_for_end(dir, err.code == ERR_INPUT ? 0 : END_MS, ret_lock);
    if (!ended)
        *ret_code = print_answer_of(answer, &err);
    return !ended;
}

bool live_run_only(struct lookup *look, char **ret_id, char **ret_dir)
{
    struct live_runs found = {.look = look};
    int rc = store_each_run(look->store, add_live_run, &found, NULL);
    autofree char *id = found.id, *other = found.other;
    if (rc || !id || other)
        return false;
    *ret_dir = run_path(look->state_dir, id);
    *ret_id = steal_ptr(id);
    return true;
}

bool live_run_continue(struct lookup *look, const char *word, int *ret_code)
{
    autobuf struct buf text = BUF_INIT;
    autofree char *id = NULL, *dir = NULL;
    autoarena struct arena a = {0};
    bool done = false;
    if (!live_run_only(look, &id, &dir) || (word && strncmp(id, word, strlen(word)) != 0))
        return false;
    struct node *request = node_new_map(&a);
    node_put_string(&a, request, "verb", "continue");
    if (control_call(dir, request, &done, &text, NULL) == 0 && done)
        *ret_code = print_answer(&text);
    return done;
}
