/* SPDX-License-Identifier: Apache-2.0 */
/* RECORD: the list of a wheel's files with their SHA-256. */
#ifndef STACK_WHEEL_RECORD_H
#define STACK_WHEEL_RECORD_H

#include "look/stack/wheel.h"

/*
 * Every member against its check sum and its line in RECORD; files without a line, lines without a
 * file and other hashes are refused. Finds the machine of the libraries on the way: two of them are
 * refused too.
 */
int wheel_record(struct arena *a, const struct zip *z, struct wheel *w, struct err *e);

#endif
