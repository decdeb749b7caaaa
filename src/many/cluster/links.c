/* SPDX-License-Identifier: Apache-2.0 */
/* From nodes to cages, links and wires. */
#include <string.h>

#include "many/cluster/links.h"
#include "base/text.h"

struct cluster_port *cluster_end_port(const struct cluster *c, struct cluster_end e)
{
	return (struct cluster_port *)c->nodes[e.node].ports.items + e.port;
}

bool cluster_port_up(const struct cluster_port *p)
{
	return fact_or(&p->nic.carrier, 0) && fact_is(&p->nic.operstate, "up");
}

size_t cluster_cage_of(const struct cluster *c, size_t node, const struct cluster_port *p)
{
	size_t port = (size_t)(p - (const struct cluster_port *)c->nodes[node].ports.items);

	for (size_t i = 0; i < c->n_cages; i++)
		for (size_t k = 0; c->cages[i].node == node && k < c->cages[i].n_ports; k++)
			if (c->cages[i].ports[k] == port)
				return i;
	return CLUSTER_NONE;
}

size_t cluster_cage_at(const struct cluster *c, struct cluster_end e)
{
	return cluster_cage_of(c, e.node, cluster_end_port(c, e));
}

const char *cluster_end_text(struct arena *a, const struct cluster *c, struct cluster_end e)
{
	return arena_printf(a, "%s %s", c->nodes[e.node].name, cluster_end_port(c, e)->name);
}

/* --- cages ------------------------------------------------------------------------------------ */

/* "01:00.0" of "0002:01:00.0": what stands behind the domain. */
static const char *behind_domain(const char *pci)
{
	const char *colon = strchr(pci, ':');

	return colon ? colon + 1 : "";
}

static bool both_report(const struct fact_str *x, const struct fact_str *y, bool equal)
{
	return seen_ok(&x->f) && seen_ok(&y->f) && (strcmp(x->v, y->v) == 0) == equal;
}

static const char *twins_by(const struct cluster_node *n, const struct cluster_port *a,
			    const struct cluster_port *b)
{
	if (!*a->pci || !*b->pci || both_report(&a->nic.port, &b->nic.port, false))
		return NULL;
	if (both_report(&a->nic.port, &b->nic.port, true) &&
	    both_report(&a->nic.switch_id, &b->nic.switch_id, true))
		return "equal phys_switch_id and phys_port_name";
	/* The one machine of which it is known that a card stands on two PCI domains. */
	if (!fact_is(&n->platform, "dgx-spark") || !fact_is(&a->nic.driver, "mlx5_core") ||
	    !fact_is(&b->nic.driver, "mlx5_core"))
		return NULL;
	return strcmp(behind_domain(a->pci), behind_domain(b->pci)) == 0
		       ? "the same function of one card on two PCI domains (DGX Spark)"
		       : NULL;
}

static bool has_cage(const struct cluster_port *p)
{
	return !fact_or(&p->nic.wireless, 0);
}

/* Behind the twins that stand before it on the bus. */
static void cage_add(struct arena *a, const struct cluster_node *n, struct cluster_cage *cage,
		     size_t port)
{
	const struct cluster_port *ports = n->ports.items;
	size_t at = cage->n_ports;

	cage->ports = arena_grow(a, cage->ports, cage->n_ports, sizeof(*cage->ports));
	while (at && strcmp(ports[cage->ports[at - 1]].pci, ports[port].pci) > 0) {
		cage->ports[at] = cage->ports[at - 1];
		at--;
	}
	cage->ports[at] = port;
	cage->n_ports++;
}

static struct cluster_cage *cage_for(struct cluster *c, size_t first, size_t node,
				     const struct cluster_port *p, const char **by)
{
	const struct cluster_port *ports = c->nodes[node].ports.items;

	for (size_t i = first; i < c->n_cages; i++) {
		*by = twins_by(&c->nodes[node], &ports[c->cages[i].ports[0]], p);
		if (*by)
			return &c->cages[i];
	}
	return NULL;
}

static void make_cages(struct arena *a, struct cluster *c, size_t node)
{
	const struct cluster_node *n = &c->nodes[node];
	size_t first = c->n_cages;

	for (size_t i = 0; i < n->ports.n; i++) {
		const struct cluster_port *p = (const struct cluster_port *)n->ports.items + i;
		const char *by = NULL;
		struct cluster_cage *cage;

		if (!has_cage(p))
			continue;
		cage = cage_for(c, first, node, p, &by);
		if (!cage) {
			cage = &ARENA_ADD(a, c->cages, c->n_cages);
			*cage = (struct cluster_cage){ .node = node, .wire = CLUSTER_NONE };
			cage->name = fact_text(&p->nic.port, p->name);
		} else {
			cage->twins_by = by;
		}
		cage_add(a, n, cage, i);
	}
}

