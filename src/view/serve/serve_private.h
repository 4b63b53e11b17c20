/*
 * Shared by the files of the server.
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
struct git_job;

struct serve {
    struct loop *loop;
    struct serve_options opts;
    struct http_server *http;
    struct store *store;
    uint64_t store_file; /* its inode: detects that the store was replaced after damage */
    struct serve_token key;
    char *url;
    struct watch *tick; /* active while a page listens */
    bool ticking;
    int64_t version, beat;
    struct serve_listener *listeners;
    struct git_job *git_jobs;
};

/* One request for data. The store knows the run and the task that its path names. */
struct serve_call {
    struct serve *serve;
    struct http_call *http;
    const struct http_head *head;
    const char *run;
    struct arena arena;     /* freed after the request */
    struct store_run row;   /* the run's row */
    struct store_task task; /* the task's row, if the path names a task */
};

/* Opens the store; reopens it if a run replaced it because it was damaged. On failure the store
 * may be NULL. */
int serve_open_store(struct serve *serve, struct err *err);

void serve_answer_json(struct http_call *call, int status, const struct buf *json);
void serve_answer_node(struct http_call *call, const struct node *root);
/* {"error": message} */
void serve_answer_error(struct http_call *call, int status, const char *message);

/* True if we may answer this request at all, if it may read data, and if it may change something.
 * If false, we have answered it with an error. */
bool serve_gate_host(const struct serve *serve, struct http_call *call);
bool serve_gate_data(const struct serve *serve, struct http_call *call);
bool serve_gate_token(const struct serve *serve, struct http_call *call);
void serve_gate_session(const struct serve *serve, struct http_call *call);

/* Serves a file of the page; false if there is no such file. */
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

/* Appends up to n bytes of a file from offset `at`. */
int serve_read_at(int fd, int64_t at, size_t n, struct buf *out, struct err *err);

/* Drops the listeners and git processes that are still there when the server ends. */
void serve_live_close(struct serve *serve);
void serve_git_close(struct serve *serve);

/* If the run's process is gone, its state is "interrupted". Times are ms since 1970. */
struct node *serve_encode_run(const struct store_run *run, struct arena *a);
struct node *serve_encode_task(const struct store_task *task, struct arena *a);
void serve_add_event(const struct store_event *ev, struct buf *out); /* as JSON */

#endif
