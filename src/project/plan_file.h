/*
 * struct plan_file: a plan as it lies on disk, with all that is known of it before anything runs:
 * the tree, the model, the graph, the claims, and the project and repository that it is for.
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
    char *project;        /* folder that its paths are relative to, absolute */
    struct git_repo repo; /* that the project is in; repo.root may be NULL */
    bool repo_unknown;    /* git could not tell whether it is in one */
};

/* Reads a plan and checks everything that can be checked without changing anything: what is wrong
 * is in ps, sorted. Returns -1 where there are errors. To be released in every case. */
int plan_file_open(struct plan_file *pf, const char *path, const struct doc_options *opts,
                   struct problems *ps);

/* The same for a document that has been read already, and becomes the plan's. Tasks that own the
 * same path are no error: something else keeps them apart. */
int plan_file_take(struct plan_file *pf, struct doc *doc, const char *path, struct problems *ps);

/* The same for a plan that the program itself has written, in canonical words, as a tree in an
 * arena that becomes the plan's. dir is the folder that its `cwd` is relative to. */
int plan_file_build(struct plan_file *pf, struct arena *a, struct node *root, const char *dir,
                    struct problems *ps);

/* The same for a plan that was saved as JSON, elsewhere than where it was written: by that folder,
 * and the vocabulary that it had. */
struct plan_origin {
    const char *dir;
    enum plan_kind kind;
};
int plan_file_reopen(struct plan_file *pf, const char *path, const struct plan_origin *origin,
                     struct problems *ps);

/* The plan is for another repository than was found: pf->repo. Its claims are looked at again. */
int plan_file_reclaim(struct plan_file *pf, struct problems *ps);

void plan_file_close(struct plan_file *pf);
#define autoplan own_cleanup(plan_file_close)

/* The folder in which a run makes workspaces, whether it is there or not; `top` is that of the
 * repository, or the project's. */
char *plan_file_work(const struct plan_file *pf, const char *top);

/* Appends the prompt of a task, from its file where it has one. */
int plan_file_prompt(const struct plan_file *pf, const struct task *t, struct buf *out,
                     struct err *err);

#endif
