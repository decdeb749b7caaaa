/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long it takes until a thread that sleeps runs because another one woke it: the way of work
 * between threads (data loaders, communication proxies). By futex, between two pinned threads.
 */
#include <errno.h>
#include <linux/futex.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/bench/bench.h"

enum { TURNS_MAX = 100, NODES_MOST = 8, WAIT_S = 2 };

/* Long enough that the other one is asleep, and its CPU idle. */
static const double pause_ns = 50e3;

struct hand_arg {
	unsigned cpu[2];
	size_t turns; /* each way, a sample */
};

/* What one thread waits for. A line of its own: the other thread's must not share it. */
struct hand {
	_Alignas(128) _Atomic uint32_t word;
	double sent_ns;
	size_t n, awake, lost; /* woken; had not slept yet; nobody woke it */
	double took_ns[TURNS_MAX];
};

struct hands {
	const struct hand_arg *arg;
	struct workers *workers;
	struct hand side[2];
	double all_us[2 * TURNS_MAX];
	uint32_t turn; /* both words before a sample */
	size_t early, given, taken;
};

static double now_ns(void)
{
	return (double)clock_mono_ns();
}

static void futex_pingpong_give(struct hand *to)
{
	double end = now_ns() + pause_ns;

	while (now_ns() < end)
		;
	to->sent_ns = now_ns();
	atomic_fetch_add(&to->word, 1);
	syscall(SYS_futex, &to->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* False when nobody came. */
static bool futex_pingpong_take(struct hand *mine, uint32_t seen)
{
	struct timespec most = { WAIT_S, 0 };
	bool slept = false;

	while (atomic_load(&mine->word) == seen) {
		if (syscall(SYS_futex, &mine->word, FUTEX_WAIT_PRIVATE, seen, &most, NULL, 0) ==
		    0) {
			slept = true;
			continue;
		}
		if (errno == ETIMEDOUT) {
			mine->lost++;
			return false;
		}
	}
	if (slept)
		mine->took_ns[mine->n++] = now_ns() - mine->sent_ns;
	else
		mine->awake++;
	return true;
}

static void futex_pingpong_exchange(void *ctx, size_t i)
{
	struct hands *s = ctx;
	struct hand *mine = &s->side[i], *other = &s->side[1 - i];
	uint32_t seen = s->turn;

	mine->n = 0;
	for (size_t k = 0; k < s->arg->turns; k++) {
		if (i == 0)
			futex_pingpong_give(other);
		if (!futex_pingpong_take(mine, seen++))
			return;
		if (i == 1)
			futex_pingpong_give(other);
	}
}

static void hand_teardown(void *state)
{
	struct hands *s = state;

	if (s->workers)
		workers_end(s->workers);
}

static int hand_setup(const struct bench_env *env, const struct bench_case *c, void *state,
		      const char **variant, struct err *e)
{
	struct hands *s = state;
	struct idset cpus = { 0 };

	s->arg = c->arg;
	idset_add(env->a, &cpus, s->arg->cpu[0]);
	idset_add(env->a, &cpus, s->arg->cpu[1]);
	*variant = "futex, normal scheduling";
	return workers_start(&cpus, &s->workers, e);
}

static int hand_run(void *state, struct bench_sample *out, struct err *e)
{
	struct hands *s = state;
	size_t n = 0;

	s->turn = atomic_load(&s->side[0].word);
	workers_run(s->workers, futex_pingpong_exchange, s);
	for (size_t i = 0; i < 2; i++) {
		if (s->side[i].lost)
			return err_set(e, -ETIMEDOUT, "a thread was not woken within %d s", WAIT_S);
		for (size_t k = 0; k < s->side[i].n; k++) {
			double took = s->side[i].took_ns[k];

			s->early += took < 0;
			s->all_us[n++] = fmax(took, 1) / 1e3;
		}
	}
	s->given += 2 * s->arg->turns;
	s->taken += n;
	if (!n)
		return err_set(e, -EAGAIN, "no thread was asleep at its wake-up call");
	bench_times(out, s->all_us, n);
	return 0;
}

static int hand_verify(void *state, struct err *e)
{
	struct hands *s = state;
	size_t turns = atomic_load(&s->side[0].word);

	if (s->early)
		return err_set(e, -EILSEQ,
			       "%zu threads seemed to run before they were woken: the clocks of "
			       "CPUs %u and %u differ",
			       s->early, s->arg->cpu[0], s->arg->cpu[1]);
	if (turns != atomic_load(&s->side[1].word) || 2 * turns != s->given)
		return err_set(e, -EILSEQ, "%zu of %zu wake-ups arrived", 2 * turns, s->given);
	if (2 * s->taken < s->given)
		return err_set(e, -EILSEQ,
			       "only %zu of %zu threads were asleep when they were woken", s->taken,
			       s->given);
	return 0;
}

/* --- cases ------------------------------------------------------------------------------------ */

static void futex_pingpong_add(const struct bench_env *env, struct bench_cases *out,
			       const char *name, unsigned x, unsigned y)
{
	struct hand_arg *arg = ARENA_NEW(env->a, struct hand_arg);

	*arg = (struct hand_arg){ { x, y }, env->small ? 5 : TURNS_MAX };
	bench_case_add(env->a, out,
		       (struct bench_case){
			       .name = name,
			       .setup = arena_printf(env->a, "%zu wake-ups per sample, 50 us apart",
						     2 * arg->turns),
			       .placement = arena_printf(env->a, "threads on CPUs %u and %u", x, y),
			       .arg = arg });
}

/*
 * Two CPUs of one set. The third is taken where there are enough: threads of one core are numbered
 * either next to each other or half the machine apart.
 */
static bool futex_pingpong_pair(const struct idset *of, unsigned *x, unsigned *y)
{
	size_t n = idset_count(of), at = n >= 6 ? 2 : 1, i = 0;

	if (n < 2 || !of->n)
		return false;
	*x = of->r[0].lo;
	IDSET_FOR_EACH (id, of)
		if (i++ == at)
			*y = id;
	return true;
}

static void hand_cases(const struct bench_env *env, struct bench_cases *out)
{
	const struct cpus *m = &env->m->cpu;
	const struct numa_node *home = NULL;
	unsigned x = 0, y = 0;
	size_t others = 0;

	LIST_FOR_EACH (const struct core_type, t, &m->types) {
		struct idset of = idset_both(env->a, &t->cpus.v, &env->cpus);

		if (futex_pingpong_pair(&of, &x, &y))
			futex_pingpong_add(env, out,
					   m->types.n > 1 ? arena_printf(env->a, "near:%s", t->name)
							  : "near",
					   x, y);
	}
	if (!m->types.n && futex_pingpong_pair(&env->cpus, &x, &y))
		futex_pingpong_add(env, out, "near", x, y);
	LIST_FOR_EACH (const struct numa_node, n, &m->nodes) {
		struct idset of = idset_both(env->a, &n->cpus.v, &env->cpus);

		if (!of.n || others > NODES_MOST)
			continue;
		if (!others++) {
			home = n;
			x = of.r[0].lo;
			continue;
		}
		futex_pingpong_add(env, out,
				   arena_printf(env->a, "node%u-node%u", home->index, n->index), x,
				   of.r[0].lo);
	}
	if (!out->n)
		out->none = "two CPUs are required, but this process may run on only one";
}

const struct bench bench_hand_over = {
	.name = "hand-over",
	.title = "time until a sleeping thread runs after another thread wakes it",
	.method = "Two pinned threads wake each other in turns by futex. Before each wake-up the "
		  "waking thread spins for 50 us, so that the other one falls asleep. The time "
		  "runs from before the wake-up call to the woken thread's first clock reading. "
		  "Threads that were not yet asleep do not count. near: two CPUs of one core type; "
		  "node0-node1: of two NUMA nodes.",
	.version = 1,
	FIGURES(bench_times_figures),
	.observed_scale = 1e-3,
	.seconds = 1,
	.rounds = 3,
	.cases = hand_cases,
	.state_size = sizeof(struct hands),
	.setup = hand_setup,
	.run = hand_run,
	.verify = hand_verify,
	.teardown = hand_teardown,
	.no_limit = "unknown: no data sheet states the time to wake a thread",
};
