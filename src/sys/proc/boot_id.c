#include "sys/proc/boot_id.h"

#include "base/buf.h"
#include "base/own.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { ID_MAX = 128 };

const char *boot_id(void)
{
    static char id[ID_MAX];
    static bool known;
    autobuf struct buf text = BUF_INIT;
#ifdef __linux__
    if (!known && file_read("/proc/sys/kernel/random/boot_id", ID_MAX - 1, &text, NULL) == 0)
        memcpy(id, text.s, text.len);
#endif
    known = true;
    return id;
}

int boot_note(const char *path, struct err *err)
{
    const char *id = boot_id();
    if (!*id)
        return 0;
    autoclose int fd = -1;
    if (file_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, &fd, err))
        return -1;
    if (write(fd, id, strlen(id)) != (ssize_t)strlen(id))
        return err_sys(err, "write '%s'", path);
    return 0;
}

bool boot_is_noted(const char *path)
{
    autobuf struct buf text = BUF_INIT;
    if (!*boot_id())
        return true;
    return file_read(path, ID_MAX, &text, NULL) == 0 && strcmp(text.s, boot_id()) == 0;
}
