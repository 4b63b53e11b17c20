/*
 * Writes the address of each function of the engine that is called to the file that the variable
 * ANABRANCH_TRACE names. tests/trace/run reads them. Only a build with the option `trace` has this.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define UNTRACED __attribute__((no_instrument_function))

extern const char __executable_start[];

void __cyg_profile_func_enter(void *fn, void *caller) UNTRACED;
void __cyg_profile_func_exit(void *fn, void *caller) UNTRACED;

static FILE *trace;

static void UNTRACED __attribute__((constructor)) open_trace(void)
{
    const char *path = getenv("ANABRANCH_TRACE");
    if (path)
        trace = fopen(path, "we");
    (void)unsetenv("ANABRANCH_TRACE"); /* only this process is traced */
}

static void UNTRACED __attribute__((destructor)) close_trace(void)
{
    if (trace)
        (void)fclose(trace);
}

void __cyg_profile_func_enter(void *fn, void *caller)
{
    (void)caller;
    if (trace)
        (void)fprintf(trace, "%jx\n", (uintmax_t)((uintptr_t)fn - (uintptr_t)__executable_start));
}

void __cyg_profile_func_exit(void *fn, void *caller)
{
    (void)fn, (void)caller;
}
