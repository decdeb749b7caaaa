/* SPDX-License-Identifier: Apache-2.0 */
/* One request to the kernel for each address that an interface gets or loses. Knows nothing of who
 * wants that. */
#include "machine/host/interface.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"

enum { ADDRESSES_MAX = 64, WORD_MAX = 24, BITS = 32, ANSWER_BYTES = 4096, NO_BROADCAST = 31 };
enum { ERRNO_MAX = 4095 }; /* the largest of the kernel's */

struct address {
	struct in_addr ip;
	unsigned prefix;
};

/* An address with its attributes, as the kernel takes it. */
struct request {
	struct nlmsghdr h;
	struct ifaddrmsg info;
	struct {
		struct rtattr head;
		struct in_addr ip;
	} attributes[3];
};

static int parse_word(const char *word, size_t n, struct address *out)
{
	char text[WORD_MAX], *slash;
	long long prefix;

	if (n >= sizeof(text))
		return -EINVAL;
	memcpy(text, word, n);
	text[n] = '\0';
	slash = strchr(text, '/');
	if (!slash)
		return -EINVAL;
	*slash = '\0';
	if (inet_pton(AF_INET, text, &out->ip) != 1 || parse_i64(slash + 1, &prefix) ||
	    prefix < 1 || prefix > BITS)
		return -EINVAL;
	out->prefix = (unsigned)prefix;
	return 0;
}

/* How many there are, or -EINVAL. */
static int parse_list(const char *list, struct address out[ADDRESSES_MAX])
{
	int n = 0;

	for (const char *p = list + strspn(list, " "); *p; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");

		if (n == ADDRESSES_MAX || parse_word(p, len, &out[n++]))
			return -EINVAL;
		p += len;
	}
	return n;
}

static bool has(const struct address *list, int n, const struct address *x)
{
	for (int i = 0; i < n; i++)
		if (list[i].ip.s_addr == x->ip.s_addr && list[i].prefix == x->prefix)
			return true;
	return false;
}

static struct request request_of(unsigned index, const struct address *x, bool add)
{
	const unsigned short types[] = { IFA_LOCAL, IFA_ADDRESS, IFA_BROADCAST };
	const unsigned host_bits = x->prefix < BITS ? 0xffffffffU >> x->prefix : 0;
	struct request q = {
		.h = { .nlmsg_type = add ? RTM_NEWADDR : RTM_DELADDR,
		       .nlmsg_flags = (__u16)(NLM_F_REQUEST | NLM_F_ACK |
					      (add ? NLM_F_CREATE | NLM_F_EXCL : 0)) },
		.info = { .ifa_family = AF_INET,
			  .ifa_prefixlen = (unsigned char)x->prefix,
			  .ifa_scope = RT_SCOPE_UNIVERSE,
			  .ifa_index = index },
	};
	unsigned n = add && x->prefix < NO_BROADCAST ? 3 : 2;

	for (unsigned i = 0; i < n; i++) {
		q.attributes[i].head.rta_type = types[i];
		q.attributes[i].head.rta_len = RTA_LENGTH(sizeof(struct in_addr));
		q.attributes[i].ip = x->ip;
	}
	q.attributes[2].ip.s_addr |= htonl(host_bits);
	q.h.nlmsg_len = (__u32)(NLMSG_LENGTH(sizeof(q.info)) + n * sizeof(q.attributes[0]));
	return q;
}

int interface_error(const struct nlmsghdr *h)
{
	int error = 0;

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(error)))
		return h->nlmsg_type == NLMSG_DONE ? 0 : -EPROTO;
	memcpy(&error, NLMSG_DATA(h), sizeof(error));
	return error > 0 || error < -ERRNO_MAX ? -EPROTO : error;
}

