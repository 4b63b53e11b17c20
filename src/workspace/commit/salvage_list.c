#include "workspace/commit/salvage_list.h"

#include "base/map.h"
#include "base/mem.h"
#include "git/merge/merge.h"
#include "sys/fs/dirs.h"
#include "workspace/commit/nested_repos.h"
#include "workspace/commit/vault.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESTORED_BRANCH "anabranch-salvage"

static const char from_key[] = "\nAnabranch-Start: ";

char *salvage_message(const char *run, const char *task, int attempt, const char *from,
                      const char *why)
{
    return mem_printf("Salvaged from task %s, attempt %d\n\n%.*s\n\nAnabranch-Task: %s\n"
                      "Anabranch-Run: %s%s%s\n",
                      task, attempt, (int)strcspn(why, "\n"), why, task, run, from_key, from);
}

void salvages_done(struct salvages *s)
{
    for (size_t i = 0; i < s->list.n; i++) {
        struct salvage *one = &s->list.v[i];
        char *const owned[] = {one->id, one->commit, one->from, one->why, one->strays};
        for (size_t k = 0; k < ARRAY_LEN(owned); k++)
            free(owned[k]);
    }
    vec_done(&s->list);
}

enum { REF, COMMIT, TIME, PARENTS, MESSAGE, FIELDS };

/* The first paragraph after the subject of our message. */
static char *copy_reason(const char *message)
{
    const char *begin = strstr(message, "\n\n");
    if (strncmp(message, "Salvaged from ", strlen("Salvaged from ")) != 0 || !begin)
        return mem_str("");
    return mem_dup(begin + 2, strcspn(begin + 2, "\n"));
}

static char *copy_start(const char *const *fields)
{
    const char *key = strstr(fields[MESSAGE], from_key);
    const char *from = key ? key + strlen(from_key) : fields[PARENTS];
    return mem_dup(from, strcspn(from, " \n"));
}

/* git sorts the refs, so the parts of a salvage follow it directly. */
static void add_ref(struct salvages *s, const char *const *fields)
{
    const char *id = fields[REF] + strlen(SALVAGE_REFS);
    bool is_first = !s->list.n;
    struct salvage *last = is_first ? NULL : &s->list.v[s->list.n - 1];
    size_t len = is_first ? 0 : strlen(last->id);
    const char *part =
        !is_first && strncmp(id, last->id, len) == 0 && id[len] == '.' ? id + len : "";
    const char *slash = strrchr(part, '/');
    if (strcmp(part, ".commits") == 0) {
        last->strays = mem_str(fields[COMMIT]);
    } else if (*part) {
        last->nested += slash && strcmp(slash, "/saved") == 0;
    } else {
        struct salvage one = {.id = mem_str(id),
                              .commit = mem_str(fields[COMMIT]),
                              .from = copy_start(fields),
                              .why = copy_reason(fields[MESSAGE]),
                              .time = strtoll(fields[TIME], NULL, 10) * 1000};
        vec_push(&s->list, one);
    }
}

static int read_refs(struct salvages *s, const struct git_place *at, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    if (git_call(at, &out, err, "for-each-ref",
                 "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(parent)%00"
                 "%(contents)%00",
                 SALVAGE_REFS, NULL))
        return -1;
    for (const char *p = out.s; p < out.s + out.len;) {
        const char *fields[FIELDS];
        for (size_t i = 0; i < FIELDS; i++) {
            fields[i] = p;
            p += p < out.s + out.len ? strlen(p) + 1 : 0;
        }
        p += *p == '\n';
        add_ref(s, fields);
    }
    return 0;
}

/* Parses " 3 files changed, 5 insertions(+), 1 deletion(-)". */
static void parse_counts(struct salvage *one, char *line)
{
    for (char *part; (part = strsep(&line, ","));) {
        int64_t *slot = strstr(part, "file") ? &one->files
                        : strchr(part, '+')  ? &one->added
                                             : &one->removed;
        *slot = strtoll(part, NULL, 10);
    }
}

