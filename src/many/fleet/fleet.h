/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many machines beside each other, from the results that each gave of itself. The results are
 * anybody's text: bounded, checked, and never believed about anything but their own machine.
 * Use: fleet_new, fleet_add for each file, perhaps fleet_golden, fleet_settle, then read.
 */
#ifndef FLEET_FLEET_H
#define FLEET_FLEET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/shape.h"
#include "base/text.h"
#include "many/read/read.h"
#include "measure/prove/ledger.h"
#include "render/doc.h"

enum {
	FLEET_FILE_MAX = 16 << 20, /* bytes in one file */
	FLEET_SUBJECTS_MAX = 2048,
	FLEET_REFUSED_MAX = 4096, /* of which the reason is kept */
	FLEET_MACHINES_MAX = 1 << 18,
	FLEET_TEXT_MAX = 4096, /* bytes of one text that is kept */
};

/* What a result tells; a machine may have one of each. */
enum fleet_kind {
	FLEET_CHECK,
	FLEET_STATUS,
	FLEET_VERIFY,
	FLEET_STACK,
	FLEET_DEFECTS,
	FLEET_DOCTOR,
	FLEET_SHOW,
	FLEET_HANG,
	FLEET_HOST, /* what every result says of its machine: kernel, platform, versions */
	FLEET_KINDS,
	FLEET_BENCH = FLEET_KINDS, /* figures, and rows of ledgers: compared in their own ways */
	FLEET_LEDGER,
	FLEET_SCHEMAS,
};

enum fleet_mark { FLEET_GOOD, FLEET_NEUTRAL, FLEET_UNKNOWN, FLEET_BAD };

/* How a result of a kind has what is compared: the key of its list, and keys of an object there. */
struct fleet_kind_row {
	const char *list, *target, *state, *now, *wanted;
	const char *states[FLEET_BAD]; /* words by mark; all others are bad */
	enum fleet_mark all;	       /* or all have this one; FLEET_GOOD: they do not */
	const char *id;		       /* of those without one; NULL: each has one */
};
extern const struct fleet_kind_row fleet_kind_rows[FLEET_HOST];
extern const char *const fleet_kinds[FLEET_SCHEMAS]; /* as in their schemas */

/* One target of one subject, as far as machines are compared. Equal ones are the same object. */
struct fleet_part {
	struct fleet_subject *subject;
	enum fleet_mark mark;
	const char *target; /* "" for the machine */
	const char *state;  /* "fail", "foreign", or the value of a FLEET_HOST subject */
	const char *now;    /* what is there; NULL: not compared */
	const char *wanted; /* NULL: not known */
	size_t number;
};

/* What one machine says of one subject, all targets. Equal ones are the same object. */
struct fleet_answer {
	struct fleet_subject *subject;
	const struct fleet_part **parts;
	size_t n_parts;
	enum fleet_mark mark; /* the worst of them */
	const char *text;     /* for people */
	size_t number;
	size_t count;			 /* machines that gave it */
	const struct fleet_machine **by; /* they, by name; only where machines differ */
	size_t n_by;
	size_t peers; /* scratch: machines of one class that gave it */
};

/* What can be compared: a setting, or a fact of the host. */
struct fleet_subject {
	const char *id; /* "gpu.persistence", "kernel" */
	enum fleet_kind kind;
	size_t number;
	struct fleet_answer **answers; /* most frequent first, once settled */
	size_t n_answers;
	size_t silent; /* machines that say nothing of it */
	bool differs;  /* among machines of one platform */
	bool between;  /* only between platforms */
};

struct fleet_rare {
	const struct fleet_answer *answer, *usual;
	size_t peers; /* machines of the same class */
};

enum { FLEET_SOFTWARE = 4 };

struct fleet_machine {
	const char *name;
	const char *file;
	const char *platform;
	const char *times[FLEET_KINDS]; /* of each result; NULL: none */
	const struct fleet_part **parts[FLEET_KINDS];
	size_t n_parts[FLEET_KINDS];
	struct fleet_answer **answers; /* by subject number; NULL where silent */
	struct fleet_group *group;
	struct fleet_rare *rare; /* answers that few of its peers share */
	size_t n_rare;
	size_t drifted;	      /* subjects that are not as on the golden machine */
	size_t n_slow;	      /* figures in which it is an outlier, worse than its peers */
	size_t n_fast;	      /* better */
	size_t n_values;      /* figures that it measured */
	const char *hardware; /* as its newest bench result tells; NULL: none */
	const char *software[FLEET_SOFTWARE]; /* driver, kernel, firmware, VBIOS; NULL: not known */
};

