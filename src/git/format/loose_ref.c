#include "git/format/loose_ref.h"

#include "base/mem.h"
#include "sys/fs/file.h"

#include <string.h>

enum { SHA1_LEN = 40, SHA256_LEN = 64, FILE_MAX = 4096 };

bool loose_ref_read(const char *common, const char *name, struct buf *ret_id)
{
    autofree char *path = mem_printf("%s/%s", common, name);
    autobuf struct buf text = BUF_INIT;
    if (file_read(path, FILE_MAX, &text, NULL))
        return false;
    size_t len = strspn(text.s, "0123456789abcdef");
    if ((len != SHA1_LEN && len != SHA256_LEN) || strcmp(text.s + len, "\n") != 0)
        return false;
    buf_add(ret_id, text.s, len);
    return true;
}

/* If refs are in a table, HEAD is there too, and the file says refs/heads/.invalid. */
bool loose_ref_head(const char *git_dir, struct buf *ret_branch)
{
    static const char before[] = "ref: ", heads[] = "refs/heads/";
    autofree char *path = mem_printf("%s/HEAD", git_dir);
    autobuf struct buf text = BUF_INIT;
    if (file_read(path, FILE_MAX, &text, NULL) || strncmp(text.s, before, strlen(before)) != 0)
        return false;
    const char *name = text.s + strlen(before);
    size_t len = strcspn(name, "\n");
    if (strncmp(name, heads, strlen(heads)) != 0 || name[strlen(heads)] == '.' ||
        strcmp(name + len, "\n") != 0)
        return false;
    buf_add(ret_branch, name, len);
    return true;
}
