/*
 * cast-parallel: its command line, its checks in its order, its dry run. cast-parallel(1) lists
 * the intended differences from that tool.
 */
#include "dropin/cast.h"

#include "base/mem.h"
#include "base/text/text.h"
#include "cli/frame/cli.h"
#include "cli/run/nested_streams.h"
#include "dropin/dropin.h"
#include "sys/fs/file.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage_text[] =
    "Usage: cast-parallel [--dry-run] [--split N] [--clean] <plan-file>\n\n"
    "  <plan-file>    A plan with a `json dispatch` block\n"
    "  --dry-run      Only show how the batches are split\n"
    "  --split N      Split after the first N batches (default: in the middle)\n"
    "  --clean        First save and remove the leftovers of killed runs\n"
    "  --help, -h     Show this help\n\n"
    "This is anabranch under another name: see cast-parallel(1).\n";

static bool is_colored(void)
{
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && strcmp(term ? term : "", "dumb") != 0;
}

static void print_line(FILE *to, const char *color, const char *mark, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));

static void print_line(FILE *to, const char *color, const char *mark, const char *fmt, va_list ap)
{
    autobuf struct buf raw = BUF_INIT, line = BUF_INIT;
    bool colored = is_colored();
    buf_addv(&raw, fmt, ap);
    buf_addf(&line, "%s%s%s", colored ? color : "", mark,
             colored && *mark ? "\033[0m "
             : *mark          ? " "
                              : "");
    text_harmless(&line, raw.s, raw.len);
    buf_addf(&line, "%s\n", colored && !*mark ? "\033[0m" : "");
    if (to == stdout)
        (void)cli_print(line.s, line.len); /* the program reports a failure when it exits */
    else
        (void)fputs(line.s, to);
}

static const struct {
    const char *color, *mark;
} voices[] = {
    [CAST_INFO] = {"\033[0;36m", "[cast-parallel]"},
    [CAST_SUCCESS] = {"\033[0;32m", "[cast-parallel]"},
    [CAST_WARN] = {"\033[0;33m", "[cast-parallel] WARN:"},
    [CAST_ERROR] = {"\033[0;31m", "[cast-parallel] ERROR:"},
};

void cast_say(enum cast_voice voice, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print_line(voice >= CAST_WARN ? stderr : stdout, voices[voice].color, voices[voice].mark, fmt,
               ap);
    va_end(ap);
}

int cast_fail(int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print_line(stderr, voices[CAST_ERROR].color, voices[CAST_ERROR].mark, fmt, ap);
    va_end(ap);
    return code;
}

void cast_header(const char *fmt, ...)
{
    va_list ap;
    (void)cli_print("\n", 1);
    va_start(ap, fmt);
    print_line(stdout, "\033[1m", "", fmt, ap);
    va_end(ap);
}

void cast_dim(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print_line(stdout, "\033[2m", "", fmt, ap);
    va_end(ap);
}

static int usage_error(const char *what, const char *word)
{
    cast_say(CAST_ERROR, "%s%s", what, word);
    (void)fputs(usage_text, stderr);
    return EXIT_USAGE;
}

struct cast_args {
    bool dry_run, clean, help;
    const char *split, *plan;
};

static int parse_args(struct cast_args *a, char **argv)
{
    for (argv++; *argv && !a->help; argv++) {
        const char *word = *argv;
        if (strcmp(word, "--dry-run") == 0) {
            a->dry_run = true;
        } else if (strcmp(word, "--clean") == 0) {
            a->clean = true;
        } else if (strcmp(word, "--split") == 0) {
            if (!argv[1] || !*argv[1]) {
                cast_say(CAST_ERROR, "--split requires a number");
                return EXIT_USAGE;
            }
            a->split = *++argv;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            a->help = true;
        } else if (*word == '-') {
            return usage_error("Unknown flag: ", word);
        } else if (a->plan && *a->plan) {
            return usage_error("Unexpected argument: ", word);
        } else {
            a->plan = word;
        }
    }
    return a->help || (a->plan && *a->plan) ? EXIT_OK : usage_error("Plan file is required.", "");
}

/* Expands a leading ~ to the home folder, even in quotes. */
static char *expand_home(const char *path)
{
    const char *home = getenv("HOME");
    return *path == '~' ? mem_printf("%s%s", home ? home : "", path + 1) : mem_str(path);
}

