/* SPDX-License-Identifier: Apache-2.0 */
/* Finding secrets by their shape, and giving each a pseudonym. */
#include <arpa/inet.h>
#include <ctype.h>
#include <fnmatch.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "machine/host/record.h"

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

/* The pseudonym of a secret: made from the number of secrets of its kind seen before it. fmt takes
 * that number as two bytes. */
static const char *redact_pseudonym(struct redactor *r, struct map *kind, const char *secret,
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

/*
 * 10.N.x.d: N is the number of the /16, x differs from other x in it as the real bytes differ, d is
 * kept. So nets of /16 and longer prefixes are the same net or not as they were. What names no
 * machine stays.
 */
static void ipv4_pseudonym(struct redactor *r, const unsigned b[4], char with[16])
{
	unsigned **net;
	char key[16];

	if (b[0] == 127 || b[0] == 0 || b[0] == 255) {
		snprintf(with, 16, "%u.%u.%u.%u", b[0] & 255, b[1] & 255, b[2] & 255, b[3] & 255);
		return;
	}
	snprintf(key, sizeof(key), "%u.%u", b[0], b[1]);
	net = (unsigned **)map_at(r->arena, &r->subnets, key);
	if (!*net) {
		*net = arena_array(r->arena, 2, sizeof(**net));
		(*net)[0] = (unsigned)r->subnets.n;
		(*net)[1] = b[2];
	}
	snprintf(with, 16, "10.%u.%u.%u", (*net)[0] & 255, ((*net)[1] ^ b[2]) & 255, b[3] & 255);
}

/* The number of a GUID, however it is written, as its last four digits. */
static const char *guid_number(struct redactor *r, const char *s, size_t n)
{
	char digits[17];
	size_t k = 0;

	for (size_t i = 0; i < n && k < 16; i++)
		if (isxdigit((unsigned char)s[i]))
			digits[k++] = (char)tolower((unsigned char)s[i]);
	digits[k] = '\0';
	return redact_pseudonym(r, &r->guids, digits, "%02x%02x");
}

/* An InfiniBand GID: 64 bits of subnet and the port's GUID, or an IPv4 address behind ffff. */
static const char *gid_pseudonym(struct redactor *r, const char *s)
{
	static const char mapped[] = "0000:0000:0000:0000:0000:ffff:";
	unsigned a, b, c, d;
	char ip[16];

	if (strncasecmp(s, mapped, sizeof(mapped) - 1) == 0 &&
	    sscanf(s + sizeof(mapped) - 1, "%2x%2x:%2x%2x", &a, &b, &c, &d) == 4) {
		ipv4_pseudonym(r, (unsigned[]){ a, b, c, d }, ip);
		sscanf(ip, "%u.%u.%u.%u", &a, &b, &c, &d);
		return arena_printf(r->arena, "%s%02x%02x:%02x%02x", mapped, a, b, c, d);
	}
	return arena_printf(r->arena, "%s:0200:0000:0000:%s",
			    strncasecmp(s, "fe80:", 5) == 0
				    ? "fe80:0000:0000:0000"
				    : redact_pseudonym(r, &r->subnets6, lower(r->arena, s, 19),
						       "fd00:0000:0000:%02x%02x"),
			    guid_number(r, s + 20, 19));
}

/* Bytes in a row with colons: a MAC, an EUI-64, an address of IP over InfiniBand (4 bytes, subnet,
 * GUID). */
static const char *bytes_pseudonym(struct redactor *r, const char *s, size_t bytes)
{
	const char *end = NULL;

	if (bytes == 6)
		return redact_pseudonym(r, &r->macs, lower(r->arena, s, 17),
					"02:00:00:00:%02x:%02x");
	end = guid_number(r, s + (bytes - 8) * 3, 23);
	return arena_printf(r->arena, "%s02:00:00:00:00:00:%.2s:%.2s",
			    bytes == 20 ? "00:00:00:00:fe:80:00:00:00:00:00:00:" : "", end,
			    end + 2);
}

/* The name that an interface has from its address ("enx3c6d66123456"). */
static size_t named_by_mac(struct redactor *r, const char *s, size_t left, const char **with)
{
	static const unsigned char digits[] = { 12 };
	char mac[18];
	const char *p;

	if (left < 15 ||
	    (memcmp(s, "enx", 3) != 0 && memcmp(s, "wlx", 3) != 0 && memcmp(s, "wwx", 3) != 0) ||
	    !hex_groups(s + 3, left - 3, digits, 1, ':') ||
	    (left > 15 && isxdigit((unsigned char)s[15])))
		return 0;
	for (size_t i = 0; i < 6; i++)
		snprintf(mac + i * 3, sizeof(mac) - i * 3, "%.2s%s", s + 3 + i * 2,
			 i < 5 ? ":" : "");
	p = bytes_pseudonym(r, mac, 6);
	*with = arena_printf(r->arena, "%.3s%.2s%.2s%.2s%.2s%.2s%.2s", s, p, p + 3, p + 6, p + 9,
			     p + 12, p + 15);
	return 15;
}

static bool ends(const char *s, size_t left, size_t n)
{
	return n && (n == left || (s[n] != ':' && !word_char(s[n])));
}

/* A secret at s of one of the shapes, its length, and what replaces it; 0 when there is none. */
static size_t shaped(struct redactor *r, const char *s, size_t left, const char **with)
{
	static const unsigned char uuid[] = { 8, 4, 4, 4, 12 }, guid[] = { 4, 4, 4, 4 },
				   gid[] = { 4, 4, 4, 4, 4, 4, 4, 4 },
				   bytes[] = { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
					       2, 2, 2, 2, 2, 2, 2, 2, 2, 2 };
	static const size_t counts[] = { 20, 8, 6 };
	size_t n = hex_groups(s, left, uuid, sizeof(uuid), '-');

	if (n && (n == left || !word_char(s[n]))) {
		*with = redact_pseudonym(r, &r->uuids, lower(r->arena, s, n),
					 "00000000-0000-4000-8000-00000000%02x%02x");
		return n;
	}
	n = hex_groups(s, left, gid, sizeof(gid), ':');
	if (ends(s, left, n)) {
		*with = all_zero(s, n) ? NULL : gid_pseudonym(r, s);
		return *with ? n : 0;
	}
	n = hex_groups(s, left, guid, sizeof(guid), ':');
	if (ends(s, left, n)) {
		*with = all_zero(s, n)
				? NULL
				: arena_printf(r->arena, "0200:0000:0000:%s", guid_number(r, s, n));
		return *with ? n : 0;
	}
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		n = hex_groups(s, left, bytes, counts[i], ':');
		if (!ends(s, left, n))
			continue;
		if (all_zero(s, n) || strncasecmp(s, "ff:ff:ff:ff:ff:ff", 17) == 0)
			return 0;
		*with = bytes_pseudonym(r, s, counts[i]);
		return n;
	}
	return named_by_mac(r, s, left, with);
}