/* git prints a line with the commit and, if it changes anything, a line of counts after it. */
static void read_counts(const struct map *by_commit, char *text)
{
    struct salvage *one = NULL;
    for (char *next = text, *line; (line = strsep(&next, "\n"));) {
        if (*line != ' ')
            one = map_get(by_commit, line, strlen(line));
        else if (one)
            parse_counts(one, line);
    }
}

static int count_changes(struct salvages *s, const struct git_place *at, struct err *err)
{
    automap struct map by_commit = {0};
    autobuf struct buf in = BUF_INIT, out = BUF_INIT;
    autostrv struct strv args = {0};
    for (size_t i = 0; i < s->list.n; i++) {
        struct salvage *one = &s->list.v[i];
        if (*one->from && !map_put(&by_commit, one->commit, strlen(one->commit), one))
            buf_addf(&in, "%s %s\n", one->commit, one->from);
    }
    strv_pushl(&args, "diff-tree", "--stdin", "-r", "-M", "--shortstat", NULL);
    if (git_ask(at, &args, &in, &out, err))
        return -1;
    read_counts(&by_commit, out.s);
    return 0;
}

static int compare_salvages(const void *a, const void *b)
{
    const struct salvage *sa = a, *sb = b;
    if (sa->time != sb->time)
        return sa->time > sb->time ? -1 : 1;
    return strcmp(sa->id, sb->id);
}

int salvages_load(struct salvages *s, const struct git_place *at, struct err *err)
{
    *s = (struct salvages){0};
    if (read_refs(s, at, err))
        return -1;
    if (s->list.n)
        qsort(s->list.v, s->list.n, sizeof(*s->list.v), compare_salvages);
    return s->list.n ? count_changes(s, at, err) : 0;
}

static bool is_named_by(const char *word, const char *id)
{
    size_t len = strlen(word);
    for (const char *p = id; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (strncmp(p, word, len) == 0)
            return true;
    }
    return false;
}

int salvages_find(const struct salvages *s, const char *word, const struct salvage **ret,
                  struct err *err)
{
    const struct salvage *found = NULL;
    for (size_t i = 0; *word && i < s->list.n; i++) {
        const struct salvage *one = &s->list.v[i];
        if (strcmp(one->id, word) == 0) {
            *ret = one;
            return 0;
        }
        if (!is_named_by(word, one->id))
            continue;
        if (found)
            return err_set(err, ERR_INPUT, "'%s' matches %s and %s", word, found->id, one->id);
        found = one;
    }
    if (!found)
        return err_set(err, ERR_INPUT, "no salvage matches '%s'; 'anabranch salvage' lists them",
                       word);
    *ret = found;
    return 0;
}

int salvage_is_merged(const struct salvage *s, const struct git_place *at, const char *base,
                      bool *ret_yes, struct err *err)
{
    automerge struct merge_result m = MERGE_RESULT_INIT;
    autobuf struct buf tree = BUF_INIT;
    *ret_yes = false;
    if (s->nested || s->strays)
        return 0;
    if (git_is_ancestor(at, s->commit, base, ret_yes, err) || *ret_yes)
        return *ret_yes ? 0 : -1;
    if (merge_trees(at, base, s->commit, &m, err) || git_tree_of(at, base, &tree, err))
        return -1;
    *ret_yes = m.clean && strcmp(m.tree.s, tree.s) == 0;
    return 0;
}

