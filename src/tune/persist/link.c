/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MTU of a link is kept by who configures it: netplan by a file of ours that adds to its
 * definition, NetworkManager by a default for the interface, networkd by a drop-in of the file that
 * matches it. Where nobody does, the boot-time unit sets it.
 */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "tune/persist/netplan.h"
#include "tune/persist/persist.h"
#include "tune/persist/quote.h"
#include "machine/knob/knob.h"
#include "tune/plan/reach.h"

struct links {
	struct arena *a;
	const struct machine *m;
	const struct persist_wish *w;
	struct persist *p;
};

static const char *netplan_section(const char *kind)
{
	return strcmp(kind, "infiniband") == 0 ? NULL : "ethernets";
}

/* The definition that netplan itself took for the interface: it is in the name of the file that it
 * wrote for networkd, "10-netplan-ID.network". NULL. */
static const char *generated_id(struct arena *a, const struct persist_wish *w, const struct nic *n)
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

static const char *find_id(struct arena *a, const struct persist_wish *w, const char *interface,
			   const char *mac, const char **section)
{
	const char *id = NULL;

	for (size_t i = 0; i < w->n_sources && !id; i++)
		if (str_starts(w->sources[i].path, "/etc/netplan/") &&
		    strcmp(w->sources[i].path, PERSIST_NETPLAN) != 0)
			id = netplan_find(a, w->sources[i].text, interface, mac, section);
	return id;
}

