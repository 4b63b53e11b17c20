/*
 * Which folders a workspace has: the work tree, held open, and the administrative folder. An agent
 * can put something else in their places, or in the place of a folder on the way. All that we do in
 * a workspace we do through these, and nothing where the name leads to something else by now.
 *
 * Which ones they are is also noted in the administrative folder, for those who come after us.
 */
#ifndef WORKSPACE_WORKSPACE_HOLD_H
#define WORKSPACE_WORKSPACE_HOLD_H

#include "base/buf.h"
#include "sys/fs/beneath.h"
#include "workspace/workspace.h"

/* In the administrative folder: the device, the number and the start of the machine
 * (sys/proc/boot_id.h) for which they hold. */
#define WORKSPACE_NOTE "anabranch.tree"

struct workspace_hold {
    int tree; /* open, or -1 */
    struct file_id id, admin;
    char at[BENEATH_NAME]; /* a path by which this process reaches the tree, whatever its name is */
};

/* Takes the folders for the workspace's that have its names now: to be called when we have just
 * made them, or have put them there. */
int workspace_hold(struct workspace *ws, struct err *err);
void workspace_hold_free(struct workspace_hold *hold);

/* Makes the tree's folder, where it is not there, and holds it; its administrative folder, which is
 * still to be made, is what has the path `admin` by then. */
int workspace_make_tree(struct workspace *ws, struct err *err);
int workspace_hold_admin(struct workspace *ws, const char *admin, struct err *err);

/* Notes which they are. */
int workspace_note(const struct workspace *ws, struct err *err);
void workspace_format_note(const struct workspace *ws, struct buf *out);

/* Opens an adopted workspace, or one that was let go: ERR_ENV where a folder is not the one that
 * was held or noted. Where nothing was noted, any folder will do that is reached without a symlink.
 */
int workspace_enter(struct workspace *ws, struct err *err);

/* Keeps what is known, without an open descriptor. */
void workspace_let_go(struct workspace *ws);

/* Whether something else has the name of a folder that was held or noted; *ret_words says so. Not
 * so where there is nothing. */
bool workspace_is_replaced(const struct workspace *ws, struct buf *ret_words);

/* Whether the tree is there: held, and not deleted; or else at its path. */
bool workspace_is_there(const struct workspace *ws);

/* The path by which we look into the tree: of the folder that is held, or else its own. */
const char *workspace_at(const struct workspace *ws);

/* Opens its administrative folder; ERR_ENV where that is another one. */
int workspace_open_admin(const struct workspace *ws, int *ret_fd, struct err *err);

/* Puts a file in the place of one in its administrative folder. ENOENT, where there is none to put,
 * is fine. */
int workspace_put(const struct workspace *ws, const char *from, const char *name, struct err *err);

/* Deletes a file there; not being there is fine. */
int workspace_drop(const struct workspace *ws, const char *name, struct err *err);

/* Renames the tree in the folder that it is in, wherever the agent has put it there. *ret_done is
 * false where nothing is left of it there. What has its name instead stays, unless it is a mere
 * symlink or file. */
int workspace_move_tree(const struct workspace *ws, const char *gone, bool *ret_done,
                        struct err *err);

/* Takes away a mere symlink or file that has the place of a folder. */
int workspace_make_way(const char *path, struct err *err);

/* Whether its administrative folder is another one than was held. */
bool workspace_lost_admin(const struct workspace *ws);

/* Renames its administrative folder; not being there is fine, and another folder of that name
 * stays. */
int workspace_move_admin(const struct workspace *ws, const char *aside, struct err *err);

/* Puts the tree of another workspace, which is `id` and has the path `from` in the same folder, in
 * the place of ours, which is empty. It is held from then on. */
int workspace_replace(struct workspace *ws, const char *from, const struct file_id *id,
                      struct err *err);

#endif
