/* SPDX-License-Identifier: Apache-2.0 */
/* Which band a path has. */
#include "many/cluster/check.h"

#include <fnmatch.h>
#include <string.h>

/* What a capture says a machine is, its live wires are not. */
static bool is_of(const struct band *b, const struct cluster_node *n)
{
	if (fact_or(&n->captured, 0))
		return false;
	return strcmp(b->hardware, fact_text(&n->platform, "")) == 0 ||
	       strcmp(b->hardware, fact_text(&n->gpu, "")) == 0;
}

/* "one:200000:cable", "all-reduce:8B". */
static const char *cluster_bands_name_of(struct arena *a, const struct check *c,
					 const struct check_result *r)
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
	const char *name = cluster_bands_name_of(a, c, r);

	for (size_t i = 0; i < n_cluster_bands && k->unit; i++) {
		const struct band *b = &cluster_bands[i];

		if (strcmp(b->bench, k->name) == 0 && fnmatch(b->name, name, 0) == 0 &&
		    is_of(b, check_node(c, r->from)) && is_of(b, check_node(c, r->to)))
			return (struct record_band){
				true, b->low, b->high, arena_printf(a, "%s, %s", b->source, b->date)
			};
	}
	return (struct record_band){ .source = "unknown: no band is known for this path" };
}
