/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data sheets of memory bandwidth, one row each, and the frequency that the kernel calls the
 * highest. What no sheet and no fact tells stays unknown, with the reason.
 */
#include "measure/bench/limit_table.h"

#include <string.h>

/*
 * Channels x 8 bytes x transfers a second of one socket, as the vendor's sheet gives channels and
 * the highest rate with one module a channel. What is in the slots, no fact tells.
 */
const struct limit_row memory_limits[] = {
	{ "dgx-spark", NULL, 273, "256 bits of LPDDR5X-8533, shared with the GPU",
	  "NVIDIA, DGX Spark hardware overview", "2025-10" },
	{ "igx-orin", NULL, 204.8, "256 bits of LPDDR5-6400",
	  "NVIDIA, Jetson AGX Orin technical brief (the same chip)", "2022" },
	{ NULL, "8480C", 307.2, "8 channels of DDR5-4800", "Intel, 4th generation Xeon",
	  "2023-01" },
	{ NULL, "8480+", 307.2, "8 channels of DDR5-4800", "Intel, 4th generation Xeon",
	  "2023-01" },
	{ NULL, "8462Y+", 307.2, "8 channels of DDR5-4800", "Intel, 4th generation Xeon",
	  "2023-01" },
	{ NULL, "8470", 307.2, "8 channels of DDR5-4800", "Intel, 4th generation Xeon", "2023-01" },
	/* The highest of the family: parts below it take slower memory. */
	{ NULL, "8558", 358.4, "8 channels of at most DDR5-5600", "Intel, 5th generation Xeon",
	  "2023-12" },
	{ NULL, "8568Y+", 358.4, "8 channels of at most DDR5-5600", "Intel, 5th generation Xeon",
	  "2023-12" },
	{ NULL, "EPYC 9654", 460.8, "12 channels of DDR5-4800", "AMD, EPYC 9004 series",
	  "2022-11" },
	{ NULL, "EPYC 9554", 460.8, "12 channels of DDR5-4800", "AMD, EPYC 9004 series",
	  "2022-11" },
};
const size_t memory_limit_count = sizeof(memory_limits) / sizeof(memory_limits[0]);

/* The part as a word of its own: an 8558P is no 8558. */
static bool names(const char *model, const char *part)
{
	size_t n = strlen(part);

	for (const char *at = strstr(model, part); at; at = strstr(at + 1, part))
		if ((at == model || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	return false;
}

static const struct limit_row *row_of(const struct machine *m)
{
	const char *kind = fact_text(&m->platform.kind, ""), *model = fact_text(&m->cpu.model, "");

	for (size_t i = 0; i < memory_limit_count; i++) {
		const struct limit_row *r = &memory_limits[i];

		if (r->platform ? strcmp(kind, r->platform) == 0 : names(model, r->model))
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
		return (struct bench_limit){ .source = "unknown: no fact tells what memory a node "
						       "without CPUs has" };
	if (fact_or(&m->platform.virtual_, 0) || fact_or(&m->cpu.hypervisor, 0))
		return (struct bench_limit){ .source = "unknown: a virtual machine does not tell "
						       "what memory it has" };
	r = row_of(m);
	if (!r)
		return (struct bench_limit){
			.source = "unknown: no fact tells channels and rate of this memory"
		};
	return (struct bench_limit){ true, r->gb_s * sockets,
				     arena_printf(env->a, "data sheet: %s%s (%s, %s)", r->what,
						  r->platform ? "" : " a socket, if all are filled",
						  r->source, r->date) };
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
			.source = "unknown: no cpufreq policy tells a highest frequency here"
		};
	return (struct bench_limit){
		true, (double)khz / 1e3,
		"read: cpuinfo_max_freq, which one core alone may reach; with all cores it is less"
	};
}
