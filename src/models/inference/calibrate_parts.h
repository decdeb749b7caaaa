/* SPDX-License-Identifier: Apache-2.0 */
/* The fit itself, apart from where its numbers come from. Not for others. */
#ifndef INFERENCE_CALIBRATE_PARTS_H
#define INFERENCE_CALIBRATE_PARTS_H

#include "models/inference/calibrate.h"

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

/* Fills runs, figures and groups; every run says why when it does not count. */
void calibrate_runs(struct arena *a, const struct log_runs *logs, const struct words *told,
		    const struct fits *base, struct calibration *c);
/* The group of that name, made when it was not there. */
size_t calibrate_group_of(struct arena *a, struct calibration *c, enum engine e, enum hardware h);

/* The constants at u. */
struct fit fit_at(const struct fit_problem *p);
/* Moves u to the most likely one with the active constants; fills sigma. */
void fit_solve(struct fit_problem *p, int steps);
/* Which constants any figure depends on: active afterwards. */
void fit_sensitive(struct fit_problem *p);
/* Takes out, one by one, what the figures do not decide. */
void fit_reduce(struct fit_problem *p);

#endif
