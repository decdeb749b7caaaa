/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job whose time depends on real settings of the kernel that runs it, each by a part of its own.
 *
 *     planted serve           in the network namespace of the far side; port 7001
 *     planted FAR DISK1 DISK2 [PART]
 *
 * DISK1 is read from its start, DISK2 at random. Prints seconds of each
 * part and of all.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PORT = 7001, CHUNK = 65536 };

static char buffer[CHUNK] __attribute__((aligned(4096)));

static void check(long r, const char *what)
{
	if (r >= 0)
		return;
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void pause_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static struct sockaddr_in address(const char *ip, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	inet_pton(AF_INET, ip, &a.sin_addr);
	return a;
}

/* --- the far side: 'S' takes n bytes and answers one, 'R' sends n bytes, 'Q' answers one
 * --------------------------------------- */

struct ask {
	char what;
	char pad[3];
	uint32_t n;
};

static int all(int fd, void *at, size_t n, int out)
{
	while (n) {
		size_t some = n < CHUNK ? n : CHUNK;
		ssize_t r = out ? send(fd, at ? at : buffer, some, MSG_NOSIGNAL)
				: recv(fd, at ? at : buffer, some, 0);

		if (r <= 0)
			return -1;
		at = at ? (char *)at + r : NULL;
		n -= (size_t)r;
	}
	return 0;
}

static void *answer(void *ctx)
{
	int fd = (int)(intptr_t)ctx;
	struct ask a;

	while (all(fd, &a, sizeof(a), 0) == 0)
		if ((a.what == 'S' && all(fd, NULL, a.n, 0)) ||
		    all(fd, NULL, a.what == 'R' ? a.n : 1, 1))
			break;
	close(fd);
	return NULL;
}

_Noreturn static void serve(void)
{
	struct sockaddr_in a = address("0.0.0.0", PORT);
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, queue = 64, big = 8 << 20;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN, &queue, sizeof(queue));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &big, sizeof(big));
	check(bind(fd, (struct sockaddr *)&a, sizeof(a)), "bind");
	check(listen(fd, 64), "listen");
	for (;;) {
		pthread_t t;
		int c = accept(fd, NULL, NULL);

		if (c >= 0 && pthread_create(&t, &attr, answer, (void *)(intptr_t)c))
			close(c);
	}
}

/* --- the network
 * --------------------------------------------------------------------------------------------------------------
 */

static const char *far_ip;

static int far(int option, int bytes)
{
	struct sockaddr_in a = address(far_ip, PORT);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (option)
		setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof(bytes));
	check(connect(fd, (struct sockaddr *)&a, sizeof(a)), "connect");
	return fd;
}

static void upload(int fd, uint32_t n)
{
	struct ask a = { .what = 'S', .n = n };

	check(all(fd, &a, sizeof(a), 1), "send");
	check(all(fd, NULL, n, 1), "send");
	check(all(fd, NULL, 1, 0), "answer");
}

static void download(int fd, uint32_t n)
{
	struct ask a = { .what = 'R', .n = n };

	check(all(fd, &a, sizeof(a), 1), "send");
	check(all(fd, NULL, n, 0), "receive");
}

static void part_send(void)
{
	int fd = far(0, 0);

	upload(fd, 1 << 20);
	close(fd);
}

static void part_receive(void)
{
	int fd = far(0, 0);

	download(fd, 1 << 20);
	close(fd);
}

static void part_send_own(void)
{
	int fd = far(SO_SNDBUF, 4 << 20);

	upload(fd, 3 << 20);
	close(fd);
}

static void part_receive_own(void)
{
	int fd = far(SO_RCVBUF, 4 << 20);

	download(fd, 1 << 20);
	close(fd);
}

/* A connection that rests longer than a retransmission timeout between its bursts. */
static void part_bursts(void)
{
	int fd = far(0, 0);

	upload(fd, 256 << 10);
	for (int i = 0; i < 4; i++) {
		pause_ms(1000);
		upload(fd, 120 << 10);
	}
	close(fd);
}

/* Short requests on connections of their own, the first bytes with the first packet where that is
 * allowed. */
