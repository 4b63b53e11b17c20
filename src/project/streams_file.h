/*
 * struct streams_file: a manifest on disk, divided into streams, and the plan in which each stream
 * is an ordinary task.
 */
#ifndef PROJECT_STREAMS_FILE_H
#define PROJECT_STREAMS_FILE_H

#include "plan/streams/streams.h"
#include "project/plan_file.h"

struct streams_file {
    struct plan_file manifest, plan;
    struct streams streams;
    char *about; /* a paragraph for every stream's prompt, or NULL */
};

/* Call these functions in this order, and streams_file_close() in every case. Each adds problems
 * to ps and returns -1 if there are errors. */
int streams_file_open(struct streams_file *sf, const char *path, const struct doc_options *opts,
                      struct problems *ps);
int streams_file_take(
    struct streams_file *sf, struct doc *doc, const char *path,
    struct problems *ps); /* instead of streams_file_open(), for a document that was read already */
int streams_file_divide(struct streams_file *sf, const struct streams_options *opts,
                        struct problems *ps);
int streams_file_plan(struct streams_file *sf, struct problems *ps);
void streams_file_close(struct streams_file *sf);
#define autostreamsfile own_cleanup(streams_file_close)

/* Adds an error if a plan has no batches. */
int streams_check_kind(const struct plan_file *pf, struct problems *ps);

#endif
