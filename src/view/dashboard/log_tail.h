/*
 * struct log_tail: follows the output of an agent and makes it readable. Reads only the end of a
 * long log.
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

/* path: the output file, inside the run's folder; it need not exist yet. */
void log_tail_open(struct log_tail *t, const char *run_dir, const char *path, const char *engine);
void log_tail_close(struct log_tail *t);

/* Appends new output; false if there is none. */
bool log_tail_more(struct log_tail *t, struct screen_text *out);

#endif
