/*
 * The division of batches among streams: examples by hand, and random manifests that are compared
 * with a plain computation of everything that the header promises.
 */
#include "plan/streams/streams.h"
#include "plan_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { BATCHES_MAX = 12, PATHS = 6, ROUNDS = 4000 };

struct fixture {
    struct built b;
    struct node *batches;
    struct plan plan;
    struct graph g;
    struct claims c;
    struct streams s;
    struct problems ps;
};

static void begin(struct fixture *f)
{
    *f = (struct fixture){0};
    f->b.root = node_new(&f->b.arena, NODE_MAP, (struct pos){1, 1});
    f->batches = node_new(&f->b.arena, NODE_LIST, (struct pos){1, 1});
    built_put(&f->b, f->b.root, "batches", f->batches);
}

static void put_bool(struct fixture *f, struct node *map, const char *key, bool truth)
{
    struct node *node = node_new(&f->b.arena, NODE_BOOL, map->pos);
    node->text = truth ? "true" : "false";
    node->len = strlen(node->text);
    node->truth = truth;
    built_put(&f->b, map, key, node);
}

/* A batch whose id is its place; its agents say "do <batch>.<agent>". */
static struct node *add_batch(struct fixture *f, size_t agents, bool parallel)
{
    struct arena *a = &f->b.arena;
    struct node *batch = node_new(a, NODE_MAP, (struct pos){(uint32_t)f->batches->n + 2, 1});
    struct node *list = node_new(a, NODE_LIST, batch->pos);
    built_put(&f->b, batch, "id", built_text(&f->b, arena_printf(a, "%zu", f->batches->n)));
    for (size_t i = 0; i < agents; i++) {
        struct node *agent = node_new(a, NODE_MAP, batch->pos);
        built_put(&f->b, agent, "prompt",
                  built_text(&f->b, arena_printf(a, "do %zu.%zu", f->batches->n, i)));
        node_append(list, agent);
    }
    built_put(&f->b, batch, "agents", list);
    put_bool(f, batch, "parallel", parallel);
    node_append(f->batches, batch);
    return batch;
}

/* `depends_on`, which names nothing as long as nothing is added to it. */
static void say_order(struct fixture *f, struct node *batch)
{
    built_put(&f->b, batch, "depends_on", node_new(&f->b.arena, NODE_LIST, batch->pos));
}

static void read_plan(struct fixture *f)
{
    struct claim_scope scope = {.prefix = ""};
    problems_init(&f->ps, "plan");
    assert_int_equal(plan_decode(&f->plan, f->b.root, &f->b.arena, &f->ps), 0);
    assert_int_equal(graph_init(&f->g, &f->plan, &f->ps), 0);
    claims_init(&f->c, &f->plan, &scope, &f->ps);
}

static int divide(struct fixture *f, const struct streams_options *opts)
{
    read_plan(f);
    return streams_init(&f->s, &f->plan, &f->g, &f->c, opts, &f->ps);
}

static void drop(struct fixture *f)
{
    streams_done(&f->s);
    claims_done(&f->c);
    graph_done(&f->g);
    plan_done(&f->plan);
    problems_done(&f->ps);
    arena_done(&f->b.arena);
}

/* The batches of each stream. */
static void assert_streams(const struct fixture *f, const char *streams)
{
    autobuf struct buf out = BUF_INIT;
    for (size_t k = 0; k < f->s.n; k++) {
        buf_addstr(&out, k ? " |" : "");
        for (size_t i = 0; i < f->s.list[k].n; i++)
            buf_addf(&out, "%s%u", i || k ? " " : "", f->s.list[k].batches[i]);
    }
    assert_string_equal(out.s, streams);
}

/* Cases written by hand */

