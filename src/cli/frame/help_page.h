/*
 * struct page: builds a page of help, as wide as the terminal but at most 80 columns. Headings are
 * bold if we use colours.
 */
#ifndef CLI_FRAME_HELP_PAGE_H
#define CLI_FRAME_HELP_PAGE_H

#include "base/buf.h"

#include <stddef.h>

struct page {
    struct buf text;
    size_t width;
    size_t label; /* columns of the widest label of the present list */
};

void page_init(struct page *page);
void page_done(struct page *page);
#define autopage own_cleanup(page_done)

int page_print(const struct page *page); /* returns the exit code, as cli_print() does */

void page_add_heading(struct page *page, const char *heading); /* also begins a new list */
void page_add_text(struct page *page, const char *text, size_t indent);

/* A list has labels on the left and their aligned texts on the right. Measure all labels first,
 * then add the entries. */
void page_measure(struct page *page, const char *label);
void page_add_entry(struct page *page, const char *label, const char *text);

#endif
