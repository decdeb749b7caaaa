/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and largest MTU of network interfaces by rtnetlink: one dump of links and one of
 * addresses a run. */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ipv4.h"
#include "machine/host/ask.h"
#include "machine/host/interface.h"
#include "machine/host/libraries.h"

struct link {
	struct link *next;
	int index;
	char name[IFNAMSIZ];
	long long max_mtu; /* -1: the kernel did not say */
	struct text ipv4;
};

struct interfaces {
	struct link *links;
	int error; /* negative errno of the dumps */
};

static struct link *by_index(struct interfaces *s, int index)
{
	struct link *l = s->links;

	while (l && l->index != index)
		l = l->next;
	return l;
}

bool netlink_ok(const struct nlmsghdr *h, int left)
{
	return mnl_nlmsg_ok(h, left) && h->nlmsg_len <= (unsigned)left;
}

static int interface_on_link_attribute(const struct nlattr *a, void *to)
{
	struct link *l = to;

	if (mnl_attr_get_type(a) == IFLA_IFNAME)
		snprintf(l->name, sizeof(l->name), "%.*s", mnl_attr_get_payload_len(a),
			 (const char *)mnl_attr_get_payload(a));
	if (mnl_attr_get_type(a) == IFLA_MAX_MTU && mnl_attr_get_payload_len(a) >= sizeof(__u32))
		l->max_mtu = mnl_attr_get_u32(a);
	return MNL_CB_OK;
}

static void on_link(void *to, const struct nlmsghdr *h)
{
	struct interfaces *s = to;
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(h);
	struct link *l =
		mnl_nlmsg_get_payload_len(h) < sizeof(*info) ? NULL : calloc(1, sizeof(*l));

	if (!l)
		return;
	l->index = info->ifi_index;
	l->max_mtu = -1;
	mnl_attr_parse(h, sizeof(*info), interface_on_link_attribute, l);
	l->next = s->links;
	s->links = l;
}

static int on_address_attribute(const struct nlattr *a, void *ip)
{
	if (mnl_attr_get_type(a) != IFA_LOCAL ||
	    mnl_attr_get_payload_len(a) != sizeof(struct in_addr))
		return MNL_CB_OK;
	memcpy(ip, mnl_attr_get_payload(a), sizeof(struct in_addr));
	return MNL_CB_STOP;
}

/* The IPv4 address of a message; NULL: it has none. */
static const struct ifaddrmsg *interface_address_of(const struct nlmsghdr *h, struct in_addr *ip)
{
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(h);

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*info) || info->ifa_family != AF_INET ||
	    mnl_attr_parse(h, sizeof(*info), on_address_attribute, ip) != MNL_CB_STOP)
		return NULL;
	return info;
}

static void on_address(void *to, const struct nlmsghdr *h)
{
	struct in_addr ip;
	const struct ifaddrmsg *info = interface_address_of(h, &ip);
	struct link *l = info ? by_index(to, (int)info->ifa_index) : NULL;
	char dotted[INET_ADDRSTRLEN];

	if (l && inet_ntop(AF_INET, &ip, dotted, sizeof(dotted)))
		text_printf(&l->ipv4, "%s%s/%u", l->ipv4.len ? " " : "", dotted,
			    info->ifa_prefixlen);
}

/* Asks for all links or IPv4 addresses (RTM_GETLINK, RTM_GETADDR) and calls each with every message
 * of the type answer. 0 or -errno. */
