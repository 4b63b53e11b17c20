/*
 * struct git_settings: a configuration file of git's, setting by setting; for comparing two states
 * of one, and for putting single settings back. git itself reads and writes them: a process each.
 */
#ifndef GIT_CONFIG_CONFIG_FILE_H
#define GIT_CONFIG_CONFIG_FILE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <sys/types.h>

struct git_setting {
    const char *key; /* in lower case, but for what is between its first and its last point */
    const char *value;
};

struct git_settings {
    struct buf text;              /* holds the strings */
    VEC(struct git_setting) list; /* sorted by key, the values of one in the order of the file */
};

#define GIT_SETTINGS_INIT                                                                          \
    {                                                                                              \
        .text = BUF_INIT                                                                           \
    }

/* Reads the text of a file; what it includes is left out. ERR_INPUT where git cannot read it. */
int git_settings_read(struct git_settings *s, const char *text, size_t len, struct err *err);
void git_settings_done(struct git_settings *s);
#define autosettings own_cleanup(git_settings_done)

/* All values of one key; none where v is NULL. */
struct git_values {
    const struct git_setting *v;
    size_t n;
};

struct git_values git_settings_get(const struct git_settings *s, const char *key);

/* Calls back for each key that does not have the same values in both. */
typedef void git_settings_fn(void *ctx, const char *key, struct git_values from,
                             struct git_values to);
void git_settings_compare(const struct git_settings *before, const struct git_settings *now,
                          git_settings_fn *fn, void *ctx);

/* Gives a key these values in a file, and no others. */
int git_settings_put(const char *path, const char *key, struct git_values values, struct err *err);

/* Writes a whole file anew, by git's own way of locking it, if it is what it was when it was read;
 * *ret_done is false where it is not, or is locked. NULL as what it was: it is not there. */
int git_settings_replace(const char *path, const struct buf *was, const struct buf *text,
                         mode_t mode, bool *ret_done, struct err *err);

/* Whether it names a program that git runs while it adds, merges, checks out or fetches, or a file
 * that can do so, or that decides what is added. Hooks and the file system monitor are none of
 * them: git_prepare() switches those off. */
bool git_setting_is_program(const char *key);

/* Whether its values are not to be shown: they may hold passwords. */
bool git_setting_is_secret(const char *key);

#endif
