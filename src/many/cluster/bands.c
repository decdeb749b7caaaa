/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table. A row says who measured it and when; where only one figure was published, the band is
 * that figure and a tenth to either side, and the source says "one".
 */
#include "many/cluster/check.h"

#include <fnmatch.h>
#include <string.h>

#define GUIDE "NVIDIA's benchmarking guide for two DGX Sparks (92.6 and 97.3, together 189.9)"

const struct band cluster_bands[] = {
	{ "dgx-spark", "rdma-write", "one:200000:*", "rate", "gbit_per_s", 0, 90, 110,
	  GUIDE "; DAQIRI's benchmarks (97.6 to 102)", "2026" },
	{ "dgx-spark", "rdma-read", "one:200000:*", "rate", "gbit_per_s", 0, 88, 110,
	  "one: as for writes, DAQIRI's benchmarks (97.6 to 102)", "2026" },
	{ "dgx-spark", "rdma-write", "both:200000:*", "rate", "gbit_per_s", 0, 175, 202,
	  GUIDE "; NVIDIA's set-up program wants 175", "2026-07" },
	{ "dgx-spark", "rdma-read", "both:200000:*", "rate", "gbit_per_s", 0, 170, 202,
	  "one: as for writes; NVIDIA's set-up program wants 175", "2026-07" },
	{ "dgx-spark", "tcp", "one:200000:*", "rate", "gbit_per_s", 0, 86, 108,
	  "one: wisp.net.au, iperf3 with a switch (96 with one flow)", "2026" },
	{ "dgx-spark", "tcp", "both:200000:*", "rate", "gbit_per_s", 0, 150, 200,
	  "wisp.net.au and warehack.ing, iperf3 over both halves (160 to 198)", "2026" },
	{ "dgx-spark", "nccl-latency", "all-reduce:8B", "latency", "us", 0, 40, 90,
	  "two machines, NCCL's small all-reduces (67 to 77 us for 10 KiB)", "2026" },
	{ "dgx-spark", "nccl", "all-gather:64MiB", "rate", "gb_per_s", 0, 17, 22,
	  "two and three machines at 32 to 64 MiB (16.9 to 18.9)", "2026-08" },
	{ "dgx-spark", "nccl", "all-gather:1GiB", "rate", "gb_per_s", 0, 21, 25,
	  "two machines at 16 GiB (23.2 to 24.3); NVIDIA's set-up program wants 21.9", "2026-07" },
	{ "NVIDIA H100 80GB HBM3", "rdma-write", "one:400000:*", "rate", "gbit_per_s", 0, 360, 400,
	  "Azure's health check (at least 380 with GPU memory); NCCL issue 2409 (392 at 128 KiB)",
	  "2026" },
	{ "NVIDIA H200", "rdma-write", "one:400000:*", "rate", "gbit_per_s", 0, 350, 400,
	  "Azure's health check (at least 360 with GPU memory); NCCL issue 2409 (392 at 128 KiB)",
	  "2026" },
};
const size_t cluster_band_count = sizeof(cluster_bands) / sizeof(cluster_bands[0]);

/* What a capture says a machine is, its live wires are not. */
static bool is_of(const struct band *b, const struct cluster_node *n)
{
	if (fact_or(&n->captured, 0))
		return false;
	return strcmp(b->hardware, fact_text(&n->platform, "")) == 0 ||
	       strcmp(b->hardware, fact_text(&n->gpu, "")) == 0;
}

/* "one:200000:cable", "all-reduce:8B". */
static const char *name_of(struct arena *a, const struct check *c, const struct check_result *r)
{
	const struct check_path *p;
	long long speed, other;

	if (r->operation || r->path == CHECK_NONE)
		return r->operation ? r->operation : "";
	p = &c->paths[r->path];
	speed = fact_or(&check_port(c, p->a)->speed_mbps, 0);
	other = fact_or(&check_port(c, p->b)->speed_mbps, 0);
	return arena_printf(a, "%s:%lld:%s", r->together ? "both" : "one",
			    speed < other ? speed : other, p->cable ? "cable" : "switch");
}

struct record_band cluster_band(struct arena *a, const struct check *c,
				const struct check_result *r)
{
	const struct check_kind *k = &check_kinds[r->test];
	const char *name = name_of(a, c, r);

	for (size_t i = 0; i < cluster_band_count && k->unit; i++) {
		const struct band *b = &cluster_bands[i];

		if (strcmp(b->bench, k->name) == 0 && fnmatch(b->name, name, 0) == 0 &&
		    is_of(b, check_node(c, r->from)) && is_of(b, check_node(c, r->to)))
			return (struct record_band){
				true, b->low, b->high, arena_printf(a, "%s, %s", b->source, b->date)
			};
	}
	return (struct record_band){ .source = "unknown: no band is known for this path" };
}
