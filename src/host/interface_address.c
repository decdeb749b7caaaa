/* SPDX-License-Identifier: Apache-2.0 */
/* One request to the kernel for each address that an interface gets or loses. Knows nothing of who
 * wants that. */
#include "host/interface.h"

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

/* Until the kernel has answered; 0 or what it says. */
static int transact(int fd, const struct request *q)
{
	_Alignas(struct nlmsghdr) char buf[ANSWER_BYTES];
	const struct nlmsghdr *h = (const struct nlmsghdr *)buf;
	ssize_t n;

	if (send(fd, q, q->h.nlmsg_len, 0) < 0)
		return -errno;
	do
		n = recv(fd, buf, sizeof(buf), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if ((size_t)n < NLMSG_LENGTH(sizeof(struct nlmsgerr)) || h->nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return ((const struct nlmsgerr *)NLMSG_DATA(h))->error;
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
		r = transact(fd, &q);
		if (r == (add ? -EEXIST : -EADDRNOTAVAIL))
			r = 0;
	}
	return r;
}

int interface_set_ipv4(const char *name, const char *now, const char *wanted)
{
	struct address have[ADDRESSES_MAX], want[ADDRESSES_MAX];
	int n_have = parse_list(now, have), n_want = parse_list(wanted, want), fd, r;
	struct timeval limit = { .tv_sec = 2 };
	unsigned index = if_nametoindex(name);

	if (n_have < 0 || n_want < 0)
		return -EINVAL;
	if (!index)
		return -ENODEV;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	r = each_missing(fd, index, have, n_have, want, n_want, false);
	if (r == 0)
		r = each_missing(fd, index, want, n_want, have, n_have, true);
	close(fd);
	return r;
}
