/* SPDX-License-Identifier: Apache-2.0 */
/* "network-look": whether ports have what they were to have. Owners of links do what they were told
 * in their own time, so it is looked at for a while. */
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "many/cluster/node_configure.h"
#include "many/cluster/setup.h"
#include "machine/knob/io.h"

enum { SETTLE_MS = 8000, LOOK_MS = 100 };

/* NULL: the port is as wished. */
static const char *trouble_of(struct arena *a, const struct setup_port *p)
{
	const struct knob address = { KNOB_ADDRESS, p->address, p->name },
			  mtu = { KNOB_LINK, "mtu", p->name };
	HOST_AUTO *h = host_open_live();
	struct err e = { 0 };
	const char *now;

	if (knob_get(h, a, &address, &now, &e))
		return arena_strdup(a, e.text);
	if (strcmp(now, "present") != 0)
		return arena_printf(a, "it has not got %s", p->address);
	if (knob_get(h, a, &mtu, &now, &e))
		return arena_strdup(a, e.text);
	if (strcmp(now, arena_printf(a, "%lld", p->mtu)) != 0)
		return arena_printf(a, "its MTU is %s, not %lld", now, p->mtu);
	return NULL;
}

int answer_settled(struct ask_node *n, void **state, const json_t *with, json_t **out,
		   struct err *e)
{
	struct setup_want *want = ARENA_NEW(n->arena, struct setup_want);
	long long until = clock_mono_ms() + SETTLE_MS;
	json_t *list = json_array();
	int r = setup_want_read(n->arena, with, want, e);

	(void)state;
	for (size_t i = 0; r == 0 && i < want->n; i++) {
		const char *trouble = trouble_of(n->arena, &want->ports[i]);

		while (trouble && clock_mono_ms() < until && !atomic_load(n->stop)) {
			poll(NULL, 0, LOOK_MS);
			trouble = trouble_of(n->arena, &want->ports[i]);
		}
		json_array_append_new(list, json_pack("{s:s, s:s?}", "port", want->ports[i].name,
						      "trouble", trouble));
	}
	if (r) {
		json_decref(list);
		return r;
	}
	*out = json_pack("{s:o}", "ports", list);
	return 0;
}
