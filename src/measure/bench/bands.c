/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of bands. A row says who measured it and when; where only one figure was published, the
 * band is that figure and a tenth to either side, and the source says "one".
 */
#include <fnmatch.h>
#include <string.h>

#include "measure/bench/bands.h"

#define GB10_CPU "one machine, Chips and Cheese on GB10's memory from the CPU side"

const struct band bands[] = {
	{ "dgx-spark", "cpu-frequency", "one:Cortex-X925", "frequency", "mhz", 0, 3850, 4010,
	  GB10_CPU " (3.9 and 4.0 GHz by cluster); Arm's learning path (4004 MHz)", "2025-12" },
	{ "dgx-spark", "cpu-frequency", "one:Cortex-A725", "frequency", "mhz", 0, 2780, 2870,
	  GB10_CPU " (2.8 GHz); Arm's learning path (2860 MHz)", "2025-12" },
	{ "dgx-spark", "memory-latency", "256MiB:huge", "latency", "ns", 0, 102, 124,
	  GB10_CPU " (113 ns)", "2025-12" },
	{ "EPYC 9654", "memory-bandwidth", "triad", "rate", "gb_per_s", 1, 340, 400,
	  "one: Micron, STREAM with DDR5-4800 (378 GB/s a socket)", "2022-11" },
	{ "EPYC 9654", "memory-bandwidth", "triad", "rate", "gb_per_s", 2, 650, 800,
	  "Micron, STREAM with DDR5-4800 (2 x 378 GB/s); Azure, HBv4 (650 to 780 GB/s)",
	  "2022-11" },
	{ "NVIDIA GB10", "gpu-memory", "read:gpu*", "rate", "gb_per_s", 0, 220, 245,
	  "one: antirez, ds4 issue 773 (231 to 234 GB/s)", "2026" },
	{ "NVIDIA GB10", "gemm", "bf16:8192", "rate", "tflop_per_s", 0, 88, 100,
	  "load signature of healthy machines (91 to 92); torch rebuilt for the chip (96 to 97); "
	  "stock libraries reach 63",
	  "2026" },
	{ "NVIDIA H200", "gpu-memory", "copy*:gpu*", "rate", "gb_per_s", 0, 3950, 4450,
	  "nvbandwidth 0.8 (2 x 2082 GB/s); torch (4257 GB/s); this program in six runs (4243 "
	  "by the driver to 4349)",
	  "2026-11" },
	{ "NVIDIA H200", "copy", "h2d:gpu?", "rate", "gb_per_s", 0, 48, 58,
	  "Azure's health check (at least 48); nvbandwidth 0.8 (55.5)", "2026" },
	{ "NVIDIA H200", "copy", "d2h:gpu?", "rate", "gb_per_s", 0, 48, 58,
	  "Azure's health check (at least 48); nvbandwidth 0.8 (55.4)", "2026" },
	{ "NVIDIA H200", "copy", "peer-write:gpu*-gpu*", "rate", "gb_per_s", 0, 385, 405,
	  "nvbandwidth 0.8 on four and eight (394.1 to 396.5); this program on both (394 to 396.5)",
	  "2026-11" },
	{ "NVIDIA H200", "copy", "peer-read:gpu*-gpu*", "rate", "gb_per_s", 0, 385, 405,
	  "this program on four and eight (393.7 to 394.0)", "2026-11" },
	{ "NVIDIA H200", "copy", "peer-both:gpu*-gpu*", "rate", "gb_per_s", 0, 765, 800,
	  "nvbandwidth 0.8 on four and eight (778.8 to 783.9); this program on both (783.6 to 784)",
	  "2026-11" },
	{ "NVIDIA H200", "gemm", "bf16:8192", "rate", "tflop_per_s", 0, 657, 800,
	  "torch with random data on several machines (657 to 798); MAMF (794)", "2026" },
	{ "NVIDIA H200", "gemm", "fp8-e4m3:8192", "rate", "tflop_per_s", 0, 1180, 1460,
	  "torch with random data (1237 to 1339); MAMF (1453); this program in six runs (1195 "
	  "to 1335)",
	  "2026-11" },
	{ "NVIDIA H200", "gemm", "tf32:8192", "rate", "tflop_per_s", 0, 335, 370,
	  "torch (343 to 358); gpu-burn (359); this program in six runs (342 to 362)", "2026-11" },
	{ "NVIDIA H200", "gemm", "fp64:8192", "rate", "tflop_per_s", 0, 53, 64,
	  "torch (54.5 to 61.1); this program in six runs (55.0 to 60.7): the power cap "
	  "decides",
	  "2026-11" },
	{ "NVIDIA H100 80GB HBM3", "gemm", "bf16:8192", "rate", "tflop_per_s", 0, 720, 800,
	  "Nebius, 8 of them (729 to 731); gpu-fryer (730); MAMF (794)", "2025" },
	{ "NVIDIA H100 80GB HBM3", "gemm", "fp8-e4m3:8192", "rate", "tflop_per_s", 0, 1390, 1540,
	  "MAMF (1403); gpu-fryer (1530)", "2025" },
	{ "NVIDIA H100 80GB HBM3", "gemm", "tf32:8192", "rate", "tflop_per_s", 0, 335, 410,
	  "one: gpu-fryer (373)", "2025" },
	{ "NVIDIA H100 80GB HBM3", "copy", "h2d:gpu?", "rate", "gb_per_s", 0, 48, 58,
	  "Azure's health check for ND H100 v5 (at least 48); typical (55)", "2025" },
};
const size_t band_count = sizeof(bands) / sizeof(bands[0]);

/* Whether the row is about the hardware that this case runs on. */
static bool is_of(const struct band *b, const struct machine *m, const char *hardware, bool whole)
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
	for (size_t i = 0; i < band_count; i++) {
		const struct band *b = &bands[i];

		if (strcmp(b->bench, bench) == 0 && strcmp(b->figure, figure->key) == 0 &&
		    strcmp(b->unit, figure->unit) == 0 && is_of(b, m, hardware, whole) &&
		    is_named(b, name))
			return (struct record_band){
				true, b->low, b->high, arena_printf(a, "%s, %s", b->source, b->date)
			};
	}
	return (struct record_band){ .source = "unknown: no band is known for this hardware" };
}

/*
 * Data sheets of memory bandwidth, one row each, and the frequency that the kernel calls the
 * highest. What no sheet and no fact tells stays unknown, with the reason.
 */

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
