/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns an interface's configuration, and whether addresses collide. */
#include "look/probe/nic.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/merged.h"

#define NETWORKD "/etc/systemd/network"
#define NETWORKD_RUN "/run/systemd/network"

/*
 * netplan writes "10-netplan-NAME.network" and "netplan-NAME.nmconnection" for the program that
 * does its work; others are named by whoever wrote them, mostly after the interface.
 */
static const struct {
	const char *dir, *part, *owner;
} places[] = {
	{ NETWORKD_RUN, "netplan-", "netplan" },
	{ "/run/NetworkManager/system-connections", "netplan-", "netplan" },
	{ "/etc/NetworkManager/system-connections", "", "NetworkManager" },
	{ "/run/NetworkManager/system-connections", "", "NetworkManager" },
	{ NETWORKD, "", "networkd" },
	{ "/etc/network/interfaces.d", "", "ifupdown" },
};
enum { PLACES = sizeof(places) / sizeof(places[0]) };

struct nic_owners {
	struct {
		char **names;
		size_t n;
	} files[PLACES];
	int why; /* of seeing none: -ENOENT, or the last refusal */
};

static void note(struct nic_owners *o, int why)
{
	if (why && why != -ENOENT && why != -ENOTDIR)
		o->why = why;
}

/* Of one name /etc has the say, also over what netplan made; a link to /dev/null says that none
 * shall count. */
static void read_networkd(struct probe *p, struct nic_owners *o)
{
	static const char *const folders[] = { NETWORKD, NETWORKD_RUN };
	int why[2];
	size_t n;
	char **paths = host_merged(p->h, p->a, folders, 2, "", why, &n);

	note(o, why[1]);
	note(o, why[0]);
	for (size_t i = 0; i < PLACES; i++) {
		size_t dir = strlen(places[i].dir);

		if (strcmp(places[i].dir, NETWORKD) != 0 &&
		    strcmp(places[i].dir, NETWORKD_RUN) != 0)
			continue;
		o->files[i].names = arena_array(p->a, n + 1, sizeof(*o->files[i].names));
		for (size_t k = 0; k < n; k++)
			if (str_starts(paths[k], places[i].dir) && paths[k][dir] == '/')
				o->files[i].names[o->files[i].n++] = paths[k] + dir + 1;
	}
}

const struct nic_owners *nic_owners_read(struct probe *p)
{
	struct nic_owners *o = ARENA_NEW(p->a, struct nic_owners);

	o->why = -ENOENT;
	for (size_t i = 0; i < PLACES; i++) {
		int r;

		if (strcmp(places[i].dir, NETWORKD) == 0 ||
		    strcmp(places[i].dir, NETWORKD_RUN) == 0)
			continue;
		r = host_list(p->h, places[i].dir, p->a, &o->files[i].names, &o->files[i].n);
		if (r)
			o->files[i].n = 0;
		note(o, r);
	}
	read_networkd(p, o);
	return o;
}

/* True when name stands in file as a whole word: "eth1" is not in "10-eth10.network". */
static bool names_it(const char *file, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = strstr(file, name); at; at = strstr(at + 1, name))
		if ((at == file || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[n]))
			return true;
	return false;
}

struct fact_str nic_owner(const struct nic_owners *owners, const char *name)
{
	for (size_t i = 0; i < PLACES; i++)
		for (size_t k = 0; k < owners->files[i].n; k++) {
			const char *file = owners->files[i].names[k];

			if (strstr(file, places[i].part) && names_it(file, name))
				return fact_str_of(places[i].owner, "", places[i].dir);
		}
	return (struct fact_str){ .f = fact_unseen(owners->why, "",
						   "netplan, NetworkManager and networkd files") };
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
		if (sscanf(text, "%u.%u.%u.%u/%u", &a, &b, &c, &d, &bits) == 5 && bits &&
		    bits <= 32 && a < 256 && b < 256 && c < 256 && d < 256) {
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

/* Of virtual ones no driver was asked for. They share their lower interface's subnet on purpose:
 * macvlan, VRRP. */
static bool counts(const struct nic *n)
{
	return n->driver.f.leaf && fact_is(&n->operstate, "up") && seen_ok(&n->ipv4.f);
}

struct fact_int nic_bad_subnets(const struct list *nics)
{
	const struct nic *n = nics->items;
	long long pairs = 0;

	for (size_t i = 0; i < nics->n; i++)
		for (size_t j = i + 1; j < nics->n; j++)
			pairs +=
				counts(&n[i]) && counts(&n[j]) && collide(n[i].ipv4.v, n[j].ipv4.v);
	return fact_int_of(pairs, "", "if * ipv4");
}
