#include "data/loose_ref.h"

#include "base/mem.h"
#include "sys/file.h"

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
