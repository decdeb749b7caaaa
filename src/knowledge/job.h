/* SPDX-License-Identifier: Apache-2.0 */
/* What a job uses of a machine, which settings can matter for that, and what the job itself reads
 * from its environment: rows of setting_uses.rows and job_vars.rows. */
#ifndef KNOWLEDGE_JOB_H
#define KNOWLEDGE_JOB_H

#include "base/rows.h"

enum job_use {
	USE_CPU,
	USE_WAKE,   /* sleeps and wakes often */
	USE_MEMORY, /* reads and writes much of it */
	USE_FAULTS, /* gets much of it anew */
	USE_DISK,
	USE_NET,
	USE_RDMA,
	USE_GPU,
	USE_COPY,   /* between host and GPU */
	USE_PINNED, /* memory that cannot be moved */
	JOB_USES,
};
#define USE_BIT(u) (1U << (u))
extern const char *const job_use_names[]; /* in data; ended by NULL */

/* A bench, or the group of a setting that no bench shows. */
struct setting_use {
	const char *name;
	unsigned uses; /* USE_BIT */
};
extern const struct setting_use setting_uses[];
extern const size_t n_setting_uses;

/* What helped a job elsewhere that uses one of these: largest measured gain, in percent. */
struct job_gain {
	const char *name; /* a setting, "env.NAME" or "arg.name" */
	unsigned uses;	  /* USE_BIT */
	double gain;
};
extern const struct job_gain job_gains[];
extern const size_t n_job_gains;

/* A value of a variable of the job's environment, or of an argument that its command has, which may
 * make it faster. */
struct job_var {
	/* "NAME=VALUE" or "--argument=VALUE"; {cores}: physical cores, {workers}: of them for each
	 * GPU. Of a hint: an id */
	const char *name;
	const char
		*library; /* of which a file is mapped, by the beginning of its name; NULL: any */
	unsigned uses;	  /* the job has to use one of these; 0: whatever it uses */
	int gpus, cores;  /* at least so many */
	bool rounds;	  /* results change by rounding errors only */
	bool hint;	  /* nothing to set: what a person may do in the job itself */
	const char *does;
	const char *source;
};
extern const struct job_var job_vars[];
extern const size_t n_job_vars;

#endif
