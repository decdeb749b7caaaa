/* SPDX-License-Identifier: Apache-2.0 */
/* Path classes: a truth table of places, then whole captured machines with what nvidia-smi prints
 * on such. */
#include "box.h"

#include "machine/model/topology.h"
#include "look/probe/probe.h"

struct world {
	struct arena arena;
	struct machine machine;
	struct host *host;
};

static struct pci_function *place(struct world *w, const char *path, long long node)
{
	struct pci_function *f = list_add(&w->arena, &w->machine.pci, sizeof(*f));

	f->name = strrchr(path, '/') + 1;
	f->path = path;
	f->parent = f->root = "";
	f->numa_node = (struct fact_int){ .f = { .seen = SEEN_OK }, .v = node };
	return f;
}

static void world_end(struct world *w)
{
	host_close(w->host);
	arena_free(&w->arena);
}

/* Legend of nvidia-smi topo -m; NVML calls PIX a single switch, PXB several. */
static void test_classes(void **state)
{
	static const struct {
		const char *a, *b;
		long long node_a, node_b;
		enum path_class two_nodes, one_node;
	} rows[] = {
		/* the same function, and two of one device */
		{ "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0",
		  "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0", 0, 0, PATH_SELF, PATH_SELF },
		{ "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0",
		  "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.1", 0, 0, PATH_PIX, PATH_PIX },
		/* a port and what hangs from it */
		{ "/sys/devices/pci0000:00/0000:00:01.0",
		  "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0", 0, 0, PATH_PIX, PATH_PIX },
		/* two downstream ports of one switch: GPU and NIC of a DGX H100 */
		{ "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0",
		  "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1a:00.0", 0,
		  0, PATH_PIX, PATH_PIX },
		/* a card behind the other port carries a second switch */
		{ "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0",
		  "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1a:00.0/"
		  "0000:1b:08.0/0000:1c:00.0",
		  0, 0, PATH_PXB, PATH_PXB },
		/* two switches, one below the other */
		{ "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0/"
		  "0000:19:00.0/0000:20:00.0",
		  "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1a:00.0/"
		  "0000:1b:00.0/0000:1c:00.0",
		  0, 0, PATH_PXB, PATH_PXB },
		/* two root ports of one root complex; devices on the root bus itself */
		{ "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0",
		  "/sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0", 0, 0, PATH_PHB, PATH_PHB },
		{ "/sys/devices/pci0000:00/0000:00:06.0", "/sys/devices/pci0000:00/0000:00:07.0",
		  -1, -1, PATH_PHB, PATH_PHB },
		/* addresses that begin alike are not one device */
		{ "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0",
		  "/sys/devices/pci0000:00/0000:00:01.1/0000:01:01.0", 0, 0, PATH_PHB, PATH_PHB },
		/* other host bridges: the same node, another, and where firmware does not say */
		{ "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0",
		  "/sys/devices/pci0000:20/0000:20:01.0/0000:21:00.0", 1, 1, PATH_NODE, PATH_NODE },
		{ "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0",
		  "/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0", 0, 1, PATH_SYS, PATH_SYS },
		{ "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0",
		  "/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0", -1, -1, PATH_UNKNOWN,
		  PATH_NODE },
		{ "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0",
		  "/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0", 0, -1, PATH_UNKNOWN,
		  PATH_NODE },
		/* one bus number in two domains */
		{ "/sys/devices/pci0000:00/0000:00:00.0/0000:01:00.0",
		  "/sys/devices/pci0002:00/0002:00:00.0/0002:01:00.0", -1, -1, PATH_UNKNOWN,
		  PATH_NODE },
		/* host bridges below platform devices */
		{ "/sys/devices/platform/14100000.pcie/pci0001:00/0001:00:00.0/0001:01:00.0",
		  "/sys/devices/platform/141a0000.pcie/pci0005:00/0005:00:00.0/0005:01:00.0", 0, 0,
		  PATH_NODE, PATH_NODE },
		{ "/sys/devices/platform/141a0000.pcie/pci0005:00/0005:00:00.0/0005:01:00.0/"
		  "0005:02:00.0/0005:03:00.0",
		  "/sys/devices/platform/141a0000.pcie/pci0005:00/0005:00:00.0/0005:01:00.0/"
		  "0005:02:02.0/0005:09:00.0",
		  0, 0, PATH_PIX, PATH_PIX },
		/* disks behind VMD: two root ports of its own; and against a GPU of the same root
		   complex */
		{ "/sys/devices/pci0000:64/0000:64:00.5/pci10000:00/10000:00:02.0/10000:01:00.0",
		  "/sys/devices/pci0000:64/0000:64:00.5/pci10000:00/10000:00:04.0/10000:02:00.0", 0,
		  0, PATH_PHB, PATH_PHB },
		{ "/sys/devices/pci0000:64/0000:64:00.5/pci10000:00/10000:00:02.0/10000:01:00.0",
		  "/sys/devices/pci0000:64/0000:64:02.0/0000:65:00.0", 0, 0, PATH_PHB, PATH_PHB },
		/* no place in any tree */
		{ "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0",
		  "/sys/devices/virtual/0000:02:00.0", 0, 0, PATH_UNKNOWN, PATH_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned nodes = 1; nodes <= 2; nodes++) {
			struct world w = { 0 };
			const char *a = place(&w, rows[i].a, rows[i].node_a)->name;
			const char *b = place(&w, rows[i].b, rows[i].node_b)->name;
			enum path_class want = nodes == 1 ? rows[i].one_node : rows[i].two_nodes;

			for (unsigned k = 0; k < nodes; k++)
				list_add(&w.arena, &w.machine.cpu.nodes, sizeof(struct numa_node));
			if (topology_path(&w.machine, a, b) != want)
				fail_msg("row %zu, %u nodes: %s, wanted %s", i, nodes,
					 path_class_name(topology_path(&w.machine, a, b)),
					 path_class_name(want));
			assert_int_equal(topology_path(&w.machine, b, a), want);
			world_end(&w);
		}
}

static struct gpu *gpu(struct world *w, unsigned index, const char *pci)
{
	struct gpu *g = list_add(&w->arena, &w->machine.gpu.gpus, sizeof(*g));

	g->index = index;
	g->pci = pci;
	return g;
}

static void link_to(struct world *w, struct gpu *g, const char *remote, const char *type,
		    long long active)
{
	struct nvlink *l = list_add(&w->arena, &g->links, sizeof(*l));

	l->active = (struct fact_int){ .f = { .seen = SEEN_OK }, .v = active };
	l->remote = (struct fact_str){ .f = { .seen = SEEN_OK }, .v = remote };
	l->remote_type = (struct fact_str){ .f = { .seen = SEEN_OK }, .v = type };
}

/* A bridge joins GPU 0 and 1 directly, 2 and 3 meet over switches, one link of 3 is down. */
static void test_nvlinks(void **state)
{
	struct world w = { 0 };
	struct gpu *g;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		gpu(&w, i,
		    (const char *[]){ "0000:01:00.0", "0000:02:00.0", "0000:03:00.0",
				      "0000:04:00.0" }[i]);
	g = w.machine.gpu.gpus.items;
	for (int i = 0; i < 2; i++) {
		link_to(&w, &g[0], "0000:02:00.0", "gpu", 1);
		link_to(&w, &g[1], "0000:01:00.0", "gpu", 1);
	}
	link_to(&w, &g[0], "0000:02:00.0", "gpu", 0);
	for (int i = 0; i < 3; i++) {
		link_to(&w, &g[2], "0000:90:00.0", "switch", 1);
		link_to(&w, &g[3], "0000:90:00.0", "switch", i < 2);
	}
	assert_int_equal(topology_nvlinks(&w.machine, &g[0], &g[1]), 2);
	assert_int_equal(topology_nvlinks(&w.machine, &g[2], &g[3]), 2);
	assert_int_equal(topology_nvlinks(&w.machine, &g[0], &g[2]), 0);
	/* No PCI function is visible. */
	assert_int_equal(topology_path(&w.machine, g[0].pci, g[2].pci), PATH_UNKNOWN);
	world_end(&w);
}

static void load(struct world *w, const char *name)
{
	struct probe p = { .a = &w->arena, .m = &w->machine };
	struct err e = { 0 };
	char path[512];

	snprintf(path, sizeof(path), MACHINES "/%s", name);
	w->host = host_open_capture(path, &e);
	assert_non_null(w->host);
	p.h = w->host;
	probe_machine(&p);
}

static const struct endpoint *called(const struct endpoint *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	fail_msg("%s is no endpoint", name);
	return NULL;
}

static enum path_class class_of(const struct world *w, const struct endpoint *list, size_t n,
				const char *a, const char *b)
{
	return topology_between(&w->machine, called(list, n, a), called(list, n, b));
}

/* The published matrix of this board: GPU to both ports PXB, the ports to each other PIX. */
static void test_igx(void **state)
{
	struct world w = { 0 };
	const struct endpoint *list;
	size_t n;

	(void)state;
	load(&w, "igx-orin");
	list = topology_endpoints(&w.arena, &w.machine, &n);
	assert_int_equal(class_of(&w, list, n, "GPU0", "mlx5_0"), PATH_PXB);
	assert_int_equal(class_of(&w, list, n, "GPU0", "mlx5_1"), PATH_PXB);
	assert_int_equal(class_of(&w, list, n, "mlx5_0", "mlx5_1"), PATH_PIX);
	assert_int_equal(class_of(&w, list, n, "GPU0", "nvme0n1"), PATH_NODE);
	assert_string_equal(topology_nearest_nic(&w.machine, list, n, list[0].gpu)->name, "mlx5_0");
	world_end(&w);
}

/* Eight GPUs, each with an adapter of its own under the same switch; four to a socket. */
static void test_hgx(void **state)
{
	struct world w = { 0 };
	const struct endpoint *list;
	const char *seen[8] = { 0 };
	size_t n;

	(void)state;
	load(&w, "hgx-h100");
	list = topology_endpoints(&w.arena, &w.machine, &n);
	for (size_t i = 0; i < 8; i++) {
		const struct endpoint *nic = topology_nearest_nic(&w.machine, list, n, list[i].gpu);

		assert_non_null(nic);
		assert_int_equal(topology_between(&w.machine, &list[i], nic), PATH_PIX);
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(seen[k], nic->name);
			assert_int_equal(topology_between(&w.machine, &list[i], &list[k]), PATH_NV);
		}
		seen[i] = nic->name;
	}
	assert_int_equal(topology_nvlinks(&w.machine, list[0].gpu, list[7].gpu), 18);
	assert_int_equal(topology_path(&w.machine, list[0].pci, list[1].pci), PATH_NODE);
	assert_int_equal(topology_path(&w.machine, list[0].pci, list[7].pci), PATH_SYS);
	world_end(&w);
}