/* A serial number that stands in a text as it stands in its own file: in names below
 * /dev/disk/by-id, of pools. */
static size_t known_serial(struct redactor *r, const char *s, size_t left, const char **with)
{
	char token[64];
	size_t n = 0;

	while (n < left && n < sizeof(token) - 1 && isalnum((unsigned char)s[n]))
		n++;
	if (!r->serials.n || n < REDACT_SERIAL_MIN || (n < left && isalnum((unsigned char)s[n])))
		return 0;
	memcpy(token, s, n);
	token[n] = '\0';
	*with = map_get(&r->serials, token);
	return *with ? n : 0;
}

/* The length of the machine's own name at s, in full or without its domain. A short one is matched
 * by case: a machine called igx is still an IGX. */
static size_t named_host(const struct redactor *r, const char *s, size_t left)
{
	const char *nodename = r->nodename;
	size_t full = strlen(nodename), shorter = strcspn(nodename, ".");

	for (size_t n = full;; n = shorter) {
		if (n >= 3 && n <= left &&
		    (n < 5 || r->is_word ? strncmp(s, nodename, n) : strncasecmp(s, nodename, n)) ==
			    0 &&
		    (n == left || !word_char(s[n])))
			return n;
		if (n == shorter)
			return 0;
	}
}

/* A user's name after "/home/"; and the machine's own name, unless it is inside a longer one: on a
 * machine called spark "nvidia-spark-mlnx.service" is no secret. */
