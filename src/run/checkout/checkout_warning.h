/*
 * Warnings, before the first agent starts, about what will keep the base from moving. The user may
 * be in the middle of an operation on the base (base_use.h), or its checkout may have changes that
 * git will not overwrite.
 */
#ifndef RUN_CHECKOUT_CHECKOUT_WARNING_H
#define RUN_CHECKOUT_CHECKOUT_WARNING_H

struct run;

/* Prints the warnings. Needs one git process if the base is checked out here, else up to three.
 * Only paths that a task of the run may change count. */
void checkout_warning(struct run *run);

#endif
