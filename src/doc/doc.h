/*
 * Documents: a file in any of the plan's syntaxes becomes one tree of struct node.
 *
 * Markdown is read for the YAML of its front matter, or else for its one fenced block whose info
 * string is `json dispatch`. Whatever is wrong goes to the problems, with line and column in the
 * file as it is on disk; the calls then return -1.
 *
 * Refused in every syntax: invalid UTF-8, more than the limits below, the same key twice in a map.
 * A byte order mark is skipped. YAML's aliases and merge keys are read, up to a bound: an alias can
 * make a small file a very large tree. Tags of one's own and several documents are refused.
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
    enum doc_syntax syntax; /* as found: for Markdown that of the part that was read */
    bool markdown;          /* the tree is part of a Markdown file */
    size_t prose_lines;     /* lines of such a file that are not in the tree and not blank */
    struct node *root;
};

struct doc_options {
    enum doc_syntax syntax; /* DOC_AUTO: by file name ending, else by looking at the text */
    size_t max_bytes;       /* 0: DOC_MAX_BYTES */
    bool front_matter;      /* where the text begins with that, it is all that is read */
};

/* Reads a file, or standard input where path is "-". *doc needs no initialisation and is to be
 * released with doc_done() in every case. */
int doc_load(struct doc *doc, const char *path, const struct doc_options *opts,
             struct problems *ps);

/* The same for text in memory, with a NUL behind it; name (as of a file) helps to find the syntax
 * and may be NULL. */
int doc_parse(struct doc *doc, const char *name, const char *text, size_t len,
              const struct doc_options *opts, struct problems *ps);
void doc_done(struct doc *doc);

/* The same for a JSON object that a program wrote, with a NUL behind it: NULL where it is none. The
 * tree lives in the arena, which is empty before. */
const struct node *doc_read_line(struct arena *a, const char *text, size_t len);

/* Writes a tree in a syntax (not Markdown, not AUTO), so that reading it gives the same tree. Fails
 * with a problem about the value that the syntax cannot express: null in TOML, infinity in JSON, a
 * TOML date anywhere else. */
int doc_write(struct buf *out, const struct node *root, enum doc_syntax syntax,
              struct problems *ps);

/* Appends a tree that the program built itself as JSON: on one line, without a line end, or on
 * several. What is not UTF-8, as the name of a file may be, gets U+FFFD for it. */
void doc_write_line(struct buf *out, const struct node *root);
void doc_write_lines(struct buf *out, const struct node *root);

const char *doc_syntax_name(enum doc_syntax syntax); /* "yaml" ... */

#endif
