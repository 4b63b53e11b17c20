/*
 * For commands that enter a workspace that only its run can see (workspace/overlay/layers.h).
 */
#ifndef CLI_SHOW_ENTER_WORKSPACE_H
#define CLI_SHOW_ENTER_WORKSPACE_H

/* Makes the files of the workspace visible to this program, also after exec. Returns EXIT_OK, or
 * prints why not and returns EXIT_ENV. */
int enter_workspace(const char *workspace, const char *common);

#endif
