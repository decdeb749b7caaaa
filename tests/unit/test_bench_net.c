/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network benches over 127.0.0.1: the hash against published vectors, every message there and back
 * and every way to spoil one, data that was changed on the way, and both sides against a partner
 * that lies, is silent, speaks nonsense or vanishes at any step. No figure is judged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure/bench/bench.h"
#include "measure/bench/net/socket.h"
#include "measure/bench/net/peer.h"
#include "measure/bench/net/place.h"
#include "measure/bench/net/rdma_serve.h"
#include "measure/bench/net/serve.h"
#include "measure/bench/net/stream.h"

/* --- messages --------------------------------------------------------------------------------- */

static void test_openings(void **state)
{
	struct opening o = { .kind = OPENING_STREAM,
			     .version = WIRE_VERSION,
			     .index = 7,
			     .test = 0x1122334455667788 },
		       back;
	uint8_t bytes[WIRE_OPENING], spoiled[WIRE_OPENING], key[WIRE_SECRET] = { 1, 2, 3 };

	(void)state;
	opening_seal(&o, key);
	opening_write(&o, bytes);
	assert_int_equal(opening_read(bytes, &back), 0);
	assert_memory_equal(&back, &o, sizeof(o));
	assert_true(opening_sealed(&back, key));
	/* Any bit changed: no opening, another version, or not sealed. */
	for (size_t bit = 0; bit < 8 * WIRE_OPENING; bit++) {
		int r;

		memcpy(spoiled, bytes, sizeof(bytes));
		spoiled[bit / 8] ^= (uint8_t)(1u << bit % 8);
		r = opening_read(spoiled, &back);
		assert_true(r == -EBADMSG || r == -EPROTO || !opening_sealed(&back, key));
	}
	key[0]++;
	assert_false(opening_sealed(&o, key));
}

static const struct wire_frame frames_of_all_kinds[] = {
	{ .kind = FRAME_START, .start = { TEST_BURST, 64, WIRE_SEGMENT_MAX, WIRE_BURST_MAX } },
	{ .kind = FRAME_STARTED, .started = { 0x8877665544332211, true, false } },
	{ .kind = FRAME_READY },
	{ .kind = FRAME_COUNT },
	{ .kind = FRAME_COUNTS, .counts = { 1, 2, 3, UINT64_MAX, 5, 6, 7, COUNTS_LOOPBACK } },
	{ .kind = FRAME_STOP },
	{ .kind = FRAME_ERROR, .error = { "it broke" } },
	{ .kind = FRAME_BYE },
	{ .kind = FRAME_VERBS,
	  .verbs = { 0xffffff, 1, 0xdeadbeef, 1ull << 63, 4096, 3, 5, 2, { 0xfe, 0x80 } } },
};

static void test_frames(void **state)
{
	static const uint8_t key[WIRE_SECRET] = { 9 };

	(void)state;
	for (size_t i = 0; i < sizeof(frames_of_all_kinds) / sizeof(frames_of_all_kinds[0]); i++) {
		struct wire_side client, server, here;
		struct wire_frame back;
		uint8_t bytes[WIRE_FRAME_MAX], spoiled[WIRE_FRAME_MAX];
		size_t n, total;

		wire_sides(key, &client, &server);
		here = client;
		n = frame_write(&frames_of_all_kinds[i], &client, bytes);
		assert_int_equal(frame_length(bytes, &total), 0);
		assert_int_equal(total, n);
		/* With the other direction's key: as if our own frame were sent back. */
		assert_int_equal(frame_read(bytes, n, &server, &back), -EKEYREJECTED);
		for (size_t bit = 0; bit < 8 * n; bit++) {
			memcpy(spoiled, bytes, n);
			spoiled[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_int_not_equal(frame_read(spoiled, n, &here, &back), 0);
		}
		for (size_t cut = 0; cut < n; cut++)
			assert_int_not_equal(frame_read(bytes, cut, &here, &back), 0);
		assert_int_equal(frame_read(bytes, n, &here, &back), 0);
		assert_memory_equal(&back, &frames_of_all_kinds[i], sizeof(back));
		/* The same once more. */
		assert_int_equal(frame_read(bytes, n, &here, &back), -EKEYREJECTED);
	}
}

/* Sealed as they should be, but with numbers that no side may send. */
static void test_frame_bounds(void **state)
{
	static const struct wire_frame bad[] = {
		{ .kind = FRAME_START, .start = { 0, 1, 0, 0 } },
		{ .kind = FRAME_START, .start = { TEST_KINDS, 1, 0, 0 } },
		{ .kind = FRAME_START, .start = { TEST_SEND, 0, 0, 0 } },
		{ .kind = FRAME_START, .start = { TEST_SEND, WIRE_STREAMS_MAX + 1, 0, 0 } },
		{ .kind = FRAME_START, .start = { TEST_SEND, 1, WIRE_SEGMENT_MAX + 1, 0 } },
		{ .kind = FRAME_START, .start = { TEST_BURST, 1, 0, WIRE_BURST_MAX + 1 } },
		{ .kind = FRAME_COUNTS, .counts = { .flags = 4 } },
		{ .kind = FRAME_VERBS, .verbs = { .qp = 1 << 24, .mtu = 1, .link = 1 } },
		{ .kind = FRAME_VERBS, .verbs = { .mtu = 6, .link = 1 } },
		{ .kind = FRAME_VERBS, .verbs = { .mtu = 1, .link = 3 } },
	};
	static const uint8_t key[WIRE_SECRET] = { 9 };
	uint8_t head[WIRE_HEAD] = { 0 };
	size_t total;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct wire_side client, server, here;
		uint8_t bytes[WIRE_FRAME_MAX];
		struct wire_frame back;
		size_t n;

		wire_sides(key, &client, &server);
		here = client;
		n = frame_write(&bad[i], &client, bytes);
		assert_int_equal(frame_read(bytes, n, &here, &back), -EBADMSG);
	}
	head[4] = FRAME_BYE;
	head[1] = 0xff;
	assert_int_equal(frame_length(head, &total), -EBADMSG);
	head[1] = 0;
	assert_int_equal(frame_length(head, &total), 0);
	head[4] = FRAME_KINDS;
	assert_int_equal(frame_length(head, &total), -EBADMSG);
	head[4] = 0;
	assert_int_equal(frame_length(head, &total), -EBADMSG);
}

