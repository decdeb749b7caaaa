/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: pure functions from facts (and findings) to a document in the arena. They print nothing.
 */
#ifndef SHOW_PAGE_H
#define SHOW_PAGE_H

#include "machine/model/machine.h"
#include "render/doc.h"

/* One subject of "show". */
struct page {
	const char *name;  /* "cpu"; "" is the overview */
	const char *words; /* others for the same subject */
	const char *summary;
	const char *key; /* of machine_shape: where the subject's facts stand; NULL: all of them */
	struct doc *(*build)(struct arena *a, const struct machine *m);
};

extern const struct page pages[];
extern const size_t page_count;

/* NULL when there is none of that name. */
const struct page *page_find(const char *name);
/* Every fact of a subject, by the rows alone: what --verbose shows. */
struct doc *page_facts(struct arena *a, const struct machine *m, const struct page *p);

/* What two sources of the subject's facts say, where they differ. */
void page_disagreements(struct doc *d, const struct machine *m, const struct page *p);

struct doc *page_overview(struct arena *a, const struct machine *m);
struct doc *page_cpu(struct arena *a, const struct machine *m);
struct doc *page_memory(struct arena *a, const struct machine *m);
struct doc *page_gpu(struct arena *a, const struct machine *m);
struct doc *page_pci(struct arena *a, const struct machine *m);
struct doc *page_nic(struct arena *a, const struct machine *m);
struct doc *page_disk(struct arena *a, const struct machine *m);
struct doc *page_kernel(struct arena *a, const struct machine *m);
struct doc *page_software(struct arena *a, const struct machine *m);

/* Topology: path classes between devices, and the way from each NUMA node down to its devices. */
struct doc *page_topology(struct arena *a, const struct machine *m);
struct doc *page_topology_tree(struct arena *a, const struct machine *m);

/* The facts of a page's subject; with "topology" come the narrow spots. */
struct show_answer {
	const struct machine *m;
	unsigned page; /* of pages */
	const struct narrow *narrow;
	size_t n_narrow;
};
extern const struct result_shape show_result;
struct show_answer show_answer_of(struct arena *a, const struct machine *m, const struct page *p);

#endif
