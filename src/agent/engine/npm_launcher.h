/*
 * npm often installs a script as the command. The script starts the real program, which is in a
 * separate package for each kind of machine, and waits for it. That costs one more process for
 * each agent. The script may not pass on a signal, and if it is killed it leaves the program
 * running.
 */
#ifndef AGENT_ENGINE_NPM_LAUNCHER_H
#define AGENT_ENGINE_NPM_LAUNCHER_H

/* This machine, as such packages name it. */
struct launcher_machine {
    const char *os, *cpu; /* "linux", "x64" */
    const char *triple;   /* "x86_64-unknown-linux-musl" */
};
/* NULL if we do not know its kind. */
const struct launcher_machine *launcher_machine(void);

/* The path of the real program. We look up the command as a shell does: it must lead to a script
 * that ends in `script` ("@scope/package/file"), and the file `native`
 * ("@scope/package-of-the-machine/file") must be beside or below that package. On the heap; NULL
 * if this is not so. */
char *launcher_native(const char *command, const char *script, const char *native);

#endif
