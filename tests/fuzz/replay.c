/*
 * Runs a fuzz target on the files in the given folders, or on its own corpus, and counts them. If
 * the target crashes, the program ends; it prints the name of each file first.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "sys/fs/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_MAX = 16 << 20 };

static size_t passed, failed;

static void replay_file(const char *path)
{
    autobuf struct buf text = BUF_INIT;
    struct err err;
    if (file_read(path, INPUT_MAX, &text, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.msg);
        failed++;
        return;
    }
    (void)fprintf(stderr, "%s\n", path);
    /* A copy of just that size, so that the sanitizers see what is read behind its end. */
    autofree uint8_t *data = malloc(text.len ? text.len : 1);
    if (!data)
        abort();
    memcpy(data, text.s, text.len);
    (void)LLVMFuzzerTestOneInput(data, text.len);
    passed++;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void replay_folder(const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_visible, alphasort);
    if (n < 0) {
        perror(folder);
        failed++;
        return;
    }
    for (int i = 0; i < n; i++) {
        autobuf struct buf path = BUF_INIT;
        buf_addf(&path, "%s/%s", folder, entries[i]->d_name);
        replay_file(path.s);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay_folder(argv[i]);
    if (argc == 1)
        replay_folder("tests/fuzz/corpus/" FUZZ_NAME);
    (void)printf("replay_" FUZZ_NAME ": %zu passed, %zu failed\n", passed, failed);
    return failed ? 1 : 0;
}