static size_t redact_named(struct redactor *r, const char *s, size_t left, bool joined,
			   const char **with)
{
	static const char home[] = "/home/";
	size_t k = sizeof(home) - 1, len = 0,
	       n = r->nodename && (!r->is_word || r->named_here) ? named_host(r, s, left) : 0;

	if (n && !(joined && n < left && s[n] == '-')) {
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
		redact_pseudonym(r, &r->words, arena_strndup(r->arena, s + k, len), "user%u%02u"));
	return k + len;
}

char *redact_text(struct redactor *r, const char *s, size_t *len)
{
	TEXT_AUTO out = { 0 };

	/* Binary data have no words: a configuration space could hold any shape by chance. */
	if (memchr(s, '\0', *len))
		return arena_strndup(r->arena, s, *len);
	for (size_t i = 0; i < *len;) {
		const char *with = NULL;
		bool start = i == 0 || !(word_char(s[i - 1]) ||
					 (s[i - 1] == ':' && isxdigit((unsigned char)s[i])));
		size_t n = start || s[i] == '/' ? shaped(r, s + i, *len - i, &with) : 0;

		if (!n && (i == 0 || !isalnum((unsigned char)s[i - 1])))
			n = known_serial(r, s + i, *len - i, &with);
		if (!n && (start || s[i] == '/'))
			n = redact_named(r, s + i, *len - i, i && s[i - 1] == '-', &with);
		if (n) {
			text_add(&out, with);
			i += n;
		} else {
			text_addc(&out, s[i++]);
		}
	}
	*len = out.len;
	return arena_strndup(r->arena, out.s ? out.s : "", out.len);
}

static size_t ipv4(struct redactor *r, const char *s, char with[16])
{
	unsigned b[4];
	int n = 0;

	if (sscanf(s, "%3u.%3u.%3u.%3u%n", &b[0], &b[1], &b[2], &b[3], &n) != 4 ||
	    (s[n] == '.' && isdigit((unsigned char)s[n + 1])))
		return 0;
	for (int i = 0; i < 4; i++)
		if (b[i] > 255)
			return 0;
	ipv4_pseudonym(r, b, with);
	return (size_t)n;
}

/* An IPv6 address, however it is shortened: the same /64 keeps being one. Loopback, "::", multicast
 * and pseudonyms of GIDs stay. */
static size_t ipv6(struct redactor *r, const char *s, char *with, size_t cap)
{
	char text[INET6_ADDRSTRLEN], net[24];
	struct in6_addr addr;
	size_t n = strspn(s, "0123456789abcdefABCDEF:");

	if (n < 2 || n >= sizeof(text) || word_char(s[n]) ||
	    (n == 39 && strncmp(s + 19, ":0200:0000:0000:", 16) == 0))
		return 0;
	memcpy(text, s, n);
	text[n] = '\0';
	if (inet_pton(AF_INET6, text, &addr) != 1 || IN6_IS_ADDR_LOOPBACK(&addr) ||
	    IN6_IS_ADDR_UNSPECIFIED(&addr) || IN6_IS_ADDR_MULTICAST(&addr))
		return 0;
	inet_ntop(AF_INET6, &addr, text, sizeof(text));
	snprintf(net, sizeof(net), "%02x%02x:%02x%02x:%02x%02x:%02x%02x", addr.s6_addr[0],
		 addr.s6_addr[1], addr.s6_addr[2], addr.s6_addr[3], addr.s6_addr[4],
		 addr.s6_addr[5], addr.s6_addr[6], addr.s6_addr[7]);
	snprintf(with, cap, "%s::%s",
		 IN6_IS_ADDR_LINKLOCAL(&addr)
			 ? "fe80"
			 : redact_pseudonym(r, &r->subnets6, net, "fd00:0:0:%02x%02x"),
		 redact_pseudonym(r, &r->hosts, text, "%02x%02x"));
	return n;
}

