/*
 * Identifies the folders of a workspace: the work tree, which we hold open, and the administrative
 * folder. An agent can replace them, or a folder in their paths, by something else. So we reach
 * everything in a workspace through this struct, and do nothing if the name now leads to another
 * folder.
 *
 * We also record the identities in the administrative folder, for later processes.
 */
#ifndef WORKSPACE_WORKSPACE_HOLD_H
#define WORKSPACE_WORKSPACE_HOLD_H

#include "base/buf.h"
#include "sys/fs/beneath.h"
#include "workspace/workspace.h"

/* A file in the administrative folder: the device and inode number of the tree, and the boot for
 * which they are valid (sys/proc/boot_id.h). */
#define WORKSPACE_NOTE "anabranch.tree"

struct workspace_hold {
    int tree; /* open, or -1 */
    struct file_id id, admin;
    char at[BENEATH_NAME]; /* a path by which this process reaches the tree, even if it was renamed
                            */
};

/* Holds the folders that now have the workspace's names. Call it only after we have just made them
 * or put them there. */
int workspace_hold(struct workspace *ws, struct err *err);
void workspace_hold_free(struct workspace_hold *hold);

/* workspace_make_tree() makes the tree's folder, if it is missing, and holds it. The
 * administrative folder does not exist yet then: workspace_hold_admin() holds the one at the path
 * `admin`. */
int workspace_make_tree(struct workspace *ws, struct err *err);
int workspace_hold_admin(struct workspace *ws, const char *admin, struct err *err);

/* Records the tree's identity in the administrative folder. */
int workspace_note(const struct workspace *ws, struct err *err);
void workspace_format_note(const struct workspace *ws, struct buf *out);

/* Opens an adopted workspace, or one that was let go. ERR_ENV if a folder is not the one that we
 * held or recorded. If nothing was recorded, accepts any folder whose path has no symlink. */
int workspace_enter(struct workspace *ws, struct err *err);

/* Closes the descriptor but keeps the identities. */
void workspace_let_go(struct workspace *ws);

/* True if something else now has the name of a folder that we held or recorded; ret_words then
 * gets a message. False if nothing has the name. */
bool workspace_is_replaced(const struct workspace *ws, struct buf *ret_words);

/* True if somebody has mounted something in the tree, where we would change or delete files of
 * another place; ret_words then gets a message. */
bool workspace_has_mount(const struct workspace *ws, struct buf *ret_words);

/* True if the tree exists: it is held and not deleted, or else there is a folder at its path. */
bool workspace_is_there(const struct workspace *ws);

/* The path by which we access the tree: through the held folder, or else its own path. */
const char *workspace_at(const struct workspace *ws);

/* Opens its administrative folder; ERR_ENV if another folder has that name. */
int workspace_open_admin(const struct workspace *ws, int *ret_fd, struct err *err);

/* Moves a file into its administrative folder, replacing one there. Succeeds if there is no file
 * to move. */
int workspace_put(const struct workspace *ws, const char *from, const char *name, struct err *err);

/* Deletes a file in it; succeeds if there is none. */
int workspace_drop(const struct workspace *ws, const char *name, struct err *err);

/* Renames the tree to `gone` in the same parent folder, even if the agent has renamed it there.
 * *ret_id identifies it then; it is 0 if the tree is no longer in that folder. Removes a symlink
 * that has the tree's name, gives a file another name (FOLDER_OTHER), and leaves a folder. */
int workspace_move_tree(const struct workspace *ws, const char *gone, struct file_id *ret_id,
                        struct err *err);

/* Removes the tree's `.git`. */
int workspace_remove_link(const struct workspace *ws, struct err *err);

/* Removes a symlink that has the name of a folder, and gives a file of that name another one
 * (FOLDER_OTHER). */
int workspace_make_way(const char *path, struct err *err);

/* True if its administrative folder is not the one that we held. */
bool workspace_lost_admin(const struct workspace *ws);

/* Moves its administrative folder to `aside`. *ret_id identifies it then; it is 0 if there is none.
 * Leaves another folder of that name where it is. */
int workspace_move_admin(const struct workspace *ws, const char *aside, struct file_id *ret_id,
                         struct err *err);

/* Moves another folder or file out of the place of its administrative folder; removes a symlink. */
int workspace_move_other_admin(const struct workspace *ws, struct err *err);

/* Replaces our tree, which is empty, by the tree `id` of another workspace, which has the path
 * `from` on the same file system. Holds it from then on. */
int workspace_replace(struct workspace *ws, const char *from, const struct file_id *id,
                      struct err *err);

#endif
