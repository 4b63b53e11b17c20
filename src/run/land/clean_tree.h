/*
 * A tree that holds only the commit that is about to land, for a verification with `clean`. It has
 * no ignored files and no included files. It lies outside the user's folders, because tools would
 * find other files in its parent folders. It has its own repository, which has that commit checked
 * out and reads the project's objects. Beside it are an empty home and an empty temporary folder.
 */
#ifndef RUN_LAND_CLEAN_TREE_H
#define RUN_LAND_CLEAN_TREE_H

#include "base/err.h"
#include "base/strv.h"
#include "sys/fs/beneath.h"

struct attempt;
struct run;

/* Agents can reach the temporary folder, so we know ours by open folders, not by their paths. */
struct clean_tree {
    char *path;    /* of the folder that holds home, tmp and tree */
    int top, tree; /* this folder and its tree, open; or -1 */
    struct file_id id;
};

/* Makes the tree of attempt->landing.commit in attempt->landing.clean_tree and starts git, which
 * fills it. Calls `next` when git has ended. */
int clean_tree_make(struct attempt *attempt, void (*next)(struct attempt *, int), struct err *err);

/* Call this when git has filled the tree: gives it its index. */
int clean_tree_finish(struct attempt *attempt, struct err *err);

/* Opens the tree, or a folder below it, by its path `dir`. */
int clean_tree_open(const struct attempt *attempt, const char *dir, int *ret_fd, struct err *err);

/* If somebody has replaced the tree, says so in attempt->dir_error. */
void clean_tree_check(struct attempt *attempt);

/* The working directory of a command in the tree; the caller frees it. */
char *clean_tree_cwd(const struct attempt *attempt);

/* Sets HOME, TMPDIR and similar variables for a command in the tree. */
void clean_tree_environment(const struct attempt *attempt, struct strv *env);

/* Removes the tree, if there is one. */
void clean_tree_remove(struct attempt *attempt);

/* Removes the trees that a killed run left. */
void clean_tree_tidy(struct run *run);

#endif
