/* SPDX-License-Identifier: Apache-2.0 */
/* Hearing of network interfaces (rtnetlink's group of links) and of devices (the kernel's uevents).
 * A message is only a name: what became of it is read elsewhere. */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "tune/watch/live.h"

enum { KERNEL_EVENTS = 1, MESSAGE = 16384 };

static int open_group(int protocol, unsigned groups)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = groups };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void live_netlink_open(struct live_source *s)
{
	s->route = live_add(s, open_group(NETLINK_ROUTE, RTMGRP_LINK));
	s->uevent = live_add(s, open_group(NETLINK_KOBJECT_UEVENT, KERNEL_EVENTS));
}

/* One message of the kernel's: its length; 0: nothing is left; -1: not the kernel's, or lost. */
static ssize_t next_message(int fd, char *buf, size_t cap, const char *via, struct hint_list *l)
{
	struct sockaddr_nl from = { 0 };
	struct iovec v = { buf, cap };
	struct msghdr m = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &v, .msg_iovlen = 1
	};
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);

	if (n < 0 && errno == EINTR)
		return -1;
	if ((n < 0 && errno == ENOBUFS) || (n > 0 && m.msg_flags & MSG_TRUNC)) {
		hint_add(l, HINT_ALL, via, "");
		return -1;
	}
	if (n <= 0)
		return 0;
	return from.nl_pid == 0 ? n : -1;
}

static void take_link(struct nlmsghdr *nl, struct hint_list *l)
{
	struct ifinfomsg *info = NLMSG_DATA(nl);
	ssize_t left; /* signed: the last one's padding may lie behind the end */

	if ((nl->nlmsg_type != RTM_NEWLINK && nl->nlmsg_type != RTM_DELLINK) ||
	    nl->nlmsg_len < NLMSG_LENGTH(sizeof(*info)))
		return;
	left = (ssize_t)nl->nlmsg_len - (ssize_t)NLMSG_LENGTH(sizeof(*info));
	for (struct rtattr *a = IFLA_RTA(info); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		const char *name = RTA_DATA(a);
		size_t n = RTA_PAYLOAD(a);

		if (a->rta_type == IFLA_IFNAME && n && n <= IF_NAMESIZE && !name[n - 1])
			hint_add(l, HINT_LINK, "netlink", name);
	}
}

void live_route_read(struct live_source *s, struct hint_list *l)
{
	_Alignas(struct nlmsghdr) char buf[MESSAGE];
	ssize_t n;

	while ((n = next_message(s->route, buf, sizeof(buf), "netlink", l)) != 0) {
		ssize_t left = n;

		for (struct nlmsghdr *nl = (void *)buf; left > 0 && NLMSG_OK(nl, left);
		     nl = NLMSG_NEXT(nl, left))
			take_link(nl, l);
	}
}

/* "add@/devices/pci0000:00/.../nvme0n1", then NAME=VALUE, each ended by a NUL. */
static void take_uevent(const char *buf, size_t n, struct hint_list *l)
{
	static const char *const actions[] = {
		"add", "remove", "change", "move", "bind", "online"
	};
	const char *at = memchr(buf, '@', n);
	char place[sizeof(l->list[0].what)];
	int len;

	if (!at || !memchr(buf, '\0', n) || !str_starts(at + 1, "/devices/"))
		return;
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if ((size_t)(at - buf) != strlen(actions[i]) ||
		    memcmp(buf, actions[i], (size_t)(at - buf)) != 0)
			continue;
		len = snprintf(place, sizeof(place), "/sys%s", at + 1);
		if (len > 0 && (size_t)len < sizeof(place))
			hint_add(l, HINT_DEVICE, "uevent", place);
		return;
	}
}

void live_uevent_read(struct live_source *s, struct hint_list *l)
{
	char buf[MESSAGE];
	ssize_t n;

	while ((n = next_message(s->uevent, buf, sizeof(buf), "uevent", l)) != 0)
		if (n > 0)
			take_uevent(buf, (size_t)n, l);
}
