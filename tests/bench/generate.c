/*
 * Writes a plan of any size to standard output, always the same one.
 *
 *     generate SYNTAX SHAPE TASKS [paths]
 *
 * With "paths", it writes one line per task instead: a file that matches the task's claim.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPS_MAX = 3, CLAIM_MAX = 64 };

struct task {
    unsigned n;
    unsigned deps[DEPS_MAX];
    unsigned dep_count;
    char claim[CLAIM_MAX];
};

/* Shapes */

typedef void shape_fn(struct task *t);

/* xorshift64*, Vigna 2016: the same plan on every machine. */
static uint64_t draw(uint64_t below)
{
    static uint64_t state = 20161115;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return ((state * 2685821657736338717u) >> 32) % below;
}

static void shape_chain(struct task *t)
{
    if (t->n)
        t->deps[t->dep_count++] = t->n - 1;
}

static void shape_wide(struct task *t)
{
    (void)t;
}

/* Adds up to three dependencies on earlier tasks; duplicates are allowed. */
static void shape_random(struct task *t)
{
    for (uint64_t left = t->n ? draw(DEPS_MAX + 1) : 0; left; left--)
        t->deps[t->dep_count++] = (unsigned)draw(t->n);
}

/* The globs have no literal prefix. */
static void shape_globs(struct task *t)
{
    snprintf(t->claim, sizeof(t->claim), "**/file%u.c", t->n);
}

/* Claims that differ only in the end of a component, or in a name before a wildcard. */
static void shape_endings(struct task *t)
{
    static const char *const forms[] = {"src/*-%u/**", "app/**/m%u/*.c", "test/[ab]%u/**",
                                        "lib/*_%u.c"};
    snprintf(t->claim, sizeof(t->claim), forms[t->n % 4], t->n);
}

static void shape_shared(struct task *t)
{
    shape_chain(t);
    snprintf(t->claim, sizeof(t->claim), "src/");
}

static const struct {
    const char *name;
    shape_fn *shape;
} shapes[] = {
    {"chain", shape_chain}, {"wide", shape_wide},     {"random", shape_random},
    {"globs", shape_globs}, {"shared", shape_shared}, {"endings", shape_endings},
};

static struct task make_task(shape_fn *shape, unsigned n)
{
    struct task t = {.n = n};
    snprintf(t.claim, sizeof(t.claim), "src/module-%u/", n);
    shape(&t);
    return t;
}

/* Syntaxes */

static void print_deps(const struct task *t, const char *quote)
{
    for (unsigned i = 0; i < t->dep_count; i++)
        printf("%s%stask-%u%s", i ? ", " : "", quote, t->deps[i], quote);
}

/* A plain scalar cannot begin with an asterisk (an alias) or contain a bracket. */
static void yaml_task(const struct task *t)
{
    const char *quote = *t->claim == '*' || strchr(t->claim, '[') ? "\"" : "";
    printf("  - id: task-%u\n"
           "    title: Bring module %u up to date\n"
           "    prompt: |\n"
           "      Do what the notes of module %u ask for.\n"
           "      Test what you change.\n",
           t->n, t->n, t->n);
    if (t->dep_count) {
        printf("    depends_on: [");
        print_deps(t, "");
        printf("]\n");
    }
    printf("    owns: [%s%s%s]\n", quote, t->claim, quote);
}

static void toml_task(const struct task *t)
{
    printf("\n[[tasks]]\n"
           "id = \"task-%u\"\n"
           "title = \"Bring module %u up to date\"\n"
           "prompt = \"\"\"\n"
           "Do what the notes of module %u ask for.\n"
           "Test what you change.\n"
           "\"\"\"\n",
           t->n, t->n, t->n);
    if (t->dep_count) {
        printf("depends_on = [");
        print_deps(t, "\"");
        printf("]\n");
    }
    printf("owns = [\"%s\"]\n", t->claim);
}

static void json_task(const struct task *t)
{
    printf("%s\n    {\n"
           "      \"id\": \"task-%u\",\n"
           "      \"title\": \"Bring module %u up to date\",\n"
           "      \"prompt\": \"Do what the notes of module %u ask for.\\n"
           "Test what you change.\\n\",\n",
           t->n ? "," : "", t->n, t->n, t->n);
    if (t->dep_count) {
        printf("      \"depends_on\": [");
        print_deps(t, "\"");
        printf("],\n");
    }
    printf("      \"owns\": [\"%s\"]\n    }", t->claim);
}

static const struct {
    const char *name, *head, *tail;
    void (*task)(const struct task *t);
} syntaxes[] = {
    {"yaml", "name: many tasks\ntasks:\n", "", yaml_task},
    {"toml", "name = \"many tasks\"\n", "", toml_task},
    {"json", "{\n  \"name\": \"many tasks\",\n  \"tasks\": [", "\n  ]\n}\n", json_task},
};

/* Shapes and syntaxes */

static int usage(void)
{
    fprintf(
        stderr,
        "usage: generate yaml|toml|json chain|wide|random|globs|shared|endings TASKS [paths]\n");
    return 2;
}

static void print_plan(size_t syntax, shape_fn *shape, unsigned tasks)
{
    fputs(syntaxes[syntax].head, stdout);
    for (unsigned n = 0; n < tasks; n++) {
        struct task t = make_task(shape, n);
        syntaxes[syntax].task(&t);
    }
    fputs(syntaxes[syntax].tail, stdout);
}

static void print_paths(shape_fn *shape, unsigned tasks)
{
    for (unsigned n = 0; n < tasks; n++) {
        struct task t = make_task(shape, n);
        if (*t.claim == '*')
            printf("src%s\n", t.claim + 2);
        else
            printf("%sfile%u.c\n", t.claim, n);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 5 || (argc == 5 && strcmp(argv[4], "paths") != 0))
        return usage();
    size_t syntax = 0, shape = 0;
    while (syntax < sizeof(syntaxes) / sizeof(*syntaxes) && strcmp(syntaxes[syntax].name, argv[1]))
        syntax++;
    while (shape < sizeof(shapes) / sizeof(*shapes) && strcmp(shapes[shape].name, argv[2]))
        shape++;
    char *end;
    errno = 0;
    unsigned long tasks = strtoul(argv[3], &end, 10);
    if (syntax == sizeof(syntaxes) / sizeof(*syntaxes) ||
        shape == sizeof(shapes) / sizeof(*shapes) || errno || *end || !tasks || tasks > 10000000)
        return usage();
    if (argc == 5)
        print_paths(shapes[shape].shape, (unsigned)tasks);
    else
        print_plan(syntax, shapes[shape].shape, (unsigned)tasks);
    if (fflush(stdout) || ferror(stdout)) {
        perror("generate: standard output");
        return 1;
    }
    return 0;
}
