/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stand-ins for the kernel's answers that no file has: ioctls of network drivers, the log, netlink
 * and packets of the network. Behind what a call gave there is nothing that may be read.
 */
#ifndef FUZZ_LIVE_KERNEL_H
#define FUZZ_LIVE_KERNEL_H

#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fuzz_live.h"

/* What a driver counts at most, at any time. */
enum { KERNEL_COUNTERS = 4096 };

/* --- network drivers -------------------------------------------------------------------------- */

static size_t kernel_struct_of(unsigned command)
{
	switch (command) {
	case ETHTOOL_GDRVINFO:
		return sizeof(struct ethtool_drvinfo);
	case ETHTOOL_GRINGPARAM:
		return sizeof(struct ethtool_ringparam);
	case ETHTOOL_GCOALESCE:
		return sizeof(struct ethtool_coalesce);
	case ETHTOOL_GCHANNELS:
		return sizeof(struct ethtool_channels);
	default:
		return 0;
	}
}

/* As many as there are by now, whatever was asked for: the kernel writes them all. */
static void kernel_counters(void *data, unsigned command)
{
	struct ethtool_gstrings *names = data;
	struct ethtool_stats *values = data;
	unsigned n = (unsigned)live_number() % (KERNEL_COUNTERS + 1);

	if (command == ETHTOOL_GSTRINGS) {
		names->len = n;
		memset(names->data, 'e', (size_t)n * ETH_GSTRING_LEN);
		live_fill(names->data,
			  (size_t)(n < 4 ? n : 4) * ETH_GSTRING_LEN); /* not all of them ended */
		return;
	}
	values->n_stats = n;
	memset(values->data, 0, n * sizeof(__u64));
	for (unsigned i = 0; i < n && i < 8; i++)
		values->data[i] = live_number();
}

static int kernel_ethtool(const struct ifreq *ask)
{
	char *data = ask->ifr_data;
	unsigned command = *(__u32 *)data;
	size_t n = kernel_struct_of(command);

	if (strnlen(ask->ifr_name, IFNAMSIZ) == IFNAMSIZ || !*ask->ifr_name)
		abort();
	if (live_system())
		return -1;
	if (command == ETHTOOL_GSTRINGS || command == ETHTOOL_GSTATS)
		kernel_counters(data, command);
	else if (n)
		live_fill(data + sizeof(__u32), n - sizeof(__u32));
	if (command == ETHTOOL_GDRVINFO && live_byte() % 2)
		((struct ethtool_drvinfo *)(void *)data)->n_stats = (unsigned)live_number();
	return 0;
}

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct ifreq *ask;
	va_list ap;

	va_start(ap, request);
	ask = va_arg(ap, struct ifreq *);
	va_end(ap);
	if (!live)
		return __real_ioctl(fd, request, ask);
	if (request == SIOCETHTOOL)
		return kernel_ethtool(ask);
	if (live_system())
		return -1;
	if (request == SIOCGIFMTU)
		ask->ifr_mtu = (int)live_number();
	if (request == SIOCGIFHWADDR) {
		live_fill(&ask->ifr_hwaddr, 8);
		if (live_byte() % 2)
			ask->ifr_hwaddr.sa_family = ARPHRD_ETHER;
	}
	return 0;
}

/* --- the log ---------------------------------------------------------------------------------- */

int __real_klogctl(int type, char *buf, int n);
int __wrap_klogctl(int type, char *buf, int n);

/* The size, and later what there is: perhaps more by then, of which the last part is given. */
int __wrap_klogctl(int type, char *buf, int n)
{
	enum { READ_ALL = 3, SIZE = 10, FULL = 1 << 16 };
	size_t left;

	if (!live)
		return __real_klogctl(type, buf, n);
	if (live_system())
		return -1;
	if (type == SIZE)
		return live_byte() % 2 ? (int)(live_number() & INT_MAX) : FULL;
	if (type != READ_ALL)
		abort();
	left = (size_t)(live->end - live->p);
	left = left < (size_t)n ? left : (size_t)n;
	live_fill(buf, left);
	return (int)left;
}

/* --- sockets ---------------------------------------------------------------------------------- */