/* What the other side says may end up on a terminal. */
static void test_error_text(void **state)
{
	static const uint8_t key[WIRE_SECRET] = { 9 };
	struct wire_frame f = { .kind = FRAME_ERROR, .error = { "a\033[2Jb\nc\x80" } }, back;
	struct wire_side client, server, here;
	uint8_t bytes[WIRE_FRAME_MAX];
	size_t n;

	(void)state;
	wire_sides(key, &client, &server);
	here = client;
	n = frame_write(&f, &client, bytes);
	assert_int_equal(frame_read(bytes, n, &here, &back), 0);
	assert_string_equal(back.error.text, "a?[2Jb?c?");
}

/* --- data ------------------------------------------------------------------------------------- */

static uint8_t *stream_bytes(uint64_t test, size_t index, size_t n)
{
	uint8_t *all = malloc(n), *buffer = malloc(STREAM_BUFFER);

	assert_non_null(all);
	assert_non_null(buffer);
	stream_fill(buffer, test);
	for (size_t at = 0; at < n; at += STREAM_BUFFER) {
		stream_mark(buffer, test, index, at);
		memcpy(all + at, buffer, STREAM_BUFFER);
	}
	free(buffer);
	return all;
}

/* Fed in pieces as a socket would. */
static uint64_t wrong_blocks(const uint8_t *all, size_t n, size_t piece)
{
	uint8_t *pattern = malloc(STREAM_BUFFER);
	struct stream_check c = { .test = 42, .index = 3, .pattern = pattern };

	assert_non_null(pattern);
	stream_fill(pattern, 42);
	while (c.seen < n) {
		size_t k = piece < n - c.seen ? piece : n - c.seen;

		stream_check(&c, all + c.seen, k);
	}
	free(pattern);
	return c.wrong;
}

static void test_data(void **state)
{
	const size_t n = 8 * STREAM_BUFFER;
	uint8_t *all = stream_bytes(42, 3, n), *other = stream_bytes(42, 4, n);

	(void)state;
	assert_int_equal(wrong_blocks(all, n, 1000), 0);
	assert_int_equal(wrong_blocks(all, n, STREAM_BUFFER), 0);
	assert_int_equal(wrong_blocks(all, n - 1, 77777), 0);
	/* Another stream's data, and a byte that is missing. */
	assert_int_equal(wrong_blocks(other, n, 4096), n / STREAM_BLOCK);
	assert_true(wrong_blocks(all + 1, n - STREAM_BUFFER, 4096) > 0);
	/* Pieces that cut a mark, and one that holds many blocks. */
	assert_int_equal(wrong_blocks(all, n, 7), 0);
	assert_int_equal(wrong_blocks(all, n, n), 0);
	/* A bit of a block that is compared whole: the 16th; its first byte after the mark and its
	 * last. */
	for (size_t i = 0; i < 3; i++) {
		const size_t at[] = { STREAM_MARK, 30000, STREAM_BLOCK - 1 };

		all[15 * STREAM_BLOCK + at[i]] ^= 4;
		assert_int_equal(wrong_blocks(all, n, 4096), 1);
		assert_int_equal(wrong_blocks(all, n, 7), 1);
		assert_int_equal(wrong_blocks(all, n, n), 1);
		all[15 * STREAM_BLOCK + at[i]] ^= 4;
	}
	/* A bit of a mark. */
	all[4 * STREAM_BLOCK + 15] ^= 1;
	assert_int_equal(wrong_blocks(all, n, 7), 1);
	all[4 * STREAM_BLOCK + 15] ^= 1;
	/* Two blocks swapped. */
	memcpy(other, all + STREAM_BLOCK, STREAM_BLOCK);
	memmove(all + STREAM_BLOCK, all + 2 * STREAM_BLOCK, STREAM_BLOCK);
	memcpy(all + 2 * STREAM_BLOCK, other, STREAM_BLOCK);
	assert_int_equal(wrong_blocks(all, n, 4096), 2);
	free(all);
	free(other);
}

/* A connection over loopback, both ends. */
static void connection(int *from, int *to)
{
	struct net_address a;
	struct err e;
	struct net_wait w = { 5000, NULL };
	int listener;

	assert_int_equal(net_address_parse("127.0.0.1:0", true, &a, &e), 0);
	assert_int_equal(serve_listen(&a, &listener, &e), 0);
	*from = net_dial(&a, 0, &w);
	assert_true(*from >= 0);
	*to = accept(listener, NULL, NULL);
	assert_true(*to >= 0);
	close(listener);
}

/* More connections than CPUs, each thread with several; all move, and arrive as they were sent. */
static void test_turns(void **state)
{
	enum { N = 7 };
	struct streams *out, *in;
	struct frame_counts c = { 0 }, all = { 0 };
	struct idset one = { 0 };
	struct arena a = { 0 };
	int from[N], to[N];
	struct err e;

	(void)state;
	idset_add(&a, &one, 0);
	for (size_t i = 0; i < N; i++)
		connection(&from[i], &to[i]);
	/* Pieces that are not whole buffers: one of them takes very little at once. */
	setsockopt(to[3], SOL_SOCKET, SO_RCVBUF, &(int){ 4096 }, sizeof(int));
	setsockopt(from[3], SOL_SOCKET, SO_SNDBUF, &(int){ 4096 }, sizeof(int));
	assert_int_equal(streams_start(STREAM_RECEIVER, to, N, 42, 0, &one, &in, &e), 0);
	assert_int_equal(streams_start(STREAM_SENDER, from, N, 42, 0, NULL, &out, &e), 0);
	for (int i = 0; i < 1000 && c.bytes < 100 << 20; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		streams_count(in, &c);
	}
	assert_true(c.bytes >= 100 << 20);
	assert_int_equal(streams_error(in), 0);
	assert_int_equal(streams_finish(out), 0);
	assert_int_equal(streams_finish(in), 0);
	streams_count(in, &c);
	streams_count(out, &all);
	assert_int_equal(c.bytes, all.bytes);
	assert_int_equal(c.wrong, 0);
	for (size_t i = 0; i < N; i++) {
		struct tcp_info info = { 0 };
		socklen_t len = sizeof(info);

		assert_int_equal(getsockopt(streams_fd(in, i), IPPROTO_TCP, TCP_INFO, &info, &len),
				 0);
		/* An emulator of another processor takes it for an option of one word. */
		if (len == sizeof(int))
			continue;
		assert_true(info.tcpi_bytes_received > (i == 3 ? 0 : STREAM_BUFFER));
		/* Over loopback larger than any frame of Ethernet; after the end too. */
		assert_true(stream_segment(streams_fd(out, 0)) > 9000);
	}
	streams_end(out);
	streams_end(in);
	arena_free(&a);
}

