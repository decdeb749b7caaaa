/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences from places, NVLinks and narrow spots. The same facts give the same words. */
#include "render/topology.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "render/figure.h"

enum { ENDS_MAX = 36 };

size_t nvlinks_up(const struct gpu *g)
{
	size_t n = 0;

	if (g)
		LIST_FOR_EACH (struct nvlink, l, &g->links)
			n += fact_or(&l->active, 0) == 1;
	return n;
}

static bool to_switch(const struct nvlink *l)
{
	return fact_or(&l->active, 0) == 1 && fact_is(&l->remote_type, "switch");
}

const char *fabric_text(struct arena *a, const struct machine *m)
{
	size_t gpus = 0, fewest = (size_t)-1, most = 0;
	bool switched = false;
	long long speed = 0;

	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus) {
		size_t n = nvlinks_up(g);

		if (!n)
			continue;
		gpus++;
		fewest = n < fewest ? n : fewest;
		most = n > most ? n : most;
		LIST_FOR_EACH (struct nvlink, l, &g->links) {
			speed = fact_or(&l->active, 0) ? fact_or(&l->speed_mbs, speed) : speed;
			switched = switched || to_switch(l);
		}
	}
	if (!gpus)
		return NULL;
	return arena_printf(a, "%s: %zu GPUs, %zu%s%s links each%s%s%s",
			    switched ? "NVSwitch" : "NVLink between GPUs", gpus, fewest,
			    most > fewest ? " to " : "",
			    most > fewest ? arena_printf(a, "%zu", most) : "", speed ? ", " : "",
			    speed ? figure(a, "MB/s", speed) : "",
			    speed ? " a link and direction" : "");
}

static int by_address(const void *a, const void *b)
{
	return strcmp(((const struct nvswitch *)a)->address, ((const struct nvswitch *)b)->address);
}

/* Counts one more link to address. */
static size_t count_end(struct nvswitch *ends, size_t n, size_t most, const char *address)
{
	size_t i = 0;

	while (i < n && strcmp(ends[i].address, address) != 0)
		i++;
	if (i == n) {
		if (n == most)
			return n;
		ends[n++] = (struct nvswitch){ .address = address };
	}
	ends[i].links++;
	return n;
}

struct nvswitch *nvswitches(struct arena *a, const struct machine *m, size_t *n)
{
	struct nvswitch *ends = arena_array(a, ENDS_MAX, sizeof(*ends));

	*n = 0;
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		LIST_FOR_EACH (struct nvlink, l, &g->links)
			if (to_switch(l) && seen_ok(&l->remote.f))
				*n = count_end(ends, *n, ENDS_MAX, l->remote.v);
	if (*n)
		qsort(ends, *n, sizeof(*ends), by_address);
	return ends;
}

static const char *gpu_name(struct arena *a, const struct machine *m, const char *address)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (strcmp(g->pci, address) == 0)
			return arena_printf(a, "GPU %u", g->index);
	return address;
}

const char *nvlink_ends(struct arena *a, const struct machine *m, const struct gpu *g)
{
	struct nvswitch ends[ENDS_MAX] = { 0 };
	bool switched = false;
	TEXT_AUTO t = { 0 };
	size_t n = 0;

	LIST_FOR_EACH (struct nvlink, l, &g->links) {
		if (fact_or(&l->active, 0) != 1 || !seen_ok(&l->remote.f))
			continue;
		switched = switched || to_switch(l);
		n = count_end(ends, n, ENDS_MAX, l->remote.v);
	}
	if (!n)
		return nvlinks_up(g) ? "ends not visible here" : "";
	qsort(ends, n, sizeof(ends[0]), by_address);
	for (size_t i = 0; i < n; i++)
		if (switched)
			text_printf(&t, "%s%zu", i ? "+" : "", ends[i].links);
		else
			text_printf(&t, "%s%s x%zu", i ? ", " : "", gpu_name(a, m, ends[i].address),
				    ends[i].links);
	if (switched)
		text_printf(&t, " to %zu NVSwitch%s", n, n > 1 ? "es" : "");
	return arena_strndup(a, t.s, t.len);
}

const char *link_text(struct arena *a, const struct topology_place *p)
{
	if (!p->link || !p->link_max || strcmp(p->link, p->link_max) == 0)
		return p->link;
	return arena_printf(a, "%s of %s", p->link, p->link_max);
}

static bool any_link(const struct topology_place *p)
{
	bool any = p->link && p->link_max;

	for (size_t i = 0; i < p->n; i++)
		any = any || any_link(p->children[i]);
	return any;
}

const char *bottleneck_text(struct arena *a, const struct narrow *spots, size_t n,
			    const struct topology_place *machine)
{
	if (n)
		return arena_printf(
			a, "%s: %s%s%s%s: %s",
			spots[0].fault ? "Bottleneck" : "Narrowest, as it is built", spots[0].name,
			strstr(spots[0].name, spots[0].address) ? "" : " (",
			strstr(spots[0].name, spots[0].address) ? "" : spots[0].address,
			strstr(spots[0].name, spots[0].address) ? "" : ")", spots[0].reason);
	if (!machine->n)
		return "";
	return any_link(machine)
		       ? "No bottleneck: every link that was seen is as fast as both its ends."
		       : "No PCI Express link was seen here.";
}

static void place_words(struct arena *a, struct text *t, const struct topology_place *p)
{
	const char *link = link_text(a, p);

	text_printf(t, "%s%s%s%s%s", p->label, *p->detail ? ", " : "", p->detail, link ? ", " : "",
		    link ? link : "");
	for (size_t i = 0; i < p->n; i++) {
		text_add(t, i ? "; " : ": ");
		place_words(a, t, p->children[i]);
	}
	if (p->n && p->kind == PLACE_SWITCH)
		text_add(t, "; end of the switch");
}

static void nvlink_words(struct arena *a, struct text *t, const struct machine *m)
{
	const char *fabric = fabric_text(a, m);

	if (!fabric)
		return;
	text_printf(t, "%s. ", fabric);
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (nvlinks_up(g) < g->links.n)
			text_printf(t, "GPU %u has %zu of %zu NVLinks up. ", g->index,
				    nvlinks_up(g), g->links.n);
}

const char *topology_words(struct arena *a, const struct machine *m,
			   const struct topology_place *machine, const struct narrow *spots,
			   size_t n)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < machine->n; i++) {
		place_words(a, &t, machine->children[i]);
		text_add(&t, ". ");
	}
	nvlink_words(a, &t, m);
	if (!machine->n)
		text_add(&t, "No GPU, network adapter or NVMe disk was seen on the PCI bus.");
	else if (!n)
		text_add(&t, bottleneck_text(a, spots, n, machine));
	for (size_t i = 0; i < n; i++)
		text_printf(&t, "%sNarrow spot %zu%s: %s: %s.", i ? " " : "", i + 1,
			    i == 0 && spots[0].fault ? ", the bottleneck" : "", spots[i].name,
			    spots[i].reason);
	return arena_strndup(a, t.s, t.len);
}
