/* SPDX-License-Identifier: Apache-2.0 */
/* A window that is one run of the user's own program. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "machine/host/command.h"
#include "measure/prove/window.h"

enum { OUTPUT_MAX = 256 << 10, SAID = 160 };

struct running {
	struct workload w;
	struct metric *metric;
	char **argv;
};

static int workload_judge(const struct running *s, struct arena *a, const struct command_result *r,
			  struct window_reading *out, struct err *e)
{
	const char *said = command_last_line(a, *r->errors ? r->errors : r->output, SAID);
	int code;

	if (r->status)
		return err_set(e, -EBADMSG, "%s ended with %s %d%s%s", s->argv[0],
			       r->status > 128 ? "signal" : "status",
			       r->status > 128 ? r->status - 128 : r->status, *said ? ": " : "",
			       said);
	out->samples = 1;
	out->value[0] = r->seconds;
	code = metric_is_wall(s->metric) ? 0 : metric_find(s->metric, r->output, &out->value[0], e);
	if (code)
		return code;
	if (!isfinite(out->value[0]) || out->value[0] <= 0)
		return err_set(e, -EDOM, "%s: %g has no ratio to anything", s->w.metric,
			       out->value[0]);
	return 0;
}

static int workload_measure(struct window *w, struct window_reading *out, struct err *e)
{
	struct running *s = w->state;
	struct command_of_user how = { .limit_ms = (int)(s->w.limit_s * 1e3),
				       .max = OUTPUT_MAX,
				       .stop = s->w.stop };
	struct command_result result = { 0 };
	struct arena own = { 0 };
	int r = command_run_own(&own, s->argv, &how, &result);

	if (r == 0)
		r = workload_judge(s, &own, &result, out, e);
	else if (r == -ETIME)
		r = err_set(e, -EBADMSG, "%s did not end within %.0f s", s->argv[0], s->w.limit_s);
	else if (r != -EINTR)
		err_set(e, r, "%s cannot be run: %s", s->argv[0], strerror(-r));
	arena_free(&own);
	return r;
}

static void close_it(struct window *w)
{
	metric_free(((struct running *)w->state)->metric);
}

int window_command(struct arena *a, const struct workload *w, struct window *out, struct err *e)
{
	struct running *s = ARENA_NEW(a, struct running);
	int r = words_split(a, w->command, &s->argv, e);
	bool wall;

	if (r == 0)
		r = metric_parse(a, w->metric, &s->metric, e);
	if (r)
		return r;
	s->w = *w;
	wall = metric_is_wall(s->metric);
	*out = (struct window){ .kind = "command",
				.name = arena_strdup(a, w->command),
				.setup = "",
				.of = arena_strdup(a, w->metric),
				.argv = (const char *const *)s->argv,
				.n_figures = 1,
				.measure = workload_measure,
				.close = close_it,
				.state = s };
	out->figures[0] =
		(struct bench_figure){ .key = wall ? "wall" : "metric",
				       .title = wall ? "time from start to end" : "what it printed",
				       .unit = wall ? "s" : "",
				       .unit_text = wall ? "s" : "",
				       .better = wall ? BENCH_LOWER : w->better };
	return 0;
}

void window_close(struct window *w)
{
	if (w->close)
		w->close(w);
	w->close = NULL;
}
