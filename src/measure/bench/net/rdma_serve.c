/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The serving side of RDMA tests. Writes and reads need nobody here; messages and answers have a
 * thread that looks without pause, and gives its CPU away when nothing comes.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/net/rdma_serve.h"
#include "base/stat.h"

enum { BATCH = 16 };

struct rdma_serve {
	struct frame_start_test t;
	uint64_t test;
	struct verbs_port port;
	struct verbs_pair pair;
	uint8_t *like; /* the ring as it was sent */
	pthread_t thread;
	bool running, arrived;
	atomic_bool stop;
	atomic_ullong messages, wrong;
};

static void take_messages(struct rdma_serve *s)
{
	size_t slots = rdma_slots(s->t.size);
	struct verbs_done done[BATCH];
	uint64_t next = 0;
	struct rdma_spin spin = { 0 };

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		int n = verbs_poll(&s->pair, done, BATCH);

		if (n < 0)
			return;
		if (n)
			spin = (struct rdma_spin){ 0 };
		else
			rdma_spin(&spin);
		for (int i = 0; i < n; i++, next++) {
			bool whole = next % RDMA_SAMPLED == RDMA_SAMPLED - 1;

			if (done[i].status)
				return;
			if (done[i].bytes != s->t.size ||
			    !rdma_there(s->pair.memory, s->t.size, s->test, next,
					whole ? s->like : NULL))
				atomic_fetch_add(&s->wrong, 1);
			if (verbs_post_receive(&s->pair, next % slots * s->t.size, s->t.size, 0))
				return;
			atomic_store_explicit(&s->messages, next + 1, memory_order_release);
		}
	}
}

/* False when it failed, or is to end. */
static bool completed(struct rdma_serve *s)
{
	struct rdma_spin spin = { 0 };
	struct verbs_done done;
	int n;

	while ((n = verbs_poll(&s->pair, &done, 1)) == 0) {
		rdma_spin(&spin);
		if (atomic_load_explicit(&s->stop, memory_order_relaxed))
			return false;
	}
	return n > 0 && !done.status;
}

static void answer_pings(struct rdma_serve *s)
{
	size_t at = s->t.size - sizeof(uint64_t);
	_Atomic uint64_t *in = (_Atomic uint64_t *)(void *)(s->pair.memory + at);
	uint64_t *out = (uint64_t *)(void *)(s->pair.memory + RDMA_PING_BACK + at);
	struct rdma_spin spin = { 0 };

	for (uint64_t next = 1; !atomic_load_explicit(&s->stop, memory_order_relaxed);) {
		if (atomic_load_explicit(in, memory_order_acquire) != next) {
			rdma_spin(&spin);
			continue;
		}
		spin = (struct rdma_spin){ 0 };
		*out = ~next;
		if (verbs_post(&s->pair, VERBS_WRITE, RDMA_PING_BACK, s->t.size, next, true) ||
		    !completed(s))
			return;
		atomic_store_explicit(&s->messages, next++, memory_order_relaxed);
	}
}

static void *rdma_serve_main(void *arg)
{
	struct rdma_serve *s = arg;

	if (s->t.kind == TEST_RDMA_SEND)
		take_messages(s);
	else
		answer_pings(s);
	return NULL;
}

static int rdma_serve_prepare(struct rdma_serve *s, struct err *e)
{
	size_t slots = s->t.kind == TEST_RDMA_PING ? 0 : rdma_slots(s->t.size);
	struct verbs_want want = rdma_want(&s->t);
	int r = verbs_pair_open(&s->port, &want, &s->pair, e);

	if (r || !slots)
		return r;
	s->like = heap_array(slots, s->t.size);
	rdma_fill(s->like, s->t.size, s->test);
	if (s->t.kind == TEST_RDMA_READ)
		memcpy(s->pair.memory, s->like, slots * s->t.size);
	for (size_t i = 0; r == 0 && s->t.kind == TEST_RDMA_SEND && i < slots; i++)
		r = verbs_post_receive(&s->pair, i * s->t.size, s->t.size, 0);
	return r ? err_set(e, r, "cannot receive messages: %s", strerror(-r)) : 0;
}

int rdma_serve_start(const struct frame_start_test *t, uint64_t test, const char *netdev,
		     struct rdma_serve **out, struct err *e)
{
	bool ping = t->kind == TEST_RDMA_PING;
	struct rdma_serve *s;
	int r;

	if (t->size % sizeof(uint64_t) || t->size < (ping ? 8 : RDMA_MESSAGE_LEAST) ||
	    t->size > (ping ? RDMA_PING_MOST : RDMA_MESSAGE_MOST))
		return err_set(e, -EINVAL, "messages of %u bytes are not supported", t->size);
	s = heap_array(1, sizeof(*s));
	s->t = *t;
	s->test = test;
	r = verbs_port_open(netdev, &s->port, e);
	r = r ? r : rdma_serve_prepare(s, e);
	if (r) {
		rdma_serve_end(s);
		return r;
	}
	*out = s;
	return 0;
}

int rdma_serve_connect(struct rdma_serve *s, const struct frame_verbs *theirs,
		       struct frame_verbs *own, struct err *e)
{
	int r;

	if (s->running || s->pair.theirs.length)
		return err_set(e, -EALREADY, "it is already connected");
	r = verbs_pair_connect(&s->pair, theirs, e);
	if (r)
		return r;
	*own = s->pair.own;
	if (s->t.kind != TEST_RDMA_SEND && s->t.kind != TEST_RDMA_PING)
		return 0;
	r = -pthread_create(&s->thread, NULL, rdma_serve_main, s);
	s->running = r == 0;
	return r ? err_set(e, r, "cannot create a thread: %s", strerror(-r)) : 0;
}

