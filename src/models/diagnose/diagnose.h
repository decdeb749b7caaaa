/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds a training run back, judged from evidence (evidence.h) alone: its speed, where the
 * time of a step goes, how it scales, and which causes that speaks for. Pure: evidence in, verdict
 * out; every verdict names the lines that it stands on. What cannot be known is said, with the
 * measurement that would tell.
 */
#ifndef DIAGNOSE_DIAGNOSE_H
#define DIAGNOSE_DIAGNOSE_H

#include "models/diagnose/evidence.h"
#include "models/inference/config.h"
#include "models/training/train.h"

/* --- what was asked besides files ------------------------------------------------------------- */

struct diagnose_ask {
	const struct knowledge *known; /* models and GPUs; NULL: what is compiled in */
	const char *model;	       /* as it was named; NULL: not known */
	const struct arch *arch;       /* its shape; NULL: not known */
	const struct model_file *file; /* that the shape was read from; NULL: found by name */
	const char *const *names;      /* of the runs */
	size_t n_runs;
	bool live; /* a look from outside at what runs now: no steps are expected */
};

/* --- figures of a run: split_sum.c ------------------------------------------------------------ */

/*
 * Figures of one kind in one run, steps of warming-up left out. Of files of several formats only
 * those of the format that has most of them: what two tools saw is not mixed. Totals are told as
 * seconds a step. n 0: not known, every figure NAN then.
 */
struct figure_sum {
	size_t n;
	double median, mean, p95, low, high;
	const struct metric_sample *at; /* the one nearest to the median; NULL */
	const char *format;
};

/* A rank, where ranks are told apart. NAN: not known. */
struct rank_summary {
	int rank;
	double own_s;	/* step without exposed communication: what it does itself, median */
	double wait_s;	/* exposed communication, median */
	double idle_s;	/* of a step: nothing runs on its GPU; NAN */
	double kernels; /* of a step; NAN */
	double clock_mhz, throttled, util;
	const struct metric_sample *at;
};

/* --- where the time of a step goes: split.c --------------------------------------------------- */

enum step_part {
	PART_COMPUTE, /* forward and backward */
	PART_COMM,    /* communication that nothing hides */
	PART_WAIT,    /* for slower ranks, at collectives */
	PART_DATA,    /* for the next batch */
	PART_OPTIMIZER,
	PART_COPY, /* between host and GPU, nothing else running */
	PART_HOST, /* the host fetches figures, writes logs, launches */
	PART_CHECKPOINT,
	PART_IDLE, /* the GPU has nothing to do, whatever the reason */
	PART_REST, /* of the step; nobody says what it is */
	PARTS,
};
extern const char *const step_part_names[PARTS];

struct step_split {
	double step_s;	  /* NAN: not known, and no split */
	double s[PARTS];  /* they add up to step_s */
	bool told[PARTS]; /* by a figure; what is not known is in PART_REST */
	const struct metric_sample *at[PARTS];
	const char *format; /* which files it is from */
	bool gpu_clock;	    /* by what ran on the GPU; else by the host's clock */
	bool window;	    /* no file tells a step: step_s is all that was watched */
	double too_much;    /* parts told were so much more than the step, as a share; they were
			       scaled */
};

/* Ranks that wait for others. */
struct rank_judged {
	int slowest;	    /* -1: no ranks told apart */
	const char *format; /* of the file that told them apart */
	double slowest_s; /* that it takes longer for its own part than the middle of the others */
	double often;	  /* part of the steps in which it was the slowest */
	size_t steps;	  /* that were compared */
	double wait_s;	  /* mean wait of all ranks for the slowest of each step */
	double comm_s;	  /* least exposed communication among ranks: of the collective itself */
};

/* Steps that take more than twice as long as the middle one. */
struct long_steps {
	size_t n;
	long long every;		/* each so many steps; 0: not at equal distances */
	double share;			/* of all time, what they take longer */
	const struct metric_sample *at; /* the longest */
};