static size_t trim_end(const char *line, size_t len)
{
    while (len && strchr(" \t\r", line[len - 1]))
        len--;
    return len;
}

static bool is_text(const char *line, size_t len, const char *text)
{
    len = trim_end(line, len);
    return len == strlen(text) && memcmp(line, text, len) == 0;
}

static const char block_start[] = "```json dispatch", block_end[] = "```";

/* True if a line opens a block of the manifest. Ignores blanks around it, and CR. */
static bool opens_block(const char *line, size_t len)
{
    for (int i = 0; i < 3 && len && *line == ' '; i++, line++)
        len--;
    return is_text(line, len, block_start);
}

static size_t line_length(const char *line, const struct buf *text)
{
    size_t rest = (size_t)(text->s + text->len - line);
    const char *lf = memchr(line, '\n', rest);
    return lf ? (size_t)(lf - line) : rest;
}

static bool has_block(const struct buf *text)
{
    for (const char *line = text->s, *end = text->s + text->len; line < end;) {
        size_t len = line_length(line, text);
        if (opens_block(line, len))
            return true;
        line += len + 1;
    }
    return false;
}

/* Counts the blocks whose fences are at the start of a line. With `blank` it also blanks all other
 * lines and counts those with text there; the numbers of lines stay. */
static size_t count_plain_blocks(struct buf *text, size_t *blank)
{
    bool inside = false;
    size_t n = 0;
    for (char *line = text->s, *end = text->s + text->len; line < end;) {
        size_t len = line_length(line, text);
        if (inside) {
            inside = !is_text(line, len, block_end);
        } else if (is_text(line, len, block_start)) {
            inside = true;
            n++;
        } else if (blank) {
            *blank += trim_end(line, len) > 0;
            memset(line, ' ', len);
        }
        line += len + 1;
    }
    return n;
}

/* That tool took the block with fences at the start of a line, whatever surrounds it. If there is
 * not exactly one, we read the file by the rules of Markdown. */
static bool parse_block(struct doc *doc, struct buf *text, struct problems *ps)
{
    struct doc_options opts = {.syntax = DOC_MARKDOWN, .max_bytes = DROPIN_PLAN_MAX};
    size_t prose = 0;
    bool plain = count_plain_blocks(text, NULL) == 1;
    if (plain)
        (void)count_plain_blocks(text, &prose);
    int rc = doc_parse(doc, NULL, text->s, text->len, &opts, ps);
    if (plain)
        doc->prose_lines = prose;
    return rc == 0 && doc->root->kind == NODE_MAP;
}

int cast_load(struct cast_plan *p)
{
    autoproblems struct problems ps;
    autobuf struct buf text = BUF_INIT;
    struct err err = {0};
    problems_init(&ps, p->path);
    if (file_read_input(p->path, DROPIN_PLAN_MAX, &text, &err))
        return cast_fail(EXIT_TASK, "%s", err.msg);
    if (!has_block(&text))
        return cast_fail(EXIT_TASK, "No `json dispatch` fenced block found in: %s", p->path);
    if (parse_block(&p->doc, &text, &ps))
        return EXIT_OK;
    cast_say(CAST_ERROR, "Failed to parse dispatch JSON.");
    dropin_print_problems(&ps, "", true);
    return EXIT_TASK;
}

/* A value in Python's notation; a list or a mapping as JSON. */
static void add_value(struct buf *out, const struct node *n)
{
    if (!n)
        return;
    if (n->kind == NODE_NULL)
        buf_addstr(out, "None");
    else if (n->kind == NODE_BOOL)
        buf_addstr(out, n->truth ? "True" : "False");
    else if (n->kind >= NODE_LIST)
        doc_write_line(out, n);
    else
        buf_add(out, n->text, n->len);
}

/* Sets the split from --split, or to the middle; EXIT_OK if it is valid. */
static int set_split(struct cast_plan *p, const char *word)
{
    p->split = p->count / 2 ? p->count / 2 : 1;
    if (!word)
        return EXIT_OK;
    if (word[strspn(word, "0123456789")])
        return cast_fail(EXIT_USAGE, "--split must be a positive integer");
    p->split = strlen(word) < 10 ? strtoul(word, NULL, 10) : p->count;
    if (p->split >= 1 && p->split < p->count)
        return EXIT_OK;
    return cast_fail(EXIT_TASK, "--split N must be between 1 and %zu (got %s, batch count is %zu)",
                     p->count - 1, word, p->count);
}

