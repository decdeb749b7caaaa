/* SPDX-License-Identifier: Apache-2.0 */
/* The results of all verbs, and those that no verb prints as its own. */
#include "front/result_shapes.h"

#include <stdlib.h>
#include <string.h>

#include "front/report/page_report.h"
#include "look/monitor/recording.h"
#include "many/cluster/messages.h"
#include "measure/prove/ledger.h"
#include "models/inference/page_calibrate.h"
#include "tune/persist/persist.h"
#include "tune/txn/results.h"
#include "tune/watch/event.h"
#include "verbs/verbs.h"

/* Files that are kept, lines of a stream, what nodes say. */
static const struct result_shape *const kept[] = {
	&boot_report_result,  &boot_result,   &calibration_result,
	&cluster_node_result, &ledger_result, &recording_result,
	&report_result,	      &watch_result,  NULL,
};

struct gathered {
	struct arena *a;
	const struct result_shape **items;
	size_t n;
};

static void gather(struct gathered *g, const struct result_shape *r)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->items[i] == r)
			return;
	ARENA_ADD(g->a, g->items, g->n) = r;
}

static void gather_all(struct gathered *g, const struct result_shape *const *list)
{
	for (; list && *list; list++)
		gather(g, *list);
}

static void gather_of_verbs(struct gathered *g, const struct verb *const *verbs)
{
	for (; verbs && *verbs; verbs++) {
		if ((*verbs)->result)
			gather(g, (*verbs)->result);
		gather_all(g, (*verbs)->others);
		gather_of_verbs(g, (*verbs)->subs);
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct result_shape *const *)a)->name,
		      (*(const struct result_shape *const *)b)->name);
}

const struct result_shape *const *result_shapes(struct arena *a)
{
	struct gathered g = { .a = a };

	gather_of_verbs(&g, answering_verbs);
	gather_all(&g, kept);
	qsort(g.items, g.n, sizeof(*g.items), by_name);
	g.items = arena_grow(a, g.items, g.n, sizeof(*g.items));
	g.items[g.n] = NULL;
	return g.items;
}
