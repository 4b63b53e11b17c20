/*
 * Plays a script to the dashboard, and prints the screens: play FILE.
 *
 *     plan LINE             a line of the plan, in YAML; must come first
 *     many N                the same for N tasks, t1 to tN
 *     at DURATION           the time of the next lines, since the start of the run
 *     event NAME TASK ATTEMPT [JSON]        TASK -: an event of the run
 *     live, dead            the run can be steered, or not any more
 *     files TASK N          the number of changed files
 *     text LINE             a line of a log or a diff
 *     meet TASK TASK apart|together|unknown|conflict      TASK -: landed work
 *     size COLUMNS ROWS
 *     keys KEYS             characters, or <enter> <esc> <tab> <up> <down> <pgup> <pgdn> <home>
 *                           <end>
 *     draw                  prints the screen; each line ends with a bar
 *     styles                the same, with the styles of each line below it
 *
 * Lines that begin with # are comments.
 */
#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "doc/doc.h"
#include "project/plan_file.h"
#include "sys/fs/file.h"
#include "view/dashboard/screens/screen.h"

#include <stdio.h>
#include <string.h>

enum { START = 1000000 };

struct player {
    struct buf plan_text;
    struct plan_file pf;
    struct board board;
    struct screen screen;
    bool begun;
    int64_t at, seq;
    size_t columns, rows, line;
};

static void fail(const struct player *p, const char *why)
{
    (void)fprintf(stderr, "line %zu: %s\n", p->line, why);
    exit(1);
}

static void begin(struct player *p)
{
    struct problems ps;
    struct doc doc;
    struct doc_options opts = {.syntax = DOC_YAML};
    if (p->begun)
        return;
    problems_init(&ps, "plan");
    if (doc_parse(&doc, NULL, p->plan_text.s, p->plan_text.len, &opts, &ps) ||
        plan_file_take(&p->pf, &doc, "plan.yaml", &ps))
        fail(p, "the plan is wrong");
    problems_done(&ps);
    board_init(&p->board, &p->pf.plan, &p->pf.graph, "20260301-120000-abcd");
    (void)snprintf(p->board.state, sizeof(p->board.state), "running");
    screen_init(&p->screen, &p->board);
    p->begun = true;
}

static uint32_t task_of(const struct player *p, const char *id)
{
    const struct task *t = plan_find(&p->pf.plan, id);
    if (!t)
        fail(p, "no such task");
    return t->index;
}

/* Events */

static void play_event(struct player *p, char *words)
{
    const char *name = strsep(&words, " "), *task = strsep(&words, " ");
    const char *attempt = strsep(&words, " ");
    struct arena a = {0};
    struct event ev = {.seq = ++p->seq, .time = START + p->at, .kind = EV_COUNT_, .run = "r"};
    for (int k = 0; k < EV_COUNT_; k++) {
        if (strcmp(event_name((enum event_kind)k), name) == 0)
            ev.kind = (enum event_kind)k;
    }
    if (ev.kind == EV_COUNT_ || !task || !attempt)
        fail(p, "no such event");
    ev.task = *task == '-' ? NULL : task;
    ev.attempt = (int)strtol(attempt, NULL, 10);
    if (words && !(ev.data = doc_read_line(&a, words, strlen(words))))
        fail(p, "the data is no JSON");
    board_event(&p->board, &ev);
    board_settle(&p->board);
    screen_arrange(&p->screen);
    arena_done(&a);
}

static void play_files(struct player *p, char *words)
{
    uint32_t task = task_of(p, strsep(&words, " "));
    p->board.tasks[task].files = strtol(words ? words : "0", NULL, 10);
}

static size_t place(struct board_meetings *m, uint32_t task, size_t most)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->tasks[i] == task)
            return i;
    }
    if (!m->tasks) {
        m->tasks = mem_array(most, sizeof(*m->tasks));
        m->base = mem_array(most, sizeof(*m->base));
    }
    m->tasks[m->n] = task;
    return m->n++;
}

/* The matrix grows with who is named. */
static void play_meet(struct player *p, char *words)
{
    static const char *const names[] = {"apart", "together", "unknown", "conflict"};
    struct board_meetings *m = &p->board.meetings;
    const char *one = strsep(&words, " "), *other = strsep(&words, " ");
    enum board_meet meet = MEET_APART;
    for (int i = 0; words && i < 4; i++)
        meet = strcmp(names[i], words) == 0 ? (enum board_meet)i : meet;
    size_t was = m->n, a = place(m, task_of(p, one), p->board.n);
    size_t b = *other == '-' ? a : place(m, task_of(p, other), p->board.n);
    enum board_meet *cells = mem_array(m->n * m->n, sizeof(*cells));
    for (size_t i = 0; i < was * was; i++)
        cells[i / was * m->n + i % was] = m->cells[i];
    free(m->cells);
    m->cells = cells;
    m->known = true;
    if (a == b)
        m->base[a] = meet;
    else
        cells[a * m->n + b] = cells[b * m->n + a] = meet;
}

/* Keys */

