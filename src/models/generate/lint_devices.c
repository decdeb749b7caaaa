/* SPDX-License-Identifier: Apache-2.0 */
/* Names of RDMA devices and interfaces in variables, against what the machine has. */
#include <string.h>

#include "models/generate/lint.h"
#include "knowledge/nccl_vars.h"

struct look {
	size_t named;	  /* names in the list */
	size_t known;	  /* that some device has */
	size_t matches;	  /* devices that are taken */
	size_t down;	  /* of these */
	const char *more; /* a device that only its beginning names; NULL */
	const char *of;	  /* by this name, which another device has */
	const char *wide; /* a name that no device has, and some begin with; NULL */
	const char *none; /* a name that no device has; NULL */
};

static void look_at(struct lint *l, const char *list, bool exact, struct look *out)
{
	const struct gen_node *n = l->on->node;
	const char *name;
	size_t len;

	*out = (struct look){ 0 };
	while ((name = var_list_next(&list, &len)) != NULL) {
		const char *longer = NULL;
		bool found = false, whole = false;

		out->named++;
		for (size_t i = 0; i < n->n_ports; i++) {
			const struct gen_port *p = &n->ports[i];

			if (!len || strncmp(name, p->device, len) != 0 || (exact && p->device[len]))
				continue;
			found = true;
			out->matches++;
			out->down += !p->up;
			whole = whole || !p->device[len];
			longer = p->device[len] && !longer ? p->device : longer;
		}
		if (whole && longer && !out->more) {
			out->more = longer;
			out->of = arena_strndup(l->a, name, len);
		}
		if (!whole && longer && !out->wide)
			out->wide = arena_strndup(l->a, name, len);
		out->known += found;
		if (!found && !out->none)
			out->none = arena_strndup(l->a, name, len);
	}
}

static const char *own_devices(struct lint *l)
{
	const struct gen_node *n = l->on->node;
	const char *list = "";

	for (size_t i = 0; i < n->n_ports; i++)
		list = arena_printf(l->a, "%s%s%s", list, *list ? ", " : "", n->ports[i].device);
	return list;
}

/* A cage of a DGX Spark with one of its twins in the list. */
static void judge_twin(struct lint *l, const struct lint_var *v)
{
	const struct gen_node *n = l->on->node;

	for (size_t i = 0; i < n->n_ports; i++)
		for (size_t k = 0; k < n->n_ports; k++) {
			const struct gen_port *p = &n->ports[i], *twin = &n->ports[k];

			if (i == k || !*p->cage || strcmp(p->cage, twin->cage) != 0 ||
			    !var_list_names(v->value, p->device) ||
			    var_list_names(v->value, twin->device))
				continue;
			lint_add(l, LINT_WARNING, "half-a-cage", v->line, v->name,
				 arena_printf(l->a, "%s,%s", v->value, twin->device),
				 "NVIDIA, DGX Spark: connect multiple Sparks (cables)",
				 "%s and %s are twins of cage %s, and the list has one of them: "
				 "half of the cable's speed",
				 p->device, twin->device, p->cage);
		}
}

/* Who names a beginning means all that begin so; among them may be what no collective should go
 * over. */
static void judge_wide(struct lint *l, const struct lint_var *v, const char *list, const char *wide)
{
	const struct gen_node *n = l->on->node;
	const char *good = "", *last = "", *odd = NULL;

	for (size_t i = 0; i < n->n_ports; i++) {
		const struct gen_port *p = &n->ports[i];

		if (!var_list_names(list, p->device))
			continue;
		if (!gen_port_used(n, p)) {
			odd = odd ? odd : p->device;
		} else if (strcmp(last, p->device) != 0) {
			last = p->device;
			good = arena_printf(l->a, "%s%s%s", good, *good ? "," : "=", last);
		}
	}
	if (odd)
		lint_add(l, LINT_WARNING, "hca-prefix", v->line, v->name, *good ? good : NULL, NULL,
			 "\"%s\" takes every device that begins so, %s among them, which is down, "
			 "slower than others or without an address",
			 wide, odd);
}

