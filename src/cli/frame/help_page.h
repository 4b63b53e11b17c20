/*
 * struct page: a page of help while it is written, as wide as the terminal up to 80 columns.
 * Headings are bold where colour is wanted.
 */
#ifndef CLI_FRAME_HELP_PAGE_H
#define CLI_FRAME_HELP_PAGE_H

#include "base/buf.h"

#include <stddef.h>

struct page {
    struct buf text;
    size_t width;
    size_t label; /* columns of the widest label of the list that is being written */
};

void page_init(struct page *page);
void page_done(struct page *page);
#define autopage own_cleanup(page_done)

int page_print(const struct page *page); /* returns the exit code, as cli_print() does */

void page_add_heading(struct page *page, const char *heading); /* begins a new list, too */
void page_add_text(struct page *page, const char *text, size_t indent);

/* A list has labels on the left and their texts, aligned, on the right: all labels are measured
 * first, then the entries added. */
void page_measure(struct page *page, const char *label);
void page_add_entry(struct page *page, const char *label, const char *text);

#endif
