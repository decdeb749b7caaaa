/* SPDX-License-Identifier: Apache-2.0 */
/* A front drawn: tokens a second over latency, both logarithmic, a letter a point. */
#include "render/chart.h"
#include "models/inference/page_advise.h"
#include "render/figure.h"

void front_plot(struct doc *d, const struct front *f, const struct sweep_point *const *p, size_t n)
{
	struct chart_series *s = arena_array(d->arena, n ? n : 1, sizeof(*s));
	const struct chart c = { .x_title = "latency, ms",
				 .y_title = "tokens a second of all requests",
				 .log_x = true,
				 .log_y = true,
				 .series = s,
				 .n = n };

	/* Later ones are drawn over earlier ones: the first letter stays where two meet. */
	for (size_t i = 0; i < n; i++) {
		const struct sweep_point *it = p[n - 1 - i];
		const char **tip = arena_array(d->arena, 1, sizeof(*tip));

		*tip = arena_printf(d->arena, "%s, %d requests: %s ms, %s tokens/s, %.1f GB",
				    it->way->q.ask.weights->name, it->batch,
				    figure_number(d->arena, it->latency),
				    figure_number(d->arena, it->o.throughput),
				    it->o.bytes_all / 1e9);
		s[i] = (struct chart_series){ .mark = front_letter(n - 1 - i),
					      .x = &it->latency,
					      .y = &it->o.throughput,
					      .tips = tip,
					      .n = 1 };
	}
	chart_add(d,
		  arena_printf(d->arena,
			       "Tokens a second over latency: what no other mixture beats, "
			       "requests of %.0f + %.0f tokens",
			       f->depth + f->prompt, f->output),
		  &c);
}
