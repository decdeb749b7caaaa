/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes call each other over the planned links, and by which keys they know each other's ssh
 * server. Names come from other machines: what is no host name is not used. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "many/cluster/plan.h"

enum { LABEL_MAX = 63, KEY_MAX = 4096 };

static bool is_label(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && (s[i] != '-' || i == 0))
			return false;
	return n > 0 && n <= LABEL_MAX - strlen("-fabric999");
}

/* Up to the first dot. */
static const char *short_name(struct arena *a, const char *name)
{
	return arena_strndup(a, name, strcspn(name, "."));
}

static bool is_only(const struct cluster *c, size_t node, const char *hostname)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		if (i != node && strcmp(fact_text(&c->nodes[i].hostname, ""), hostname) == 0)
			return false;
	return true;
}

/* Its own host name where that tells it from the others, else what the user calls it. */
static const char *label_of(struct arena *a, const struct cluster *c, size_t node)
{
	const char *own = fact_text(&c->nodes[node].hostname, ""), *label = short_name(a, own);

	if (is_label(label) && is_only(c, node, own))
		return label;
	label = short_name(a, c->nodes[node].name);
	return is_label(label) ? label : arena_printf(a, "node%zu", node + 1);
}

/* Paths that the node has an end of. */
static bool is_on(const struct wiring *w, const struct wiring_path *path, size_t node)
{
	for (size_t i = 0; i < path->n; i++)
		if (w->ports[path->first + i].end.node == node)
			return true;
	return false;
}

static const char *fabric_name(struct arena *a, const char *label, unsigned nth)
{
	return nth > 1 ? arena_printf(a, "%s-fabric%u", label, nth)
		       : arena_printf(a, "%s-fabric", label);
}

static const char *bare(struct arena *a, const char *address)
{
	return arena_strndup(a, address, strcspn(address, "/"));
}

/* Addresses of other on paths that node has too, each with its name: as lines, or with commas. */
static void add_names(struct arena *a, const struct wiring *w, size_t node, size_t other,
		      bool lines, struct text *out)
{
	unsigned nth = 0;

	for (size_t i = 0; i < w->n_ports; i++) {
		const struct wiring_port *port = &w->ports[i];

		if (port->end.node != other || !is_on(w, &w->paths[port->path], node))
			continue;
		nth++;
		text_printf(out, lines ? "%s\t%s\n" : ",%s,%s", bare(a, port->address),
			    fabric_name(a, w->labels[other], nth));
	}
}

bool wiring_host_key_sound(const char *key)
{
	static const char *const types[] = { "ssh-ed25519 ", "ssh-rsa ", "ecdsa-sha2-nistp256 ",
					     "ecdsa-sha2-nistp384 ", "ecdsa-sha2-nistp521 " };
	static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/=";

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t n = strlen(types[i]), len = str_starts(key, types[i]) ? strlen(key + n) : 0;

		if (len)
			return len <= KEY_MAX && strspn(key + n, base64) == len;
	}
	return false;
}

static const char *known_lines(struct arena *a, const struct wiring_node *before,
			       const struct wiring *w, size_t node)
{
	TEXT_AUTO out = { 0 }, names = { 0 };

	text_add(&out, "");
	for (size_t other = 0; other < w->c->n_nodes; other++) {
		const char *name = short_name(a, w->c->nodes[other].name);

		if (other == node)
			continue;
		text_clear(&names);
		text_add(&names, w->labels[other]);
		if (strcmp(name, w->labels[other]) != 0 && is_label(name))
			text_printf(&names, ",%s", name);
		add_names(a, w, node, other, false, &names);
		for (size_t i = 0; i < before[other].n_host_keys; i++)
			if (wiring_host_key_sound(before[other].host_keys[i]))
				text_printf(&out, "%s %s\n", names.s, before[other].host_keys[i]);
	}
	return arena_strdup(a, out.s);
}

void wiring_names(struct arena *a, const struct wiring_node *before, struct wiring *w)
{
	size_t n = w->c->n_nodes;

	w->labels = arena_array(a, n, sizeof(*w->labels));
	w->hosts = arena_array(a, n, sizeof(*w->hosts));
	w->known_hosts = arena_array(a, n, sizeof(*w->known_hosts));
	for (size_t i = 0; i < n; i++)
		w->labels[i] = label_of(a, w->c, i);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (strcasecmp(w->labels[i], w->labels[k]) == 0)
				w->labels[i] = arena_printf(a, "%s-%zu", w->labels[i], i + 1);
	for (size_t i = 0; i < n; i++) {
		TEXT_AUTO lines = { 0 };

		text_add(&lines, "");
		for (size_t other = 0; other < n; other++)
			add_names(a, w, i, other, true, &lines);
		w->hosts[i] = arena_strdup(a, lines.s);
		w->known_hosts[i] = w->n_ports ? known_lines(a, before, w, i) : "";
	}
}
