/*
 * What may be uncommitted in a workspace of layers (data/layers.h), by what is in its upper folder:
 * all that was written, changed or deleted is there, and nothing else need be looked at. The result
 * is a struct work_scan, as of one who looked at every file.
 */
#ifndef DATA_UPPER_SCAN_H
#define DATA_UPPER_SCAN_H

#include "data/work_scan.h"

/* As work_scan_open(), of a work tree whose upper folder that is. False as well where folders were
 * moved, and the like: the work tree itself tells then. */
bool upper_scan_open(struct work_scan *s, const char *upper, const char *index, const char *tree);

#endif
