/* SPDX-License-Identifier: Apache-2.0 */
/* Which band and which limit a figure has. */
#include <fnmatch.h>
#include <string.h>

#include "measure/bench/bench.h"

/* Whether the row is about the hardware that this case runs on. */
static bool bench_bands_is_of(const struct band *b, const struct machine *m, const char *hardware,
			      bool whole)
{
	bool part = fact_or(&m->platform.virtual_, 0) || fact_or(&m->cpu.hypervisor, 0);

	if (b->sockets && (!whole || (long long)b->sockets != fact_or(&m->cpu.sockets, 0)))
		return false;
	if (hardware)
		return strcmp(b->hardware, hardware) == 0;
	return !part && (strcmp(b->hardware, fact_text(&m->platform.kind, "")) == 0 ||
			 strstr(fact_text(&m->cpu.model, ""), b->hardware) != NULL);
}

/* Where there are several GPUs a case's name ends in which of them. */
static bool is_named(const struct band *b, const char *name)
{
	const char *gpu = strstr(name, ":gpu");

	return fnmatch(b->name, name, 0) == 0 ||
	       (gpu && strncmp(b->name, name, (size_t)(gpu - name)) == 0 && !b->name[gpu - name]);
}

struct record_band band_of(struct arena *a, const struct machine *m, bool whole,
			   const char *hardware, const char *bench, const char *name,
			   const struct record_series *figure)
{
	for (size_t i = 0; i < n_bands; i++) {
		const struct band *b = &bands[i];

		if (strcmp(b->bench, bench) == 0 && strcmp(b->figure, figure->key) == 0 &&
		    strcmp(b->unit, figure->unit) == 0 &&
		    bench_bands_is_of(b, m, hardware, whole) && is_named(b, name))
			return (struct record_band){
				true, b->low, b->high, arena_printf(a, "%s, %s", b->source, b->date)
			};
	}
	return (struct record_band){ .source = "unknown: no band for this hardware" };
}

/*
 * Data sheets of memory bandwidth, and the frequency that the kernel calls the highest. What no
 * sheet and no fact tells stays unknown, with the reason.
 */

static const struct limit_row *bench_bands_row_of(const struct machine *m)
{
	const char *kind = fact_text(&m->platform.kind, ""), *model = fact_text(&m->cpu.model, "");

	for (size_t i = 0; i < n_memory_limits; i++) {
		const struct limit_row *r = &memory_limits[i];

		if (r->platform ? strcmp(kind, r->part) == 0 : str_has_word(model, r->part))
			return r;
	}
	return NULL;
}

double limit_sockets(const struct machine *m, const struct idset *cpus, int node)
{
	double sockets = (double)fact_or(&m->cpu.sockets, 1);
	size_t all = 0, used = 0;

	/* A socket may be several nodes, and one node several sockets. */
	LIST_FOR_EACH (const struct numa_node, n, &m->cpu.nodes) {
		if (!idset_count(&n->cpus.v))
			continue;
		all++;
		used += node < 0 ? idset_intersects(&n->cpus.v, cpus) : (int)n->index == node;
	}
	if (!all)
		return node < 0 ? sockets : 0;
	return sockets * (double)used / (double)all;
}

struct bench_limit limit_memory(const struct bench_env *env, double sockets)
{
	const struct machine *m = env->m;
	const struct limit_row *r;

	if (!(sockets > 0))
		return (struct bench_limit){ .source = "unknown: memory of a node without CPUs" };
	if (fact_or(&m->platform.virtual_, 0) || fact_or(&m->cpu.hypervisor, 0))
		return (struct bench_limit){
			.source = "unknown: memory is not reported in a virtual machine"
		};
	r = bench_bands_row_of(m);
	if (!r)
		return (struct bench_limit){ .source =
						     "unknown: channels and rate of this memory" };
	return (struct bench_limit){
		true, r->gb_s * sockets,
		arena_printf(env->a, "data sheet: %s%s (%s, %s)", r->what,
			     r->platform ? "" : " per socket, if all slots are filled", r->source,
			     r->date)
	};
}

struct bench_limit limit_frequency(const struct bench_env *env, const struct idset *cpus)
{
	long long khz = 0;

	LIST_FOR_EACH (const struct freq_policy, p, &env->m->cpu.policies) {
		long long most = fact_or(&p->hw_max_khz, 0);

		if (idset_intersects(&p->cpus.v, cpus) && most > khz)
			khz = most;
	}
	if (!khz)
		return (struct bench_limit){
			.source = "unknown: no cpufreq policy reports a maximum frequency here"
		};
	return (struct bench_limit){ true, (double)khz / 1e3,
				     "read: cpuinfo_max_freq, the maximum of a single active core; "
				     "all cores together run slower" };
}
