#include "plan/schedule/claims.h"

#include "base/text/str.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { REPORTS_MAX = 100 };

static bool has_wildcard(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (strchr("*?[\\", s[i]))
            return true;
    }
    return false;
}

/* Removes the last component of the path; false if there is none. */
static bool pop_component(struct buf *path, size_t start)
{
    if (path->len == start)
        return false;
    size_t len = path->len;
    while (len > start && path->s[len - 1] != '/')
        len--;
    buf_cut(path, len > start ? len - 1 : start);
    return true;
}

static const char *add_component(struct buf *path, size_t start, const char *s, size_t len,
                                 bool wild)
{
    if (len == 0 || (len == 1 && *s == '.'))
        return NULL;
    if (len == 2 && memcmp(s, "..", 2) == 0) {
        if (wild)
            return "has '..' after a wildcard";
        return pop_component(path, start) ? NULL : "leaves the repository";
    }
    if (len == 4 && strncasecmp(s, ".git", 4) == 0)
        return "is git's own folder";
    if (path->len > start)
        buf_addch(path, '/');
    buf_add(path, s, len);
    return NULL;
}

const char *claim_normalise(const char *text, const char *prefix, struct buf *out)
{
    if (*text == '/')
        return "is absolute: claims are relative to the project";
    size_t start = out->len;
    buf_addstr(out, prefix);
    bool wild = false;
    for (const char *s = text; *s;) {
        size_t len = strcspn(s, "/");
        const char *error = add_component(out, start, s, len, wild);
        if (error)
            return error;
        wild = wild || has_wildcard(s, len);
        s += len + (s[len] == '/');
    }
    if (wild && text[strlen(text) - 1] == '/')
        buf_addstr(out, "/**");
    return NULL;
}

static struct claimed *get_claimed(struct claims *c, const struct claim *claim, const char *path,
                                   size_t len, bool fold)
{
    struct claimed *known = map_get(&c->by_path, path, len);
    if (known)
        return known;
    struct glob *glob = glob_new(path, fold);
    if (!glob)
        return NULL;
    struct claimed *new = arena_alloc(&c->arena, sizeof(*new));
    new->path = arena_dup(&c->arena, path, len);
    new->glob = glob;
    new->first = claim;
    new->place = (uint32_t)c->list.n;
    map_put(&c->by_path, new->path, len, new);
    vec_push(&c->list, new);
    return new;
}

static struct claimed *add_claim(struct claims *c, const struct claim_scope *scope,
                                 const struct claim *claim, struct problems *ps)
{
    autobuf struct buf path = BUF_INIT;
    const char *error = NULL;
    struct claimed *claimed = NULL;
    if (claim->pattern)
        buf_addstr(&path, claim->pattern);
    else
        error = claim_normalise(claim->text, scope->prefix, &path);
    if (!error) {
        claimed = get_claimed(c, claim, path.s, path.len, scope->fold);
        error = claimed ? NULL : "is not a pattern that can match a path";
    }
    if (error && c->plan->claims_from_file) /* that tool accepted any text */
        problem_warn(ps, RULE_CLAIM, claim->node, "'%.80s' is ignored: it %s", claim->text, error);
    else if (error)
        problem_error(ps, RULE_CLAIM, claim->node, "'%.80s' %s", claim->text, error);
    return claimed;
}

static void warn_about_braces(const struct claim *claim, struct problems *ps)
{
    const char *open = claim->pattern ? NULL : strchr(claim->text, '{');
    if (open && strchr(open, ',') && strchr(open, '}')) {
        problem_warn(ps, RULE_CLAIM, claim->node, "braces stand for themselves here");
        problem_hint(ps, "write one entry for each alternative");
    }
}

static void add_owns(struct claims *c, const struct claim_scope *scope, const struct task *t,
                     struct problems *ps)
{
    struct claimed **paths = arena_array(&c->arena, t->owns.n, sizeof(struct claimed *));
    c->owns[t->index] = paths;
    for (size_t i = 0; i < t->owns.n; i++) {
        paths[i] = add_claim(c, scope, &t->owns.v[i], ps);
        warn_about_braces(&t->owns.v[i], ps);
        if (paths[i] && (!t->read_only || t->owns.v[i].pattern))
            vec_push(&paths[i]->owners, (struct holder){.task = t->index, .claim = &t->owns.v[i]});
    }
}

/* Beyond this number of pairs in one task, we do not compare forbidden with owned paths: the
 * warning is not worth minutes. */
enum { COVER_PAIRS_MAX = 10000 };