char *redact_addresses(struct redactor *r, const char *s)
{
	TEXT_AUTO out = { 0 };
	size_t len = strlen(s);
	char *clean = redact_text(r, s, &len), with[64];

	for (const char *p = clean; *p;) {
		bool start = p == clean || !(word_char(p[-1]) || p[-1] == '.' || p[-1] == ':');
		size_t n = start && isdigit((unsigned char)*p) ? ipv4(r, p, with) : 0;

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

/* Telling names of machines from words, by what else is called so. */

/* Whether a part of the path is the name. */
static bool has_part(const char *path, const char *name, size_t n)
{
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
		if (strncmp(slash + 1, name, n) == 0 && (!slash[1 + n] || slash[1 + n] == '/'))
			return true;
	return false;
}

/* Whether it stands in the text between characters that are none of a name, in whatever case. */
static bool redact_has_word(const struct recorded *p, const char *name, size_t n)
{
	for (size_t i = 0; p->data && i + n <= p->len; i++)
		if (strncasecmp(p->data + i, name, n) == 0 &&
		    (i == 0 || !isalnum((unsigned char)p->data[i - 1])) &&
		    (i + n == p->len || !isalnum((unsigned char)p->data[i + n])))
			return true;
	return false;
}

/* What the machine is, not who. */
static bool names_product(const char *path)
{
	return strcmp(path, "/proc/modules") == 0 ||
	       fnmatch("/sys/*/dmi/id/*_name", path, FNM_NOESCAPE) == 0 ||
	       fnmatch("/sys/*/dmi/id/*_family", path, FNM_NOESCAPE) == 0 ||
	       fnmatch("/sys/firmware/devicetree/base/model", path, FNM_NOESCAPE) == 0;
}

bool redact_host_is_word(const char *nodename, const struct map *places)
{
	size_t n = strcspn(nodename, ".");

	for (size_t i = 0; n && i < places->cap; i++) {
		const char *path = places->slots[i].key;

		if (!path)
			continue;
		if ((str_starts(path, "/sys/") && has_part(path, nodename, n)) ||
		    (names_product(path) && redact_has_word(places->slots[i].value, nodename, n)))
			return true;
	}
	return false;
}

bool redact_names_host(const char *path)
{
	/* InfiniBand: "HOST mlx5_0". Volumes: a group or an array called by the machine. */
	static const char patterns[] =
		"/etc/hostname\0/etc/hosts\0/etc/hosts.*\0/etc/fstab\0/etc/machine-info\0"
		"/etc/mdadm/*\0/etc/netplan/*\0/etc/NetworkManager/*\0/etc/resolv.conf\0"
		"/etc/slurm*\0/etc/ssh/*\0/etc/systemd/network/*\0/home/*\0*/cmdline\0*/mounts\0"
		"*/mountinfo\0/proc/sys/kernel/hostname\0/proc/sys/kernel/domainname\0"
		"/proc/spl/kstat/zfs/*\0/dev/mapper/*\0/sys/*/node_desc\0/sys/*/dm/name\0"
		"/sys/*/dm/uuid\0/sys/*/md/*\0";

	for (const char *p = patterns; *p; p += strlen(p) + 1)
		if (fnmatch(p, path, FNM_NOESCAPE) == 0)
			return true;
	return false;
}

/* Serial numbers: in files of their own, in answers, and in PCI configuration space. */

/* What vendors write who give no number. */
static bool no_number(const char *s)
{
	static const char texts[] =
		"0\0none\0n/a\0na\0unknown\0default string\0default\0not specified\0not available\0"
		"not applicable\0not provided\0to be filled by o.e.m.\0system serial number\0"
		"chassis serial number\0base board serial number\0asset tag\0no asset tag\0";

	for (const char *t = texts; *t; t += strlen(t) + 1)
		if (strcasecmp(s, t) == 0)
			return true;
	return !*s;
}

const char *redact_serial(struct redactor *r, const char *s, size_t len)
{
	size_t n, digits = 0, letters = 0;
	const char *text = str_trim(s, strnlen(s, len), &n),
		   *number = arena_strndup(r->arena, text, n);
	bool word;

	for (size_t i = 0; i < n; i++) {
		digits += isdigit((unsigned char)number[i]) != 0;
		letters += isalpha((unsigned char)number[i]) != 0;
	}
	/* A word that could be a plain number or name elsewhere is not looked for there. */
	word = digits + letters == n && n >= REDACT_SERIAL_MIN &&
	       (digits > 9 || (digits && letters));
	if (no_number(number))
		return number;
	return redact_pseudonym(r, word ? &r->serials : &r->odd_serials, number,
				word ? "SERIAL%02X%02X" : "SERIAL-%02X%02X");
}

bool redact_is_secret_file(const char *path)
{
	static const char *const names[] = { "/serial",	   "_serial", "/serial_number",
					     "_asset_tag", "/wwid",   "/wwn",
					     "/nguid",	   "/eui",    "/vpd",
					     "/subsysnqn", "/hostid", "/machine-id" };

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
