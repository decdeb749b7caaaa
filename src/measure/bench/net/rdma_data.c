/* SPDX-License-Identifier: Apache-2.0 */
/* Slots, marks and counters of RDMA tests. */
#include "measure/bench/net/rdma_data.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stat.h"

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

static bool number(const struct verbs_port *p, const char *name, uint64_t *out)
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
	if (number(p, "port_xmit_data", &out.tx) && number(p, "port_rcv_data", &out.rx)) {
		out.known = true;
		out.tx *= 4;
		out.rx *= 4;
		return out;
	}
	memcpy(l.name, p->netdev, sizeof(l.name));
	return link_count(&l);
}
