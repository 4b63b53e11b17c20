/*
 * Heap memory. Running out of memory ends the program (abort), so callers need no error path that
 * no test could reach. Free everything with free().
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

void *mem_alloc(size_t size);                   /* zeroed */
void *mem_array(size_t n, size_t size);         /* zeroed; n * size may not overflow */
void *mem_grow(void *p, size_t n, size_t size); /* realloc to n * size; new part is not zeroed */
char *mem_dup(const void *p, size_t len);       /* adds a NUL at the end */
char *mem_str(const char *s);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *mem_vprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

#endif
