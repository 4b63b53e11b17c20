/*
 * struct plan_file: a plan on disk with everything that we know before anything runs: the tree,
 * the model, the graph, the claims, and its project and repository.
 */
#ifndef PROJECT_PLAN_FILE_H
#define PROJECT_PLAN_FILE_H

#include "doc/doc.h"
#include "git/git.h"
#include "plan/plan.h"
#include "plan/schedule/claims.h"
#include "plan/schedule/graph.h"

struct plan_file {
    struct doc doc;
    struct plan plan;
    struct graph graph;
    struct claims claims;
    char *dir;            /* folder of the plan, absolute */
    char *project;        /* the folder to which its paths are relative, absolute */
    struct git_repo repo; /* the repository of the project; repo.root may be NULL */
    bool repo_unknown;    /* git could not tell if it is in one */
};

/* Reads a plan and checks everything that can be checked without changing anything. ps gets the
 * problems, sorted. Returns -1 if there are errors. Call plan_file_close() in every case. */
int plan_file_open(struct plan_file *pf, const char *path, const struct doc_options *opts,
                   struct problems *ps);

/* The same for a document that was read already; takes it over. It is no error if tasks own the
 * same path: the caller keeps them apart. */
int plan_file_take(struct plan_file *pf, struct doc *doc, const char *path, struct problems *ps);

/* The same for a plan that the program itself has written in canonical words: a tree in an arena,
 * which it takes over. Its `cwd` is relative to `dir`. */
int plan_file_build(struct plan_file *pf, struct arena *a, struct node *root, const char *dir,
                    struct problems *ps);

/* The same for a plan that was saved as JSON in another folder: `origin` has its original folder
 * and vocabulary. */
struct plan_origin {
    const char *dir;
    enum plan_kind kind;
};
int plan_file_reopen(struct plan_file *pf, const char *path, const struct plan_origin *origin,
                     struct problems *ps);

/* Checks the claims again after the caller has changed pf->repo. */
int plan_file_reclaim(struct plan_file *pf, struct problems *ps);

/* Frees the tree, which only messages about the plan need: for a run of many tasks. The tree of a
 * foreign vocabulary stays, because our plan is not made of its strings alone. */
void plan_file_forget_tree(struct plan_file *pf);

void plan_file_close(struct plan_file *pf);
#define autoplan own_cleanup(plan_file_close)

/* The folder in which a run makes workspaces; it need not exist. `top` is the folder of the
 * repository, or of the project. */
char *plan_file_work(const struct plan_file *pf, const char *top);

/* Appends the prompt of a task, from its file if it has one. */
int plan_file_prompt(const struct plan_file *pf, const struct task *t, struct buf *out,
                     struct err *err);

#endif
