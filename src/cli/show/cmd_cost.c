/*
 * Adds up the tokens and money that agents have used, from the store.
 */
#include "base/map.h"
#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "base/vec.h"
#include "cli/common/lookup.h"
#include "cli/frame/commands.h"
#include "doc/doc.h"
#include "sys/clock.h"

#include <stdint.h>
#include <string.h>

enum by { BY_TASK, BY_ENGINE, BY_MODEL, BY_RUN };

struct cost_opts {
    bool json;
    int by;
    const char *since;
};

/* The sum of all attempts with the same name. */
struct sum {
    char *name;
    int64_t attempts, tokens_in, tokens_out, cache_read, cache_made;
    double usd;
    int64_t unknown;  /* attempts without a reported cost */
    double reckoned;  /* the part of the money that we estimated by prices */
    int64_t by_price; /* attempts that we estimated */
};

struct costs {
    enum by by;
    struct map by_name;
    VEC(struct sum *) list;
    struct sum total;
    char *oldest, *newest; /* dates of the prices that we used, or NULL */
};

static void costs_done(struct costs *c)
{
    for (size_t i = 0; i < c->list.n; i++) {
        free(c->list.v[i]->name);
        free(c->list.v[i]);
    }
    vec_done(&c->list);
    map_done(&c->by_name);
    free(c->oldest);
    free(c->newest);
}

static const char *get_name(enum by by, const struct store_spending *s)
{
    const char *name = by == BY_TASK     ? s->task
                       : by == BY_ENGINE ? s->engine
                       : by == BY_MODEL  ? s->model
                                         : s->run;
    return name ? name : "unknown";
}

static struct sum *find_sum(struct costs *c, const char *name)
{
    struct sum *sum = map_get(&c->by_name, name, strlen(name));
    if (sum)
        return sum;
    sum = mem_alloc(sizeof(*sum));
    sum->name = mem_str(name);
    (void)map_put(&c->by_name, sum->name, strlen(sum->name), sum);
    vec_push(&c->list, sum);
    return sum;
}

static void add_attempt(struct sum *to, const struct store_spending *s)
{
    to->attempts++;
    to->tokens_in += s->tokens_in;
    to->tokens_out += s->tokens_out;
    to->cache_read += s->cache_read;
    to->cache_made += s->cache_made;
    to->unknown += s->usd < 0;
    to->usd += s->usd < 0 ? 0 : s->usd;
    if (s->prices && s->usd >= 0) {
        to->reckoned += s->usd;
        to->by_price++;
    }
}

static void record_price_date(struct costs *c, const char *date)
{
    if (!c->oldest || strcmp(date, c->oldest) < 0) {
        free(c->oldest);
        c->oldest = mem_str(date);
    }
    if (!c->newest || strcmp(date, c->newest) > 0) {
        free(c->newest);
        c->newest = mem_str(date);
    }
}

static bool add_spending(void *ctx, const struct store_spending *s)
{
    struct costs *c = ctx;
    add_attempt(find_sum(c, get_name(c->by, s)), s);
    add_attempt(&c->total, s);
    if (s->prices)
        record_price_date(c, s->prices);
    return true;
}

/* An unknown cost is "-"; a '+' after an amount means that a part is unknown. A '~' before it means
 * that we estimated a part by prices. */
static void add_money(struct buf *out, const struct sum *s)
{
    if (s->unknown == s->attempts)
        buf_addstr(out, "-");
    else
        buf_addf(out, "%s%.4f%s", s->by_price ? "~" : "", s->usd, s->unknown ? "+" : "");
}

static void add_row(struct buf *out, const struct sum *s, const char *name, size_t width)
{
    autobuf struct buf safe = BUF_INIT, money = BUF_INIT;
    const int64_t counts[] = {s->tokens_in, s->tokens_out, s->cache_read, s->cache_made};
    text_add_harmless(&safe, name);
    buf_addf(out, "%-*s  %8lld", (int)width, safe.s, (long long)s->attempts);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        autobuf struct buf count = BUF_INIT;
        text_format_count(&count, counts[i]);
        buf_addf(out, "  %9s", count.s);
    }
    add_money(&money, s);
    buf_addf(out, "  %10s\n", money.s);
}

static void add_table(const struct costs *c, struct buf *out)
{
    static const char *const heads[] = {"task", "engine", "model", "run"};
    size_t width = strlen("Total");
    for (size_t i = 0; i < c->list.n; i++)
        width = strlen(c->list.v[i]->name) > width ? strlen(c->list.v[i]->name) : width;
    buf_addf(out, "%-*s  %8s  %9s  %9s  %9s  %9s  %10s\n", (int)width, heads[c->by], "attempts",
             "in", "out", "cache", "cached", "usd");
    for (size_t i = 0; i < c->list.n; i++)
        add_row(out, c->list.v[i], c->list.v[i]->name, width);
    add_row(out, &c->total, "Total", width);
    if (c->total.by_price)
        buf_addf(out, "\n~ Estimated by the configured prices of %s%s%s: $%.4f of the total.\n",
                 c->oldest, strcmp(c->oldest, c->newest) != 0 ? " to " : "",
                 strcmp(c->oldest, c->newest) != 0 ? c->newest : "", c->total.reckoned);
    if (c->total.unknown)
        buf_addf(out, "\n%lld attempt%s: no cost reported.\n", (long long)c->total.unknown,
                 c->total.unknown == 1 ? "" : "s");
}