/* --- a run ------------------------------------------------------------------------------------ */

struct run_summary {
	const struct run_evidence *ev;
	size_t run;
	const char *name;
	bool live;
	struct figure_sum sums[FIGURE_KINDS];
	const struct run_attribute *traits[TRAIT_KINDS]; /* the first of each kind; NULL */
	double gpus, nodes, global_batch, micro_batch, accumulation, sequence, parameters; /* NAN */
	size_t steps;	      /* whose time is told, warming-up left out */
	double steps_spanned; /* from the first of them to the last: of several one time may be told
			       */
	size_t skipped;	      /* of warming-up */
	double step_s, step_p95_s;
	const char *step_from; /* NULL: told; else how it follows */
	double drift; /* a step of the last quarter over one of the first (middle of pairs) less 1
		       */
	struct long_steps longer;
	const char *gpus_from; /* NULL: told */
	double tokens_s, tokens_s_gpu;
	const char *tokens_from;
	struct step_split split;
	struct rank_summary *ranks;
	size_t n_ranks;
	struct rank_judged slow;
	double profiler_s; /* that a step takes longer while a profiler looks; 0 */
	double traced_s;   /* a step while it looked, where the split is without it; 0 */
	/* Operations: split.c. */
	const struct gpu_kind *gpu;
	double flops_token, attention_flops_token; /* without and with attention */
	double peak_flops;			   /* of a GPU, dense */
	const char *peak_from, *formula;
	double mfu, mfu_attention, hfu;
	const char *hfu_from;
	double memory_used, memory_total; /* of the fullest GPU, at its fullest */
	const char **notes;		  /* contradictions, and what was taken for what */
	size_t n_notes;
	/* The first thing that cannot be as it is told; NULL. Then nothing is certain and no run
	 * is healthy. */
	const char *impossible;
};

/* Steps that it takes for anything to be certain or healthy, and to tell a straggler at all. */
enum { DIAGNOSE_STEPS_LEAST = 3 };

void run_analyze(struct arena *a, const struct run_evidence *ev, size_t run,
		 const struct diagnose_ask *ask, struct run_summary *out);
