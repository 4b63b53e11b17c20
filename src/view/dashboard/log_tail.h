/*
 * struct log_tail: what an agent prints, as a person would read it, while it grows. Of a log that
 * is long already only the end is read.
 */
#ifndef VIEW_DASHBOARD_LOG_TAIL_H
#define VIEW_DASHBOARD_LOG_TAIL_H

#include "view/dashboard/screens/screen.h"
#include "view/transcript.h"

struct log_tail {
    char *path;
    int fd;
    struct transcript text;
    bool open;
};

/* path: the file that the agent of that engine writes to, which need not be there yet, below the
 * folder of its run. */
void log_tail_open(struct log_tail *t, const char *run_dir, const char *path, const char *engine);
void log_tail_close(struct log_tail *t);

/* Adds what has come since the last time; false where nothing has. */
bool log_tail_more(struct log_tail *t, struct screen_text *out);

#endif
