/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of an interface as the kernel tells them, with all their attributes, so that one
 * can be told back to it. */
#include "machine/host/interface.h"

#include <string.h>
#include <sys/socket.h>

static void keep(void *to, const struct nlmsghdr *h)
{
	static const char padding[NLMSG_ALIGNTO];
	struct interface_messages *m = to;
	const struct ifaddrmsg *info = NLMSG_DATA(h);

	if (h->nlmsg_len < NLMSG_SPACE(sizeof(*info)) || info->ifa_family != AF_INET ||
	    info->ifa_index != m->index)
		return;
	text_addn(&m->bytes, (const char *)h, h->nlmsg_len);
	text_addn(&m->bytes, padding, NLMSG_ALIGN(h->nlmsg_len) - h->nlmsg_len);
}

int interface_messages(int fd, unsigned index, struct interface_messages *out)
{
	*out = (struct interface_messages){ .index = index };
	return interface_dump(fd, RTM_GETADDR, RTM_NEWADDR, keep, out);
}

/* False: the message names none. */
static bool address_of(const struct nlmsghdr *h, __be32 *ip, unsigned *prefix)
{
	const struct ifaddrmsg *info = NLMSG_DATA(h);
	const char *attributes = (const char *)info + NLMSG_ALIGN(sizeof(*info));
	size_t len = h->nlmsg_len - NLMSG_SPACE(sizeof(*info));

	for (const struct rtattr *a = interface_attribute(attributes, len, NULL); a;
	     a = interface_attribute(attributes, len, a))
		if (a->rta_type == IFA_LOCAL && a->rta_len == RTA_LENGTH(sizeof(*ip))) {
			memcpy(ip, RTA_DATA(a), sizeof(*ip));
			*prefix = info->ifa_prefixlen;
			return true;
		}
	return false;
}

const struct nlmsghdr *interface_message(const struct interface_messages *m,
					 const struct nlmsghdr *h, __be32 *ip, unsigned *prefix)
{
	size_t at = h ? (size_t)((const char *)h - m->bytes.s) + NLMSG_ALIGN(h->nlmsg_len) : 0;

	for (; at < m->bytes.len; at += NLMSG_ALIGN(h->nlmsg_len)) {
		h = (const void *)(m->bytes.s + at);
		if (address_of(h, ip, prefix))
			return h;
	}
	return NULL;
}
