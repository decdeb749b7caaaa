/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captured machines whose facts can be moved one at a time. Which facts there are follows from the
 * tables of the model (machine/model) and of what doctor looks at besides; what a knob reads is a
 * fact too. Nothing is known here of what a fact means.
 */
#ifndef TESTS_LAW_VARY_H
#define TESTS_LAW_VARY_H

#include "look/settings/check.h"
#include "machine/host/host.h"
#include "measure/doctor/observations.h"

enum { MACHINES_MAX = 64 };

/* One fact of one object; key as "gputune list --facts" has it: "gpu.gpus.temperature_c". */
struct place {
	const char *key;
	struct fact *at;      /* the fact itself */
	enum shape_kind kind; /* SHAPE_KIND_FACT_... */
	const void *object;   /* the struct that has it */
	bool aside;	      /* of the third that is kept aside */
};

/* A reading of a knob, kept so that it is read once and can be moved. */
struct reading {
	struct knob knob;
	struct fact_str value;
};

/* What gputune would have set, or has: a knob of a setting's target, and its value. */
struct world_item {
	const struct setting *s;
	const void *object;
	const char *target, *value;
	struct knob knob;
	const struct recommendation
		*wish; /* it is this one's only value; NULL: it may have others */
};

struct world {
	const char *name; /* "dgx-spark" */
	struct arena a;
	struct host *h;
	struct machine *m;
	struct observations signs;
	struct reading *knobs;
	size_t n_knobs, cap_knobs;
	struct place *places;
	size_t n_places;
	struct world_item *items;
	size_t n_items;
	bool differs; /* a tar alone: another machine with a few facts changed */
};

/* Of MACHINES the folders, then the tars that have none (all); returns how many. Ends the test
 * where one cannot be read. */
size_t worlds_open(struct world *out, bool all);
void worlds_close(struct world *w, size_t n);
/* The same machine read once more, in w's arena; of out only m and signs are filled. */
void world_again(struct world *w, struct world *out);
/* For settings_check: ctx is the struct world. */
struct fact_str world_knob(void *ctx, struct arena *a, const struct knob *k);
/* After a first check, which reads the knobs: fills places. */
void world_places(struct world *w);

/* A fact moved, and as it was. */
struct moved {
	struct place *p;
	union {
		struct fact_int i;
		struct fact_str s;
		struct fact_set set;
	} was;
	char what[96]; /* "= 255", "denied" */
};

/* How many values this fact can be moved to, and moving it to one of them. Numbers: the edges, and
 * values around its own; texts: those of any machine, and blanks; then how it was not seen. */
size_t move_count(const struct place *p);
void move_to(struct world *w, struct place *p, size_t i, struct moved *out);
void move_number(struct place *p, long long v, struct moved *out);
void move_back(struct moved *m);
/* Whether after move i nobody knows what the fact is: nothing is right or wrong by it. Absent and
 * unsupported are known. */
bool move_unseen(const struct place *p, size_t i);
/* Nobody was let look, which says nothing at all; what fails when it is asked is known to fail. */
bool move_blind(const struct place *p, size_t i);
bool is_number(const struct place *p);
/* Numbers: value of move i; false: it is none. */
bool move_value(const struct place *p, size_t i, long long *v);

/* The same sequence for the same seed, everywhere. */
unsigned long long law_random(unsigned long long *state);

#endif
