/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A prediction: figures with intervals, what binds, and every part they are made of. An interval is
 * where four of five measurements of that class lay beside what was predicted for a family of
 * models that the constants had not seen.
 */
#ifndef INFERENCE_PREDICT_H
#define INFERENCE_PREDICT_H

#include "models/figure.h"
#include "models/inference/query.h"
#include "models/inference/schedule.h"

/* Requests at a time; apart: shared experts, or prompts taken by engines of their own. */
enum users { USERS_ONE, USERS_MANY, USERS_APART };

/*
 * Split-conformal bounds of measured over predicted for 80 % of one class, never of other hardware:
 * of requests alone; logarithms grow by this part with each factor e (two at most) of .crowding.
 */
struct spread {
	enum engine engine; /* ENGINES: all of them */
	enum hardware hardware;
	int measure; /* enum measure */
	enum users users;
	double low, high, grow;
	int rows, families;
	int tested; /* % of a family's rows inside the others' bounds; 0: untested */
};

extern const struct spread spreads[];
extern const size_t spread_count;

enum limit {
	LIMIT_CAPACITY,	 /* does not fit */
	LIMIT_BANDWIDTH, /* reading weights, cache, state */
	LIMIT_COMPUTE,
	LIMIT_LINK,
	LIMIT_LAUNCH,
	LIMITS,
};

extern const char *const limit_names[LIMITS];

#define EXPLAIN_LINES 40
#define CURVE_POINTS 12

/* What so many requests at a time would give. */
struct curve_point {
	int batch;
	double ttft, tpot, throughput;
	bool fits;
};

/* Somebody's tokens a second of one request and what is said of them; 0: none were given. */
struct claim {
	double tokens_s;
	const char *verdict, *why;
};

struct prediction {
	struct query q;
	struct figure ttft, tpot, throughput, bytes;
	const struct spread *spread[4]; /* of ttft, tpot, throughput; NULL: no row is like it */
	/* Whose measurements they are of: the engine and machine that were asked about, or more. */
	const char *whose[4];
	enum limit limit;      /* of decoding; of what does not fit: capacity */
	const char *limit_why; /* in a sentence, with the figures */
	enum limit prompt_limit;
	struct decode_step step; /* at the requests that run */
	struct prompt prompt;	 /* of one request alone */
	struct memory_footprint memory;
	struct served served;
	struct schedule schedule; /* of several requests, simulated; requests 0: of one */
	double weight_bytes;	  /* of the whole model */
	struct curve_point curve[CURVE_POINTS]; /* 1, 2, 4, ...; ends with what does not fit */
	size_t n_curve;
	const char *calibration;
	const char *lines[EXPLAIN_LINES]; /* equations with the numbers put in */
	size_t n_lines;
	struct claim claim;
	const char *instead; /* what fits where this does not, in a sentence; NULL: not asked */
};

/* A measure with its 80 % interval. *whose: the class it is of; NULL: none, and it is a guess. */
struct figure served_figure(const struct query *q, const struct served *s, int measure,
			    const struct spread **whose);

void predict(struct arena *a, const struct query *q, const struct fits *fits,
	     struct prediction *out);

/* The 95 % interval of what is predicted with 80 %. */
struct figure figure_wider(struct figure f);

/*
 * What to say of somebody's figure of tokens a second of one request: "impossible" when more bytes
 * would have to be read than the memory gives, "outside" or "inside" the 95 % interval; *why: why.
 */
const char *predict_claim(struct arena *a, const struct prediction *p, double tokens_s,
			  const char **why);

/* The machine of these facts as a place. -ENOENT: no GPU that is known. */
struct machine;
int place_of(struct arena *a, const struct knowledge *known, const struct machine *m,
	     struct target_hw *out, struct err *e);

#endif
