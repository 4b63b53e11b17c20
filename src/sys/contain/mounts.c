#include "sys/contain/mounts.h"

#include "base/mem.h"
#include "base/own.h"
#include "base/text/str.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __linux__

/* Replaces "\040" and the like by the characters. */
static void decode_path(char *path)
{
    char *to = path;
    for (const char *s = path; *s; to++) {
        bool octal = s[0] == '\\' && s[1] && s[2] && s[3];
        *to = octal ? (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0')) : *s;
        s += octal ? 4 : 1;
    }
    *to = '\0';
}

/* The fifth word of "36 35 98:0 /root /point options ..."; NULL if there is none. */
static char *point_of(char *line)
{
    char *word = NULL;
    for (int i = 0; i < 5; i++)
        word = strsep(&line, " ");
    if (word)
        decode_path(word);
    return word;
}

char *mount_below(const char *folder)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    autofree char *line = NULL;
    char *found = NULL;
    size_t size = 0;
    while (mounts && !found && getline(&line, &size, mounts) > 0) {
        const char *point = point_of(line);
        if (point && str_below(point, folder))
            found = mem_str(point);
    }
    if (mounts)
        (void)fclose(mounts);
    return found;
}

#else

char *mount_below(const char *folder)
{
    (void)folder;
    return NULL;
}

#endif