static void what_depends_stays_together(void **state)
{
    (void)state;
    struct fixture f;
    struct streams_options opts = {0};
    begin(&f);
    say_order(&f, add_batch(&f, 1, false));
    say_order(&f, add_batch(&f, 1, false));
    built_add(&f.b, add_batch(&f, 1, false), "depends_on", "0"); /* the midpoint is here */
    built_add(&f.b, add_batch(&f, 1, false), "depends_on", "1");
    assert_int_equal(divide(&f, &opts), 0);
    assert_streams(&f, "0 2 | 1 3");
    assert_int_equal(f.s.verdict, STREAMS_GAIN);
    assert_true(streams_speed_up(&f.s) > 1.99);
    drop(&f);
}

static void a_batch_is_behind_what_it_needs(void **state)
{
    (void)state;
    struct fixture f;
    struct streams_options opts = {.n = 1};
    begin(&f);
    built_add(&f.b, add_batch(&f, 1, false), "depends_on", "3");
    say_order(&f, add_batch(&f, 1, false));
    say_order(&f, add_batch(&f, 1, false));
    built_add(&f.b, add_batch(&f, 1, false), "depends_on", "2");
    assert_int_equal(divide(&f, &opts), 0);
    assert_streams(&f, "2 3 0 1");
    drop(&f);
}

static void a_sequence_reaches_over_parallel_batches(void **state)
{
    (void)state;
    struct fixture f;
    struct streams_options opts = {.n = 9};
    begin(&f);
    add_batch(&f, 1, false);
    add_batch(&f, 1, true);
    add_batch(&f, 1, true);
    add_batch(&f, 1, false); /* behind 2, 1 and 0 */
    add_batch(&f, 1, true);
    add_batch(&f, 1, true);
    assert_int_equal(divide(&f, &opts), 0);
    assert_streams(&f, "0 1 2 3 | 4 | 5");
    drop(&f);
}

static void a_summary_is_for_the_next(void **state)
{
    (void)state;
    struct fixture f;
    struct streams_options opts = {.n = 9};
    begin(&f);
    built_put(&f.b, add_batch(&f, 2, true), "type", built_text(&f.b, "fan-out"));
    add_batch(&f, 1, true);
    add_batch(&f, 1, true);
    assert_int_equal(divide(&f, &opts), 0);
    assert_streams(&f, "0 1 | 2");
    assert_int_equal(f.s.ties.v[0].kind, TIE_SUMMARY);
    assert_int_equal(f.s.verdict, STREAMS_TOO_SMALL);
    drop(&f);
}

static void a_cut_is_marked(void **state)
{
    (void)state;
    struct fixture f;
    const size_t cuts[] = {1, 3};
    struct streams_options opts = {.splits = cuts, .split_count = 2};
    begin(&f);
    built_add(&f.b, add_batch(&f, 1, true), "owns_files", "src/");
    built_add(&f.b, add_batch(&f, 1, true), "owns_files", "src/a.c");
    built_add(&f.b, add_batch(&f, 1, true), "owns_files", "src/b.c");
    built_add(&f.b, add_batch(&f, 1, true), "owns_files", "doc/");
    assert_int_equal(divide(&f, &opts), 0);
    assert_streams(&f, "0 | 1 2 | 3");
    assert_int_equal(f.s.cuts, 2);
    autobuf struct buf out = BUF_INIT;
    streams_say_tie(&f.s, &f.s.ties.v[1], &out);
    assert_string_equal(out.s, "2 owns 'src/b.c', 0 owns 'src/'");
    drop(&f);
}

static void agents_that_wait_for_each_others_batches(void **state)
{
    (void)state;
    struct fixture f;
    struct streams_options opts = {0};
    begin(&f);
    struct node *one = node_get(add_batch(&f, 2, true), "agents");
    struct node *two = add_batch(&f, 2, true);
    say_order(&f, two);
    built_add(&f.b, one->last, "depends_on", "b1-1");
    built_add(&f.b, node_get(two, "agents")->last, "depends_on", "b0-1");
    assert_int_equal(divide(&f, &opts), -1);
    assert_int_equal(f.ps.errors, 1);
    drop(&f);
}