/* --- links ------------------------------------------------------------------------------------ */

static bool find_node(const struct cluster *c, const char *name, size_t *out)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		if (strcmp(c->nodes[i].name, name) == 0) {
			*out = i;
			return true;
		}
	return false;
}

static bool links_has_address(const struct cluster_port *p, const char *address)
{
	size_t n = strlen(address);

	LIST_FOR_EACH (struct cluster_address, x, &p->addresses)
		if (strncmp(x->name, address, n) == 0 && (x->name[n] == '/' || !x->name[n]))
			return true;
	return false;
}

/* Who answers with a link-local address, where only one port of all nodes has it. */
static bool find_address(const struct cluster *c, const char *address, struct cluster_end *out)
{
	size_t found = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		for (size_t k = 0; k < c->nodes[i].ports.n; k++) {
			struct cluster_end e = { i, k };

			if (!links_has_address(cluster_end_port(c, e), address))
				continue;
			*out = e;
			found++;
		}
	return found == 1;
}

static bool speaker_of(const struct cluster *c, const struct cluster_neighbor *h,
		       struct cluster_end *out)
{
	const struct cluster_port *p;

	if (strcmp(h->way, "echo") == 0)
		return find_address(c, fact_text(&h->address, ""), out);
	if (strcmp(h->way, "lldp") == 0 || !find_node(c, fact_text(&h->node, ""), &out->node))
		return false;
	p = cluster_port_find(&c->nodes[out->node], fact_text(&h->port, ""));
	if (!p)
		return false;
	out->port = (size_t)(p - (const struct cluster_port *)c->nodes[out->node].ports.items);
	return true;
}

static enum cluster_way way_of(const struct cluster_neighbor *h)
{
	if (strcmp(h->way, "link") == 0)
		return CLUSTER_CABLE;
	return strcmp(h->way, "broadcast") == 0 ? CLUSTER_SWITCH : CLUSTER_UNSURE;
}

static struct cluster_link *link_between(struct arena *a, struct cluster *c, struct cluster_end x,
					 struct cluster_end y)
{
	struct cluster_link *l;

	for (size_t i = 0; i < c->n_links; i++) {
		l = &c->links[i];
		if (l->a.node == x.node && l->a.port == x.port && l->b.node == y.node &&
		    l->b.port == y.port)
			return l;
	}
	l = &ARENA_ADD(a, c->links, c->n_links);
	*l = (struct cluster_link){ .a = x, .b = y, .way = CLUSTER_UNSURE };
	return l;
}

static void link_add_neighbor(struct arena *a, struct cluster *c, size_t node,
			      const struct cluster_neighbor *h)
{
	const struct cluster_port *p = cluster_port_find(&c->nodes[node], h->name);
	struct cluster_end here = { node, 0 }, there;
	struct cluster_link *l;
	size_t cage;
	bool before;

	if (!p || !speaker_of(c, h, &there))
		return;
	here.port = (size_t)(p - (const struct cluster_port *)c->nodes[node].ports.items);
	cage = cluster_cage_of(c, node, p);
	/* Twins hear each other inside the adapter: nothing of that is on the cable. */
	if (cage == CLUSTER_NONE || cage == cluster_cage_at(c, there))
		return;
	before = here.node < there.node || (here.node == there.node && here.port < there.port);
	l = before ? link_between(a, c, here, there) : link_between(a, c, there, here);
	if (way_of(h) < l->way)
		l->way = way_of(h);
	if (before)
		l->a_hears = true;
	else
		l->b_hears = true;
}

/* Who announces itself most often there: a frame that was cut on its way names less. */
static void neighbour(struct cluster *c, size_t node, const struct cluster_neighbor *h,
		      long long *most)
{
	const struct cluster_port *p = cluster_port_find(&c->nodes[node], h->name);
	size_t cage = p ? cluster_cage_of(c, node, p) : CLUSTER_NONE;

	if (cage == CLUSTER_NONE || strcmp(h->way, "lldp") != 0 || !seen_ok(&h->node.f) ||
	    fact_or(&h->count, 1) <= most[cage])
		return;
	most[cage] = fact_or(&h->count, 1);
	c->cages[cage].neighbour = h->node.v;
}

