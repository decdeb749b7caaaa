/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "preflight" {}: whose program this is, what time it has, which networks its addresses and routes
 * use, the public keys of its user and of its ssh server. Public halves alone: no private key is
 * ever opened.
 */
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "base/utf8.h"
#include "many/cluster/address.h"
#include "many/cluster/node_configure.h"
#include "many/cluster/plan.h"

enum { KEY_FILE_MAX = 16384 };

/* "TYPE BASE64" of a line "TYPE BASE64 COMMENT"; NULL: no key. */
static const char *key_of(struct arena *a, const char *text)
{
	size_t n = strcspn(text, " "), m;
	const char *key;

	if (!text[n])
		return NULL;
	m = strcspn(text + n + 1, " \n\r");
	key = arena_strndup(a, text, n + 1 + m);
	return wiring_host_key_sound(key) ? key : NULL;
}

static const char *read_key(struct arena *a, struct host *h, const char *path)
{
	char *text;

	return host_read(h, path, KEY_FILE_MAX, a, &text, NULL) ? NULL : key_of(a, text);
}

static const char *digest_of(struct arena *a, const char *key)
{
	uint8_t d[crypto_hash_sha256_BYTES];
	char hex[2 * sizeof(d) + 1];

	crypto_hash_sha256(d, (const uint8_t *)key, strlen(key));
	return arena_strdup(a, sodium_bin2hex(hex, sizeof(hex), d, sizeof(d)));
}

static json_t *user_keys(struct arena *a, struct host *h, const char *home)
{
	const char *dir = arena_printf(a, "%s/.ssh", home);
	json_t *out = json_array();
	char **names;
	size_t n;

	if (host_list(h, dir, a, &names, &n))
		return out;
	for (size_t i = 0; i < n && json_array_size(out) < WIRING_KEYS_MAX; i++) {
		const char *key = str_ends(names[i], ".pub")
					  ? read_key(a, h, arena_printf(a, "%s/%s", dir, names[i]))
					  : NULL;

		/* A public key without its other half here is somebody else's. */
		if (key && host_exists(h, arena_printf(a, "%s/%.*s", dir,
						       (int)(strlen(names[i]) - strlen(".pub")),
						       names[i])))
			json_array_append_new(out, json_pack("{s:s, s:s}", "file",
							     utf8_clean(a, names[i]), "digest",
							     digest_of(a, key)));
	}
	return out;
}

static json_t *host_keys(struct arena *a, struct host *h)
{
	static const char dir[] = "/etc/ssh", begin[] = "ssh_host_", end[] = "_key.pub";
	json_t *out = json_array();
	char **names;
	size_t n;

	if (host_list(h, dir, a, &names, &n))
		return out;
	for (size_t i = 0; i < n && json_array_size(out) < WIRING_KEYS_MAX; i++) {
		const char *key = str_starts(names[i], begin) && str_ends(names[i], end)
					  ? read_key(a, h, arena_printf(a, "%s/%s", dir, names[i]))
					  : NULL;

		if (key)
			json_array_append_new(out, json_string(key));
	}
	return out;
}

static void add_network(struct arena *a, json_t *out, struct ipv4 x)
{
	if (x.bits && !ipv4_local(x) && json_array_size(out) < WIRING_NETWORKS_MAX)
		json_array_append_new(out, json_string(ipv4_text(a, ipv4_network(x))));
}

static unsigned bits_of(unsigned long mask)
{
	unsigned n = 0;

	for (; mask; mask &= mask - 1)
		n++;
	return n;
}

/* The kernel writes addresses there as they lie in memory. */
static uint32_t in_order(unsigned long x)
{
	unsigned char b[4];
	uint32_t v = (uint32_t)x;

	memcpy(b, &v, sizeof(b));
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static json_t *networks(struct arena *a, struct host *h, const struct machine *m)
{
	json_t *out = json_array();
	char *text, *save = NULL, *words;

	LIST_FOR_EACH (struct nic, n, &m->net.nics) {
		words = arena_strdup(a, fact_text(&n->ipv4, ""));
		for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
			struct ipv4 x;

			if (ipv4_parse(w, &x) == 0)
				add_network(a, out, x);
		}
	}
	if (host_read(h, "/proc/net/route", HOST_READ_MAX, a, &text, NULL))
		return out;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long to, mask;

		if (sscanf(line, "%*s %lx %*x %*x %*d %*d %*d %lx", &to, &mask) == 2)
			add_network(a, out,
				    (struct ipv4){ .ip = in_order(to), .bits = bits_of(mask) });
	}
	return out;
}

int answer_preflight(struct ask_node *n, void **state, const json_t *with, json_t **out,
		     struct err *e)
{
	const struct machine *m = n->look(n, false);
	const char *sudo = getenv("SUDO_USER");
	/* Whoever logged in: whose keys, and whose name launchers would use. */
	const struct passwd *pw = sudo && *sudo ? getpwnam(sudo) : getpwuid(geteuid());
	struct timespec now;

	(void)state;
	(void)with;
	(void)e;
	clock_gettime(CLOCK_REALTIME, &now);
	*out = json_pack("{s:s, s:I, s:I, s:s, s:o, s:o, s:o}", "user", pw ? pw->pw_name : "?",
			 "euid", (json_int_t)geteuid(), "time_ms",
			 (json_int_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, "version",
			 GPUTUNE_VERSION, "networks", networks(n->arena, n->h, m), "keys",
			 user_keys(n->arena, n->h, pw ? pw->pw_dir : "/nonexistent"), "host_keys",
			 host_keys(n->arena, n->h));
	return *out ? 0 : -ENOMEM;
}
