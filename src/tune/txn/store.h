/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal's files: the journal, its copy with the same bytes, and the history, to which goes
 * what is over when the journal has grown long. Knows how they lie on disk, and nothing of what is
 * to be done with what they say. For txn/ alone.
 */
#ifndef TXN_STORE_H
#define TXN_STORE_H

#include "base/arena.h"
#include "base/text.h"
#include "machine/host/host.h"
#include "base/seal.h"
#include "tune/txn/journal.h"

/*
 * Lines that can be checked: each ends with the CRC-32C of the line before it ("p") and with its
 * own ("c"), which covers "p". A damaged line does not match its own; a lost one leaves a gap in
 * the chain. The journal lies on disk twice, with the same bytes: what one copy has lost, the other
 * has. Knows nothing of what the lines say. For txn/ alone.
 */

/* The first line counts how often the file was rewritten. Two files with different counts are not
 * copies of each other: the one with the higher count is newer. */
#define SEAL_FIRST "{\"t\":\"begin\",\"txn\":10000000,"
#define SEAL_TIMES "\"rewritten\":"

struct seal_file {
	const char *text;
	size_t len;
};

struct seal_read {
	/* The lines that can be read, in order, each with its newline; NUL-terminated. Points into
	 * the journal where that is whole. */
	const char *text;
	size_t len;
	uint32_t chain; /* of the last line */
	bool sealed;	/* false: no line of either file has a seal; text is the journal as it is */
	bool same;	/* both files hold text and nothing else */
	size_t bad, bad_at; /* lines that are lost in both, and where the first stood; from 1 */
	size_t mended;	    /* lines that only the copy has */
};

void seal_merge(struct arena *a, struct seal_file journal, struct seal_file copy,
		struct seal_read *out);

#define STORE_FORMAT 2

struct journal_store {
	struct seal_read read;
	bool whole;	     /* the journal is of this format and holds read.text alone */
	bool torn;	     /* the journal does not end with a newline */
	unsigned long next;  /* number of the next transaction; 1: the text has it */
	long long rewritten; /* times */
	struct journal_files files;
};

/* Reads both files. A machine without them has an empty journal. -EPROTONOSUPPORT: a newer version
 * has written it. */
int store_load(struct host *h, struct arena *a, struct journal_store *out, struct err *e);

/* What is over: the same lines, each block of which begins a chain of its own. Empty where there is
 * none. Fills files->history_bytes. */
int store_history(struct host *h, struct arena *a, struct journal_files *files,
		  struct seal_read *out, struct err *e);

/* public.c: brings the status file up to date with the journal; the lock is held. */
void public_write(struct host *h);

enum store_how {
	STORE_MEND,    /* only what is damaged, cut short, long or of an earlier format */
	STORE_COMPACT, /* moves what is over to the history, however short the journal is */
	STORE_GIVE_UP, /* and lines that cannot be read, to be forgotten */
};

/* Where the next addition goes on. */
struct store_end {
	uint32_t chain; /* of the last line */
	bool torn;	/* a newline first */
	bool copied;	/* the copy can be added to as well */
};

/*
 * Makes journal and copy the same, and of this format, before the first addition. Writes nothing
 * where that is so already. What is lost in both stays as it is, unless it is given up: then the
 * two are only added to. The lock is held.
 */
int store_ready(struct host *h, enum store_how how, struct store_end *out);

#endif
