/*
 * The readers behind doc/doc.h, one file each. All take valid UTF-8 without a byte order mark and
 * without NUL bytes, build the tree in doc->arena, set doc->root, and on failure add a problem and
 * return -1. Text that is not at the start of its file comes with the position of its first
 * character.
 */
#ifndef DOC_TREE_READER_H
#define DOC_TREE_READER_H

#include "doc/doc.h"

#ifdef __cplusplus
extern "C" {
#endif

int doc_read_yaml(struct doc *doc, const char *text, size_t len, struct pos start,
                  struct problems *ps);
int doc_read_json(struct doc *doc, const char *text, size_t len, struct pos start,
                  struct problems *ps);
int doc_read_toml(struct doc *doc, const char *text, size_t len, struct problems *ps);
int doc_read_markdown(struct doc *doc, const char *text, size_t len, struct problems *ps);

/* Front matter alone, of a text that doc_has_front_matter(). */
int doc_read_front_matter(struct doc *doc, const char *text, size_t len, struct problems *ps);
bool doc_has_front_matter(const char *text, size_t len); /* with its last line */

/* Says that lists and mappings are nested deeper than DOC_MAX_DEPTH. Returns -1. */
int doc_too_deep(struct problems *ps, struct pos pos);

/* The syntax of a file by the ending of its name (which may be NULL), else by its first lines. */
enum doc_syntax doc_syntax_guess(const char *name, const char *text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
