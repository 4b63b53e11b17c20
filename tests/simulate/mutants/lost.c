/* Fault: a retry removes a workspace whose work could not be saved. */
#include "plan/engine/attempt/failure_outcome.h"

struct failure_outcome __real_failure_outcome(const struct failure_facts *f,
                                              const struct retries *r, uint32_t random);
struct failure_outcome __wrap_failure_outcome(const struct failure_facts *f,
                                              const struct retries *r, uint32_t random);

struct failure_outcome __wrap_failure_outcome(const struct failure_facts *f,
                                              const struct retries *r, uint32_t random)
{
    struct failure_facts saved = *f;
    saved.saved = true;
    return __real_failure_outcome(&saved, r, random);
}
