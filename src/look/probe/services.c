/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services as systemd's files and control groups show them, without asking systemd: a unit file is
 * installed, a link in a .wants folder enables it, a control group means that it runs.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "look/probe/probe.h"
#include "base/arena.h"
#include "base/text.h"
#include "machine/host/unit_file.h"

static const struct {
	const char *name;
	const char *owns; /* what it sets */
} rows[] = {
	{ "tuned.service",
	  "sysctl, CPU governor, transparent huge pages, disk queues, boot arguments" },
	{ "power-profiles-daemon.service", "CPU governor, energy preference, platform profile" },
	{ "irqbalance.service", "interrupt affinity" },
	{ "nvidia-persistenced.service", "GPU persistence mode" },
	{ "cpupower.service", "CPU governor and frequency bounds" },
	{ "tlp.service", "CPU governor, disk and PCIe power" },
	{ "auto-cpufreq.service", "CPU governor and turbo" },
	{ "thermald.service", "CPU frequency under heat" },
	{ "systemd-oomd.service", "processes to kill when memory runs out" },
	{ "earlyoom.service", "processes to kill when memory runs out" },
	{ "nohang.service", "processes to kill when memory runs out" },
	{ "nohang-desktop.service", "processes to kill when memory runs out" },
	{ "nvidia-fabricmanager.service", "NVSwitch fabric" },
	{ "nvidia-imex.service", "GPU memory shared across the nodes of a rack" },
	{ "nvidia-dcgm.service", "GPU monitoring" },
	{ "NetworkManager.service", "network interfaces, MTU" },
	{ "systemd-networkd.service", "network interfaces, MTU" },
	{ "docker.service", "forwarding rules, bridges" },
	{ "openibd.service", "InfiniBand drivers" },
	{ "opensm.service", "InfiniBand subnet" },
	{ "nvidia-spark-mlnx-firmware-manager.service", "ConnectX-7 of a DGX Spark" },
	{ "rc-local.service", "the commands in /etc/rc.local" },
	/* Left behind by the published scripts. */
	{ "dgx-optimize.service",
	  "GPU clock lock, vboost and idle states, set by a published script" },
	{ "gpu-max-clocks.service", "GPU clock lock, set by a published recipe" },
	{ "cpu-performance.service", "CPU governor, set by a published recipe" },
	{ "nic-mrrs.service", "NIC read request size, set by a published recipe" },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Names in a set of folders: one listing a folder instead of one look-up a unit and folder. */
static void services_add_names(struct probe *p, struct map *set, const char *dir, const char *what)
{
	char **names;
	size_t n;

	if (host_list(p->h, dir, p->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (str_ends(names[i], ".service"))
			*map_at(p->a, set, names[i]) = (void *)what;
}

static void enabled_units(struct probe *p, struct map *set)
{
	static const char etc[] = "/etc/systemd/system";
	char **names;
	size_t n;

	if (host_list(p->h, etc, p->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (str_ends(names[i], ".wants") || str_ends(names[i], ".requires"))
			services_add_names(p, set, arena_printf(p->a, "%s/%s", etc, names[i]),
					   arena_printf(p->a, "%s/%s", etc, names[i]));
}

static const char *installed_in(struct probe *p, const char *unit)
{
	static const char *const dirs[] = { "/etc/systemd/system/", "/usr/lib/systemd/system/",
					    "/lib/systemd/system/" };

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (host_exists(p->h, arena_printf(p->a, "%s%s", dirs[i], unit)))
			return dirs[i];
	return NULL;
}

/* It costs a process: worth it where it does not run, which its version often explains. */
static void fabric_manager_version(struct probe *p)
{
	static const char nvlsm[] = "/opt/nvidia/nvlsm/sbin/nvlsm";

	if (!machine_has_switches(p->m))
		return;
	p->m->gpu.nvlsm = probe_there(p, nvlsm, nvlsm);
	if (p->deep || !fact_is(&p->m->gpu.fabric_manager, "active"))
		p->m->gpu.fabric_manager_version =
			fact_filled(probe_ask_str(p, "fabric-manager", "", "version"));
}

static void services_add(struct probe *p, size_t row, const struct map *enabled,
			 const struct map *active)
{
	const char *unit = rows[row].name, *on = map_get(enabled, unit),
		   *runs = map_get(active, unit);
	const char *dir = installed_in(p, unit);
	struct service *s;

	if (!dir && !on && !runs)
		return;
	/* A masked unit keeps the links that would start it. */
	if (unit_is_masked(p->h, unit) > 0)
		on = NULL;
	s = list_add(p->a, &p->m->software.services, sizeof(*s));
	s->name = unit;
	s->installed = fact_int_of(dir != NULL, dir ? dir : "/etc/systemd/system/", unit);
	s->enabled = fact_int_of(on != NULL, "/etc/systemd/system/", "*.wants");
	s->active = fact_int_of(runs != NULL, runs ? runs : "/sys/fs/cgroup/system.slice", "");
	s->owns = fact_str_of(rows[row].owns, "", "gputune");
}

/* Whether it is there; what an administrator's script says is not for captures. */
void probe_services(struct probe *p)
{
	static const char v2[] = "/sys/fs/cgroup/system.slice",
			  v1[] = "/sys/fs/cgroup/systemd/system.slice";
	struct map enabled = { 0 }, active = { 0 };
	const struct service *fm, *tuned;

	p->m->software.rc_local = probe_there(p, "/etc/rc.local", "present");
	enabled_units(p, &enabled);
	services_add_names(p, &active, v2, v2);
	if (!active.n)
		services_add_names(p, &active, v1, v1);
	for (size_t i = 0; i < ROWS; i++)
		services_add(p, i, &enabled, &active);
	fm = machine_service(p->m, "nvidia-fabricmanager.service");
	if (fm)
		p->m->gpu.fabric_manager = fact_str_of(fm->active.v    ? "active"
						       : fm->enabled.v ? "enabled"
								       : "installed",
						       "", "nvidia-fabricmanager.service");
	else
		p->m->gpu.fabric_manager.f =
			fact_unseen(-ENOENT, "", "nvidia-fabricmanager.service");
	fabric_manager_version(p);
	tuned = machine_service(p->m, "tuned.service");
	if (tuned && fact_or(&tuned->enabled, 0) + fact_or(&tuned->active, 0) > 0)
		p->m->config.tuned_profile = probe_str(p, "/etc/tuned/", "active_profile");
}

/*
 * The connection that the user came in over: this machine's address of it, and the interfaces that
 * carry it. sudo takes SSH_CONNECTION away; then every connection to port 22 counts.
 */

enum {
	SSH_PORT = 22,
	ESTABLISHED = 1,
	TABLE_MAX = 8 << 20, /* bytes; a line a connection of the whole machine */
	ADDRESSES_MAX = 16,
	LINKS_MAX = 64,
	DEPTH_MAX = 8, /* VLAN on bond on port is three */
};

struct links {
	const char *names[LINKS_MAX];
	size_t n;
};

static bool has_word(const char *words, const char *word, size_t n, const char *ends)
{
	for (const char *at = words; *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strncmp(at, word, n) == 0 && (!at[n] || strchr(ends, at[n])))
			return true;
	return false;
}

/* Goes down: a bond's ports, a VLAN's or bridge's lower interfaces. */
static void add_link(struct probe *p, struct links *l, const char *name, int depth)
{
	static const char lower[] = "lower_";
	char **entries;
	size_t n;

	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->names[i], name) == 0)
			return;
	if (l->n == LINKS_MAX || depth == DEPTH_MAX)
		return;
	l->names[l->n++] = arena_strdup(p->a, name);
	if (host_list(p->h, arena_printf(p->a, "/sys/class/net/%s", name), p->a, &entries, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (str_starts(entries[i], lower))
			add_link(p, l, entries[i] + strlen(lower), depth + 1);
}

static void by_ipv4(struct probe *p, struct links *l, const char *address)
{
	LIST_FOR_EACH (struct nic, n, &p->m->net.nics)
		if (seen_ok(&n->ipv4.f) && has_word(n->ipv4.v, address, strlen(address), "/ "))
			add_link(p, l, n->name, 0);
}

/* A line of if_inet6: 32 hexadecimal digits, index, prefix length, scope, flags, name. */
static void by_ipv6(struct probe *p, struct links *l, const struct in6_addr *address)
{
	char *text, *line, *save = NULL, hex[33];

	for (size_t i = 0; i < 16; i++)
		snprintf(hex + 2 * i, 3, "%02x", address->s6_addr[i]);
	if (host_read(p->h, "/proc/net/if_inet6", HOST_READ_MAX, p->a, &text, NULL))
		return;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char name[64];

		if (strncmp(line, hex, 32) == 0 &&
		    sscanf(line, "%*s %*s %*s %*s %*s %63s", name) == 1)
			add_link(p, l, name, 0);
	}
}

/* "10.0.0.3", "2001:db8::1", "::ffff:10.0.0.3", "fe80::1%eth0". */
static void services_by_address(struct probe *p, struct links *l, const char *text)
{
	char plain[INET6_ADDRSTRLEN], dotted[INET_ADDRSTRLEN];
	const char *scope = strchr(text, '%');
	size_t n = scope ? (size_t)(scope - text) : strlen(text);
	struct in6_addr six;
	struct in_addr four;

	if (n >= sizeof(plain))
		return;
	memcpy(plain, text, n);
	plain[n] = '\0';
	if (scope && machine_nic(p->m, scope + 1))
		add_link(p, l, scope + 1, 0);
	else if (inet_pton(AF_INET, plain, &four) == 1)
		by_ipv4(p, l, plain);
	else if (inet_pton(AF_INET6, plain, &six) != 1)
		return;
	else if (IN6_IS_ADDR_V4MAPPED(&six) &&
		 inet_ntop(AF_INET, &six.s6_addr[12], dotted, sizeof(dotted)))
		by_ipv4(p, l, dotted);
	else
		by_ipv6(p, l, &six);
}

/* The kernel prints the address's 32-bit words as this machine holds them in memory. */
static bool local_address(const char *line, char *out)
{
	unsigned words[4] = { 0 }, port, state;
	char hex[33];
	size_t n;

	if (sscanf(line, " %*u: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x", hex, &port, &state) != 3 ||
	    port != SSH_PORT || state != ESTABLISHED)
		return false;
	n = strlen(hex) / 8;
	if ((n != 1 && n != 4) || strlen(hex) % 8)
		return false;
	for (size_t i = 0; i < n; i++) {
		char part[9];

		snprintf(part, sizeof(part), "%.8s", hex + 8 * i);
		sscanf(part, "%x", &words[i]);
	}
	return inet_ntop(n == 1 ? AF_INET : AF_INET6, words, out, INET6_ADDRSTRLEN) != NULL;
}

/* Adds the local ends of ssh connections to found, each once. */
static int scan_table(struct probe *p, const char *path, struct text *found)
{
	size_t count = 0;
	char *text, *line, *save = NULL;
	int r = host_read(p->h, path, TABLE_MAX, p->a, &text, NULL);

	if (r)
		return r;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char address[INET6_ADDRSTRLEN];

		if (local_address(line, address) && count < ADDRESSES_MAX &&
		    !has_word(found->s ? found->s : "", address, strlen(address), " ")) {
			text_printf(found, "%s%s", found->len ? " " : "", address);
			count++;
		}
	}
	return 0;
}

static struct fact_str services_addresses(struct probe *p)
{
	static const char from[] = "/proc/net/tcp, /proc/net/tcp6";
	struct fact_str ssh = probe_ask_str(p, "env", "", "SSH_CONNECTION");
	char ip[64];
	TEXT_AUTO found = { 0 };
	int r, r6;

	if (seen_ok(&ssh.f) && sscanf(ssh.v, "%*s %*s %63s %*s", ip) == 1)
		return fact_str_of(arena_strdup(p->a, ip), ssh.f.dir, ssh.f.leaf);
	/* Who was connected to a captured machine is not looked for. */
	if (p->h->id.captured)
		return seen_ok(&ssh.f) ? (struct fact_str){ .f = fact_unseen(-EPROTO, ssh.f.dir,
									     ssh.f.leaf) }
				       : ssh;
	r = scan_table(p, "/proc/net/tcp", &found);
	r6 = scan_table(p, "/proc/net/tcp6", &found);
	if (found.len)
		return fact_str_of(arena_strdup(p->a, found.s), "", from);
	if (!r && r6 == -ENOENT)
		r6 = 0;
	return (struct fact_str){ .f = fact_unseen(r ? r : r6 ? r6 : -ENOENT, "", from) };
}

void probe_session(struct probe *p)
{
	struct session *s = &p->m->config.session;
	struct links l = { 0 };
	TEXT_AUTO names = { 0 };
	char *words, *save = NULL;

	s->address = services_addresses(p);
	s->links.f = s->address.f;
	if (!seen_ok(&s->address.f))
		return;
	words = arena_strdup(p->a, s->address.v);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		services_by_address(p, &l, w);
	for (size_t i = 0; i < l.n; i++)
		text_printf(&names, "%s%s", i ? " " : "", l.names[i]);
	s->links = l.n ? fact_str_of(arena_strdup(p->a, names.s), "", "/sys/class/net")
		       : (struct fact_str){ .f = fact_unseen(-EIO, "", "/sys/class/net") };
}
