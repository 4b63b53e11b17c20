/*
 * The skill for coding agents, whose source is skills/anabranch/SKILL.md, as it stands in files.
 *
 * A piece of text of ours ends with a seal, a comment with the digest of what is in front of it. So
 * a piece that an earlier or a later version wrote is known as ours, and one that somebody has
 * changed is known as theirs, without a list of versions.
 */
#ifndef CLI_FILES_SKILL_TEXT_H
#define CLI_FILES_SKILL_TEXT_H

#include "base/buf.h"
#include "base/err.h"

enum skill_form {
    SKILL_FILE,    /* SKILL.md: the whole file is ours */
    SKILL_SECTION, /* AGENTS.md: a section of it is, the same text without the front matter */
};

/* Appends the text of a form, without marks and seal. */
void skill_add_text(struct buf *out, enum skill_form form);

enum skill_state {
    SKILL_ABSENT,
    SKILL_CURRENT, /* it is what we would write */
    SKILL_OURS,    /* written by another version, and as that wrote it */
    SKILL_THEIRS,  /* somebody changed it */
};

/* What of ours is in a file's text, and, appended to ret_new, the text with the current piece in
 * its place, or at the end. ERR_INPUT where a section begins and does not end. */
int skill_renew(enum skill_form form, const struct buf *old, enum skill_state *ret_state,
                struct buf *ret_new, struct err *err);

#endif
