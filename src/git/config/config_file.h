/*
 * struct git_settings: the settings in one of git's configuration files, for comparing two versions
 * of a file and for restoring single settings. git itself reads and writes the file: one process
 * for each call.
 */
#ifndef GIT_CONFIG_CONFIG_FILE_H
#define GIT_CONFIG_CONFIG_FILE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <sys/types.h>

struct git_setting {
    const char *key; /* in lower case, except the part between the first and the last dot */
    const char *value;
};

struct git_settings {
    struct buf text;              /* holds the strings */
    VEC(struct git_setting) list; /* sorted by key; values of one key in the order of the file */
};

#define GIT_SETTINGS_INIT                                                                          \
    {                                                                                              \
        .text = BUF_INIT                                                                           \
    }

/* Parses the text of a file without the files that it includes. ERR_INPUT if git cannot parse
 * it. */
int git_settings_read(struct git_settings *s, const char *text, size_t len, struct err *err);
void git_settings_done(struct git_settings *s);
#define autosettings own_cleanup(git_settings_done)

/* All values of one key; v is NULL if there are none. */
struct git_values {
    const struct git_setting *v;
    size_t n;
};

struct git_values git_settings_get(const struct git_settings *s, const char *key);

/* Calls `fn` for each key whose values differ. */
typedef void git_settings_fn(void *ctx, const char *key, struct git_values from,
                             struct git_values to);
void git_settings_compare(const struct git_settings *before, const struct git_settings *now,
                          git_settings_fn *fn, void *ctx);

/* Replaces all values of a key in a file. */
int git_settings_put(const char *path, const char *key, struct git_values values, struct err *err);

/* Replaces a whole file under git's own lock, if it still holds `was` (NULL: does not exist).
 * *ret_done is false if the file has changed or is locked. */
int git_settings_replace(const char *path, const struct buf *was, const struct buf *text,
                         mode_t mode, bool *ret_done, struct err *err);

/* Appends a value, or the name of a subsection, in quotes, whatever bytes it contains. */
void git_setting_quote(struct buf *out, const char *s, size_t len);

/* True if the setting names a program that git runs when it adds, merges, checks out or fetches, or
 * a file that can name one or that selects the files to add. Hooks and the file system monitor do
 * not count: git_prepare() switches them off. */
bool git_setting_is_program(const char *key);

/* True if its values may hold passwords and must not be shown. */
bool git_setting_is_secret(const char *key);

#endif
