/* SPDX-License-Identifier: Apache-2.0 */
/* From a node's wish to changes of knobs. A port that is as wished already is left alone, whoever
 * made it so. */
#include "many/cluster/setup.h"

#include <string.h>

#include "base/sha256.h"
#include "base/text.h"
#include "many/cluster/ask.h"
#include "many/cluster/nm_text.h"
#include "machine/knob/io.h"

enum { NAME_TEXT = 64, MTU_LEAST = 576, MTU_MOST = 65536 };

/* What the journal calls them. */
static const struct setting for_address = { .id = "cluster.address",
					    .title = "Addresses of links between machines",
					    .risk = RISK_SERVICE,
					    .effect = EFFECT_NOW };
static const struct setting for_mtu = { .id = "cluster.mtu",
					.title = "MTU of links between machines",
					.risk = RISK_SERVICE,
					.effect = EFFECT_NOW };
static const struct setting for_files = { .id = "cluster.files",
					  .title = "Files that keep them",
					  .risk = RISK_SERVICE,
					  .effect = EFFECT_NOW };
static const struct setting for_names = { .id = "cluster.names",
					  .title = "Names of machines and their host keys",
					  .risk = RISK_LOW,
					  .effect = EFFECT_NOW };

static const struct setting for_type = { .id = "cluster.link-type",
					 .title = "Link layer of adapters",
					 .risk = RISK_SERVICE,
					 .effect = EFFECT_REBOOT };
#define ETHERNET "2"

struct making {
	struct arena *a;
	struct host *h;
	const struct machine *m;
	const struct setup_want *want;
	struct setup *s;
	struct setup_sources *sources;
};

/* --- the wish ----------------------------------------------------------------------------------
 */

static int read_port(const json_t *j, struct setup_port *out, struct err *e)
{
	struct knob address, mtu;
	const char *why = "";

	*out = (struct setup_port){ .name = "", .address = "" };
	if (ask_text(j, "name", NAME_TEXT, &out->name, e) ||
	    ask_text(j, "address", NAME_TEXT, &out->address, e) ||
	    ask_int(j, "mtu", MTU_LEAST, MTU_MOST, &out->mtu, e))
		return -EINVAL;
	address = (struct knob){ KNOB_ADDRESS, out->address, out->name };
	mtu = (struct knob){ KNOB_LINK, "mtu", out->name };
	if (!knob_sound(&address, NULL, &why) || !knob_sound(&mtu, NULL, &why))
		return err_set(e, -EINVAL, "a port of the request is not sound: %s", why);
	return out->mtu ? 0 : err_set(e, -EINVAL, "a port of the request has no MTU");
}

static int read_types(struct arena *a, const json_t *with, struct setup_want *out, struct err *e)
{
	const json_t *list = json_object_get(with, "link_types");

	if (list && (!json_is_array(list) || json_array_size(list) > SETUP_PORTS_MAX))
		return err_set(e, -EINVAL, "the request names too many link types");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *j = json_array_get(list, i);
		struct setup_type *t = &out->types[out->n_types++];
		long long port = 1;
		struct knob k;

		t->pci = "";
		if (ask_text(j, "pci", NAME_TEXT, &t->pci, e) || ask_int(j, "port", 1, 2, &port, e))
			return -EINVAL;
		t->pci = arena_strdup(a, t->pci);
		t->parameter = port == 1 ? "LINK_TYPE_P1" : "LINK_TYPE_P2";
		k = (struct knob){ KNOB_FIRMWARE, t->parameter, t->pci };
		if (!knob_sound(&k, NULL, NULL))
			return err_set(e, -EINVAL, "a link type of the request is of no adapter");
	}
	return 0;
}

/* Lines of text have newlines, which ask_text refuses: their knob is who checks them. */
static int read_lines(struct arena *a, const json_t *with, const char *key, const char *file,
		      const char **out, struct err *e)
{
	const json_t *j = json_object_get(with, key);
	const struct knob k = { KNOB_BLOCK, file, "" };
	const char *text = json_string_value(j), *why = "";

	*out = "";
	if (!j || (text && !*text))
		return 0;
	if (!text || json_string_length(j) > SETUP_TEXT_MAX ||
	    !knob_sound(&k, knob_file_value(a, 0644, text, strlen(text)), &why))
		return err_set(e, -EINVAL, "\"%s\" of the request is not sound: %s", key, why);
	*out = arena_strdup(a, text);
	return 0;
}

