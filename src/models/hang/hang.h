/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a job does not go on: what each process waits in, which rank is elsewhere than the others,
 * and what NCCL's flight recorder says of collectives. Pure: who looks is look/stacks.
 */
#ifndef HANG_HANG_H
#define HANG_HANG_H

#include "base/shape.h"
#include "knowledge/waits.h"
#include "look/stacks/stacks.h"
#include "render/doc.h"

/* A process and what its deciding thread is in. */
struct hang_process {
	struct stack_process at;
	const char *kind; /* of wait_signs; "spinning", "running", "stopped", "ended", "unknown" */
	const char *says, *next;
	const char *operation;	     /* of a collective: "all_reduce"; NULL: not known */
	const char *function, *file; /* of the user's innermost frame; NULL: none */
	int line;
	const char *source;
	const struct stack_thread *thread; /* that decides; NULL: none */
	bool moves;			   /* its stack changed between two looks */
	double busy;			   /* CPUs that it used between them */
};

/* A rank's last collectives, of a flight recorder's dump. */
struct flight_entry {
	const char *group, *operation, *state; /* "scheduled", "started", "completed" */
	const char *sizes;		       /* of its input, as text */
	const char *file, *function;	       /* where the program called it; NULL: not recorded */
	long long line, sequence;
};
struct flight_dump {
	const char *from; /* the file */
	int rank;
	struct flight_entry *entries; /* oldest first */
	size_t n;
};

struct hang_view {
	struct hang_process *processes;
	size_t n;
	struct flight_dump *dumps;
	size_t n_dumps;
	const char *ras; /* what NCCL's RAS answered; NULL: nothing */
	/* The verdict. */
	const char *kind; /* "straggler", "mismatch", "dead", "network", "moving", or a process's */
	const char *verdict, *next;
	int rank; /* -1: none */
	const char *operation;
	const char **evidence;
	size_t n_evidence;
};

/* What a process is in; before: the look before this one. */
void hang_classify(struct arena *a, const struct stack_process *before, double seconds,
		   struct hang_process *p);
/* The first row for a C frame of a running thread, "LIBRARY:FUNCTION"; NULL. */
const struct wait_sign *hang_native(const char *frame);
/* The verdict over all that was looked at. */
void hang_judge(struct arena *a, struct hang_view *v);
/*
 * A dump of PyTorch's flight recorder: pickle, of which only plain data is read (what would run
 * code is refused), or JSON. rank: of the file's name where the dump does not say.
 */
int flight_read(struct arena *a, const char *file, const char *data, size_t len,
		struct flight_dump *out, struct err *e);

struct doc *page_hang(struct arena *a, const struct hang_view *v, bool verbose);
extern const struct result_shape hang_result;

#endif