static void many_streams_have_names(void **state)
{
    (void)state;
    struct fixture f;
    struct streams_options opts = {.n = STREAMS_MAX};
    begin(&f);
    for (int i = 0; i < 28; i++)
        add_batch(&f, 1, true);
    assert_int_equal(divide(&f, &opts), 0);
    assert_int_equal(f.s.n, 28);
    assert_string_equal(f.s.list[25].id, "z");
    assert_string_equal(f.s.list[26].id, "aa");
    assert_string_equal(f.s.list[27].id, "ab");
    drop(&f);
}

/* The plan */

static struct node *plan_of(struct fixture *f, struct arena *a)
{
    const char **prompts = mem_array(f->plan.task_count, sizeof(*prompts));
    for (size_t i = 0; i < f->plan.task_count; i++)
        prompts[i] = f->plan.tasks[i].prompt;
    struct streams_texts texts = {.prompts = prompts, .about = "About it.\n"};
    struct node *root = streams_plan(&f->s, &texts, a, &f->ps);
    free(prompts);
    return root;
}

static void a_stream_is_told_its_part_alone(void **state)
{
    (void)state;
    struct fixture f;
    struct streams_options opts = {.n = 2};
    struct arena a = {0};
    struct plan plan;
    begin(&f);
    add_batch(&f, 2, true);
    add_batch(&f, 1, true);
    assert_int_equal(divide(&f, &opts), 0);
    struct node *root = plan_of(&f, &a);
    assert_non_null(root);
    assert_int_equal(plan_decode_encoded(&plan, root, PLAN_TASKS, &f.ps), 0);
    assert_int_equal(plan.task_count, 2);
    assert_non_null(strstr(plan.tasks[0].prompt, "do 0.0\n"));
    assert_non_null(strstr(plan.tasks[0].prompt, "do 0.1\n"));
    assert_null(strstr(plan.tasks[0].prompt, "do 1.0"));
    assert_non_null(strstr(plan.tasks[0].prompt, "\nAbout it.\n"));
    assert_non_null(strstr(plan.tasks[0].prompt, "Do not do them"));
    assert_non_null(strstr(plan.tasks[1].prompt, "- batch 0\n"));
    plan_done(&plan);
    arena_done(&a);
    drop(&f);
}

static void one_session_has_one_engine(void **state)
{
    (void)state;
    struct fixture f;
    struct streams_options opts = {.n = 1};
    struct arena a = {0};
    begin(&f);
    struct node *agents = node_get(add_batch(&f, 2, true), "agents");
    built_put(&f.b, agents->first, "engine", built_text(&f.b, "sim"));
    assert_int_equal(divide(&f, &opts), 0);
    assert_null(plan_of(&f, &a));
    assert_int_equal(f.ps.errors, 1);
    arena_done(&a);
    drop(&f);
}

static void put_text(struct fixture *f, struct node *map, const char *key, const char *text)
{
    built_put(&f->b, map, key, built_text(&f->b, text));
}

static void what_adds_up_is_added(void **state)
{
    (void)state;
    struct fixture f;
    struct streams_options opts = {.n = 1};
    struct arena a = {0};
    struct plan plan;
    begin(&f);
    struct node *one = node_get(add_batch(&f, 2, true), "agents")->first, *two = one->next;
    put_text(&f, one, "timeout", "20d");
    put_text(&f, two, "timeout", "20d");
    put_text(&f, one, "idle_timeout", "5m");
    put_text(&f, two, "idle_timeout", "9m");
    put_text(&f, one, "permissions", "edit");
    put_text(&f, two, "permissions", "full");
    put_bool(&f, one, "read_only", true);
    built_add(&f.b, one, "forbids", "a");
    built_add(&f.b, one, "forbids", "b");
    built_add(&f.b, two, "forbids", "b");
    built_add(&f.b, two, "owns", "src/");
    assert_int_equal(divide(&f, &opts), 0);
    assert_int_equal(plan_decode_encoded(&plan, plan_of(&f, &a), PLAN_TASKS, &f.ps), 0);
    const struct task *t = &plan.tasks[0];
    assert_int_equal(t->timeout, (int64_t)30 * 24 * 60 * 60 * 1000); /* the most that there is */
    assert_int_equal(t->idle_timeout, 9 * 60 * 1000);
    assert_int_equal(t->permissions, PERMISSIONS_FULL);
    assert_false(t->read_only);
    assert_int_equal(t->forbids.n, 1);
    assert_string_equal(t->forbids.v[0].text, "b");
    assert_int_equal(t->owns.n, 1);
    plan_done(&plan);
    arena_done(&a);
    drop(&f);
}