/* A cable has two ends. Whoever hears several cages through frames that no bridge should forward
 * hears them through one that does. */
static void demote(struct cluster *c)
{
	for (size_t cage = 0; cage < c->n_cages; cage++) {
		size_t other = CLUSTER_NONE;
		bool several = false;

		for (size_t i = 0; i < c->n_links; i++) {
			size_t x = cluster_cage_at(c, c->links[i].a),
			       y = cluster_cage_at(c, c->links[i].b);

			if (c->links[i].way != CLUSTER_CABLE || (x != cage && y != cage))
				continue;
			x = x == cage ? y : x;
			several = several || (other != CLUSTER_NONE && other != x);
			other = x;
		}
		for (size_t i = 0; several && i < c->n_links; i++)
			if (c->links[i].way == CLUSTER_CABLE &&
			    (cluster_cage_at(c, c->links[i].a) == cage ||
			     cluster_cage_at(c, c->links[i].b) == cage))
				c->links[i].way = CLUSTER_SWITCH;
	}
}

static struct cluster_place place_of(const struct cluster *c, struct cluster_end e)
{
	return (struct cluster_place){ &c->nodes[e.node], cluster_end_port(c, e) };
}

/* Fills in the pointers and names that indices of nodes, ports and cages stand for. */
static void link_names(struct arena *a, struct cluster *c)
{
	for (size_t i = 0; i < c->n_links; i++) {
		c->links[i].at_a = place_of(c, c->links[i].a);
		c->links[i].at_b = place_of(c, c->links[i].b);
	}
	for (size_t i = 0; i < c->n_cages; i++) {
		struct cluster_cage *g = &c->cages[i];

		g->of = &c->nodes[g->node];
		g->names = arena_array(a, g->n_ports, sizeof(*g->names));
		for (size_t k = 0; k < g->n_ports; k++)
			g->names[k] = ((struct cluster_port *)g->of->ports.items)[g->ports[k]].name;
	}
	for (size_t i = 0; i < c->n_wires; i++) {
		struct cluster_wire *w = &c->wires[i];

		w->data = cluster_wire_data(c, w);
		w->joined = arena_array(a, w->n_cages, sizeof(*w->joined));
		for (size_t k = 0; k < w->n_cages; k++)
			w->joined[k] = &c->cages[w->cages[k]];
		for (size_t k = 0; k < w->n_paths; k++) {
			struct cluster_path *p = &w->paths[k];

			p->places = arena_array(a, p->n_ends, sizeof(*p->places));
			for (size_t e = 0; e < p->n_ends; e++)
				p->places[e] = place_of(c, p->ends[e]);
		}
	}
}

void cluster_link(struct arena *a, struct cluster *c)
{
	long long *most;

	c->n_links = c->n_cages = c->n_wires = 0;
	c->links = NULL;
	c->cages = NULL;
	c->wires = NULL;
	for (size_t i = 0; i < c->n_nodes; i++) {
		cluster_find_data(a, &c->nodes[i]);
		make_cages(a, c, i);
	}
	most = arena_array(a, c->n_cages, sizeof(*most));
	for (size_t i = 0; i < c->n_nodes; i++)
		LIST_FOR_EACH (struct cluster_neighbor, h, &c->nodes[i].heard) {
			link_add_neighbor(a, c, i, h);
			neighbour(c, i, h, most);
		}
	demote(c);
	cluster_make_wires(a, c);
	link_names(a, c);
	cluster_make_topology(a, c);
}

/* What shape the wires make, and whether that shape is one that is supported. */

const char *cluster_topology_name(enum cluster_topology t)
{
	static const char *const names[CLUSTER_TOPOLOGIES] = {
		[CLUSTER_NOTHING] = "nothing",
		[CLUSTER_PAIR] = "pair",
		[CLUSTER_RING] = "ring",
		[CLUSTER_SWITCHED] = "switch",
		[CLUSTER_RING_FOUR] = "ring-of-four",
		[CLUSTER_PARTIAL] = "partial",
		[CLUSTER_MIXED] = "mixed",
	};

	return names[t];
}

const char *cluster_way_name(enum cluster_way w)
{
	static const char *const names[CLUSTER_WAYS] = { "cable", "switch", "unsure" };

	return names[w];
}

