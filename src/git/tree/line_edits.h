/*
 * struct line_edits: how the lines of some files differ between two trees.
 */
#ifndef GIT_TREE_LINE_EDITS_H
#define GIT_TREE_LINE_EDITS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text/line_edit.h"
#include "git/git.h"

struct file_edits {
    const struct line_edit *v;
    size_t n;
};

struct line_edits {
    struct arena arena;
    struct map by_path;
};

#define LINE_EDITS_INIT ((struct line_edits){0})

/* Reads the edits that lead from one commit or tree to another, for these paths. Attributes and
 * settings have no effect: every file is text. Release `ret` in every case. */
int line_edits_read(const struct git_place *at, const char *from, const char *to,
                    const struct strv *paths, struct line_edits *ret, struct err *err);
void line_edits_done(struct line_edits *edits);

/* The edits of a file; none if the file does not differ. */
struct file_edits line_edits_of(const struct line_edits *edits, const char *path);

/* Parses the output of `git diff-tree -z --raw -p -U0`. */
int line_edits_parse(const char *text, size_t len, struct line_edits *ret, struct err *err);

#endif
