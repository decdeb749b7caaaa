/* SPDX-License-Identifier: Apache-2.0 */
/* A machine made by walking the rows: every member of every struct, in every state, with
 * awkward texts. */
#ifndef TEST_VIEW_MACHINE_H
#define TEST_VIEW_MACHINE_H

#include <errno.h>

#include "machine/model/machine.h"

struct maker {
	struct arena *a;
	unsigned n; /* counts members; what they hold follows from it */
};

static inline void make_fact(struct maker *k, struct fact *f)
{
	static const int errors[] = { [SEEN_ABSENT] = ENOENT,
				      [SEEN_DENIED] = EACCES,
				      [SEEN_UNSUPPORTED] = EOPNOTSUPP,
				      [SEEN_ERROR] = EPROTO };

	/* 7 is coprime with the lengths of the tables and the lists, so states wander over members.
	 */
	f->seen = k->n % 7 > 5 ? SEEN_OK : (enum seen)(k->n % 7);
	f->err = f->seen > SEEN_OK && k->n % 3 ? errors[f->seen] : 0;
	f->dir = k->n % 2 ? "/sys/devices/" : NULL;
	f->leaf = k->n % 5 ? arena_printf(k->a, "leaf%u", k->n) : NULL;
	if (f->seen == SEEN_UNASKED)
		*f = (struct fact){ 0 };
}

static inline void make_value(struct maker *k, enum shape_kind kind, void *at)
{
	static const char *const texts[] = { "",
					     "plain",
					     "<b>&\"'|`*_#\\",
					     "gr\xc3\xbc\xc3\x9f",
					     "a, b/c d e",
					     "\033[31mred\033[0m",
					     "line\nbreak\ttab" };
	struct fact_int *i = at;

	if (!seen_ok(&i->f))
		return;
	if (kind == SHAPE_KIND_FACT_TEXT)
		((struct fact_str *)at)->v = texts[k->n % 7];
	else if (kind == SHAPE_KIND_FACT_SET)
		idset_parse(k->a, k->n % 2 ? "0-4,10-14" : "", &((struct fact_set *)at)->v);
	else if (kind == SHAPE_KIND_FACT_FLAG)
		i->v = k->n % 2;
	else
		i->v = k->n % 4 ? (long long)k->n * 1000 : k->n % 8 ? -1 : 0x7fffffffffffffffll;
}

static inline void make_object(struct maker *k, const struct shape *s, void *object)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *f = &s->rows[i];
		void *at = (char *)object + f->offset;

		k->n++;
		switch (f->kind) {
		case SHAPE_KIND_TEXT:
			*(const char **)at = arena_printf(k->a, "name<%u>", k->n);
			break;
		case SHAPE_KIND_COUNT:
			*(unsigned *)at = k->n;
			break;
		case SHAPE_KIND_OBJECT:
			make_object(k, f->sub, at);
			break;
		case SHAPE_KIND_LIST:
			for (unsigned n = 0; n < 5; n++)
				make_object(k, f->sub, list_add(k->a, at, f->sub->size));
			break;
		default:
			make_fact(k, at);
			make_value(k, f->kind, at);
		}
	}
}

static inline struct machine *make_machine(struct arena *a, unsigned seed)
{
	struct maker k = { .a = a, .n = seed };
	struct machine *m = ARENA_NEW(a, struct machine);

	make_object(&k, &machine_shape, m);
	return m;
}

#endif
