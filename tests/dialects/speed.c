/*
 * Measures how fast we read a dialect: reads a transcript again and again, in pieces as from a
 * file.
 *
 *     speed ENGINE TRANSCRIPT MEGABYTES
 *
 * Prints the megabytes (10^6 bytes) and the lines per second of processor time.
 */
#include "agent/output/dialect.h"
#include "plan/words.h"
#include "sys/fs/file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIECE = 65536 };

static double processor_seconds(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const struct dialect *find_dialect(const char *name)
{
    for (int i = 1; engine_words[i]; i++) {
        if (strcmp(engine_words[i], name) == 0)
            return agent_dialect((enum agent_engine)i);
    }
    return NULL;
}

/* Several transcripts in one go, as a piece is of a size that files are read in. */
static void repeat(struct buf *all, const struct buf *once, size_t bytes)
{
    while (all->len < bytes)
        buf_add(all, once->s, once->len);
}

int main(int argc, char **argv)
{
    autobuf struct buf once = BUF_INIT, all = BUF_INIT;
    struct agent_report report = AGENT_REPORT_INIT;
    struct dialect_reader reader;
    struct err err = {0};
    const struct dialect *dialect = argc == 4 ? find_dialect(argv[1]) : NULL;
    if (!dialect || file_read(argv[2], SIZE_MAX, &once, &err) || !once.len) {
        (void)fprintf(stderr, "speed: ENGINE TRANSCRIPT MEGABYTES %s\n", err.msg);
        return 2;
    }
    repeat(&all, &once, strtoul(argv[3], NULL, 10) * 1000000);
    dialect_reader_init(&reader, dialect, &report);
    double begin = processor_seconds();
    for (size_t at = 0; at < all.len; at += PIECE)
        dialect_reader_feed(&reader, all.s + at, all.len - at < PIECE ? all.len - at : PIECE);
    double seconds = processor_seconds() - begin;
    (void)printf("%.0f %.0f\n", (double)all.len / 1e6 / seconds, (double)reader.lines / seconds);
    dialect_reader_done(&reader);
    agent_report_done(&report);
    return 0;
}
