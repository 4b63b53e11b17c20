#include "agent/sim/sim_private.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "plan/failure.h"
#include "sys/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int parse_count(const char *s, int64_t max, int64_t *ret, struct err *err)
{
    int64_t n = text_parse_count(s, strlen(s));
    if (n < 0 || n > max)
        return err_set(err, ERR_INPUT, "'%.80s' is not a number of at least 0, or too large", s);
    *ret = n;
    return 0;
}

static int do_say(struct sim *sim, char *const *args, struct err *err)
{
    buf_cut(&sim->said, 0);
    buf_addstr(&sim->said, args[0]);
    return sim_tell(sim, "text", args[0], err);
}

static int do_err(struct sim *sim, char *const *args, struct err *err)
{
    autobuf struct buf line = BUF_INIT;
    buf_addf(&line, "%s\n", args[0]);
    return sim_write(sim->job->errs_fd, line.s, line.len, err);
}

static int do_action(struct sim *sim, char *const *args, struct err *err)
{
    return sim_tell(sim, "action", args[0], err);
}

static int parse_usd(const char *s, double *ret, struct err *err)
{
    char *end;
    *ret = strtod(s, &end);
    if (!*s || s[strspn(s, "0123456789.")] || *end || !isfinite(*ret))
        return err_set(err, ERR_INPUT, "'%.80s' is not an amount of dollars", s);
    return 0;
}

static int do_tokens(struct sim *sim, char *const *args, struct err *err)
{
    int64_t in = 0, out = 0;
    double usd = 0;
    if (parse_count(args[0], INT64_MAX, &in, err) || parse_count(args[1], INT64_MAX, &out, err))
        return -1;
    if (args[2] && parse_usd(args[2], &usd, err))
        return -1;
    return sim_tell_usage(sim, in, out, args[2] ? &usd : NULL, err);
}

enum { FLOOD_LINE = 1 << 20 };

static int do_flood(struct sim *sim, char *const *args, struct err *err)
{
    int64_t size = 0, n;
    if (parse_count(args[0], INT64_MAX, &size, err))
        return -1;
    char bytes[FLOOD_LINE / 16];
    memset(bytes, 'x', sizeof(bytes));
    for (int64_t left = size; left; left -= n) {
        n = left < (int64_t)sizeof(bytes) ? left : (int64_t)sizeof(bytes);
        bool ends = left == n || (size - left + n) % FLOOD_LINE == 0;
        bytes[n - 1] = ends ? '\n' : 'x';
        if (sim_write(sim->job->out_fd, bytes, (size_t)n, err))
            return -1;
    }
    return 0;
}

static int do_exit(struct sim *sim, char *const *args, struct err *err)
{
    int64_t code = 0;
    if (parse_count(args[0], 255, &code, err))
        return -1;
    return sim_finish(sim, (int)code, NULL, err);
}

static int do_limit(struct sim *sim, char *const *args, struct err *err)
{
    int64_t ms = text_parse_duration(args[0], strlen(args[0]));
    if (ms < 0)
        return err_set(err, ERR_INPUT, "'%.80s' is not a duration", args[0]);
    sim_remember(sim);
    if (sim_tell_limit(sim, (clock_wall() + ms + 999) / 1000, err))
        return -1;
    return sim_finish(sim, 1, "usage limit reached", err);
}

static int do_error(struct sim *sim, char *const *args, struct err *err)
{
    size_t i = 0;
    while (failure_names[i] && strcmp(failure_names[i], args[0]) != 0)
        i++;
    if (!failure_names[i])
        return err_set(err, ERR_INPUT, "'%.80s' is not a class of failures", args[0]);
    const char *text = args[1] ? args[1] : args[0];
    if (i == FAILURE_LIMIT)
        sim_remember(sim);
    if (sim_tell_error(sim, args[0], text, err))
        return -1;
    return sim_finish(sim, 1, text, err);
}

static int do_ask(struct sim *sim, char *const *args, struct err *err)
{
    if (sim_tell(sim, "ask", args[0], err))
        return -1;
    return sim_do_hang(sim, args, err);
}

static const struct sim_step steps[] = {
    {"write", 2, 2, "PATH TEXT", sim_do_write},
    {"append", 2, 2, "PATH TEXT", sim_do_append},
    {"delete", 1, 1, "PATH", sim_do_delete},
    {"rename", 2, 2, "FROM TO", sim_do_rename},
    {"chmod", 2, 2, "MODE PATH", sim_do_chmod},
    {"symlink", 2, 2, "TARGET PATH", sim_do_symlink},
    {"commit", 1, 1, "MESSAGE", sim_do_commit},
    {"sh", 1, 1, "LINE", sim_do_sh},
    {"tool", 1, 1, "LINE", sim_do_tool},
    {"sleep", 1, 1, "DURATION", sim_do_sleep},
    {"say", 1, 1, "TEXT", do_say},
    {"err", 1, 1, "TEXT", do_err},
    {"tokens", 2, 3, "IN OUT [USD]", do_tokens},
    {"action", 1, 1, "TEXT", do_action},
    {"exit", 1, 1, "N", do_exit},
    {"signal", 1, 1, "NAME", sim_do_signal},
    {"spawn", 1, 1, "LINE", sim_do_spawn},
    {"daemon", 1, 1, "LINE", sim_do_daemon},
    {"ignore", 1, 1, "SIGNAL", sim_do_ignore},
    {"flood", 1, 1, "SIZE", do_flood},
    {"limit", 1, 1, "DURATION", do_limit},
    {"error", 1, 2, "CLASS [TEXT]", do_error},
    {"ask", 1, 1, "TEXT", do_ask},
    {"hang", 0, 0, "nothing", sim_do_hang},
};

enum { STEPS = ARRAY_LEN(steps) };

const struct sim_step *sim_step_find(const char *name, struct err *err)
{
    const char *names[STEPS];
    for (size_t i = 0; i < STEPS; i++) {
        if (strcmp(steps[i].name, name) == 0)
            return &steps[i];
        names[i] = steps[i].name;
    }
    const char *meant = text_nearest(name, names, STEPS);
    if (!*name)
        (void)err_set(err, ERR_INPUT, "the name of a step is missing");
    else if (meant)
        (void)err_set(err, ERR_INPUT, "'%.80s' is not a step; did you mean '%s'?", name, meant);
    else
        (void)err_set(err, ERR_INPUT, "'%.80s' is not a step", name);
    return NULL;
}
