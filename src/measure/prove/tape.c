/* SPDX-License-Identifier: Apache-2.0 */
/* Windows as lines of a file, and back. */
#include "measure/prove/tape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "machine/write/write.h"
#include "measure/prove/engine.h"

struct taped {
	struct proof_window w;
	long long code;
	double end_s; /* of the run's clock */
	size_t ends;  /* where its line does */
};

struct tape {
	struct arena *a;
	struct host *h;
	const char *file;
	const char *text; /* of the file, as it was opened */
	size_t len, head; /* of the text; of its first line */
	struct taped *items;
	size_t n, at;
	struct engine_clock real;
	double now_s;	/* while it plays */
	double ahead_s; /* of the real clock, then */
};

const char *proof_part_name(enum proof_part p)
{
	static const char *const names[] = { "warm-up", "same", "pairs", "screen", "confirm" };

	return names[p];
}

/* clang-format off */
static const struct shape taped_shape = SHAPE_OF(taped, taped,
	{ "part", NULL, SHAPE_CHOICE_BY(taped, w.part, proof_part_name, PART_CONFIRM + 1) },
	{ "pair", NULL, SHAPE_COUNT(taped, w.pair) },
	{ "state", NULL, SHAPE_TEXT(taped, w.state) },
	{ "b", NULL, SHAPE_FLAG(taped, w.b) },
	{ "at_s", NULL, SHAPE_REAL(taped, w.at_s) },
	{ "end_s", NULL, SHAPE_REAL(taped, end_s) },
	{ "samples", NULL, SHAPE_COUNT(taped, w.samples) },
	{ "values", NULL, SHAPE_REAL_ARRAY(taped, w.value, w.n), .unknown = SHAPE_NULL },
	{ "void", NULL, SHAPE_TEXT(taped, w.fault), .unknown = SHAPE_NULL },
	{ "code", NULL, SHAPE_COUNT(taped, code) });
static const struct result_shape taped_result = {
	.name = "tape", .title = "A window of a run", .meaning = "A window of a run.",
	.shape = &taped_shape, .no_time = true, .no_version = true,
};
/* clang-format on */

int tape_open(struct arena *a, struct host *h, const char *file, struct tape **out,
	      const char **head, struct err *e)
{
	struct tape *t = ARENA_NEW(a, struct tape);
	char *text = NULL;
	size_t len = 0;
	int r = host_read(h, file, TAPE_MAX, a, &text, &len);

	*t = (struct tape){ .a = a, .h = h, .file = file };
	*out = t;
	*head = NULL;
	if (r == -ENOENT || r == -ENOTDIR || r == HOST_NOT_CAPTURED)
		return 0;
	if (r)
		return err_set(e, r, "%s: cannot read: %s", file, strerror(-r));
	t->text = arena_strndup(a, text, len);
	t->len = len;
	for (char *at = text, *nl; (nl = memchr(at, '\n', (size_t)(text + len - at))) != NULL;
	     at = nl + 1) {
		struct taped one;
		struct err ignored = { 0 };

		*nl = '\0';
		if (!*head) {
			*head = at;
			t->head = (size_t)(nl + 1 - text);
			continue;
		}
		if (nl - at > TAPE_LINE_MAX ||
		    result_shape_read(a, &taped_result, at, (size_t)(nl - at), &one, &ignored))
			break;
		one.ends = (size_t)(nl + 1 - text);
		ARENA_ADD(a, t->items, t->n) = one;
	}
	return 0;
}

/* Behind what counts of the file: a torn line, and windows of another order, go. */
static int tape_line(struct tape *t, const char *line, struct err *e)
{
	const char *text = arena_printf(t->a, "%s\n", line);
	size_t good = t->n ? t->items[t->n - 1].ends : t->head;
	int r = 0;

	if (good < t->len)
		r = host_put(t->h, t->file, t->text, good, 0600);
	t->len = 0;
	if (r == 0)
		r = host_append(t->h, t->file, text, strlen(text));
	return r ? err_set(e, r, "%s: cannot write: %s", t->file, strerror(-r)) : 0;
}

int tape_begin(struct tape *t, const char *head, struct err *e)
{
	t->n = t->at = t->head = 0;
	return tape_line(t, head, e);
}

size_t tape_windows(const struct tape *t)
{
	return t->n;
}

void tape_limit(struct tape *t, size_t n)
{
	t->n = n < t->n ? n : t->n;
}

/* --- time ------------------------------------------------------------------------------------- */

static bool is_playing(const struct tape *t)
{
	return t->at < t->n;
}

static double tape_now(void *ctx)
{
	struct tape *t = ctx;

	return is_playing(t) ? t->now_s : t->real.now(t->real.ctx) - t->ahead_s;
}

static void tape_wait(void *ctx, double seconds, const atomic_bool *stop)
{
	struct tape *t = ctx;

	t->real.wait(t->real.ctx, seconds, stop);
}

/* From here on the real clock counts, from where the file ends. */
static void tape_end(struct tape *t)
{
	t->n = t->at;
	t->ahead_s = t->real.now ? t->real.now(t->real.ctx) - t->now_s : 0;
}

void tape_clock(struct tape *t, const struct engine_clock *real, struct engine_clock *out)
{
	t->real = *real;
	t->now_s = 0;
	if (!t->n)
		tape_end(t);
	*out = (struct engine_clock){ tape_now, tape_wait, t };
}

/* --- windows ---------------------------------------------------------------------------------- */

bool tape_play(struct tape *t, struct proof_window *w, int *code, struct err *e)
{
	const struct taped *x;

	if (!is_playing(t))
		return false;
	x = &t->items[t->at];
	if (x->w.part != w->part || x->w.pair != w->pair || x->w.b != w->b || x->w.n != w->n ||
	    strcmp(x->w.state, w->state) != 0) {
		tape_end(t);
		return false;
	}
	*w = x->w;
	*code = (int)x->code;
	if (*code)
		err_set(e, *code, "%s", w->fault ? w->fault : "");
	t->now_s = x->end_s;
	if (++t->at == t->n)
		tape_end(t);
	return true;
}

int tape_record(struct tape *t, const struct proof_window *w, int code, struct err *e)
{
	const struct taped one = { .w = *w, .code = code, .end_s = tape_now(t) };
	ARENA_AUTO a = { 0 };
	const char *text =
		json_take_text(&a, result_shape_json(&taped_result, &one, 0, 0), JSON_COMPACT);
	struct err said = { 0 };
	int r;

	if (!text)
		abort();
	r = tape_line(t, text, &said);
	if (r)
		*e = said;
	return r ? r : code;
}
