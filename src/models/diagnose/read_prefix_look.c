/* SPDX-License-Identifier: Apache-2.0 */
/* What the lines of a file begin with: which prefixes it has that could be anything else in one
 * line alone. */
#include <stdint.h>
#include <string.h>

#include "models/diagnose/read.h"

enum { LOOK_AT = 1 << 20, LINE_HEAD = 1024, NUMBERS_LEAST = 3, TASKS_MAX = 1024, LOCALS_MAX = 64 };

/* What is counted over the lines of a file's beginning. */
struct tally {
	size_t lines, host, hydra;
	int first, last; /* numbers in brackets: the first, the one before */
	bool differ, falls;
	unsigned from; /* where the first line came from */
	bool begun, many;
	uint64_t local[TASKS_MAX]; /* bit i: a line of that task's i-th rank */
	int tasks;
};

static void numbers(struct tally *t, int number)
{
	t->first = t->hydra++ ? t->first : number;
	t->differ = t->differ || number != t->first;
	t->falls = t->falls || (t->hydra > 1 && number < t->last);
	t->last = number;
}

static void count(struct tally *t, const struct prefix *p)
{
	t->lines++;
	t->host += p->host;
	if (p->hydra)
		numbers(t, p->task);
}

/* Beside a rank on a node the other labels are the node's. */
static void nodes(struct tally *t, const struct prefix *p)
{
	struct prefix node = *p;
	unsigned from;

	if (p->task < 0 && !p->from)
		return;
	node.local = -1;
	if (p->task >= 0 && p->task < TASKS_MAX && p->local >= 0 && p->local < LOCALS_MAX) {
		t->local[p->task] |= (uint64_t)1 << p->local;
		t->tasks = p->task >= t->tasks ? p->task + 1 : t->tasks;
	}
	from = prefix_whose(&node);
	t->many = t->many || p->task > 0 || (t->begun && from != t->from);
	t->from = t->begun ? t->from : from;
	t->begun = true;
}

/* Ranks on a node; 0: some are missing, or one is all that anybody shows, which says nothing of how
 * many there are. */
static int per_node(const struct tally *t)
{
	uint64_t all = t->local[0];
	int n = 0;

	while (n < LOCALS_MAX && all >> n & 1)
		n++;
	if (n < 2 || (n < LOCALS_MAX && all >> n))
		return 0;
	for (int i = 0; i < t->tasks; i++)
		if (t->local[i] != all)
			return 0;
	return n;
}

static void each_line(const struct prefix_kinds *k, const char *text, size_t size, struct tally *t,
		      void (*look)(struct tally *, const struct prefix *))
{
	const char *end = text + (size < LOOK_AT ? size : LOOK_AT);
	char head[LINE_HEAD];
	struct prefix p;

	for (const char *s = text; s < end;) {
		const char *stop = memchr(s, '\n', (size_t)(end - s));
		size_t n = (size_t)((stop ? stop : end) - s);
		size_t cut = n < sizeof(head) ? n : sizeof(head) - 1;

		memcpy(head, s, cut);
		head[cut] = '\0';
		if (*read_prefix(k, head, &p))
			look(t, &p);
		s += n + 1;
	}
}

void prefix_look(struct prefix_kinds *k, const char *text, size_t size)
{
	static const struct prefix_kinds any = { .host = true, .hydra = true };
	struct tally t = { 0 };

	each_line(&any, text, size, &t, count);
	/* The launcher's own lines have no name; steps rise, ranks print in any order. */
	k->host = t.host > 0 && 3 * t.host >= 2 * t.lines;
	k->hydra = t.hydra >= NUMBERS_LEAST && 3 * t.hydra >= 2 * t.lines &&
		   (t.falls || (!t.differ && t.first == 0));
	each_line(k, text, size, &t, nodes);
	k->nodes = t.many;
	k->per_node = per_node(&t);
}
