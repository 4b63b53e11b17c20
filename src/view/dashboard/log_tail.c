#include "view/dashboard/log_tail.h"

#include "base/mem.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 64 << 10, BYTES_PER_CALL = 2 << 20, TAIL_BYTES = 4 << 20 };
enum { LINES_MAX = 20000, LINES_DROP = 5000 };

void log_tail_open(struct log_tail *t, const char *run_dir, const char *path, const char *engine)
{
    *t = (struct log_tail){.path = mem_str(path), .fd = -1, .open = true};
    transcript_init(&t->text, transcript_dialect(engine));
    transcript_mask(&t->text, run_dir);
}

void log_tail_close(struct log_tail *t)
{
    if (!t->open)
        return;
    own_close(&t->fd);
    transcript_done(&t->text);
    free(t->path);
    t->open = false;
}

static void drop_old(struct screen_text *out)
{
    size_t n = 0;
    while (out->lines.n - n >= LINES_MAX)
        n += LINES_DROP;
    for (size_t i = 0; i < n; i++)
        free(out->lines.v[i]);
    out->lines.n -= n;
    if (n)
        memmove(out->lines.v, out->lines.v + n, out->lines.n * sizeof(*out->lines.v));
}

static void add_bytes(struct log_tail *t, const char *s, size_t n, struct screen_text *out)
{
    autobuf struct buf text = BUF_INIT;
    transcript_feed(&t->text, s, n, &text);
    screen_text_add(out, text.s, text.len);
    drop_old(out);
}

static bool open_file(struct log_tail *t)
{
    struct stat st;
    if (t->fd < 0)
        (void)file_open(AT_FDCWD, t->path, O_RDONLY | O_NOFOLLOW, &t->fd, NULL);
    else
        return true;
    if (t->fd >= 0 && fstat(t->fd, &st) == 0 && st.st_size > TAIL_BYTES &&
        lseek(t->fd, st.st_size - TAIL_BYTES, SEEK_SET) > 0)
        transcript_skip(&t->text); /* we start inside a line */
    return t->fd >= 0;
}

bool log_tail_more(struct log_tail *t, struct screen_text *out)
{
    char bytes[CHUNK];
    size_t all = 0;
    if (!t->open || !open_file(t))
        return false;
    for (ssize_t n; all < BYTES_PER_CALL && (n = read(t->fd, bytes, sizeof(bytes))) != 0;) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        add_bytes(t, bytes, (size_t)n, out);
        all += (size_t)n;
    }
    return all > 0;
}
