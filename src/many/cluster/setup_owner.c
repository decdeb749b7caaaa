/* SPDX-License-Identifier: Apache-2.0 */
/* Who gives a link its addresses: by the files that are about it, else by the daemons that run. */
#include <stdio.h>
#include <string.h>
#include <sodium.h>

#include "base/text.h"
#include "many/cluster/setup.h"
#include "machine/host/host.h"
#include "tune/persist/netplan.h"
#include "tune/persist/persist.h"
#include "machine/host/command.h"
#include "tune/persist/quote.h"

enum { FILES_MAX = 256 };

struct setup_sources {
	struct host *h;
	const struct machine *m;
	struct persist_target files;
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

static void setup_owner_add_sources(struct arena *a, struct setup_sources *s,
				    const char *const *folders, size_t n_folders, const char *end)
{
	struct persist_source *list = (struct persist_source *)s->files.sources;
	size_t n;
	char **found = host_merged(s->h, a, folders, n_folders, end, NULL, &n), *text;

	for (size_t i = 0; i < n && s->files.n_sources < FILES_MAX; i++) {
		const char *path = found[i];

		/* A file of ours says what was asked for, not who owns the link. */
		if (strstr(path_name(path), "gputune-cluster") ||
		    host_read(s->h, path, HOST_READ_MAX, a, &text, NULL))
			continue;
		ARENA_ADD(a, list, s->files.n_sources) = (struct persist_source){ path, text };
	}
	s->files.sources = list;
}

struct setup_sources *setup_sources_read(struct arena *a, struct host *h, const struct machine *m)
{
	static const char *const netplans[] = { "/etc/netplan" };
	static const char *const networks[MERGED_N] = MERGED_FOLDERS("network");
	struct setup_sources *s = ARENA_NEW(a, struct setup_sources);

