#include "git/config/core_settings.h"

#include "base/mem.h"
#include "base/text/str.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

void git_core_done(struct git_core *core)
{
    free(core->excludes);
    free(core->sign_format);
    free(core->sign_gpg);
    free(core->sign_ssh);
    *core = (struct git_core){0};
}

/* Parses a value as git does; NULL, a key without a value, is true. */
static bool is_true(const char *value)
{
    return !value || strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 ||
           strcasecmp(value, "on") == 0 || strtol(value, NULL, 10) != 0;
}

/* The path of a file in the user's git folder; NULL if there is none. */
static char *get_user_file(const char *name)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (xdg && *xdg)
        return mem_printf("%s/git/%s", xdg, name);
    return home ? mem_printf("%s/.config/git/%s", home, name) : NULL;
}

static bool leads_to_file(const char *path)
{
    return path && access(path, F_OK) == 0;
}

/* True if some attributes apply to every repository. Before 2.42, git does not tell where it looks
 * for system-wide attributes; we check the places that it is usually built with. */
static bool has_global_attributes(void)
{
    autofree char *own = get_user_file("attributes");
    return getenv("GIT_ATTR_SOURCE") || leads_to_file(own) || leads_to_file("/etc/gitattributes") ||
           leads_to_file("/usr/local/etc/gitattributes") ||
           leads_to_file("/opt/homebrew/etc/gitattributes");
}

static void set_excludes(struct git_core *core, const char *value)
{
    const char *home = getenv("HOME");
    free(core->excludes);
    core->excludes = NULL;
    if (value && *value == '/')
        core->excludes = mem_str(value);
    else if (value && strncmp(value, "~/", 2) == 0 && home)
        core->excludes = mem_printf("%s/%s", home, value + 2);
}

/* Applies one setting to `verbatim`. Line ends and names must be those of the file system, and the
 * umask must decide who may read a file. */
static void apply_to_verbatim(struct git_core *core, const char *key, const char *value)
{
    static const char *const wrong_if_true[] = {"core.ignorecase", "core.precomposeunicode",
                                                "core.sparsecheckout"};
    for (size_t i = 0; i < ARRAY_LEN(wrong_if_true); i++) {
        if (strcmp(key, wrong_if_true[i]) == 0 && is_true(value))
            core->verbatim = false;
    }
    if ((strcmp(key, "core.symlinks") == 0 && !is_true(value)) ||
        (strcmp(key, "core.autocrlf") == 0 && is_true(value)) ||
        (strcmp(key, "core.eol") == 0 && (!value || strcasecmp(value, "lf") != 0)) ||
        (strcmp(key, "core.sharedrepository") == 0 && (is_true(value) || strcmp(value, "0") != 0)))
        core->verbatim = false;
    if (strcmp(key, "core.attributesfile") == 0)
        core->attributes = true;
}

static void set_text(char **slot, const char *value)
{
    free(*slot);
    *slot = value && *value ? mem_str(value) : NULL;
}

static void apply_to_signing(struct git_core *core, const char *key, const char *value)
{
    if (strcmp(key, "commit.gpgsign") == 0)
        core->sign = is_true(value);
    else if (strcmp(key, "gpg.format") == 0)
        set_text(&core->sign_format, value);
    else if (strcmp(key, "gpg.program") == 0 || strcmp(key, "gpg.openpgp.program") == 0)
        set_text(&core->sign_gpg, value);
    else if (strcmp(key, "gpg.ssh.program") == 0)
        set_text(&core->sign_ssh, value);
}

static void apply_to_plain(struct git_core *core, const char *key, const char *value)
{
    /* git's defaults for these; another value changes how it stores files */
    static const struct {
        const char *key;
        bool default_value;
    } bools[] = {{"core.filemode", true},        {"core.symlinks", true},
                 {"core.ignorecase", false},     {"core.autocrlf", false},
                 {"core.sparsecheckout", false}, {"core.precomposeunicode", false}};
    for (size_t i = 0; i < ARRAY_LEN(bools); i++) {
        if (strcmp(key, bools[i].key) == 0 && is_true(value) != bools[i].default_value)
            core->plain = false;
    }
    /* Any value of these changes something; autocrlf has a third value. */
    if (strcmp(key, "core.eol") == 0 || strcmp(key, "core.attributesfile") == 0 ||
        strncmp(key, "core.fsync", strlen("core.fsync")) == 0 ||
        (strcmp(key, "core.autocrlf") == 0 && value && strcasecmp(value, "input") == 0))
        core->plain = false;
    if (strcmp(key, "core.sharedrepository") == 0 && (is_true(value) || strcmp(value, "0") != 0))
        core->plain = false;
    if (strcmp(key, "core.fsync") == 0)
        core->unsynced = value && strcmp(value, "none") == 0;
    if (strcmp(key, "core.ignorecase") == 0)
        core->ignore_case = is_true(value);
    if (strcmp(key, "core.excludesfile") == 0)
        set_excludes(core, value);
}

void git_core_read(struct git_core *core, const struct buf *settings)
{
    bool attributes = has_global_attributes();
    *core = (struct git_core){.plain = !attributes,
                              .verbatim = !getenv("GIT_ATTR_SOURCE"),
                              .attributes = attributes,
                              .excludes = get_user_file("ignore")};
    const char *end = settings->s + settings->len;
    for (const char *s = settings->s; s < end; s += strlen(s) + 1) {
        const char *lf = strchr(s, '\n');
        autofree char *key = mem_dup(s, lf ? (size_t)(lf - s) : strlen(s));
        apply_to_plain(core, key, lf ? lf + 1 : NULL);
        apply_to_verbatim(core, key, lf ? lf + 1 : NULL);
        apply_to_signing(core, key, lf ? lf + 1 : NULL);
    }
}

static bool is_core_setting(const char *key)
{
    return str_begins(key, "core.") || str_begins(key, "commit.gpgsign") || str_begins(key, "gpg.");
}

/* `setting` is "KEY\nVALUE". */
static bool is_program(const char *setting)
{
    static const char driver[] = ".driver";
    size_t len = strcspn(setting, "\n"), end = strlen(driver);
    return strncmp(setting, "filter.", strlen("filter.")) == 0 ||
           (strncmp(setting, "merge.", strlen("merge.")) == 0 && len > end &&
            strncmp(setting + len - end, driver, end) == 0);
}

/* Parses "SCOPE", then "KEY\nVALUE". A NUL follows each. */
void git_core_read_all(struct git_core *core, const struct buf *settings)
{
    autobuf struct buf own = BUF_INIT;
    bool programs = false;
    const char *end = settings->s + settings->len;
    for (const char *scope = settings->s; scope < end;) {
        const char *setting = scope + strlen(scope) + 1;
        if (setting >= end) /* git did not print this */
            break;
        programs = programs || is_program(setting);
        if (is_core_setting(setting))
            buf_add(&own, setting, strlen(setting) + 1);
        scope = setting + strlen(setting) + 1;
    }
    git_core_read(core, &own);
    core->programs = programs;
}
