#include "workspace/fill/verbatim.h"

#include "base/mem.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { ATTRIBUTES_MAX = 1 << 20 };

/* Without these words `text` matters only when files are added: only core.eol and core.autocrlf
 * make it write other line ends, and verbatim_settings() checks those. Macros are defined with the
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

/* The repository's own attributes, which are not in the project. */
static bool has_harmless_attributes(const char *common)
{
    autofree char *path = mem_printf("%s/info/attributes", common);
    autobuf struct buf text = BUF_INIT;
    struct err why = {0};
    if (file_read(path, ATTRIBUTES_MAX, &text, &why))
        return why.errnum == ENOENT;
    return verbatim_attributes(text.s, text.len);
}

/* With refs/replace git may read one object in place of another. */
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

static const char *const attributes[] = {"filter", "ident", "working-tree-encoding", "eol"};
enum { ATTRIBUTE_COUNT = ARRAY_LEN(attributes) };

static bool is_harmless(const char *attribute, const char *value)
{
    return strcmp(attribute, "eol") == 0
               ? strcmp(value, "crlf") != 0
               : strcmp(value, "unspecified") == 0 || strcmp(value, "unset") == 0;
}

/* The next text of git's output; NULL at the end. */
static const char *next_text(const char **at, const char *end)
{
    const char *text = *at;
    if (text >= end)
        return NULL;
    *at = text + strlen(text) + 1;
    return text;
}

/* git prints PATH ATTRIBUTE VALUE for each attribute of each path, in the order in which we asked.
 */
static bool read_answer(const struct buf *out, const struct buf *paths, size_t n, bool *ret_yes)
{
    const char *at = out->s, *end = at + out->len, *path = paths->s;
    for (size_t i = 0; i < n; i++, path += strlen(path) + 1) {
        ret_yes[i] = true;
        for (int k = 0; k < ATTRIBUTE_COUNT; k++) {
            const char *about = next_text(&at, end), *attribute = next_text(&at, end);
            const char *value = next_text(&at, end);
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
    for (int k = 0; k < ATTRIBUTE_COUNT; k++)
        strv_push(&args, attributes[k]);
    return git_feed(at, &args, paths, &out, NULL, &status, NULL) == 0 && status == 0 &&
           read_answer(&out, paths, n, ret_yes);
}
