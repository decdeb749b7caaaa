/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal: what gputune wrote, why, and what was there before, as JSON lines that are only ever
 * added to. It records knobs, not settings, so that a later program which has forgotten the setting
 * can still undo. A line that a crash cut short is no line. How the lines are checked, and where
 * else they lie: seal.c, store.c.
 */
#ifndef TXN_JOURNAL_H
#define TXN_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "machine/host/host.h"
#include "machine/knob/knob.h"

#define TXN_DIR "/var/lib/gputune"
#define TXN_JOURNAL TXN_DIR "/journal.jsonl"
/* The same bytes again: what a damaged journal has lost is read from there. */
#define TXN_COPY TXN_DIR "/journal.copy.jsonl"
/* What is over, once the journal has grown long. */
#define TXN_HISTORY TXN_DIR "/history.jsonl"
#define TXN_LOCK TXN_DIR "/lock"
/* What everybody may read of it: public.c. */
#define TXN_PUBLIC TXN_DIR "/status.jsonl"

/* A note of an entry whose device could not be seen when it was to be taken back. Journals hold it:
 * it is never reworded. */
#define NOTE_AWAY "not there now"

enum entry_state {
	ENTRY_INTENDED, /* no "done" follows: a crash came between */
	ENTRY_DONE,
	ENTRY_UNDONE,
	ENTRY_STUCK, /* an undo failed */
};

/* What was there of a knob that writing another one resets. */
struct side_effect {
	struct knob knob;
	const char *before;
	const char *left; /* after the write; NULL: not known */
};

/* One change of one transaction. */
struct entry {
	unsigned long txn;
	unsigned seq;
	const char *id, *target; /* of the setting, as it was called then */
	struct knob knob;
	const char *place;  /* knob_place() then */
	const char *before; /* NULL: unknown */
	const char *after;  /* what was asked for */
	const char *read;   /* what was read back; NULL: no getter, or not done */
	struct side_effect *sides;
	size_t n_sides;
	enum entry_state state;
	const char
		*note;	/* of the last state: "restored", "already", "covered", "left", an error */
	bool restoring; /* an undo has begun to write, which resets the sides as well */
	bool undoing;	/* an undo has begun; only the machine shows how far it came */
	/* The line that says what was changed makes no sense to this version: it stands here as an
	 * entry without a knob, so that it is not taken for undone. */
	bool unread;
	bool lost;	  /* it went with an earlier boot; see txn_carry_over */
	bool written;	  /* the knob's write was tried; of this run alone */
	unsigned long of; /* carried over from this transaction; 0: not carried over */
};

enum transaction_state {
	TRANSACTION_OPEN, /* no end: a crash */
	TRANSACTION_APPLIED,
	TRANSACTION_ROLLED_BACK,
	TRANSACTION_INCOMPLETE, /* something is stuck */
	TRANSACTION_UNDONE,
};

struct transaction {
	unsigned long txn;
	const char *op; /* "apply", "persist" (files for the next boot), "boot" (what they set),
			   "undo" */
	const char *boot_id; /* NULL: not known */
	long long time_s;
	const char *user, *reason, *profile, *version;
	enum transaction_state state;
	struct entry *entries; /* in the order of writing, seq ascending; none for an undo */
	size_t n;
};

/* How it lies on disk. */
struct journal_files {
	int format;	    /* of the journal's lines; 0: there is no journal */
	bool copy_is_whole; /* the copy has the journal's bytes */
	size_t bytes, copy_bytes;
	size_t history_bytes; /* 0 unless everything was asked for */
	bool redacted;	      /* read from TXN_PUBLIC: this user may not read the journal */
	bool stale;	      /* and the journal is another since */
	size_t hidden;	      /* changes that only root sees */
};

struct journal {
	struct journal_files files;
	struct transaction *items; /* oldest first */
	size_t n;
	unsigned long next; /* number of the next transaction */
	bool torn;	    /* the last line was cut short */
	size_t bad_lines;   /* lines that could not be read, nor from the copy */
	size_t bad_at;	    /* the first of them, from 1; 0: not known */
	size_t mended;	    /* lines that only the copy has */
};

/* all: every transaction; otherwise only those that may still hold a value (open, applied,
 * incomplete), which is what a machine with a long history needs. A missing journal is empty.
 * -EPROTONOSUPPORT: a newer version has written it. */
int journal_load(struct host *h, struct arena *a, bool all, struct journal *out, struct err *e);

/* It writes to the machine; an undo holds nothing of its own. */
bool transaction_holds(const struct transaction *t);
/* Rolled back or undone: none of its changes is open. */
bool transaction_is_over(const struct transaction *t);
/* Transactions that may still hold a change. */
size_t journal_count_open(const struct journal *j);
const char *entry_state_name(enum entry_state s);
const char *transaction_state_name(enum transaction_state s);

/* One line of the journal. For txn/ alone. */

/* More transactions, and changes of one, than anybody makes: a larger number is no number of ours.
 * The largest stands in lines that are of no transaction (store.c). */
enum { TXN_MAX = 10000000, SEQ_MAX = 10000000 };

struct line_head {
	char kind[12]; /* "begin", "intend", ..., zeroes behind it */
	unsigned long txn;
	size_t len; /* of its text, with the character behind the number */
};

/* What every line begins with; false for anything else. Reads no further. */
bool line_head(const char *line, size_t n, struct line_head *out);
/* Here, and with the zero at the end as part of the word: a long journal asks this a million times,
 * and so it is one comparison of numbers. */
static inline bool line_is(const struct line_head *head, const char *kind)
{
	return memcmp(head->kind, kind, strlen(kind) + 1) == 0;
}
/*
 * Puts the line into the journal. *at is the place of its transaction in items plus one, 0 when it
 * has none yet. -EINVAL: it makes no sense there.
 */
int line_apply(struct arena *a, struct journal *out, size_t *at, const struct line_head *head,
	       const json_t *j);

/*
 * The first pass over a journal, by how its lines begin: which transactions are over, and where the
 * lines of the others stand. For txn/ alone.
 */

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

struct journal_scan {
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
void scan_text(struct journal_scan *s, const char *text, size_t len);
/* Nothing that is asked of a later boot stands there: it may be kept elsewhere. */
bool scan_is_past(const struct journal_scan *s, unsigned long txn);
void scan_free(struct journal_scan *s);
/* Calls each for every whole line. */
void scan_lines(const char *text, size_t len, void (*each)(void *ctx, const char *line, size_t n),
		void *ctx);

#endif
