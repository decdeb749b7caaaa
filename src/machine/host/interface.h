/* SPDX-License-Identifier: Apache-2.0 */
/* Setting the addresses of an interface by rtnetlink, and what the kernel says to it. For the
 * provider "if"; netlink_ok is for whoever receives from the kernel. */
#ifndef HOST_INTERFACE_H
#define HOST_INTERFACE_H

#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "base/text.h"

/* What an answer of the kind NLMSG_ERROR or NLMSG_DONE says: 0 or -errno; -EPROTO: nothing that the
 * kernel says. Its header has been read whole. */
int interface_error(const struct nlmsghdr *h);

/* Whether a whole message lies at h, of which left bytes were received. libmnl's own (1.0.4) takes
 * a length of 2 GiB and more for a negative one, and lets it through. */
bool netlink_ok(const struct nlmsghdr *h, int left);

/* The IPv4 addresses of one interface, each as the kernel's own message. */
struct interface_messages {
	unsigned index;
	struct text bytes;
};
int interface_messages(int fd, unsigned index, struct interface_messages *out);

/*
 * Both are lists of IPv4 addresses with prefix length, blank-separated: what the interface has and
 * what it shall have. Takes away what is only in now, then adds what is only in wanted. What the
 * kernel takes along with an address (the others of its network) is put back as it was. 0 or
 * -errno; -EINVAL: wanted is no such list, and nothing was done.
 */
int interface_set_ipv4(const char *name, const char *now, const char *wanted);

#endif
