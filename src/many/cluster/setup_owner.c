/* SPDX-License-Identifier: Apache-2.0 */
/* Who gives a link its addresses: by the files that are about it, else by the daemons that run. */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "many/cluster/setup.h"
#include "machine/host/merged.h"
#include "tune/persist/netplan.h"
#include "tune/persist/persist.h"

enum { FILES_MAX = 256 };

struct setup_sources {
	struct host *h;
	const struct machine *m;
	struct persist_wish files;
};

static const char *const names[SETUP_OWNERS] = {
	[SETUP_NOBODY] = "nobody",
	[SETUP_NETPLAN_OWNS] = "netplan",
	[SETUP_MANAGER] = "NetworkManager",
	[SETUP_NETWORKD] = "networkd",
};

const char *setup_owner_name(enum setup_owner o)
{
	return names[o];
}

static void add_sources(struct arena *a, struct setup_sources *s, const char *const *folders,
			size_t n_folders, const char *end)
{
	struct persist_source *list = (struct persist_source *)s->files.sources;
	size_t n;
	char **found = host_merged(s->h, a, folders, n_folders, end, NULL, &n), *text;

	for (size_t i = 0; i < n && s->files.n_sources < FILES_MAX; i++) {
		const char *path = found[i];

		/* What is ours says what was wished, not whose the link is. */
		if (strstr(path_name(path), "gputune-cluster") ||
		    host_read(s->h, path, HOST_READ_MAX, a, &text, NULL))
			continue;
		list = arena_grow(a, list, s->files.n_sources, sizeof(*list));
		list[s->files.n_sources++] = (struct persist_source){ path, text };
	}
	s->files.sources = list;
}

struct setup_sources *setup_sources_read(struct arena *a, struct host *h, const struct machine *m)
{
	static const char *const netplans[] = { "/etc/netplan" };
	static const char *const networks[MERGED_N] = MERGED_FOLDERS("network");
	struct setup_sources *s = ARENA_NEW(a, struct setup_sources);

	*s = (struct setup_sources){ .h = h, .m = m };
	add_sources(a, s, netplans, 1, ".yaml");
	add_sources(a, s, networks, MERGED_N, ".network");
	return s;
}

bool setup_runs(struct host *h, enum setup_owner o)
{
	return host_exists(h, o == SETUP_MANAGER    ? "/run/NetworkManager/devices"
			      : o == SETUP_NETWORKD ? "/run/systemd/netif/state"
						    : "/etc/netplan");
}

/* Files of networkd name the link; those that netplan made are netplan's. */
static enum setup_owner by_networkd(const struct setup_sources *s, struct arena *a,
				    const struct nic *n)
{
	for (size_t i = 0; i < s->files.n_sources; i++) {
		const struct persist_source *f = &s->files.sources[i];

		if (str_ends(f->path, ".network") &&
		    networkd_matches(a, f->text, n->name, fact_text(&n->mac, "")))
			return strstr(f->path, "netplan-") ? SETUP_NETPLAN_OWNS : SETUP_NETWORKD;
	}
	return SETUP_NOBODY;
}

/* NetworkManager has one of its connections active there, whatever that connection is called. */
static bool by_manager(const struct setup_sources *s, struct arena *a, const struct nic *n)
{
	char index[32], *text;

	if (host_read_line(s->h, arena_printf(a, "/sys/class/net/%s/ifindex", n->name), index,
			   sizeof(index)) < 0 ||
	    strspn(index, "0123456789") != strlen(index) ||
	    host_read(s->h, arena_printf(a, "/run/NetworkManager/devices/%s", index), HOST_READ_MAX,
		      a, &text, NULL))
		return false;
	return strstr(text, "\nconnection-uuid=") != NULL;
}

enum setup_owner setup_owner_of(const struct setup_sources *s, const struct nic *n)
{
	struct arena a = { 0 };
	enum setup_owner found = SETUP_NOBODY;
	const char *section;

	if (persist_netplan_id(&a, &s->files, n, &section))
		found = SETUP_NETPLAN_OWNS;
	else
		found = by_networkd(s, &a, n);
	if (found == SETUP_NOBODY && by_manager(s, &a, n))
		found = SETUP_MANAGER;
	arena_free(&a);
	for (int i = 1; found == SETUP_NOBODY && i < SETUP_OWNERS; i++)
		if (fact_is(&n->owner, names[i]))
			found = (enum setup_owner)i;
	if (found != SETUP_NOBODY)
		return found;
	/* Nothing is said of it yet: DGX OS and Ubuntu configure links through netplan. */
	if (host_exists(s->h, "/etc/netplan"))
		return SETUP_NETPLAN_OWNS;
	return setup_runs(s->h, SETUP_MANAGER)	  ? SETUP_MANAGER
	       : setup_runs(s->h, SETUP_NETWORKD) ? SETUP_NETWORKD
						  : SETUP_NOBODY;
}

void setup_definition(struct arena *a, const struct setup_sources *s, const struct nic *n,
		      struct wire_port *p)
{
	const char *section = "ethernets", *id = persist_netplan_id(a, &s->files, n, &section);

	if (!id || strcmp(section, "ethernets") != 0)
		return;
	p->id = id;
	for (size_t i = 0; i < s->files.n_sources; i++) {
		const struct persist_source *f = &s->files.sources[i];

		if (!str_ends(f->path, ".yaml"))
			continue;
		if (netplan_value(a, f->text, section, id, "set-name")) {
			p->set_name = false;
			return;
		}
		p->set_name = p->set_name || netplan_is_by_address(a, f->text, section, id);
	}
}
