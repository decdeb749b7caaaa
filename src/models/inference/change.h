/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be changed about a way to serve a model, and how well the gain of each kind of change
 * was predicted: pairs of published measurements that differ in that one thing, the measured
 * ratio over the predicted one, the family left out of the fit. Pure.
 */
#ifndef INFERENCE_CHANGE_H
#define INFERENCE_CHANGE_H

#include <stddef.h>

#include "models/inference/fit.h"

enum change_kind {
	CHANGE_WEIGHTS, /* in another format */
	CHANGE_CACHE,	/* keys and values in another format */
	CHANGE_LAYOUT,	/* tensor parallelism, stages, copies on the same GPUs */
	CHANGE_MACHINES,
	CHANGE_USERS, /* requests at a time */
	CHANGE_DRAFT,
	CHANGE_PREFIX,
	CHANGE_CHUNK,
	CHANGE_GRAPHS,
	CHANGE_ENGINE,
	CHANGE_MODEL,
	CHANGE_CLOCK,
	CHANGE_SEVERAL,
	CHANGES,
};

extern const char *const change_names[CHANGES];

/* A gain as measured over the same gain as predicted: the tenth and ninetieth of a hundred. */
struct change_spread {
	enum change_kind kind;
	enum hardware hardware; /* HARDWARES: both */
	int measure;		/* enum measure */
	double low, high;
	int pairs, families;
};

/* Written by tests/predict/fit.py. */
extern const struct change_spread change_spreads[];
extern const size_t change_spread_count;

/* Of this hardware, else of both; NULL: no two measurements differ in that alone. */
const struct change_spread *change_spread_of(enum change_kind kind, enum hardware hardware,
					     int measure);

#endif
