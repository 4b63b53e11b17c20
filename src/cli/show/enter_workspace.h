/*
 * For commands that look into a workspace which only its run sees (workspace/overlay/layers.h).
 */
#ifndef CLI_SHOW_ENTER_WORKSPACE_H
#define CLI_SHOW_ENTER_WORKSPACE_H

/* Makes what is in the workspace visible to this program and what it becomes. EXIT_OK; or EXIT_ENV,
 * and has said why. */
int enter_workspace(const char *workspace, const char *common);

#endif
