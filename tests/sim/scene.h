/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines that disturb a measurement, simulated: one window after the other, in the state that is
 * asked for. What a setting does is added by the caller; here nothing depends on the state but
 * through being switched to it.
 */
#ifndef SIM_SCENE_H
#define SIM_SCENE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/stat.h"

enum scene_kind {
	SCENE_QUIET,   /* independent normal noise */
	SCENE_SKEWED,  /* and one window in ten is slow, by up to many times the noise */
	SCENE_DRIFT,   /* and everything gets slower, by ten times the noise over 48 pairs */
	SCENE_WARMING, /* and the first windows are slow: ten times the noise, gone in ten windows
			*/
	SCENE_WANDER,  /* noise that depends on the window before: AR(1), 0.95 */
	SCENE_STATES,  /* and two states four times the noise apart, left once in ten windows */
	SCENE_STEP,    /* and one step of ten times the noise somewhere */
	SCENE_POLLER,  /* and every second window is slowed by twice the noise */
	SCENE_PERIOD,  /* and every fourth window by four times the noise */
	SCENE_GROWING, /* noise that grows tenfold over 48 pairs */
	SCENE_ROUNDED, /* the figure has steps as large as the noise */
	SCENE_RESTART, /* and every making of a state, before each window, shifts it by the noise */
	SCENE_KEPT,    /* the same where a state is only made when the other one is in force */
	SCENES,
};

struct scene {
	enum scene_kind kind;
	double noise; /* standard deviation of ln of the figure */
	struct stat_random random;
	size_t t; /* windows so far */
	double wander, shift;
	bool high, b;
	size_t step_at;
};

void scene_start(struct scene *s, enum scene_kind kind, double noise, unsigned long long seed);
/* ln of the figure, higher is better. */
double scene_window(struct scene *s, bool b);
/* A pair in that order: ln B - ln A, with the effect. */
double scene_pair(struct scene *s, bool b_first, double effect);
const char *scene_name(enum scene_kind k);

#endif
