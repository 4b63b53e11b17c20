#include "git/config/config_file.h"

#include "base/mem.h"
#include "git/git.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read no repository: its own configuration may be the broken one. */
static const struct git_place nowhere = {.git_dir = "/dev/null"};

void git_settings_done(struct git_settings *s)
{
    buf_done(&s->text);
    vec_done(&s->list);
}

/* Both keys point into the same text, so the order of pointers is the order in the file. */
static int by_key(const void *a, const void *b)
{
    const struct git_setting *sa = a, *sb = b;
    int order = strcmp(sa->key, sb->key);
    return order ? order : sa->key < sb->key ? -1 : sa->key > sb->key;
}

/* Parses "KEY\nVALUE", or a key alone. A NUL follows each. */
static void parse_list(struct git_settings *s)
{
    char *end = s->text.s + s->text.len;
    for (char *item = s->text.s, *next; item < end; item = next) {
        char *lf = strchr(item, '\n');
        next = item + strlen(item) + 1;
        if (lf)
            *lf = '\0';
        vec_push(&s->list, (struct git_setting){item, lf ? lf + 1 : "true"});
    }
    if (s->list.n)
        qsort(s->list.v, s->list.n, sizeof(*s->list.v), by_key);
}

int git_settings_read(struct git_settings *s, const char *text, size_t len, struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf in = BUF_INIT, errout = BUF_INIT;
    int status;
    buf_add(&in, text, len);
    strv_pushl(&args, "config", "--file", "-", "--no-includes", "--list", "-z", NULL);
    if (git_feed(&nowhere, &args, &in, &s->text, &errout, &status, err))
        return -1;
    if (status != 0)
        return err_set(err, ERR_INPUT, "git config: %.*s", (int)strcspn(errout.s, "\n"), errout.s);
    parse_list(s);
    return 0;
}

/* The settings with the key of the one at `i`. */
static struct git_values get_values_at(const struct git_settings *s, size_t i)
{
    size_t n = 0;
    while (i + n < s->list.n && strcmp(s->list.v[i + n].key, s->list.v[i].key) == 0)
        n++;
    return (struct git_values){n ? &s->list.v[i] : NULL, n};
}

struct git_values git_settings_get(const struct git_settings *s, const char *key)
{
    for (size_t i = 0; i < s->list.n; i++) {
        if (strcmp(s->list.v[i].key, key) == 0)
            return get_values_at(s, i);
    }
    return (struct git_values){0};
}

static bool are_same(struct git_values a, struct git_values b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        if (strcmp(a.v[i].value, b.v[i].value) != 0)
            return false;
    }
    return true;
}

void git_settings_compare(const struct git_settings *before, const struct git_settings *now,
                          git_settings_fn *fn, void *ctx)
{
    for (size_t i = 0, k = 0; i < before->list.n || k < now->list.n;) {
        struct git_values was = get_values_at(before, i), is = get_values_at(now, k);
        int order = !was.n ? 1 : !is.n ? -1 : strcmp(was.v->key, is.v->key);
        if (order > 0)
            was = (struct git_values){0};
        if (order < 0)
            is = (struct git_values){0};
        if (!are_same(was, is))
            fn(ctx, was.n ? was.v->key : is.v->key, was, is);
        i += was.n;
        k += is.n;
    }
}

static int unset_key(const char *path, const char *key, struct err *err)
{
    enum { NOT_THERE = 5 };
    autostrv struct strv args = {0};
    autobuf struct buf errout = BUF_INIT;
    int status;
    strv_pushl(&args, "config", "--file", path, "--unset-all", key, NULL);
    if (git_try(&nowhere, &args, NULL, &errout, &status, err))
        return -1;
    if (status != 0 && status != NOT_THERE)
        return err_set(err, ERR_ENV, "git config: %.*s", (int)strcspn(errout.s, "\n"), errout.s);
    return 0;
}

/* The first value replaces all existing values in one step. */
int git_settings_put(const char *path, const char *key, struct git_values values, struct err *err)
{
    if (!values.n)
        return unset_key(path, key, err);
    for (size_t i = 0; i < values.n; i++) {
        if (git_call(&nowhere, NULL, err, "config", "--file", path, i ? "--add" : "--replace-all",
                     key, values.v[i].value, NULL))
            return -1;
    }
    return 0;
}

static bool is_unchanged(const char *path, const struct buf *was)
{
    autobuf struct buf now = BUF_INIT;
    struct err why = {0};
    if (file_read(path, FILE_LARGE, &now, &why))
        return !was && why.errnum == ENOENT;
    return was && now.len == was->len && memcmp(now.s, was->s, was->len) == 0;
}

int git_settings_replace(const char *path, const struct buf *was, const struct buf *text,
                         mode_t mode, bool *ret_done, struct err *err)
{
    autofree char *lock = mem_printf("%s.lock", path);
    struct err why = {0};
    int rc = 0;
    *ret_done = false;
    if (file_create(lock, text->s, text->len, &why))
        return why.errnum == EEXIST ? 0 : err_set(err, why.code, "%s", why.msg);
    if (!is_unchanged(path, was))
        rc = 0;
    else if (chmod(lock, mode) < 0 || rename(lock, path) < 0)
        rc = err_sys(err, "write '%s'", path);
    else
        *ret_done = true;
    if (!*ret_done)
        (void)unlink(lock);
    return rc;
}

void git_setting_quote(struct buf *out, const char *s, size_t len)
{
    buf_addch(out, '"');
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '"' || s[i] == '\\')
            buf_addch(out, '\\');
        if (s[i] == '\n')
            buf_addstr(out, "\\n");
        else
            buf_addch(out, s[i]);
    }
    buf_addch(out, '"');
}

static bool is_one_of(const char *key, const char *const *patterns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fnmatch(patterns[i], key, 0) == 0)
            return true;
    }
    return false;
}

bool git_setting_is_program(const char *key)
{
    static const char *const patterns[] = {
        "core.alternaterefscommand",
        "core.askpass",
        "core.attributesfile",
        "core.excludesfile",
        "core.gitproxy",
        "core.sshcommand",
        "credential.*",
        "diff.external",
        "diff.*.command",
        "diff.*.textconv",
        "extensions.partialclone",
        "filter.*",
        "gpg.program",
        "gpg.*.program",
        "hook.*",
        "include.path",
        "includeif.*",
        "merge.*.driver",
        "remote.*.promisor",
        "remote.*.uploadpack",
        "remote.*.vcs",
    };
    return is_one_of(key, patterns, ARRAY_LEN(patterns));
}

bool git_setting_is_secret(const char *key)
{
    static const char *const patterns[] = {
        "credential.*", "*.extraheader", "*.pass", "*.proxy",  "*password*",
        "*secret*",     "*token*",       "*.url",  "*pushurl", "url.*",
    };
    return is_one_of(key, patterns, ARRAY_LEN(patterns));
}
