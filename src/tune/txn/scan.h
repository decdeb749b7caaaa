/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first pass over a journal, by how its lines begin: which transactions are over, and where the
 * lines of the others stand. For txn/ alone.
 */
#ifndef TXN_SCAN_H
#define TXN_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* Lines of one transaction that stand together. */
struct stretch {
	const char *from, *to;
	unsigned long txn;
};

/* How a line began. */
struct begun {
	const char *text;
	size_t n; /* 0: none */
};

/* A transaction of what boot files set, and the boot's id. */
struct scanned_boot {
	unsigned long txn;
	struct begun id;
};

struct scan {
	bool sealed;	       /* format 2: what has no seal is not given here */
	unsigned char *closed; /* by number */
	size_t cap;
	unsigned long last;
	struct stretch *stretches;
	size_t n, room;
	size_t lines, bad_lines, bad_at;
	struct begun heads[2]; /* of the newest stretch, of lines that say nothing of its end */
	unsigned turn;
	struct scanned_boot *boots;
	size_t n_boots, room_boots;
};

/* Points into text. Lines whose beginning makes no sense are counted. */
void scan_text(struct scan *s, const char *text, size_t len);
/* Nothing that is asked of a later boot stands there: it may be kept elsewhere. */
bool scan_is_past(const struct scan *s, unsigned long txn);
void scan_free(struct scan *s);
/* Calls each for every whole line. */
void scan_lines(const char *text, size_t len, void (*each)(void *ctx, const char *line, size_t n),
		void *ctx);

#endif