static void join(struct rdma_serve *s)
{
	atomic_store(&s->stop, true);
	if (s->running)
		pthread_join(s->thread, NULL);
	s->running = false;
}

void rdma_serve_finish(struct rdma_serve *s)
{
	uint64_t wrong;

	join(s);
	if (s->t.kind != TEST_RDMA_WRITE)
		return;
	atomic_store(&s->messages,
		     rdma_arrived(s->pair.memory, s->t.size, s->test, s->like, &wrong));
	atomic_store(&s->wrong, wrong);
}

void rdma_serve_count(struct rdma_serve *s, struct frame_counts *out)
{
	struct link_bytes b = rdma_count(&s->port);

	out->bytes = atomic_load_explicit(&s->messages, memory_order_acquire) * s->t.size;
	out->at_ns = net_now_ns();
	out->wrong = atomic_load(&s->wrong);
	out->nic_rx = b.rx;
	out->nic_tx = b.tx;
	out->flags = b.known ? 0 : COUNTS_NO_NIC;
}

void rdma_serve_end(struct rdma_serve *s)
{
	if (!s)
		return;
	join(s);
	if (s->pair.port)
		verbs_pair_close(&s->pair);
	verbs_port_close(&s->port);
	free(s->like);
	free(s);
}

/* Slots, marks and counters of RDMA tests. */

enum { SPIN_EAGER = 4096, SPIN_YIELD = 128, SPIN_CLOCK = 16 * SPIN_YIELD };

struct mark {
	uint64_t test, message;
};

size_t rdma_slots(size_t size)
{
	size_t n = RDMA_RING / size;

	return n > RDMA_DEPTH ? RDMA_DEPTH : n < 2 ? 2 : n;
}

struct verbs_want rdma_want(const struct frame_start_test *t)
{
	bool ping = t->kind == TEST_RDMA_PING;

	return (struct verbs_want){ .bytes = ping ? RDMA_PING_BACK + RDMA_PING_MOST
						  : rdma_slots(t->size) * t->size,
				    .depth = 2 * RDMA_DEPTH,
				    .inlined = ping ? RDMA_INLINED : 0 };
}

static uint8_t *slot(const uint8_t *ring, size_t size, uint64_t message)
{
	return (uint8_t *)(uintptr_t)ring + message % rdma_slots(size) * size;
}

void rdma_mark(uint8_t *ring, size_t size, uint64_t test, uint64_t message)
{
	struct mark m = { test, message };

	memcpy(slot(ring, size, message), &m, sizeof(m));
}

void rdma_unmark(uint8_t *ring, size_t size, uint64_t message)
{
	memset(slot(ring, size, message), 0xff, sizeof(struct mark));
}

void rdma_fill(uint8_t *ring, size_t size, uint64_t test)
{
	size_t bytes = rdma_slots(size) * size;
	struct stat_random r = { test };

	for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
		uint64_t v = stat_random_next(&r);

		memcpy(ring + i, &v, bytes - i < sizeof(v) ? bytes - i : sizeof(v));
	}
	for (size_t i = 0; i < rdma_slots(size); i++)
		rdma_mark(ring, size, test, i);
}

bool rdma_there(const uint8_t *ring, size_t size, uint64_t test, uint64_t message,
		const uint8_t *like)
{
	const uint8_t *at = slot(ring, size, message);
	struct mark m;

	memcpy(&m, at, sizeof(m));
	if (m.test != test || m.message != message)
		return false;
	return !like ||
	       memcmp(at + sizeof(m), slot(like, size, message) + sizeof(m), size - sizeof(m)) == 0;
}

uint64_t rdma_arrived(const uint8_t *ring, size_t size, uint64_t test, const uint8_t *like,
		      uint64_t *wrong)
{
	size_t slots = rdma_slots(size);
	uint64_t count = 0;
	struct mark m;

	*wrong = 0;
	for (size_t i = 0; i < slots; i++) {
		memcpy(&m, slot(ring, size, i), sizeof(m));
		if (m.test == test && m.message % slots == i && m.message >= count)
			count = m.message + 1;
	}
	/* The last ones of the count, one a slot. */
	for (uint64_t i = count > slots ? count - slots : 0; i < count; i++)
		*wrong += !rdma_there(ring, size, test, i, like);
	return count;
}

bool rdma_spin(struct rdma_spin *s)
{
	uint64_t now;

	if (++s->n < SPIN_EAGER || s->n % SPIN_YIELD)
		return false;
	sched_yield();
	if (s->n % SPIN_CLOCK)
		return false;
	now = net_now_ns();
	if (!s->told_ns)
		s->told_ns = now;
	if (now - s->told_ns < 1000000)
		return false;
	s->told_ns = now;
	return true;
}

static bool rdma_serve_number(const struct verbs_port *p, const char *name, uint64_t *out)
{
	char path[192], line[32];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/counters/%s", p->device,
		 p->number, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(line, sizeof(line), f) != NULL;
	fclose(f);
	*out = ok ? strtoull(line, NULL, 10) : 0;
	return ok;
}

struct link_bytes rdma_count(const struct verbs_port *p)
{
	struct link_bytes out = { 0 };
	struct net_link l = { 0 };

	/* They count words of four bytes. */
	if (rdma_serve_number(p, "port_xmit_data", &out.tx) &&
	    rdma_serve_number(p, "port_rcv_data", &out.rx)) {
		out.known = true;
		out.tx *= 4;
		out.rx *= 4;
		return out;
	}
	memcpy(l.name, p->netdev, sizeof(l.name));
	return link_count(&l);
}