/* The encoder hides secrets from those who look; a session needs them. */
static void secrets_are_kept(void **state)
{
    (void)state;
    struct fixture f;
    struct streams_options opts = {.n = 1};
    struct arena a = {0};
    struct plan plan;
    begin(&f);
    struct node *agents = node_get(add_batch(&f, 2, true), "agents");
    node_each (agent, agents) {
        struct node *env = node_new(&f.b.arena, NODE_MAP, agent->pos);
        struct node *var = node_new(&f.b.arena, NODE_MAP, agent->pos);
        put_text(&f, var, "value", "hush");
        put_bool(&f, var, "secret", true);
        built_put(&f.b, env, "TOKEN", var);
        built_put(&f.b, agent, "env", env);
    }
    assert_int_equal(divide(&f, &opts), 0);
    assert_int_equal(plan_decode_encoded(&plan, plan_of(&f, &a), PLAN_TASKS, &f.ps), 0);
    assert_int_equal(plan.tasks[0].env.n, 1);
    assert_string_equal(plan.tasks[0].env.v[0].value, "hush");
    assert_true(plan.tasks[0].env.v[0].secret);
    plan_done(&plan);
    arena_done(&a);
    drop(&f);
}

/* Random cases */

/* A manifest as it was written, and what follows from it by the plainest way. */
struct model {
    size_t n;
    size_t weight[BATCHES_MAX];
    bool parallel[BATCHES_MAX], fan_out[BATCHES_MAX], says[BATCHES_MAX];
    unsigned deps[BATCHES_MAX], owns[BATCHES_MAX]; /* bits */
    unsigned before[BATCHES_MAX];                  /* batches that it needs or follows */
    unsigned group[BATCHES_MAX];                   /* lowest batch that it hangs together with */
};

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Dependencies go to any batch, but along a random order, so that there are no cycles. */
static void invent(struct model *m, uint64_t *seed)
{
    unsigned key[BATCHES_MAX];
    *m = (struct model){.n = 1 + next_random(seed) % BATCHES_MAX};
    bool named = next_random(seed) % 3; /* else forward names and sequences could make a circle */
    for (size_t b = 0; b < m->n; b++)
        key[b] = named && next_random(seed) % 2 ? next_random(seed) : (unsigned)b;
    unsigned often = 2 + next_random(seed) % 6;
    for (size_t b = 0; b < m->n; b++) {
        m->weight[b] = 1 + next_random(seed) % 5;
        m->parallel[b] = next_random(seed) % 2;
        m->fan_out[b] = next_random(seed) % 8 == 0;
        m->says[b] = named || next_random(seed) % 2;
        for (size_t d = 0; d < m->n; d++) {
            bool earlier = key[d] < key[b] && (named || d < b);
            if (m->says[b] && earlier && next_random(seed) % (often + m->n / 2) == 0)
                m->deps[b] |= 1u << d;
        }
        if (next_random(seed) % 3 == 0)
            m->owns[b] = 1u << next_random(seed) % PATHS;
    }
}

