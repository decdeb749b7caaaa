/* SPDX-License-Identifier: Apache-2.0 */
/* From a node's configuration to changes of knobs. A port that is as asked for already is left
 * alone, whoever made it so. */
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "many/cluster/setup.h"
#include "base/text.h"
#include "machine/knob/io.h"
#include "machine/host/command.h"

enum { MTU_LEAST = 576, MTU_MOST = 65536 };

/* clang-format off */
/* What the journal calls them. */
#define SETTING(name, text, how_risky, when)                                                   \
	{ .id = "cluster." name, .title = text, .risk = RISK_##how_risky, .effect = EFFECT_##when }
static const struct setting for_address = SETTING("address", "Addresses of links between machines", SERVICE, NOW),
	for_mtu = SETTING("mtu", "MTU of links between machines", SERVICE, NOW),
	for_files = SETTING("files", "Files that restore addresses and MTU at boot", SERVICE, NOW),
	for_names = SETTING("names", "Host names and host keys", LOW, NOW),
	for_type = SETTING("link-type", "Link layer of adapters", SERVICE, REBOOT);
/* clang-format on */
#define ETHERNET "2"

struct making {
	struct arena *a;
	struct host *h;
	const struct machine *m;
	const struct setup_want *want;
	struct setup *s;
	struct setup_sources *sources;
};

/* --- the configuration ------------------------------------------------------------------------ */

/* clang-format off */
static const struct shape setup_port_shape = SHAPE_OF(setup_port, setup_port,
	{ "name", NULL, SHAPE_TEXT(setup_port, name) },
	{ "address", NULL, SHAPE_TEXT(setup_port, address) },
	{ "mtu", NULL, SHAPE_COUNT(setup_port, mtu) });

static const struct shape setup_type_shape = SHAPE_OF(setup_type, setup_type,
	{ "pci", NULL, SHAPE_TEXT(setup_type, pci) },
	{ "port", NULL, SHAPE_COUNT(setup_type, port) });

const struct shape setup_want_shape = SHAPE_OF(setup_want, setup_want,
	{ "ports", NULL, SHAPE_ARRAY(setup_want, ports, n, setup_port) },
	{ "link_types", NULL, SHAPE_ARRAY(setup_want, types, n_types, setup_type), .absent = true },
	{ "hosts", NULL, SHAPE_TEXT(setup_want, hosts), .unknown = SHAPE_NULL, .absent = true },
	{ "known_hosts", NULL, SHAPE_TEXT(setup_want, known_hosts), .unknown = SHAPE_NULL, .absent = true },
	{ "digest", NULL, SHAPE_TEXT(setup_want, digest), .unknown = SHAPE_NULL, .absent = true },
	{ "limit_s", NULL, SHAPE_COUNT(setup_want, limit_s), .unknown = SHAPE_ZERO, .absent = true });
/* clang-format on */

static int setup_check_port(const struct setup_want *want, size_t i, struct err *e)
{
	const struct setup_port *p = &want->ports[i];
	const struct knob address = { KNOB_ADDRESS, p->address, p->name },
			  mtu = { KNOB_LINK, "mtu", p->name };
	const char *why = "";

	if (!knob_valid(&address, NULL, &why) || !knob_valid(&mtu, NULL, &why))
		return err_set(e, -EINVAL, "invalid port in the request: %s", why);
	if (p->mtu < MTU_LEAST || p->mtu > MTU_MOST)
		return err_set(e, -EINVAL, "a port of the request has no MTU from %d to %d",
			       MTU_LEAST, MTU_MOST);
	for (size_t k = 0; k < i; k++)
		if (strcmp(want->ports[k].name, p->name) == 0)
			return err_set(e, -EINVAL, "the request contains port %s twice", p->name);
	return 0;
}

static struct knob setup_type_knob(const struct setup_type *t)
{
	return (struct knob){ KNOB_FIRMWARE, t->port == 1 ? "LINK_TYPE_P1" : "LINK_TYPE_P2",
			      t->pci };
}

static int setup_check_lines(struct arena *a, const char *file, const char *text, struct err *e)
{
	const struct knob k = { KNOB_BLOCK, file, "" };
	const char *why = "the text is too long";

	if (*text && (strlen(text) > SETUP_TEXT_MAX ||
		      !knob_valid(&k, knob_file_value(a, 0644, text, strlen(text)), &why)))
		return err_set(e, -EINVAL, "invalid data for %s: %s", file, why);
	return 0;
}

int setup_want_check(struct arena *a, struct setup_want *out, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < out->n; i++)
		r = setup_check_port(out, i, e);
	for (size_t i = 0; r == 0 && i < out->n_types; i++) {
		const struct knob k = setup_type_knob(&out->types[i]);

		if (out->types[i].port < 1 || out->types[i].port > 2 || !knob_valid(&k, NULL, NULL))
			r = err_set(e, -EINVAL, "a link type of the request belongs to no adapter");
	}
	if (r)
		return r;
	out->hosts = out->hosts ? out->hosts : "";
	out->known_hosts = out->known_hosts ? out->known_hosts : "";
	r = setup_check_lines(a, "/etc/hosts", out->hosts, e);
	return r ? r : setup_check_lines(a, "/etc/ssh/ssh_known_hosts", out->known_hosts, e);
}