/* Restores a nested repository at its path. */
static int restore_nested(const struct git_place *at, const char *ref, const char *path,
                          struct err *err)
{
    autofree char *git_dir = mem_printf("%s/.git", path);
    autofree char *heads =
        mem_printf("+%.*s/heads/*:refs/heads/*", (int)(strrchr(ref, '/') - ref), ref);
    autofree char *tags =
        mem_printf("+%.*s/tags/*:refs/tags/*", (int)(strrchr(ref, '/') - ref), ref);
    autofree char *saved = mem_printf("+%s:refs/heads/" RESTORED_BRANCH, ref);
    struct git_place made = {.git_dir = git_dir}, there = {.git_dir = git_dir, .work_tree = path};
    struct stat st;
    if (lstat(git_dir, &st) == 0)
        return err_set(err, ERR_ENV, "'%s' already exists", git_dir);
    return dirs_make(path, err) || git_call(&made, NULL, err, "init", "--quiet", NULL) ||
                   git_call(&there, NULL, err, "fetch", "--quiet", "--no-tags", "--update-head-ok",
                            at->git_dir, heads, tags, saved, NULL) ||
                   git_call(&there, NULL, err, "checkout", "--quiet", RESTORED_BRANCH, NULL)
               ? -1
               : 0;
}

static int restore_all_nested(const struct salvage *s, const struct git_place *at, const char *dir,
                              struct err *err)
{
    autofree char *refs = mem_printf(SALVAGE_REFS "%s.nested/", s->id);
    autobuf struct buf out = BUF_INIT;
    if (git_call(at, &out, err, "for-each-ref", "--format=%(refname) %(subject)", refs, NULL))
        return -1;
    for (char *next = out.s, *line; (line = strsep(&next, "\n"));) {
        char *subject = strstr(line, "/saved " NESTED_SUBJECT);
        if (!subject)
            continue;
        subject[strlen("/saved")] = '\0';
        const char *path = subject + strlen("/saved " NESTED_SUBJECT);
        autofree char *full = mem_printf("%s/%s", dir, path);
        if (restore_nested(at, line, full, err))
            return err_wrap(err, "the repository '%s'", path);
    }
    return 0;
}

static bool is_free(const char *dir)
{
    struct stat st;
    return lstat(dir, &st) < 0 || (S_ISDIR(st.st_mode) && rmdir(dir) == 0);
}

int salvage_restore(const struct salvage *s, const struct git_place *at, const char *dir,
                    const char *branch, struct err *err)
{
    autofree char *ref = mem_printf("refs/heads/%s", branch);
    autobuf struct buf there = BUF_INIT;
    if (git_call(at, NULL, NULL, "check-ref-format", ref, NULL))
        return err_set(err, ERR_INPUT, "'%s' is not a valid branch name", branch);
    if (git_resolve(at, ref, &there, NULL) == 0)
        return err_set(err, ERR_INPUT, "branch '%s' already exists", branch);
    if (!is_free(dir))
        return err_set(err, ERR_INPUT, "'%s' already exists", dir);
    return git_call(at, NULL, err, "worktree", "add", "--quiet", "--no-track", "-b", branch, "--",
                    dir, s->commit, NULL) ||
                   (s->nested && restore_all_nested(s, at, dir, err))
               ? -1
               : 0;
}

int salvage_drop(const struct salvage *s, const struct git_place *at, struct strv *ret_was,
                 struct err *err)
{
    autofree char *own = mem_printf(SALVAGE_REFS "%s", s->id);
    autofree char *strays = mem_printf("%s.commits", own), *nested = mem_printf("%s.nested/", own);
    autobuf struct buf orders = BUF_INIT, out = BUF_INIT, errout = BUF_INIT;
    autostrv struct strv args = {0};
    int status;
    if (vault_drop(at, own, err) ||
        git_call(at, &orders, err, "for-each-ref", "--format=delete %(refname) %(objectname)", own,
                 strays, nested, NULL))
        return -1;
    buf_addch(&orders, '\n');
    strv_pushl(&args, "update-ref", "--stdin", NULL);
    if (git_feed(at, &args, &orders, &out, &errout, &status, err))
        return -1;
    if (status)
        return err_set(err, ERR_ENV, "%s", errout.s);
    for (char *next = orders.s, *line; (line = strsep(&next, "\n")) && *line;)
        strv_push(ret_was, line + strlen("delete "));
    return 0;
}