static int interface_dump(int fd, unsigned short type, unsigned short answer,
			  void (*each)(void *, const struct nlmsghdr *), void *to)
{
	_Alignas(struct nlmsghdr) char buf[32768];
	struct nlmsghdr *ask = mnl_nlmsg_put_header(buf);

	ask->nlmsg_type = type;
	ask->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	if (type == RTM_GETADDR) {
		struct rtgenmsg *family = mnl_nlmsg_put_extra_header(ask, sizeof(*family));

		family->rtgen_family = AF_INET;
	} else {
		mnl_nlmsg_put_extra_header(ask, sizeof(struct ifinfomsg));
		/* Without their counters, which cost a driver time. */
		mnl_attr_put_u32(ask, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	}
	if (send(fd, ask, ask->nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);
		int left = (int)n;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		for (const struct nlmsghdr *h = (const struct nlmsghdr *)buf; netlink_ok(h, left);
		     h = mnl_nlmsg_next(h, &left)) {
			/* A dump that failed on the way says so at its end. */
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
				return interface_error(h);
			if (h->nlmsg_type == answer)
				each(to, h);
		}
	}
}

/* A socket that waits for an answer no longer than two seconds, or -errno. */
static int open_route(void)
{
	struct timeval limit = { .tv_sec = 2 };
	struct err unsaid;
	int fd;

	/* Not ELIBACC: that the library is absent does not make the addresses so. */
	if (library_open(LIBRARY_MNL, &unsaid))
		return -ENOPKG;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

static struct interfaces *interface_load(void)
{
	struct interfaces *s = calloc(1, sizeof(*s));
	int fd;

	if (!s)
		return NULL;
	fd = open_route();
	if (fd < 0) {
		s->error = fd;
		return s;
	}
	s->error = interface_dump(fd, RTM_GETLINK, RTM_NEWLINK, on_link, s);
	if (s->error == 0)
		s->error = interface_dump(fd, RTM_GETADDR, RTM_NEWADDR, on_address, s);
	close(fd);
	return s;
}

static void interface_close(void *state)
{
	struct interfaces *s = state;

	while (s->links) {
		struct link *next = s->links->next;

		text_free(&s->links->ipv4);
		free(s->links);
		s->links = next;
	}
	free(s);
}

/* What was read before does not hold any more. */
static void forget(void **state)
{
	if (*state)
		interface_close(*state);
	*state = NULL;
}

/* "ipv4-now" is "ipv4" looked at anew, "max_mtu" in bytes. */
static int interface_ask(void **state, struct arena *a, const char *object, const char *field,
			 struct answer *out)
{
	struct interfaces *s;
	struct link *l;

	if (strcmp(field, "ipv4-now") == 0) {
		forget(state);
		field = "ipv4";
	}
	s = *state;
	if (!s)
		s = *state = interface_load();
	if (!s || s->error)
		return s ? s->error : -ENOMEM;
	for (l = s->links; l && strcmp(l->name, object) != 0; l = l->next)
		;
	if (!l)
		return -ENOENT;
	if (strcmp(field, "ipv4") == 0) {
		answer_text(out, arena_strdup(a, l->ipv4.s ? l->ipv4.s : ""));
		return 0;
	}
	if (strcmp(field, "max_mtu") != 0)
		return -EINVAL;
	/* 0 means that the driver sets no limit. */
	if (l->max_mtu <= 0)
		return -EOPNOTSUPP;
	answer_int(out, l->max_mtu);
	return 0;
}

/* The addresses that it shall have, as "ipv4" answers them. */
static int interface_set(void **state, struct arena *a, const char *object, const char *field,
			 const struct answer *value)
{
	struct answer now;
	int r;

	if (strcmp(field, "ipv4") != 0)
		return -EOPNOTSUPP;
	if (value->kind != ANSWER_TEXT)
		return -EINVAL;
	r = interface_ask(state, a, object, "ipv4-now", &now);
	if (r == 0)
		r = interface_set_ipv4(object, now.text, value->text);
	forget(state);
	return r;
}

const struct provider provider_interface = {
	.api = "if", .ask = interface_ask, .close = interface_close, .tell = interface_set
};

/* One request to the kernel for each address that an interface gets or loses. Knows nothing of who
 * wants that. */

enum { ADDRESSES_MAX = 64, WORD_MAX = 24, BITS = 32, ANSWER_BYTES = 4096, NO_BROADCAST = 31 };
enum { REQUEST_BYTES = 128 };
enum { ERRNO_MAX = 4095 }; /* the largest of the kernel's */

struct address {
	struct in_addr ip;
	unsigned prefix;
};

static int interface_parse_word(const char *word, size_t n, struct address *out)
{
	char text[WORD_MAX];
	struct ipv4 x;

	if (n >= sizeof(text) || !memchr(word, '/', n))
		return -EINVAL;
	memcpy(text, word, n);
	text[n] = '\0';
	if (ipv4_parse(text, &x) || !x.bits)
		return -EINVAL;
	*out = (struct address){ { htonl(x.ip) }, x.bits };
	return 0;
}

/* How many there are, or -EINVAL. */
static int parse_list(const char *list, struct address out[ADDRESSES_MAX])
{
	int n = 0;

	for (const char *p = list + strspn(list, " "); *p; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");

		if (n == ADDRESSES_MAX || interface_parse_word(p, len, &out[n++]))
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

static struct nlmsghdr *put_request(char buf[REQUEST_BYTES], unsigned index,
				    const struct address *x, bool add)
{
	const uint32_t host_bits = x->prefix < BITS ? 0xffffffffU >> x->prefix : 0;
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct ifaddrmsg *info = mnl_nlmsg_put_extra_header(h, sizeof(*info));

	h->nlmsg_type = add ? RTM_NEWADDR : RTM_DELADDR;
	h->nlmsg_flags = (__u16)(NLM_F_REQUEST | NLM_F_ACK | (add ? NLM_F_CREATE | NLM_F_EXCL : 0));
	*info = (struct ifaddrmsg){ .ifa_family = AF_INET,
				    .ifa_prefixlen = (unsigned char)x->prefix,
				    .ifa_scope = RT_SCOPE_UNIVERSE,
				    .ifa_index = index };
	mnl_attr_put_u32(h, IFA_LOCAL, x->ip.s_addr);
	mnl_attr_put_u32(h, IFA_ADDRESS, x->ip.s_addr);
	if (add && x->prefix < NO_BROADCAST)
		mnl_attr_put_u32(h, IFA_BROADCAST, x->ip.s_addr | htonl(host_bits));
	return h;
}

int interface_error(const struct nlmsghdr *h)
{
	int error = 0;

	if (mnl_nlmsg_get_payload_len(h) < sizeof(error))
		return h->nlmsg_type == NLMSG_DONE ? 0 : -EPROTO;
	memcpy(&error, mnl_nlmsg_get_payload(h), sizeof(error));
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
	if (!netlink_ok(h, (int)n) || h->nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return interface_error(h);
}

/* All of list that the other one has not. Gone already, or there already, is as good. */
static int each_missing(int fd, unsigned index, const struct address *list, int n,
			const struct address *other, int n_other, bool add)
{
	int r = 0;

	for (int i = 0; i < n && r == 0; i++) {
		_Alignas(struct nlmsghdr) char buf[REQUEST_BYTES];

		if (has(other, n_other, &list[i]))
			continue;
		r = transact(fd, put_request(buf, index, &list[i], add));
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

/* The next message after h (NULL: the first), and its address; NULL at the end. */
static const struct nlmsghdr *interface_message(const struct interface_messages *m,
						const struct nlmsghdr *h, struct in_addr *ip,
						unsigned *prefix)
{
	int left = (int)m->bytes.len;

	if (h)
		left -= (int)((const char *)h - m->bytes.s);
	h = h ? mnl_nlmsg_next(h, &left) : (const void *)m->bytes.s;
	if (!netlink_ok(h, left))
		return NULL;
	*prefix = interface_address_of(h, ip)->ifa_prefixlen;
	return h;
}

static bool is_among(const struct interface_messages *m, const struct address *x)
{
	struct address y;

	for (const struct nlmsghdr *h = interface_message(m, NULL, &y.ip, &y.prefix); h;
	     h = interface_message(m, h, &y.ip, &y.prefix))
		if (has(x, 1, &y))
			return true;
	return false;
}

/* As the kernel told it: with its label, scope, flags and lifetimes. */
static int interface_restore(int fd, const struct nlmsghdr *h)
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
static int interface_put_back(int fd, const struct lists *l,
			      const struct interface_messages *before,
			      const struct interface_messages *after)
{
	struct address x;
	int r = 0;

	for (const struct nlmsghdr *h = interface_message(before, NULL, &x.ip, &x.prefix); h;
	     h = interface_message(before, h, &x.ip, &x.prefix)) {
		int code = is_to_go(l, &x) || is_among(after, &x) ? 0 : interface_restore(fd, h);

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
			back = interface_put_back(fd, l, &before, &after);
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
	unsigned index = if_nametoindex(name);

	l.n_have = parse_list(now, l.have);
	l.n_want = parse_list(wanted, l.want);
	if (l.n_have < 0 || l.n_want < 0)
		return -EINVAL;
	if (!index)
		return -ENODEV;
	fd = open_route();
	if (fd < 0)
		return fd;
	r = take_away(fd, index, &l);
	if (r == 0)
		r = each_missing(fd, index, l.want, l.n_want, l.have, l.n_have, true);
	close(fd);
	return r;
}

/* The addresses of an interface as the kernel reports them, with all their attributes, so that one
 * can be told back to it. */

static void interface_keep(void *to, const struct nlmsghdr *h)
{
	static const char padding[NLMSG_ALIGNTO];
	struct interface_messages *m = to;
	struct in_addr ip;
	const struct ifaddrmsg *info = interface_address_of(h, &ip);

	if (!info || info->ifa_index != m->index)
		return;
	text_addn(&m->bytes, (const char *)h, h->nlmsg_len);
	text_addn(&m->bytes, padding, NLMSG_ALIGN(h->nlmsg_len) - h->nlmsg_len);
}

int interface_messages(int fd, unsigned index, struct interface_messages *out)
{
	*out = (struct interface_messages){ .index = index };
	return interface_dump(fd, RTM_GETADDR, RTM_NEWADDR, interface_keep, out);
}