static void warn_if_owned(struct claims *c, const struct task *t, size_t place, struct problems *ps)
{
    const struct claimed *no = c->forbids[t->index][place];
    const struct claim *forbid = &t->forbids.v[place];
    for (size_t i = 0; no && i < t->owns.n; i++) {
        const struct claimed *yes = c->owns[t->index][i];
        if (yes && glob_overlap(no->glob, yes->glob, NULL) && glob_covers(no->glob, yes->glob))
            problem_warn(ps, RULE_CLAIM, forbid->node,
                         "'%.80s' forbids all of '%.80s', which the task owns", forbid->text,
                         t->owns.v[i].text);
    }
}

static void add_forbids(struct claims *c, const struct claim_scope *scope, const struct task *t,
                        struct problems *ps)
{
    struct claimed **paths = arena_array(&c->arena, t->forbids.n, sizeof(struct claimed *));
    c->forbids[t->index] = paths;
    for (size_t i = 0; i < t->forbids.n; i++) {
        paths[i] = add_claim(c, scope, &t->forbids.v[i], ps);
        if (t->forbids.n * t->owns.n <= COVER_PAIRS_MAX)
            warn_if_owned(c, t, i, ps);
    }
}

void claims_init(struct claims *c, const struct plan *plan, const struct claim_scope *scope,
                 struct problems *ps)
{
    *c = (struct claims){.plan = plan, .fold = scope->fold};
    c->owns = arena_array(&c->arena, plan->task_count, sizeof(*c->owns));
    c->forbids = arena_array(&c->arena, plan->task_count, sizeof(*c->forbids));
    for (size_t i = 0; i < plan->task_count; i++) {
        add_owns(c, scope, &plan->tasks[i], ps);
        add_forbids(c, scope, &plan->tasks[i], ps);
    }
}

bool claims_allow(const struct claims *c, uint32_t task, const char *path)
{
    const struct task *t = &c->plan->tasks[task];
    bool owned = false;
    for (size_t i = 0; i < t->forbids.n; i++) {
        if (c->forbids[task][i] && glob_match(c->forbids[task][i]->glob, path))
            return false;
    }
    for (size_t i = 0; i < t->owns.n && !owned; i++)
        owned = c->owns[task][i] && glob_match(c->owns[task][i]->glob, path);
    for (size_t i = 0; i < c->list.n && !t->owns.n; i++) {
        if (c->list.v[i]->owners.n && glob_match(c->list.v[i]->glob, path))
            return false;
    }
    return owned || !t->owns.n;
}

void claims_done(struct claims *c)
{
    for (size_t i = 0; i < c->list.n; i++) {
        glob_free(c->list.v[i]->glob);
        vec_done(&c->list.v[i]->owners);
    }
    vec_done(&c->list);
    map_done(&c->by_path);
    arena_done(&c->arena);
}

struct search {
    struct graph *g;
    overlap_fn *fn;
    void *ctx;
};

static int by_rank(const void *a, const void *b)
{
    uint32_t ra = ((const struct holder *)a)->rank, rb = ((const struct holder *)b)->rank;
    return ra < rb ? -1 : ra > rb;
}

static void rank_owners(struct claimed *path, const struct graph *g)
{
    for (size_t i = 0; i < path->owners.n; i++)
        path->owners.v[i].rank = g->rank[path->owners.v[i].task];
    qsort(path->owners.v, path->owners.n, sizeof(*path->owners.v), by_rank);
}

static const struct group *exclusive_group(const struct plan *plan, const struct task *t)
{
    for (size_t i = 0; t->group && i < plan->group_count; i++) {
        if (plan->groups[i].limit == 1 && strcmp(plan->groups[i].name, t->group) == 0)
            return &plan->groups[i];
    }
    return NULL;
}

static bool could_run_together(struct graph *g, uint32_t a, uint32_t b)
{
    const struct task *ta = &g->plan->tasks[a], *tb = &g->plan->tasks[b];
    if (a == b || graph_ordered(g, a, b))
        return false;
    return !(ta->group && tb->group && strcmp(ta->group, tb->group) == 0 &&
             exclusive_group(g->plan, ta));
}

/* True if the owners of both paths form one chain of dependencies: then no two of them run at the
 * same time, and we need not check each pair. Both lists are sorted by rank. */
static bool is_chain(struct graph *g, const struct claimed *a, const struct claimed *b)
{
    size_t i = 0, k = a == b ? b->owners.n : 0;
    const struct holder *previous = NULL;
    while (i < a->owners.n || k < b->owners.n) {
        bool from_a =
            k == b->owners.n || (i < a->owners.n && a->owners.v[i].rank <= b->owners.v[k].rank);
        const struct holder *h = from_a ? &a->owners.v[i++] : &b->owners.v[k++];
        if (previous && previous->task != h->task && !graph_reaches(g, previous->task, h->task))
            return false;
        previous = h;
    }
    return true;
}

