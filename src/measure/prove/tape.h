/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The windows of a run that may be cut off: each is a line of a file as soon as it was measured. A
 * later run with the same seed comes by the same windows in the same order, takes from the file
 * what is there, and measures the rest; so whatever ended the first one, the verdict is the one
 * that it would have come to.
 */
#ifndef PROVE_TAPE_H
#define PROVE_TAPE_H

#include "measure/prove/proof.h"
#include "machine/host/host.h"

enum { TAPE_MAX = 16 << 20, TAPE_LINE_MAX = 16 << 10 };

struct engine_clock;
struct tape;

/*
 * Reads what the file holds after its first line, *head, which the caller makes sense of (NULL:
 * there is no file); a torn last line is nothing. -errno and *e: it cannot be read.
 */
int tape_open(struct arena *a, struct host *h, const char *file, struct tape **out,
	      const char **head, struct err *e);
/* Begins the file anew with this line. */
int tape_begin(struct tape *t, const char *head, struct err *e);
/* Windows that were there when it was opened. */
size_t tape_windows(const struct tape *t);
/* Only the first n count. */
void tape_limit(struct tape *t, size_t n);
/* Goes on where the windows of the file end: time that passed between both runs does not count. */
void tape_clock(struct tape *t, const struct engine_clock *real, struct engine_clock *out);

/* The next window of the file, where it is this one: its figures, *code and *e as they were then.
 * From the first that is another one on everything is measured. */
bool tape_play(struct tape *t, struct proof_window *w, int *code, struct err *e);
/* code, or below 0 where the file cannot be written: nothing more is measured then. */
int tape_record(struct tape *t, const struct proof_window *w, int code, struct err *e);

#endif
