#include "git/tree/line_edits.h"

#include "base/vec.h"

#include <string.h>

enum { PATHS_PER_GIT = 200 }; /* an argument list must stay within the limit of the system */

void line_edits_done(struct line_edits *edits)
{
    map_done(&edits->by_path);
    arena_done(&edits->arena);
}

struct file_edits line_edits_of(const struct line_edits *edits, const char *path)
{
    const struct file_edits *found = map_get(&edits->by_path, path, strlen(path));
    return found ? *found : (struct file_edits){0};
}

/* The unread rest of the output. */
struct rest {
    const char *s, *end;
};

static bool begins_with(const struct rest *rest, const char *word)
{
    size_t len = strlen(word);
    return (size_t)(rest->end - rest->s) >= len && memcmp(rest->s, word, len) == 0;
}

/* The last line may lack its newline. */
static struct line read_line(struct rest *rest)
{
    const char *newline = memchr(rest->s, '\n', (size_t)(rest->end - rest->s));
    struct line line = {rest->s, (size_t)((newline ? newline : rest->end) - rest->s)};
    rest->s = newline ? newline + 1 : rest->end;
    return line;
}

/* Reads the paths of the raw records ":MODE MODE ID ID STATUS", each between two NULs. A path whose
 * type changed comes twice: it has two patches. */
static void read_paths(struct rest *rest, struct strv *ret)
{
    while (begins_with(rest, ":")) {
        size_t record = strnlen(rest->s, (size_t)(rest->end - rest->s));
        if (rest->s + record >= rest->end)
            break;
        const char *path = rest->s + record + 1;
        strv_push(ret, path);
        if (rest->s[record - 1] == 'T')
            strv_push(ret, path);
        rest->s = path + strlen(path) + 1;
    }
    if (rest->s < rest->end && !*rest->s) /* ends the records */
        rest->s++;
}

static struct lines read_lines(struct rest *rest, char sign, unsigned count, struct arena *a)
{
    struct line *lines = arena_array(a, count + 1, sizeof(*lines));
    size_t n = 0;
    for (char mark[] = {sign, '\0'}; n < count && begins_with(rest, mark); n++) {
        struct line line = read_line(rest);
        lines[n] = (struct line){arena_dup(a, line.s + 1, line.len - 1), line.len - 1};
    }
    if (begins_with(rest, "\\ ")) /* no newline at the end of the file */
        (void)read_line(rest);
    return (struct lines){lines, n};
}

/* Reads a number of at most nine digits. */
static bool read_number(struct rest *rest, unsigned *ret)
{
    const char *first = rest->s;
    *ret = 0;
    for (; rest->s < rest->end && rest->s - first < 9 && *rest->s >= '0' && *rest->s <= '9';
         rest->s++)
        *ret = *ret * 10 + (unsigned)(*rest->s - '0');
    return rest->s > first;
}

static bool skip_word(struct rest *rest, const char *word)
{
    bool found = begins_with(rest, word);
    rest->s += found ? strlen(word) : 0;
    return found;
}

/* Reads "FIRST[,COUNT]". */
static bool read_range(struct rest *rest, unsigned *ret_first, unsigned *ret_count)
{
    *ret_count = 1;
    return read_number(rest, ret_first) && (!skip_word(rest, ",") || read_number(rest, ret_count));
}

/* Reads "@@ -RANGE +RANGE @@" and the lines that follow it. */
static int read_edit(struct rest *rest, struct arena *a, struct line_edit *ret, struct err *err)
{
    unsigned first, added, old_count, new_count;
    struct line line = read_line(rest);
    struct rest head = {line.s, line.s + line.len};
    if (!skip_word(&head, "@@ -") || !read_range(&head, &first, &old_count) ||
        !skip_word(&head, " +") || !read_range(&head, &added, &new_count))
        return err_set(err, ERR_ENV, "git diff-tree printed '%.*s'", (int)line.len, line.s);
    ret->at = old_count ? first - 1 : first; /* without old lines, git names the line before */
    ret->removed = read_lines(rest, '-', old_count, a);
    ret->inserted = read_lines(rest, '+', new_count, a);
    return ret->removed.n == old_count && ret->inserted.n == new_count
               ? 0
               : err_set(err, ERR_ENV, "git diff-tree printed less than '%.*s'", (int)line.len,
                         line.s);
}

/* Reads the edits of one file, behind its line "diff --git". */
static int read_file(struct rest *rest, struct line_edits *ret, const char *path, struct err *err)
{
    VEC(struct line_edit) edits = {0};
    int rc = 0;
    while (rc == 0 && rest->s < rest->end && !begins_with(rest, "diff --git ")) {
        struct line_edit edit;
        if (!begins_with(rest, "@@ ")) {
            (void)read_line(rest);
            continue;
        }
        rc = read_edit(rest, &ret->arena, &edit, err);
        vec_push(&edits, edit);
    }
    struct line_edit *kept = arena_array(&ret->arena, edits.n + 1, sizeof(*kept));
    struct file_edits *file = arena_alloc(&ret->arena, sizeof(*file));
    const char *key = arena_str(&ret->arena, path);
    if (edits.n)
        memcpy(kept, edits.v, edits.n * sizeof(*kept));
    *file = (struct file_edits){kept, edits.n};
    vec_done(&edits);
    (void)map_put(&ret->by_path, key, strlen(key), file);
    return rc;
}

int line_edits_parse(const char *text, size_t len, struct line_edits *ret, struct err *err)
{
    autostrv struct strv paths = {0};
    struct rest rest = {text, text + len};
    read_paths(&rest, &paths);
    for (size_t i = 0; i < paths.n; i++) {
        if (!begins_with(&rest, "diff --git "))
            return err_set(err, ERR_ENV, "git diff-tree printed no patch of '%s'", paths.v[i]);
        (void)read_line(&rest);
        if (read_file(&rest, ret, paths.v[i], err))
            return -1;
    }
    return 0;
}

/* All options that a user could have set otherwise are explicit. */
static void build_arguments(const char *from, const char *to, struct strv *args)
{
    strv_pushl(args, "--literal-pathspecs", "diff-tree", "-r", "-z", "--raw", "-p", "-U0", "--text",
               "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv",
               "--diff-algorithm=myers", "--no-indent-heuristic", "--inter-hunk-context=0",
               "--submodule=short", "--ignore-submodules=none", from, to, "--", NULL);
}

static int read_some(const struct git_place *at, const struct strv *args, struct line_edits *ret,
                     struct err *err)
{
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status;
    if (git_try(at, args, &out, &errout, &status, err))
        return -1;
    return status ? err_set(err, ERR_ENV, "git diff-tree: %s", errout.s)
                  : line_edits_parse(out.s, out.len, ret, err);
}

int line_edits_read(const struct git_place *at, const char *from, const char *to,
                    const struct strv *paths, struct line_edits *ret, struct err *err)
{
    for (size_t i = 0; i < paths->n;) {
        autostrv struct strv args = {0};
        build_arguments(from, to, &args);
        for (size_t end = i + PATHS_PER_GIT; i < paths->n && i < end; i++)
            strv_push(&args, paths->v[i]);
        if (read_some(at, &args, ret, err))
            return -1;
    }
    return 0;
}