int setup_want_read(struct arena *a, const json_t *with, struct setup_want *out, struct err *e)
{
	const json_t *ports = json_object_get(with, "ports");

	*out = (struct setup_want){ 0 };
	if (!json_is_array(ports) || json_array_size(ports) > SETUP_PORTS_MAX)
		return err_set(e, -EINVAL, "the request names no ports, or too many");
	for (size_t i = 0; i < json_array_size(ports); i++) {
		struct setup_port *p = &out->ports[i];

		if (read_port(json_array_get(ports, i), p, e))
			return -EINVAL;
		for (size_t k = 0; k < i; k++)
			if (strcmp(out->ports[k].name, p->name) == 0)
				return err_set(e, -EINVAL, "the request names port %s twice",
					       p->name);
		p->name = arena_strdup(a, p->name);
		p->address = arena_strdup(a, p->address);
		out->n++;
	}
	if (read_types(a, with, out, e) ||
	    read_lines(a, with, "hosts", "/etc/hosts", &out->hosts, e) ||
	    read_lines(a, with, "known_hosts", "/etc/ssh/ssh_known_hosts", &out->known_hosts, e))
		return -EINVAL;
	return 0;
}

/* --- changes -----------------------------------------------------------------------------------
 */

void setup_refuse(struct arena *a, struct setup *s, const struct setup_refusal *r)
{
	s->refusals = arena_grow(a, s->refusals, s->n_refusals, sizeof(*s->refusals));
	s->refusals[s->n_refusals] = *r;
	s->refusals[s->n_refusals].port = r->port ? r->port : "";
	s->n_refusals++;
}

static void setup_note(struct arena *a, struct setup *s, const char *sentence)
{
	s->notes = arena_grow(a, s->notes, s->n_notes, sizeof(*s->notes));
	s->notes[s->n_notes++] = sentence;
}

/* Only what is not so yet. True when the knob could be read. */
static bool change(struct making *g, struct plan *p, const struct setting *of, const char *port,
		   const struct knob *k, const char *after)
{
	struct err e = { 0 };
	const char *now;

	if (knob_get(g->h, g->a, k, &now, &e)) {
		setup_refuse(g->a, g->s,
			     &(struct setup_refusal){ .code = "unreadable",
						      .port = port,
						      .text = arena_strdup(g->a, e.text),
						      .fix = "what cannot be read could not be put "
							     "back" });
		return false;
	}
	if (knob_same(k, now, after))
		return true;
	p->changes = arena_grow(g->a, p->changes, p->n, sizeof(*p->changes));
	p->changes[p->n++] = (struct change){ .s = of,
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
static void add_folders(struct making *g, struct plan *p, const char *path)
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

		if (is_planned(p, &k) || !knob_sound(&k, NULL, NULL) ||
		    knob_get(g->h, g->a, &k, &now, &ignored) || strcmp(now, "absent") != 0)
			continue;
		change(g, p, &for_files, "", &k,
		       knob_file_value(g->a, str_ends(k.name, "system-connections/") ? 0700 : 0755,
				       "", 0));
	}
}

/* The same file below /run for the trial, and below /etc for good. One that stands there with
 * another text is ours of an earlier plan, or edited: the journal tells when it is written. */
static void add_file(struct making *g, const char *run, const char *etc, const char *name,
		     unsigned mode, const char *text)
{
	const char *value = knob_file_value(g->a, mode, text, strlen(text));
	struct knob trial = { KNOB_FILE, arena_printf(g->a, "%s/%s", run, name), "" },
		    keep = { KNOB_FILE, arena_printf(g->a, "%s/%s", etc, name), "" };

	add_folders(g, &g->s->trial, trial.name);
	change(g, &g->s->trial, &for_files, "", &trial, value);
	add_folders(g, &g->s->keep, keep.name);
	change(g, &g->s->keep, &for_files, "", &keep, value);
	g->s->files = arena_grow(g->a, g->s->files, g->s->n_files, sizeof(*g->s->files));
	g->s->files[g->s->n_files++] = (struct setup_file){ keep.name, text };
}

static void unquotable(struct making *g, const char *port, const char *why)
{
	setup_refuse(
		g->a, g->s,
		&(struct setup_refusal){
			.code = "name", .port = port, .text = why, .fix = "rename the interface" });
}

/* Whether anything about the port is not as wished yet. */
static bool is_open(struct making *g, const struct setup_port *p)
{
	const struct knob address = { KNOB_ADDRESS, p->address, p->name },
			  mtu = { KNOB_LINK, "mtu", p->name };
	const char *mtu_text = arena_printf(g->a, "%lld", p->mtu);
	size_t before = g->s->trial.n;

	if (change(g, &g->s->trial, &for_mtu, p->name, &mtu, mtu_text))
		change(g, &g->s->trial, &for_address, p->name, &address, "present");
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
		unquotable(g, p->name, why);
	else if (o == SETUP_MANAGER)
		add_file(g, "/run/NetworkManager/system-connections",
			 "/etc/NetworkManager/system-connections",
			 arena_printf(g->a, "gputune-cluster-%s.nmconnection", p->name), 0600,
			 text);
	else
		add_file(g, "/run/systemd/network", "/etc/systemd/network",
			 arena_printf(g->a, "05-gputune-cluster-%s.network", p->name), 0644, text);
}

