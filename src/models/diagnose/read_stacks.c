/* SPDX-License-Identifier: Apache-2.0 */
/* What "gputune record -- COMMAND" leaves (src/front/stacks.c): a line of JSON for each process,
 * with what its main thread was in, and where. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"
#include "models/hang/hang.h"

/* What happens in the loop is come to again; each job compiles at its begin, and saves at its end.
 */
enum { SAMPLES_LEAST = 10, PLACES_TOLD = 12, PLACES_READ = 512, TIMES_LEAST = 3, PLACE_LEAST = 3 };
#define SAVING_MUCH 0.3
#define NATIVE_LEAST 0.2 /* of a place's samples */

static const char *stacks_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* Where most C code is: "62 % in libjpeg.so.62:jpeg_read_scanlines (decodes pictures)"; "". */
static const char *stacks_native(struct arena *a, const json_t *counts, double samples,
				 double *share)
{
	const struct wait_sign *sign;
	const char *key, *most = "";
	json_t *n;

	*share = 0;
	json_object_foreach((json_t *)(uintptr_t)counts, key,
			    n) if (json_number_value(n) / samples > *share)
	{
		*share = json_number_value(n) / samples;
		most = key;
	}
	*share = fmin(*share, 1);
	sign = hang_native(most);
	if (!(*share >= NATIVE_LEAST))
		return "";
	return arena_printf(a, "%.0f %% in %s%s%s%s", 100 * *share, most, sign ? " (" : "",
			    sign ? sign->says : "", sign ? ")" : "");
}

/* False: it is too short for a line of its own. */
static bool stacks_place(const struct read_place *at, const json_t *p, double samples)
{
	struct arena *a = at->ev->arena;
	double n = json_number_value(json_object_get(p, "samples")), share = n / samples, most;
	const char *kind = stacks_text(p, "kind"), *source = stacks_text(p, "source"),
		   *file = stacks_text(p, "file"),
		   *native = stacks_native(a, json_object_get(p, "native"), n, &most);
	long long line = json_integer_value(json_object_get(p, "line"));

	if (!*kind || !(share > 0) || share > 1 || n < PLACE_LEAST)
		return false;
	/* Samples of the training alone are none of its begin and end. */
	if (!(at->ev->files[at->file].trains_to_s > 0) && json_object_get(p, "times") &&
	    json_integer_value(json_object_get(p, "times")) < TIMES_LEAST &&
	    (strcmp(kind, "compiling") == 0 ||
	     (strcmp(kind, "saving") == 0 && share < SAVING_MUCH)))
		return true;
	read_trait(at, TRAIT_PLACE,
		   utf8_clean(a, arena_printf(a, "%s: %.0f %% of %.0f samples%s%s%s", kind,
					      100 * share, samples,
					      *file ? arena_printf(a, ", at %s:%lld (%s)%s%s", file,
								   line, stacks_text(p, "function"),
								   *source ? ": " : "", source)
						    : "",
					      *native ? "; C code: " : "", native)),
		   share);
	return true;
}

/* Many short places of a kind are one. */
static void stacks_places(const struct read_place *at, json_t *list, double samples)
{
	struct arena *a = at->ev->arena;
	size_t n = json_array_size(list) < PLACES_READ ? json_array_size(list) : PLACES_READ;
	bool *done = arena_array(a, n + 1, sizeof(*done));

	for (size_t i = 0; i < n && i < PLACES_TOLD; i++)
		done[i] = stacks_place(at, json_array_get(list, i), samples);
	for (size_t i = 0; i < n && at->ev->files[at->file].trains_to_s > 0; i++) {
		const char *kind = stacks_text(json_array_get(list, i), "kind");
		double sum = 0;

		if (done[i])
			continue;
		for (size_t k = i; k < n; k++) {
			const json_t *p = json_array_get(list, k);

			if (done[k] || strcmp(stacks_text(p, "kind"), kind) != 0)
				continue;
			sum += json_number_value(json_object_get(p, "samples"));
			done[k] = true;
		}
		if (*kind && sum >= PLACE_LEAST && sum <= samples)
			read_trait(at, TRAIT_PLACE,
				   utf8_clean(a, arena_printf(a, "%s: %.0f %% of %.0f samples",
							      kind, 100 * sum / samples, samples)),
				   sum / samples);
	}
}

