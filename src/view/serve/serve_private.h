/*
 * What the files of the server share.
 */
#ifndef VIEW_SERVE_SERVE_PRIVATE_H
#define VIEW_SERVE_SERVE_PRIVATE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/node/node.h"
#include "base/vec.h"
#include "store/store.h"
#include "sys/http/server.h"
#include "view/serve/serve.h"
#include "view/serve/token.h"

struct serve_listener;
struct serve_errand;

struct serve {
    struct loop *loop;
    struct serve_options opts;
    struct http_server *http;
    struct store *store;
    uint64_t store_file; /* the inode of it: one that was damaged is replaced */
    struct serve_token key;
    char *url;
    struct watch *tick; /* as long as somebody listens */
    bool ticking;
    int64_t version, beat;
    struct serve_listener *listeners;
    struct serve_errand *errands;
};

/* One request for data, with what its path names: both are known to the store. */
struct serve_call {
    struct serve *serve;
    struct http_call *http;
    const struct http_head *head;
    const char *run;
    struct arena arena;     /* for as long as the request is looked at */
    struct store_run row;   /* of the run */
    struct store_task task; /* where the path names one */
};

/* Opens the store, again where a run has set it aside as damaged and begun another. The store is
 * NULL where that failed. */
int serve_open_store(struct serve *serve, struct err *err);

/* --- answering ---------------------------------------------------------------------------- */

void serve_answer_json(struct http_call *call, int status, const struct buf *json);
void serve_answer_node(struct http_call *call, const struct node *root);
/* {"error": message} */
void serve_answer_error(struct http_call *call, int status, const char *message);

/* --- one file each ------------------------------------------------------------------------ */

/* Whether a request may be answered at all, and whether it may see data. Where not, it has been
 * answered. */
bool serve_gate_host(const struct serve *serve, struct http_call *call);
bool serve_gate_data(const struct serve *serve, struct http_call *call);
bool serve_gate_token(const struct serve *serve, struct http_call *call);
void serve_gate_session(const struct serve *serve, struct http_call *call);

/* The page's own files; false where there is none of that name. */
bool serve_file(struct http_call *call, const char *name);

void serve_start(struct serve_call *c);
void serve_runs(struct serve_call *c);
void serve_run(struct serve_call *c);
void serve_plan(struct serve_call *c);
void serve_events(struct serve_call *c);
void serve_cost(struct serve_call *c);
void serve_live(struct serve_call *c);
void serve_log(struct serve_call *c);
void serve_search(struct serve_call *c);
void serve_diff(struct serve_call *c);
void serve_meets(struct serve_call *c);
void serve_steer(struct serve_call *c);

/* Listeners and processes that are still there when the server ends. */
void serve_live_close(struct serve *serve);
void serve_git_close(struct serve *serve);

/* --- rows --------------------------------------------------------------------------------- */

/* A run's state is "interrupted" where its process is gone. Times are ms since 1970. */
struct node *serve_encode_run(const struct store_run *run, struct arena *a);
struct node *serve_encode_task(const struct store_task *task, struct arena *a);
void serve_add_event(const struct store_event *ev, struct buf *out); /* as JSON */

#endif
