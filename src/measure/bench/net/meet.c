/* SPDX-License-Identifier: Apache-2.0 */
/* An address and a secret, by PMIx or from files. */
#include "measure/bench/net/meet.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/host/libraries.h"
#include "machine/host/pmix.h"

enum { SECRET = 32, GET_S = 3, TRY_MS = 2000 };

static const char key[] = "gputune.meet";

static void secret_make(char hex[2 * SECRET + 1])
{
	uint8_t bits[SECRET];

	randombytes_buf(bits, sizeof(bits));
	sodium_bin2hex(hex, 2 * SECRET + 1, bits, sizeof(bits));
	explicit_bzero(bits, sizeof(bits));
}

static void token_of(struct token *out, const char *secret, size_t n)
{
	memcpy(out->secret, secret, n);
	out->n = n;
}

/* --- by PMIx ---------------------------------------------------------------------------------- */

/* At every address: who does not know the secret is not let in. One that listens without an address
 * gets a port at all of them. */
static int listen_any(struct net_address *at)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	at->len = sizeof(at->ss);
	if (fd >= 0 && listen(fd, 256) == 0 &&
	    getsockname(fd, (struct sockaddr *)&at->ss, &at->len) == 0)
		return fd;
	r = -errno;
	if (fd >= 0)
		close(fd);
	return r;
}

/* "10.0.0.2:40123 [2001:db8::2]:40123": all of this machine that others may reach. */
static void add_addresses(struct text *t, const struct net_address *listening)
{
	struct ifaddrs *all = NULL;
	size_t before = t->len;

	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		bool four = i->ifa_addr && i->ifa_addr->sa_family == AF_INET,
		     six = i->ifa_addr && i->ifa_addr->sa_family == AF_INET6 &&
			   listening->ss.ss_family == AF_INET6;
		struct net_address a = { .len = four ? sizeof(struct sockaddr_in)
						     : sizeof(struct sockaddr_in6) };

		if (!four && !six)
			continue;
		memcpy(&a.ss, i->ifa_addr, a.len);
		net_address_port(&a, net_port(listening));
		net_address_name(&a);
		if (!net_address_loopback(&a) && !strchr(a.text, '%') &&
		    t->len + sizeof(a.text) < PMIX_BYTES_MAX)
			text_printf(t, " %s", a.text);
	}
	freeifaddrs(all);
	if (t->len == before)
		text_printf(t, " 127.0.0.1:%u", net_port(listening));
}

static int meet_lead(struct meet *out, struct err *e)
{
	char secret[2 * SECRET + 1];
	TEXT_AUTO t = { 0 };
	int r = listen_any(&out->address);

	if (r < 0)
		return err_set(e, r, "cannot listen: %s", strerror(-r));
	out->listener = r;
	secret_make(secret);
	token_of(&out->token, secret, strlen(secret));
	text_add(&t, secret);
	add_addresses(&t, &out->address);
	r = pmix_put(key, t.s);
	explicit_bzero(t.s, t.len);
	explicit_bzero(secret, sizeof(secret));
	return r ? err_set(e, r, "PMIx does not accept the address of rank 0") : 0;
}

/* The first of them that answers. */
static int meet_follow(double limit_s, struct meet *out, struct err *e)
{
	struct net_wait w = { TRY_MS, NULL };
	char said[PMIX_BYTES_MAX], *at = NULL, *one;
	long long end = net_now_ms() + (long long)(1e3 * limit_s);
	int r, fd = -EHOSTUNREACH;

	/* A server may lose one that it had to ask another server for. */
	while ((r = pmix_get(0, key, limit_s < GET_S ? 1 : GET_S, said)) != 0 && net_now_ms() < end)
		nanosleep(&(struct timespec){ 0, 100 * 1000000 }, NULL);
	if (r)
		return err_set(e, r, "PMIx: no address of rank 0 within %.0f s", limit_s);
	one = strtok_r(said, " ", &at);
	if (one && strlen(one) == 2 * SECRET)
		token_of(&out->token, one, 2 * SECRET);
	for (one = strtok_r(NULL, " ", &at); one && fd < 0; one = strtok_r(NULL, " ", &at))
		if (net_address_parse(one, true, &out->address, e) == 0)
			fd = net_dial(&out->address, 0, &w);
	explicit_bzero(said, sizeof(said));
	if (fd < 0 || !out->token.n)
		return err_set(e, fd < 0 ? fd : -EBADMSG, "no address of rank 0 answers");
	close(fd);
	return 0;
}

/* --- by files --------------------------------------------------------------------------------- */

/* The user's own secret, for machines that share the home folder; made by the first that looks. */
static int own_token(struct token *out, struct err *e)
{
	const char *home = getenv("HOME");
	char hex[2 * SECRET + 1];
	TEXT_AUTO path = { 0 };
	int fd, r = 0;

	if (!home || home[0] != '/')
		return err_set(e, -EINVAL, "ranks on several machines require --token FILE");
	text_printf(&path, "%s/.gputune-ranks.token", home);
	if (access(path.s, F_OK)) {
		TEXT_AUTO mine = { 0 };

		secret_make(hex);
		text_printf(&mine, "%s.%.8s%d", path.s, hex, (int)getpid());
		fd = open(mine.s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		/* A link is made whole or not at all; who comes second takes the first one's. */
		if (fd >= 0 && write(fd, hex, sizeof(hex) - 1) == (ssize_t)sizeof(hex) - 1 &&
		    link(mine.s, path.s) && errno != EEXIST)
			r = err_set(e, -errno, "%s: %s", path.s, strerror(errno));
		if (fd >= 0) {
			close(fd);
			unlink(mine.s);
		}
	}
	r = r ? r : token_load(path.s, out, e);
	if (r)
		err_hint(e, "--token FILE: a secret that only the ranks can read");
	return r;
}

int meet_find(const struct ranks *r, const char *token_file, double limit_s, struct meet *out,
	      struct err *e)
{
	struct pmix_place at;
	int code = library_open(LIBRARY_SODIUM, e);

	*out = (struct meet){ 0 };
	if (code)
		return code;
	if (r->pmix && !token_file && pmix_join(&at) == 0 && at.rank == r->rank &&
	    at.ranks == r->ranks)
		return r->rank ? meet_follow(limit_s, out, e) : meet_lead(out, e);
	if (!r->meet) {
		err_set(e, -EINVAL, "%s: address of rank 0 missing", r->by);
		err_hint(e, "MASTER_ADDR in their environment, or --peer HOST[:PORT]; --ranks 1: "
			    "only this process");
		return -EINVAL;
	}
	code = net_address_parse(r->meet, false, &out->address, e);
	if (code == 0)
		code = token_file ? token_load(token_file, &out->token, e)
				  : own_token(&out->token, e);
	return code;
}
