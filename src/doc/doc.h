/*
 * Documents: reads a file in any of the plan's syntaxes into one tree of struct node.
 *
 * From Markdown we read the YAML of its front matter, or else its one fenced block with the info
 * string `json dispatch`. Errors are added to the problems, with line and column in the file on
 * disk; the calls then return -1.
 *
 * In every syntax we refuse invalid UTF-8, files beyond the limits below, and the same key twice in
 * a map. We skip a byte order mark. We read YAML's aliases and merge keys up to a limit, because an
 * alias can make a small file a very large tree. We refuse custom tags and several documents in one
 * file.
 */
#ifndef DOC_DOC_H
#define DOC_DOC_H

#include "base/arena.h"
#include "base/err.h"
#include "base/node/node.h"
#include "base/node/problem.h"

enum doc_syntax { DOC_AUTO, DOC_MARKDOWN, DOC_YAML, DOC_TOML, DOC_JSON };

enum { DOC_MAX_DEPTH = 64, DOC_MAX_BYTES = 4 << 20 };

struct doc {
    struct arena arena;     /* holds the tree */
    enum doc_syntax syntax; /* the syntax found; for Markdown the syntax of the part that we read */
    bool markdown;          /* the tree is part of a Markdown file */
    size_t prose_lines;     /* lines of such a file that are neither blank nor in the tree */
    struct node *root;
};

struct doc_options {
    enum doc_syntax syntax; /* DOC_AUTO: from the file name, or else from the text */
    size_t max_bytes;       /* 0: DOC_MAX_BYTES */
    bool front_matter;      /* if the text begins with front matter, read only that */
};

/* Reads a file, or standard input if path is "-". *doc needs no initialisation. Call doc_done() in
 * every case. */
int doc_load(struct doc *doc, const char *path, const struct doc_options *opts,
             struct problems *ps);

/* The same for text in memory that ends with a NUL. The file name `name` helps to find the syntax,
 * and may be NULL. */
int doc_parse(struct doc *doc, const char *name, const char *text, size_t len,
              const struct doc_options *opts, struct problems *ps);
void doc_done(struct doc *doc);
#define autodoc own_cleanup(doc_done)

/* The same for a JSON object from a program; the text ends with a NUL. Returns NULL if it is no
 * JSON object. The tree lives in the arena, which must be empty. */
const struct node *doc_read_line(struct arena *a, const char *text, size_t len);

/* Writes a tree in a syntax (not Markdown, not AUTO). Reading the result gives the same tree. If
 * the syntax cannot express a value, it adds a problem and fails: null in TOML, infinity in JSON, a
 * TOML date anywhere else. */
int doc_write(struct buf *out, const struct node *root, enum doc_syntax syntax,
              struct problems *ps);

/* Append as JSON a tree that the program built: on one line without a line end, on one line with
 * it, or on several lines. Replace bytes that are not UTF-8, for example in file names, by U+FFFD.
 */
void doc_write_line(struct buf *out, const struct node *root);
void doc_write_whole_line(struct buf *out, const struct node *root);
void doc_write_lines(struct buf *out, const struct node *root);

const char *doc_syntax_name(enum doc_syntax syntax); /* "yaml" ... */

#endif
