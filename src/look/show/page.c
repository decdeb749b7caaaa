/* SPDX-License-Identifier: Apache-2.0 */
/* The table of subjects, and the page that needs nothing but the schema tables. */
#include "look/show/page.h"

#include <string.h>

#include "render/pick.h"

const struct page pages[] = {
	{ "", "what this machine is, on one screen", NULL, page_overview },
	{ "cpu", "cores, frequencies, idle states, NUMA", "cpu", page_cpu },
	{ "memory", "sizes, huge pages, swap", "memory", page_memory },
	{ "gpu", "GPUs: clocks, power, health, NVLink", "gpu", page_gpu },
	{ "pci", "the PCI tree with links", "pci", page_pci },
	{ "nic", "network interfaces and RDMA", "net", page_nic },
	{ "disk", "block devices, file systems, ZFS", "storage", page_disk },
	{ "kernel", "kernel, boot and its arguments", "kernel", page_kernel },
	{ "software", "distribution, services, libraries", "software", page_software },
	{ "topology", "how near devices are to each other", NULL, page_topology },
};
const size_t page_count = sizeof(pages) / sizeof(pages[0]);

const struct page *page_find(const char *name)
{
	for (size_t i = 0; i < page_count; i++)
		if (strcmp(pages[i].name, name) == 0)
			return &pages[i];
	return NULL;
}

struct doc *page_facts(struct arena *a, const struct machine *m, const struct page *p)
{
	struct doc *d = doc_new(a);

	for (size_t i = 0; i < schema_machine.n; i++) {
		const struct field *f = &schema_machine.fields[i];
		/* A schema of this one field, so that parts and lists are shown alike. */
		struct schema one = {
			.name = f->key, .fields = f, .n = 1, .size = schema_machine.size
		};

		if (!p->key || strcmp(p->key, f->key) == 0)
			show_schema(d, 2, &one, m);
	}
	return d;
}