/* Machines whose bad and unknown answers are the same. */
struct fleet_group {
	size_t number; /* 1 is the largest */
	const struct fleet_machine **machines;
	size_t n;
	const struct fleet_answer **answers; /* the bad ones, then the unknown */
	size_t n_answers, n_bad;
};

struct fleet_refused {
	const char *file;
	const char *why;
};

/* From RULING_HELPS on. */
enum { FLEET_VERDICTS = 4 };

/* The newest verdict of one machine on one target. */
struct fleet_verdict {
	const char *name; /* of the machine */
	enum ruling_kind kind;
	double ratio, low, high; /* better with the setting; low 0, high infinite: no interval */
	const char *kernel, *driver;
	long long time_s;
};

/* What machines proved of one setting with one bench or command. */
struct fleet_proof {
	const char *setting;
	const char *on; /* bench and case, or the command */
	bool command;
	struct fleet_verdict **by; /* by name, once settled */
	size_t n;
	size_t count[FLEET_VERDICTS]; /* by kind - RULING_HELPS */
	double least, most;	      /* of the ratios */
	size_t number;
};

/* What one machine measured. */
struct fleet_value {
	struct fleet_machine *machine;
	const struct fleet_bench *bench;
	double value; /* the median */
	double z;     /* robust: distance to its peers' median in 1.4826 MAD; 0 without peers */
	bool outlier; /* far from its peers, and by enough to matter */
	bool worse;   /* in the direction that is worse */
	bool second;  /* one of a second state */
	const char *time;
};

/* Machines that are far from the others in one direction and too many to be called alone. */
struct fleet_state {
	size_t n;			       /* 0: none */
	double median, nearest;		       /* the one that is nearest to the others */
	bool worse;			       /* than the others */
	const struct fleet_machine **machines; /* by name */
};

/* One figure of one case, of machines with the same hardware. */
struct fleet_bench {
	const char *name;	 /* "gemm bf16:8192 rate" */
	const char *unit;	 /* "TFLOP/s" */
	const char *hardware;	 /* "2 x NVIDIA H200, AMD EPYC 9654, 768 GiB" */
	bool lower;		 /* is better */
	struct fleet_value **by; /* by name, once settled */
	size_t n;
	double median, mad;
	size_t n_outliers;
	struct fleet_state below, above;
	size_t number;
};

enum {
	FLEET_BENCHES_MAX = 4096,
	FLEET_PEERS_MIN = 5, /* fewer than these say nothing about one of them */
};

/* "driver 580.95, most have 570.133": software of m that more than half of b's machines have
 * otherwise; arena. NULL: none. */
const char *fleet_unusual(struct arena *a, const struct fleet_bench *b,
			  const struct fleet_machine *m);

struct fleet {
	struct fleet_machine **machines; /* by name, once settled */
	size_t n;
	struct fleet_machine *golden; /* NULL: none; not one of machines */
	struct fleet_subject **subjects;
	size_t n_subjects;
	struct fleet_group **groups;
	size_t n_groups;
	struct fleet_refused *refused; /* files that are no result of ours */
	size_t n_refused;	       /* all of them; FLEET_REFUSED_MAX are kept */
	size_t files, documents;
	size_t replaced;	      /* older results of a machine that has a newer one */
	size_t n_differs, n_between;  /* subjects */
	size_t n_outliers;	      /* machines with something rare */
	size_t n_drifted;	      /* machines */
	struct fleet_proof **proofs;  /* by setting, once settled */
	size_t n_proofs, verdicts;    /* verdicts: rows of ledgers, the older ones too */
	struct fleet_bench **benches; /* those with outliers first, once settled */
	size_t n_benches;
	size_t n_bench_outliers; /* machines that are one in some bench */
	size_t n_states;	 /* figures with a second state */
	struct fleet_store *store;
	struct arena *arena;
};

/* values: right settings are compared by their value too. */
struct fleet *fleet_new(struct arena *a, bool values);
/*
 * The results in one file: a document, or several one after the other, or a ledger of proofs.
 * Results of bench are taken by the medians that they tell. name
 * is what a machine is called that has no name of its own. What cannot be read is kept in refused
 * and is no error.
 */
