/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fitting the constants of fit.h to what was measured on one machine: results of the engines' own
 * benchmarks (logs.h), and what our benches say of the hardware. The built-in constants are where
 * the fit begins and what it is held by; only what the results decide is changed. Pure.
 */
#ifndef INFERENCE_CALIBRATE_H
#define INFERENCE_CALIBRATE_H

#include "models/inference/logs.h"
#include "models/inference/query.h"

/* What a bench of ours says of a constant on this machine. */
struct calibrate_hint {
	enum fit_id id;
	double scale; /* the built-in value times this is expected; 0: see value */
	double value; /* this is expected; 0: nothing is */
	double most;  /* more than this it cannot be; 0: no bound */
	const char
		*from; /* "gpu-memory read:gpu0: 215 GB/s (measured), usual are 220 to 245 ..." */
};

/* One figure of one run. */
struct calibrate_figure {
	size_t run;
	enum log_figure what;
	double measured, built_in, fitted;
	double left_out; /* predicted by constants that had not seen this run; 0: not tried */
};

struct calibrate_run {
	const struct log_run *log;
	struct query q;
	const char *skipped; /* NULL: it counts */
	size_t group;
	const struct calibrate_figure *figures; /* of calibration.figures */
	size_t n_figures;
};

enum constant_state {
	CONSTANT_FITTED,   /* the results decide it */
	CONSTANT_EXPECTED, /* a bench of ours moved it, no result decides it */
	CONSTANT_OPEN,	   /* results depend on it and do not decide it */
	CONSTANT_UNTOUCHED /* no result depends on it */
};

struct calibrate_constant {
	enum fit_id id;
	enum constant_state state;
	double built_in, value;
	double sigma;	     /* of the logarithm of value, where fitted */
	const char *missing; /* which measurement would decide it */
	const char *from;    /* of the hint; NULL: none */
};

/*
 * An engine on a kind of hardware: what is fitted together. One model's runs show that model's
 * kernels as well as the machine: a fit is for the models that it has seen, unless models that it
 * had not seen are predicted better with it, too.
 */
struct calibrate_group {
	enum engine engine;
	enum hardware hardware;
	size_t runs, figures;
	const char **models; /* names of the shapes, each once */
	size_t n_models;
	struct calibrate_constant constants[FITS];
	bool kept;    /* the fit is used afterwards */
	bool general; /* for every model; else for those above */
	bool hinted;  /* benches moved constants: for every model, whatever became of the fit */
	struct fit expected; /* what they say alone */
	const char *why;     /* the fit is or is not used, in a sentence */
	/* |predicted / measured - 1|, the middle one and nine of ten */
	double built_in[2], fitted[2];
	double left_out[2], left_model[2]; /* by fits without the run, without the model */
	bool tried, tried_models;	   /* those are known */
};

struct calibration {
	struct calibrate_run *runs;
	size_t n_runs, used;
	struct calibrate_figure *figures;
	size_t n_figures;
	struct calibrate_group *groups;
	size_t n_groups;
};

/* More runs than this are thinned out evenly before the fit. */
enum { CALIBRATE_RUNS_MAX = 400 };

/*
 * told: what the user says of all runs (model, machine, ...): model, weights and cache of it go
 * before what a log says, everything else fills what a log leaves out. hints apply to every engine
 * on hardware. Never fails: runs that cannot be used say why.
 */
void calibrate(struct arena *a, const struct log_runs *logs, const struct infer_options *told,
	       enum hardware hardware, const struct calibrate_hint *hints, size_t n_hints,
	       const struct fits *base, struct calibration *out);

/* The question that a run answers, or why it cannot be one (skipped). */
void calibrate_run_make(struct arena *a, const struct log_run *l, const struct infer_options *told,
			const struct fits *base, struct calibrate_run *r);

/* The fit itself, apart from where its numbers come from. Not for others. */

/* One group's fit: constants as logarithms over where they begin. */
struct fit_problem {
	struct arena *a;
	const struct calibrate_run *runs;
	const struct calibrate_figure *figures; /* of this group */
	size_t n;
	const bool *left_out; /* by figure; NULL: all count */
	struct fit base;      /* where it begins: built in, moved by hints */
	double low[FITS], high[FITS];
	bool active[FITS];
	double u[FITS];	    /* log of value over base */
	double sigma[FITS]; /* of u; as before where nothing is known */
};

/* Moves u to the most likely one with the active constants; fills sigma. */
void fit_solve(struct fit_problem *p, int steps);
/* Which constants any figure depends on: active afterwards. */
void fit_sensitive(struct fit_problem *p);
/* Takes out, one by one, what the figures do not decide. */
void fit_reduce(struct fit_problem *p);

#endif
