/*
 * A look at TOML text before it is parsed. toml++ builds and destroys nested tables by recursion,
 * and a dotted key can nest a million of them in a small file; so the depth is known beforehand.
 */
#ifndef DOC_TOML_DEPTH_H
#define DOC_TOML_DEPTH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct toml_scan_result {
    size_t deep; /* offset of the first thing that is nested deeper than DOC_MAX_DEPTH, or len */
    size_t open; /* offset of the first quote that is not closed, or the last bracket, or len */
};

/* Exact as far as the text is valid TOML; lists of tables count as one level with their tables. */
struct toml_scan_result toml_scan(const char *text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
