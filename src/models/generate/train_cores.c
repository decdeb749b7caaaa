/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPUs of a machine are for beside its GPUs: workers that load data, threads. */
#include <math.h>

#include "models/generate/train_setup.h"

enum { WORKERS_MOST = 16, WORKERS_GUESS = 4 };

/* CPUs and cores of the poorest machine; 0: not known. */
static void cpus_of(const struct gen_cluster *c, long long *threads, long long *cores, int *nodes)
{
	*threads = *cores = *nodes = 0;
	for (size_t i = 0; c && i < c->n; i++) {
		const struct machine *m = c->nodes[i].facts;
		long long t = m ? fact_or(&m->cpu.threads, 0) : 0;
		long long k = m ? fact_or(&m->cpu.cores, 0) : 0;

		if (t > 0 && (!*threads || t < *threads)) {
			*threads = t;
			*cores = k > 0 ? k : t;
			*nodes = (int)m->cpu.nodes.n;
		}
	}
}

static void workers(struct arena *a, struct train_setup *s, long long threads)
{
	const struct train_question *q = &s->after->q;
	double rate = s->after->time.total.value > 0
			      ? q->micro_batch * q->accumulation / s->after->time.total.value
			      : 0;
	/* One CPU of a GPU's share stays with the process that trains. */
	int room = threads > 0 ? (int)(threads / s->gpus_each) - 1 : WORKERS_GUESS;
	double need;

	room = room < 1 ? 1 : room > WORKERS_MOST ? WORKERS_MOST : room;
	if (q->loader_s > 0 && rate > 0) {
		need = fmax(1, ceil(rate * q->loader_s * 1.25));
		s->workers = (int)fmin(need, room);
		s->workers_why = arena_printf(
			a,
			"%.2f samples a second and GPU (predicted) x %.4g s a sample (measured) "
			"keep %.2f workers busy; a quarter more%s",
			rate, q->loader_s, rate * q->loader_s,
			need > room ? arena_printf(a,
						   ", but only %d fit on the CPUs: loading "
						   "will hold training back",
						   room)
				    : "");
	} else {
		s->workers = room < WORKERS_GUESS ? room : WORKERS_GUESS;
		s->workers_why = arena_printf(
			a, "how long a sample takes was not told (--loader): %d, %s", s->workers,
			threads > 0 ? arena_printf(a, "of the %lld CPUs that each GPU has",
						   threads / s->gpus_each)
				    : "and how many CPUs there are is not known either");
	}
	s->prefetch = q->loader_s > 0 && s->workers == room ? 4 : 2;
	s->prefetch_why =
		s->prefetch == 4 ? "batches of each worker that wait: more, because the workers "
				   "are all that fit"
				 : "batches of each worker that wait: enough where workers keep up";
}

void train_setup_cores(struct arena *a, const struct gen_cluster *cluster, struct train_setup *s)
{
	long long threads, cores;
	int each;

	cpus_of(cluster, &threads, &cores, &s->numa_nodes);
	workers(a, s, threads);
	each = cores > 0 ? (int)(cores / s->gpus_each) - s->workers : 1;
	s->threads = each < 1 ? 1 : each > 8 ? 8 : each;
	s->threads_why =
		cores > 0 ? arena_printf(a,
					 "%lld cores for each GPU, %d of them for loader workers; "
					 "torchrun alone would say 1",
					 cores / s->gpus_each, s->workers)
			  : "how many cores there are is not known: torchrun's own value";
}
