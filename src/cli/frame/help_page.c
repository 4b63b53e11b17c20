#include "cli/frame/help_page.h"

#include "base/text/text.h"
#include "cli/frame/cli.h"
#include "cli/frame/color.h"
#include "cli/frame/wrap.h"
#include "sys/term.h"

#include <string.h>
#include <unistd.h>

enum {
    WIDTH_MIN = 40,
    WIDTH_MAX = 80,
    LABEL_MAX = 24, /* the text of a wider label begins on the next line */
};

static size_t get_page_width(void)
{
    size_t width = term_columns(STDOUT_FILENO);
    if (width == 0 || width > WIDTH_MAX)
        return WIDTH_MAX;
    return width < WIDTH_MIN ? WIDTH_MIN : width;
}

void page_init(struct page *page)
{
    *page = (struct page){.text = BUF_INIT, .width = get_page_width()};
}

void page_done(struct page *page)
{
    buf_done(&page->text);
}

int page_print(const struct page *page)
{
    return cli_print(page->text.s, page->text.len);
}

void page_add_heading(struct page *page, const char *heading)
{
    page->label = 0;
    buf_addf(&page->text, "\n%s%s:%s\n", color_on(stdout, COLOR_BOLD), heading,
             color_on(stdout, COLOR_NONE));
}

void page_add_text(struct page *page, const char *text, size_t indent)
{
    struct wrap w = {.out = &page->text, .width = page->width, .indent = indent};
    wrap_text(&w, text);
    wrap_end(&w);
}

void page_measure(struct page *page, const char *label)
{
    size_t width = text_width(label, strlen(label));
    if (width <= LABEL_MAX && width > page->label)
        page->label = width;
}

void page_add_entry(struct page *page, const char *label, const char *text)
{
    size_t label_width = text_width(label, strlen(label));
    struct wrap w = {.out = &page->text, .width = page->width, .indent = page->label + 4};
    buf_addf(&page->text, "  %s", label);
    w.column = 2 + label_width;
    if (w.column + 2 > w.indent) {
        buf_addch(&page->text, '\n');
        w.column = 0;
    }
    wrap_text(&w, text);
    wrap_end(&w);
}