/* Until the kernel has answered; 0 or what it says. */
static int transact(int fd, const struct nlmsghdr *q)
{
	_Alignas(struct nlmsghdr) char buf[ANSWER_BYTES];
	const struct nlmsghdr *h = (const struct nlmsghdr *)buf;
	ssize_t n;

	if (send(fd, q, q->nlmsg_len, 0) < 0)
		return -errno;
	do
		n = recv(fd, buf, sizeof(buf), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if ((size_t)n < NLMSG_LENGTH(sizeof(struct nlmsgerr)) || h->nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return interface_error(h);
}

/* All of list that the other one has not. Gone already, or there already, is as good. */
static int each_missing(int fd, unsigned index, const struct address *list, int n,
			const struct address *other, int n_other, bool add)
{
	int r = 0;

	for (int i = 0; i < n && r == 0; i++) {
		struct request q = request_of(index, &list[i], add);

		if (has(other, n_other, &list[i]))
			continue;
		r = transact(fd, &q.h);
		if (r == (add ? -EEXIST : -EADDRNOTAVAIL))
			r = 0;
	}
	return r;
}

struct lists {
	struct address have[ADDRESSES_MAX], want[ADDRESSES_MAX];
	int n_have, n_want;
};

static bool is_to_go(const struct lists *l, const struct address *x)
{
	return has(l->have, l->n_have, x) && !has(l->want, l->n_want, x);
}

static bool is_among(const struct interface_messages *m, const struct address *x)
{
	struct address y;

	for (const struct nlmsghdr *h = interface_message(m, NULL, &y.ip.s_addr, &y.prefix); h;
	     h = interface_message(m, h, &y.ip.s_addr, &y.prefix))
		if (has(x, 1, &y))
			return true;
	return false;
}

/* As the kernel told it: with its label, scope, flags and lifetimes. */
static int tell_back(int fd, const struct nlmsghdr *h)
{
	TEXT_AUTO copy = { 0 };
	struct nlmsghdr *q;
	int r;

	text_addn(&copy, (const char *)h, h->nlmsg_len);
	q = (void *)copy.s;
	q->nlmsg_type = RTM_NEWADDR;
	q->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
	q->nlmsg_seq = q->nlmsg_pid = 0;
	r = transact(fd, q);
	return r == -EEXIST ? 0 : r;
}

/* All are tried; the first error. */
static int put_back(int fd, const struct lists *l, const struct interface_messages *before,
		    const struct interface_messages *after)
{
	struct address x;
	int r = 0;

	for (const struct nlmsghdr *h = interface_message(before, NULL, &x.ip.s_addr, &x.prefix); h;
	     h = interface_message(before, h, &x.ip.s_addr, &x.prefix)) {
		int code = is_to_go(l, &x) || is_among(after, &x) ? 0 : tell_back(fd, h);

		r = r ? r : code;
	}
	return r;
}

/*
 * The first address of a network takes the others of it along when it goes, unless the interface is
 * told to promote them (promote_secondaries, which is off by default). They are somebody's.
 */
static int take_away(int fd, unsigned index, const struct lists *l)
{
	struct interface_messages before, after = { 0 };
	int i = 0, r, back;

	while (i < l->n_have && !is_to_go(l, &l->have[i]))
		i++;
	if (i == l->n_have)
		return 0;
	r = interface_messages(fd, index, &before);
	if (r == 0) {
		r = each_missing(fd, index, l->have, l->n_have, l->want, l->n_want, false);
		back = interface_messages(fd, index, &after);
		if (back == 0)
			back = put_back(fd, l, &before, &after);
		r = r ? r : back;
	}
	text_free(&before.bytes);
	text_free(&after.bytes);
	return r;
}

int interface_set_ipv4(const char *name, const char *now, const char *wanted)
{
	struct lists l;
	int fd, r;
	struct timeval limit = { .tv_sec = 2 };
	unsigned index = if_nametoindex(name);

	l.n_have = parse_list(now, l.have);
	l.n_want = parse_list(wanted, l.want);
	if (l.n_have < 0 || l.n_want < 0)
		return -EINVAL;
	if (!index)
		return -ENODEV;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	r = take_away(fd, index, &l);
	if (r == 0)
		r = each_missing(fd, index, l.want, l.n_want, l.have, l.n_have, true);
	close(fd);
	return r;
}
