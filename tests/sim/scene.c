/* SPDX-License-Identifier: Apache-2.0 */
/* What each disturbance does to a window. */
#include "scene.h"

#include <math.h>

static double uniform(struct stat_random *r)
{
	return (double)(stat_random_next(r) >> 11) / 9007199254740992.0;
}

void scene_start(struct scene *s, enum scene_kind kind, double noise, unsigned long long seed)
{
	struct stat_random r = { seed };

	*s = (struct scene){ .kind = kind, .noise = noise, .random = { stat_random_next(&r) } };
	s->wander = noise * stat_random_normal(&s->random);
	s->shift = noise * stat_random_normal(&s->random);
	s->high = uniform(&s->random) < 0.5;
	s->b = uniform(&s->random) < 0.5;
	s->step_at = stat_random_below(&s->random, 48);
}

/* In units of the noise, besides its own normal one. */
static double disturbance(struct scene *s, double t)
{
	switch (s->kind) {
	case SCENE_SKEWED:
		return uniform(&s->random) < 0.1 ? 4 * log(uniform(&s->random) + 1e-9) : 0;
	case SCENE_DRIFT:
		return -10 * t / 96;
	case SCENE_WARMING:
		return -10 * exp(-t / 5);
	case SCENE_STATES:
		if (uniform(&s->random) < 0.1)
			s->high = !s->high;
		return s->high ? 4 : 0;
	case SCENE_STEP:
		return s->t >= s->step_at ? -10 : 0;
	case SCENE_POLLER:
		return s->t % 2 ? -2 : 0;
	case SCENE_PERIOD:
		return s->t % 4 == 0 ? -4 : 0;
	default:
		return 0;
	}
}

double scene_window(struct scene *s, bool b)
{
	double z = stat_random_normal(&s->random), x = z + disturbance(s, (double)s->t);

	if (s->kind == SCENE_GROWING)
		x = z * pow(10, (double)s->t / 96 - 0.5);
	if (s->kind == SCENE_ROUNDED)
		x = round(z);
	if (b != s->b || s->kind == SCENE_RESTART)
		s->shift = s->noise * stat_random_normal(&s->random);
	s->b = b;
	s->t++;
	s->wander = 0.95 * s->wander + s->noise * sqrt(1 - 0.95 * 0.95) * z;
	if (s->kind == SCENE_WANDER)
		return s->wander;
	if (s->kind == SCENE_RESTART || s->kind == SCENE_KEPT)
		return s->noise * x + s->shift;
	return s->noise * x;
}

double scene_pair(struct scene *s, bool b_first, double effect)
{
	double first = scene_window(s, b_first), second = scene_window(s, !b_first);

	return (b_first ? first - second : second - first) + effect;
}

const char *scene_name(enum scene_kind k)
{
	static const char *const names[] = { "quiet",
					     "skewed",
					     "drift",
					     "warming up",
					     "wandering",
					     "two states",
					     "one step",
					     "poller",
					     "period of four",
					     "growing noise",
					     "rounded",
					     "restart noise",
					     "restart noise, states kept" };

	return names[k];
}
