/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster drawn with letters: a box a cage, lines where a wire joins them. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "many/cluster/page_cluster.h"

enum { GAP = 16 };

const char *cluster_speed_text(struct arena *a, const struct cluster_port *p)
{
	long long v = fact_or(&p->speed_mbps, 0);

	if (!cluster_port_up(p))
		return "down";
	if (v <= 0)
		return "not told";
	return v % 1000 ? arena_printf(a, "%lld Mb/s", v) : arena_printf(a, "%lld Gb/s", v / 1000);
}

const char *cluster_wire_text(struct arena *a, const struct cluster *c,
			      const struct cluster_wire *w)
{
	const char *name = NULL;

	for (size_t i = 0; i < w->n_cages; i++)
		name = name ? name : c->cages[w->cages[i]].neighbour;
	if (w->way == CLUSTER_UNSURE)
		return "cable or switch";
	if (w->way == CLUSTER_SWITCH && name)
		return arena_printf(a, "switch %s", name);
	return cluster_way_name(w->way);
}

/* The box of a cage: a line of its name, a line a port, a line below. */
struct face {
	const char **lines;
	size_t n, width;
};

static const struct cluster_port *port_at(const struct cluster *c, const struct cluster_cage *g,
					  size_t i)
{
	return cluster_end_port(c, (struct cluster_end){ g->node, g->ports[i] });
}

static const char *dashes(struct arena *a, size_t n)
{
	char *s = arena_alloc(a, n + 1);

	memset(s, '-', n);
	return s;
}

static struct face face_of(struct arena *a, const struct cluster *c, size_t cage)
{
	const struct cluster_cage *g = &c->cages[cage];
	const char *title = cluster_cage_text(a, c, cage);
	size_t names = 0, inside = strlen(title) + 2;
	struct face f = { .n = g->n_ports + 2 };

	f.lines = arena_array(a, f.n, sizeof(*f.lines));
	for (size_t i = 0; i < g->n_ports; i++) {
		size_t n = strlen(port_at(c, g, i)->name);

		names = n > names ? n : names;
	}
	for (size_t i = 0; i < g->n_ports; i++) {
		const struct cluster_port *p = port_at(c, g, i);
		const char *line = arena_printf(a, "%-*s  %8s, MTU %lld", (int)names, p->name,
						cluster_speed_text(a, p), fact_or(&p->mtu, 0));

		f.lines[i + 1] = line;
		inside = strlen(line) > inside ? strlen(line) : inside;
	}
	f.width = inside + 4;
	f.lines[0] = arena_printf(a, "+- %s %s+", title, dashes(a, inside - strlen(title) - 1));
	for (size_t i = 0; i < g->n_ports; i++)
		f.lines[i + 1] = arena_printf(a, "| %-*s |", (int)inside, f.lines[i + 1]);
	f.lines[f.n - 1] = arena_printf(a, "+%s+", dashes(a, inside + 2));
	return f;
}

/* "=== cable ======" in the first line of ports, "================" in the others. */
static void middle(struct text *t, const char *word, bool first)
{
	size_t n = first ? strlen(word) + 2 : 0, left = 3;

	if (!first || n > GAP - 4) {
		for (size_t i = 0; i < GAP; i++)
			text_addc(t, '=');
		return;
	}
	text_printf(t, "=== %s ", word);
	for (size_t i = left + n; i < GAP; i++)
		text_addc(t, '=');
}

static void draw_two(struct arena *a, const struct cluster *c, const struct cluster_wire *w,
		     struct text *t)
{
	struct face x = face_of(a, c, w->cages[0]), y = face_of(a, c, w->cages[1]);
	size_t most = x.n > y.n ? x.n : y.n;

	for (size_t i = 0; i < most; i++) {
		bool ports = i > 0 && i + 1 < x.n && i + 1 < y.n;

		text_printf(t, "%-*s", (int)x.width, i < x.n ? x.lines[i] : "");
		if (ports)
			middle(t, w->way == CLUSTER_UNSURE ? "?" : cluster_way_name(w->way),
			       i == 1);
		else
			text_printf(t, "%*s", GAP, "");
		text_printf(t, "%s\n", i < y.n ? y.lines[i] : "");
	}
}

/* Boxes below each other, and the switch as a line at their right. */
static void draw_many(struct arena *a, const struct cluster *c, const struct cluster_wire *w,
		      struct text *t)
{
	size_t width = 0;

	for (size_t i = 0; i < w->n_cages; i++) {
		struct face f = face_of(a, c, w->cages[i]);

		width = f.width > width ? f.width : width;
	}
	for (size_t i = 0; i < w->n_cages; i++) {
		struct face f = face_of(a, c, w->cages[i]);

		for (size_t k = 0; k < f.n; k++) {
			bool port = k > 0 && k + 1 < f.n;
			bool edge = (i == 0 && k == 0) || (i + 1 == w->n_cages && k + 1 == f.n);

			text_add(t, f.lines[k]);
			for (size_t n = f.width; n < width + 3 && !edge; n++)
				text_addc(t, port ? '=' : ' ');
			text_addc(t, edge ? '\n' : port ? '+' : '|');
			if (i == 0 && k == 1)
				text_printf(t, "  %s", cluster_wire_text(a, c, w));
			if (!edge)
				text_addc(t, '\n');
		}
	}
}

const char *cluster_picture(struct arena *a, const struct cluster *c)
{
	TEXT_AUTO t = { 0 };

	text_add(&t, "");
	for (size_t i = 0; i < c->n_wires; i++) {
		if (t.len)
			text_addc(&t, '\n');
		if (c->wires[i].n_cages == 2)
			draw_two(a, c, &c->wires[i], &t);
		else
			draw_many(a, c, &c->wires[i], &t);
	}
	if (t.len && t.s[t.len - 1] == '\n')
		t.s[--t.len] = '\0';
	return arena_strdup(a, t.s);
}
