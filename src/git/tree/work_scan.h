/*
 * struct work_scan: finds possibly uncommitted files in a work tree without git.
 *
 * The scan compares the stat data of every file with the index. It compares the names in every
 * folder that has tracked files with the tracked names, unless the folder's size already shows that
 * there are no others (sys/fs/dir_names.h). git too considers a file unchanged that matches the
 * index: it compares the same stat data, less strictly. For all other files the scan only returns
 * the path: git must decide if the content differs and if a new file is ignored. So if a scan finds
 * nothing, the answer is final; otherwise it lists what to ask git about.
 *
 * A scan writes nothing and shares nothing, so several can run in parallel
 * (sys/proc/parallel_for.h).
 */
#ifndef GIT_TREE_WORK_SCAN_H
#define GIT_TREE_WORK_SCAN_H

#include "base/own.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

/* The scan gives up beyond this number of paths: then one question to git about all files is as
 * fast. */
enum { WORK_SCAN_MAX = 64 };

/* Paths relative to the work tree. */
struct work_scan {
    struct strv changed; /* tracked files; with a slash at the end: a folder that has gone with all
                          * its tracked files. Anything in its place is in `untracked`. */
    struct strv untracked; /* with a slash at the end: a folder without tracked files */
    bool no_attributes;    /* no tracked file is named .gitattributes */
};

/* Scans a work tree with this index file. Returns false if git must check all of it: the index does
 * not record this tree (a hexadecimal id), because something is staged or for other reasons; it has
 * entries other than plain files and symlinks, or is of an unknown kind; something cannot be read;
 * or there is too much to ask about. Call work_scan_close() in every case. */
bool work_scan_open(struct work_scan *s, const char *work_tree, const char *index,
                    const char *tree);
void work_scan_close(struct work_scan *s);

/* Checks only the index: true if it records this tree and has no other entries than those. */
bool work_scan_is_plain(const char *index, const char *tree);
#define autoworkscan own_cleanup(work_scan_close)

#endif
