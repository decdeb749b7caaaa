/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a frame from the wire and as what a node says of itself. What is taken holds to its
 * bounds, and judging it ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "many/cluster/neighbor.h"
#include "many/cluster/links.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void node(const unsigned char *data, size_t size)
{
	json_t *j = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	struct cluster_node nodes[2] = { 0 };
	struct arena a = { 0 };
	struct err e = { 0 };
	struct cluster c = { .nodes = nodes, .n_nodes = 2 };

	if (j && cluster_node_read(&a, j, &nodes[0], &e) == 0) {
		json_t *out;

		if (nodes[0].ports.n > CLUSTER_PORTS_MAX || !cluster_name_valid(nodes[0].name))
			abort();
		nodes[1] = nodes[0];
		nodes[1].name = "other";
		cluster_link(&a, &c);
		cluster_judge(&a, &c, &c);
		out = result_shape_json(&cluster_discover_result, &c, 0, 0);
		if (!out)
			abort();
		json_decref(out);
	}
	json_decref(j);
	arena_free(&a);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct hello h;
	struct lldp l;

	memcpy(copy, data, size);
	if (hello_read(copy, size, &h) && (!h.port[0] || h.node > 65535))
		abort();
	if (lldp_read(copy, size, &l) && !l.chassis[0])
		abort();
	node(data, size);
	free(copy);
	return 0;
}
