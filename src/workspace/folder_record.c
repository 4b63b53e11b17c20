#include "workspace/folder_record.h"

#include "base/mem.h"
#include "base/own.h"
#include "git/state_paths.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/fs/remove.h"
#include "sys/own_dir.h"
#include "sys/proc/boot_id.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORD_MAX = 16 << 20, KIND_MAX = 16, BOOT_MAX = 64 };

#define BOOT_FILE ".boot" /* no task has a dot in its name */

struct line {
    char kind[KIND_MAX], boot[BOOT_MAX];
    uintmax_t dev, ino;
    int64_t birth; /* in ns; 0: unknown */
};

/* One word, which may be that of an unknown boot. */
static void copy_boot(char ret[BOOT_MAX])
{
    const char *boot = boot_id();
    (void)snprintf(ret, BOOT_MAX, "%.*s", (int)strcspn(boot, "\n"), *boot ? boot : "-");
}

int folder_record_begin(const char *dir, struct err *err)
{
    autofree char *path = mem_printf("%s/" RUN_FOLDERS, dir);
    autofree char *file = mem_printf("%s/" BOOT_FILE, path);
    char boot[BOOT_MAX];
    copy_boot(boot);
    return dirs_make(path, err) || file_create(file, boot, strlen(boot), err) ? -1 : 0;
}

void folder_record_remove(const char *dir)
{
    autofree char *path = mem_printf("%s/" RUN_FOLDERS, dir);
    autofree char *file = mem_printf("%s/" BOOT_FILE, path);
    (void)unlink(file);
    (void)rmdir(path); /* a run that has not begun has no folders */
}

void folder_record_forget(const char *dir, const char *task)
{
    autofree char *file = mem_printf("%s/" RUN_FOLDERS "/%s", dir, task);
    (void)unlink(file); /* a task that changes nothing may have none */
}

/* The task of a name that we make from it: ".task.layers", "task.0123.gone". */
static char *task_of_name(const char *name)
{
    name += *name == '.';
    return mem_dup(name, strcspn(name, "."));
}

/* NULL if the path is not below the folder of a run. */
static char *record_path(const char *common, const char *path)
{
    const char *name = strrchr(path, '/'), *run = name;
    while (run && run > path && run[-1] != '/')
        run--;
    if (!run || !is_run_id(run) || run + RUN_ID_LEN != name)
        return NULL;
    autofree char *id = mem_dup(run, RUN_ID_LEN), *task = task_of_name(name + 1);
    autofree char *state = state_path(common);
    autofree char *folders = run_file_path(state, id, RUN_FOLDERS);
    return *task ? mem_printf("%s/%s", folders, task) : NULL;
}

void folder_record_add(const char *common, const char *path, const char *kind, int fd)
{
    autofree char *record = record_path(common, path);
    autoclose int folder = -1;
    const char *name;
    struct file_id id;
    char boot[BOOT_MAX];
    if (!record || beneath_folder_of(record, &folder, &name, NULL) || file_id_of(fd, &id) < 0)
        return;
    copy_boot(boot);
    autofree char *line =
        mem_printf("%s %" PRIuMAX " %" PRIuMAX " %" PRId64 " %s\n", kind, (uintmax_t)id.dev,
                   (uintmax_t)id.ino, file_birth(fd, ""), boot);
    autoclose int out = -1;
    if (file_open(folder, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, &out, NULL) == 0)
        (void)!write(out, line, strlen(line)); /* a line that is only half written is none */
}

/* Copies a word and moves *at behind it. */
static bool parse_word(const char **at, char *ret, size_t size)
{
    const char *word = *at + strspn(*at, " ");
    size_t len = strcspn(word, " \n");
    *at = word + len;
    if (len == 0 || len >= size)
        return false;
    memcpy(ret, word, len);
    ret[len] = '\0';
    return true;
}

static bool parse_number(const char **at, uintmax_t *ret)
{
    char *end;
    *ret = strtoumax(*at, &end, 10);
    bool some = end > *at;
    *at = end;
    return some;
}

static bool parse_line(const char *text, struct line *ret)
{
    uintmax_t birth = 0;
    bool whole = parse_word(&text, ret->kind, sizeof(ret->kind)) &&
                 parse_number(&text, &ret->dev) && parse_number(&text, &ret->ino) &&
                 parse_number(&text, &birth) && parse_word(&text, ret->boot, sizeof(ret->boot));
    ret->birth = (int64_t)birth; /* negative before 1970 */
    return whole;
}

/* Reads the record. FOLDER_FOREIGN: the run has one, without this task. */
static enum folder_owner read_record(const char *common, const char *path, struct buf *ret)
{
    autofree char *record = record_path(common, path);
    autoclose int folder = -1;
    const char *name;
    if (!record || beneath_folder_of(record, &folder, &name, NULL))
        return FOLDER_UNKNOWN;
    autoclose int fd = -1;
    bool read = file_open(folder, name, O_RDONLY | O_NOFOLLOW, &fd, NULL) == 0 &&
                file_read_open(fd, record, RECORD_MAX, ret, NULL) == 0;
    return read ? FOLDER_OURS : FOLDER_FOREIGN;
}

static bool has_record(const char *common, const char *path)
{
    autobuf struct buf text = BUF_INIT;
    return read_record(common, path, &text) != FOLDER_UNKNOWN;
}

