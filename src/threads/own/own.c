#include "threads/own/own.h"

#include "base/mem.h"
#include "base/text/glob.h"
#include "base/text/text.h"

#include <string.h>
#include <unistd.h>

struct globs {
    struct glob **v;
    size_t n, cap;
};

struct rule {
    struct globs owns, granted, forbids;
    bool live; /* its worktree exists */
};

struct own_rules {
    const struct threads *all;
    struct rule *per_thread; /* per thread */
};

/* fanout has checked the claims; a wrong pattern matches nothing. */
static void add_glob(struct globs *globs, const char *pattern, bool fold)
{
    struct glob *glob = glob_new(pattern, fold);
    if (glob)
        vec_push(globs, glob);
}

static void add_globs(struct globs *globs, const struct strv *patterns, bool fold)
{
    for (size_t i = 0; i < patterns->n; i++)
        add_glob(globs, patterns->v[i], fold);
}

static bool is_live(const struct thread *t)
{
    return access(t->path, F_OK) == 0;
}

struct own_rules *own_rules_new(const struct threads *all, bool fold)
{
    struct own_rules *rules = mem_alloc(sizeof(*rules));
    *rules =
        (struct own_rules){.all = all, .per_thread = mem_array(all->n, sizeof(*rules->per_thread))};
    for (size_t i = 0; i < all->n; i++) {
        const struct thread *t = &all->v[i];
        struct rule *rule = &rules->per_thread[i];
        rule->live = is_live(t);
        add_globs(&rule->owns, &t->owns, fold);
        add_globs(&rule->forbids, &t->forbids, fold);
        for (size_t k = 0; k < t->requests.n; k++) {
            if (!t->requests.v[k].claimed_by)
                add_glob(&rule->granted, t->requests.v[k].path, fold);
        }
    }
    return rules;
}

static void globs_done(struct globs *globs)
{
    for (size_t i = 0; i < globs->n; i++)
        glob_free(globs->v[i]);
    vec_done(globs);
}

void own_rules_free(struct own_rules *rules)
{
    if (!rules)
        return;
    for (size_t i = 0; i < rules->all->n; i++) {
        globs_done(&rules->per_thread[i].owns);
        globs_done(&rules->per_thread[i].granted);
        globs_done(&rules->per_thread[i].forbids);
    }
    free(rules->per_thread);
    free(rules);
}

bool own_is_inside(enum own_standing standing)
{
    return standing < OWN_FORBIDDEN;
}

const char *own_standing_name(enum own_standing standing)
{
    static const char *const names[] = {
        [OWN_OWNED] = "owned",         [OWN_GRANTED] = "granted", [OWN_FREE] = "free",
        [OWN_FORBIDDEN] = "forbidden", [OWN_TAKEN] = "taken",     [OWN_NOT_OWNED] = "not-owned",
    };
    return names[standing];
}

static bool match_any(const struct globs *globs, const char *path)
{
    for (size_t i = 0; i < globs->n; i++) {
        if (glob_match(globs->v[i], path))
            return true;
    }
    return false;
}

static const struct thread *find_owner(const struct own_rules *rules, const struct thread *t,
                                       const char *path)
{
    for (size_t i = 0; i < rules->all->n; i++) {
        const struct rule *rule = &rules->per_thread[i];
        if (&rules->all->v[i] != t && rule->live &&
            (match_any(&rule->owns, path) || match_any(&rule->granted, path)))
            return &rules->all->v[i];
    }
    return NULL;
}

enum own_standing own_judge(const struct own_rules *rules, const struct thread *t, const char *path,
                            const struct thread **ret_whose)
{
    const struct rule *rule = &rules->per_thread[t - rules->all->v];
    *ret_whose = NULL;
    if (match_any(&rule->forbids, path))
        return OWN_FORBIDDEN;
    if (match_any(&rule->owns, path))
        return OWN_OWNED;
    if (match_any(&rule->granted, path))
        return OWN_GRANTED;
    *ret_whose = find_owner(rules, t, path);
    if (*ret_whose)
        return OWN_TAKEN;
    return t->owns.n ? OWN_NOT_OWNED : OWN_FREE;
}

void own_verdict_done(struct own_verdict *v)
{
    for (size_t i = 0; i < v->paths.n; i++)
        free(v->paths.v[i].path);
    vec_done(&v->paths);
    *v = (struct own_verdict){0};
}

void own_verdict_add(struct own_verdict *v, const struct own_rules *rules, const struct thread *t,
                     const char *paths, size_t len)
{
    for (const char *p = paths; p < paths + len; p += strlen(p) + 1) {
        if (strcmp(p, THREAD_BRIEF) == 0)
            continue;
        struct own_path one = {0};
        one.standing = own_judge(rules, t, p, &one.whose);
        one.path = mem_str(p);
        vec_push(&v->paths, one);
        v->outside += !own_is_inside(one.standing);
    }
}

void own_path_describe(const struct own_path *p, struct buf *out)
{
    static const char *const words[] = {
        [OWN_OWNED] = "owned",
        [OWN_GRANTED] = "granted",
        [OWN_FREE] = "not claimed",
        [OWN_FORBIDDEN] = "forbidden",
        [OWN_TAKEN] = "belongs to thread ",
        [OWN_NOT_OWNED] = "not owned",
    };
    buf_addstr(out, words[p->standing]);
    if (p->whose)
        text_add_harmless(out, p->whose->id);
}

void own_verdict_describe(const struct own_verdict *v, size_t most, struct buf *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < v->paths.n && shown < most; i++) {
        const struct own_path *p = &v->paths.v[i];
        if (own_is_inside(p->standing))
            continue;
        text_addf(out, "%s%s", shown++ ? ", " : "", p->path);
        buf_addstr(out, " (");
        own_path_describe(p, out);
        buf_addch(out, ')');
    }
    if (shown < v->outside)
        buf_addf(out, "%s%zu more", shown ? " and " : "", v->outside - shown);
}
