/*
 * parallel-sessions: what that tool demands of a plan.
 */
#include "base/glob.h"
#include "base/mem.h"
#include "cli/dropin_sessions.h"
#include "core/claims.h"

#include <string.h>

enum { MIN_THREADS = 3, MAX_THREADS = 5 };

static const char *text_of(const struct node *map, const char *key, const char *missing)
{
    const struct node *node = node_get(map, key);
    return node && node->kind != NODE_LIST && node->kind != NODE_MAP ? node->text : missing;
}

/* --- fields ------------------------------------------------------------------------------- */

static bool check_fields(const struct node *thread)
{
    static const char *const required[] = {"branch", "goal", "id", "owns"}; /* as it sorts them */
    const char *id = text_of(thread, "id", "?");
    const struct node *owns = node_get(thread, "owns");
    autobuf struct buf missing = BUF_INIT;
    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        if (!node_get(thread, required[i]))
            buf_addf(&missing, "%s'%s'", missing.len ? ", " : "", required[i]);
    }
    if (missing.len)
        (void)sessions_error("thread %s missing fields: [%s]", id, missing.s);
    else if (owns->kind == NODE_LIST && !owns->n)
        (void)sessions_error("thread %s has empty owns — declare at least one owned path", id);
    else
        return true;
    return false;
}

static bool is_unique(const struct node *threads, const char *key)
{
    node_each (a, threads) {
        const char *text = text_of(a, key, NULL);
        for (const struct node *b = a->next; text && b; b = b->next) {
            const char *other = text_of(b, key, NULL);
            if (other && strcmp(text, other) == 0)
                return false;
        }
    }
    return true;
}

/* --- paths -------------------------------------------------------------------------------- */

static struct glob *glob_of(const struct node *path, bool fold)
{
    autobuf struct buf plain = BUF_INIT;
    if (path->kind != NODE_STRING || claim_normalise(path->text, "", &plain))
        return NULL;
    return glob_new(plain.s, fold);
}

static bool do_overlap(const struct node *a, const struct node *b, bool fold)
{
    struct glob *left = glob_of(a, fold), *right = glob_of(b, fold);
    bool yes = left && right && glob_overlap(left, right, NULL);
    glob_free(left);
    glob_free(right);
    return yes;
}

static bool check_pair(const struct node *a, const struct node *b, bool fold)
{
    const struct node *left = node_get(a, "owns"), *right = node_get(b, "owns");
    if (left->kind != NODE_LIST || right->kind != NODE_LIST)
        return true;
    node_each (p, left) {
        node_each (q, right) {
            if (do_overlap(p, q, fold)) {
                (void)sessions_error(
                    "path overlap: thread %s owns '%s' overlaps thread %s owns '%s'",
                    text_of(a, "id", "?"), p->text, text_of(b, "id", "?"), q->text);
                return false;
            }
        }
    }
    return true;
}

static bool check_paths(const struct node *threads, bool fold)
{
    node_each (a, threads) {
        for (const struct node *b = a->next; b; b = b->next) {
            if (!check_pair(a, b, fold))
                return false;
        }
    }
    return true;
}

bool sessions_check_plan(const struct node *root, bool fold)
{
    const struct node *threads = node_get(root, "threads");
    size_t n = threads && threads->kind == NODE_LIST ? threads->n : 0;
    if (n < MIN_THREADS || n > MAX_THREADS)
        return sessions_error("plan must declare 3-5 threads (got %zu)", n) == 0;
    node_each (thread, threads) {
        if (thread->kind != NODE_MAP)
            return true;
        if (!check_fields(thread))
            return false;
    }
    if (!is_unique(threads, "id"))
        return sessions_error("thread ids must be unique") == 0;
    if (!is_unique(threads, "branch"))
        return sessions_error("thread branches must be unique") == 0;
    return check_paths(threads, fold);
}