void fleet_add(struct fleet *f, const char *file, const char *name, const char *text, size_t len);
/* The same of whatever read_path finds. */
struct read_ask fleet_reader(struct fleet *f);
/* A file that could not even be opened. */
void fleet_refuse(struct fleet *f, const char *file, const char *why);
/* What is added until this ends is the machine to compare with. */
void fleet_golden(struct fleet *f, bool golden);
/* Compares; nothing can be added afterwards. */
void fleet_settle(struct fleet *f);
void fleet_free(struct fleet *f);

/* Whether it gave anything but results of bench. */
static inline bool fleet_checked(const struct fleet_machine *m)
{
	for (int k = 0; k < FLEET_HOST; k++)
		if (m->times[k])
			return true;
	return false;
}
/* "node[001-004,017]": sorted names, folded as Slurm writes them, at most max bytes and a count of
 * what was left out; 0: all. */
const char *fleet_hosts(struct arena *a, const struct fleet_machine *const *machines, size_t n,
			size_t max);

/* What fleet.c, item.c and settle.c share: everything that was seen, once. */

/* An object of a list, by its bytes. */
struct fleet_item {
	const char *raw; /* NULL: no room was left to keep it */
	size_t len;
	enum fleet_kind kind;
	const struct fleet_part *part;
	struct fleet_item *next; /* the one that came after it when it was last seen */
};

struct fleet_store {
	struct map texts, subjects, parts, items, machines, proofs, verdicts, benches, measured;
	size_t n_verdicts;
	size_t raw_bytes, n_parts;
	bool values;
	struct fleet_item *last;
	/* the document that is being read */
	enum fleet_kind kind;
	const struct fleet_part **seen;
	size_t n_seen, cap_seen;
	struct text key, raw, frame;
	struct arena scratch;
	bool golden; /* what comes is the golden machine's */
};

/* One copy of s, cut at FLEET_TEXT_MAX bytes; NULL for NULL. */
const char *store_text(struct fleet *f, const char *s);
/* So many places in seen. */
void store_room(struct fleet_store *st, size_t n);
/* Ledgers. */
int proofs_add(struct fleet *f, const char **at, const char *end, struct err *e);
void proofs_settle(struct fleet *f);
/* benches.c: a result of bench. */
int benches_add(struct fleet *f, const struct read_from *from, const char **at, const char *end,
		struct err *e);
void benches_settle(struct fleet *f);
/* The machine of that document. NULL and *e: too many, or it has no name. */
struct fleet_machine *store_machine(struct fleet *f, const json_t *document,
				    const struct read_from *from, struct err *e);
/* What the document says of its machine; nothing where a check has said it. */
void store_host(struct fleet *f, struct fleet_machine *m, const json_t *document, const char *file);
/* The same, in place of what was said before. */
void store_facts(struct fleet *f, struct fleet_machine *m, const json_t *document);
/* The subjects of that, in their order. */
void store_facts_subjects(struct fleet *f);

/*
 * Cutting a result into its frame and the objects of its one long list, without parsing either. In
 * a fleet almost every object is byte for byte the one that another machine gave: who has seen it
 * need not parse it again. What is cut is not yet known to be JSON; a parser has to say so.
 */

enum { SPLIT_ITEMS_MAX = 1 << 14, SPLIT_DEPTH_MAX = 64 };

struct split {
	const char *p, *end, *list; /* list: its key */
	/* The document with that list left empty; kept from document to document. */
	struct text frame;
	struct fleet *f;
};

/*
 * One document: puts the objects of that list of the outermost object into seen, fills frame. 0, or
 * -EINVAL and *e when brackets and quotes do not match or a bound is passed.
 */
int split_document(struct split *s, struct err *e);

/* A fleet for people and for programs: groups, differences, outliers, drift. */

struct fleet_view {
	bool all;     /* every group, difference and outlier, every name */
	bool between; /* what differs only between platforms, too */
	bool html;    /* and a table of all machines, to be sorted and filtered */
};

/* An answer that is not the golden machine's. */
struct fleet_drift {
	const struct fleet_subject *subject;
	const struct fleet_answer *golden, *here; /* golden NULL: it says nothing */
};
/* All of a fleet that has a golden machine: *n of them, in the arena. */
const void *fleet_drifts(struct arena *a, const void *fleet, size_t *n);

/* A row a machine. */
struct doc *page_fleet(struct arena *a, const struct fleet *f, const struct fleet_view *how);
/* Of struct fleet. */
extern const struct result_shape fleet_result;

#endif