void run_note(struct arena *a, struct run_summary *r, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Too few steps were measured one by one to be certain by them. */
bool run_too_short(const struct run_summary *r);
/* The text of a trait in lower case, or "". */
const char *run_trait(struct arena *a, const struct run_summary *r, enum trait_kind k);
/* A trait of that kind whose text has the word in it, letters of any case; NULL. */
const struct run_attribute *run_trait_with(const struct run_summary *r, enum trait_kind k,
					   const char *word);
/* What the data-parallel ranks share and what is computed in: of enum train_parallelism and enum
 * train_precision; -1: not known. */
int run_way(struct arena *a, const struct run_summary *r);
int run_precision(struct arena *a, const struct run_summary *r);
/* One GPU or rank, as far as known; of a framework for many GPUs that does not tell how many it
 * is not taken for granted. */
bool run_alone(const struct run_summary *r);
/* Gradients are summed as FP32. */
bool run_sums_fp32(struct arena *a, const struct run_summary *r);
/* The value of NAME=value that a file shows to be set; NULL: not seen. */
const char *run_variable(const struct run_summary *r, const char *name,
			 const struct run_attribute **at);
/* Figures of a kind with that text (any case), as one sum. */
struct figure_sum run_sum_text(struct arena *a, const struct run_summary *r, enum figure_kind k,
			       const char *text);

/* --- scaling: scale.c ------------------------------------------------------------------------- */

enum scaling_kind { SCALE_UNKNOWN, SCALE_WEAK, SCALE_STRONG, SCALE_SAME, SCALE_KINDS };

struct scale_point {
	size_t run;
	double gpus, tokens_s, efficiency; /* against the base; NAN */
	double step_ratio;		   /* step over the base's */
	enum scaling_kind kind;
	const char *why; /* it is of that kind, or cannot be compared */
};

/* Whether the bandwidth that was measured explains what is lost. */
struct scale_bandwidth {
	bool told;
	double busbw_gbs, bytes, needs_s; /* of the gradients of a step; a collective at that
					     bandwidth */
	double lost_s;			  /* step over the base's step, weak scaling */
	const struct metric_sample *at;
	const char *says;
};

struct scaling {
	size_t base; /* run with the fewest GPUs */
	struct scale_point *points;
	size_t n; /* 0: fewer than two runs to compare */
	struct scale_bandwidth bandwidth;
};

void scaling_analyze(struct arena *a, const struct run_summary *runs, size_t n,
		     struct scaling *out);
extern const char *const scale_kind_names[SCALE_KINDS];

/* --- causes: judge.c
 * ----------------------------------------------------------------
 */

/* Most telling first. */
enum certainty {
	IS_CERTAIN,  /* it is so, and it costs what is said */
	IS_LIKELY,   /* it is so; what it costs is not separated from others */
	IS_POSSIBLE, /* something speaks for it */
	IS_UNSEEN,   /* nothing was there to tell by */
	IS_EXCLUDED,
	CERTAINTIES,
};
extern const char *const certainty_names[CERTAINTIES];

#define CITES_MAX 6

/* A line that a verdict stands on. */
struct cite {
	const struct evidence_file *file;
	size_t line;	  /* 0: the file as a whole */
	const char *says; /* "data_s 0.084 s, the middle of 20" */
};

struct judged_cause {
	const struct cause_row *row;
	enum certainty how;
	double share; /* of the step that it costs at most: what mending it can give; NAN: not
			 known */
	const char *says;
	const char *against; /* what speaks against it; NULL */
	struct cite cites[CITES_MAX];
	size_t n_cites;
};

struct judging {
	struct arena *a;
	const struct run_summary *r;
	const struct scaling *scale; /* of all runs */
};

typedef void cause_rule(const struct judging *j, struct judged_cause *out);
struct cause_row {
	const char *id; /* "loader", append-only */
	const char *title;
	cause_rule *rule;    /* NULL: sampled stacks alone tell it */
	const char *mend;    /* what a person does */
	const char *measure; /* what shows it when it was not seen: a command */
	const char *change;  /* key of a change that predict training knows; NULL */
};

enum { CAUSES = 28 };
extern const struct cause_row cause_rows[CAUSES];

/* What mending a cause gives, by the model of training. */
struct judged_gain {
	const struct cause_row *cause;
	const struct train_change *change;
};

struct judged_gains {
	struct figure tokens_s; /* before */
	struct judged_gain items[CAUSES];
	size_t n;
};

struct run_verdict {
	const struct run_summary *run;
	struct judged_cause causes[CAUSES]; /* most telling first */
	size_t n_causes;
	size_t found; /* of them, from the first on, that are certain or likely and cost something
		       */
	const struct cause_row *main; /* NULL: none */
	bool healthy;		      /* enough was seen, and nothing costs 5 % of a step */
	const char *verdict;	      /* one sentence */
	const char **missing;	      /* measurements that would tell more, with commands */
	size_t n_missing;
	const struct judged_gains *predicted; /* NULL: model, GPUs or batch are not known */
};

struct diagnosis_of_runs {
	struct run_summary *runs;
	struct run_verdict *verdicts;
	size_t n;
	struct scaling scale;
};

/* Below this share of a step a cause is no bottleneck. */
#define DIAGNOSE_WORTH 0.05

void diagnose_runs(struct arena *a, const struct run_evidence *ev, const struct diagnose_ask *ask,
		   struct diagnosis_of_runs *out);
/* 0: all healthy; 1: something was found; 5: not enough was seen. */
int diagnose_code(const struct diagnosis_of_runs *d);
/* "FILE:LINE" in arena memory. */
const char *cite_place(struct arena *a, const struct cite *c);

#endif
