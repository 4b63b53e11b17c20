/*
 * Opens and closes the standard output and standard error of the program.
 */
#ifndef CLI_FRAME_OUTPUT_H
#define CLI_FRAME_OUTPUT_H

/* Opens standard streams that are closed, so that no file that we open later takes their place.
 * Using such a stream still fails. Returns 0, or -1 with errno. */
int output_begin(void);

/* Flushes standard output. Returns code, or the code of cli_print() if that fails. */
int output_end(int code);

#endif
