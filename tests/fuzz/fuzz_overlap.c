/*
 * glob_overlap() and glob_covers() against glob_match(). The first two lines of the input are the
 * patterns ('~' before the first: ignore the case of letters); each further line is a path.
 */
#include "fuzz.h"

#include "base/text/glob.h"

#include <string.h>

struct pair {
    struct glob *a, *b;
    bool overlap, a_covers, b_covers;
};

static void check_path(const struct pair *pair, const char *path)
{
    if (!fuzz_is_path(path))
        return;
    bool a = glob_match(pair->a, path), b = glob_match(pair->b, path);
    fuzz_check(pair->overlap || !(a && b));
    fuzz_check(!pair->a_covers || a || !b);
    fuzz_check(!pair->b_covers || b || !a);
}

static void check_pair(struct pair *pair)
{
    autobuf struct buf example = BUF_INIT, other = BUF_INIT;
    pair->overlap = glob_overlap(pair->a, pair->b, &example);
    pair->a_covers = glob_covers(pair->a, pair->b);
    pair->b_covers = glob_covers(pair->b, pair->a);
    fuzz_check(glob_overlap(pair->b, pair->a, &other) == pair->overlap);
    fuzz_check(glob_overlap(pair->a, pair->b, NULL) == pair->overlap);
    fuzz_check(example.len == other.len);
    /* No pattern that could be compiled is empty, so one that is covered is met as well. */
    fuzz_check(pair->overlap || !(pair->a_covers || pair->b_covers));
    if (pair->overlap) {
        fuzz_check(fuzz_is_path(example.s) && fuzz_is_path(other.s));
        fuzz_check(glob_match(pair->a, example.s) && glob_match(pair->b, example.s));
        fuzz_check(glob_match(pair->a, other.s) && glob_match(pair->b, other.s));
    }
}

static void check_variants(const struct pair *pair, const char *pattern)
{
    for (unsigned variant = 0; variant < FUZZ_VARIANTS; variant++) {
        autofree char *path = fuzz_path_like(pattern, variant);
        check_path(pair, path);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    autofree char *a = fuzz_line(&in), *b = fuzz_line(&in);
    bool fold = *a == '~';
    struct pair pair = {.a = glob_new(a + fold, fold), .b = glob_new(b, fold)};
    if (pair.a && pair.b) {
        check_pair(&pair);
        check_variants(&pair, a + fold);
        check_variants(&pair, b);
        while (in.size) {
            autofree char *path = fuzz_line(&in);
            check_path(&pair, path);
        }
    }
    glob_free(pair.a);
    glob_free(pair.b);
    return 0;
}
