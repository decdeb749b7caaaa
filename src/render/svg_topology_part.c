/* SPDX-License-Identifier: Apache-2.0 */
/* Marks, badges and the list of narrow spots. A mark is never colour alone: it has a number, and a
 * sentence under that number. */
#include "render/svg_topology_part.h"

#include <string.h>

#include "render/figure.h"
#include "render/glyph.h"
#include "render/svg_shape.h"

struct scene scene_of(struct arena *a, const struct machine *m)
{
	struct scene s = { .a = a,
			   .m = m,
			   .name = fact_text(&m->platform.product, "this machine") };

	s.spots = narrow_spots(a, m, &s.n_spots);
	s.machine = places_of(a, m, s.spots, s.n_spots);
	return s;
}

const char *place_class(enum place_kind kind)
{
	static const char *const classes[] = {
		[PLACE_MACHINE] = "node", [PLACE_NODE] = "node",     [PLACE_ROOT] = "root",
		[PLACE_GPU] = "gpu",	  [PLACE_SWITCH] = "switch", [PLACE_NIC] = "nic",
		[PLACE_DISK] = "disk",
	};

	return classes[kind];
}

const char *place_tip(struct arena *a, const struct place *p)
{
	const char *link = link_text(a, p);

	return arena_printf(a, "%s%s%s%s%s%s%s", p->label, *p->detail ? ", " : "", p->detail,
			    *p->address ? ", " : "", p->address, link ? ", " : "",
			    link ? link : "");
}

const char *mark_line(const struct place *p)
{
	return !p->link_narrow ? "link" : p->degraded ? "slow" : "tight";
}

const char *mark_ring(const struct place *p)
{
	return p->degraded ? "ring" : p->spot ? "ring-tight" : NULL;
}

const char *mark_text(const struct place *p)
{
	return !p->link_narrow ? "soft" : p->degraded ? "bad" : "warn";
}

void draw_badge(struct text *t, struct arena *a, int x, int y, size_t number, bool fault)
{
	const char *label = arena_printf(a, "%zu", number);
	int w = number > 9 ? 22 : 17;

	svg_box(t, (struct box){ x - w / 2, y - 8, w, 17 }, fault ? "badge" : "badge-tight", NULL);
	svg_text(t, x, y + 4, "middle", "on-badge", 11, 60, label);
}

/* Letters are two thirds of their height wide, as svg_text reckons. */
static size_t letters(int room, int size)
{
	return room > size ? (size_t)(room * 3 / (size * 2)) : 1;
}

int draw_wrapped(struct text *t, int x, int y, int room, int size, const char *class, const char *s)
{
	TEXT_AUTO lines = { 0 };
	char *line, *save = NULL;

	glyph_wrap(&lines, s, letters(room, size));
	for (line = lines.s ? strtok_r(lines.s, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (t)
			svg_text(t, x, y + size, "start", class, size, room + size, line);
		y += size + 5;
	}
	return y;
}

int draw_spots(struct text *t, const struct scene *s, int x, int y, int room, int size)
{
	for (size_t i = 0; i < s->n_spots && i < SPOTS_SHOWN; i++) {
		const struct narrow *n = &s->spots[i];
		const char *what =
			arena_printf(s->a, "%s%s: %s", i == 0 && n->fault ? "Bottleneck, " : "",
				     n->name, n->reason);

		if (t)
			draw_badge(t, s->a, x + 9, y + size / 2 + 3, i + 1, n->fault);
		y = draw_wrapped(t, x + 28, y, room - 28, size, n->fault ? "bad" : "plain", what) +
		    4;
	}
	if (s->n_spots > SPOTS_SHOWN)
		y = draw_wrapped(t, x, y, room, size, "soft",
				 arena_printf(s->a,
					      "%zu more narrow spots: show topology --as tree",
					      s->n_spots - SPOTS_SHOWN));
	if (!s->n_spots && s->machine->n)
		y = draw_wrapped(t, x, y, room, size, "soft",
				 bottleneck_text(s->a, s->spots, 0, s->machine));
	return y;
}
