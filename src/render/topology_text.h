/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine's topology is in words: for drawings, for tables, and for who cannot see either.
 */
#ifndef RENDER_TOPOLOGY_TEXT_H
#define RENDER_TOPOLOGY_TEXT_H

#include "machine/model/narrow.h"
#include "render/places.h"

/* "NVSwitch: 8 GPUs, 18 links each, 26.6 GB/s a link and direction"; NULL where no NVLink is up. */
const char *fabric_text(struct arena *a, const struct machine *m);
/* Active and all NVLinks of a GPU. g may be NULL. */
size_t nvlinks_up(const struct gpu *g);
/* Where they lead: "4+5+5+4 to 4 NVSwitches", "GPU 1 x2, GPU 3 x4", "ends not visible here"; "" for
 * none. */
const char *nvlink_ends(struct arena *a, const struct machine *m, const struct gpu *g);
/* Addresses of the NVSwitches that GPUs are linked to, sorted, and how many links lead to each;
 * arena array of *n. */
struct nvswitch {
	const char *address;
	size_t links;
};
struct nvswitch *nvswitches(struct arena *a, const struct machine *m, size_t *n);

/* "Bottleneck: GPU 5 (0000:a3:00.0): 8 of 16 lanes ..."; what to say where there is none. */
const char *bottleneck_text(struct arena *a, const struct narrow *spots, size_t n,
			    const struct place *machine);
/* "Gen5 x8 of Gen5 x16", "Gen5 x16", NULL: not seen. */
const char *link_text(struct arena *a, const struct place *p);
/* The whole drawing as sentences, from each NUMA node down, then NVLink, then what is narrow. */
const char *topology_words(struct arena *a, const struct machine *m, const struct place *machine,
			   const struct narrow *spots, size_t n);

#endif
