#include "data/verbatim.h"

#include "base/mem.h"
#include "sys/file.h"

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
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (memmem(text, len, words[i], strlen(words[i])))
            return false;
    }
    return true;
}

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

bool verbatim_settings(const struct git_place *at)
{
    const char *common = at->common ? at->common : at->git_dir;
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT;
    struct git_core core;
    int status;
    strv_pushl(&args, "config", "-z", "--get-regexp", "^core\\.", NULL);
    if (!has_harmless_attributes(common) || has_replacements(common) ||
        git_try(at, &args, &out, NULL, &status, NULL) || status >= GIT_FATAL)
        return false;
    git_core_read(&core, &out);
    bool plain = core.plain;
    git_core_done(&core);
    return plain;
}