int __real_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol);
int __real_bind(int fd, const struct sockaddr *at, socklen_t n);
int __wrap_bind(int fd, const struct sockaddr *at, socklen_t n);
int __real_connect(int fd, const struct sockaddr *at, socklen_t n);
int __wrap_connect(int fd, const struct sockaddr *at, socklen_t n);
int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t n);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t n);
int __real_getsockname(int fd, struct sockaddr *at, socklen_t *n);
int __wrap_getsockname(int fd, struct sockaddr *at, socklen_t *n);
ssize_t __real_send(int fd, const void *buf, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *buf, size_t n, int flags);
ssize_t __real_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
		      socklen_t len);
ssize_t __wrap_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
		      socklen_t len);
ssize_t __real_recv(int fd, void *buf, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *buf, size_t n, int flags);
ssize_t __real_recvmsg(int fd, struct msghdr *m, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags);
unsigned __real_if_nametoindex(const char *name);
unsigned __wrap_if_nametoindex(const char *name);
int __real_close(int fd);
int __wrap_close(int fd);

/* Whether sockets are the input's: those of children are the system's own. */
static bool kernel_net;

static bool kernel_plays(void)
{
	return live && kernel_net;
}

int __wrap_socket(int family, int type, int protocol)
{
	if (!kernel_plays())
		return __real_socket(family, type, protocol);
	return live_system() ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
}

int __wrap_bind(int fd, const struct sockaddr *at, socklen_t n)
{
	return kernel_plays() ? live_system() : __real_bind(fd, at, n);
}

int __wrap_connect(int fd, const struct sockaddr *at, socklen_t n)
{
	return kernel_plays() ? live_system() : __real_connect(fd, at, n);
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t n)
{
	return kernel_plays() ? 0 : __real_setsockopt(fd, level, name, value, n);
}

int __wrap_getsockname(int fd, struct sockaddr *at, socklen_t *n)
{
	struct sockaddr_ll *own = (void *)at;

	if (!kernel_plays())
		return __real_getsockname(fd, at, n);
	if (*n != sizeof(*own) || live_system())
		return -1;
	live_fill(own, sizeof(*own));
	if (live_byte() % 2) {
		own->sll_hatype = ARPHRD_ETHER;
		own->sll_halen = 6;
	}
	return 0;
}

ssize_t __wrap_send(int fd, const void *buf, size_t n, int flags)
{
	if (!kernel_plays())
		return __real_send(fd, buf, n, flags);
	live_show();
	return live_system() ? -1 : (ssize_t)n;
}

ssize_t __wrap_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
		      socklen_t len)
{
	if (!kernel_plays())
		return __real_sendto(fd, buf, n, flags, to, len);
	return live_system() ? -1 : (ssize_t)n;
}

/* What comes next: two bytes of length, then the bytes; nothing more is EAGAIN. */
static ssize_t kernel_packet(void *buf, size_t cap)
{
	uint16_t n = 0;

	live_show();
	if (live_empty()) {
		errno = EAGAIN;
		return -1;
	}
	if (live_system())
		return -1;
	live_fill(&n, sizeof(n));
	n = n < cap ? n : (uint16_t)cap;
	live_fill(buf, n);
	live_received(buf, n, cap);
	return n;
}

ssize_t __wrap_recv(int fd, void *buf, size_t n, int flags)
{
	return kernel_plays() ? kernel_packet(buf, n) : __real_recv(fd, buf, n, flags);
}

/* With the port that it came in by, or words that are none. */
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags)
{
	struct in6_pktinfo info = { .ipi6_ifindex = 0 };
	struct cmsghdr *c;

	if (!kernel_plays())
		return __real_recvmsg(fd, m, flags);
	live_fill(m->msg_name, m->msg_namelen);
	c = CMSG_FIRSTHDR(m);
	if (!c || live_byte() % 4 == 3) {
		m->msg_controllen = 0;
	} else {
		c->cmsg_len = CMSG_LEN(sizeof(info));
		c->cmsg_level = live_byte() % 4 ? IPPROTO_IPV6 : IPPROTO_IP;
		c->cmsg_type = IPV6_PKTINFO;
		info.ipi6_ifindex = live_byte();
		memcpy(CMSG_DATA(c), &info, sizeof(info));
	}
	return kernel_packet(m->msg_iov->iov_base, m->msg_iov->iov_len);
}

unsigned __wrap_if_nametoindex(const char *name)
{
	return kernel_plays() ? live_byte() % 8 : __real_if_nametoindex(name);
}

