#include "plan/notify.h"

#include "plan/plan.h"
#include "plan/webhook_url.h"
#include "plan/words.h"

static void read_webhook(struct reader *r, const struct node *node, const struct field *f,
                         void *slot)
{
    const char *url = NULL;
    read_string(r, node, f, &url);
    const char *refusal = url ? webhook_refusal(url) : NULL;
    if (refusal)
        problem_error(r->ps, RULE_WEBHOOK, node, "'%.80s' %s", url, refusal);
    else if (url)
        *(const char **)slot = url;
}

static void read_events(struct reader *r, const struct node *node, const struct field *f,
                        void *slot)
{
    if (!read_expect(r, node, NODE_LIST))
        return;
    if (node->n == 0)
        problem_error(r->ps, RULE_VALUE, node, "is empty: say when to notify");
    node_each (item, node) {
        int bit = -1;
        read_word(r, item, f, &bit);
        if (bit >= 0)
            *(unsigned *)slot |= 1u << bit;
    }
}

static void read_entry(struct reader *r, const struct node *node, struct notify *out)
{
    static const struct field fields[] = {
        {"on", read_events, offsetof(struct notify, on), .words = notify_words},
        {"webhook", read_webhook, offsetof(struct notify, webhook)},
        {"command", read_command, offsetof(struct notify, command)},
        {"desktop", read_bool, offsetof(struct notify, desktop)},
        {"bell", read_bool, offsetof(struct notify, bell)},
        {0},
    };
    if (!read_members(r, node, fields, out))
        return;
    int ways = !!node_get(node, "webhook") + !!node_get(node, "command") +
               !!node_get(node, "desktop") + !!node_get(node, "bell");
    if (!node_get(node, "on"))
        problem_error(r->ps, RULE_REQUIRED, node, "has no 'on'");
    if (ways == 0)
        problem_error(r->ps, RULE_REQUIRED, node,
                      "needs 'webhook', 'command', 'desktop' or 'bell'");
    else if (ways > 1)
        problem_error(r->ps, RULE_COMBINATION, node,
                      "has more than one of 'webhook', 'command', 'desktop' and 'bell'");
}

void read_notify(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    (void)f;
    struct notify_list *list = slot;
    if (!read_expect(r, node, NODE_LIST)) {
        problem_hint(r->ps, "each entry is a mapping: [{on: [failed], desktop: true}]");
        return;
    }
    *list = (struct notify_list){arena_array(r->a, node->n + 1, sizeof(*list->v)), .said = true};
    node_each (item, node)
        read_entry(r, item, &list->v[list->n++]);
}
