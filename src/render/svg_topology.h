/* SPDX-License-Identifier: Apache-2.0 */
/* What the wide and the tall drawing of a topology have in common. */
#ifndef RENDER_SVG_TOPOLOGY_H
#define RENDER_SVG_TOPOLOGY_H

#include "base/text.h"
#include "render/topology_text.h"
#include "machine/model/machine.h"

enum { SPOTS_SHOWN = 12 };

/* Everything that is drawn. */
struct scene {
	struct arena *a;
	const struct machine *m;
	const struct place *machine;
	const struct narrow *spots;
	size_t n_spots;
	const char *name; /* of the machine */
};

struct scene scene_of(struct arena *a, const struct machine *m);
/* The class of a box of this kind. */
const char *place_class(enum place_kind kind);
/* What is shown under the pointer. */
const char *place_tip(struct arena *a, const struct place *p);
/* "class" of the line, ring and text of a place: how it is marked. */
const char *mark_line(const struct place *p);
const char *mark_ring(const struct place *p); /* NULL: none */
const char *mark_text(const struct place *p); /* "soft" where there is nothing to mark */
/* The number of a narrow spot in a disc around (x, y). */
void draw_badge(struct text *t, struct arena *a, int x, int y, size_t number, bool fault);
/* s broken into lines of room pixels, below y; the y below them. */
int draw_wrapped(struct text *t, int x, int y, int room, int size, const char *class,
		 const char *s);
/* The numbered list of narrow spots; the y below it. Without t only measured. */
int draw_spots(struct text *t, const struct scene *s, int x, int y, int room, int size);

/* Drawings as SVG text: self-contained, escaped, the same for the same facts. */

/* The machine from its NUMA nodes down to GPUs, NICs and NVMe disks, with every link and what is
 * narrow. In the arena. Wide: 1,200 pixels and more; tall: 360, for a telephone. Both carry the
 * whole content as a description for who cannot see them. */
const char *svg_topology(struct arena *a, const struct machine *m);
const char *svg_topology_tall(struct arena *a, const struct machine *m);

#endif
