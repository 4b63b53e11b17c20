/*
 * The costs of each task, highest first, and the state of the budgets.
 */
#include "view/dashboard/screens/screen.h"

#include "base/mem.h"
#include "base/text/text.h"

enum { BAR_WIDTH = 20 };

static int compare_costs(const void *left, const void *right, void *ctx)
{
    const struct board *board = ctx;
    uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
    const struct board_task *a = &board->tasks[l], *b = &board->tasks[r];
    if (a->usd != b->usd)
        return a->usd < b->usd ? 1 : -1;
    if (a->tokens != b->tokens)
        return a->tokens < b->tokens ? 1 : -1;
    return (l > r) - (l < r);
}

/* The tasks in the order shown; the caller frees the array. */
static uint32_t *sort_by_cost(const struct screen *s)
{
    uint32_t *list = mem_array(s->shown + 1, sizeof(*list));
    for (size_t i = 0; i < s->shown; i++)
        list[i] = s->order[i];
    qsort_r(list, s->shown, sizeof(*list), compare_costs, s->board);
    return list;
}

static size_t get_row(const struct screen *s, uint32_t task)
{
    autofree uint32_t *list = sort_by_cost(s);
    size_t row = 0;
    while (row + 1 < s->shown && list[row] != task)
        row++;
    return row;
}

static uint32_t get_task_at(const struct screen *s, size_t row)
{
    autofree uint32_t *list = sort_by_cost(s);
    return row < s->shown ? list[row] : s->task;
}

static void draw_share(double share, size_t width, struct canvas *c)
{
    size_t full = share >= 1 ? width : share > 0 ? (size_t)(share * (double)width + 0.5) : 0;
    autobuf struct buf bar = BUF_INIT;
    buf_addrep(&bar, '#', full);
    buf_addrep(&bar, '-', width - full);
    canvas_text(c, share >= 1 ? STYLE_BAD : share >= 0.8 ? STYLE_WARN : STYLE_GOOD, bar.s);
}

static void draw_budget(const char *what, double share, struct canvas *c)
{
    canvas_line(c);
    canvas_addf(c, "%s ", what);
    draw_share(share, BAR_WIDTH, c);
    canvas_addf(c, " %d%%", (int)(share * 100));
}

static void draw_head(const struct screen *s, struct canvas *c)
{
    const struct board *b = s->board;
    autobuf struct buf text = BUF_INIT;
    if (b->budget.usd > 0) {
        double usd = b->usd > 0 ? b->usd : 0;
        buf_addf(&text, "$%.2f of $%.2f", usd, b->budget.usd);
        draw_budget(text.s, usd / b->budget.usd, c);
    }
    if (b->budget.tokens > 0) {
        buf_cut(&text, 0);
        text_format_count(&text, b->tokens);
        buf_addstr(&text, " of ");
        text_format_count(&text, b->budget.tokens);
        buf_addstr(&text, " tokens");
        draw_budget(text.s, (double)b->tokens / (double)b->budget.tokens, c);
    }
    canvas_line(c);
    canvas_style(c, STYLE_DIM);
    canvas_field(c, "TASK", screen_id_width(s, 3) + 1);
    canvas_right(c, "COST", 8);
    canvas_right(c, "TOKENS", 7);
    canvas_add(c, "SHARE");
}

static void draw_task(const struct screen *s, uint32_t task, struct canvas *c)
{
    const struct board *b = s->board;
    const struct board_task *t = &b->tasks[task];
    autobuf struct buf cost = BUF_INIT, tokens = BUF_INIT;
    double share = b->usd > 0  ? t->usd / b->usd
                   : b->tokens ? (double)t->tokens / (double)b->tokens
                               : 0;
    canvas_line(c);
    canvas_add(c, task == s->task ? ">" : " ");
    canvas_field(c, t->id, screen_id_width(s, 3));
    if (t->usd >= 0)
        buf_addf(&cost, "$%.2f", t->usd);
    if (t->tokens)
        text_format_count(&tokens, t->tokens);
    canvas_right(c, cost.s, 8);
    canvas_right(c, tokens.s, 7);
    size_t width = (size_t)(share > 0 ? share * BAR_WIDTH + 0.5 : 0);
    canvas_style(c, STYLE_BUSY);
    for (size_t i = 0; i < width; i++)
        canvas_add(c, "#");
    canvas_style(c, STYLE_PLAIN);
    if (share > 0)
        canvas_addf(c, " %d%%", (int)(share * 100 + 0.5));
    if (task == s->task)
        canvas_mark(c);
}

static void draw_rows(const struct screen *s, size_t from, size_t n, struct canvas *c)
{
    autofree uint32_t *list = sort_by_cost(s);
    for (size_t i = from; i < from + n && i < s->shown; i++)
        draw_task(s, list[i], c);
}

const struct screen_ops screen_costs = {
    .name = "costs",
    .keys = "enter open",
    .rows = screen_count_rows,
    .draw = draw_rows,
    .head = draw_head,
    .row_of = get_row,
    .task_at = get_task_at,
};