static void part_requests(void)
{
	struct sockaddr_in to = address(far_ip, PORT);
	struct ask a = { .what = 'Q' };

	for (int i = 0; i < 16; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (sendto(fd, &a, sizeof(a), MSG_FASTOPEN, (struct sockaddr *)&to, sizeof(to)) <
		    0) {
			check(connect(fd, (struct sockaddr *)&to, sizeof(to)), "connect");
			check(all(fd, &a, sizeof(a), 1), "send");
		}
		check(all(fd, NULL, 1, 0), "answer");
		close(fd);
	}
}

/* More clients at once than a short queue of a listener holds. */
static void part_crowd(void)
{
	enum { CLIENTS = 24 };
	struct sockaddr_in a = address("127.0.0.1", 0);
	socklen_t n = sizeof(a);
	int own = socket(AF_INET, SOCK_STREAM, 0), fd[CLIENTS], in[CLIENTS], got = 0;

	check(bind(own, (struct sockaddr *)&a, sizeof(a)), "bind");
	check(listen(own, 128), "listen");
	getsockname(own, (struct sockaddr *)&a, &n);
	for (int i = 0; i < CLIENTS; i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (connect(fd[i], (struct sockaddr *)&a, sizeof(a)) && errno != EINPROGRESS)
			check(-1, "connect");
	}
	pause_ms(20);
	while (got < CLIENTS) {
		in[got] = accept(own, NULL, NULL);
		check(in[got], "accept");
		got++;
	}
	for (int i = 0; i < CLIENTS; i++) {
		close(fd[i]);
		close(in[i]);
	}
	close(own);
}

/* Datagrams in bursts; what the receiver's buffer does not hold is asked for again after 40 ms. */
static void part_datagrams(void)
{
	enum { PACKETS = 120 };
	struct sockaddr_in a = address("127.0.0.1", 0);
	socklen_t n = sizeof(a);
	int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0),
	    left = PACKETS;

	check(bind(in, (struct sockaddr *)&a, sizeof(a)), "bind");
	getsockname(in, (struct sockaddr *)&a, &n);
	while (left > 0) {
		for (int i = 0; i < left; i++)
			(void)sendto(out, buffer, 1000, 0, (struct sockaddr *)&a, sizeof(a));
		while (recv(in, buffer, sizeof(buffer), MSG_DONTWAIT) > 0)
			left--;
		if (left > 0)
			pause_ms(40);
	}
	close(in);
	close(out);
}

/* --- disks
 * --------------------------------------------------------------------------------------------------------------------
 */

static const char *disk_in_order, *disk_at_random;

static void part_read(void)
{
	int fd = open(disk_in_order, O_RDONLY);

	check(fd, disk_in_order);
	check(ioctl(fd, BLKFLSBUF, 0), "BLKFLSBUF");
	for (int i = 0; i < 1 << 20; i += 16384)
		check(read(fd, buffer, 16384), "read");
	close(fd);
}

static void *random_reads(void *ctx)
{
	unsigned seed = (unsigned)(uintptr_t)ctx;
	void *page = NULL;
	int fd = open(disk_at_random, O_RDONLY | O_DIRECT);

	check(fd, disk_at_random);
	check(-posix_memalign(&page, 4096, 4096), "memory");
	for (int i = 0; i < 160; i++) {
		seed = seed * 1103515245 + 12345;
		check(pread(fd, page, 4096, (off_t)(seed >> 8 & 4095) * 4096), "pread");
	}
	free(page);
	close(fd);
	return NULL;
}

static void part_random(void)
{
	pthread_t t[8];

	for (size_t i = 0; i < 8; i++)
		check(-pthread_create(&t[i], NULL, random_reads, (void *)(i + 1)), "thread");
	for (size_t i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "send", part_send },	       { "receive", part_receive },
	{ "send-own", part_send_own }, { "receive-own", part_receive_own },
	{ "bursts", part_bursts },     { "requests", part_requests },
	{ "crowd", part_crowd },       { "datagrams", part_datagrams },
	{ "read", part_read },	       { "random", part_random },
};

int main(int argc, char **argv)
{
	double total = 0;

	if (argc == 2 && strcmp(argv[1], "serve") == 0)
		serve();
	if (argc < 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	far_ip = argv[1];
	disk_in_order = argv[2];
	disk_at_random = argv[3];
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		double began = now();

		if (argc > 4 && strcmp(argv[4], parts[i].name) != 0)
			continue;
		parts[i].run();
		printf("%s %.4f\n", parts[i].name, now() - began);
		total += now() - began;
	}
	printf("seconds: %.4f\n", total);
	return 0;
}
