/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that build wheels, in order, each done once: what each needs, whether that is there, and
 * where it left off. A step is a program with its arguments; what it did is known by a stamp that
 * holds those arguments, so a changed step is done again and nothing else.
 *
 *   DIR/venv   the Python environment that builds     DIR/src/NAME   sources
 *   DIR/dist   wheels as they are built               DIR/house      the wheelhouse they go into
 *   DIR/logs/STEP.log, DIR/steps/STEP
 */
#ifndef STACK_BUILD_PLAN_H
#define STACK_BUILD_PLAN_H

#include "knowledge/dead_flags.h"
#include "look/stack/inventory.h"
#include "machine/model/machine.h"

/*
 * The environment for building PyTorch and what belongs to it on a machine: from what is installed
 * there and from its GPU, every line with its reason. And the flags of recipes that do nothing or
 * do harm.
 */

struct build_line {
	const char *name, *value;
	bool before; /* put before what the variable holds already: PATH */
	const char *reason;
};

struct flag_here {
	const struct dead_flag *flag;
	const char *set_here; /* the value of its variable in this shell; NULL */
};

struct build_env {
	struct build_line *lines;
	size_t n;
	const char *toolkit; /* its folder; NULL: none that knows the GPU */
	const char *missing; /* why nothing can be built, a sentence; NULL */
	const char *unseen;  /* what could not be looked at, a sentence; NULL */
	unsigned jobs;
	const char *gpus_from;	 /* where the GPUs to build for come from, in words */
	struct flag_here *flags; /* all of dead_flags */
	size_t n_flags;
};

void build_env_make(struct arena *a, const struct machine *m, const struct inventory *inv,
		    const struct scan_options *how, struct build_env *out);

enum step_state { STEP_TO_DO, STEP_DONE, STEP_LACKS };
extern const char *const step_state_names[STEP_LACKS + 1];

struct build_step {
	const char *id; /* "torch-wheel": also the name of its log and stamp */
	const char *title;
	char **argv;
	size_t n_argv;
	const char *dir;	  /* where it runs; NULL: DIR */
	const char *const *tools; /* programs that have to be there; NULL-terminated; NULL */
	unsigned disk_gib;
	unsigned memory_gib;
	double hours;	   /* of one compiler for all of it; 0: minutes at most */
	const char *there; /* what exists when it needs not be done; NULL */
	enum step_state state;
	const char *lacks; /* why it cannot start, a sentence */
	const char *log, *stamp;
};

struct build_plan {
	const char *dir;
	struct build_step *steps;
	size_t n;
	unsigned disk_gib;    /* that all steps to do take */
	double disk_free_gib; /* where dir is or will be */
	double memory_gib;    /* available */
	unsigned jobs;
	double hours;	   /* with that many compilers, roughly */
	const char *lacks; /* why nothing should be started: disk, memory; NULL */
	char **env;	   /* for the programs */
};

struct build_target {
	const char *dir;	    /* absolute */
	const char *const *targets; /* "torch", "triton", ..., or a folder with a Python project */
	size_t n_targets;
	const char *python; /* which makes the environment; absolute */
	const char *self;   /* this program, for the steps that it does itself */
};

/* -EINVAL and *e for a target that is neither known nor a project. Reads, writes nothing. */
int build_plan_make(struct arena *a, const struct machine *m, const struct build_env *env,
		    const struct build_target *wish, struct build_plan *out, struct err *e);
/*
 * Makes DIR and takes it for this process and for every program that it runs: the lock is theirs
 * too, so that a step that outlived a killed gputune is not begun a second time beside itself. A
 * descriptor that is kept open. -EBUSY and *e: somebody works there.
 */
int build_plan_take(struct arena *a, const struct build_plan *p, struct err *e);
/* Runs one step; its output goes to its log. 0, or *e with the last lines of the log. */
int build_step_run(struct arena *a, const struct build_plan *p, struct build_step *s,
		   struct err *e);
/* What can be built by name: "llvm", "triton", "torch", ...; NULL ends them. */
const char *build_target(size_t i);

#endif