/* What the topology is made of. */
struct cabling {
	const struct cluster *c;
	bool all; /* management ports count, because there are no others */
	size_t nodes;
	size_t cables, switches, unsure;
	bool joined[CLUSTER_NODES_MAX][CLUSTER_NODES_MAX]; /* by a cable, or what may be one */
	size_t neighbours[CLUSTER_NODES_MAX];
	size_t on_switch[CLUSTER_NODES_MAX]; /* switches that a node is on */
};

static void count_wire(struct cabling *s, const struct cluster_wire *w)
{
	size_t x = s->c->cages[w->cages[0]].node, y = s->c->cages[w->cages[1]].node;

	s->cables += w->way == CLUSTER_CABLE;
	s->switches += w->way == CLUSTER_SWITCH;
	s->unsure += w->way == CLUSTER_UNSURE;
	if (w->way == CLUSTER_SWITCH) {
		for (size_t i = 0; i < w->n_cages; i++)
			s->on_switch[s->c->cages[w->cages[i]].node]++;
		return;
	}
	if (x == y || s->joined[x][y])
		return;
	s->joined[x][y] = s->joined[y][x] = true;
	s->neighbours[x]++;
	s->neighbours[y]++;
}

static struct cabling links_look(const struct cluster *c)
{
	struct cabling s = { .c = c, .all = true };

	for (size_t i = 0; i < c->n_wires; i++)
		s.all = s.all && !cluster_wire_data(c, &c->wires[i]);
	for (size_t i = 0; i < c->n_wires; i++)
		if (s.all || cluster_wire_data(c, &c->wires[i]))
			count_wire(&s, &c->wires[i]);
	for (size_t i = 0; i < c->n_nodes; i++)
		s.nodes += !*c->nodes[i].failure;
	return s;
}

static bool alive(const struct cabling *s, size_t i)
{
	return !*s->c->nodes[i].failure;
}

/* The pairs without a cable: "spark-1 and spark-3, spark-2 and spark-4". */
static const char *gaps(struct arena *a, const struct cabling *s)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < s->c->n_nodes; i++)
		for (size_t k = i + 1; k < s->c->n_nodes; k++)
			if (alive(s, i) && alive(s, k) && !s->joined[i][k])
				text_printf(&t, "%s%s and %s", t.len ? ", " : "",
					    s->c->nodes[i].name, s->c->nodes[k].name);
	return arena_strdup(a, t.s ? t.s : "");
}

static bool each_has(const struct cabling *s, const size_t *count, size_t n)
{
	for (size_t i = 0; i < s->c->n_nodes; i++)
		if (alive(s, i) && count[i] != n)
			return false;
	return true;
}

static bool each_on_switch(const struct cabling *s)
{
	for (size_t i = 0; i < s->c->n_nodes; i++)
		if (alive(s, i) && !s->on_switch[i])
			return false;
	return true;
}

static enum cluster_topology of_cables(struct arena *a, const struct cabling *s, const char **why)
{
	*why = s->unsure ? "Only UDP announcements arrived (no node has the right to raw sockets): "
			   "whether these links are cables or a switch is unknown."
			 : "";
	if (s->nodes == 2 && each_has(s, s->neighbours, 1)) {
		if (!s->unsure)
			*why = "A cable joins the two nodes.";
		return CLUSTER_PAIR;
	}
	if (s->nodes == 3 && each_has(s, s->neighbours, 2)) {
		if (!s->unsure)
			*why = "Every node has a cable to both others.";
		return CLUSTER_RING;
	}
	/* Two neighbours each among four nodes are one ring: a smaller one needs three. */
	if (s->nodes == 4 && each_has(s, s->neighbours, 2)) {
		*why = arena_printf(a,
				    "A ring of four without a switch is not supported: %s share no "
				    "cable, so NCCL's trees over all nodes fail. NVIDIA's set-up "
				    "refuses a ring too. Use a 200 Gb/s switch, or three nodes.",
				    gaps(a, s));
		return CLUSTER_RING_FOUR;
	}
	*why = arena_printf(a, "No cable joins %s.", gaps(a, s));
	return CLUSTER_PARTIAL;
}

static enum cluster_topology of_shape(struct arena *a, const struct cabling *s, const char **why)
{
	if (!s->cables && !s->switches && !s->unsure) {
		*why = s->nodes > 1	   ? "No port received an announcement from another node."
		       : s->nodes == 0	   ? "No node answered."
		       : s->c->n_nodes > 1 ? "Only one node answered."
					   : "There is one node.";
		return CLUSTER_NOTHING;
	}
	if (s->switches && s->cables) {
		*why = "Some ports are joined by a cable, others by a switch; use only one of "
		       "them.";
		return CLUSTER_MIXED;
	}
	if (!s->switches)
		return of_cables(a, s, why);
	if (each_on_switch(s)) {
		*why = s->switches > 1 ? "All nodes are on switches."
				       : "All nodes are on one switch.";
		return CLUSTER_SWITCHED;
	}
	*why = "Some nodes receive no announcements through the switch that connects the others.";
	return CLUSTER_PARTIAL;
}

