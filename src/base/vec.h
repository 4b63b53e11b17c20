/*
 * Growable arrays of any type, as an embedded value:
 *
 *     VEC(struct task) tasks = {0};
 *     vec_push(&tasks, (struct task){...});
 *     for (size_t i = 0; i < tasks.n; i++) use(&tasks.v[i]);
 *     vec_done(&tasks);
 *
 * Elements are not destroyed by vec_done(); pointers to them do not survive a push.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/mem.h"

#include <stddef.h>
#include <stdlib.h>

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *v;                                                                                   \
        size_t n, cap;                                                                             \
    }

#define vec_push(vec, ...)                                                                         \
    do {                                                                                           \
        if ((vec)->n == (vec)->cap) {                                                              \
            (vec)->cap = (vec)->cap ? (vec)->cap * 2 : 8;                                          \
            (vec)->v = mem_grow((vec)->v, (vec)->cap, sizeof(*(vec)->v));                          \
        }                                                                                          \
        (vec)->v[(vec)->n++] = (__VA_ARGS__);                                                      \
    } while (0)

#define vec_done(vec)                                                                              \
    do {                                                                                           \
        free((vec)->v);                                                                            \
        (vec)->v = NULL;                                                                           \
        (vec)->n = (vec)->cap = 0;                                                                 \
    } while (0)

#endif
