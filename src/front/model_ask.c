/* SPDX-License-Identifier: Apache-2.0 */
/* What a prediction is asked, for verbs without an ask: their options, read by the rows of
 * verbs/model_ask.h. */
#include "front/model_ask.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "verbs/calibrations.h"
#include "verbs/model_files.h"

struct taking {
	struct run *r;
	struct err e;
	int code;
};

static bool take_row(void *ctx, const struct ask_row *row, const struct ask_shape *s, void *member)
{
	struct taking *g = ctx;
	const struct verb_legacy *v = g->r->verb->legacy;

	(void)s;
	for (size_t i = 0; i < v->n_options && !g->code; i++) {
		const enum option_id id = v->options[i];
		const char *text = g->r->value[id];

		if (text && id != OPT_OUTPUT && strcmp(option_rows[id].name, row->name) == 0)
			g->code = ask_take(&g->r->arena, row, member, text, false, &g->e);
	}
	return g->code == 0;
}

/* What the run's options have for the rows. An exit code after complaining. */
static int take_rows(struct run *r, const struct ask_shape *s, void *object)
{
	struct taking g = { .r = r };

	ask_for_each(s, object, take_row, &g);
	return g.code ? complain(EXIT_USAGE, &g.e) : 0;
}

int predict_constants(struct run *r, struct fits *fits)
{
	const struct constants_ask ask = { .calibration = r->value[OPT_CALIBRATION],
					   .no_calibration = r->value[OPT_NO_CALIBRATION] != NULL,
					   .state = { r->value[OPT_STATE] } };
	const struct machine_ask from = { r->value[OPT_HOST], r->value[OPT_OVERLAY] };

	return -door_fits(&r->door, &ask, r->value[OPT_ON], &from, r->value[OPT_MODEL], fits);
}

int predict_place(struct run *r, struct infer_options *w, struct target_hw *p, place_more *more,
		  void *ctx)
{
	const struct target_ask named = { w->on };
	const struct machine_ask from = { r->value[OPT_HOST], r->value[OPT_OVERLAY] };
	int code = door_place(&r->door, &named, &from, &w->place, more, ctx);

	if (!code && w->place)
		*p = *w->place;
	return -code;
}

char *predict_file(struct run *r, const char *path, size_t most, size_t *len, bool *cut)
{
	return door_file(&r->door, path, most, len, cut);
}

int predict_model_file(struct run *r, const char *path, struct model_file *f)
{
	return door_model_file(&r->door, path, f);
}

/* A bound as it may be written: with a suffix and without an exponent. */
static const char *bound(struct run *r, double v)
{
	static const struct {
		double from, unit;
		const char *suffix;
	} units[] = { { 1e12, 1e12, "T" }, { 1e9, 1e9, "B" }, { 1e6, 1e6, "M" }, { 0, 1, "" } };
	size_t i = 0;

	while (v < units[i].from)
		i++;
	return arena_printf(&r->arena, "%.6g%s", v / units[i].unit, units[i].suffix);
}

/* A number from low to high; a suffix K, M, B or T multiplies by thousands. */
int predict_number(struct run *r, enum option_id id, double low, double high, double *out)
{
	static const struct {
		char letter;
		double factor;
	} suffixes[] = { { 'k', 1e3 }, { 'm', 1e6 }, { 'b', 1e9 }, { 'g', 1e9 }, { 't', 1e12 } };
	const char *s = r->value[id], *end = s;
	double v = 0;
	bool sound;

	if (!s)
		return 0;
	sound = parse_decimal(s, &v, &end) == 0;
	for (size_t i = 0; sound && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if ((*end | 32) == suffixes[i].letter && !end[1]) {
			v *= suffixes[i].factor;
			end++;
			break;
		}
	if (!sound || *end || v < low || v > high)
		return complain_text(EXIT_USAGE, "--%s takes a number from %s to %s, not \"%s\"",
				     option_rows[id].name, bound(r, low), bound(r, high), s);
	*out = v;
	return 0;
}

int predict_whole(struct run *r, enum option_id id, double high, int *out)
{
	double v = 0;
	int code = predict_number(r, id, 1, high, &v);

	if (!code && v != floor(v))
		return complain_text(EXIT_USAGE, "--%s takes a whole number, not \"%s\"",
				     option_rows[id].name, r->value[id]);
	if (r->value[id])
		*out = (int)v;
	return code;
}

int predict_words(struct run *r, struct infer_options *w)
{
	static const struct ask_shape *const shapes[] = { &infer_model_shape, &infer_format_shape,
							  &infer_load_shape, &infer_engine_shape };
	int code = 0;

	*w = (struct infer_options){
		.known = run_knowledge(r), .on = r->value[OPT_ON], .draft_cost = 0.05, .accept = 0.7
	};
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]) && !code; i++)
		code = take_rows(r, shapes[i], w);
	return code;
}