LIVE_PLAIN int __wrap_close(int fd)
{
	live_show();
	return __real_close(fd);
}

/* Which of them have something; who has nothing more waits for nothing. */
static int kernel_poll(struct pollfd *p, nfds_t n, int timeout)
{
	unsigned mask = live_byte();
	int ready = 0;

	live_show();
	if (timeout < 0)
		abort();
	if (live_empty()) {
		live_later(timeout > 0 ? timeout : 1);
		return 0;
	}
	if (mask == UCHAR_MAX) {
		errno = EINTR;
		return -1;
	}
	for (nfds_t i = 0; i < n; i++) {
		p[i].revents = p[i].fd >= 0 && mask >> i % 8 & 1 ? POLLIN : 0;
		ready += p[i].revents != 0;
	}
	live_later(ready ? 1 : timeout);
	return ready;
}

/* --- files ------------------------------------------------------------------------------------ */

int __real_openat(int at, const char *path, int flags, ...);
int __wrap_openat(int at, const char *path, int flags, ...);
ssize_t __real_readlink(const char *path, char *buf, size_t n);
ssize_t __wrap_readlink(const char *path, char *buf, size_t n);
int __real_statfs(const char *path, struct statfs *out);
int __wrap_statfs(const char *path, struct statfs *out);
/* By these names where files may be large. */
int __wrap_openat64(int at, const char *path, int flags, ...)
	__attribute__((alias("__wrap_openat")));
int __wrap_statfs64(const char *path, struct statfs *out) __attribute__((alias("__wrap_statfs")));

int __wrap_openat(int at, const char *path, int flags, ...)
{
	unsigned mode = 0;
	va_list ap;

	if (flags & O_CREAT) {
		va_start(ap, flags);
		mode = va_arg(ap, unsigned);
		va_end(ap);
	}
	if (!live || !live->files)
		return __real_openat(at, path, flags, mode);
	return live_system() ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

ssize_t __wrap_readlink(const char *path, char *buf, size_t n)
{
	return live && live->files ? live_piece(buf, n) : __real_readlink(path, buf, n);
}

int __wrap_statfs(const char *path, struct statfs *out)
{
	if (!live)
		return __real_statfs(path, out);
	if (live_system())
		return -1;
	memset(out, 0, sizeof(*out));
	out->f_type = (long)live_number();
	out->f_bsize = (long)live_number();
	out->f_frsize = (long)live_number();
	out->f_blocks = live_number();
	out->f_bfree = live_number();
	out->f_bavail = live_number();
	return 0;
}

/* --- interfaces ------------------------------------------------------------------------------- */

int __real_getifaddrs(struct ifaddrs **out);
int __wrap_getifaddrs(struct ifaddrs **out);
void __real_freeifaddrs(struct ifaddrs *list);
void __wrap_freeifaddrs(struct ifaddrs *list);

static const sa_family_t kernel_families[] = { AF_PACKET, AF_INET, AF_INET6, AF_UNIX };
static const size_t kernel_sizes[] = { sizeof(struct sockaddr_ll), sizeof(struct sockaddr_in),
				       sizeof(struct sockaddr_in6), sizeof(sa_family_t) };

/* Of its own size. */
static struct sockaddr *kernel_address(unsigned which)
{
	struct sockaddr *s = arena_alloc(live->a, kernel_sizes[which % 4]);

	live_fill(s, kernel_sizes[which % 4]);
	s->sa_family = kernel_families[which % 4];
	return s;
}

int __wrap_getifaddrs(struct ifaddrs **out)
{
	static char names[2][5] = { "eth0", "eth1" };
	struct ifaddrs **last = out;

	if (!live)
		return __real_getifaddrs(out);
	*out = NULL;
	if (live_system())
		return -1;
	for (int i = 0; i < 256 && !live_empty(); i++) {
		struct ifaddrs *x = ARENA_NEW(live->a, struct ifaddrs);
		unsigned how = live_byte();

		x->ifa_name = names[how & 1];
		x->ifa_flags = (unsigned)live_number();
		x->ifa_addr = how & 2 ? kernel_address(how >> 4) : NULL;
		x->ifa_netmask = how & 4 ? kernel_address(how >> 4) : NULL;
		*last = x;
		last = &x->ifa_next;
		if (how & 8)
			break;
	}
	return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *list)
{
	if (!live)
		__real_freeifaddrs(list);
}

#endif
