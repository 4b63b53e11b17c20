/*
 * struct work_scan: what may be uncommitted in a work tree, found out without git.
 *
 * The stat data of every file is held against the index, and the names in every folder that has
 * tracked files in it against theirs, unless its size shows already that there is no other one
 * (sys/fs/dir_names.h). What is as the index has it, git calls unchanged too: it compares the same
 * stat data, less strictly. Of all else only the path is known: whether the content differs, and
 * whether a new file is ignored, git is to judge. So a scan that found nothing is an answer, and
 * one that found something says what to ask about.
 *
 * Nothing is written and nothing shared, so that several may be made at once
 * (sys/proc/parallel_for.h).
 */
#ifndef GIT_TREE_WORK_SCAN_H
#define GIT_TREE_WORK_SCAN_H

#include "base/own.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

/* So many paths, and no more, are found: above that, asking git about all is not slower than about
 * each. */
enum { WORK_SCAN_MAX = 64 };

/* Paths from the top of the work tree. */
struct work_scan {
    struct strv changed; /* tracked; with a slash behind it: a folder that is gone, with all that is
                          * tracked in it. What is in its place, if anything, is untracked. */
    struct strv untracked; /* a folder in which nothing is tracked has a slash behind it */
    bool no_attributes;    /* nothing that is tracked has the name .gitattributes */
};

/* Looks at a work tree whose index file that is. False where git must be asked about all of it:
 * the index does not say that it is of this tree (an id, in hexadecimal digits), because something
 * is staged or for other reasons; it has entries that are not plain files and symlinks, or is of an
 * unknown kind; something cannot be read; there is too much to ask about. To be released in every
 * case. */
bool work_scan_open(struct work_scan *s, const char *work_tree, const char *index,
                    const char *tree);
void work_scan_close(struct work_scan *s);

/* The part of that which needs no work tree: whether the index says that it is of this tree, and
 * has no other entries than those. */
bool work_scan_is_plain(const char *index, const char *tree);
#define autoworkscan own_cleanup(work_scan_close)

#endif
