#include "git/config/worktree_config.h"

#include "base/mem.h"
#include "git/config/config_file.h"
#include "git/state_paths.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXTENSION "extensions.worktreeConfig"

enum { CONFIG_MAX = 1 << 20 };

/* These belong to the main worktree only. */
static const char *const main_keys[] = {"core.bare", "core.worktree"};
enum { MAIN_KEYS = ARRAY_LEN(main_keys) };

struct files {
    char *shared, *main_file; /* settings of all worktrees, of the main worktree */
    char *note;               /* exists while we must switch it off again */
    struct git_place at;
};

static void files_init(struct files *f, const struct git_repo *repo)
{
    *f = (struct files){.shared = mem_printf("%s/config", repo->common),
                        .main_file = mem_printf("%s/config.worktree", repo->common),
                        .note = state_file_path(repo->common, "worktree-config"),
                        .at = {.git_dir = repo->common}};
}

static void files_done(struct files *f)
{
    free(f->shared);
    free(f->main_file);
    free(f->note);
}

/* Reads a key from a file as a value of this type ("": unconverted); *ret_found is false if it is
 * missing. */
static int read_key(const struct files *f, const char *file, const char *type, const char *key,
                    struct buf *out, bool *ret_found, struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf errout = BUF_INIT;
    int status;
    strv_pushl(&args, "config", "--file", file, NULL);
    if (*type)
        strv_pushf(&args, "--type=%s", type);
    strv_pushl(&args, "--get", key, NULL);
    if (git_try(&f->at, &args, out, &errout, &status, err))
        return -1;
    if (status > 1) /* 1: not found */
        return err_set(err, ERR_ENV, "git: %.*s", (int)strcspn(errout.s, "\n"), errout.s);
    buf_cut(out, strcspn(out->s, "\n"));
    *ret_found = status == 0;
    return 0;
}

/* Copies the settings that belong to the main worktree only; sets ret_had for those that exist. */
static int copy_main_keys(const struct files *f, const char *from, const char *to, bool *ret_had,
                          struct err *err)
{
    for (size_t i = 0; i < MAIN_KEYS; i++) {
        autobuf struct buf value = BUF_INIT;
        if (read_key(f, from, "", main_keys[i], &value, &ret_had[i], err))
            return -1;
        if (i == 0 && strcmp(value.s, "false") == 0)
            ret_had[i] = false; /* false applies to all worktrees */
        if (ret_had[i] &&
            git_call(&f->at, NULL, err, "config", "--file", to, main_keys[i], value.s, NULL))
            return -1;
    }
    return 0;
}

static int unset_main_keys(const struct files *f, const char *from, const bool *had,
                           struct err *err)
{
    for (size_t i = 0; i < MAIN_KEYS; i++) {
        if (had[i] &&
            git_call(&f->at, NULL, err, "config", "--file", from, "--unset", main_keys[i], NULL))
            return -1;
    }
    return 0;
}

static int is_on(const struct files *f, bool *ret_on, struct err *err)
{
    autobuf struct buf value = BUF_INIT;
    bool found = false;
    if (read_key(f, f->shared, "bool", EXTENSION, &value, &found, err))
        return -1;
    *ret_on = found && strcmp(value.s, "true") == 0;
    return 0;
}

static int write_note(const struct git_repo *repo, const struct files *f, struct err *err)
{
    autofree char *state = state_path(repo->common);
    return dirs_make(state, err) || file_replace(f->note, "", 0, err) ? -1 : 0;
}

bool worktree_config_is_ours(const struct git_repo *repo)
{
    own_cleanup(files_done) struct files f;
    files_init(&f, repo);
    return access(f.note, F_OK) == 0;
}

int worktree_config_on(const struct git_repo *repo, bool *ret_switched, struct err *err)
{
    own_cleanup(files_done) struct files f;
    bool had[MAIN_KEYS] = {false}, on = false;
    files_init(&f, repo);
    if (is_on(&f, &on, err))
        return -1;
    *ret_switched = !on;
    if (on)
        return 0;
    /* In this order each setting is always in one of the files, and the note exists before any
     * change. */
    return write_note(repo, &f, err) || copy_main_keys(&f, f.shared, f.main_file, had, err) ||
                   git_call(&f.at, NULL, err, "config", "--file", f.shared, EXTENSION, "true",
                            NULL) ||
                   unset_main_keys(&f, f.shared, had, err)
               ? -1
               : 0;
}

