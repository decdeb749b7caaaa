/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of gputune bench share. */
#ifndef VERBS_BENCH_BENCH_H
#define VERBS_BENCH_BENCH_H

#include "measure/bench/ranks.h"
#include "verbs/benches.h"
#include "verbs/ranks.h"

struct bench_verb_ask {
	struct ask_texts names;
	struct bench_ask on;
	const char *cpus;
	double seconds; /* 0: the bench's own */
	size_t runs;	/* 0: as many as it takes */
	bool require_idle;
	struct state_ask state;
	int rank;	/* -1: not given */
	unsigned ranks; /* 0: not given */
	bool local_processes;
};

/* Of bench and bench show. */
struct bench_answer {
	struct record record;
	const struct machine *m; /* who measured; NULL: it was kept */
	const char *text;	 /* as it is kept; NULL: not yet */
};

extern const struct verb bench_list_verb, bench_show_verb, bench_serve_verb;

/* Of a struct bench_answer. */
struct doc *bench_page(struct arena *a, const void *ask, const void *answer,
		       const struct page_view *view);

/* The processes that measure collectives together. */
struct bench_ranks {
	struct collective_shared *team; /* NULL: this process alone */
	struct ranks_children children;
};

/*
 * 0: go on; env->ask.team is set where others take part. Below 0 as answers: this was not rank 0,
 * or something was wrong, which is said then.
 */
int bench_ranks_begin(struct door *d, const struct bench_verb_ask *ask, struct bench_env *env,
		      struct bench_ranks *out);
/* Of what is no collective: how each rank measures its machine; NULL: this process alone. */
const struct ranks_ask *bench_by_ranks(const void *ask);
/* Ends the others. */
void bench_ranks_end(struct bench_ranks *b);

#endif
