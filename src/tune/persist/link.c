/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MTU of a link is kept by who configures it: netplan by a file of ours that adds to its
 * definition, NetworkManager by a default for the interface, networkd by a drop-in of the file that
 * matches it. Where nobody does, the boot-time unit sets it.
 */
#include <string.h>

#include "base/text.h"
#include "tune/persist/netplan.h"
#include "tune/persist/persist.h"
#include "tune/persist/quote.h"
#include "machine/knob/knob.h"
#include "tune/plan/plan.h"

struct links {
	struct arena *a;
	const struct machine *m;
	const struct persist_target *w;
	struct persist *p;
};

static const char *netplan_section(const char *kind)
{
	return strcmp(kind, "infiniband") == 0 ? NULL : "ethernets";
}

/* The definition that netplan itself took for the interface: it is in the name of the file that it
 * wrote for networkd, "10-netplan-ID.network". NULL. */
static const char *generated_id(struct arena *a, const struct persist_target *w,
				const struct nic *n)
{
	static const char key[] = "netplan-", end[] = ".network";

	for (size_t i = 0; i < w->n_sources; i++) {
		const struct persist_source *s = &w->sources[i];
		const char *id = strstr(path_name(s->path), key);

		if (id && str_ends(id, end) &&
		    networkd_matches(a, s->text, n->name, fact_text(&n->mac, "")))
			return arena_strndup(a, id + strlen(key),
					     strlen(id) - strlen(key) - strlen(end));
	}
	return NULL;
}

static const char *find_id(struct arena *a, const struct persist_target *w, const char *interface,
			   const char *mac, const char **section)
{
	const char *id = NULL;

	for (size_t i = 0; i < w->n_sources && !id; i++)
		if (str_starts(w->sources[i].path, "/etc/netplan/") &&
		    strcmp(w->sources[i].path, PERSIST_NETPLAN) != 0)
			id = netplan_find(a, w->sources[i].text, interface, mac, section);
	return id;
}

const char *persist_netplan_id(struct arena *a, const struct persist_target *w, const struct nic *n,
			       const char **section)
{
	const char *id = find_id(a, w, n->name, fact_text(&n->mac, ""), section);

	if (id)
		return id;
	id = generated_id(a, w, n);
	return id ? find_id(a, w, id, "", section) : NULL;
}

/* A definition for an interface that nobody has one for would take it over: only where it carries
 * no address that could be lost. */
static const char *netplan_id(struct links *l, const struct nic *n, const char **section,
			      const char **why)
{
	const char *id = persist_netplan_id(l->a, l->w, n, section);

	if (id)
		return id;
	*section = netplan_section(fact_text(&n->type, ""));
	*why = "no netplan file names the interface, but it has addresses: add mtu to the file "
	       "that configures it";
	if (!*section || (seen_ok(&n->ipv4.f) ? *n->ipv4.v != '\0' : n->ipv4.f.seen != SEEN_ABSENT))
		return NULL;
	persist_note(l->a, l->p,
		     arena_printf(l->a,
				  "No netplan file names %s. gputune's file does, so netplan "
				  "configures it from the next boot on.",
				  n->name));
	return n->name;
}

/*
 * As soon as a definition has an mtu, netplan writes a .link file for it, which takes the place of
 * the one that names interfaces: found by its address, the interface would keep the kernel's own
 * name from the next boot on. Saying today's name keeps it. NULL: no need.
 */
static const char *name_to_keep(struct links *l, const struct nic *n, const char *section,
				const char *id)
{
	bool by_address = false;

	for (size_t i = 0; i < l->w->n_sources; i++) {
		const struct persist_source *s = &l->w->sources[i];

		if (!str_starts(s->path, "/etc/netplan/") || strcmp(s->path, PERSIST_NETPLAN) == 0)
			continue;
		if (netplan_value(l->a, s->text, section, id, "set-name"))
			return NULL;
		by_address = by_address || netplan_is_by_address(l->a, s->text, section, id);
	}
	return by_address ? n->name : NULL;
}