static void judge_own(struct lint *l, const struct lint_var *v, const char *list, bool exact)
{
	struct look k;

	look_at(l, list, exact, &k);
	if (k.named && !k.known)
		lint_add(l, l->on->image ? LINT_NOTE : LINT_ERROR, "hca-unknown", v->line, v->name,
			 "ibv_devices, where the program runs", NULL,
			 "%s=%.80s names no device of this machine (%s)%s", v->name, v->value,
			 own_devices(l), l->on->image ? "; a container may have other names" : "");
	else if (k.none)
		lint_add(l, LINT_WARNING, "hca-unknown", v->line, v->name, NULL, NULL,
			 "%s is no device of this machine (%s)", k.none, own_devices(l));
	if (k.more)
		lint_add(l, LINT_ERROR, "hca-prefix", v->line, v->name,
			 arena_printf(l->a, "=%s", v->value), NULL,
			 "\"%s\" without \"=\" in front of the list takes %s as well", k.of,
			 k.more);
	if (k.wide)
		judge_wide(l, v, list, k.wide);
	else if (k.down)
		lint_add(l, LINT_WARNING, "hca-down", v->line, v->name, NULL, NULL,
			 "%zu of the %zu ports that it takes are down now", k.down, k.matches);
	if (strcmp(l->on->node->platform, "dgx-spark") == 0 && k.known)
		judge_twin(l, v);
}

void lint_hca(struct lint *l, const struct lint_var *v)
{
	const char *list = v->value;
	bool exact;

	if (*list == '^')
		return;
	exact = *list == '=';
	list += exact;
	if (strchr(list, '='))
		lint_add(l, LINT_ERROR, "bad-value", v->line, v->name, "one \"=\", in front of all",
			 known_var("NCCL_IB_HCA")->source,
			 "%s=%.80s: \"=\" stands once, in front of the list; elsewhere it is part "
			 "of a name that no device has",
			 v->name, v->value);
	else if (l->on->node && l->on->node->n_ports)
		judge_own(l, v, list, exact);
	else if (!exact)
		lint_add(l, LINT_NOTE, "hca-prefix", v->line, v->name,
			 "\"=\" in front of whole names", known_var("NCCL_IB_HCA")->source,
			 "%s=%.80s takes every device whose name begins so", v->name, v->value);
}

static const struct gen_link *link_of(const struct gen_node *n, const char *name, size_t len,
				      bool exact)
{
	for (size_t i = 0; i < n->n_links; i++)
		if (strncmp(n->links[i].name, name, len) == 0 && (!exact || !n->links[i].name[len]))
			return &n->links[i];
	return NULL;
}

/* Whether an RDMA port's or any other interface of the machine is named so. */
static bool there(const struct gen_node *n, const char *name, size_t len, bool exact)
{
	for (size_t i = 0; i < n->n_ports; i++)
		if (strncmp(n->ports[i].netdev, name, len) == 0 &&
		    (!exact || !n->ports[i].netdev[len]))
			return true;
	if (!n->facts)
		return link_of(n, name, len, exact) != NULL;
	LIST_FOR_EACH (struct nic, c, &n->facts->net.nics)
		if (strncmp(c->name, name, len) == 0 && (!exact || !c->name[len]))
			return true;
	return false;
}

void lint_interface(struct lint *l, const struct lint_var *v)
{
	const struct gen_node *n = l->on->node;
	bool exact = *v->value == '=' || strncmp(v->name, "NCCL_", 5) != 0;
	const char *list = v->value + (*v->value == '='), *name;
	size_t len;

	if (*v->value == '^' || !n)
		return;
	while ((name = var_list_next(&list, &len)) != NULL) {
		const struct gen_link *k;

		if ((len == 2 && strncmp(name, "lo", 2) == 0) ||
		    (len == 7 && strncmp(name, "docker0", 7) == 0))
			lint_add(l, LINT_ERROR, "interface-local", v->line, v->name, NULL, NULL,
				 "%.*s reaches no other machine", (int)len, name);
		else if (!there(n, name, len, exact))
			lint_add(l, l->on->image ? LINT_NOTE : LINT_ERROR, "interface-unknown",
				 v->line, v->name, "ip -br link", NULL,
				 "%s=%.60s: this machine has no interface %.*s", v->name, v->value,
				 (int)len, name);
		k = link_of(n, name, len, exact);
		if (k && k->wireless)
			lint_add(l, LINT_WARNING, "interface-wireless", v->line, v->name, NULL,
				 NULL,
				 "%s is wireless: its power saving makes the first contact slow or "
				 "fail",
				 k->name);
	}
}
