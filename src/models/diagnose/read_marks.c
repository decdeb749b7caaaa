/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of many words stand in a line, in one pass: an automaton of all of them (Aho and Corasick,
 * 1975). Most lines of a log hold none, and a log may be large.
 */
#include <stdint.h>
#include <string.h>

#include "models/diagnose/read.h"

enum { STATES_MAX = 4096, CLASSES_MAX = 96 };

struct marks {
	uint8_t class[256]; /* 0: in no mark */
	size_t classes, n;
	uint16_t *next; /* state and class */
	uint32_t *found;
};

static void classify(struct marks *m, const char *s)
{
	for (; *s; s++)
		if (!m->class[(unsigned char)*s] && m->classes + 1 < CLASSES_MAX)
			m->class[(unsigned char)*s] = (uint8_t)m->classes++;
}

static uint16_t *edge(const struct marks *m, size_t state, char c)
{
	return &m->next[state * m->classes + m->class[(unsigned char)c]];
}

static void insert(struct marks *m, const char *s, size_t reader)
{
	size_t state = 0;

	for (; *s; s++) {
		uint16_t *to = edge(m, state, *s);

		if (!*to)
			*to = (uint16_t)m->n++;
		state = *to;
	}
	m->found[state] |= 1u << reader;
}

/* Where a word breaks off, the longest end of it that begins another goes on. */
static void link_up(struct arena *a, struct marks *m)
{
	uint16_t *fail = arena_array(a, m->n, sizeof(*fail)),
		 *queue = arena_array(a, m->n, sizeof(*queue));
	size_t head = 0, tail = 0;

	for (size_t c = 0; c < m->classes; c++)
		if (m->next[c])
			queue[tail++] = m->next[c];
	while (head < tail) {
		size_t s = queue[head++];

		m->found[s] |= m->found[fail[s]];
		for (size_t c = 0; c < m->classes; c++) {
			uint16_t *to = &m->next[s * m->classes + c];
			uint16_t other = m->next[fail[s] * m->classes + c];

			if (*to) {
				fail[*to] = other;
				queue[tail++] = *to;
			} else {
				*to = other;
			}
		}
	}
}

struct marks *marks_make(struct arena *a, const struct log_reader *const *readers, size_t n)
{
	struct marks *m = ARENA_NEW(a, struct marks);
	size_t states = 1;

	m->classes = 1;
	m->n = 1;
	for (size_t i = 0; i < n; i++)
		for (const char *const *s = readers[i]->marks; *s; s++) {
			classify(m, *s);
			states += strlen(*s);
		}
	states = states < STATES_MAX ? states : STATES_MAX;
	m->next = arena_array(a, states * m->classes, sizeof(*m->next));
	m->found = arena_array(a, states, sizeof(*m->found));
	for (size_t i = 0; i < n; i++)
		for (const char *const *s = readers[i]->marks; *s; s++)
			if (m->n + strlen(*s) <= states)
				insert(m, *s, i);
	link_up(a, m);
	return m;
}

unsigned marks_find(const struct marks *m, const char *s, size_t n)
{
	const uint16_t *next = m->next;
	const size_t classes = m->classes;
	uint32_t found = 0;
	size_t state = 0;

	for (size_t i = 0; i < n; i++) {
		state = next[state * classes + m->class[(unsigned char)s[i]]];
		found |= m->found[state];
	}
	return found;
}
