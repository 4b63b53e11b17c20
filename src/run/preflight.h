/*
 * Checks everything that can be checked before the first side effect.
 */
#ifndef RUN_PREFLIGHT_H
#define RUN_PREFLIGHT_H

struct err;
struct run;

int preflight(struct run *run, struct err *err);
int preflight_git_version(const char *text, struct err *err); /* text: output of `git version` */
int preflight_disk(const char *path, struct err *err);

#endif
