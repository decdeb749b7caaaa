/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands against changing a node's ports now: queue pairs, whose GIDs an address moves; jobs
 * on GPUs; the way by which we are here; ports that are part of something else.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "many/cluster/setup.h"
#include "machine/host/command.h"

enum { ASK_MS = 5000, ANSWER_MAX = 4 << 20, SHOWN = 8 };

/* --- RDMA --------------------------------------------------------------------------------------
 */

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
	json_t *list = json_loads(json, 0, NULL);
	TEXT_AUTO out = { 0 };
	size_t shown = 0;

	if (!json_is_array(list)) {
		json_decref(list);
		return NULL;
	}
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
	json_decref(list);
	return arena_strdup(a, out.s);
}

/* Descriptors of one process are forgotten before the next is looked at: a machine has millions. */
static bool opens_rdma(struct host *h, const char *pid)
{
	struct arena own = { 0 };
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
	arena_free(&own);
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

static const char *device_of(const struct machine *m, const char *interface)
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
	struct setup_refusal r = { .code = "rdma-in-use",
				   .fix = "end them first: an address moves the GIDs that their "
					  "queue pairs use" };

	if (command_say(a, argv, ASK_MS, ANSWER_MAX, &listed))
		listed = NULL;
	for (size_t i = 0; i < want->n; i++) {
		const char *device = device_of(m, want->ports[i].name);

		users = listed && device ? setup_rdma_users(a, *listed ? listed : "[]", device)
					 : "";
		if (!users)
			listed = NULL;
		if (!users || !*users)
			continue;
		r.port = want->ports[i].name;
		r.text = arena_printf(a, "RDMA queue pairs are open on %s: %s", device, users);
		setup_refuse(a, out, &r);
	}
	if (listed)
		return;
	users = setup_rdma_openers(a, h);
	r.port = "";
	r.text = arena_printf(a, "RDMA devices are open: %s", users);
	if (*users)
		setup_refuse(a, out, &r);
}

/* --- the rest ----------------------------------------------------------------------------------
 */

static void gate_gpus(struct arena *a, const struct machine *m, struct setup *out)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		LIST_FOR_EACH (struct gpu_process, p, &g->processes) {
			if (!fact_is(&p->kind, "compute"))
				continue;
			setup_refuse(
				a, out,
				&(struct setup_refusal){
					.code = "gpu-busy",
					.text = arena_printf(a,
							     "GPU %u is in use: %s "
							     "(process %u)",
							     g->index, fact_text(&p->command, "?"),
							     p->index),
					.fix = "end the job first: it may talk over these "
					       "links" });
		}
}

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = strstr(list, word); p; p = strstr(p + 1, word))
		if ((p == list || p[-1] == ' ') && (!p[n] || p[n] == ' '))
			return true;
	return false;
}

static const char *trouble_of(const struct machine *m, const struct setup_port *p,
			      const char **code, const char **fix)
{
	const struct nic *n = machine_nic(m, p->name);

	*code = "no-port";
	*fix = "discover again";
	if (!n)
		return "there is no such interface here";
	*code = "own-link";
	*fix = "reach the node over another interface (management, Wi-Fi)";
	if (seen_ok(&m->config.session.links.f) && has_word(m->config.session.links.v, p->name))
		return "this connection itself comes in over it";
	*code = "part-of-bond";
	*fix = "take it out of the bond first";
	if (seen_ok(&n->bond_master.f) && *n->bond_master.v)
		return "it is part of a bond";
	*code = "wireless";
	*fix = "links between machines are cables";
	if (fact_or(&n->wireless, 0) == 1)
		return "it is a radio";
	*code = "ifupdown";
	*fix = "put the address and mtu into its stanza of /etc/network/interfaces";
	if (fact_is(&n->owner, "ifupdown"))
		return "ifupdown configures it, whose files gputune does not write";
	return NULL;
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

void setup_gates(struct arena *a, struct host *h, const struct machine *m,
		 const struct setup_want *want, struct setup *out)
{
	for (size_t i = 0; i < want->n; i++) {
		const struct setup_port *p = &want->ports[i];
		struct setup_refusal r = { .port = p->name };

		r.text = trouble_of(m, p, &r.code, &r.fix);
		if (!r.text && is_default_route(a, h, p->name)) {
			r.code = "default-route";
			r.text = "the default route of the node leads over it";
			r.fix = "links between machines are no way to others: give the default "
				"route to another interface";
		}
		if (r.text)
			setup_refuse(a, out, &r);
	}
	gate_rdma(a, h, m, want, out);
	gate_gpus(a, m, out);
}
