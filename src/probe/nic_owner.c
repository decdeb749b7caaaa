/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns an interface's configuration, and whether addresses collide. */
#include "probe/nic.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* True when a file of the folder has the interface's name as a word in its name: netplan writes
 * "10-netplan-NAME.network" and "netplan-NAME.nmconnection". */
static bool named_in(struct probe *p, const char *dir, const char *prefix, const char *name)
{
	char **names;
	size_t n;

	if (host_list(p->h, dir, p->a, &names, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		const char *at = strstr(names[i], name);
		char after = at ? at[strlen(name)] : '\0';

		if (at && strstr(names[i], prefix) && (after == '.' || after == '\0' || after == '-'))
			return true;
	}
	return false;
}

struct fact_str nic_owner(struct probe *p, const char *name)
{
	static const struct {
		const char *dir, *prefix, *owner;
	} places[] = {
		{ "/run/systemd/network", "netplan", "netplan" },
		{ "/run/NetworkManager/system-connections", "netplan", "netplan" },
		{ "/etc/NetworkManager/system-connections", "", "NetworkManager" },
		{ "/etc/systemd/network", "", "networkd" },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (named_in(p, places[i].dir, places[i].prefix, name))
			return fact_str_of(places[i].owner, "", places[i].dir);
	return (struct fact_str){ .f = fact_unseen(-ENOENT, "", "netplan, NetworkManager and networkd files") };
}

struct subnet {
	unsigned long net;
	unsigned bits;
};

/* The subnets of "10.0.0.1/24 10.0.1.1/24"; at most max. */
static size_t subnets(const char *text, struct subnet *out, size_t max)
{
	size_t n = 0;

	while (*text && n < max) {
		unsigned a, b, c, d, bits;

		text += strspn(text, " ");
		if (sscanf(text, "%u.%u.%u.%u/%u", &a, &b, &c, &d, &bits) == 5 && bits && bits <= 32 && a < 256 && b < 256 &&
		    c < 256 && d < 256) {
			unsigned long address = (unsigned long)a << 24 | b << 16 | c << 8 | d;

			out[n++] = (struct subnet){ address >> (32 - bits), bits };
		}
		text += strcspn(text, " ");
	}
	return n;
}

static bool collide(const char *x, const char *y)
{
	enum { MAX = 16 };
	struct subnet a[MAX], b[MAX];
	size_t na = subnets(x, a, MAX), nb = subnets(y, b, MAX);

	for (size_t i = 0; i < na; i++)
		for (size_t j = 0; j < nb; j++)
			if (a[i].bits == b[j].bits && a[i].net == b[j].net)
				return true;
	return false;
}

static bool counts(const struct nic *n)
{
	return fact_is(&n->operstate, "up") && seen_ok(&n->ipv4.f) && !fact_is(&n->type, "loopback");
}

struct fact_int nic_bad_subnets(const struct list *nics)
{
	const struct nic *n = nics->items;
	long long pairs = 0;

	for (size_t i = 0; i < nics->n; i++)
		for (size_t j = i + 1; j < nics->n; j++)
			pairs += counts(&n[i]) && counts(&n[j]) && collide(n[i].ipv4.v, n[j].ipv4.v);
	return fact_int_of(pairs, "", "if * ipv4");
}