/* The other side says something else than what it was asked for: seen; and goes away: an end. */
static void test_turns_wrong(void **state)
{
	struct streams *out, *in;
	struct frame_counts c = { 0 };
	int from[2], to[2];
	struct err e;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		connection(&from[i], &to[i]);
	assert_int_equal(streams_start(STREAM_RECEIVER, to, 2, 42, 0, NULL, &in, &e), 0);
	assert_int_equal(streams_start(STREAM_SENDER, from, 2, 43, 0, NULL, &out, &e), 0);
	for (int i = 0; i < 1000 && !c.wrong; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		streams_count(in, &c);
	}
	assert_true(c.wrong > 0);
	/* By force: nothing goes to the other side any more. */
	streams_end(out);
	streams_finish(in);
	streams_end(in);
}

/* What RDMA writes leave: the last messages, one a slot. */
static void test_ring(void **state)
{
	static const size_t sizes[] = { 16, 4096, 64 << 10, 1 << 20, 4 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = sizes[i], slots = rdma_slots(size), bytes = slots * size;
		uint8_t *like = calloc(1, bytes), *ring = calloc(1, bytes);
		uint64_t wrong, last = 3 * slots + 1;

		assert_non_null(like);
		assert_non_null(ring);
		assert_true(slots >= 2 && slots <= RDMA_DEPTH);
		rdma_fill(like, size, 42);
		assert_int_equal(rdma_arrived(ring, size, 42, like, &wrong), 0);
		assert_int_equal(wrong, 0);
		memcpy(ring, like, bytes);
		assert_int_equal(rdma_arrived(ring, size, 42, like, &wrong), slots);
		assert_int_equal(rdma_arrived(ring, size, 43, like, &wrong), 0);
		for (uint64_t k = slots; k < last; k++)
			rdma_mark(ring, size, 42, k);
		assert_int_equal(rdma_arrived(ring, size, 42, like, &wrong), last);
		assert_int_equal(wrong, 0);
		assert_true(rdma_there(ring, size, 42, last - 1, like));
		assert_false(rdma_there(ring, size, 42, last, NULL));
		/* One that never came, and one that came spoiled. */
		rdma_unmark(ring, size, last - 2);
		assert_int_equal(rdma_arrived(ring, size, 42, like, &wrong), last);
		assert_int_equal(wrong, 1);
		rdma_mark(ring, size, 42, last - 2);
		if (size > 16) {
			ring[bytes - 1] ^= 1;
			rdma_arrived(ring, size, 42, like, &wrong);
			assert_int_equal(wrong, 1);
		}
		free(like);
		free(ring);
	}
}

/* Sizes that a client has no business asking for, and a machine without any RDMA device. */
static void test_no_rdma(void **state)
{
	static const struct frame_start_test bad[] = {
		{ TEST_RDMA_WRITE, 1, 0, 0 },  { TEST_RDMA_WRITE, 1, 0, 8 },
		{ TEST_RDMA_WRITE, 1, 0, 20 }, { TEST_RDMA_READ, 1, 0, RDMA_MESSAGE_MOST + 8 },
		{ TEST_RDMA_PING, 1, 0, 4 },   { TEST_RDMA_PING, 1, 0, RDMA_PING_MOST + 8 },
	};
	struct machine m = { 0 };
	struct arena a = { 0 };
	struct frame f = { .env = { .a = &a, .m = &m, .small = true } };
	struct record r = { 0 };
	struct rdma_serve *s = NULL;
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(rdma_serve_start(&bad[i], 1, "", &s, &e), -EINVAL);
	assert_int_equal(frame_run(&f, &bench_rdma, NULL, &r), -ENODATA);
	assert_int_equal(frame_run(&f, &bench_rdma_latency, "loopback:", &r), -ENODATA);
	assert_non_null(strstr(r.skipped[0].reason, "no RDMA device"));
	arena_free(&a);
}

/* --- small things ----------------------------------------------------------------------------- */

static void test_addresses(void **state)
{
	static const struct {
		const char *text, *want;
	} good[] = { { "127.0.0.1", "127.0.0.1:21187" },
		     { "127.0.0.1:99", "127.0.0.1:99" },
		     { "::1", "[::1]:21187" },
		     { "[::1]", "[::1]:21187" },
		     { "[::1]:5", "[::1]:5" } };
	static const char *const bad[] = {
		"",	  ":5",	  "127.0.0.1:", "127.0.0.1:x",	"127.0.0.1:65536", "[::1",
		"[::1]5", "[]:5", "1.2.3.4.5",	"host.example", "127.0.0.1:-1"
	};
	struct net_address a;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(net_address_parse(good[i].text, true, &a, &e), 0);
		assert_string_equal(a.text, good[i].want);
		assert_true(net_address_loopback(&a));
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(net_address_parse(bad[i], true, &a, &e) < 0);
	assert_int_equal(net_address_parse("0.0.0.0", true, &a, &e), 0);
	assert_true(net_address_any(&a));
	assert_int_equal(net_address_parse("::", true, &a, &e), 0);
	assert_true(net_address_any(&a));
}