/* --- changes ---------------------------------------------------------------------------------- */

/* clang-format off */
static const struct {
	const char *code, *fix;
} refusals[] = {
	[REFUSED_UNREADABLE] = { "unreadable", "a value that cannot be read could not be restored later" },
	[REFUSED_NAME] = { "name", "rename the interface" },
	[REFUSED_NO_PORT] = { "no-port", "run the discovery again" },
	[REFUSED_OWN_LINK] = { "own-link", "reach the node over another interface (management, Wi-Fi)" },
	[REFUSED_BOND] = { "part-of-bond", "remove the interface from the bond first" },
	[REFUSED_WIRELESS] = { "wireless", "links between machines must be cables" },
	[REFUSED_IFUPDOWN] = { "ifupdown", "add the address and mtu to its stanza in /etc/network/interfaces" },
	[REFUSED_DEFAULT_ROUTE] = { "default-route", "links between machines must not carry the default route: move "
				    "it to another interface" },
	[REFUSED_RDMA] = { "rdma-in-use", "stop these programs first: a new address shifts the GIDs that their queue "
			   "pairs use" },
	[REFUSED_GPU] = { "gpu-busy", "stop the job first: it may communicate over these links" },
	[REFUSED_EDITED] = { "edited", "move your lines to another file" },
	[REFUSED_TAKEN] = { "address-taken", "give another range with --subnets" },
};
/* clang-format on */

void setup_refuse(struct arena *a, struct setup *s, enum setup_refusal_kind k, const char *port,
		  const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ARENA_ADD(a, s->refusals, s->n_refusals) =
		(struct setup_refusal){ refusals[k].code, port, arena_vprintf(a, fmt, ap),
					refusals[k].fix };
	va_end(ap);
}

static void setup_note(struct arena *a, struct setup *s, const char *sentence)
{
	ARENA_ADD(a, s->notes, s->n_notes) = sentence;
}

/* Only what is not so yet. True when the knob could be read. */
static bool setup_change(struct making *g, struct plan *p, const struct setting *of,
			 const char *port, const struct knob *k, const char *after)
{
	struct err e = { 0 };
	const char *now;

	if (knob_get(g->h, g->a, k, &now, &e)) {
		setup_refuse(g->a, g->s, REFUSED_UNREADABLE, port, "%s", e.text);
		return false;
	}
	if (knob_same(k, now, after))
		return true;
	ARENA_ADD(g->a, p->changes, p->n) = (struct change){ .s = of,
							     .target = port,
							     .knob = *k,
							     .before = now,
							     .after = after,
							     .why = of->title,
							     .risk = of->risk,
							     .effect = of->effect };
	return true;
}

static bool is_planned(const struct plan *p, const struct knob *k)
{
	for (size_t i = 0; i < p->n; i++)
		if (knob_equal(&p->changes[i].knob, k))
			return true;
	return false;
}

