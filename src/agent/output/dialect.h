/*
 * The dialects: read the output of engines, one line of JSON for each event, into a report. Each
 * dialect has its own file with the fields that it reads and the meaning of a line. Other fields
 * and foreign lines are skipped (agent/output/json_lines.h).
 */
#ifndef AGENT_OUTPUT_DIALECT_H
#define AGENT_OUTPUT_DIALECT_H

#include "agent/agent.h"
#include "agent/output/json_lines.h"

enum { DIALECT_FIELDS_MAX = 48 }; /* ids are below this */
enum { DIALECT_TEXT_MAX = 4096 }; /* bytes of a report's text, except the last message */

/* One line: the last value of each field, and how often it occurred. */
struct dialect_line {
    struct {
        enum json_kind kind;
        size_t count;
        int64_t sum; /* sum of its numbers */
        struct buf text;
    } fields[DIALECT_FIELDS_MAX];
};

/* If a line is a list, we read each element by itself as a part: `part` is its id, and all higher
 * ids are fields inside it. */
struct dialect {
    const struct json_field *fields;
    size_t n;
    void (*read_line)(struct agent_report *report, const struct dialect_line *line);
    int part; /* 0: no parts */
    void (*read_part)(struct agent_report *report, const struct dialect_line *line);
    const struct dialect
        *like; /* dialect whose fields and parts it uses if it has none of its own */
};

extern const struct dialect dialect_sim;      /* anabranch __sim */
extern const struct dialect dialect_claude;   /* claude --output-format stream-json */
extern const struct dialect dialect_codex;    /* codex exec --json */
extern const struct dialect dialect_copilot;  /* copilot --output-format json */
extern const struct dialect dialect_gemini;   /* gemini -o stream-json */
extern const struct dialect dialect_qwen;     /* qwen -o stream-json */
extern const struct dialect dialect_opencode; /* opencode run --format json */

/* Read a line of the log that some engines write to their standard error. */
void dialect_copilot_hear(struct agent_report *report, const char *line);
void dialect_codex_hear(struct agent_report *report, const char *line);
void dialect_qwen_hear(struct agent_report *report, const char *line);
void dialect_opencode_hear(struct agent_report *report, const char *line);

/* How often the field occurred. */
size_t dialect_count(const struct dialect_line *line, int id);
/* The text of a field; "" if there is none. */
const char *dialect_text(const struct dialect_line *line, int id);
bool dialect_is(const struct dialect_line *line, int id, const char *text);
bool dialect_true(const struct dialect_line *line, int id);
/* The number of a field; `otherwise` if there is none. */
int64_t dialect_int(const struct dialect_line *line, int id, int64_t otherwise);
/* The sum of a field that occurs several times. */
int64_t dialect_sum(const struct dialect_line *line, int id);
double dialect_real(const struct dialect_line *line, int id, double otherwise);

/* Sets a text of the report and marks the report as changed. Cuts the text to a length that fits a
 * screen (the last message: a prompt). */
void dialect_set(struct agent_report *report, struct buf *slot, const char *text);

/* Reports what the agent says or does; stores texts and actions in the report. */
void dialect_say(struct agent_report *report, enum agent_saying kind, const char *text);

/* For text that arrives in pieces: sets the report's text at once, and reports the whole text when
 * something else follows. */
void dialect_add_words(struct agent_report *report, const char *piece);
void dialect_end_words(struct agent_report *report);

/* Records a tool that the agent was not allowed to use. */
void dialect_deny(struct agent_report *report, const char *tool);

/* The agent says that it is done, successfully or not, with this text. Reports the text only on
 * failure. */
void dialect_end(struct agent_report *report, bool ok, const char *text);

/* Records a failure; reports it unless it was the last message. */
void dialect_fail(struct agent_report *report, enum failure failure, const char *reason);

/* The number after a mark in a text, as in "API Error: 401"; 0 if there is none. */
int64_t dialect_number_behind(const char *text, const char *mark);

/* Reports the use of a tool on a target, "" if unknown. For engines that report a tool only after
 * it has ended. */
void dialect_act(struct agent_report *report, const char *tool, const char *on);

/* The same if the engine reports the beginning, with an id ... */
void dialect_begin_tool(struct agent_report *report, const char *id, const char *tool,
                        const char *on);
/* ... and the end. */
void dialect_end_tool(struct agent_report *report, const char *id);

/* The agent waits by itself, for example for an overloaded model. `what` is the reason; it retries
 * in `ms`, below 0 if unknown. */
void dialect_wait(struct agent_report *report, const char *what, int64_t ms);

/* The same for a model that has not answered, if the engine reports when it has retried. */
void dialect_wait_on(struct agent_report *report, const char *what);
/* It has retried. */
void dialect_tried(struct agent_report *report);

/* The agent has started another one; the name may be "". */
void dialect_add_helper(struct agent_report *report, const char *name);

/* The report's tokens are those of the whole session: subtracts the usage before this agent. */
void dialect_take_off(struct agent_report *report);

/* True if the tokens of this message were added before; remembers the message. */
bool dialect_counted(struct agent_report *report, const char *message);

/* Reads a dialect in pieces of any size. If the dialect is NULL, ignores everything. */
struct dialect_reader {
    const struct dialect *dialect;
    const struct dialect *shape; /* the dialect itself, or the one in `like` */
    struct agent_report *report;
    struct json_lines json;
    struct dialect_line line;
    size_t lines; /* number of lines that we understood */
};
/* Do not move the reader after this call. */
void dialect_reader_init(struct dialect_reader *r, const struct dialect *dialect,
                         struct agent_report *report);
void dialect_reader_done(struct dialect_reader *r);
void dialect_reader_feed(struct dialect_reader *r, const char *bytes, size_t n);
void dialect_reader_end(struct dialect_reader *r);

#endif
