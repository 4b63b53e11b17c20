/*
 * The dialects: what engines print, a line of JSON for each thing that happens, made a report of.
 * One file each: the fields that it looks at, and what a line with them means. What else there is,
 * and lines that are not of the dialect, are passed over (base/json_lines.h).
 */
#ifndef RUN_DIALECT_H
#define RUN_DIALECT_H

#include "base/json_lines.h"
#include "run/agent.h"

enum { DIALECT_FIELDS_MAX = 48 }; /* ids are below that */

/* One line: each field as it was said last, and how often. */
struct dialect_line {
    struct {
        enum json_kind kind;
        size_t count;
        struct buf text;
    } fields[DIALECT_FIELDS_MAX];
};

/* Where a line is a list of things, each of them is a part, which is taken by itself: `part` is its
 * id, and all ids above are those of what is in it. */
struct dialect {
    const struct json_field *fields;
    size_t n;
    void (*take)(struct agent_report *report, const struct dialect_line *line);
    int part; /* 0: there are none */
    void (*take_part)(struct agent_report *report, const struct dialect_line *line);
};

extern const struct dialect dialect_sim;     /* anabranch __sim */
extern const struct dialect dialect_claude;  /* claude --output-format stream-json */
extern const struct dialect dialect_codex;   /* codex exec --json */
extern const struct dialect dialect_copilot; /* copilot --output-format json */

/* How often there was such a field. */
size_t dialect_count(const struct dialect_line *line, int id);
/* A text; "" where there is none. */
const char *dialect_text(const struct dialect_line *line, int id);
bool dialect_is(const struct dialect_line *line, int id, const char *text);
bool dialect_true(const struct dialect_line *line, int id);
/* A number; what it otherwise is where there is none. */
int64_t dialect_int(const struct dialect_line *line, int id, int64_t otherwise);
double dialect_real(const struct dialect_line *line, int id, double otherwise);

/* Sets a text of the report, cut to a length that screens can take, and marks it as changed. */
void dialect_set(struct agent_report *report, struct buf *slot, const char *text);

/* The agent says or does something: words and actions become those of the report as well. */
void dialect_say(struct agent_report *report, enum agent_saying kind, const char *text);

/* A tool that it was not allowed to use. */
void dialect_deny(struct agent_report *report, const char *tool);

/* It says that it is done, well or not, with these words; they are told only where something went
 * wrong. */
void dialect_end(struct agent_report *report, bool ok, const char *text);

/* Something went wrong; told unless it was said just before. */
void dialect_fail(struct agent_report *report, enum failure failure, const char *reason);

/* Reads a dialect in pieces of any size; NULL as the dialect: nothing that is said is understood.
 */
struct dialect_reader {
    const struct dialect *dialect;
    struct agent_report *report;
    struct json_lines json;
    struct dialect_line line;
    size_t lines; /* that were understood */
};
/* It must not be moved from then on. */
void dialect_reader_init(struct dialect_reader *r, const struct dialect *dialect,
                         struct agent_report *report);
void dialect_reader_done(struct dialect_reader *r);
void dialect_reader_feed(struct dialect_reader *r, const char *bytes, size_t n);
void dialect_reader_end(struct dialect_reader *r);

#endif