static int take_key(const char **keys)
{
    static const struct {
        const char *name;
        int key;
    } names[] = {{"<enter>", KEY_ENTER_},    {"<esc>", KEY_ESCAPE_},      {"<tab>", KEY_TAB_},
                 {"<up>", KEY_UP_},          {"<down>", KEY_DOWN_},       {"<pgup>", KEY_PAGE_UP_},
                 {"<pgdn>", KEY_PAGE_DOWN_}, {"<home>", KEY_HOME_},       {"<end>", KEY_END_},
                 {"<erase>", KEY_ERASE_},    {"<ctrl-c>", KEY_INTERRUPT_}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strncmp(*keys, names[i].name, strlen(names[i].name)) == 0) {
            *keys += strlen(names[i].name);
            return names[i].key;
        }
    }
    return (unsigned char)*(*keys)++;
}

static void play_keys(struct player *p, const char *keys)
{
    static const char *const names[] = {"none",    "stop",   "stop all", "skip",  "pause",
                                        "workers", "budget", "retry",    "fresh", "say",
                                        "shell",   "editor", "quit"};
    screen_size(&p->screen, p->columns, p->rows);
    p->screen.now = START + p->at;
    while (*keys) {
        struct screen_wish w = screen_key(&p->screen, take_key(&keys));
        if (w.kind)
            printf("wish: %s, at %s%s%s%s\n", names[w.kind], p->board.tasks[w.task].id,
                   w.by > 0   ? ", more"
                   : w.by < 0 ? ", fewer"
                              : "",
                   w.text ? ", " : "", w.text ? w.text : "");
    }
}

/* The screen */

static void print_styles(const struct canvas_line *l)
{
    static const char letters[STYLE_COUNT_] = {' ', 'd', 'b', 'g', 'r', 'y', 'c'};
    for (size_t i = 0; i < l->spans.n; i++) {
        size_t end = i + 1 < l->spans.n ? l->spans.v[i + 1].at : l->text.len;
        size_t start = l->spans.v[i].at, before = text_width(l->text.s, start);
        if (i == 0)
            printf("%*s", (int)before, "");
        for (size_t n = text_width(l->text.s + start, end - start); n; n--)
            putchar(letters[l->spans.v[i].style]);
    }
    printf("%s\n", l->marked ? " marked" : "");
}

static void play_draw(struct player *p, bool styles)
{
    autocanvas struct canvas c;
    screen_size(&p->screen, p->columns, p->rows);
    p->screen.now = START + p->at;
    canvas_init(&c, p->columns);
    screen_draw(&p->screen, &c);
    printf("--- %zux%zu\n", p->columns, p->rows);
    if (c.lines.n > p->rows)
        fail(p, "more lines than rows");
    for (size_t i = 0; i < c.lines.n; i++) {
        const struct canvas_line *l = &c.lines.v[i];
        size_t width = text_width(l->text.s, l->text.len);
        if (width > p->columns)
            fail(p, "a line is too wide");
        printf("%s%*s|\n", l->text.s, (int)(p->columns - width), "");
        if (styles)
            print_styles(l);
    }
}

/* Scripts */

static void play_many(struct player *p, const char *words)
{
    long n = strtol(words, NULL, 10);
    buf_addstr(&p->plan_text, "tasks:\n");
    for (long i = 1; i <= n; i++)
        buf_addf(&p->plan_text, "  - {id: t%ld, prompt: do it}\n", i);
}

static void play_size(struct player *p, const char *words)
{
    char *end;
    p->columns = strtoul(words, &end, 10);
    p->rows = strtoul(end, NULL, 10);
}

static void play(struct player *p, char *line)
{
    const char *verb = strsep(&line, " ");
    char none[1] = "", *words = line ? line : none;
    if (strcmp(verb, "plan") == 0) {
        buf_addf(&p->plan_text, "%s\n", words);
        return;
    }
    if (strcmp(verb, "many") == 0) {
        play_many(p, words);
        return;
    }
    begin(p);
    if (strcmp(verb, "at") == 0)
        p->at = text_parse_duration(words, strlen(words));
    else if (strcmp(verb, "event") == 0)
        play_event(p, words);
    else if (strcmp(verb, "live") == 0 || strcmp(verb, "dead") == 0)
        p->board.live = *verb == 'l';
    else if (strcmp(verb, "files") == 0)
        play_files(p, words);
    else if (strcmp(verb, "text") == 0)
        screen_text_add(&p->screen.text, *words ? words : "\n", *words ? strlen(words) : 1);
    else if (strcmp(verb, "meet") == 0)
        play_meet(p, words);
    else if (strcmp(verb, "size") == 0)
        play_size(p, words);
    else if (strcmp(verb, "keys") == 0)
        play_keys(p, words);
    else if (strcmp(verb, "draw") == 0 || strcmp(verb, "styles") == 0)
        play_draw(p, *verb == 's');
    else
        fail(p, "no such line");
}

int main(int argc, char **argv)
{
    struct player p = {.plan_text = BUF_INIT, .columns = 80, .rows = 24};
    autobuf struct buf script = BUF_INIT;
    struct err err = {0};
    if (argc != 2 || file_read(argv[1], 1 << 20, &script, &err)) {
        (void)fprintf(stderr, "play: %s\n", argc == 2 ? err.msg : "wants a file");
        return 2;
    }
    char *rest = script.s;
    for (char *line; (line = strsep(&rest, "\n"));) {
        p.line++;
        if (*line && *line != '#')
            play(&p, line);
    }
    if (p.begun) {
        screen_done(&p.screen);
        board_done(&p.board);
    }
    plan_file_close(&p.pf);
    buf_done(&p.plan_text);
    return 0;
}
