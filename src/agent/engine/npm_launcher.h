/*
 * The commands that npm installs are often scripts that start the program proper, which is in
 * another package for each kind of machine, and wait for it: a process more for each agent, which
 * does not always pass on a signal, and leaves the program behind where it is killed itself.
 */
#ifndef AGENT_ENGINE_NPM_LAUNCHER_H
#define AGENT_ENGINE_NPM_LAUNCHER_H

/* This machine in the words of such packages. */
struct launcher_machine {
    const char *os, *cpu; /* "linux", "x64" */
    const char *triple;   /* "x86_64-unknown-linux-musl" */
};
/* NULL where it is of no kind that is known. */
const struct launcher_machine *launcher_machine(void);

/* The program proper, where the command, looked up as a shell does, leads to a script that ends in
 * `script` ("@scope/package/file"), and the file `native` ("@scope/package-of-the-machine/file") is
 * beside or below that package. On the heap; NULL where it is not. */
char *launcher_native(const char *command, const char *script, const char *native);

#endif
