/*
 * Standard output and standard error of the program, from its first line to its last.
 */
#ifndef CLI_FRAME_OUTPUT_H
#define CLI_FRAME_OUTPUT_H

/* Makes sure that no file that is opened later becomes the standard input, output or error. A
 * standard stream that was closed still fails when it is used. Returns 0 or -1 with errno. */
int output_begin(void);

/* Flushes standard output; returns code, or what cli_print() would have where that fails. */
int output_end(int code);

#endif
