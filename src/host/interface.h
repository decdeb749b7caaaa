/* SPDX-License-Identifier: Apache-2.0 */
/* Setting the addresses of an interface by rtnetlink. For the provider "if" alone. */
#ifndef HOST_INTERFACE_H
#define HOST_INTERFACE_H

/*
 * Both are lists of IPv4 addresses with prefix length, blank-separated: what the interface has and
 * what it shall have. Takes away what is only in now, then adds what is only in wanted. 0 or
 * -errno; -EINVAL: wanted is no such list, and nothing was done.
 */
int interface_set_ipv4(const char *name, const char *now, const char *wanted);

#endif