static bool has_data(const struct cluster *c)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		NODE_PORTS(p, &c->nodes[i])
	if (p->data)
		return true;
	return false;
}

void cluster_make_topology(struct arena *a, struct cluster *c)
{
	struct cabling s = links_look(c);

	c->topology = of_shape(a, &s, &c->topology_why);
	c->supported = c->topology == CLUSTER_PAIR || c->topology == CLUSTER_RING ||
		       c->topology == CLUSTER_SWITCHED;
	if (!s.all || c->topology == CLUSTER_NOTHING)
		return;
	c->supported = false;
	if (has_data(c)) {
		c->topology = CLUSTER_NOTHING;
		c->topology_why = "Only management ports receive each other's announcements: no "
				  "port with RDMA or 25 Gb/s does.";
	} else {
		c->topology_why = arena_printf(
			a, "%s No port has RDMA or 25 Gb/s: these ports may be for management.",
			c->topology_why);
	}
}

/* Links folded into wires: a cable with two cages or a switch with many, and the paths on it. */

bool cluster_wire_data(const struct cluster *c, const struct cluster_wire *w)
{
	for (size_t i = 0; i < w->n_cages; i++) {
		const struct cluster_cage *g = &c->cages[w->cages[i]];

		for (size_t k = 0; k < g->n_ports; k++)
			if (cluster_end_port(c, (struct cluster_end){ g->node, g->ports[k] })->data)
				return true;
	}
	return false;
}

const char *cluster_cage_text(struct arena *a, const struct cluster *c, size_t cage)
{
	return arena_printf(a, "%s %s", c->nodes[c->cages[cage].node].name, c->cages[cage].name);
}

/* Every link joins the sets of its two cages: set[i] is the smallest cage of the set. */
static size_t *links_join(struct arena *a, const struct cluster *c)
{
	size_t *set = arena_array(a, c->n_cages, sizeof(*set));

	for (size_t i = 0; i < c->n_cages; i++)
		set[i] = i;
	for (size_t i = 0; i < c->n_links; i++) {
		size_t x = cluster_cage_at(c, c->links[i].a), y = cluster_cage_at(c, c->links[i].b);
		size_t low, high;

		/* An end in no cage: its port is no data port. */
		if (x == CLUSTER_NONE || y == CLUSTER_NONE)
			continue;
		low = set[x] < set[y] ? set[x] : set[y];
		high = set[x] < set[y] ? set[y] : set[x];
		for (size_t k = 0; k < c->n_cages; k++)
			if (set[k] == high)
				set[k] = low;
	}
	return set;
}

static enum cluster_way wires_way_of(const struct cluster *c, const struct cluster_wire *w,
				     size_t wire)
{
	enum cluster_way way = CLUSTER_UNSURE;

	for (size_t i = 0; i < c->n_links; i++) {
		size_t cage = cluster_cage_at(c, c->links[i].a);

		if (cage != CLUSTER_NONE && c->cages[cage].wire == wire && c->links[i].way < way)
			way = c->links[i].way;
	}
	/* Datagrams alone: two ends may be a cable, more are not. */
	if (w->n_cages > 2)
		return CLUSTER_SWITCH;
	return way;
}

/* The only port of cage g that port hears or is heard by; CLUSTER_NONE when none or several. */
static size_t partner(const struct cluster *c, struct cluster_end port, size_t g)
{
	size_t found = CLUSTER_NONE;

	for (size_t i = 0; i < c->n_links; i++) {
		struct cluster_end x = c->links[i].a, y = c->links[i].b;

		if (y.node == port.node && y.port == port.port) {
			y = x;
			x = port;
		}
		if (x.node != port.node || x.port != port.port || cluster_cage_at(c, y) != g)
			continue;
		if (found != CLUSTER_NONE && found != y.port)
			return CLUSTER_NONE;
		found = y.port;
	}
	return found;
}

static bool links_taken(const struct cluster_wire *w, struct cluster_end e)
{
	for (size_t i = 0; i < w->n_paths; i++)
		for (size_t k = 0; k < w->paths[i].n_ends; k++)
			if (w->paths[i].ends[k].node == e.node &&
			    w->paths[i].ends[k].port == e.port)
				return true;
	return false;
}

