/*
 * The readers behind doc/doc.h, one file each. All expect valid UTF-8 without a byte order mark and
 * without NUL bytes, build the tree in doc->arena, and set doc->root. On failure they add a problem
 * and return -1. If the text does not begin at the start of its file, the caller passes the
 * position of its first character.
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

/* Reads only the front matter of a text for which doc_has_front_matter() is true. */
int doc_read_front_matter(struct doc *doc, const char *text, size_t len, struct problems *ps);
bool doc_has_front_matter(const char *text, size_t len); /* the last rule must be there too */

/* Reports that lists and mappings are nested deeper than DOC_MAX_DEPTH. Returns -1. */
int doc_too_deep(struct problems *ps, struct pos pos);

/* Guesses the syntax from the ending of the file name (which may be NULL), or else from the first
 * lines. */
enum doc_syntax doc_syntax_guess(const char *name, const char *text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