/* Folders on the way that are not there, outermost first; those above them are the system's. */
static void setup_add_folders(struct making *g, struct plan *p, const char *path)
{
	static const char *const tops[] = { "/etc/", "/run/" };
	const char *from = path;

	for (size_t i = 0; i < 2; i++)
		if (str_starts(path, tops[i]))
			from = path + strlen(tops[i]);
	for (const char *slash = strchr(from, '/'); slash; slash = strchr(slash + 1, '/')) {
		const struct knob k = { KNOB_FILE,
					arena_strndup(g->a, path, (size_t)(slash - path) + 1), "" };
		struct err ignored = { 0 };
		const char *now;

		if (is_planned(p, &k) || !knob_valid(&k, NULL, NULL) ||
		    knob_get(g->h, g->a, &k, &now, &ignored) || strcmp(now, "absent") != 0)
			continue;
		setup_change(g, p, &for_files, "", &k,
			     knob_file_value(g->a,
					     str_ends(k.name, "system-connections/") ? 0700 : 0755,
					     "", 0));
	}
}

/* The same file below /run for the trial, and below /etc for good. One that stands there with
 * another text is ours of an earlier plan, or edited: the journal tells when it is written. */
static void setup_add_file(struct making *g, const char *run, const char *etc, const char *name,
			   unsigned mode, const char *text)
{
	const char *value = knob_file_value(g->a, mode, text, strlen(text));
	struct knob trial = { KNOB_FILE, arena_printf(g->a, "%s/%s", run, name), "" },
		    keep = { KNOB_FILE, arena_printf(g->a, "%s/%s", etc, name), "" };

	setup_add_folders(g, &g->s->trial, trial.name);
	setup_change(g, &g->s->trial, &for_files, "", &trial, value);
	setup_add_folders(g, &g->s->keep, keep.name);
	setup_change(g, &g->s->keep, &for_files, "", &keep, value);
	ARENA_ADD(g->a, g->s->files, g->s->n_files) = (struct setup_file){ keep.name, text };
}

/* Whether anything about the port is not as asked for yet. */
static bool setup_is_open(struct making *g, const struct setup_port *p)
{
	const struct knob address = { KNOB_ADDRESS, p->address, p->name },
			  mtu = { KNOB_LINK, "mtu", p->name };
	const char *mtu_text = arena_printf(g->a, "%lld", p->mtu);
	size_t before = g->s->trial.n;

	if (setup_change(g, &g->s->trial, &for_mtu, p->name, &mtu, mtu_text))
		setup_change(g, &g->s->trial, &for_address, p->name, &address, "present");
	return g->s->trial.n > before;
}

static struct wire_port wire_of(const struct setup_port *p)
{
	return (struct wire_port){ .name = p->name, .address = p->address, .mtu = p->mtu };
}

static void add_port_file(struct making *g, const struct setup_port *p, enum setup_owner o)
{
	struct wire_port w = wire_of(p);
	const char *why = "", *text;

	text = o == SETUP_MANAGER ? nm_text(g->a, &w, &why) : networkd_text(g->a, &w, &why);
	if (!text)
		setup_refuse(g->a, g->s, REFUSED_NAME, p->name, "%s", why);
	else if (o == SETUP_MANAGER)
		setup_add_file(g, "/run/NetworkManager/system-connections",
			       "/etc/NetworkManager/system-connections",
			       arena_printf(g->a, "gputune-cluster-%s.nmconnection", p->name), 0600,
			       text);
	else
		setup_add_file(g, "/run/systemd/network", "/etc/systemd/network",
			       arena_printf(g->a, "05-gputune-cluster-%s.network", p->name), 0644,
			       text);
}

/* One file for all of netplan's ports, also those that need no change: it is whole each time. */
static void add_netplan(struct making *g, const struct wire_port *ports, size_t n)
{
	const char *why = "", *text = n ? netplan_text(g->a, ports, n, &why) : NULL;

	if (n && !text)
		setup_refuse(g->a, g->s, REFUSED_NAME, "", "%s", why);
	else if (text)
		setup_add_file(g, "/run/netplan", "/etc/netplan", SETUP_NETPLAN, 0600, text);
}

