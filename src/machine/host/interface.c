/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and largest MTU of network interfaces by rtnetlink: one dump of links and one of
 * addresses a run. */
#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/host/ask.h"
#include "machine/host/interface.h"

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

/* The kernel's own macros mix signs. */
const struct rtattr *interface_attribute(const void *start, size_t len, const struct rtattr *a)
{
	size_t at =
		a ? (size_t)((const char *)a - (const char *)start) + RTA_ALIGN((size_t)a->rta_len)
		  : 0;
	const struct rtattr *next = (const void *)((const char *)start + at);

	if (at + sizeof(*next) > len || next->rta_len < sizeof(*next) || next->rta_len > len - at)
		return NULL;
	return next;
}

static void on_link(void *to, const struct nlmsghdr *h)
{
	struct interfaces *s = to;
	const struct ifinfomsg *info = NLMSG_DATA(h);
	const char *attributes = (const char *)info + NLMSG_ALIGN(sizeof(*info));
	size_t head = NLMSG_SPACE(sizeof(*info)), len = h->nlmsg_len - head;
	struct link *l = h->nlmsg_len < head ? NULL : calloc(1, sizeof(*l));

	if (!l)
		return;
	l->index = info->ifi_index;
	l->max_mtu = -1;
	for (const struct rtattr *a = interface_attribute(attributes, len, NULL); a;
	     a = interface_attribute(attributes, len, a)) {
		if (a->rta_type == IFLA_IFNAME)
			snprintf(l->name, sizeof(l->name), "%.*s", (int)(a->rta_len - sizeof(*a)),
				 (const char *)RTA_DATA(a));
		if (a->rta_type == IFLA_MAX_MTU && a->rta_len >= sizeof(*a) + sizeof(__u32))
			l->max_mtu = *(const __u32 *)RTA_DATA(a);
	}
	l->next = s->links;
	s->links = l;
}

static void on_address(void *to, const struct nlmsghdr *h)
{
	struct interfaces *s = to;
	const struct ifaddrmsg *info = NLMSG_DATA(h);
	size_t head = NLMSG_SPACE(sizeof(*info)), len = h->nlmsg_len - head;
	struct link *l = h->nlmsg_len < head ? NULL : by_index(s, (int)info->ifa_index);
	const char *attributes = (const char *)info + NLMSG_ALIGN(sizeof(*info));
	char dotted[INET_ADDRSTRLEN];

	if (!l || info->ifa_family != AF_INET)
		return;
	for (const struct rtattr *a = interface_attribute(attributes, len, NULL); a;
	     a = interface_attribute(attributes, len, a))
		if (a->rta_type == IFA_LOCAL && a->rta_len == sizeof(*a) + 4 &&
		    inet_ntop(AF_INET, RTA_DATA(a), dotted, sizeof(dotted)))
			text_printf(&l->ipv4, "%s%s/%u", l->ipv4.len ? " " : "", dotted,
				    info->ifa_prefixlen);
}

int interface_dump(int fd, unsigned short type, unsigned short answer,
		   void (*each)(void *, const struct nlmsghdr *), void *to)
{
	/* Links without their counters, which cost a driver time. Addresses take the short header,
	 * of which the family is the first byte in both. */
	struct {
		struct nlmsghdr h;
		struct ifinfomsg info;
		struct rtattr mask;
		__u32 bits;
	} ask = { .h = { .nlmsg_len = sizeof(ask),
			 .nlmsg_type = type,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		  .info = { .ifi_family = type == RTM_GETADDR ? AF_INET : AF_UNSPEC },
		  .mask = { .rta_len = RTA_LENGTH(sizeof(__u32)), .rta_type = IFLA_EXT_MASK },
		  .bits = RTEXT_FILTER_SKIP_STATS };
	_Alignas(struct nlmsghdr) char buf[32768];

	if (type == RTM_GETADDR)
		ask.h.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg));
	if (send(fd, &ask, ask.h.nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);
		ssize_t left; /* signed: the last one's padding may lie behind the end */

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		left = n;
		for (const struct nlmsghdr *h = (const struct nlmsghdr *)buf; NLMSG_OK(h, left);
		     h = NLMSG_NEXT(h, left)) {
			/* A dump that failed on the way says so at its end. */
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
				return interface_error(h);
			if (h->nlmsg_type == answer)
				each(to, h);
		}
	}
}

static struct interfaces *load(void)
{
	struct interfaces *s = calloc(1, sizeof(*s));
	struct timeval limit = { .tv_sec = 2 };
	int fd;

	if (!s)
		return NULL;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0) {
		s->error = -errno;
		return s;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
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
		s = *state = load();
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
static int interface_tell(void **state, struct arena *a, const char *object, const char *field,
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
	.api = "if", .ask = interface_ask, .close = interface_close, .tell = interface_tell
};