static void write_model(struct fixture *f, const struct model *m)
{
    begin(f);
    for (size_t b = 0; b < m->n; b++) {
        struct node *batch = add_batch(f, m->weight[b], m->parallel[b]);
        if (m->fan_out[b])
            built_put(&f->b, batch, "type", built_text(&f->b, "fan-out"));
        if (m->says[b])
            say_order(f, batch);
        for (size_t i = 0; i < BATCHES_MAX; i++) {
            if (m->deps[b] & 1u << i)
                built_add(&f->b, batch, "depends_on", arena_printf(&f->b.arena, "%zu", i));
            if (i < PATHS && m->owns[b] & 1u << i)
                built_add(&f->b, batch, "owns_files", arena_printf(&f->b.arena, "dir%zu/", i));
        }
    }
}

static bool is_parallel(const struct model *m, size_t b)
{
    return m->parallel[b] || m->fan_out[b];
}

/* Computes anew, from the header's words, which batch follows which. */
static unsigned comes_behind(const struct model *m, size_t b)
{
    unsigned before = m->deps[b];
    if (m->says[b] || b == 0)
        return before;
    if (m->fan_out[b - 1])
        before |= 1u << (b - 1);
    if (is_parallel(m, b))
        return before;
    for (size_t i = b; i-- > 0;) {
        before |= 1u << i;
        if (!is_parallel(m, i) || m->says[i])
            return before;
    }
    return before;
}

static void find_groups(struct model *m)
{
    for (size_t b = 0; b < m->n; b++) {
        m->before[b] = comes_behind(m, b);
        m->group[b] = (unsigned)b;
    }
    for (bool again = true; again;) {
        again = false;
        for (size_t x = 0; x < m->n; x++) {
            for (size_t y = 0; y < m->n; y++) {
                bool tied = m->before[x] & 1u << y || m->owns[x] & m->owns[y];
                if (tied && m->group[x] != m->group[y]) {
                    unsigned low = m->group[x] < m->group[y] ? m->group[x] : m->group[y];
                    m->group[x] = m->group[y] = low;
                    again = true;
                }
            }
        }
    }
}

/* The least that the heaviest of n streams can have, by trying everything. */
static int64_t best(const int64_t *weights, size_t count, int64_t *loads, size_t n, int64_t bound)
{
    int64_t heaviest = 0;
    for (size_t k = 0; k < n; k++)
        heaviest = loads[k] > heaviest ? loads[k] : heaviest;
    if (heaviest >= bound || count == 0)
        return heaviest < bound ? heaviest : bound;
    for (size_t k = 0; k < n; k++) {
        loads[k] += *weights;
        bound = best(weights + 1, count - 1, loads, n, bound);
        loads[k] -= *weights;
        if (!loads[k])
            break; /* the other empty ones are the same */
    }
    return bound;
}

static void assert_bound(const struct model *m, const struct streams *s, size_t n)
{
    int64_t weights[BATCHES_MAX] = {0}, loads[BATCHES_MAX] = {0}, largest = 0, total = 0;
    size_t count = 0;
    for (size_t g = 0; g < m->n; g++) {
        int64_t weight = 0;
        for (size_t b = 0; b < m->n; b++)
            weight += m->group[b] == g ? (int64_t)m->weight[b] : 0;
        total += weight;
        largest = weight > largest ? weight : largest;
        if (weight)
            weights[count++] = weight;
    }
    int64_t least = best(weights, count, loads, n, INT64_MAX), k = (int64_t)n;
    assert_true(s->heaviest >= least);
    assert_true(3 * k * s->heaviest <= (4 * k - 1) * least);
    assert_true(k * s->heaviest <= total + (k - 1) * largest);
    assert_int_equal(s->total, total);
    assert_int_equal(s->components, count);
}

/* Each batch once, behind all that it needs; and what hangs together is together, unless forced. */
static void assert_whole(const struct model *m, const struct streams *s)
{
    size_t at[BATCHES_MAX], in[BATCHES_MAX], seen = 0;
    for (size_t i = 0; i < s->n; i++) {
        assert_true(s->list[i].n > 0);
        for (size_t k = 0; k < s->list[i].n; k++) {
            assert_int_equal(s->stream_of[s->list[i].batches[k]], i);
            in[s->list[i].batches[k]] = i;
            at[s->list[i].batches[k]] = k;
            seen++;
        }
    }
    assert_int_equal(seen, m->n);
    for (size_t b = 0; b < m->n; b++) {
        assert_int_equal(s->component[b], m->group[b]);
        for (size_t d = 0; d < m->n; d++) {
            if (!s->forced && m->group[b] == m->group[d])
                assert_int_equal(in[b], in[d]);
            if (m->before[b] & 1u << d && in[b] == in[d])
                assert_true(at[d] < at[b]);
        }
    }
}

