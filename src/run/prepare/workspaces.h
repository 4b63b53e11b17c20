/*
 * The workspaces of a run, and how it fills them.
 */
#ifndef RUN_PREPARE_WORKSPACES_H
#define RUN_PREPARE_WORKSPACES_H

#include "base/vec.h"
#include "plan/plan.h"
#include "sys/fs/beneath.h"
#include "sys/ports.h"
#include "workspace/commit/commit.h"
#include "workspace/fill/memory_fill.h"
#include "workspace/overlay/base_tree.h"
#include "workspace/overlay/layers.h"

struct attempt;

/* How we fill workspaces that start at the base commit (run/prepare/fill.h). */
struct fill {
    enum {
        FILL_UNKNOWN, /* we have filled none yet */
        FILL_FIRST,   /* git fills the first one; the others wait */
        FILL_MOULD,   /* from the copy in memory */
        FILL_GIT,     /* git fills each of them */
    } state;
    struct memory_fill mould;
    VEC(struct attempt *) waiting;
};

/* Work trees to reuse (run/prepare/pool.h). */
struct pool_tree {
    char *path;
    int fd; /* its open folder */
    struct file_id id;
    char *tree; /* id of the tree that we filled it with; NULL: its content is unknown */
    struct work_scan found; /* otherwise: the files that differ from that tree */
};

struct pool {
    VEC(struct pool_tree) trees;
};

/* Workspaces on an overlay file system (run/prepare/overlay_fill.h). */
struct overlay_fill {
    enum {
        LAYERED_UNKNOWN, /* we have not looked for a base tree yet */
        LAYERED_MAKING,  /* git writes a base tree; attempts wait */
        LAYERED_READY,
        LAYERED_NEVER, /* overlays are not possible here */
    } state;
    struct base_tree base_tree;
    struct tracked tracked; /* the entries of its index; read on demand */
    struct base_tree_draft draft;
    struct strv indexes;           /* unused copies of its index */
    size_t indexes_kept;           /* copies ever put there */
    bool has_included;             /* the included files are in a layer below all overlays */
    bool includes_alone;           /* that failed: each workspace has its own included files */
    VEC(struct layers_hold) holds; /* workspaces from before the run was resumed */
};

struct workspaces {
    char *dir;              /* the folder that has them */
    enum provider provider; /* makes them */
    bool only_reads;        /* every task is read-only */
    struct fill fill;
    struct pool pool;
    struct overlay_fill overlay;
    struct ports ports; /* for the tasks that work in them */
};

#endif
