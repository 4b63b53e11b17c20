#include "sys/fs/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

void standard_files_find(struct standard_files *ret)
{
    *ret = (struct standard_files){0};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat st;
        int flags = fcntl(fd, F_GETFL);
        if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && fstat(fd, &st) == 0 &&
            S_ISREG(st.st_mode))
            ret->ids[ret->n++] = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
    }
}

bool standard_files_have(const struct standard_files *files, const struct stat *st)
{
    for (size_t i = 0; i < files->n; i++) {
        if (files->ids[i].dev == st->st_dev && files->ids[i].ino == st->st_ino)
            return true;
    }
    return false;
}