/* What the modules in its stack show it to do: the first row of which both are there. */
struct module_work {
	const char *id, *beside, *work, *less;
	double least;
};
#include "models/diagnose_works_rows.h"

static double stacks_module(const json_t *o, const char *begins, double samples)
{
	json_t *modules = json_object_get(o, "modules"), *n;
	const char *key;
	double most = 0;

	json_object_foreach(modules, key, n) if (str_starts(key, begins)) most =
		fmax(most, json_number_value(n));
	return most / samples;
}

/* Of a main thread, which is also importing and waiting: 8 % of it was seen. */
#define RECOMPUTING 0.03

static void stacks_work(const struct read_place *at, const json_t *o, double samples)
{
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		double share = stacks_module(o, works[i].id, samples);

		if (share < works[i].least ||
		    (works[i].beside && !(stacks_module(o, works[i].beside, samples) > 0)) ||
		    (works[i].less && !(stacks_module(o, works[i].less, samples) < share)))
			continue;
		read_trait(at, TRAIT_WORK, works[i].work, share);
		return;
	}
}

static void stacks_line(void *ctx, const json_t *o)
{
	struct read_place *at = ctx;
	const json_t *list = json_object_get(o, "places"), *p,
		     *trains = json_object_get(o, "training");
	struct evidence_file *f = &at->ev->files[at->file];
	double from_s = json_number_value(json_array_get(trains, 0)),
	       to_s = json_number_value(json_array_get(trains, 1));
	double samples = json_number_value(json_object_get(o, "samples")), share;
	const char *native;
	size_t i;

	at->rank = read_rank(json_number_value(json_object_get(o, "rank")), -1);
	/* Before all modules are there nothing is trained. */
	json_array_foreach((json_t *)(uintptr_t)list, i,
			   p) if (strcmp(stacks_text(p, "kind"), "importing") == 0) samples -=
		json_number_value(json_object_get(p, "samples"));
	if (samples >= SAMPLES_LEAST && from_s > 0 && to_s > from_s) {
		f->trains_from_s = f->trains_to_s > 0 ? fmin(f->trains_from_s, from_s) : from_s;
		f->trains_to_s = fmax(f->trains_to_s, to_s);
	}
	if (samples >= SAMPLES_LEAST &&
	    stacks_module(o, "torch/utils/checkpoint", samples) >= RECOMPUTING)
		read_trait(at, TRAIT_CHECKPOINTING, "full", (double)NAN);
	if (samples >= SAMPLES_LEAST)
		stacks_places(at, (json_t *)(uintptr_t)list, samples);
	native = stacks_native(at->ev->arena, json_object_get(o, "threads"), samples, &share);
	if (samples >= SAMPLES_LEAST && *native)
		read_trait(at, TRAIT_PLACE,
			   utf8_clean(at->ev->arena,
				      arena_printf(at->ev->arena, "other threads: %s", native)),
			   share);
	if (samples >= SAMPLES_LEAST)
		stacks_work(at, o, samples);
	f->used++;
}

static int stacks_read_file(struct run_evidence *ev, size_t file, const char *text, size_t size,
			    struct err *e)
{
	struct read_place at = { .ev = ev, .file = file, .rank = -1, .step = -1 };

	return read_json_lines(&at, text, size, stacks_line, &at, e);
}

static bool stacks_looks(const char *head, size_t n, const char *path)
{
	static const char begin[] = "{\"gputune_stacks\":1,";

	(void)path;
	return n > sizeof(begin) && strncmp(head, begin, sizeof(begin) - 1) == 0;
}

const struct evidence_format evidence_stacks = { .name = "gputune stacks",
						 .looks = stacks_looks,
						 .read = stacks_read_file };
