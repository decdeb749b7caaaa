/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How libFuzzer changes inputs of sections (fuzz_host.h): within one section, or by a section more,
 * whose key is something that the machine is asked and whose bytes are what it answers. Without
 * this hardly one change in a thousand hits a question that is asked.
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <stdint.h>

#include "fuzz_host.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

enum { MUTATE_SECTIONS = 64, MUTATE_BODY = 4000 };

struct mutate_section {
	const char *key;
	size_t key_n;
	const char *s;
	size_t n;
};

struct mutate {
	struct arena a;
	uint64_t s; /* of the generator */
	struct mutate_section at[MUTATE_SECTIONS];
	size_t n;
	bool odd; /* the last byte, which says which machine it is */
};

/* xorshift64 */
static inline size_t mutate_random(struct mutate *m, size_t below)
{
	m->s ^= m->s << 13;
	m->s ^= m->s >> 7;
	m->s ^= m->s << 17;
	return (size_t)(m->s >> 11) % below;
}

static inline void mutate_cut(struct mutate *m, const char *s, size_t size)
{
	const char *end = s + size;

	m->odd = size && s[size - 1] % 2;
	if (size && (end[-1] == '\n' || end[-1] == '\t'))
		end--;
	while (m->n < MUTATE_SECTIONS && end - s > 2 && s[0] == '@' && s[1] == '@') {
		const char *nl = memchr(s, '\n', (size_t)(end - s)), *next;

		if (!nl)
			return;
		next = memmem(nl, (size_t)(end - nl), "\n@@", 3);
		m->at[m->n++] = (struct mutate_section){ s + 2, (size_t)(nl - s) - 2, nl + 1,
							 next && next > nl ? (size_t)(next - nl) - 1
							 : next		   ? 0
								: (size_t)(end - nl) - 1 };
		s = next ? next + 1 : end;
	}
}

/* Something that the machine was asked once, as a section says it, and what it answered. */
static inline void mutate_ask(struct mutate *m, const struct fuzz_host *h,
			      struct mutate_section *out)
{
	size_t i = mutate_random(m, h->known.cap);
	const struct kept_answer *k;
	bool asked;
	const char *key;

	while (!h->known.slots[i].key)
		i = (i + 1) % h->known.cap;
	key = h->known.slots[i].key;
	k = h->known.slots[i].value;
	asked = strncmp(key, "ask ", 4) == 0;
	if (strncmp(key, "read ", 5) == 0 || strncmp(key, "kind ", 5) == 0)
		key += 5;
	else if (asked)
		key += 4;
	*out = (struct mutate_section){ key, strlen(key), "", 0 };
	if (k->data && k->n) {
		out->s = k->data;
		out->n = k->n;
	} else if (k->data) {
		out->s = k->data;
		out->n = strlen(k->data);
	} else if (k->n && k->names) {
		for (size_t n = 0; n < k->n && n < 64; n++)
			out->s = arena_printf(&m->a, "%s%s\n", out->s, k->names[n]);
		out->n = strlen(out->s);
	} else if (k->said.kind == ANSWER_TEXT && k->said.text) {
		out->s = k->said.text;
		out->n = strlen(out->s);
	} else if (asked && k->said.kind == ANSWER_INT) {
		out->s = k->r ? arena_printf(&m->a, "!%d", -k->r)
			      : arena_printf(&m->a, "%lld", k->said.i);
		out->n = strlen(out->s);
	}
	if (out->n > MUTATE_BODY)
		out->n = MUTATE_BODY;
}

static inline void mutate_body(struct mutate *m, struct mutate_section *x, size_t more)
{
	size_t n = x->n < MUTATE_BODY ? x->n : MUTATE_BODY;
	char *body = arena_alloc(&m->a, n + more + 1);

	if (n)
		memcpy(body, x->s, n);
	x->s = body;
	x->n = LLVMFuzzerMutate((uint8_t *)body, n, n + more);
}

static inline size_t mutate_join(const struct mutate *m, char *out, size_t max)
{
	size_t at = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct mutate_section *x = &m->at[i];

		if (at + x->key_n + x->n + 5 > max)
			continue;
		if (at)
			out[at++] = '\n';
		memcpy(out + at, "@@", 2);
		memcpy(out + at + 2, x->key, x->key_n);
		at += 2 + x->key_n;
		out[at++] = '\n';
		if (x->n)
			memcpy(out + at, x->s, x->n);
		at += x->n;
	}
	out[at++] = m->odd ? '\t' : '\n';
	return at;
}

/* of: the two machines, by whether the last byte is odd. */
static inline size_t mutate_sections(struct fuzz_host *const of[2], uint8_t *data, size_t size,
				     size_t max, unsigned seed)
{
	struct mutate m = { .s = 0x9e3779b97f4a7c15u ^ seed };
	const struct fuzz_host *h;
	char *out = malloc(max + 1);
	size_t n, what;

	if (!out)
		abort();
	mutate_random(&m, 2);
	mutate_cut(&m, (const char *)data, size);
	m.odd ^= mutate_random(&m, 50) == 0;
	h = of[m.odd];
	what = mutate_random(&m, 10);
	if (!h->known.n || max < 16 || what == 9) {
		free(out);
		arena_free(&m.a);
		return LLVMFuzzerMutate(data, size, max);
	}
	if ((!m.n || what < 4) && m.n < MUTATE_SECTIONS) {
		mutate_ask(&m, h, &m.at[m.n]);
		if (mutate_random(&m, 3))
			mutate_body(&m, &m.at[m.n], 64);
		m.n++;
	} else if (what < 8) {
		mutate_body(&m, &m.at[mutate_random(&m, m.n)], 64);
	} else if (mutate_random(&m, 2)) {
		m.at[mutate_random(&m, m.n)] = m.at[m.n - 1];
		m.n--;
	} else {
		struct mutate_section *x = &m.at[mutate_random(&m, m.n)], other;

		mutate_ask(&m, h, &other);
		x->key = other.key;
		x->key_n = other.key_n;
	}
	n = mutate_join(&m, out, max);
	memcpy(data, out, n);
	free(out);
	arena_free(&m.a);
	return n;
}

#endif
