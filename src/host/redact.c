/* SPDX-License-Identifier: Apache-2.0 */
/* Finding secrets by their shape, and giving each a pseudonym. */
#include "host/redact.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <string.h>

/* Length of a run of groups of n hexadecimal digits joined by sep, count of them, at s; 0 when it
 * is none. */
static size_t hex_groups(const char *s, size_t left, const unsigned char *groups, size_t count,
			 char sep)
{
	size_t at = 0;

	for (size_t g = 0; g < count; g++) {
		for (size_t i = 0; i < groups[g]; i++, at++)
			if (at >= left || !isxdigit((unsigned char)s[at]))
				return 0;
		if (g + 1 < count) {
			if (at >= left || s[at] != sep)
				return 0;
			at++;
		}
	}
	return at;
}

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The pseudonym of a secret: made from the number of secrets of its kind seen before it. */
static const char *pseudonym(struct redactor *r, struct map *kind, const char *secret,
			     const char *fmt)
{
	char **at;
	size_t n = kind->n + 1;

	at = (char **)map_at(r->arena, kind, secret);
	if (!*at)
		*at = arena_printf(r->arena, fmt, (unsigned)(n >> 8) & 0xff, (unsigned)n & 0xff);
	return *at;
}

static char *lower(struct arena *a, const char *s, size_t n)
{
	char *copy = arena_strndup(a, s, n);

	for (char *c = copy; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return copy;
}

static bool all_zero(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isalnum((unsigned char)s[i]) && s[i] != '0')
			return false;
	return true;
}

/* A secret at s of one of the shapes, its length, and what replaces it; 0 when there is none. */
static size_t shaped(struct redactor *r, const char *s, size_t left, const char **with)
{
	static const unsigned char uuid[] = { 8, 4, 4, 4, 12 }, mac[] = { 2, 2, 2, 2, 2, 2 },
				   guid[] = { 4, 4, 4, 4 }, gid[] = { 4, 4, 4, 4, 4, 4, 4, 4 };
	size_t n = hex_groups(s, left, uuid, sizeof(uuid), '-');

	if (n && (n == left || !word_char(s[n]))) {
		*with = pseudonym(r, &r->uuids, lower(r->arena, s, n),
				  "00000000-0000-4000-8000-00000000%02x%02x");
		return n;
	}
	n = hex_groups(s, left, gid, sizeof(gid), ':');
	/* An InfiniBand GID: the last half holds the port's GUID or an IPv4 address. */
	if (n && (n == left || (s[n] != ':' && !word_char(s[n])))) {
		if (all_zero(s, n))
			return 0;
		*with = pseudonym(r, &r->guids, lower(r->arena, s, n),
				  strncmp(s, "0000:0000:0000:0000:0000:ffff", 29) == 0
					  ? "0000:0000:0000:0000:0000:ffff:0a00:%02x%02x"
					  : "fe80:0000:0000:0000:0000:0000:0000:%02x%02x");
		return n;
	}
	n = hex_groups(s, left, guid, sizeof(guid), ':');
	if (n && (n == left || (s[n] != ':' && !word_char(s[n])))) {
		*with = pseudonym(r, &r->guids, lower(r->arena, s, n), "0000:0000:0000:%02x%02x");
		return n;
	}
	n = hex_groups(s, left, mac, sizeof(mac), ':');
	if (n && (n == left || (s[n] != ':' && !word_char(s[n])))) {
		if (all_zero(s, n) || strncasecmp(s, "ff:ff:ff:ff:ff:ff", 17) == 0)
			return 0;
		*with = pseudonym(r, &r->macs, lower(r->arena, s, n), "02:00:00:00:%02x:%02x");
		return n;
	}
	return 0;
}

/* A user's name after "/home/"; and the machine's own name. A short one is matched by case: a machine called igx is
 * still an IGX. */
static size_t named(struct redactor *r, const char *s, size_t left, const char **with)
{
	static const char home[] = "/home/";
	size_t n = r->nodename ? strlen(r->nodename) : 0, k = sizeof(home) - 1, len = 0;

	if (n >= 3 && n <= left && (n < 5 ? strncmp(s, r->nodename, n) : strncasecmp(s, r->nodename, n)) == 0 &&
	    (n == left || !word_char(s[n]))) {
		*with = "host";
		return n;
	}
	if (left <= k || strncmp(s, home, k) != 0)
		return 0;
	while (k + len < left && (word_char(s[k + len]) || s[k + len] == '-' || s[k + len] == '.'))
		len++;
	if (!len)
		return 0;
	*with = arena_printf(
		r->arena, "/home/%s",
		pseudonym(r, &r->words, arena_strndup(r->arena, s + k, len), "user%u%02u"));
	return k + len;
}

