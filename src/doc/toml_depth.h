/*
 * Checks TOML text before parsing. toml++ builds and destroys nested tables by recursion, and a
 * dotted key can nest a million of them in a small file. So we must know the depth first.
 */
#ifndef DOC_TOML_DEPTH_H
#define DOC_TOML_DEPTH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct toml_scan_result {
    size_t deep; /* offset of the first thing that is nested deeper than DOC_MAX_DEPTH, or len */
    size_t open; /* offset of the first unclosed quote, or of the last unclosed bracket, or len */
};

/* Exact for valid TOML. Lists of tables count as one level together with their tables. */
struct toml_scan_result toml_scan(const char *text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