/* Each pair that was cut apart is told. */
static void assert_cuts(const struct model *m, const struct streams *s)
{
    for (size_t x = 0; x < m->n; x++) {
        for (size_t y = 0; y < x; y++) {
            bool tied =
                (m->before[x] & 1u << y) || (m->before[y] & 1u << x) || (m->owns[x] & m->owns[y]);
            bool told = false;
            for (size_t i = 0; i < s->ties.n; i++) {
                const struct tie *t = &s->ties.v[i];
                told = told || (t->cut && ((t->early == x && t->late == y) ||
                                           (t->early == y && t->late == x)));
            }
            assert_int_equal(told, tied && s->stream_of[x] != s->stream_of[y]);
        }
    }
}

static size_t choose_splits(const struct model *m, uint64_t *seed, size_t *splits)
{
    size_t n = 0;
    for (size_t b = 1; b < m->n; b++) {
        if (next_random(seed) % 3 == 0)
            splits[n++] = b;
    }
    return n;
}

static void random_manifests(void **state)
{
    (void)state;
    uint64_t seed = 7;
    size_t several = 0, forced = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct model m;
        struct fixture f;
        size_t splits[BATCHES_MAX], n = 1 + next_random(&seed) % 5;
        invent(&m, &seed);
        find_groups(&m);
        write_model(&f, &m);
        struct streams_options opts = {.n = n, .splits = splits};
        if (round % 4 == 0)
            opts.split_count = choose_splits(&m, &seed, splits);
        assert_int_equal(divide(&f, &opts), 0);
        assert_whole(&m, &f.s);
        assert_cuts(&m, &f.s);
        if (!f.s.forced) {
            assert_int_equal(f.s.cuts, 0);
            assert_true(f.s.n <= n);
            assert_bound(&m, &f.s, n < m.n ? n : m.n);
        }
        several += f.s.n > 1 && !f.s.forced;
        forced += f.s.forced && f.s.cuts;
        drop(&f);
    }
    assert_true(several > ROUNDS / 8); /* or there would be nothing to be wrong about */
    assert_true(forced > ROUNDS / 16);
}

/* Ten thousand batches that all own one path do not take ten thousand times as long. */
static void a_large_manifest(void **state)
{
    (void)state;
    struct fixture f;
    struct streams_options opts = {.n = 8};
    begin(&f);
    for (int i = 0; i < 10000; i++) {
        struct node *batch = add_batch(&f, 1, true);
        if (i % 2)
            built_add(&f.b, batch, "owns_files", "src/");
    }
    assert_int_equal(divide(&f, &opts), 0);
    assert_int_equal(f.s.components, 5001);
    assert_int_equal(f.s.heaviest, 5000);
    assert_true(f.s.ties.n < 10000);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_depends_stays_together),
        cmocka_unit_test(a_batch_is_behind_what_it_needs),
        cmocka_unit_test(a_sequence_reaches_over_parallel_batches),
        cmocka_unit_test(a_summary_is_for_the_next),
        cmocka_unit_test(a_cut_is_marked),
        cmocka_unit_test(agents_that_wait_for_each_others_batches),
        cmocka_unit_test(many_streams_have_names),
        cmocka_unit_test(a_stream_is_told_its_part_alone),
        cmocka_unit_test(one_session_has_one_engine),
        cmocka_unit_test(what_adds_up_is_added),
        cmocka_unit_test(secrets_are_kept),
        cmocka_unit_test(random_manifests),
        cmocka_unit_test(a_large_manifest),
    };
    return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