static void netplan_row(struct links *l, struct persist_entry *row, const struct nic *n,
			const char *section, struct text *body)
{
	const char *its = NULL, *why = "", *id = netplan_id(l, n, &its, &why), *name, *key, *set;

	key = id ? quote_yaml(l->a, id, &why) : NULL;
	name = key ? name_to_keep(l, n, its, id) : NULL;
	set = name ? quote_yaml(l->a, name, &why) : NULL;
	if (!key || (name && !set)) {
		persist_refuse(row, why);
		return;
	}
	if (strcmp(its, section) != 0)
		return;
	text_printf(body, "    %s:\n      mtu: %s\n", key, row->value);
	if (set)
		text_printf(body, "      set-name: %s\n", set);
}

static bool has_section(const struct text *t, const char *section)
{
	return t->s && strstr(t->s, section) != NULL;
}

/* Rows by section, so that each stands once. */
static void netplan_rows(struct links *l, struct text *out, const char *section)
{
	TEXT_AUTO body = { 0 };

	for (size_t i = 0; i < l->p->n; i++) {
		struct persist_entry *row = &l->p->rows[i];
		const struct nic *n = machine_nic(l->m, row->knob.object);

		if (row->keeper == PERSIST_IN_LINK && strcmp(row->by, PERSIST_NETPLAN) == 0)
			netplan_row(l, row, n, section, &body);
	}
	if (body.len)
		text_printf(out, "%s  %s:\n%s",
			    has_section(out, "network:") ? "" : "network:\n  version: 2\n", section,
			    body.s);
}

static void netplan_file(struct links *l)
{
	static const char *const sections[] = { "ethernets", "bonds", "bridges", "vlans" };
	TEXT_AUTO body = { 0 }, all = { 0 };

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		netplan_rows(l, &body, sections[i]);
	if (!body.len)
		return;
	persist_header(&all, l->p->rows, l->p->n, PERSIST_IN_LINK, PERSIST_NETPLAN);
	text_add(&all, body.s);
	/* netplan refuses files that others may read. */
	persist_add_file(l->a, l->p, PERSIST_NETPLAN, 0600, all.s);
	persist_note(l->a, l->p,
		     "netplan reads its files at boot; \"netplan apply\" applies them now and may "
		     "interrupt links. For an interface with an mtu, netplan disables wake-on-LAN "
		     "unless a file has wakeonlan: true.");
}

static void manager_file(struct links *l)
{
	TEXT_AUTO body = { 0 }, all = { 0 };

	for (size_t i = 0; i < l->p->n; i++) {
		struct persist_entry *row = &l->p->rows[i];
		const struct nic *n = machine_nic(l->m, row->knob.object);
		const char *why = "", *name;

		if (row->keeper != PERSIST_IN_LINK || strcmp(row->by, PERSIST_NM) != 0)
			continue;
		name = quote_interface(l->a, row->knob.object, &why);
		if (!name) {
			persist_refuse(row, why);
			continue;
		}
		text_printf(&body,
			    "[connection-gputune-%s]\nmatch-device=interface-name:%s\n%s.mtu=%s\n",
			    name, name, fact_is(&n->type, "infiniband") ? "infiniband" : "ethernet",
			    row->value);
	}
	if (!body.len)
		return;
	persist_header(&all, l->p->rows, l->p->n, PERSIST_IN_LINK, PERSIST_NM);
	text_add(&all, body.s);
	persist_add_file(l->a, l->p, PERSIST_NM, 0644, all.s);
	persist_note(l->a, l->p,
		     "NetworkManager uses the MTU as a default: a connection with its own MTU "
		     "keeps it.");
}

/* The file of networkd that means the interface; NULL. */
static const char *networkd_file(struct links *l, const struct nic *n)
{
	for (size_t i = 0; i < l->w->n_sources; i++) {
		const struct persist_source *s = &l->w->sources[i];

		if (str_ends(s->path, ".network") &&
		    networkd_matches(l->a, s->text, n->name, fact_text(&n->mac, "")))
			return path_name(s->path);
	}
	return NULL;
}

