/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs that read what others wrote, in a process that can do nothing else. For main.c alone. */
#ifndef VERBS_FENCED_H
#define VERBS_FENCED_H

#include "front/session.h"

/* How a verb is run. */
enum fence {
	FENCE_NONE, /* here: it reads what is ours, or goes on to write or to run programs */
	FENCE_HERE, /* here, confined: it draws on the terminal */
	FENCE_APART /* in a confined process, for which this one looks at the machine */
};
enum fence fence_of(struct run *r);
/* Confines this process. */
void fence_here(const struct run *r);

/*
 * Divides this process. In the new one, which is confined and has neither a terminal nor root's
 * rights, FENCED_READER: it runs the verb and ends with its code. In this one *code once the other
 * has ended, and what it wrote for a terminal or a file is written. A code below zero: the result
 * could not be written.
 */
enum fenced { FENCED_READER, FENCED_DONE };
enum fenced fence_divide(struct run *r, int *code);
/* What the reader ends with instead of its code when the result could not be written. */
enum { FENCED_UNWRITTEN = 72 };

#endif
