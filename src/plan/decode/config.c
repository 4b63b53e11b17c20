#include "plan/decode/config.h"

#include "base/mem.h"
#include "plan/decode/keys.h"
#include "plan/notify.h"
#include "plan/words.h"

#include <ctype.h>
#include <string.h>

static const struct field price_fields[] = {
    {"input", read_usd, offsetof(struct price, input)},
    {"output", read_usd, offsetof(struct price, output)},
    {"cache_read", read_usd, offsetof(struct price, cache_read)},
    {"cache_write", read_usd, offsetof(struct price, cache_made)},
    {0},
};

static bool is_date(const char *s)
{
    static const char shape[] = "0000-00-00";
    for (size_t i = 0; i < sizeof(shape); i++) {
        if (shape[i] == '0' ? !isdigit((unsigned char)s[i]) : s[i] != shape[i])
            return false;
    }
    return true;
}

/* A date may have no quotes: TOML has a type for it. */
static const char *read_date(struct reader *r, const struct node *node)
{
    bool text = node->kind == NODE_STRING || node->kind == NODE_TIME;
    if (text && is_date(node->text))
        return node->text;
    problem_error(r->ps, text ? RULE_VALUE : RULE_TYPE, node, "is not a date");
    problem_hint(r->ps, "the day on which the prices held: date = \"2026-11-01\"");
    return NULL;
}

static void require_key(struct reader *r, const struct node *node, const char *key)
{
    if (!node_get(node, key))
        problem_error(r->ps, RULE_REQUIRED, node, "has no '%s'", key);
}

static void read_price(struct reader *r, struct config *config, const struct node *node,
                       const char *date)
{
    struct price price = {.model = node->key, .date = date, .cache_read = -1, .cache_made = -1};
    size_t errors = r->ps->errors;
    if (!read_members(r, node, price_fields, &price))
        return;
    require_key(r, node, "input");
    require_key(r, node, "output");
    const char *star = strchr(node->key, '*');
    if (strlen(node->key) != node->key_len || (star && star[1])) {
        problem_error_key(r->ps, RULE_VALUE, node, "cannot be the name of a model");
        problem_hint(r->ps, "a '*' may only be at its end");
    }
    if (r->ps->errors == errors)
        vec_push(&config->prices, price);
}

static void read_prices(struct reader *r, const struct node *node, const struct field *f,
                        void *slot)
{
    struct config *config = slot;
    (void)f;
    if (!read_expect(r, node, NODE_MAP))
        return;
    const struct node *date_node = node_get(node, "date");
    const char *date = date_node ? read_date(r, date_node) : NULL;
    if (!date_node)
        require_key(r, node, "date");
    node_each (member, node) {
        if (member != date_node && strncmp(member->key, "x-", 2) != 0)
            read_price(r, config, member, date ? date : "");
    }
}

/* Rejects a relative path, because it would depend on the current folder. */
static void read_program(struct reader *r, const struct node *node, const struct field *f,
                         void *slot)
{
    const char *path = NULL;
    read_string(r, node, f, &path);
    if (!path)
        return;
    if (*path == '/' || !strchr(path, '/')) {
        *(const char **)slot = path;
        return;
    }
    problem_error(r->ps, RULE_VALUE, node, "'%.200s' is neither an absolute path nor a name", path);
    problem_hint(r->ps, "begin it with '/', or give the name of a program on PATH");
}

static const struct field engine_fields[] = {
    {"path", read_program, 0},
    {0},
};

static void read_engines(struct reader *r, const struct node *node, const struct field *f,
                         void *slot)
{
    struct field engines[CONFIG_ENGINES] = {0};
    (void)f;
    for (size_t i = 1; i < CONFIG_ENGINES; i++) {
        engines[i - 1] = (struct field){
            .name = engine_words[i],
            .read = read_map,
            .offset = offsetof(struct config, programs) + i * sizeof(const char *),
            .fields = engine_fields,
        };
    }
    read_members(r, node, engines, slot);
}

static const struct field config_log_fields[] = {
    {"command", read_command, offsetof(struct config, log)},
    {0},
};

static const struct field config_fields[] = {
    {"prices", read_prices, 0},
    {"engines", read_engines, 0},
    {"log", read_map, 0, .fields = config_log_fields},
    {"notify", read_notify, offsetof(struct config, notify)},
    {0},
};

int config_decode(struct config *config, const struct node *root, struct problems *ps)
{
    struct reader r = {.a = &config->arena, .ps = ps};
    size_t errors = ps->errors;
    read_members(&r, root, config_fields, config);
    return ps->errors > errors ? -1 : 0;
}

void config_done(struct config *config)
{
    vec_done(&config->prices);
    arena_done(&config->arena);
}

/* The length of the match between a price and a model's name; 0: no match. An exact match beats
 * every prefix. */
static size_t match_length(const struct price *price, const char *model)
{
    size_t len = strlen(price->model);
    if (strcmp(price->model, model) == 0)
        return SIZE_MAX;
    bool open = len && price->model[len - 1] == '*';
    return open && strncmp(price->model, model, len - 1) == 0 ? len : 0;
}

static const struct price *find_price(const struct config *config, const char *model)
{
    const struct price *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < config->prices.n; i++) {
        size_t fit = match_length(&config->prices.v[i], model);
        if (fit && fit >= most) {
            best = &config->prices.v[i];
            most = fit;
        }
    }
    return best;
}

double config_reckon(const struct config *config, const char *model, const struct tokens *tokens,
                     const char **ret_date)
{
    const struct price *p = model ? find_price(config, model) : NULL;
    if (!p)
        return -1;
    double read = p->cache_read < 0 ? p->input : p->cache_read;
    double made = p->cache_made < 0 ? p->input : p->cache_made;
    *ret_date = p->date;
    return ((double)tokens->in * p->input + (double)tokens->out * p->output +
            (double)tokens->cache_read * read + (double)tokens->cache_made * made) /
           1e6;
}