const char *persist_netplan_id(struct arena *a, const struct persist_wish *w, const struct nic *n,
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
	*why = "no file of netplan names the interface, and it carries addresses: add mtu to the "
	       "file that configures it";
	if (!*section || (seen_ok(&n->ipv4.f) ? *n->ipv4.v != '\0' : n->ipv4.f.seen != SEEN_ABSENT))
		return NULL;
	persist_note(l->a, l->p,
		     arena_printf(l->a,
				  "No file of netplan names %s: ours does from the next boot on, "
				  "and netplan configures it then.",
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

static void netplan_row(struct links *l, struct kept *row, const struct nic *n, const char *section,
			struct text *body)
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
		struct kept *row = &l->p->rows[i];
		const struct nic *n = machine_nic(l->m, row->knob.object);

		if (row->keeper == KEEPER_LINK && strcmp(row->by, PERSIST_NETPLAN) == 0)
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
	persist_header(&all, l->p->rows, l->p->n, KEEPER_LINK, PERSIST_NETPLAN);
	text_add(&all, body.s);
	/* netplan refuses files that others may read. */
	persist_add_file(l->a, l->p, PERSIST_NETPLAN, 0600, all.s);
	persist_note(
		l->a, l->p,
		"netplan reads its files at boot; \"netplan apply\" would do it now and may "
		"interrupt links. It switches wake-on-LAN off where it is given an mtu, unless "
		"its files say wakeonlan: true.");
}

static void manager_file(struct links *l)
{
	TEXT_AUTO body = { 0 }, all = { 0 };

	for (size_t i = 0; i < l->p->n; i++) {
		struct kept *row = &l->p->rows[i];
		const struct nic *n = machine_nic(l->m, row->knob.object);
		const char *why = "", *name;

		if (row->keeper != KEEPER_LINK || strcmp(row->by, PERSIST_NM) != 0)
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
	persist_header(&all, l->p->rows, l->p->n, KEEPER_LINK, PERSIST_NM);
	text_add(&all, body.s);
	persist_add_file(l->a, l->p, PERSIST_NM, 0644, all.s);
	persist_note(l->a, l->p,
		     "NetworkManager takes the MTU as a default: a connection that names one of "
		     "its own keeps it.");
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
	struct kept *row = &l->p->rows[i];
	const char *path = networkd_drop_in(l, row->knob.object);
	TEXT_AUTO all = { 0 };

	if (!path) {
		persist_refuse(row,
			       "the file of networkd that matches the interface was not found");
		return;
	}
	row->by = path;
	for (size_t k = 0; k < i; k++) {
		if (l->p->rows[k].keeper != KEEPER_LINK || strcmp(l->p->rows[k].by, path) != 0)
			continue;
		if (strcmp(l->p->rows[k].value, row->value) != 0)
			persist_refuse(row, "another interface of the same file of networkd has "
					    "another MTU");
		return;
	}
	persist_header(&all, l->p->rows, l->p->n, KEEPER_LINK, path);
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
static void assign(struct links *l, struct kept *row)
{
	const struct nic *n = machine_nic(l->m, row->knob.object);
	const char *owner = n ? owner_of(l, n) : NULL;

	if (!n)
		persist_refuse(row, "the interface was not seen");
	else if (n->owner.f.seen != SEEN_OK && n->owner.f.seen != SEEN_ABSENT)
		persist_refuse(row, "who configures the interface could not be seen");
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
		row->keeper = KEEPER_UNIT;
		row->by = PERSIST_UNIT_NAME;
	}
}

void persist_links(struct arena *a, const struct machine *m, const struct persist_wish *w,
		   struct persist *p)
{
	struct links l = { a, m, w, p };

	for (size_t i = 0; i < p->n; i++)
		if (p->rows[i].keeper == KEEPER_LINK)
			assign(&l, &p->rows[i]);
	netplan_file(&l);
	manager_file(&l);
	for (size_t i = 0; i < p->n; i++)
		if (p->rows[i].keeper == KEEPER_LINK && strcmp(p->rows[i].by, "networkd") == 0)
			networkd_row(&l, i);
}

/* Who has, or may have, the last word at boot where it is not we: a later file, a daemon, a boot
 * menu's drop-in that begins anew. */

/* "/etc/sysctl.d/x.conf:3" -> "x.conf". */
static const char *file_name(struct arena *a, const char *what)
{
	return path_name(arena_strndup(a, what, strcspn(what, ":")));
}

/* systemd reads /etc/sysctl.conf where a folder links to it, in the place of the link, which every
 * distribution calls 99-sysctl.conf; other init systems read it last. */
static const char *name_in_order(struct arena *a, const struct machine *m, const char *what)
{
	if (str_starts(what, "/etc/sysctl.conf:") && fact_is(&m->software.init, "systemd"))
		return "99-sysctl.conf";
	return file_name(a, what);
}

static bool is_later_file(struct arena *a, const struct machine *m, const struct kept *row,
			  const char *what)
{
	return strcmp(name_in_order(a, m, what), path_name(row->by)) > 0;
}

/* A pattern of sysctl.d sets nothing that some file names, and ours names it. */
static bool is_by_pattern(struct arena *a, const struct machine *m, const struct kept *row,
			  const struct owner *o)
{
	if (row->keeper != KEEPER_SYSCTL)
		return false;
	LIST_FOR_EACH (struct assignment, it, &m->config.assignments)
		if (it->kind && it->name && it->file && strcmp(it->kind, "sysctl") == 0 &&
		    strpbrk(it->name, "*?[") &&
		    strcmp(arena_printf(a, "%s:%u", it->file, it->line), o->what) == 0)
			return true;
	return false;
}

/* Whether the owner acts after ours. Lines of files of the same kind go by name; the kernel's
 * arguments come before all; services after all but the unit, which waits for them. */
static bool acts_later(struct arena *a, const struct machine *m, const struct kept *row,
		       const struct owner *o)
{
	/* kernel-install makes the entries anew. */
	if (strcmp(row->by, PERSIST_KERNEL) == 0)
		return false;
	if (str_starts(o->what, "kernel argument"))
		return row->keeper == KEEPER_BOOT_ARGUMENT && strchr(o->what, '/') &&
		       !strstr(o->what, "/proc/cmdline") && is_later_file(a, m, row, o->what);
	if (strstr(o->what, ".service"))
		return row->keeper != KEEPER_UNIT || o->fights;
	if (*o->what != '/')
		return o->fights;
	/* udev rules and tmpfiles.d set the same kind of thing, at different times. */
	if (strstr(o->what, "/udev/rules.d/") && row->keeper == KEEPER_TMPFILES)
		return true;
	if (strstr(o->what, "/tmpfiles.d/") && row->keeper == KEEPER_UDEV)
		return false;
	if (is_by_pattern(a, m, row, o))
		return false;
	return row->keeper != KEEPER_UNIT && is_later_file(a, m, row, o->what);
}

static bool is_number_same(const char *x, const char *y)
{
	long long a, b;

	return parse_i64(x, &a) == 0 && parse_i64(y, &b) == 0 && a == b;
}

static bool is_same_value(const char *x, const char *y)
{
	return x && (strcmp(x, y) == 0 || is_number_same(x, y));
}

static void by_owner(struct arena *a, const struct machine *m, struct kept *row)
{
	struct change c = { .knob = row->knob };

	plan_owners(a, m, &c);
	for (size_t i = 0; i < c.n_owners; i++) {
		const struct owner *o = &c.owners[i];

		if ((!o->at_boot && !o->fights) || is_same_value(o->value, row->value) ||
		    strstr(o->what, "gputune") || !acts_later(a, m, row, o))
			continue;
		if (o->value && o->at_boot)
			row->loses = arena_printf(a, "%s sets %s%s", o->what, o->value,
						  o->fights ? ", and may do so at any time" : "");
		else
			row->contested = arena_printf(a, "%s may set it%s", o->what,
						      o->fights ? " at any time" : "");
	}
}

/* A drop-in behind ours that assigns the arguments without the ones before it. */
static const char *by_boot_menu(struct arena *a, const struct persist_wish *w)
{
	static const char key[] = "GRUB_CMDLINE_LINUX_DEFAULT=";

	for (size_t i = 0; i < w->n_sources; i++) {
		const struct persist_source *s = &w->sources[i];

		if (!str_starts(s->path, "/etc/default/grub.d/") ||
		    strcmp(path_name(s->path), path_name(PERSIST_GRUB)) <= 0)
			continue;
		for (const char *at = strstr(s->text, key); at; at = strstr(at + 1, key)) {
			size_t n = strcspn(at, "\n");

			if ((at == s->text || at[-1] == '\n') &&
			    !memmem(at, n, "$GRUB_CMDLINE_LINUX_DEFAULT",
				    strlen("$GRUB_CMDLINE_LINUX_DEFAULT")) &&
			    !memmem(at, n, "${GRUB_CMDLINE_LINUX_DEFAULT}",
				    strlen("${GRUB_CMDLINE_LINUX_DEFAULT}")))
				return arena_printf(a, "%s drops what the drop-ins before it added",
						    s->path);
		}
	}
	return NULL;
}

/* Another's file of netplan. */
static bool is_netplan(const struct persist_source *s)
{
	return str_starts(s->path, "/etc/netplan/") && strcmp(s->path, PERSIST_NETPLAN) != 0;
}

static const char *by_netplan(struct arena *a, const struct machine *m,
			      const struct persist_wish *w, const struct kept *row)
{
	const struct nic *n = machine_nic(m, row->knob.object);
	const char *id, *section = NULL;

	if (strcmp(row->by, PERSIST_NETPLAN) != 0 || !n)
		return NULL;
	id = persist_netplan_id(a, w, n, &section);
	for (size_t i = 0; i < w->n_sources && id; i++) {
		const struct persist_source *s = &w->sources[i];
		const char *mtu;

		if (!is_netplan(s) || strcmp(path_name(s->path), path_name(PERSIST_NETPLAN)) < 0)
			continue;
		mtu = netplan_value(a, s->text, section, id, "mtu");
		if (mtu && !is_same_value(mtu, row->value))
			return arena_printf(a, "%s sets %s", s->path, mtu);
	}
	return NULL;
}

void persist_losers(struct arena *a, const struct machine *m, const struct persist_wish *w,
		    struct persist *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct kept *row = &p->rows[i];

		if (row->keeper == KEEPER_NONE || row->keeper == KEEPER_SELF)
			continue;
		row->loses = row->contested = NULL;
		if (row->keeper == KEEPER_LIMITS)
			persist_limits_losers(a, w, row);
		else if (row->keeper == KEEPER_LINK)
			row->loses = by_netplan(a, m, w, row);
		else
			by_owner(a, m, row);
		if (!row->loses && row->keeper == KEEPER_BOOT_ARGUMENT)
			row->loses = by_boot_menu(a, w);
	}
}

/*
 * What ties a kept value to a device rather than to a name, and finding that device again at the
 * next boot: a slot may hold another card, an interface may be called otherwise, and idle states
 * are numbered by the driver.
 */

static const char *pci_ids(struct arena *a, const struct machine *m, const char *address)
{
	const struct pci_function *f = machine_pci(m, address);

	if (!f || !seen_ok(&f->vendor.f) || !seen_ok(&f->device.f))
		return NULL;
	return arena_printf(a, "%04llx:%04llx", (unsigned long long)f->vendor.v,
			    (unsigned long long)f->device.v);
}

/* "C6" of "/sys/devices/system/cpu/cpu3/cpuidle/state2/disable"; NULL: not seen, "" no such path.
 */
static const char *idle_name(const struct machine *m, const char *path)
{
	unsigned cpu, state;
	char rest[16];

	if (sscanf(path, "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/%15s", &cpu, &state,
		   rest) != 3)
		return "";
	LIST_FOR_EACH (struct idle_group, g, &m->cpu.idle) {
		if (!seen_ok(&g->cpus.f) || !idset_has(&g->cpus.v, cpu))
			continue;
		LIST_FOR_EACH (struct idle_state, s, &g->states)
			if (s->index == state)
				return fact_text(&s->name, NULL);
	}
	return NULL;
}

const char *persist_device(struct arena *a, const struct machine *m, const struct knob *k)
{
	const struct nic *n;
	const char *ids;

	switch (k->kind) {
	case KNOB_NVML:
	case KNOB_HELPER:
		/* A GPU that is no PCI function of its own (GB10's) has nothing to compare. */
		ids = pci_ids(a, m, k->object);
		return ids ? ids : "";
	case KNOB_PCI:
		return pci_ids(a, m, k->object);
	case KNOB_LINK:
		n = machine_nic(m, k->object);
		return n ? n->pci : NULL;
	case KNOB_SYSFS:
		return idle_name(m, k->name);
	default:
		return "";
	}
}

/* The interface that hangs from the function: the one of that name, else the only one. */
static const char *interface_of(const struct machine *m, const char *pci, const char *name)
{
	const struct nic *named = machine_nic(m, name);
	const char *found = NULL;

	if (named && (!*pci || strcmp(named->pci, pci) == 0))
		return named->name;
	LIST_FOR_EACH (struct nic, n, &m->net.nics) {
		if (!*pci || strcmp(n->pci, pci) != 0)
			continue;
		if (found)
			return NULL;
		found = n->name;
	}
	return found;
}

const struct knob *persist_find(struct arena *a, const struct machine *m, const struct kept *row,
				const char **why)
{
	struct knob *k = ARENA_NEW(a, struct knob);
	const char *now;

	*k = row->knob;
	if (k->kind == KNOB_LINK) {
		k->object = interface_of(m, row->device, k->object);
		*why = "there is no such interface";
		return k->object ? k : NULL;
	}
	now = persist_device(a, m, k);
	if (!*row->device || (now && strcmp(now, row->device) == 0))
		return k;
	*why = now && *now ? arena_printf(a, "it was %s, and now %s stands there", row->device, now)
			   : arena_printf(a, "%s is not there", row->device);
	return NULL;
}

const char *persist_target(struct arena *a, const struct machine *m, const char *id,
			   const struct knob *k, struct persist_targets *cache)
{
	const struct setting *s = setting_find(id);
	struct map *targets;

	if (!s)
		return NULL;
	if (cache->s != s) {
		targets = setting_targets(a, m, s);
		*cache = (struct persist_targets){ .s = s,
						   .items = map_sorted(a, targets),
						   .n = targets->n };
	}
	/* Rows come in the order of targets, mostly. */
	for (size_t i = 0; i < cache->n; i++) {
		size_t at = (cache->next + i) % cache->n;

		if (!setting_reaches(a, s, cache->items[at].value, k))
			continue;
		cache->next = at;
		return cache->items[at].key;
	}
	return NULL;
}
