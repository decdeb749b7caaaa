/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any JSON as what other machines of a cluster send: an answer to "preflight", to "plan", to
 * "undo", a request to be configured, a discovery that was kept. What is taken holds to
 * its bounds, and a wiring can be made of it. The first byte says which.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "many/cluster/apply.h"
#include "many/cluster/links.h"
#include "many/cluster/messages.h"
#include "many/cluster/setup.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void before(struct arena *a, const json_t *j)
{
	struct cluster_node nodes[2] = { { .name = "a", .failure = "" },
					 { .name = "b", .failure = "" } };
	struct cluster c = { .nodes = nodes, .n_nodes = 2 };
	struct wiring_target wish = { .topology = "auto", .hosts = true };
	struct wiring_node said[2] = { 0 };
	struct wiring w = { 0 };
	struct err e = { 0 };

	if (apply_read_before(a, j, &said[0], &e) || apply_read_before(a, j, &said[1], &e)) {
		if (!*e.text)
			abort();
		return;
	}
	if (said[0].n_networks > WIRING_NETWORKS_MAX || said[0].n_keys > WIRING_KEYS_MAX ||
	    !said[0].user || !said[0].version)
		abort();
	cluster_link(a, &c);
	wiring_make(a, &c, said, &wish, &w);
}

/* What was read is written as it was. */
static void answer(struct arena *a, const struct shape *s, const json_t *j, void *object)
{
	struct err e = { 0 };
	json_t *one, *two;
	void *again;

	if (shape_read(a, s, j, object, &e)) {
		if (!*e.text)
			abort();
		return;
	}
	one = shape_object_json(s, object);
	again = arena_array(a, 1, s->size);
	if (shape_read(a, s, one, again, &e))
		abort();
	two = shape_object_json(s, again);
	if (!json_equal(one, two))
		abort();
	json_decref(one);
	json_decref(two);
}

static void want(struct arena *a, const json_t *j)
{
	struct setup_want w = { 0 };
	struct err e = { 0 };

	if (shape_read(a, &setup_want_shape, j, &w, &e) || setup_want_check(a, &w, &e)) {
		if (!*e.text)
			abort();
		return;
	}
	if (w.n > SETUP_PORTS_MAX || w.n_types > SETUP_PORTS_MAX || !w.hosts || !w.known_hosts)
		abort();
	for (size_t i = 0; i < w.n; i++) {
		struct wire_port p = { .name = w.ports[i].name,
				       .address = w.ports[i].address,
				       .mtu = w.ports[i].mtu };
		const char *why;

		if (p.mtu < 576 || p.mtu > 65536 || strchr(p.name, '/') || strchr(p.name, '\n') ||
		    strchr(p.address, '\n'))
			abort();
		if (!netplan_text(a, &p, 1, &why) && !why)
			abort();
	}
}

static void discovery(struct arena *a, const json_t *j)
{
	struct wiring_target wish = { .topology = "auto", .hosts = true };
	struct wiring_node *said;
	struct wiring w = { 0 };
	struct cluster c = { 0 };
	struct err e = { 0 };

	if (cluster_read(a, j, &c, &e)) {
		if (!*e.text)
			abort();
		return;
	}
	cluster_judge(a, &c, &c);
	json_decref(result_shape_json(&cluster_discover_result, &c, 0, 0));
	said = arena_array(a, c.n_nodes, sizeof(*said));
	for (size_t i = 0; i < c.n_nodes; i++)
		said[i] = (struct wiring_node){ .user = "", .version = "" };
	wiring_make(a, &c, said, &wish, &w);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct apply_node node = { 0 };
	struct arena a = { 0 };
	json_t *j;

	if (!size)
		return 0;
	if (*data == 'q') {
		char *text = arena_strndup(&a, (const char *)data + 1, size - 1);

		setup_rdma_users(&a, text, "mlx5_0");
		arena_free(&a);
		return 0;
	}
	j = json_loadb((const char *)data + 1, size - 1, JSON_REJECT_DUPLICATES, NULL);
	switch (j ? *data : '\0') {
	case 'b':
		before(&a, j);
		break;
	case 'p':
		answer(&a, &setup_answer_shape, j, &node.plan);
		break;
	case 'u':
		answer(&a, &apply_undone_shape, j, &node.undone);
		break;
	case 'w':
		want(&a, j);
		break;
	case 'd':
		discovery(&a, j);
		break;
	default:
		break;
	}
	json_decref(j);
	arena_free(&a);
	return 0;
}
