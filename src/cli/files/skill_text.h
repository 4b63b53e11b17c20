/*
 * The skill for coding agents (skills/anabranch/SKILL.md), as we install it into files.
 *
 * Our text ends with a seal: a comment with the digest of the text before it. By the seal we
 * recognize text that any other version wrote, and text that somebody has changed, without a list
 * of versions.
 */
#ifndef CLI_FILES_SKILL_TEXT_H
#define CLI_FILES_SKILL_TEXT_H

#include "base/buf.h"
#include "base/err.h"

enum skill_form {
    SKILL_FILE,    /* SKILL.md: the whole file is ours */
    SKILL_SECTION, /* AGENTS.md: one section is ours, the same text without the front matter */
};

/* Appends the text of this form, without marks and seal. */
void skill_add_text(struct buf *out, enum skill_form form);

enum skill_state {
    SKILL_ABSENT,
    SKILL_CURRENT, /* the text of this version */
    SKILL_OURS,    /* the unchanged text of another version */
    SKILL_THEIRS,  /* somebody changed it */
};

/* Finds our text in a file, and appends the file's new text to ret_new: the current text replaces
 * ours, or follows at the end. ERR_INPUT if our section has no end. */
int skill_renew(enum skill_form form, const struct buf *old, enum skill_state *ret_state,
                struct buf *ret_new, struct err *err);

#endif
