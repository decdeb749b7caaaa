/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts that are kept: one JSON line each, only ever added. What was proven holds for this
 * machine with this kernel, driver and firmware; on another it is shown as expired, with what
 * changed. A line that makes no sense is skipped, counted and named, and stays where it is.
 */
#ifndef PROVE_LEDGER_H
#define PROVE_LEDGER_H

#include "base/err.h"
#include "base/shape.h"
#include "machine/host/host.h"
#include "machine/model/machine.h"
#include "measure/prove/rule.h"

#define LEDGER_DIR "/var/lib/gputune"
#define LEDGER_FILE LEDGER_DIR "/ledger.jsonl"
enum {
	LEDGER_FILE_MAX = 32 << 20, /* bytes */
	LEDGER_LINE_MAX = 16 << 10,
	LEDGER_ROWS_MAX = 100000,
	LEDGER_TEXT_MAX = 1024, /* bytes of one text */
	LEDGER_BAD_MAX = 16,	/* bad lines of which number and reason are kept */
};

/* What a verdict holds for. Texts are "" where they are not known. */
struct ledger_here {
	const char *machine;  /* digest: record_fingerprint's */
	const char *name;     /* of the machine, for people */
	const char *kernel;   /* release */
	const char *driver;   /* of the GPU */
	const char *firmware; /* of the board */
	const char *hardware; /* digest of product, CPU, GPUs and their firmware */
};

/* All texts but those said to be may not be NULL. */
struct ledger_row {
	const char *setting;	    /* id; for several at once "profile:NAME" or "a.b+c.d" */
	const char *target;	    /* "gpu0", "" for the machine */
	const char *before, *after; /* values; NULL: not known, or several */
	const char *bench;	    /* "disk/sequential-read"; NULL where command is not */
	const char *command;	    /* as the user gave it; NULL */
	const char *job;	  /* the kind of job: "gpu, copy; libtorch"; NULL: not looked at */
	const char *figure;	  /* "rate", "wall", "json:.a.b" */
	const char *unit;	  /* NULL */
	enum ruling_kind verdict; /* never RULING_GO_ON */
	double ratio, low, high;  /* as struct ruling; low 0 and high infinite: no interval */
	double min_effect;
	size_t pairs;
	const char *seed; /* 64 bits: 16 hexadecimal digits */
	long long time_s;
	bool kept;
	struct ledger_here where;
	const char *version; /* of this program */
};

struct ledger_bad {
	size_t line; /* from 1 */
	const char *why;
};

struct ledger {
	int state;		 /* 0: read (or there is none); else -errno: -EACCES and so on */
	const char *file;	 /* where it was looked for */
	struct ledger_row *rows; /* as they stand: oldest first */
	size_t n;
	size_t n_bad;
	struct ledger_bad bad[LEDGER_BAD_MAX];
	struct ledger_here here;
};

/* This machine, from its facts. */
void ledger_here(struct arena *a, struct host *h, const struct machine *m, struct ledger_here *out);
/* Never fails; reads nothing but the file (dir NULL: LEDGER_DIR) and the machine's id. */
void ledger_load(struct arena *a, struct host *h, const struct machine *m, const char *dir,
		 struct ledger *out);
/* Adds one line, on disk when it returns 0; makes folder and file when they are missing. A torn
 * last line is ended first. -EINVAL: the row is not valid. */
int ledger_add(struct host *h, const char *dir, const struct ledger_row *row, struct err *e);

/* 0, or -EINVAL and *e: what is not valid about it. */
int ledger_row_check(const struct ledger_row *row, struct err *e);
/* One line without its newline, of a struct ledger_row, and back. -EINVAL and *e: not a row. */
extern const struct result_shape ledger_result;
int ledger_row_parse(struct arena *a, const char *line, size_t len, struct ledger_row *out,
		     struct err *e);

enum ledger_valid { LEDGER_NONE, LEDGER_VALID, LEDGER_EXPIRED, LEDGER_UNSEEN };
struct ledger_answer {
	enum ledger_valid valid;
	const struct ledger_row *row; /* NULL with LEDGER_NONE and LEDGER_UNSEEN */
	const char *changed;	      /* LEDGER_EXPIRED: "kernel, driver" */
	const char *with; /* "b+c": the row is of these and the setting as one; NULL: of it alone */
};
/*
 * The newest valid row of this setting and target on this machine; without one the newest expired.
 * target NULL: any. A row of another machine is never one. One of several settings as one
 * ("a+b") is of each of them, after those of the setting alone.
 */
void ledger_find(struct arena *a, const struct ledger *l, const char *setting, const char *target,
		 struct ledger_answer *out);
/* The same of the rows that counts says true of. NULL: all. */
void ledger_find_where(struct arena *a, const struct ledger *l, const char *setting,
		       const char *target,
		       bool (*counts)(const void *ctx, const struct ledger_row *row),
		       const void *ctx, struct ledger_answer *out);
/* Points at the setting's name in "a+b+c"; NULL: not in the list. */
const char *ledger_part_of(const char *joined, const char *setting);
/* Whether the row is about this setting on this machine; *out then says whether it still holds. */
bool ledger_judge(struct arena *a, const struct ledger *l, const struct ledger_row *row,
		  const char *setting, struct ledger_answer *out);
/* "+3.1 % [2.4, 3.9] on disk/sequential-read, kernel 6.17"; "unmeasured"; with what made it expire.
 * Arena or static. */
const char *ledger_text(struct arena *a, const struct ledger_answer *w);
/* Of one row, without whether it is still valid. */
const char *ledger_row_text(struct arena *a, const struct ledger_row *r);

#endif