bool folder_record_is_whole(const char *common, const char *path)
{
    autofree char *record = record_path(common, path);
    autobuf struct buf noted = BUF_INIT;
    char boot[BOOT_MAX];
    if (!record)
        return false;
    *strrchr(record, '/') = '\0';
    autofree char *file = mem_printf("%s/" BOOT_FILE, record);
    copy_boot(boot);
    return file_read_own(file, BOOT_MAX, &noted, NULL) == 0 && strcmp(noted.s, boot) == 0;
}

enum folder_owner folder_record_last(const char *common, const char *path, const char *kind,
                                     struct file_id *ret)
{
    autobuf struct buf text = BUF_INIT;
    bool found = false;
    struct line line;
    if (!folder_record_is_whole(common, path))
        return FOLDER_UNKNOWN;
    (void)read_record(common, path, &text);
    for (char *next = text.s, *s; (s = strsep(&next, "\n"));) {
        if (!parse_line(s, &line) || strcmp(line.kind, kind) != 0)
            continue;
        found = true;
        *ret = (struct file_id){.dev = (dev_t)line.dev, .ino = (ino_t)line.ino};
    }
    return found ? FOLDER_OURS : FOLDER_FOREIGN;
}

/* Device numbers change with a reboot. */
static bool is_recorded(const struct line *l, const struct stat *st, int64_t birth)
{
    char boot[BOOT_MAX];
    copy_boot(boot);
    return l->ino == (uintmax_t)st->st_ino && (!l->birth || !birth || l->birth == birth) &&
           (l->dev == (uintmax_t)st->st_dev || strcmp(l->boot, boot) != 0);
}

static bool has_folder(const struct buf *text, const struct stat *st, int64_t birth)
{
    struct line line;
    for (const char *s = text->s; s && *s; s += strcspn(s, "\n"), s += *s == '\n') {
        if (parse_line(s, &line) && is_recorded(&line, st, birth))
            return true;
    }
    return false;
}

enum folder_owner folder_record_owner(const char *common, const char *path, int folder,
                                      struct file_id *ret_id)
{
    autobuf struct buf text = BUF_INIT;
    const char *name = strrchr(path, '/') + 1;
    enum folder_owner owner = read_record(common, path, &text);
    struct stat st;
    if (owner == FOLDER_UNKNOWN || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
        return FOLDER_UNKNOWN;
    if (S_ISREG(st.st_mode))
        return FOLDER_FOREIGN;
    int64_t birth = file_birth(folder, name);
    if (!has_folder(&text, &st, birth))
        return FOLDER_FOREIGN;
    *ret_id = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
    return FOLDER_OURS;
}

char *folder_new_name(const char *path, const char *ending)
{
    uint32_t random = 0;
    if (getentropy(&random, sizeof(random)) < 0)
        random = (uint32_t)clock_mono();
    return mem_printf("%s.%08" PRIx32 "%s", path, random, ending);
}

static int drop_entry(const char *common, const char *path, int folder, bool unknown,
                      struct err *err)
{
    const char *name = strrchr(path, '/') + 1;
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : err_sys(err, "look at '%s'", path);
    if (S_ISREG(st.st_mode))
        return 0; /* we make only folders */
    if (!S_ISDIR(st.st_mode))
        return unlinkat(folder, name, 0) < 0 && errno != ENOENT ? err_sys(err, "remove '%s'", path)
                                                                : 0;
    struct file_id id = {.dev = st.st_dev, .ino = st.st_ino};
    bool ours = has_record(common, path)
                    ? folder_record_owner(common, path, folder, &id) == FOLDER_OURS
                    : unknown;
    return ours ? remove_known_tree(folder, name, &id, path, err) : 0;
}

int folder_record_drop(const char *common, const char *path, bool unknown, struct err *err)
{
    autoclose int folder = -1;
    const char *name;
    struct err why = {0};
    if (beneath_folder_of(path, &folder, &name, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    return drop_entry(common, path, folder, unknown, err);
}

/* Gives an entry that is in our way another name. */
static int move_other(int folder, const char *name, const char *path, struct err *err)
{
    autofree char *other = folder_new_name(name, FOLDER_OTHER);
    return beneath_rename(folder, name, folder, other) < 0 && errno != ENOENT
               ? err_sys(err, "rename '%s'", path)
               : 0;
}

int folder_record_make(const char *common, const char *path, const char *kind, mode_t mode,
                       struct err *err)
{
    autoclose int folder = -1;
    const char *name;
    if (beneath_folder_of(path, &folder, &name, err) ||
        drop_entry(common, path, folder, true, err) || move_other(folder, name, path, err))
        return -1;
    if (mkdirat(folder, name, mode) < 0)
        return err_sys(err, "make folder '%s'", path);
    autoclose int fd = beneath_at(folder, name);
    if (fd < 0 || !beneath_is_empty(fd)) /* somebody has exchanged it */
        return err_set(err, ERR_ENV, "'%s' is not the folder that we made", path);
    folder_record_add(common, path, kind, fd);
    return 0;
}

int folder_record_list_others(const char *common, const char *run_folder,
                              bool (*skips)(void *ctx, const char *name), void *ctx,
                              struct strv *ret, struct err *err)
{
    autoclose int folder = -1;
    struct err why = {0};
    struct file_id id;
    if (beneath_folder(run_folder, &folder, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    autodir DIR *dir = dir_list(folder);
    if (!dir)
        return err_sys(err, "read '%s'", run_folder);
    for (struct dirent *e; (e = dir_next(dir));) {
        autofree char *path = mem_printf("%s/%s", run_folder, e->d_name);
        if (folder_record_owner(common, path, folder, &id) == FOLDER_FOREIGN &&
            !(skips && skips(ctx, e->d_name)))
            strv_push(ret, path);
    }
    return 0;
}
