/* SPDX-License-Identifier: Apache-2.0 */
/* Programs by which netplan, NetworkManager and networkd take up what was written, or find that it
 * is gone: for the ports of ours alone, where they can do that. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "many/cluster/nm_text.h"
#include "many/cluster/setup.h"
#include "machine/host/command.h"

enum { RUN_MS = 20000, SAID_MAX = 1 << 16, LISTS_MAX = 2 * SETUP_PORTS_MAX, WORDS_MAX = 80 };

struct lists {
	struct arena *a;
	char **items[LISTS_MAX];
	size_t n;
	const char *ports[SETUP_PORTS_MAX];
	size_t n_ports;
};

static void add(struct lists *l, const char *const *words)
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

	add(l, (const char *const[]){ "networkctl", "reload", NULL });
	for (size_t i = 0; i < l->n_ports; i++)
		words[2 + i] = l->ports[i];
	if (l->n_ports)
		add(l, words);
}

/* The profile of each port is ours or, without one, whatever else NetworkManager has for it. */
static void manager(struct lists *l, const char *const *ids)
{
	add(l, (const char *const[]){ "nmcli", "connection", "reload", NULL });
	for (size_t i = 0; ids && i < l->n_ports; i++)
		if (ids[i])
			add(l, (const char *const[]){ "nmcli", "--wait", "10", "connection", "up",
						      ids[i], "ifname", l->ports[i], NULL });
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

	add(l, (const char *const[]){ "netplan", "generate", NULL });
	if (setup_runs(h, SETUP_NETWORKD)) {
		networkd(l);
	} else if (setup_runs(h, SETUP_MANAGER)) {
		manager(l, NULL);
		/* Without a profile it would make one of its own. */
		for (size_t i = 0; there && i < l->n_ports; i++)
			add(l, (const char *const[]){ "nmcli", "--wait", "10", "device", "connect",
						      l->ports[i], NULL });
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

static int run(struct arena *a, char *const *argv, struct err *e)
{
	struct command_result result = { 0 };
	int r = command_run(a, argv, RUN_MS, SAID_MAX, &result);
	const char *said = *result.errors ? result.errors : result.output;

	if (r == 0 && result.status == 0)
		return 0;
	if (r)
		return err_set(e, r, "\"%s %s\" could not be run: %s", argv[0], argv[1],
			       r == -ETIME ? "it does not end" : strerror(-r));
	return err_set(e, -EIO, "\"%s %s\" failed: %.*s", argv[0], argv[1],
		       (int)strcspn(said, "\n"), said);
}

int setup_reload(struct arena *a, struct host *h, const struct knob *knobs, size_t n, struct err *e)
{
	size_t lists;
	char ***argvs = setup_reloads(a, h, knobs, n, &lists);
	int r = 0;

	for (size_t i = 0; i < lists && r == 0; i++)
		r = run(a, argvs[i], e);
	return r;
}