static const char *networkd_drop_in(struct links *l, const char *interface)
{
	const struct nic *n = machine_nic(l->m, interface);
	const char *name = n ? networkd_file(l, n) : NULL;

	return name ? arena_printf(l->a, "/etc/systemd/network/%s.d/90-gputune.conf", name) : NULL;
}

/* Of several interfaces of one file one drop-in: their values have to agree. */
static void networkd_row(struct links *l, size_t i)
{
	struct persist_entry *row = &l->p->rows[i];
	const char *path = networkd_drop_in(l, row->knob.object);
	TEXT_AUTO all = { 0 };

	if (!path) {
		persist_refuse(row, "the networkd file that matches the interface was not found");
		return;
	}
	row->by = path;
	for (size_t k = 0; k < i; k++) {
		if (l->p->rows[k].keeper != PERSIST_IN_LINK || strcmp(l->p->rows[k].by, path) != 0)
			continue;
		if (strcmp(l->p->rows[k].value, row->value) != 0)
			persist_refuse(row, "the same networkd file configures another interface, "
					    "which needs a different MTU");
		return;
	}
	persist_header(&all, l->p->rows, l->p->n, PERSIST_IN_LINK, path);
	text_printf(&all, "[Link]\nMTUBytes=%s\n", row->value);
	persist_add_file(l->a, l->p, path, 0644, all.s);
}

/* DGX OS configures links through netplan, also those that nothing is said of yet. */
static bool is_netplan_machine(struct links *l)
{
	for (size_t i = 0; i < l->w->n_sources; i++)
		if (str_starts(l->w->sources[i].path, "/etc/netplan/"))
			return seen_ok(&l->m->software.dgx_release.f);
	return false;
}

/* Files are mostly called after the interface, and that is what the fact knows. Where they are not,
 * what stands in them tells. */
static const char *owner_of(struct links *l, const struct nic *n)
{
	const char *file;

	if (seen_ok(&n->owner.f))
		return n->owner.v;
	file = networkd_file(l, n);
	return !file ? "none" : strstr(file, "netplan-") ? "netplan" : "networkd";
}

/* Who keeps it, or why nobody does. */
static void persist_link_assign(struct links *l, struct persist_entry *row)
{
	const struct nic *n = machine_nic(l->m, row->knob.object);
	const char *owner = n ? owner_of(l, n) : NULL;

	if (!n)
		persist_refuse(row, "the interface could not be read");
	else if (n->owner.f.seen != SEEN_OK && n->owner.f.seen != SEEN_ABSENT)
		persist_refuse(row, "the tool that configures the interface is unknown");
	else if (strcmp(owner, "netplan") == 0 ||
		 (strcmp(owner, "none") == 0 && is_netplan_machine(l)))
		row->by = PERSIST_NETPLAN;
	else if (strcmp(owner, "NetworkManager") == 0)
		row->by = PERSIST_NM;
	else if (strcmp(owner, "networkd") == 0)
		row->by = "networkd";
	else if (strcmp(owner, "ifupdown") == 0)
		persist_refuse(row, "ifupdown configures the interface: add mtu to its stanza");
	else {
		row->keeper = PERSIST_IN_UNIT;
		row->by = PERSIST_UNIT_NAME;
	}
}

void persist_links(struct arena *a, const struct machine *m, const struct persist_target *w,
		   struct persist *p)
{
	struct links l = { a, m, w, p };

	for (size_t i = 0; i < p->n; i++)
		if (p->rows[i].keeper == PERSIST_IN_LINK)
			persist_link_assign(&l, &p->rows[i]);
	netplan_file(&l);
	manager_file(&l);
	for (size_t i = 0; i < p->n; i++)
		if (p->rows[i].keeper == PERSIST_IN_LINK && strcmp(p->rows[i].by, "networkd") == 0)
			networkd_row(&l, i);
}