static void setup_add_ports(struct making *g)
{
	struct wire_port netplan[SETUP_PORTS_MAX];
	bool open = false, nobody = false;
	size_t n = 0;

	for (size_t i = 0; i < g->want->n; i++) {
		const struct setup_port *p = &g->want->ports[i];
		const struct nic *nic = machine_nic(g->m, p->name);
		enum setup_owner o = nic ? setup_owner_of(g->sources, nic) : SETUP_NOBODY;
		bool changes = nic && setup_is_open(g, p);

		g->s->owners[i] = o;
		nobody = nobody || (nic && o == SETUP_NOBODY);
		if (nic && o == SETUP_NETPLAN_OWNS) {
			netplan[n] = wire_of(p);
			setup_definition(g->a, g->sources, nic, &netplan[n++]);
			open = open || changes;
		} else if (changes && o != SETUP_NOBODY) {
			add_port_file(g, p, o);
		}
	}
	if (open || host_exists(g->h, "/etc/netplan/" SETUP_NETPLAN))
		add_netplan(g, netplan, n);
	if (nobody)
		setup_note(g->a, g->s,
			   "No tool configures these ports (neither netplan nor NetworkManager nor "
			   "networkd): addresses and MTU are set now and lost at a reboot.");
}

static void add_types(struct making *g)
{
	for (size_t i = 0; i < g->want->n_types; i++) {
		const struct setup_type *t = &g->want->types[i];
		const struct knob k = setup_type_knob(t);

		if (setup_change(g, &g->s->keep, &for_type, t->pci, &k, ETHERNET))
			setup_note(g->a, g->s,
				   arena_printf(g->a,
						"%s of %s: the adapter applies the change at the "
						"next boot. Make a new plan after that boot.",
						k.name, t->pci));
	}
}

static void setup_add_lines(struct making *g, const char *file, const char *lines)
{
	const struct knob k = { KNOB_BLOCK, file, "" };

	if (!*lines)
		return;
	if (strcmp(file, "/etc/hosts") != 0 && !host_exists(g->h, "/etc/ssh")) {
		setup_note(g->a, g->s, "/etc/ssh does not exist here: no host keys are written.");
		return;
	}
	setup_change(g, &g->s->keep, &for_names, "", &k,
		     knob_file_value(g->a, 0644, lines, strlen(lines)));
	ARENA_ADD(g->a, g->s->files, g->s->n_files) = (struct setup_file){ file, lines };
}

void setup_make(struct arena *a, struct host *h, const struct machine *m,
		const struct setup_want *want, struct setup *out)
{
	struct making g = { a, h, m, want, out, setup_sources_read(a, h, m) };

	*out = (struct setup){ 0 };
	out->trial.profile = out->keep.profile = SETUP_OP;
	setup_add_ports(&g);
	add_types(&g);
	setup_add_lines(&g, "/etc/hosts", want->hosts);
	setup_add_lines(&g, "/etc/ssh/ssh_known_hosts", want->known_hosts);
	if (out->trial.n)
		setup_gates(a, h, m, want, out);
	if (fact_or(&m->captured, 0))
		setup_note(a, out,
			   "This is a captured machine: addresses, MTU and files go to the overlay "
			   "folder. No program is run, no rollback timer is set, and nothing is "
			   "sent.");
}

/* Texts with their zeroes, so that no two lists of them are one. */
static void digest_plan(struct text *t, const struct plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];
		const char *const parts[] = { knob_kind_name(c->knob.kind), c->knob.name,
					      c->knob.object, c->before, c->after };

		for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
			text_addn(t, parts[k] ? parts[k] : "", parts[k] ? strlen(parts[k]) + 1 : 1);
	}
	text_addn(t, "", 1);
}

const char *setup_sha256(struct arena *a, const void *bytes, size_t n)
{
	uint8_t d[crypto_hash_sha256_BYTES];
	char hex[2 * sizeof(d) + 1];

	crypto_hash_sha256(d, bytes, n);
	return arena_strdup(a, sodium_bin2hex(hex, sizeof(hex), d, sizeof(d)));
}

const char *setup_digest(struct arena *a, const struct setup *s)
{
	TEXT_AUTO t = { 0 };

	digest_plan(&t, &s->trial);
	digest_plan(&t, &s->keep);
	return setup_sha256(a, t.s, t.len);
}

/*
 * What stands against changing a node's ports now: queue pairs, whose GIDs an address moves; jobs
 * on GPUs; the way by which we are here; ports that are part of something else.
 */

enum { ASK_MS = 5000, ANSWER_MAX = 4 << 20, SHOWN = 8 };

/* --- RDMA ------------------------------------------------------------------------------------- */

/* One of every adapter's own, for management: it is always there. */
static bool is_management(const char *type)
{
	return strcmp(type, "SMI") == 0 || strcmp(type, "GSI") == 0;
}

static const char *text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

