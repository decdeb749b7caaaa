/* SPDX-License-Identifier: Apache-2.0 */
/* Measured collectives as curves. */
#include "models/training/curve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* A small collective's time where only a bandwidth is told, us; between machines more. */
#define START_US 22.0
#define START_NET_US 45.0

static struct train_curve *curve_of(struct train_config *q, enum train_collective what,
				    bool between, int ranks, const char *from)
{
	struct train_curve *c;

	for (size_t i = 0; i < q->n_curves; i++)
		if (q->curves[i].what == what && q->curves[i].between == between &&
		    q->curves[i].ranks == ranks)
			return &q->curves[i];
	if (q->n_curves >= TRAIN_CURVES)
		return NULL;
	c = &q->curves[q->n_curves++];
	*c = (struct train_curve){ .what = what, .between = between, .ranks = ranks, .from = from };
	return c;
}

static void curve_point_one(struct train_curve *c, double bytes, double gbs)
{
	if (!c || c->n >= TRAIN_CURVE_POINTS || !(bytes >= 1) || !(gbs > 0) || bytes > 1e13 ||
	    gbs > 1e5)
		return;
	for (size_t i = 0; i < c->n; i++)
		if (fabs(c->at[i].bytes - bytes) < 0.5) /* the newest comes first */
			return;
	c->at[c->n].bytes = bytes;
	c->at[c->n++].busbw_gbs = gbs;
}

void train_curve_flat(struct arena *a, struct train_config *q, double busbw_gbs, bool between)
{
	static const enum train_collective like[] = { TRAIN_ALL_REDUCE, TRAIN_ALL_GATHER,
						      TRAIN_REDUCE_SCATTER };
	const char *from = arena_printf(a, "given: %.6g GB/s measured", busbw_gbs);
	double start = 1e-6 * (between ? START_NET_US : START_US);

	for (size_t i = 0; i < sizeof(like) / sizeof(like[0]); i++) {
		struct train_curve *c = curve_of(q, like[i], between, 0, from);

		/* The bandwidth that a latency leaves of it at each size. */
		for (double bytes = 65536; c && bytes <= 5e12; bytes *= 4)
			curve_point_one(c, bytes,
					bytes / (start + bytes / (busbw_gbs * 1e9)) / 1e9);
	}
}

static enum train_collective what_of(const char *text, size_t n)
{
	static const struct {
		const char *name;
		enum train_collective what;
	} names[] = { { "all-gather", TRAIN_ALL_GATHER },
		      { "all_gather", TRAIN_ALL_GATHER },
		      { "reduce-scatter", TRAIN_REDUCE_SCATTER },
		      { "reduce_scatter", TRAIN_REDUCE_SCATTER },
		      { "all-to-all", TRAIN_ALL_TO_ALL },
		      { "alltoall", TRAIN_ALL_TO_ALL },
		      { "sendrecv", TRAIN_SEND } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (memmem(text, n, names[i].name, strlen(names[i].name)))
			return names[i].what;
	return TRAIN_ALL_REDUCE;
}

/* Numbers of a line; words between them count as zero. */
static size_t fields(const char *line, size_t len, double *v, size_t most)
{
	size_t n = 0, i = 0;

	while (i < len && n < most) {
		char word[40];
		size_t k = 0;

		while (i < len && strchr(" \t,;", line[i]))
			i++;
		while (i < len && !strchr(" \t,;", line[i])) {
			if (k + 1 < sizeof(word))
				word[k++] = line[i];
			i++;
		}
		word[k] = '\0';
		if (!k)
			break;
		if (parse_real(word, &v[n]))
			v[n] = 0;
		n++;
	}
	return n;
}

int train_curve_read(struct arena *a, const char *name, const char *text, bool between,
		     struct train_config *q, struct err *e)
{
	enum train_collective what = what_of(text, strnlen(text, 4096));
	const char *from = arena_printf(a, "%.100s", name);
	struct train_curve *c = curve_of(q, what, between, 0, from);
	size_t before = c ? c->n : 0;

	while (*text) {
		size_t len = strcspn(text, "\n"), n;
		double v[16];

		n = *text == '#' ? 0 : fields(text, len < 1000 ? len : 1000, v, 16);
		/* size count type redop root time algbw busbw wrong time algbw busbw wrong */
		if (n >= 8 && v[0] >= 1 && v[5] > 0)
			curve_point_one(c, v[0], v[7]);
		else if (n == 2 && v[0] >= 1)
			curve_point_one(c, v[0], v[1]);
		text += len + (text[len] == '\n');
	}
	train_curves_sort(q);
	for (size_t i = 0; i < q->n_curves; i++)
		if (q->curves[i].from == from && q->curves[i].n > before)
			return 0;
	return err_set(e, -EINVAL,
		       "%.100s: expected at least two lines of nccl-tests or of \"bytes,GB/s\"",
		       name);
}

/* The whole of "134217728 bytes, 8 ranks, out of place". */
static bool setup_of(const char *setup, double *bytes, int *ranks)
{
	char *end;
	long n;

	*bytes = strtod(setup, &end);
	if (end == setup || !str_starts(end, " bytes, "))
		return false;
	n = strtol(end + strlen(" bytes, "), &end, 10);
	if (n < 2 || n > 100000 || !str_starts(end, " ranks"))
		return false;
	*ranks = (int)n;
	return true;
}

void train_curve_add(struct arena *a, struct train_config *q, const char *name, const char *setup,
		     double busbw_gbs, const char *id)
{
	int each = place_per_node(&q->place), ranks;
	double bytes;
	bool between;

	if (!name || !setup || !setup_of(setup, &bytes, &ranks))
		return;
	between = ranks > each;
	if (ranks != each && ranks != q->place.gpus)
		return;
	if (!str_starts(name, "all-reduce") && what_of(name, strlen(name)) == TRAIN_ALL_REDUCE)
		return;
	curve_point_one(curve_of(q, what_of(name, strlen(name)), between, ranks,
				 arena_printf(a, "measured here: collectives %s (%s)", name, id)),
			bytes, busbw_gbs);
}

void train_curves_sort(struct train_config *q)
{
	size_t kept = 0;

	for (size_t k = 0; k < q->n_curves; k++) {
		struct train_curve *c = &q->curves[k];

		for (size_t i = 1; i < c->n; i++)
			for (size_t j = i; j > 0 && c->at[j].bytes < c->at[j - 1].bytes; j--) {
				double bytes = c->at[j].bytes, gbs = c->at[j].busbw_gbs;

				c->at[j] = c->at[j - 1];
				c->at[j - 1].bytes = bytes;
				c->at[j - 1].busbw_gbs = gbs;
			}
		if (c->n >= 2)
			q->curves[kept++] = *c;
	}
	q->n_curves = kept;
}
