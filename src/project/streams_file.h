/*
 * struct streams_file: a manifest on disk, divided into streams, and the plan in which each stream
 * is a task, which is run like any other.
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

/* Each reads on, adds what is wrong to ps, and returns -1 where that are errors. In this order; to
 * be released in every case. */
int streams_file_open(struct streams_file *sf, const char *path, const struct doc_options *opts,
                      struct problems *ps);
int streams_file_take(struct streams_file *sf, struct doc *doc, const char *path,
                      struct problems *ps); /* in its place: for a document that was read already */
int streams_file_divide(struct streams_file *sf, const struct streams_options *opts,
                        struct problems *ps);
int streams_file_plan(struct streams_file *sf, struct problems *ps);
void streams_file_close(struct streams_file *sf);
#define autostreamsfile own_cleanup(streams_file_close)

/* Adds the error where a plan has no batches. */
int streams_check_kind(const struct plan_file *pf, struct problems *ps);

#endif