const char *setup_rdma_users(struct arena *a, const char *json, const char *device)
{
	json_auto_t *list = json_loads(json, 0, NULL);
	TEXT_AUTO out = { 0 };
	size_t shown = 0;

	if (!json_is_array(list))
		return NULL;
	text_add(&out, "");
	for (size_t i = 0; i < json_array_size(list) && shown < SHOWN; i++) {
		const json_t *qp = json_array_get(list, i);
		long long pid = json_integer_value(json_object_get(qp, "pid"));
		const char *who;

		if (is_management(text_of(qp, "type")) ||
		    strcmp(text_of(qp, "ifname"), device) != 0)
			continue;
		who = pid > 0 ? arena_printf(a, "%s (process %lld)", text_of(qp, "comm"), pid)
			      : arena_printf(a, "%s (the kernel)", text_of(qp, "comm"));
		if (out.len && strstr(out.s, who))
			continue;
		text_printf(&out, "%s%s", out.len ? ", " : "", who);
		shown++;
	}
	return arena_strdup(a, out.s);
}

/* Descriptors of one process are forgotten before the next is looked at: a machine has millions. */
static bool opens_rdma(struct host *h, const char *pid)
{
	ARENA_AUTO own = { 0 };
	const char *folder = arena_printf(&own, "/proc/%s/fd", pid);
	char path[HOST_PATH_MAX], target[HOST_PATH_MAX], **fds;
	bool found = false;
	size_t n;

	if (host_list(h, folder, &own, &fds, &n))
		n = 0;
	for (size_t i = 0; i < n && !found; i++)
		found = snprintf(path, sizeof(path), "%s/%s", folder, fds[i]) < (int)sizeof(path) &&
			host_link(h, path, target, sizeof(target)) == 0 &&
			str_starts(target, "/dev/infiniband/uverbs");
	return found;
}

const char *setup_rdma_openers(struct arena *a, struct host *h)
{
	TEXT_AUTO out = { 0 };
	char **pids = NULL;
	size_t n = 0, shown = 0;

	text_add(&out, "");
	if (host_list(h, "/proc", a, &pids, &n))
		return "";
	for (size_t i = 0; i < n && shown < SHOWN; i++) {
		char name[64] = "?";

		if (*pids[i] < '1' || *pids[i] > '9' || !opens_rdma(h, pids[i]))
			continue;
		(void)host_read_line(h, arena_printf(a, "/proc/%s/comm", pids[i]), name,
				     sizeof(name));
		text_printf(&out, "%s%s (process %s)", out.len ? ", " : "", name, pids[i]);
		shown++;
	}
	return arena_strdup(a, out.s);
}

static const char *setup_device_of(const struct machine *m, const char *interface)
{
	const struct nic *n = machine_nic(m, interface);

	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma)
		if (fact_is(&p->netdev, interface) || (n && *n->pci && strcmp(p->pci, n->pci) == 0))
			return p->device;
	return NULL;
}

static void gate_rdma(struct arena *a, struct host *h, const struct machine *m,
		      const struct setup_want *want, struct setup *out)
{
	char program[] = "rdma", json[] = "-j", res[] = "resource", show[] = "show", qp[] = "qp";
	char *const argv[] = { program, json, res, show, qp, NULL };
	const char *listed = NULL, *users;

	if (fact_or(&m->captured, 0) || command_report(a, argv, ASK_MS, ANSWER_MAX, &listed))
		listed = NULL;
	for (size_t i = 0; i < want->n; i++) {
		const char *device = setup_device_of(m, want->ports[i].name);

		users = listed && device ? setup_rdma_users(a, *listed ? listed : "[]", device)
					 : "";
		if (!users)
			listed = NULL;
		else if (*users)
			setup_refuse(a, out, REFUSED_RDMA, want->ports[i].name,
				     "RDMA queue pairs are open on %s: %s", device, users);
	}
	users = listed ? "" : setup_rdma_openers(a, h);
	if (*users)
		setup_refuse(a, out, REFUSED_RDMA, "", "RDMA devices are open: %s", users);
}

/* --- the rest --------------------------------------------------------------------------------- */

