/*
 * struct other_runs: what other runs of anabranch write in the repository during this run, so that
 * we do not take it for changes of our agents: branches with names of their own, files of the
 * caller, and logs. Reads the store and the folders of these runs, at the first question.
 */
#ifndef RUN_WATCH_OTHER_RUNS_H
#define RUN_WATCH_OTHER_RUNS_H

#include "base/map.h"
#include "base/strv.h"

#include <stdbool.h>

struct run;

struct other_runs {
    bool loaded;
    struct strv refs, files; /* files: absolute; a folder ends with a slash */
    struct map by_ref;
};
void other_runs_done(struct other_runs *o);
#define autoothers own_cleanup(other_runs_done)

bool other_runs_have_ref(struct other_runs *o, const struct run *run, const char *ref);

/* `path` is relative to the top of the checkout; a folder ends with a slash, and counts if it
 * contains one of the files. */
bool other_runs_have_file(struct other_runs *o, const struct run *run, const char *path);

#endif