/* One file for all of netplan's ports, also those that need no change: it is whole each time. */
static void add_netplan(struct making *g, const struct wire_port *ports, size_t n)
{
	const char *why = "", *text = n ? netplan_text(g->a, ports, n, &why) : NULL;

	if (n && !text)
		unquotable(g, "", why);
	else if (text)
		add_file(g, "/run/netplan", "/etc/netplan", SETUP_NETPLAN, 0600, text);
}

static bool has_file(struct making *g, const char *path)
{
	return host_exists(g->h, path);
}

static void add_ports(struct making *g)
{
	struct wire_port netplan[SETUP_PORTS_MAX];
	bool open = false, nobody = false;
	size_t n = 0;

	for (size_t i = 0; i < g->want->n; i++) {
		const struct setup_port *p = &g->want->ports[i];
		const struct nic *nic = machine_nic(g->m, p->name);
		enum setup_owner o = nic ? setup_owner_of(g->sources, nic) : SETUP_NOBODY;
		bool changes = nic && is_open(g, p);

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
	if (open || has_file(g, "/etc/netplan/" SETUP_NETPLAN))
		add_netplan(g, netplan, n);
	if (nobody)
		setup_note(g->a, g->s,
			   "Nothing configures these ports (neither netplan nor NetworkManager nor "
			   "networkd): addresses and MTU are set now, and gone after a reboot.");
}

static void add_types(struct making *g)
{
	for (size_t i = 0; i < g->want->n_types; i++) {
		const struct setup_type *t = &g->want->types[i];
		const struct knob k = { KNOB_FIRMWARE, t->parameter, t->pci };

		if (change(g, &g->s->keep, &for_type, t->pci, &k, ETHERNET))
			setup_note(g->a, g->s,
				   arena_printf(g->a,
						"%s of %s: the adapter takes it up at the next "
						"boot of the machine; then make a new plan.",
						t->parameter, t->pci));
	}
}

static void add_lines(struct making *g, const char *file, const char *lines)
{
	const struct knob k = { KNOB_BLOCK, file, "" };

	if (!*lines)
		return;
	if (strcmp(file, "/etc/hosts") != 0 && !host_exists(g->h, "/etc/ssh")) {
		setup_note(g->a, g->s, "There is no /etc/ssh here: host keys are not written.");
		return;
	}
	change(g, &g->s->keep, &for_names, "", &k,
	       knob_file_value(g->a, 0644, lines, strlen(lines)));
	g->s->files = arena_grow(g->a, g->s->files, g->s->n_files, sizeof(*g->s->files));
	g->s->files[g->s->n_files++] = (struct setup_file){ file, lines };
}

void setup_make(struct arena *a, struct host *h, const struct machine *m,
		const struct setup_want *want, struct setup *out)
{
	struct making g = { a, h, m, want, out, setup_sources_read(a, h, m) };

	*out = (struct setup){ 0 };
	out->trial.profile = out->keep.profile = SETUP_OP;
	add_ports(&g);
	add_types(&g);
	add_lines(&g, "/etc/hosts", want->hosts);
	add_lines(&g, "/etc/ssh/ssh_known_hosts", want->known_hosts);
	if (out->trial.n)
		setup_gates(a, h, m, want, out);
}

static void digest_plan(struct sha256 *s, const struct plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];
		const char *const parts[] = { knob_kind_name(c->knob.kind), c->knob.name,
					      c->knob.object, c->before, c->after };

		for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
			sha256_add(s, parts[k] ? parts[k] : "",
				   strlen(parts[k] ? parts[k] : "") + 1);
	}
	sha256_add(s, "", 1);
}

const char *setup_digest(struct arena *a, const struct setup *s)
{
	uint8_t d[SHA256_BYTES];
	TEXT_AUTO out = { 0 };
	struct sha256 sum;

	sha256_begin(&sum);
	digest_plan(&sum, &s->trial);
	digest_plan(&sum, &s->keep);
	sha256_end(&sum, d);
	for (size_t i = 0; i < sizeof(d); i++)
		text_printf(&out, "%02x", d[i]);
	return arena_strdup(a, out.s);
}
