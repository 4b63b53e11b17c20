/*
 * Random patterns: git must select the paths that glob_match() selects, and the answers of
 * glob_overlap() and glob_covers() must hold for every short path. The numbers are pseudo-random
 * and always the same, so that a failure is reproducible.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/text/glob.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "random.h"
#include "sys/own_fd.h"

enum { GIT_PATHS = 600, GIT_PATTERNS = 500, FOLD_PATTERNS = 120, SETS = 160, SHORT = 6 };

#define pick_of(array) (array)[pick(ARRAY_LEN(array))]

/* A repository of odd names */

static char folder[] = "/tmp/test_glob_git.XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void read_all(const char *path, struct buf *out)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (;;) {
        buf_reserve(out, 65536);
        ssize_t n = read(fd, out->s + out->len, 65536);
        assert_true(n >= 0);
        if (n == 0)
            break;
        out->len += (size_t)n;
    }
    out->s[out->len] = '\0';
}

static void write_all(const char *path, const struct buf *in)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(in->s, 1, in->len, f), in->len);
    assert_int_equal(fclose(f), 0);
}

/* Runs git in the folder, with nothing of the user's, and gives what it wrote. */
static void git(const char *input, struct buf *out, const struct strv *args)
{
    autofree char *home = mem_printf("HOME=%s", folder), *in = mem_printf("%s/in", folder);
    autofree char *result = mem_printf("%s/out", folder);
    autofree char *path = mem_printf("PATH=%s", getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    char *env[] = {home,       path, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
                   "LC_ALL=C", NULL};
    posix_spawn_file_actions_t actions;
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(
        posix_spawn_file_actions_addopen(&actions, 0, input ? in : "/dev/null", O_RDONLY, 0), 0);
    assert_int_equal(
        posix_spawn_file_actions_addopen(&actions, 1, result, O_WRONLY | O_CREAT | O_TRUNC, 0600),
        0);
    pid_t pid;
    assert_int_equal(posix_spawnp(&pid, "git", &actions, NULL, args->v, env), 0);
    assert_int_equal(posix_spawn_file_actions_destroy(&actions), 0);
    int status;
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("git %s ... %s failed", args->v[3], args->v[args->n - 1]);
    buf_cut(out, 0);
    read_all(result, out);
}

static void random_path(struct buf *out)
{
    static const char *const names[] = {
        "a",    "b",  "c",  "ab", "abc", "bca",      ".a",  "...", "A",    "Ab", "*", "a*",
        "[ab]", "[a", "\\", "]",  "-",   "a-b",      "**",  "b.",  "\\*b", "?",  "!", "\001",
        " ",    "\t", "\v", "5",  "~",   "\303\251", "a.c", "[",   "z",    "_"};
    for (unsigned depth = 1 + pick(4); depth > 0; depth--) {
        buf_addstr(out, pick_of(names));
        if (pick(3) == 0)
            buf_addstr(out, pick_of(names));
        if (depth > 1)
            buf_addch(out, '/');
    }
}

static int make_repository(void **state)
{
    (void)state;
    random_state = 0x9e3779b97f4a7c15u;
    if (!mkdtemp(folder))
        return -1;
    autobuf struct buf out = BUF_INIT, paths = BUF_INIT;
    autostrv struct strv init = {0}, add = {0};
    strv_pushl(&init, "git", "-C", folder, "init", "-q", NULL);
    git(NULL, &out, &init);
    for (unsigned i = 0; i < GIT_PATHS; i++) {
        buf_addstr(&paths, "100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\t");
        random_path(&paths);
        buf_addch(&paths, '\0');
    }
    autofree char *in = mem_printf("%s/in", folder);
    write_all(in, &paths);
    strv_pushl(&add, "git", "-C", folder, "update-index", "-z", "--index-info", NULL);
    git(in, &out, &add);
    return 0;
}

static int remove_repository(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The paths that git selects, each with a NUL behind it. */
static void git_select(const char *magic, const char *pattern, struct buf *out)
{
    autostrv struct strv args = {0};
    strv_pushl(&args, "git", "-C", folder, "ls-files", "-z", "--", NULL);
    strv_pushf(&args, "%s%s", magic, pattern);
    git(NULL, out, &args);
}

/* Random patterns */

static const char *const odd_tokens[] = {
    "a",
    "b",
    "c",
    "ab",
    "/",
    "/",
    "/",
    "*",
    "*",
    "**",
    "**/",
    "/**",
    "/**/",
    "***",
    "?",
    "[ab]",
    "[!a]",
    "[^b-]",
    "[]a]",
    "[!]]",
    "[a-c]",
    "[c-a]",
    "\\a",
    "\\*",
    "\\/",
    "\\\\",
    ".",
    "[.]",
    "]",
    "-",
    "[[:",
    "[",
    "\\",
    "[a",
    "[[:nope:]]",
    "[[::]",
    "[[:]",
    "[[:a]",
    "[\\]]",
    "[a\\-c]",
    "[/]",
    "[--/]",
    "[ -c]",
    "[[:alpha:]-z]",
    "[!/]",
    "[a-\\c]",
    "\\[",
    "[[]",
    "[!-a]",
    "\\?",
    "[a-]",
    "[[:upper:][:digit:]]",
    "[^^]",
    "[[:space:]]",
    "[[:cntrl:]]",
    "[[:punct:]]",
    "[![:graph:]]",
    "[[:blank:]]",
    "[[:print:]]",
    "[[:lower:]]",
    "[[:alnum:]]",
    "[[:xdigit:]]",
    "[a-[:digit:]]",
};
static const char *const plain_tokens[] = {"a",    "b", "/", "*", "**",   "**/", "/**", "?",
                                           "[ab]", ".", "/", "a", "[!a]", "\\b", "[.]", "[!.]"};
static const char *const fold_tokens[] = {"a", "B", "/", "*", "**/", "/**", "?", "A", "b.", "Ab"};

static void random_pattern(struct buf *out, const char *const *tokens, unsigned n, unsigned max)
{
    for (unsigned left = 1 + pick(max); left > 0; left--)
        buf_addstr(out, tokens[pick(n)]);
}

#define random_from(out, tokens, max) random_pattern(out, tokens, ARRAY_LEN(tokens), max)

/* git simplifies slashes and dots before it reads the pattern, and refuses what leaves the tree. */
static bool git_rewrites(const char *pattern)
{
    autobuf struct buf s = BUF_INIT;
    buf_addf(&s, "/%s/", pattern);
    if (s.len > 2 && s.s[s.len - 2] == '/')
        buf_cut(&s, s.len - 1);
    return strstr(s.s, "//") || strstr(s.s, "/./") || strstr(s.s, "/../");
}

static bool spelt_alike(const char *pattern, const char *path, bool fold)
{
    size_t n = strlen(pattern);
    return (fold ? strncasecmp : strncmp)(path, pattern, n) == 0 &&
           (!path[n] || path[n] == '/' || (n && path[n - 1] == '/'));
}

/* git selects what is spelt like the pattern and everything below it in any case. */
static void compare(const char *magic, const char *pattern, bool fold, const struct buf *all)
{
    autobuf struct buf selected = BUF_INIT;
    git_select(magic, pattern, &selected);
    struct glob *g = glob_new(pattern, fold);
    const char *next = selected.s;
    for (const char *path = all->s; path < all->s + all->len; path += strlen(path) + 1) {
        bool theirs = next < selected.s + selected.len && strcmp(next, path) == 0;
        if (theirs)
            next += strlen(next) + 1;
        bool ours = (g && glob_match(g, path)) || spelt_alike(pattern, path, fold);
        if (ours != theirs)
            fail_msg("'%s' and '%s': git says %d, glob_match %d", pattern, path, theirs, ours);
    }
    assert_ptr_equal(next, selected.s + selected.len);
    glob_free(g);
}

static void test_same_as_git(void **state)
{
    (void)state;
    autobuf struct buf all = BUF_INIT, pattern = BUF_INIT;
    git_select("", ".", &all);
    compare(":(glob)", "", false, &all);
    for (unsigned i = 0; i < ARRAY_LEN(odd_tokens); i++) {
        if (!git_rewrites(odd_tokens[i]))
            compare(":(glob)", odd_tokens[i], false, &all);
    }
    for (unsigned i = 0; i < GIT_PATTERNS;) {
        buf_cut(&pattern, 0);
        if (i % 2)
            random_from(&pattern, odd_tokens, 6);
        else
            random_from(&pattern, plain_tokens, 7);
        if (git_rewrites(pattern.s))
            continue;
        compare(":(glob)", pattern.s, false, &all);
        i++;
    }
}

static void test_same_as_git_folded(void **state)
{
    (void)state;
    autobuf struct buf all = BUF_INIT, pattern = BUF_INIT;
    git_select("", ".", &all);
    for (unsigned i = 0; i < FOLD_PATTERNS;) {
        buf_cut(&pattern, 0);
        random_from(&pattern, fold_tokens, 6);
        if (git_rewrites(pattern.s))
            continue;
        compare(":(glob,icase)", pattern.s, true, &all);
        i++;
    }
}

/* Properties of all paths */

static bool is_path(const char *s)
{
    size_t n = strlen(s);
    return n && s[n - 1] != '/' && !git_rewrites(s);
}

/* Tokens for patterns, and an alphabet in which each class of bytes that they tell apart has a
 * member. */
struct world {
    const char *const *tokens;
    unsigned n;
    const char *alphabet;
    bool fold; /* every other pattern */
};

/* Every path of up to SHORT bytes, the shorter ones first. */
static void enumerate(const struct world *world, struct strv *paths)
{
    unsigned base = (unsigned)strlen(world->alphabet);
    for (unsigned len = 1, total = base; len <= SHORT; len++, total *= base) {
        for (unsigned n = 0; n < total; n++) {
            char path[SHORT + 1] = {0};
            for (unsigned at = 0, rest = n; at < len; at++, rest /= base)
                path[at] = world->alphabet[rest % base];
            if (is_path(path))
                strv_push(paths, path);
        }
    }
}

struct sample {
    struct glob *glob;
    char *pattern;
    bool *has; /* of the enumerated paths */
};

static struct sample sample_new(const struct world *world, const struct strv *paths, bool fold)
{
    struct sample s = {0};
    while (!s.glob) {
        autobuf struct buf pattern = BUF_INIT;
        random_pattern(&pattern, world->tokens, world->n, 5);
        s.glob = glob_new(pattern.s, fold);
        if (s.glob)
            s.pattern = buf_steal(&pattern);
    }
    s.has = mem_array(paths->n, sizeof(*s.has));
    for (size_t i = 0; i < paths->n; i++)
        s.has[i] = glob_match(s.glob, paths->v[i]);
    return s;
}

static void sample_done(struct sample *s)
{
    glob_free(s->glob);
    free(s->pattern);
    free(s->has);
}

/* Index of the first path with these answers, or paths->n. */
static size_t first_path(const struct strv *paths, const struct sample *a, const struct sample *b,
                         bool in_b)
{
    size_t i = 0;
    while (i < paths->n && !(a->has[i] && b->has[i] == in_b))
        i++;
    return i;
}

static void check_overlap(const struct strv *paths, const struct sample *a, const struct sample *b)
{
    autobuf struct buf example = BUF_INIT;
    bool overlap = glob_overlap(a->glob, b->glob, &example);
    size_t first = first_path(paths, a, b, true);
    const char *witness = first < paths->n ? paths->v[first] : "none";
    assert_int_equal(glob_overlap(a->glob, b->glob, NULL), overlap);
    if (!overlap) {
        if (first < paths->n)
            fail_msg("'%s' and '%s' have '%s' in common", a->pattern, b->pattern, witness);
        return;
    }
    if (!is_path(example.s) || !glob_match(a->glob, example.s) || !glob_match(b->glob, example.s))
        fail_msg("'%s' is not in both '%s' and '%s'", example.s, a->pattern, b->pattern);
    bool found = first < paths->n;
    if (found ? example.len != strlen(witness) : example.len <= SHORT)
        fail_msg("'%s' is not a shortest path in '%s' and '%s', but '%s'", example.s, a->pattern,
                 b->pattern, witness);
}

static void check_covers(const struct strv *paths, const struct sample *inner,
                         const struct sample *outer)
{
    size_t first = first_path(paths, inner, outer, false);
    bool covers = glob_covers(outer->glob, inner->glob);
    if (covers && first < paths->n)
        fail_msg("'%s' is in '%s', but not in '%s'", paths->v[first], inner->pattern,
                 outer->pattern);
    if (covers)
        assert_true(glob_overlap(inner->glob, outer->glob, NULL));
    /* A path that tells two patterns apart needs at most three bytes more than the inner one. */
    size_t least = first_path(paths, inner, inner, true);
    if (!covers && first == paths->n && least < paths->n && strlen(paths->v[least]) + 3 <= SHORT)
        fail_msg("'%s' is said not to cover '%s'", outer->pattern, inner->pattern);
}

static void check_all_pairs(const struct world *world)
{
    autostrv struct strv paths = {0};
    enumerate(world, &paths);
    struct sample samples[SETS];
    for (size_t i = 0; i < SETS; i++)
        samples[i] = sample_new(world, &paths, world->fold && i % 2);
    for (size_t i = 0; i < SETS; i++) {
        assert_true(glob_covers(samples[i].glob, samples[i].glob));
        for (size_t j = 0; j < SETS; j++) {
            check_overlap(&paths, &samples[i], &samples[j]);
            check_covers(&paths, &samples[i], &samples[j]);
        }
    }
    for (size_t i = 0; i < SETS; i++)
        sample_done(&samples[i]);
}

static void test_pairs(void **state)
{
    (void)state;
    random_state = 0x2545f4914f6cdd1du;
    check_all_pairs(
        &(struct world){.tokens = plain_tokens, .n = ARRAY_LEN(plain_tokens), .alphabet = "abc./"});
}

static void test_pairs_folded(void **state)
{
    (void)state;
    static const char *const tokens[] = {"a", "A", "/", "*", "**/", "/**", "?", "[a]", "[!A]"};
    random_state = 0x2545f4914f6cdd1du;
    check_all_pairs(&(struct world){
        .tokens = tokens, .n = ARRAY_LEN(tokens), .alphabet = "aAb/", .fold = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_git),
        cmocka_unit_test(test_same_as_git_folded),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_pairs_folded),
    };
    return cmocka_run_group_tests(tests, make_repository, remove_repository);
}
