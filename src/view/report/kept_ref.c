#include "view/report/kept_ref.h"

#include "base/mem.h"
#include "git/format/packed_refs.h"
#include "git/git.h"
#include "git/state_paths.h"

#include <string.h>

/* heads: the beginning of the names of all branches of the run. */
static int list_refs(const struct git_place *at, const char *base, const char *heads,
                     const char *tip, struct packed_refs *refs, struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    if (git_call(at, &text, err, "for-each-ref", "--format=%(objectname) %(refname)", base, heads,
                 tip, NULL))
        return -1;
    packed_refs_parse(refs, &text);
    return 0;
}

/* A deleted base branch has no commits. */
static int base_contains(const struct git_place *at, const char *base, const char *commit,
                         bool *ret_yes, struct err *err)
{
    *ret_yes = false;
    return base && git_is_ancestor(at, commit, base, ret_yes, err) ? -1 : 0;
}

static void forget_lost_branches(struct report *r, const struct packed_refs *refs)
{
    for (size_t i = 0; i < r->n; i++) {
        const char **branch = &r->tasks[i].row.branch;
        autofree char *ref = *branch ? mem_printf("refs/heads/%s", *branch) : NULL;
        if (ref && !packed_refs_get(refs, ref))
            *branch = NULL;
    }
}

int report_find_kept(struct report *r, const char *git_dir, struct err *err)
{
    struct git_place at = {.git_dir = git_dir};
    bool has = true;
    if (!git_dir || !r->row.base || report_is_running(r))
        return 0;
    autofree char *base = mem_printf("refs/heads/%s", r->row.base);
    autofree char *heads = mem_printf("refs/heads/anabranch/%s", r->row.id);
    autofree char *result = mem_printf("%s/" STORE_RESULT, heads);
    autofree char *tip = tip_ref_name(r->row.id);
    own_cleanup(packed_refs_done) struct packed_refs refs = PACKED_REFS_INIT;
    if (list_refs(&at, base, heads, tip, &refs, err))
        return -1;
    forget_lost_branches(r, &refs);
    const char *ref = packed_refs_get(&refs, result) ? result : tip;
    const char *commit = packed_refs_get(&refs, ref);
    if (!commit)
        return 0;
    if (base_contains(&at, packed_refs_get(&refs, base), commit, &has, err))
        return -1;
    r->kept = has ? NULL : arena_str(&r->arena, ref);
    return 0;
}

void report_find_merge_place(struct report *r, const struct git_repo *repo)
{
    if (r->kept || r->ends[REPORT_CONFLICTED])
        merge_place_find(&r->merge_place, repo);
}