/* One function to a host bridge, one node, and firmware that names none: nvidia-smi prints NODE
 * throughout. */
static void test_spark(void **state)
{
	struct world w = { 0 };
	const struct endpoint *list;
	size_t n, nics = 0;

	(void)state;
	load(&w, "dgx-spark");
	list = topology_endpoints(&w.arena, &w.machine, &n);
	assert_non_null(list[0].gpu);
	for (size_t i = 1; i < n; i++) {
		nics += list[i].nic;
		assert_int_equal(topology_between(&w.machine, &list[0], &list[i]), PATH_NODE);
	}
	assert_int_equal(nics, 4);
	world_end(&w);
}

/* Captured on a real one: NV18 by nvidia-smi topo -m, and host bridge (30) by NVML's common
 * ancestor. */
static void test_h200(void **state)
{
	struct world w = { 0 };
	const struct endpoint *list;
	size_t n;

	(void)state;
	load(&w, "h200-x4");
	list = topology_endpoints(&w.arena, &w.machine, &n);
	for (size_t i = 1; i < 4; i++) {
		assert_int_equal(topology_nvlinks(&w.machine, list[0].gpu, list[i].gpu), 18);
		assert_int_equal(topology_path(&w.machine, list[0].pci, list[i].pci), PATH_PHB);
	}
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes), cmocka_unit_test(test_nvlinks),
		cmocka_unit_test(test_igx),	cmocka_unit_test(test_hgx),
		cmocka_unit_test(test_spark),	cmocka_unit_test(test_h200),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
