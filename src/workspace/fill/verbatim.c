#include "workspace/fill/verbatim.h"

#include "base/mem.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { ATTRIBUTES_MAX = 1 << 20 };

/* Without them `text` only matters where files are added: nothing but core.eol and core.autocrlf
 * makes other line ends of it, and of these verbatim_settings() knows. Macros are defined by the
 * same words. */
bool verbatim_attributes(const char *text, size_t len)
{
    static const char *const words[] = {"crlf", "ident", "filter", "encoding"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (memmem(text, len, words[i], strlen(words[i])))
            return false;
    }
    return true;
}

/* --- settings ----------------------------------------------------------------------------- */

/* The repository's own, which are not in the project. */
static bool has_harmless_attributes(const char *common)
{
    autofree char *path = mem_printf("%s/info/attributes", common);
    autobuf struct buf text = BUF_INIT;
    struct err why = {0};
    if (file_read(path, ATTRIBUTES_MAX, &text, &why))
        return why.errnum == ENOENT;
    return verbatim_attributes(text.s, text.len);
}

/* An object may stand for another one. */
static bool has_replacements(const char *common)
{
    autofree char *path = mem_printf("%s/refs/replace", common);
    return access(path, F_OK) == 0;
}

bool verbatim_settings(const struct git_place *at, bool *ret_ask)
{
    const char *common = at->common ? at->common : at->git_dir;
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT;
    struct git_core core;
    int status;
    strv_pushl(&args, "config", "-z", "--get-regexp", "^core\\.", NULL);
    if (has_replacements(common) || git_try(at, &args, &out, NULL, &status, NULL) ||
        status >= GIT_FATAL)
        return false;
    git_core_read(&core, &out);
    bool verbatim = core.verbatim;
    *ret_ask = core.attributes || !has_harmless_attributes(common);
    git_core_done(&core);
    return verbatim;
}

/* --- asking ------------------------------------------------------------------------------- */

static const char *const asked[] = {"filter", "ident", "working-tree-encoding", "eol"};
enum { ASKED = ARRAY_LEN(asked) };

static bool is_harmless(const char *attribute, const char *value)
{
    return strcmp(attribute, "eol") == 0
               ? strcmp(value, "crlf") != 0
               : strcmp(value, "unspecified") == 0 || strcmp(value, "unset") == 0;
}

/* The next text of an answer, NULL at its end. */
static const char *next(const char **at, const char *end)
{
    const char *text = *at;
    if (text >= end)
        return NULL;
    *at = text + strlen(text) + 1;
    return text;
}

/* PATH ATTRIBUTE VALUE, for each attribute of each path, in the order of the question. */
static bool read_answer(const struct buf *out, const struct buf *paths, size_t n, bool *ret_yes)
{
    const char *at = out->s, *end = at + out->len, *path = paths->s;
    for (size_t i = 0; i < n; i++, path += strlen(path) + 1) {
        ret_yes[i] = true;
        for (int k = 0; k < ASKED; k++) {
            const char *about = next(&at, end), *attribute = next(&at, end);
            const char *value = next(&at, end);
            if (!value || strcmp(about, path) != 0)
                return false;
            ret_yes[i] = ret_yes[i] && is_harmless(attribute, value);
        }
    }
    return true;
}

bool verbatim_ask(const struct git_place *at, const struct buf *paths, size_t n, bool *ret_yes)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT;
    int status;
    strv_pushl(&args, "check-attr", "--cached", "--stdin", "-z", NULL);
    for (int k = 0; k < ASKED; k++)
        strv_push(&args, asked[k]);
    return git_feed(at, &args, paths, &out, NULL, &status, NULL) == 0 && status == 0 &&
           read_answer(&out, paths, n, ret_yes);
}
