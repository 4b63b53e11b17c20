#include "run/commit/commit_job.h"

#include "run/attempt/attempt.h"
#include "run/prepare/prepare.h"
#include "run/state/run_state.h"

struct commit_job attempt_commit(const struct attempt *attempt, const char *index,
                                 const char *message)
{
    return (struct commit_job){
        .ws = &attempt->ws,
        .start = attempt->run->tasks[attempt->task].start,
        .index = index,
        .excludes = attempt->prepare.excludes,
        .brought = attempt->prepare.included_list,
        .root = attempt->run->pf->repo.root,
        .message = message,
        .core = &attempt->run->pf->repo.core,
    };
}