static void put_sum(struct arena *a, struct node *map, const struct sum *s)
{
    node_put_int(a, map, "attempts", s->attempts);
    node_put_int(a, map, "tokens_in", s->tokens_in);
    node_put_int(a, map, "tokens_out", s->tokens_out);
    node_put_int(a, map, "cache_read", s->cache_read);
    node_put_int(a, map, "cache_made", s->cache_made);
    if (s->unknown < s->attempts)
        node_put_real(a, map, "usd", s->usd);
    if (s->by_price)
        node_put_real(a, map, "usd_reckoned", s->reckoned);
    node_put_int(a, map, "attempts_of_reckoned_cost", s->by_price);
    node_put_int(a, map, "attempts_of_unknown_cost", s->unknown);
}

static void add_json(const struct costs *c, struct buf *out)
{
    autoarena struct arena a = {0};
    struct node *root = node_new_map(&a), *list = node_put_list(&a, root, "costs");
    for (size_t i = 0; i < c->list.n; i++) {
        struct node *map = node_add_map(&a, list);
        node_put_string(&a, map, "name", c->list.v[i]->name);
        put_sum(&a, map, c->list.v[i]);
    }
    put_sum(&a, node_put_map(&a, root, "total"), &c->total);
    if (c->newest) {
        struct node *prices = node_put_map(&a, root, "prices");
        node_put_string(&a, prices, "oldest", c->oldest);
        node_put_string(&a, prices, "newest", c->newest);
    }
    doc_write_lines(out, root);
    buf_addch(out, '\n');
}

/* Parses "7d" as a time before now. 0 if the option is not given. */
static bool parse_since(const char *text, int64_t *ret)
{
    int64_t ms = text ? text_parse_duration(text, strlen(text)) : 0;
    *ret = text ? clock_wall() - ms : 0;
    return ms >= 0;
}

static int print_costs(struct lookup *look, struct costs *c, const char *run, int64_t since,
                       bool json)
{
    autobuf struct buf out = BUF_INIT;
    struct err err = {0};
    if (store_each_spending(look->store, run, since, add_spending, c, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    if (json)
        add_json(c, &out);
    else if (c->list.n)
        add_table(c, &out);
    else
        buf_addstr(&out, "No agent has reported its usage.\n");
    return cli_print(out.s, out.len);
}

static int load_costs(const struct cost_opts *opts, const char *run, int64_t since)
{
    autolook struct lookup look;
    autoreport struct report r = {0};
    own_cleanup(costs_done) struct costs c = {.by = (enum by)opts->by};
    int code = lookup_open(&look);
    if (code == EXIT_OK && run)
        code = lookup_run(&look, run, &r);
    return code == EXIT_OK ? print_costs(&look, &c, run ? r.row.id : NULL, since, opts->json)
                           : code;
}

static int run_cost(const void *options, char **argv)
{
    const struct cost_opts *opts = options;
    int64_t since;
    if (!parse_since(opts->since, &since))
        return cli_fail(EXIT_USAGE, "'%s' is not a duration, such as 12h or 7d", opts->since);
    return load_costs(opts, argv[0], since);
}

static const struct arg args[] = {
    {"RUN", "Its id, the beginning of its id, or 'last' (default: all runs)", .optional = true},
    {0},
};

static const char *const by_words[] = {"task", "engine", "model", "run", NULL};

static const struct opt opts_table[] = {
    {"by", 0, OPT_CHOICE, offsetof(struct cost_opts, by), "WHAT", by_words,
     "Group the costs by this (task)"},
    {"since", 0, OPT_STRING, offsetof(struct cost_opts, since), "DURATION", NULL,
     "Count only usage within this time: 12h, 7d"},
    {"json", 0, OPT_FLAG, offsetof(struct cost_opts, json), NULL, NULL, "Print JSON"},
    {0},
};

const struct command cmd_cost = {
    .name = "cost",
    .summary = "Show the tokens and money that agents have used",
    .args = args,
    .about =
        "Shows the usage of one run, or of all runs in this repository. Tokens are counted "
        "separately: tokens that the model read and wrote, that it read from its cache, and "
        "that it put there. The money is the cost that the engines report. If an engine reports "
        "none, anabranch estimates it by the prices in the configuration (anabranch.toml), and "
        "prints '~' before the amount and the date of the prices below. If these prices do not "
        "include the model either, the cost is unknown: it is shown as '-', or as a '+' after "
        "the known part.",
    .examples = "anabranch cost last\tShow the last run, task by task\n"
                "anabranch cost --since 7d --by model\tShow the last week\n",
    .opts = opts_table,
    .options_size = sizeof(struct cost_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-plan(5)",
    .run = run_cost,
};