/* *ret_free is true if the main worktree's own file holds only the settings that we moved there. */
static int check_main(const struct files *f, bool *ret_free, struct err *err)
{
    autobuf struct buf keys = BUF_INIT;
    *ret_free = true;
    if (access(f->main_file, F_OK) < 0)
        return errno == ENOENT ? 0 : err_sys(err, "look at '%s'", f->main_file);
    if (git_call(&f->at, &keys, err, "config", "--file", f->main_file, "--name-only", "--list",
                 NULL))
        return -1;
    for (char *rest = keys.s, *key; (key = strsep(&rest, "\n"));) {
        bool known = !*key;
        for (size_t i = 0; i < MAIN_KEYS; i++)
            known = known || strcmp(key, main_keys[i]) == 0;
        *ret_free = *ret_free && known;
    }
    return 0;
}

static int check_linked(const struct git_repo *repo, bool *ret_free, struct err *err)
{
    autofree char *worktrees = mem_printf("%s/worktrees", repo->common);
    autodir DIR *dir = opendir(worktrees);
    *ret_free = true;
    if (!dir)
        return errno == ENOENT ? 0 : err_sys(err, "read '%s'", worktrees);
    for (struct dirent *e; *ret_free && (e = dir_next(dir));) {
        autofree char *path = mem_printf("%s/%s/config.worktree", worktrees, e->d_name);
        *ret_free = access(path, F_OK) < 0;
    }
    return 0;
}

/* git leaves an empty file after it unsets the last setting. */
static void remove_if_empty(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && st.st_size == 0)
        (void)unlink(path);
}

int worktree_config_off(const struct git_repo *repo, struct err *err)
{
    own_cleanup(files_done) struct files f;
    bool had[MAIN_KEYS] = {false}, main_free, linked_free, on = false;
    files_init(&f, repo);
    if (check_main(&f, &main_free, err) || check_linked(repo, &linked_free, err) ||
        is_on(&f, &on, err))
        return -1;
    if (!main_free || !linked_free)
        return 0;
    if (access(f.main_file, F_OK) == 0 && copy_main_keys(&f, f.main_file, f.shared, had, err))
        return -1;
    if ((on &&
         git_call(&f.at, NULL, err, "config", "--file", f.shared, "--unset", EXTENSION, NULL)) ||
        unset_main_keys(&f, f.main_file, had, err))
        return -1;
    remove_if_empty(f.main_file);
    if (unlink(f.note) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", f.note);
    return 0;
}

/* The value after "name =" in a line; NULL for other lines. */
static const char *find_value(const char *line, const char *name)
{
    line += strspn(line, " \t");
    if (strncasecmp(line, name, strlen(name)) != 0)
        return NULL;
    line += strlen(name);
    line += strspn(line, " \t");
    return *line == '=' ? line + 1 + strspn(line + 1, " \t") : NULL;
}

static void parse_value(const char *text, struct buf *ret)
{
    bool quoted = false;
    buf_cut(ret, 0);
    for (; *text && (quoted || !strchr(";#", *text)); text++) {
        if (*text == '"') {
            quoted = !quoted;
        } else if (*text == '\\' && text[1]) {
            text++;
            buf_addch(ret, *text == 'n' ? '\n' : *text == 't' ? '\t' : *text);
        } else {
            buf_addch(ret, *text);
        }
    }
    while (ret->len && strchr(" \t\r", ret->s[ret->len - 1]))
        buf_cut(ret, ret->len - 1);
}

static bool read_last(const char *file, const char *name, struct buf *ret)
{
    autobuf struct buf text = BUF_INIT;
    bool found = false;
    if (file_read(file, CONFIG_MAX, &text, NULL))
        return false;
    for (char *rest = text.s, *line; (line = strsep(&rest, "\n"));) {
        const char *value = find_value(line, name);
        if (value)
            parse_value(value, ret);
        found = found || value;
    }
    return found;
}

bool worktree_config_is_on(const char *common)
{
    static const char *const yes[] = {"true", "yes", "on", "1"};
    autofree char *file = mem_printf("%s/config", common);
    autobuf struct buf value = BUF_INIT;
    bool on = false;
    if (!read_last(file, strchr(EXTENSION, '.') + 1, &value))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        on = on || strcasecmp(value.s, yes[i]) == 0;
    return on;
}

bool worktree_config_get(const char *admin, const char *key, struct buf *ret)
{
    autofree char *file = mem_printf("%s/config.worktree", admin);
    return read_last(file, strrchr(key, '.') + 1, ret);
}

int worktree_config_set(const char *admin, const char *key, const char *value, struct err *err)
{
    autofree char *file = mem_printf("%s/config.worktree", admin);
    const char *dot = strrchr(key, '.');
    autobuf struct buf text = BUF_INIT;
    struct err why = {0};
    if (file_read(file, CONFIG_MAX, &text, &why) && why.errnum != ENOENT)
        return err_set(err, why.code, "%s", why.msg);
    buf_addf(&text, "[%.*s]\n\t%s = ", (int)(dot - key), key, dot + 1);
    git_setting_quote(&text, value, strlen(value));
    buf_addch(&text, '\n');
    return file_replace(file, text.s, text.len, err);
}