/* Rejects a batch without an id. That tool lost track of batches in this case: it gave a stream
 * without any batch to an agent. */
static int list_ids(struct cast_plan *p, const struct node *batches)
{
    size_t n = 0;
    node_each (batch, batches) {
        struct buf *ids = &p->ids[n >= p->split];
        const struct node *id = node_get(batch, "id");
        autobuf struct buf name = BUF_INIT;
        if (!id)
            return cast_fail(EXIT_TASK, "%s:%u: batch %zu has no id", p->path, batch->pos.line,
                             n + 1);
        add_value(&name, id);
        buf_addf(ids, "%s%s", n == 0 || n == p->split ? "" : ",", name.s);
        strv_push(&p->names, name.s);
        n++;
    }
    return EXIT_OK;
}

static int read_plan(struct cast_plan *p, const char *split)
{
    int code = cast_load(p);
    if (code != EXIT_OK)
        return code;
    const struct node *batches = node_get(p->doc.root, "batches");
    add_value(&p->id, node_get(p->doc.root, "plan_id"));
    p->count = batches && batches->kind == NODE_LIST ? batches->n : 0;
    if (!p->count)
        return cast_fail(EXIT_TASK, "No batches found in dispatch manifest.");
    code = set_split(p, split);
    return code == EXIT_OK ? list_ids(p, batches) : code;
}

static int print_dry_run(const struct cast_plan *p)
{
    autobuf struct buf out = BUF_INIT;
    cast_header("cast parallel \xe2\x80\x94 dry run");
    cast_dim("  Plan: %s", p->path);
    cast_dim("  Plan ID: %s", p->id.s);
    cast_dim("  Total batches: %zu", p->count);
    cast_dim("  Split after batch: %zu", p->split);
    for (int i = 0; i < (p->split < p->count ? 2 : 1); i++) {
        buf_addf(&out, "%s  Stream %c (worktree-%c): batches ", i ? "" : "\n", 'A' + i, 'a' + i);
        text_harmless(&out, p->ids[i].s, p->ids[i].len);
        buf_addch(&out, '\n');
    }
    return cli_print(out.s, out.len);
}

/* The folder of the program: from its name, or from PATH. */
static char *find_program_folder(const char *name)
{
    const char *slash = strrchr(name, '/'), *path = getenv("PATH");
    if (slash)
        return mem_dup(name, (size_t)(slash - name) + 1);
    for (const char *at = path ? path : ""; *at; at += strspn(at, ":")) {
        size_t len = strcspn(at, ":");
        autofree char *file = mem_printf("%.*s/%s", (int)len, at, name);
        if (access(file, X_OK) == 0)
            return mem_printf("%.*s/", (int)len, at);
        at += len;
    }
    return NULL;
}

static char *find_logger(const char *name)
{
    autofree char *dir = find_program_folder(name);
    autofree char *path = dir ? mem_printf("%scast-db-log.py", dir) : NULL;
    struct stat st;
    return path && stat(path, &st) == 0 && S_ISREG(st.st_mode) ? realpath(path, NULL) : NULL;
}

static void cast_plan_done(struct cast_plan *p)
{
    doc_done(&p->doc);
    buf_done(&p->id);
    buf_done(&p->ids[0]);
    buf_done(&p->ids[1]);
    strv_done(&p->names);
    free(p->logger);
}

int dropin_cast(int argc, char **argv)
{
    struct cast_args args = {0};
    own_cleanup(cast_plan_done) struct cast_plan plan = {.id = BUF_INIT,
                                                         .ids = {BUF_INIT, BUF_INIT}};
    struct stat st;
    if (argc < 1 || streams_outer_task())
        return EXIT_OK;
    int code = parse_args(&args, argv);
    if (code != EXIT_OK || args.help)
        return code != EXIT_OK ? code : cli_print(usage_text, strlen(usage_text));
    autofree char *path = expand_home(args.plan);
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return cast_fail(EXIT_USAGE, "Plan file not found: %s", path);
    plan.path = path;
    code = read_plan(&plan, args.split);
    if (code != EXIT_OK)
        return code;
    if (args.dry_run)
        return print_dry_run(&plan);
    plan.logger = find_logger(argv[0]);
    plan.clean = args.clean;
    return cast_run(&plan);
}