static void gate_gpus(struct arena *a, const struct machine *m, struct setup *out)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		LIST_FOR_EACH (struct gpu_process, p, &g->processes) {
			if (fact_is(&p->kind, "compute"))
				setup_refuse(a, out, REFUSED_GPU, "",
					     "GPU %u is in use: %s (process %u)", g->index,
					     fact_text(&p->command, "?"), p->index);
		}
}

/* The machine's way to everybody else. */
static bool is_default_route(struct arena *a, struct host *h, const char *interface)
{
	char *text, *save = NULL;

	if (host_read(h, "/proc/net/route", HOST_READ_MAX, a, &text, NULL))
		return false;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char name[32];
		unsigned long to, mask;

		if (sscanf(line, "%31s %lx %*x %*x %*d %*d %*d %lx", name, &to, &mask) == 3 &&
		    to == 0 && mask == 0 && strcmp(name, interface) == 0)
			return true;
	}
	return false;
}

static void gate_port(struct arena *a, struct host *h, const struct machine *m, const char *name,
		      struct setup *out)
{
	const struct nic *n = machine_nic(m, name);
	const struct fact_str *links = &m->config.session.links;

	if (!n)
		setup_refuse(a, out, REFUSED_NO_PORT, name, "no such interface here");
	else if (seen_ok(&links->f) && words_have(links->v, name, strlen(name)))
		setup_refuse(a, out, REFUSED_OWN_LINK, name,
			     "gputune's own connection to the node uses this interface");
	else if (seen_ok(&n->bond_master.f) && *n->bond_master.v)
		setup_refuse(a, out, REFUSED_BOND, name, "the interface is part of a bond");
	else if (fact_or(&n->wireless, 0) == 1)
		setup_refuse(a, out, REFUSED_WIRELESS, name, "the interface is wireless");
	else if (fact_is(&n->owner, "ifupdown"))
		setup_refuse(a, out, REFUSED_IFUPDOWN, name,
			     "ifupdown configures it, and gputune does not write its files");
	else if (is_default_route(a, h, name))
		setup_refuse(a, out, REFUSED_DEFAULT_ROUTE, name,
			     "the node's default route uses this interface");
}

void setup_gates(struct arena *a, struct host *h, const struct machine *m,
		 const struct setup_want *want, struct setup *out)
{
	for (size_t i = 0; i < want->n; i++)
		gate_port(a, h, m, want->ports[i].name, out);
	gate_rdma(a, h, m, want, out);
	gate_gpus(a, m, out);
}

/* --- what goes to the coordinator ------------------------------------------------------------- */

/* A file's value is long and stands among the files; its mode and presence are told. */
static void setup_answer_changes(struct arena *a, const struct plan *p, bool keep,
				 struct setup_answer *out)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];

		ARENA_ADD(a, out->changes, out->n_changes) =
			(struct setup_change){ keep, c->knob, c->before, c->after };
	}
}

static const char *setup_words(struct arena *a, char *const *argv)
{
	const char *out = argv[0];

	for (size_t i = 1; argv[i]; i++)
		out = arena_printf(a, "%s %s", out, argv[i]);
	return out;
}

void setup_answer(struct arena *a, struct host *h, const struct setup *s,
		  const struct setup_want *want, struct setup_answer *out)
{
	struct knob *knobs = arena_array(a, s->trial.n, sizeof(*knobs));
	char ***argvs;

	*out = (struct setup_answer){ .files = s->files,
				      .n_files = s->n_files,
				      .refusals = s->refusals,
				      .n_refusals = s->n_refusals,
				      .notes = s->notes,
				      .n_notes = s->n_notes,
				      .owners = arena_array(a, want->n, sizeof(*out->owners)),
				      .n_owners = want->n,
				      .digest = setup_digest(a, s) };
	setup_answer_changes(a, &s->trial, false, out);
	setup_answer_changes(a, &s->keep, true, out);
	for (size_t i = 0; i < want->n; i++)
		out->owners[i] = arena_printf(a, "%s: %s", want->ports[i].name,
					      setup_owner_name(s->owners[i]));
	for (size_t i = 0; i < s->trial.n; i++)
		knobs[i] = s->trial.changes[i].knob;
	argvs = setup_reloads(a, h, knobs, s->trial.n, &out->n_commands);
	out->commands = arena_array(a, out->n_commands, sizeof(*out->commands));
	for (size_t i = 0; i < out->n_commands; i++)
		out->commands[i] = setup_words(a, argvs[i]);
}