	*s = (struct setup_sources){ .h = h, .m = m };
	setup_owner_add_sources(a, s, netplans, 1, ".yaml");
	setup_owner_add_sources(a, s, networks, MERGED_N, ".network");
	return s;
}

/* Its daemon runs here. */
static bool setup_runs(struct host *h, enum setup_owner o)
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

/* Programs by which netplan, NetworkManager and networkd take up what was written, or find that it
 * is gone: for the ports of ours alone, where they can do that. */

enum { RUN_MS = 20000, SAID_MAX = 1 << 16, LISTS_MAX = 2 * SETUP_PORTS_MAX, WORDS_MAX = 80 };

struct lists {
	struct arena *a;
	char **items[LISTS_MAX];
	size_t n;
	const char *ports[SETUP_PORTS_MAX];
	size_t n_ports;
};

static void setup_owner_add(struct lists *l, const char *const *words)
{
	size_t n = 0;
	char **argv;

	if (l->n == LISTS_MAX)
		return;
	while (words[n])
		n++;
	argv = arena_array(l->a, n + 1, sizeof(*argv));
	for (size_t i = 0; i < n; i++)
		argv[i] = arena_strdup(l->a, words[i]);
	l->items[l->n++] = argv;
}

static void add_port(struct lists *l, const char *name)
{
	for (size_t i = 0; i < l->n_ports; i++)
		if (strcmp(l->ports[i], name) == 0)
			return;
	if (l->n_ports < SETUP_PORTS_MAX)
		l->ports[l->n_ports++] = name;
}

static bool touches(const struct knob *knobs, size_t n, const char *part)
{
	for (size_t i = 0; i < n; i++)
		if (knobs[i].kind == KNOB_FILE && strstr(knobs[i].name, part) &&
		    !str_ends(knobs[i].name, "/"))
			return true;
	return false;
}

static void networkd(struct lists *l)
{
	const char *words[WORDS_MAX] = { "networkctl", "reconfigure" };

	setup_owner_add(l, (const char *const[]){ "networkctl", "reload", NULL });
	for (size_t i = 0; i < l->n_ports; i++)
		words[2 + i] = l->ports[i];
	if (l->n_ports)
		setup_owner_add(l, words);
}

/* The profile of each port is ours or, without one, whatever else NetworkManager has for it. */
static void manager(struct lists *l, const char *const *ids)
{
	setup_owner_add(l, (const char *const[]){ "nmcli", "connection", "reload", NULL });
	for (size_t i = 0; ids && i < l->n_ports; i++)
		if (ids[i])
			setup_owner_add(l, (const char *const[]){ "nmcli", "--wait", "10",
								  "connection", "up", ids[i],
								  "ifname", l->ports[i], NULL });
}

/* What brings our own profiles up; a port whose file is gone has none. */
static void manager_own(struct lists *l, struct host *h)
{
	const char *ids[SETUP_PORTS_MAX] = { 0 };

	for (size_t i = 0; i < l->n_ports; i++) {
		char uuid[NM_UUID_SIZE];

		nm_uuid(l->ports[i], uuid);
		if (host_exists(h, arena_printf(l->a,
						"/run/NetworkManager/system-connections/"
						"gputune-cluster-%s.nmconnection",
						l->ports[i])))
			ids[i] = arena_strdup(l->a, uuid);
	}
	manager(l, ids);
}

static void netplan(struct lists *l, struct host *h)
{
	bool there = host_exists(h, "/run/netplan/" SETUP_NETPLAN);

	setup_owner_add(l, (const char *const[]){ "netplan", "generate", NULL });
	if (setup_runs(h, SETUP_NETWORKD)) {
		networkd(l);
	} else if (setup_runs(h, SETUP_MANAGER)) {
		manager(l, NULL);
		/* Without a profile it would make one of its own. */
		for (size_t i = 0; there && i < l->n_ports; i++)
			setup_owner_add(l, (const char *const[]){ "nmcli", "--wait", "10", "device",
								  "connect", l->ports[i], NULL });
	}
}

char ***setup_reloads(struct arena *a, struct host *h, const struct knob *knobs, size_t n_knobs,
		      size_t *n)
{
	struct lists l = { .a = a };
	char ***out;

	for (size_t i = 0; i < n_knobs; i++)
		if (knobs[i].kind == KNOB_ADDRESS || knobs[i].kind == KNOB_LINK)
			add_port(&l, knobs[i].object);
	if (touches(knobs, n_knobs, "/netplan/"))
		netplan(&l, h);
	if (touches(knobs, n_knobs, "/system-connections/") && setup_runs(h, SETUP_MANAGER))
		manager_own(&l, h);
	if (touches(knobs, n_knobs, "/systemd/network/") && setup_runs(h, SETUP_NETWORKD))
		networkd(&l);
	out = arena_array(a, l.n + 1, sizeof(*out));
	memcpy(out, l.items, l.n * sizeof(*out));
	*n = l.n;
	return out;
}

static int setup_owner_run(struct arena *a, char *const *argv, struct err *e)
{
	struct command_result result = { 0 };
	int r = command_run(a, argv, RUN_MS, SAID_MAX, &result);
	const char *said = *result.errors ? result.errors : result.output;

	if (r == 0 && result.status == 0)
		return 0;
	if (r)
		return err_set(e, r, "cannot run \"%s %s\": %s", argv[0], argv[1],
			       r == -ETIME ? "the program does not exit" : strerror(-r));
	return err_set(e, -EIO, "\"%s %s\" failed: %.*s", argv[0], argv[1],
		       (int)strcspn(said, "\n"), said);
}

int setup_reload(struct arena *a, struct host *h, const struct knob *knobs, size_t n, struct err *e)
{
	size_t lists;
	char ***argvs = setup_reloads(a, h, knobs, n, &lists);
	int r = 0;

	for (size_t i = 0; i < lists && r == 0; i++)
		r = setup_owner_run(a, argvs[i], e);
	return r;
}

/* Keyfiles and .network files: one port, one address, no other way to get one. */

static const char head[] =
	"# Written by gputune cluster plan: the address of a link between machines.\n# \"gputune "
	"cluster undo\" restores the old state byte for byte; an edited file is left unchanged.\n";

void nm_uuid(const char *interface, char out[NM_UUID_SIZE])
{
	uint8_t d[crypto_hash_sha256_BYTES];
	TEXT_AUTO name = { 0 };

	text_printf(&name, "gputune cluster connection %s", interface);
	crypto_hash_sha256(d, (const uint8_t *)name.s, name.len);
	/* Version 8, made of whatever the maker likes. Source: RFC 9562, 5.8. */
	d[6] = (uint8_t)((d[6] & 0x0f) | 0x80);
	d[8] = (uint8_t)((d[8] & 0x3f) | 0x80);
	snprintf(out, NM_UUID_SIZE,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", d[0], d[1],
		 d[2], d[3], d[4], d[5], d[6], d[7], d[8], d[9], d[10], d[11], d[12], d[13], d[14],
		 d[15]);
}

const char *nm_text(struct arena *a, const struct wire_port *p, const char **why)
{
	const char *name = quote_interface(a, p->name, why);
	char uuid[NM_UUID_SIZE];

	if (!name)
		return NULL;
	nm_uuid(p->name, uuid);
	return arena_printf(a,
			    "%s[connection]\nid=gputune-cluster-%s\nuuid=%s\ntype=ethernet\n"
			    "interface-name=%s\nautoconnect=true\nautoconnect-priority=100\n\n"
			    "[ethernet]\nmtu=%lld\n\n"
			    "[ipv4]\nmethod=manual\naddress1=%s\nnever-default=true\n\n"
			    "[ipv6]\nmethod=disabled\n",
			    head, name, uuid, name, p->mtu, p->address);
}

const char *networkd_text(struct arena *a, const struct wire_port *p, const char **why)
{
	const char *name = quote_interface(a, p->name, why);

	if (!name)
		return NULL;
	return arena_printf(a,
			    "%s[Match]\nName=%s\n\n[Link]\nMTUBytes=%lld\nRequiredForOnline=no\n\n"
			    "[Network]\nDHCP=no\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n"
			    "Address=%s\n",
			    head, name, p->mtu, p->address);
}

/* netplan's YAML. Of an address list that others begin, netplan appends ours to theirs; scalars of
 * ours win, since the file sorts behind theirs. */

static const char netplan_head[] =
	"# Written by gputune cluster plan: addresses of the links between machines.\n# \"gputune "
	"cluster undo\" restores the old state byte for byte; an edited file is left "
	"unchanged.\nnetwork:\n  version: 2\n  ethernets:\n";

const char *netplan_text(struct arena *a, const struct wire_port *ports, size_t n, const char **why)
{
	TEXT_AUTO out = { 0 };

	text_add(&out, netplan_head);
	for (size_t i = 0; i < n; i++) {
		const struct wire_port *p = &ports[i];
		const char *id = quote_yaml(a, p->id ? p->id : p->name, why),
			   *name = quote_yaml(a, p->name, why),
			   *address = quote_yaml(a, p->address, why);

		if (!id || !name || !address)
			return NULL;
		/* Link-local addresses make GIDs that move the others; a boot must not wait for a
		 * machine that is off. */
		text_printf(&out,
			    "    %s:\n"
			    "      dhcp4: false\n"
			    "      dhcp6: false\n"
			    "      accept-ra: false\n"
			    "      link-local: []\n"
			    "      optional: true\n"
			    "      mtu: %lld\n"
			    "      addresses: [%s]\n",
			    id, p->mtu, address);
		if (p->set_name)
			text_printf(&out, "      set-name: %s\n", name);
	}
	return arena_strdup(a, out.s);
}
