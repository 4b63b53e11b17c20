/*
 * The dialects: what engines print, a line of JSON for each thing that happens, made a report of.
 * One file each: the fields that it looks at, and what a line with them means. What else there is,
 * and lines that are not of the dialect, are passed over (agent/output/json_lines.h).
 */
#ifndef AGENT_OUTPUT_DIALECT_H
#define AGENT_OUTPUT_DIALECT_H

#include "agent/agent.h"
#include "agent/output/json_lines.h"

enum { DIALECT_FIELDS_MAX = 48 }; /* ids are below that */
enum { DIALECT_TEXT_MAX = 4096 }; /* bytes of a text of a report, but for its last words */

/* One line: each field as it was said last, and how often. */
struct dialect_line {
    struct {
        enum json_kind kind;
        size_t count;
        int64_t sum; /* of its numbers */
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
    const struct dialect *like; /* whose fields and parts it has, where it has none of its own */
};

extern const struct dialect dialect_sim;      /* anabranch __sim */
extern const struct dialect dialect_claude;   /* claude --output-format stream-json */
extern const struct dialect dialect_codex;    /* codex exec --json */
extern const struct dialect dialect_copilot;  /* copilot --output-format json */
extern const struct dialect dialect_gemini;   /* gemini -o stream-json */
extern const struct dialect dialect_qwen;     /* qwen -o stream-json */
extern const struct dialect dialect_opencode; /* opencode run --format json */

/* The lines of their logs that some of them write to their standard error. */
void dialect_copilot_hear(struct agent_report *report, const char *line);
void dialect_codex_hear(struct agent_report *report, const char *line);
void dialect_qwen_hear(struct agent_report *report, const char *line);
void dialect_opencode_hear(struct agent_report *report, const char *line);

/* How often there was such a field. */
size_t dialect_count(const struct dialect_line *line, int id);
/* A text; "" where there is none. */
const char *dialect_text(const struct dialect_line *line, int id);
bool dialect_is(const struct dialect_line *line, int id, const char *text);
bool dialect_true(const struct dialect_line *line, int id);
/* A number; what it otherwise is where there is none. */
int64_t dialect_int(const struct dialect_line *line, int id, int64_t otherwise);
/* Where there are several such fields: of all of them. */
int64_t dialect_sum(const struct dialect_line *line, int id);
double dialect_real(const struct dialect_line *line, int id, double otherwise);

/* Sets a text of the report, cut to a length that screens can take (its last words: that a prompt
 * can), and marks it as changed. */
void dialect_set(struct agent_report *report, struct buf *slot, const char *text);

/* The agent says or does something: words and actions become those of the report as well. */
void dialect_say(struct agent_report *report, enum agent_saying kind, const char *text);

/* Words that come in pieces: they are the report's text as they come, and are said as a whole when
 * something else follows. */
void dialect_add_words(struct agent_report *report, const char *piece);
void dialect_end_words(struct agent_report *report);

/* A tool that it was not allowed to use. */
void dialect_deny(struct agent_report *report, const char *tool);

/* It says that it is done, well or not, with these words; they are told only where something went
 * wrong. */
void dialect_end(struct agent_report *report, bool ok, const char *text);

/* Something went wrong; told unless it was said just before. */
void dialect_fail(struct agent_report *report, enum failure failure, const char *reason);

/* The number behind a mark in a text, as in "API Error: 401"; 0 where there is none. */
int64_t dialect_number_behind(const char *text, const char *mark);

/* A tool that is used, and on what: "" where that is not known. For engines that tell of it only
 * when it has answered. */
void dialect_act(struct agent_report *report, const char *tool, const char *on);

/* The same where the engine tells that it begins, by an id ... */
void dialect_begin_tool(struct agent_report *report, const char *id, const char *tool,
                        const char *on);
/* ... and that it has answered. */
void dialect_end_tool(struct agent_report *report, const char *id);

/* It waits by itself, as for a model that is overloaded: for what, and ms until it tries again, or
 * below 0 where it does not say. */
void dialect_wait(struct agent_report *report, const char *what, int64_t ms);

/* The same for its model, which has not answered it, where it says once more when it has tried. */
void dialect_wait_on(struct agent_report *report, const char *what);
/* It has. */
void dialect_tried(struct agent_report *report);

/* It has begun another agent; the name may be "". */
void dialect_add_helper(struct agent_report *report, const char *name);

/* The report's tokens are of the whole session: what that had used before is taken off. */
void dialect_take_off(struct agent_report *report);

/* Whether the tokens of that message were added before; from then on they were. */
bool dialect_counted(struct agent_report *report, const char *message);

/* Reads a dialect in pieces of any size; NULL as the dialect: nothing that is said is understood.
 */
struct dialect_reader {
    const struct dialect *dialect;
    const struct dialect *shape; /* it, or the one that it is like */
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
