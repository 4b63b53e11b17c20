#include "git/state_paths.h"

#include "base/mem.h"

#include <ctype.h>

char *state_path(const char *common)
{
    return mem_printf("%s/anabranch", common);
}

char *state_lock_path(const char *common)
{
    return mem_printf("%s/anabranch/lock", common);
}

char *state_tmp_path(const char *common)
{
    return mem_printf("%s/anabranch/tmp", common);
}

char *state_tmp_file_path(const char *common, const char *name)
{
    return mem_printf("%s/anabranch/tmp/%s", common, name);
}

char *state_file_path(const char *common, const char *name)
{
    return mem_printf("%s/anabranch/%s", common, name);
}

char *runs_path(const char *state_dir)
{
    return mem_printf("%s/runs", state_dir);
}

char *run_path(const char *state_dir, const char *run)
{
    return mem_printf("%s/runs/%s", state_dir, run);
}

char *run_file_path(const char *state_dir, const char *run, const char *name)
{
    return mem_printf("%s/runs/%s/%s", state_dir, run, name);
}

char *attempt_path(const char *run_dir, const char *task, int attempt)
{
    return mem_printf("%s/%s/%d", run_dir, task, attempt);
}

char *attempt_file_path(const char *run_dir, const char *task, int attempt, const char *name)
{
    return mem_printf("%s/%s/%d/%s", run_dir, task, attempt, name);
}

char *tip_ref_name(const char *run)
{
    return mem_printf(TIP_REFS "%s", run);
}

char *salvage_ref_name(const char *run, const char *task, int attempt)
{
    return mem_printf(SALVAGE_REFS "%s/%s/%d", run, task, attempt);
}

bool is_run_id(const char *s)
{
    static const char shape[] = "dddddddd-dddddd-xxxx";
    for (size_t i = 0; i < RUN_ID_LEN; i++) {
        unsigned char c = (unsigned char)s[i];
        if (!c || (shape[i] == '-' ? c != '-' : shape[i] == 'd' ? !isdigit(c) : !isxdigit(c)))
            return false;
    }
    return true;
}