static bool report_pairs(struct search *s, const struct claimed *a, const struct claimed *b)
{
    if (is_chain(s->g, a, b))
        return true;
    for (size_t i = 0; i < a->owners.n; i++) {
        for (size_t k = a == b ? i + 1 : 0; k < b->owners.n; k++) {
            struct overlap_pair pair = {a->owners.v[i], b->owners.v[k], a, b};
            if (could_run_together(s->g, pair.a.task, pair.b.task) && !s->fn(s->ctx, &pair))
                return false;
        }
    }
    return true;
}

static bool report_meeting(void *ctx, struct claimed *a, struct claimed *b)
{
    struct search *s = ctx;
    if (a == b)
        rank_owners(a, s->g);
    return report_pairs(s, a, b);
}

void claims_overlaps(struct claims *c, struct graph *g, overlap_fn *fn, void *ctx)
{
    struct search s = {g, fn, ctx};
    claims_meet(c, report_meeting, &s);
}

struct refusal {
    const struct plan *plan;
    struct problems *ps;
    size_t n;
};

/* Reports the error at the later of the two claims. */
static bool refuse_pair(void *ctx, const struct overlap_pair *pair)
{
    struct refusal *r = ctx;
    bool swap = pair->a.claim->node->pos.line > pair->b.claim->node->pos.line ||
                (pair->a.claim->node->pos.line == pair->b.claim->node->pos.line &&
                 pair->a.claim->node->pos.col > pair->b.claim->node->pos.col);
    const struct holder *early = swap ? &pair->b : &pair->a, *late = swap ? &pair->a : &pair->b;
    if (++r->n > REPORTS_MAX) {
        problem_error(r->ps, RULE_OVERLAP, late->claim->node,
                      "there are more overlaps than the %d listed", REPORTS_MAX);
        return false;
    }
    autobuf struct buf example = BUF_INIT;
    glob_overlap(pair->path_a->glob, pair->path_b->glob, &example);
    bool outside = str_begins(example.s, CLAIMS_OUTSIDE "/");
    problem_error(r->ps, RULE_OVERLAP, late->claim->node,
                  "'%.80s' overlaps '%.80s' of task '%s' (line %u): both own '%.200s'",
                  late->claim->text, early->claim->text, task_name(&r->plan->tasks[early->task]),
                  early->claim->node->pos.line, example.s + (outside ? strlen(CLAIMS_OUTSIDE) : 0));
    problem_hint(r->ps, "let '%s' depend on '%s', divide the paths, or set 'overlap: serialise'",
                 task_name(&r->plan->tasks[late->task]), task_name(&r->plan->tasks[early->task]));
    return true;
}

void claims_refuse_overlaps(struct claims *c, struct graph *g, struct problems *ps)
{
    struct refusal r = {.plan = c->plan, .ps = ps};
    claims_overlaps(c, g, refuse_pair, &r);
}

/* The index of the first file that does not sort before the prefix. */
static size_t find_first_file(const char *const *files, size_t n, const char *prefix)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (strcmp(files[mid], prefix) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool matches_some(const struct glob *glob, bool fold, const char *const *files, size_t n)
{
    const char *prefix = glob_prefix(glob);
    for (size_t i = fold ? 0 : find_first_file(files, n, prefix); i < n; i++) {
        if (!fold && !str_begins(files[i], prefix))
            return false;
        if (glob_match(glob, files[i]))
            return true;
    }
    return false;
}

static bool is_file_or_folder(const char *path, const char *const *files, size_t n)
{
    size_t i = find_first_file(files, n, path), len = strlen(path);
    for (; i < n && strncmp(files[i], path, len) == 0; i++) {
        if (files[i][len] == '\0' || files[i][len] == '/')
            return true;
    }
    return false;
}

void claims_check_tracked(struct claims *c, const char *const *files, size_t n, struct problems *ps)
{
    for (size_t i = 0; i < c->list.n; i++) {
        const struct claimed *p = c->list.v[i];
        if (p->first->pattern || matches_some(p->glob, c->fold, files, n))
            continue;
        problem_warn(ps, RULE_CLAIM, p->first->node, "'%.80s' matches no tracked file",
                     p->first->text);
        if (is_file_or_folder(p->path, files, n))
            problem_hint(ps, "a file has exactly this name: put '\\' before each of * ? [ \\");
    }
}
