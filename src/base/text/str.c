#include "base/text/str.h"

#include <string.h>

bool str_begins(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
    size_t len = strlen(s), n = strlen(suffix);
    return len >= n && strcmp(s + len - n, suffix) == 0;
}

bool str_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

int str_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool str_is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

const char *str_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *str_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

bool str_is_in(const char *path, const char *folder)
{
    return strcmp(path, folder) == 0 || str_below(path, folder);
}

/* The order of a character in a path; the end and the slash come first. */
static int rank_char(char c)
{
    return !c ? 0 : c == '/' ? 1 : (unsigned char)c + 1;
}

int str_compare_paths(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return rank_char(*a) - rank_char(*b);
}