static struct cluster_path *links_add_path(struct arena *a, struct cluster_wire *w)
{
	struct cluster_path *p;

	p = &ARENA_ADD(a, w->paths, w->n_paths);
	*p = (struct cluster_path){ .ends = arena_array(a, w->n_cages, sizeof(*p->ends)) };
	return p;
}

static void add_end(const struct cluster *c, struct cluster_path *p, struct cluster_end e)
{
	long long speed = fact_or(&cluster_end_port(c, e)->nic.speed_mbps, 0);

	if (speed > 0 && (!p->speed_mbps || speed < p->speed_mbps))
		p->speed_mbps = speed;
	p->ends[p->n_ends++] = e;
}

/* A port that hears exactly one port of the other cage goes with that one. */
static void paths_by_ear(struct arena *a, const struct cluster *c, struct cluster_wire *w)
{
	const struct cluster_cage *x = &c->cages[w->cages[0]], *y = &c->cages[w->cages[1]];

	for (size_t i = 0; i < x->n_ports; i++) {
		struct cluster_end from = { x->node, x->ports[i] }, to = { y->node, 0 };
		struct cluster_path *p;

		to.port = partner(c, from, w->cages[1]);
		if (to.port == CLUSTER_NONE || partner(c, to, w->cages[0]) != from.port)
			continue;
		p = links_add_path(a, w);
		add_end(c, p, from);
		add_end(c, p, to);
	}
}

/* On a switch the ports of one node, whatever their cages, are its ways to the others; on a cable
 * those of one cage are. */
static bool one_group(const struct cluster *c, const struct cluster_wire *w, size_t x, size_t y)
{
	return w->way == CLUSTER_SWITCH ? c->cages[x].node == c->cages[y].node : x == y;
}

/* The first port that is left of the group that begins with cage i, by PCI address. */
static bool next_end(const struct cluster *c, const struct cluster_wire *w, size_t i,
		     struct cluster_end *out)
{
	bool found = false;

	for (size_t j = i; j < w->n_cages; j++) {
		const struct cluster_cage *g = &c->cages[w->cages[j]];

		if (!one_group(c, w, w->cages[i], w->cages[j]))
			continue;
		for (size_t k = 0; k < g->n_ports; k++) {
			struct cluster_end e = { g->node, g->ports[k] };

			if (links_taken(w, e) ||
			    (found && strcmp(cluster_end_port(c, e)->pci,
					     cluster_end_port(c, *out)->pci) >= 0))
				continue;
			*out = e;
			found = true;
		}
	}
	return found;
}

static bool begins_group(const struct cluster *c, const struct cluster_wire *w, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (one_group(c, w, w->cages[k], w->cages[i]))
			return false;
	return true;
}

/* What is left: the first that is left of every group, then the second. */
static void paths_by_order(struct arena *a, const struct cluster *c, struct cluster_wire *w)
{
	for (;;) {
		struct cluster_path next = { .ends = arena_array(a, w->n_cages,
								 sizeof(*next.ends)) };

		for (size_t i = 0; i < w->n_cages; i++) {
			struct cluster_end e;

			if (begins_group(c, w, i) && next_end(c, w, i, &e))
				add_end(c, &next, e);
		}
		if (next.n_ends < 2)
			return;
		*links_add_path(a, w) = next;
	}
}

static void links_add_wire(struct arena *a, struct cluster *c, const size_t *set, size_t first)
{
	struct cluster_wire w = { 0 };

	for (size_t i = first; i < c->n_cages; i++) {
		if (set[i] != first)
			continue;
		ARENA_ADD(a, w.cages, w.n_cages) = i;
	}
	if (w.n_cages < 2)
		return;
	for (size_t i = 0; i < w.n_cages; i++)
		c->cages[w.cages[i]].wire = c->n_wires;
	w.way = wires_way_of(c, &w, c->n_wires);
	if (w.way != CLUSTER_SWITCH)
		paths_by_ear(a, c, &w);
	paths_by_order(a, c, &w);
	ARENA_ADD(a, c->wires, c->n_wires) = w;
}

void cluster_make_wires(struct arena *a, struct cluster *c)
{
	size_t *set = links_join(a, c);

	for (size_t i = 0; i < c->n_cages; i++)
		if (set[i] == i)
			links_add_wire(a, c, set, i);
}