char *redact_text(struct redactor *r, const char *s, size_t *len)
{
	TEXT_AUTO out = { 0 };
	char *copy;

	/* Binary data have no words: a configuration space could hold any shape by chance. */
	if (memchr(s, '\0', *len))
		return arena_strndup(r->arena, s, *len);
	for (size_t i = 0; i < *len;) {
		const char *with = NULL;
		bool start = i == 0 || !(word_char(s[i - 1]) ||
					 (s[i - 1] == ':' && isxdigit((unsigned char)s[i])));
		size_t n = start || s[i] == '/' ? shaped(r, s + i, *len - i, &with) : 0;

		if (!n && (start || s[i] == '/'))
			n = named(r, s + i, *len - i, &with);
		if (n) {
			text_add(&out, with);
			i += n;
		} else {
			text_addc(&out, s[i++]);
		}
	}
	*len = out.len;
	copy = arena_strndup(r->arena, out.s ? out.s : "", out.len);
	return copy;
}

/* The same /24 keeps being one: 10.0.N.x with the host part kept. */
static size_t ipv4(struct redactor *r, const char *s, char *with, size_t cap)
{
	unsigned a, b, c, d;
	char **net;
	char key[32];
	int n = 0;

	if (sscanf(s, "%3u.%3u.%3u.%3u%n", &a, &b, &c, &d, &n) != 4 || a > 255 || b > 255 ||
	    c > 255 || d > 255 || a == 127)
		return 0;
	snprintf(key, sizeof(key), "%u.%u.%u", a, b, c);
	net = (char **)map_at(r->arena, &r->subnets, key);
	if (!*net)
		*net = arena_printf(r->arena, "10.0.%zu", r->subnets.n & 0xff);
	snprintf(with, cap, "%s.%u", *net, d);
	return (size_t)n;
}

/* An IPv6 address, however it is shortened; loopback, "::" and pseudonyms of GIDs stay. */
static size_t ipv6(struct redactor *r, const char *s, char *with, size_t cap)
{
	static const char pseudo_gid[] = "fe80:0000:0000:0000:0000:0000:0000:";
	char text[INET6_ADDRSTRLEN];
	struct in6_addr addr;
	size_t n = strspn(s, "0123456789abcdefABCDEF:");

	if (n < 2 || n >= sizeof(text) || word_char(s[n]) ||
	    strncmp(s, pseudo_gid, sizeof(pseudo_gid) - 1) == 0)
		return 0;
	memcpy(text, s, n);
	text[n] = '\0';
	if (inet_pton(AF_INET6, text, &addr) != 1 || IN6_IS_ADDR_LOOPBACK(&addr) ||
	    IN6_IS_ADDR_UNSPECIFIED(&addr))
		return 0;
	inet_ntop(AF_INET6, &addr, text, sizeof(text));
	snprintf(with, cap, "%s", pseudonym(r, &r->hosts, text, "fd00::%02x%02x"));
	return n;
}

char *redact_addresses(struct redactor *r, const char *s)
{
	TEXT_AUTO out = { 0 };
	size_t len = strlen(s);
	char *clean = redact_text(r, s, &len), with[64];

	for (const char *p = clean; *p;) {
		bool start = p == clean || !(word_char(p[-1]) || p[-1] == '.' || p[-1] == ':');
		size_t n = start && isdigit((unsigned char)*p) ? ipv4(r, p, with, sizeof(with)) : 0;

		if (!n && start && (isxdigit((unsigned char)*p) || *p == ':'))
			n = ipv6(r, p, with, sizeof(with));
		if (n) {
			text_add(&out, with);
			p += n;
		} else {
			text_addc(&out, *p++);
		}
	}
	return arena_strdup(r->arena, out.s ? out.s : "");
}

bool redact_is_secret_file(const char *path)
{
	static const char *const names[] = { "/serial",	   "_serial", "/serial_number",
					     "_asset_tag", "/wwid",   "/wwn",
					     "/nguid",	   "/eui",    "/vpd",
					     "/subsysnqn", "/hostid", "/machine-id",
					     "/boot_id" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_ends(path, names[i]))
			return true;
	return false;
}

void redact_config_space(unsigned char *config, size_t len)
{
	size_t at = 0x100;

	for (int hops = 0; hops < 480 && at >= 0x100 && at + 12 <= len; hops++) {
		unsigned header = config[at] | (unsigned)config[at + 1] << 8 |
				  (unsigned)config[at + 2] << 16 | (unsigned)config[at + 3] << 24;

		if (PCI_EXT_CAP_ID(header) == PCI_EXT_CAP_ID_DSN)
			memset(config + at + 4, 0, 8);
		at = PCI_EXT_CAP_NEXT(header);
	}
}
