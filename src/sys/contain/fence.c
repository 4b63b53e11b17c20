#include "sys/contain/fence.h"

#include "base/own.h"
#include "sys/own_fd.h"

#if defined(__linux__) && __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef LANDLOCK_ACCESS_FS_REFER
/* Writing to existing files is allowed: git replaces a file by making a new one and renaming it,
 * and the user may have a log of git anywhere. */
static const __u64 rights = LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                            LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                            LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER;

enum {
    ABI_MIN = 2
}; /* before this version no process in a fence could move a file to another folder */

static int make_rules(const struct fence *fence)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs = rights};
    autoclose int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
    for (int i = 0; rules >= 0 && i < fence->n; i++) {
        struct landlock_path_beneath_attr rule = {.allowed_access = rights,
                                                  .parent_fd = fence->folders[i]};
        if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
            return -1;
    }
    return steal_fd(&rules);
}

void fence_enter(const struct fence *fence)
{
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < ABI_MIN)
        return;
    autoclose int rules = make_rules(fence);
    if (rules >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        (void)syscall(SYS_landlock_restrict_self, rules, 0);
}
#define HAS_FENCE
#endif
#endif

#ifndef HAS_FENCE
void fence_enter(const struct fence *fence)
{
    (void)fence;
}
#endif