static void test_links(void **state)
{
	struct link_bytes b = { 0 };

	(void)state;
	assert_true(
		link_parse("  eth0: 123 4 0 0 0 0 0 0 98765432109 6 0 0 0 0 0 0\n", "eth0", &b));
	assert_true(b.known && b.rx == 123 && b.tx == 98765432109);
	assert_false(link_parse("  eth0: 123 4 0 0 0 0 0 0 9 6", "eth", &b));
	assert_false(link_parse("  eth00: 123 4 0 0 0 0 0 0 9 6", "eth0", &b));
	assert_false(link_parse("  eth0: 123 4 0 0\n", "eth0", &b));
	assert_false(link_parse(" face |bytes    packets\n", "eth0", &b));
	assert_false(link_parse("", "", &b));
}

static char folder[] = "/tmp/test-bench-net-XXXXXX";

static const char *file_of(const char *name, const char *text, mode_t mode)
{
	static char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

static void test_tokens(void **state)
{
	struct token t;
	struct err e;
	char fifo[128];

	(void)state;
	assert_int_equal(token_load(file_of("t", "0123456789abcdef\r\n\n", 0600), &t, &e), 0);
	assert_int_equal(t.n, 16);
	assert_memory_equal(t.secret, "0123456789abcdef", 16);
	assert_int_equal(token_load(file_of("t", "0123456789abcdef", 0400), &t, &e), 0);
	assert_int_equal(token_load(file_of("t", "0123456789abcde\n", 0600), &t, &e), -EINVAL);
	assert_int_equal(t.n, 0);
	assert_int_equal(token_load(file_of("t", "", 0600), &t, &e), -EINVAL);
	assert_int_equal(token_load(file_of("t", "0123456789abcdef", 0644), &t, &e), -EPERM);
	assert_non_null(strstr(e.text, "0644"));
	assert_int_equal(token_load(file_of("t", "0123456789abcdef", 0620), &t, &e), -EPERM);
	assert_int_equal(token_load(folder, &t, &e), -EINVAL);
	assert_int_equal(token_load("/nonexistent/t", &t, &e), -ENOENT);
	assert_int_equal(token_load("/dev/zero", &t, &e), -EINVAL);
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(token_load(fifo, &t, &e), -EINVAL);
	unlink(fifo);
}

/* --- a server to play with -------------------------------------------------------------------- */

static const struct token secret = { "a token for tests", 17 };

struct house {
	struct serve serve;
	struct net_address address;
	atomic_bool stop;
	pthread_t thread;
	int result;
};

static void *house_main(void *arg)
{
	struct house *h = arg;
	struct err e;

	h->result = serve_run(&h->serve, &e);
	return NULL;
}

static void house_open(struct house *h)
{
	struct err e;

	*h = (struct house){ .serve = { .wake = -1, .token = &secret, .stop = &h->stop } };
	assert_int_equal(net_address_parse("127.0.0.1:0", true, &h->address, &e), 0);
	assert_int_equal(serve_listen(&h->address, &h->serve.listener, &e), 0);
	assert_int_equal(pthread_create(&h->thread, NULL, house_main, h), 0);
}

static size_t open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void house_close(struct house *h)
{
	atomic_store(&h->stop, true);
	pthread_join(h->thread, NULL);
	close(h->serve.listener);
	assert_int_equal(h->result, 0);
}

static int knock(const struct house *h)
{
	struct net_wait w = { 10000, NULL };
	int fd = net_dial(&h->address, 0, &w);

	assert_true(fd >= 0);
	return fd;
}

/* Whether the other side closes within ms. */
static bool closes(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c;

	return poll(&p, 1, ms) > 0 && recv(fd, &c, 1, 0) <= 0;
}

static const char *token_path(void)
{
	return file_of("token", "a token for tests\n", 0600);
}

static int visit(const struct house *h, struct peer *p, struct err *e)
{
	static char address[NET_TEXT];
	struct peer_ask ask = { .address = address, .token_file = token_path() };

	memcpy(address, h->address.text, sizeof(address));
	return peer_open(&ask, p, e);
}

/* One whole small test; what "still serves" means. */
static void assert_serves(const struct house *h)
{
	struct frame_start_test t = { .kind = TEST_ECHO, .streams = 1, .size = 64 };
	struct net_wait w = { 10000, NULL };
	struct peer_counts c;
	struct peer p;
	struct err e = { 0 };
	uint8_t message[64] = { 1, 2, 3 }, back[64];
	int fd;

	if (visit(h, &p, &e))
		fail_msg("%s", e.text);
	assert_int_equal(peer_start(&p, &t, &e), 0);
	fd = peer_stream(&p, 0, &e);
	assert_true(fd >= 0);
	assert_int_equal(peer_ready(&p, &e), 0);
	assert_int_equal(net_write(fd, message, 64, &w), 0);
	assert_int_equal(net_read(fd, back, 64, &w), 0);
	for (size_t i = 0; i < 64; i++)
		assert_int_equal(back[i], (uint8_t)~message[i]);
	shutdown(fd, SHUT_WR);
	assert_int_equal(peer_stop(&p, &c, &e), 0);
	assert_int_equal(c.c.bytes, 64);
	close(fd);
	peer_close(&p);
}

/* A question for counts is never left half-asked, however early the user wants to stop: its answer
 * would be taken for the next one's. */
static void test_stop_while_counting(void **state)
{
	struct frame_start_test t = { .kind = TEST_ECHO, .streams = 1, .size = 64 };
	struct net_wait w = { 10000, NULL };
	atomic_bool stop = false;
	struct peer_counts c;
	struct house h;
	struct peer p;
	struct err e = { 0 };
	uint8_t message[64] = { 0 };
	int fd;

	(void)state;
	house_open(&h);
	assert_int_equal(visit(&h, &p, &e), 0);
	p.frames.stop = &stop;
	assert_int_equal(peer_start(&p, &t, &e), 0);
	fd = peer_stream(&p, 0, &e);
	assert_true(fd >= 0);
	assert_int_equal(peer_ready(&p, &e), 0);
	stop = true;
	assert_int_equal(peer_count(&p, &c, &e), 0);
	assert_int_equal(c.c.bytes, 0);
	assert_int_equal(net_write(fd, message, 64, &w), 0);
	assert_int_equal(net_read(fd, message, 64, &w), 0);
	shutdown(fd, SHUT_WR);
	peer_finishing(&p);
	assert_int_equal(peer_stop(&p, &c, &e), 0);
	assert_int_equal(c.c.bytes, 64);
	close(fd);
	peer_close(&p);
	house_close(&h);
}

static void hello(int fd, unsigned version)
{
	struct opening o = { .kind = OPENING_HELLO, .version = version };
	uint8_t bytes[WIRE_OPENING];

	opening_write(&o, bytes);
	assert_int_equal(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
}

/* Nobody who does not know the token gets further than the challenge, and nobody is kept waiting.
 */
static void test_strangers(void **state)
{
	static const char http[] = "GET / HTTP/1.1\r\nHost: somewhere.example.org\r\nAccept: */*"
				   "\r\n\r\nand so on";
	struct net_wait w = { 10000, NULL };
	struct house h;
	struct opening o;
	uint8_t bytes[WIRE_OPENING];
	int slow, fd;

	(void)state;
	house_open(&h);
	slow = knock(&h);
	assert_int_equal(send(slow, "gputune\n", 8, MSG_NOSIGNAL), 8);
	fd = knock(&h);
	assert_true(send(fd, http, sizeof(http), MSG_NOSIGNAL) > 0);
	assert_true(closes(fd, 4000));
	close(fd);
	/* Another version: told which one this is. */
	fd = knock(&h);
	hello(fd, WIRE_VERSION + 1);
	assert_int_equal(net_read(fd, bytes, sizeof(bytes), &w), 0);
	assert_int_equal(opening_read(bytes, &o), 0);
	assert_int_equal(o.kind, OPENING_VERSION);
	assert_true(closes(fd, 4000));
	close(fd);
	/* A stream of no session, and a proof without a challenge. */
	for (int kind = OPENING_CHALLENGE; kind < OPENING_KINDS; kind++) {
		o = (struct opening){ .kind = (enum opening_kind)kind, .version = WIRE_VERSION };
		opening_write(&o, bytes);
		fd = knock(&h);
		assert_int_equal(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
		assert_true(closes(fd, 4000));
		close(fd);
	}
	/* A wrong proof, which is the server's own challenge sent back. */
	fd = knock(&h);
	hello(fd, WIRE_VERSION);
	assert_int_equal(net_read(fd, bytes, sizeof(bytes), &w), 0);
	assert_int_equal(opening_read(bytes, &o), 0);
	assert_int_equal(o.kind, OPENING_CHALLENGE);
	o.kind = OPENING_PROOF;
	opening_write(&o, bytes);
	assert_int_equal(net_write(fd, bytes, sizeof(bytes), &w), 0);
	assert_int_equal(net_read(fd, bytes, sizeof(bytes), &w), 0);
	assert_int_equal(opening_read(bytes, &o), 0);
	assert_int_equal(o.kind, OPENING_REFUSED);
	assert_true(closes(fd, 4000));
	close(fd);
	assert_serves(&h);
	/* More at once than there are places. */
	for (int i = 0; i < 200; i++)
		close(knock(&h));
	assert_serves(&h);
	/* Who says nothing is put out after five seconds. */
	assert_true(closes(slow, 15000));
	close(slow);
	house_close(&h);
}

static void test_wrong_token(void **state)
{
	struct house h;
	struct peer p;
	struct err e = { 0 };
	char address[NET_TEXT];
	struct peer_ask ask = { .address = address };

	(void)state;
	house_open(&h);
	memcpy(address, h.address.text, sizeof(address));
	assert_int_equal(peer_open(&ask, &p, &e), -EINVAL);
	assert_non_null(strstr(e.text, "--token"));
	peer_close(&p);
	ask.token_file = file_of("token", "a token for tests?", 0600);
	assert_int_equal(peer_open(&ask, &p, &e), -EKEYREJECTED);
	assert_non_null(strstr(e.text, "a different token"));
	peer_close(&p);
	assert_serves(&h);
	house_close(&h);
}

static void test_busy(void **state)
{
	struct house h;
	struct peer p, q;
	struct err e = { 0 };

	(void)state;
	house_open(&h);
	assert_int_equal(visit(&h, &p, &e), 0);
	assert_int_equal(visit(&h, &q, &e), -EBUSY);
	assert_non_null(strstr(e.text, "busy"));
	peer_close(&q);
	peer_close(&p);
	assert_serves(&h);
	house_close(&h);
}

/* A client that is gone after each step; the next one is served. */
static void test_vanishing_client(void **state)
{
	struct frame_start_test t = { .kind = TEST_RECEIVE, .streams = 2 };
	size_t files = 0;

	(void)state;
	for (int kind = TEST_SEND; kind <= TEST_CONNECT; kind++)
		for (int step = 0; step < 7; step++) {
			struct house h;
			struct peer p = { 0 };
			struct err e = { 0 };
			int fd[2] = { -1, -1 };

			house_open(&h);
			t.kind = (enum test_kind)kind;
			t.size = 64;
			t.streams = kind == TEST_CONNECT ? 1 : 2;
			if (step == 0) {
				fd[0] = knock(&h);
				hello(fd[0], WIRE_VERSION);
			}
			if (step >= 1)
				assert_int_equal(visit(&h, &p, &e), 0);
			if (step >= 2)
				assert_int_equal(peer_start(&p, &t, &e), 0);
			if (step >= 3 && kind != TEST_CONNECT)
				fd[0] = peer_stream(&p, 0, &e);
			if (step >= 4 && kind != TEST_CONNECT)
				fd[1] = peer_stream(&p, 1, &e);
			if (step >= 5)
				assert_int_equal(peer_ready(&p, &e), 0);
			if (step >= 6)
				assert_int_equal(
					frames_put(&p.frames,
						   &(struct wire_frame){ .kind = FRAME_COUNT },
						   1000),
					0);
			/* As a process that is killed: no good-bye. */
			for (int i = 0; i < 2; i++)
				if (fd[i] >= 0)
					close(fd[i]);
			if (step >= 1)
				close(p.frames.fd);
			assert_serves(&h);
			house_close(&h);
			if (!files)
				files = open_files();
			assert_int_equal(open_files(), files);
		}
}

/* Frames in an order that makes no sense, and what is sealed wrongly. */
static void test_senseless_client(void **state)
{
	static const struct wire_frame frames[] = {
		{ .kind = FRAME_READY },
		{ .kind = FRAME_COUNT },
		{ .kind = FRAME_STOP },
		{ .kind = FRAME_STARTED },
		{ .kind = FRAME_COUNTS },
		{ .kind = FRAME_VERBS, .verbs = { .mtu = 1, .link = 1 } },
		{ .kind = FRAME_START, .start = { TEST_ECHO, 1, 0, 0 } },
		{ .kind = FRAME_START, .start = { TEST_ECHO, 1, 0, STREAM_BUFFER + 1 } },
		{ .kind = FRAME_START, .start = { TEST_SEND, WIRE_STREAMS_MAX + 1, 0, 0 } },
		{ .kind = FRAME_ERROR, .error = { "no more" } },
	};
	struct house h;

	(void)state;
	house_open(&h);
	for (size_t i = 0; i <= sizeof(frames) / sizeof(frames[0]); i++) {
		struct wire_frame answer;
		struct err e = { 0 };
		struct peer p;

		assert_int_equal(visit(&h, &p, &e), 0);
		if (i < sizeof(frames) / sizeof(frames[0])) {
			assert_int_equal(frames_put(&p.frames, &frames[i], 1000), 0);
		} else {
			p.frames.out.key[5] ^= 1;
			assert_int_equal(frames_put(&p.frames, &frames[0], 1000), 0);
		}
		assert_int_equal(frames_get(&p.frames, &answer, 10000), 0);
		assert_int_equal(answer.kind, FRAME_ERROR);
		assert_true(closes(p.frames.fd, 10000));
		peer_close(&p);
	}
	assert_serves(&h);
	house_close(&h);
}

/* --- a peer that lies ------------------------------------------------------------------------- */

enum lie {
	LIE_NONE,
	LIE_MORE,	/* counts more than came */
	LIE_FAST,	/* its clock runs too slowly */
	LIE_BACK,	/* counts backwards */
	LIE_TOTAL,	/* right until the end, then a byte more */
	LIE_WRONG_DATA, /* says that blocks were spoiled */
	LIE_LINK,	/* its interface did not move */
	LIE_PROOF,	/* does not know the token */
	LIE_VERSION,
	LIE_NOISE,	/* 64 bytes of something */
	LIE_SEAL,	/* frames with another key */
	LIE_ANSWER,	/* another frame than is asked for */
	LIE_GONE_HELLO, /* closes after the first message, */
	LIE_GONE_PROOF, /* after the second, */
	LIE_GONE_START, /* after start, */
	LIE_GONE_READY, /* after ready, */
	LIE_GONE_COUNT, /* at the third count, */
	LIE_GONE_STOP,	/* at stop */
	LIES
};

struct liar {
	enum lie lie;
	int listener, control;
	struct net_address address;
	pthread_t thread, drain;
	struct frames frames;
	atomic_ullong bytes;
	int stream;
	unsigned counts;
	uint64_t start_ns;
};

static bool hear_opening(int fd, struct opening *o)
{
	struct net_wait w = { 10000, NULL };
	uint8_t bytes[WIRE_OPENING];

	return net_read(fd, bytes, sizeof(bytes), &w) == 0 && opening_read(bytes, o) == 0;
}

static void say_opening(int fd, struct opening o)
{
	struct net_wait w = { 10000, NULL };
	uint8_t bytes[WIRE_OPENING];

	opening_write(&o, bytes);
	net_write(fd, bytes, sizeof(bytes), &w);
}

static void *drain_main(void *arg)
{
	struct liar *l = arg;
	static uint8_t buffer[1 << 16];
	ssize_t n;

	while ((n = recv(l->stream, buffer, sizeof(buffer), 0)) > 0)
		atomic_fetch_add(&l->bytes, (unsigned long long)n);
	return NULL;
}

static bool liar_shakes(struct liar *l)
{
	struct opening o;
	struct wire_auth auth;
	uint8_t key[WIRE_SECRET];
	struct net_wait w = { 10000, NULL };

	if (!hear_opening(l->control, &o) || l->lie == LIE_GONE_HELLO)
		return false;
	if (l->lie == LIE_NOISE) {
		net_write(l->control,
			  "220 mail.example.org ESMTP ready to serve you all day and all night..",
			  64, &w);
		return false;
	}
	memcpy(auth.client, o.secret, WIRE_SECRET);
	memset(auth.server, 7, WIRE_SECRET);
	o = (struct opening){ .kind = OPENING_CHALLENGE,
			      .version = WIRE_VERSION + (l->lie == LIE_VERSION) };
	memcpy(o.secret, auth.server, WIRE_SECRET);
	say_opening(l->control, o);
	if (!hear_opening(l->control, &o) || l->lie == LIE_GONE_PROOF)
		return false;
	/* Without the token the best it has is what the client sent. */
	if (l->lie != LIE_PROOF)
		wire_proof(secret.secret, secret.n, &auth, PROOF_SERVER, o.secret);
	o.kind = OPENING_PROOF;
	say_opening(l->control, o);
	wire_proof(secret.secret, secret.n, &auth, PROOF_KEY, key);
	l->frames = (struct frames){ .fd = l->control };
	wire_sides(key, &l->frames.in, &l->frames.out);
	l->frames.out.key[3] ^= l->lie == LIE_SEAL;
	return l->lie != LIE_PROOF;
}

static void liar_counts(struct liar *l, bool last, struct frame_counts *c)
{
	uint64_t now = net_now_ns();

	*c = (struct frame_counts){ .bytes = atomic_load(&l->bytes),
				    .at_ns = now,
				    .cpu_ns = ++l->counts,
				    .flags = COUNTS_LOOPBACK | COUNTS_NO_NIC };
	if (l->lie == LIE_MORE)
		c->bytes += 1ull << 40;
	if (l->lie == LIE_FAST)
		c->at_ns = l->start_ns + (now - l->start_ns) / 8;
	if (l->lie == LIE_BACK)
		c->bytes = l->counts == 1;
	if (l->lie == LIE_TOTAL)
		c->bytes += last;
	c->wrong = l->lie == LIE_WRONG_DATA;
	if (l->lie == LIE_LINK)
		c->flags = 0;
}

static bool liar_answers(struct liar *l, const struct wire_frame *f)
{
	struct wire_frame a = { .kind = FRAME_STARTED, .started = { .test = 99 } };
	struct opening o;

	switch (f->kind) {
	case FRAME_START:
		if (l->lie == LIE_GONE_START)
			return false;
		if (l->lie == LIE_ANSWER)
			a = (struct wire_frame){ .kind = FRAME_COUNTS };
		break;
	case FRAME_READY:
		l->stream = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC);
		if (l->stream < 0 || !hear_opening(l->stream, &o) || l->lie == LIE_GONE_READY)
			return false;
		pthread_create(&l->drain, NULL, drain_main, l);
		a = (struct wire_frame){ .kind = FRAME_READY };
		break;
	case FRAME_STOP:
		if (l->lie == LIE_GONE_STOP)
			return false;
		pthread_join(l->drain, NULL);
		l->drain = 0;
		a.kind = FRAME_COUNTS;
		liar_counts(l, true, &a.counts);
		break;
	case FRAME_COUNT:
		if (l->lie == LIE_GONE_COUNT && l->counts >= 2)
			return false;
		a.kind = FRAME_COUNTS;
		liar_counts(l, false, &a.counts);
		break;
	default:
		return false;
	}
	return frames_put(&l->frames, &a, 1000) == 0;
}

static void *liar_main(void *arg)
{
	struct liar *l = arg;
	struct wire_frame f;

	l->stream = -1;
	l->control = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC);
	l->start_ns = net_now_ns();
	if (liar_shakes(l))
		while (frames_get(&l->frames, &f, 10000) == 0 && liar_answers(l, &f))
			continue;
	close(l->control);
	if (l->stream >= 0) {
		shutdown(l->stream, SHUT_RDWR);
		if (l->drain)
			pthread_join(l->drain, NULL);
		close(l->stream);
	}
	return NULL;
}

/* The tcp bench, one stream, against it. The first error, or 0. */
static int measure_liar(enum lie lie, struct err *e)
{
	struct liar l = { .lie = lie };
	struct machine m = { 0 };
	struct arena a = { 0 };
	struct bench_env env = { .a = &a, .m = &m, .small = true };
	struct bench_cases cases = { 0 };
	struct bench_sample sample = { 0 };
	const struct bench *b = &bench_tcp;
	const char *variant;
	struct err ignored;
	void *state;
	int r;

	idset_add(&a, &env.cpus, 0);
	assert_int_equal(net_address_parse("127.0.0.1:0", true, &l.address, e), 0);
	assert_int_equal(serve_listen(&l.address, &l.listener, &ignored), 0);
	assert_int_equal(fcntl(l.listener, F_SETFL, 0), 0);
	assert_int_equal(pthread_create(&l.thread, NULL, liar_main, &l), 0);
	env.ask.peer = l.address.text;
	env.ask.token = token_path();
	b->cases(&env, &cases);
	assert_string_equal(cases.items[0].name, "send:1");
	r = bench_set_up(b, &env, &cases.items[0], &state, &variant, e);
	if (r == 0) {
		/* As over a wire: otherwise nobody asks the interface. */
		for (int i = 0; r == 0 && i < 5; i++)
			r = b->run(state, &sample, e);
		r = r ? r : b->verify(state, e);
		bench_tear_down(b, state);
	}
	pthread_join(l.thread, NULL);
	close(l.listener);
	arena_free(&a);
	return r;
}

static void test_liars(void **state)
{
	static const struct {
		int code;
		const char *says;
	} want[LIES] = {
		[LIE_MORE] = { -EPROTO, "but only" },
		[LIE_FAST] = { -EPROTO, "are not trusted" },
		[LIE_BACK] = { -EPROTO, "backwards" },
		[LIE_TOTAL] = { -EPROTO, "were sent" },
		[LIE_WRONG_DATA] = { -EILSEQ, "other data than was sent" },
		[LIE_LINK] = { 0, "" }, /* both ends are loopback addresses: nobody asks */
		[LIE_PROOF] = { -EKEYREJECTED, "could not prove that it has the token" },
		[LIE_VERSION] = { -EPROTO, "version 3" },
		[LIE_NOISE] = { -EBADMSG, "protocol" },
		[LIE_SEAL] = { -EKEYREJECTED, "another program answered" },
		[LIE_ANSWER] = { -EBADMSG, "protocol" },
		[LIE_GONE_HELLO] = { -ECONNRESET, "closed the connection" },
		[LIE_GONE_PROOF] = { -ECONNRESET, "closed the connection" },
		[LIE_GONE_START] = { -ECONNRESET, "closed the connection" },
		[LIE_GONE_READY] = { -ECONNRESET, "closed the connection" },
		[LIE_GONE_COUNT] = { -ECONNRESET, "closed the connection" },
		[LIE_GONE_STOP] = { -ECONNRESET, "closed the connection" },
	};
	size_t files = open_files();

	(void)state;
	for (int lie = 0; lie < LIES; lie++) {
		struct err e = { 0 };
		int r = measure_liar((enum lie)lie, &e);

		if (r != want[lie].code || (r && !strstr(e.text, want[lie].says)))
			fail_msg("lie %d: %d, %s", lie, r, e.text);
		assert_int_equal(open_files(), files);
	}
}

/* --- the benches ------------------------------------------------------------------------------ */

static const struct bench *const network_benches[] = { &bench_tcp, &bench_tcp_latency,
						       &bench_tcp_connect, &bench_tcp_idle };

/* Every case over loopback, through the frame, data checked; no child is left. */
static void test_loopback(void **state)
{
	struct machine m = { 0 };
	struct arena a = { 0 };
	struct frame f = { .env = { .a = &a, .m = &m, .small = true }, .samples = 3 };
	struct record r = { 0 };

	(void)state;
	idset_add(&a, &f.env.cpus, 0);
	frame_start(&f);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(frame_run(&f, network_benches[i], "loopback:", &r), 0);
	assert_true(r.n > 10);
	for (size_t i = 0; i < r.n; i++) {
		if (r.cases[i].error)
			fail_msg("%s %s: %s", r.cases[i].bench, r.cases[i].name, r.cases[i].error);
		assert_true(r.cases[i].verified);
		assert_true(r.cases[i].n >= 3);
		assert_true(r.cases[i].series[0].x[0] > 0);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	arena_free(&a);
}

static void test_no_peer(void **state)
{
	struct machine m = { 0 };
	struct arena a = { 0 };
	struct frame f = { .env = { .a = &a, .m = &m, .small = true }, .samples = 3 };
	struct record r = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(frame_run(&f, network_benches[i], NULL, &r), -EINVAL);
		assert_non_null(strstr(r.skipped[i].reason, "--peer"));
	}
	r.n_skipped = 0;
	frame_run_all(&f, network_benches, 4, &r);
	assert_int_equal(r.n, 0);
	assert_int_equal(r.n_skipped, 4);
	/* What was named and can be known wrong: before anything is measured. */
	f.env.ask.peer = "127.0.0.1:1";
	for (size_t i = 0; i < 4; i++) {
		r.n_skipped = 0;
		f.env.ask.token = i ? file_of("token", "short\n", 0600) : NULL;
		assert_int_equal(frame_run(&f, network_benches[i], NULL, &r), -EINVAL);
		assert_non_null(strstr(r.skipped[0].reason, i ? "a token has" : "--token"));
	}
	f.env.ask.token = token_path();
	f.env.ask.peer = "[::1";
	r.n_skipped = 0;
	assert_int_equal(frame_run(&f, network_benches[0], NULL, &r), -EINVAL);
	assert_non_null(strstr(r.skipped[0].reason, "is not an address"));
	assert_int_equal(r.n, 0);
	arena_free(&a);
}

/* Nothing listens there; a server that accepts and then says nothing. */
static void test_silence(void **state)
{
	struct net_address where;
	struct peer p;
	struct err e = { 0 };
	char address[NET_TEXT];
	struct peer_ask ask = { .address = address, .token_file = token_path() };
	int listener;
	long long begin;

	(void)state;
	assert_int_equal(net_address_parse("127.0.0.1:0", true, &where, &e), 0);
	assert_int_equal(serve_listen(&where, &listener, &e), 0);
	memcpy(address, where.text, sizeof(address));
	begin = net_now_ms();
	assert_int_equal(peer_open(&ask, &p, &e), -ETIMEDOUT);
	assert_in_range(net_now_ms() - begin, PEER_DIAL_MS - 500, PEER_DIAL_MS + 3000);
	peer_close(&p);
	close(listener);
	assert_int_equal(peer_open(&ask, &p, &e), -ECONNREFUSED);
	assert_non_null(strstr(e.text, "nothing listens"));
	peer_close(&p);
}

struct stop_on_call {
	int listener;
	atomic_bool *stop;
};

/* Ctrl-C while the other side is silent: somebody has called it. */
static void *stop_on_call(void *arg)
{
	struct stop_on_call *s = arg;

	poll(&(struct pollfd){ .fd = s->listener, .events = POLLIN }, 1, -1);
	atomic_store(s->stop, true);
	return NULL;
}

static void test_stop(void **state)
{
	struct net_address where;
	atomic_bool stop = false;
	struct peer p;
	struct err e = { 0 };
	char address[NET_TEXT];
	struct peer_ask ask = { .address = address, .token_file = token_path(), .stop = &stop };
	struct stop_on_call call = { .stop = &stop };
	pthread_t thread;
	int listener;
	long long begin = net_now_ms();

	(void)state;
	assert_int_equal(net_address_parse("127.0.0.1:0", true, &where, &e), 0);
	assert_int_equal(serve_listen(&where, &listener, &e), 0);
	memcpy(address, where.text, sizeof(address));
	call.listener = listener;
	assert_int_equal(pthread_create(&thread, NULL, stop_on_call, &call), 0);
	assert_int_equal(peer_open(&ask, &p, &e), -EINTR);
	assert_true(net_now_ms() - begin < 4500);
	pthread_join(thread, NULL);
	peer_close(&p);
	close(listener);
}

static void test_listen(void **state)
{
	static const char *const all[] = { "0.0.0.0:0", "[::]:0" };
	struct net_address a;
	struct err e;
	int fd;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(net_address_parse(all[i], true, &a, &e), 0);
		assert_int_equal(serve_listen(&a, &fd, &e), -EINVAL);
		assert_non_null(strstr(e.text, "every address"));
	}
	assert_int_equal(net_address_parse("192.0.2.1:0", true, &a, &e), 0);
	assert_int_equal(serve_listen(&a, &fd, &e), -EADDRNOTAVAIL);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/t", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/token", folder);
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_openings),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_frame_bounds),
		cmocka_unit_test(test_error_text),
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_turns_wrong),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_no_rdma),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_listen),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_wrong_token),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_vanishing_client),
		cmocka_unit_test(test_senseless_client),
		cmocka_unit_test(test_liars),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_stop_while_counting),
		cmocka_unit_test(test_no_peer),
		cmocka_unit_test(test_loopback),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
