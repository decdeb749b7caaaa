/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing: equal answers, groups of equal machines, who stands alone, who left the golden one. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "many/fleet/fleet.h"

/* An answer is rare when at most one in so many of a machine's peers gives it, or one machine. */
enum { RARE_ONE_IN = 20, ANSWER_TEXT_MAX = 400 };

/* Machines are compared with those of their own platform: a Spark among HGX nodes is no fault. */
static const char *const classes[] = { "dgx-spark", "igx-orin", "hgx", "generic", "any other" };
enum { CLASSES = sizeof(classes) / sizeof(classes[0]) };

static int by_subject(const void *a, const void *b)
{
	const struct fleet_part *x = *(const struct fleet_part *const *)a,
				*y = *(const struct fleet_part *const *)b;

	if (x->subject->number != y->subject->number)
		return x->subject->number < y->subject->number ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* "fail: performance, wanted schedutil (cpu0-255)" */
static void part_text(struct text *t, const struct fleet_part *p)
{
	text_add(t, p->state);
	if (p->now)
		text_printf(t, ": %s", *p->now ? p->now : "(empty)");
	if (p->wanted && p->mark != FLEET_GOOD)
		text_printf(t, ", wanted %s", p->wanted);
	if (*p->target)
		text_printf(t, " (%s)", p->target);
}

static const char *settle_answer_text(struct arena *a, const struct fleet_part **parts, size_t n)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (t.len > ANSWER_TEXT_MAX) {
			text_printf(&t, "; and %zu more", n - i);
			break;
		}
		text_add(&t, i ? "; " : "");
		part_text(&t, parts[i]);
	}
	return arena_strdup(a, t.s);
}

/* The one answer made of these parts, which are sorted. */
static struct fleet_answer *settle_answer_of(struct fleet *f, struct map *known, size_t *number,
					     const struct fleet_part **parts, size_t n)
{
	struct fleet_subject *s = parts[0]->subject;
	struct text *key = &f->store->key;
	struct fleet_answer *an;
	void **place;

	text_clear(key);
	for (size_t i = 0; i < n; i++)
		text_printf(key, "%zx,", parts[i]->number);
	place = map_at(f->arena, known, key->s);
	if (*place)
		return *place;
	an = ARENA_NEW(f->arena, struct fleet_answer);
	*place = an;
	an->subject = s;
	an->number = (*number)++;
	an->parts = arena_array(f->arena, n, sizeof(*an->parts));
	memcpy(an->parts, parts, n * sizeof(*parts));
	an->n_parts = n;
	for (size_t i = 0; i < n; i++)
		if (parts[i]->mark > an->mark)
			an->mark = parts[i]->mark;
	an->text = settle_answer_text(f->arena, parts, n);
	ARENA_ADD(f->arena, s->answers, s->n_answers) = an;
	return an;
}

static void settle_machine(struct fleet *f, struct map *known, size_t *number,
			   struct fleet_machine *m)
{
	struct fleet_store *st = f->store;
	size_t n = 0;

	for (int k = 0; k < FLEET_KINDS; k++)
		n += m->n_parts[k];
	store_room(st, n);
	n = 0;
	for (int k = 0; k < FLEET_KINDS; k++)
		for (size_t i = 0; i < m->n_parts[k]; i++)
			st->seen[n++] = m->parts[k][i];
	qsort(st->seen, n, sizeof(*st->seen), by_subject);
	m->answers = arena_array(f->arena, f->n_subjects, sizeof(struct fleet_answer *));
	/* Equal parts are the same object, and stand together. */
	for (size_t i = 0, all = n; i < all; i++) {
		n = i ? n : 0;
		if (!n || st->seen[i] != st->seen[n - 1])
			st->seen[n++] = st->seen[i];
	}
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && st->seen[j]->subject == st->seen[i]->subject; j++)
			;
		m->answers[st->seen[i]->subject->number] =
			settle_answer_of(f, known, number, st->seen + i, j - i);
	}
}

static int by_count(const void *a, const void *b)
{
	const struct fleet_answer *x = *(const struct fleet_answer *const *)a,
				  *y = *(const struct fleet_answer *const *)b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->text, y->text);
}

static void add_by(struct fleet *f, struct fleet_answer *an, const struct fleet_machine *m)
{
	if (!an->by)
		an->by = arena_array(f->arena, an->count, sizeof(*an->by));
	an->by[an->n_by++] = m;
}

/* A machine that gave no status is not different in what status tells. */
static bool could_report(const struct fleet_machine *m, const struct fleet_subject *s)
{
	return s->kind == FLEET_HOST || m->times[s->kind];
}

static void settle_subjects(struct fleet *f)
{
	for (size_t i = 0; i < f->n; i++)
		for (size_t s = 0; s < f->n_subjects; s++) {
			if (f->machines[i]->answers[s])
				f->machines[i]->answers[s]->count++;
			else if (could_report(f->machines[i], f->subjects[s]))
				f->subjects[s]->silent++;
		}
	for (size_t s = 0; s < f->n_subjects; s++)
		if (f->subjects[s]->n_answers)
			qsort(f->subjects[s]->answers, f->subjects[s]->n_answers,
			      sizeof(struct fleet_answer *), by_count);
}

/* What only the golden machine says is no difference here. */
static void settle_differences(struct fleet *f)
{
	for (size_t s = 0; s < f->n_subjects; s++) {
		struct fleet_subject *it = f->subjects[s];
		size_t given = 0;

		for (size_t i = 0; i < it->n_answers; i++)
			given += it->answers[i]->count > 0;
		it->between = !it->differs && (given > 1 || (given == 1 && it->silent));
		f->n_differs += it->differs;
		f->n_between += it->between;
	}
	for (size_t i = 0; i < f->n; i++)
		for (size_t s = 0; s < f->n_subjects; s++)
			if (f->machines[i]->answers[s] &&
			    (f->subjects[s]->differs || f->subjects[s]->between || f->golden))
				add_by(f, f->machines[i]->answers[s], f->machines[i]);
}

/* --- groups ----------------------------------------------------------------------------------- */

static size_t add_answers(struct fleet *f, struct fleet_group *g, const struct fleet_machine *m,
			  enum fleet_mark mark)
{
	for (size_t s = 0; s < f->n_subjects; s++) {
		const struct fleet_answer *an = m->answers[s];

		if (!an || an->mark != mark)
			continue;
		ARENA_ADD(f->arena, g->answers, g->n_answers) = an;
	}
	return g->n_answers;
}

static struct fleet_group *settle_group_of(struct fleet *f, struct map *known,
					   const struct fleet_machine *m)
{
	struct text *key = &f->store->key;
	struct fleet_group *g;
	void **place;

	text_clear(key);
	/* Who was never checked is not like those that are right. */
	text_add(key, fleet_checked(m) ? "" : "unchecked");
	for (size_t s = 0; s < f->n_subjects; s++)
		if (m->answers[s] && m->answers[s]->mark >= FLEET_UNKNOWN)
			text_printf(key, "%zx,", m->answers[s]->number);
	place = map_at(f->arena, known, key->s);
	if (*place)
		return *place;
	g = ARENA_NEW(f->arena, struct fleet_group);
	*place = g;
	g->n_bad = add_answers(f, g, m, FLEET_BAD);
	add_answers(f, g, m, FLEET_UNKNOWN);
	ARENA_ADD(f->arena, f->groups, f->n_groups) = g;
	return g;
}

static int settle_by_size(const void *a, const void *b)
{
	const struct fleet_group *x = *(struct fleet_group *const *)a,
				 *y = *(struct fleet_group *const *)b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return str_natural(x->machines[0]->name, y->machines[0]->name);
}

static void settle_groups(struct fleet *f)
{
	struct map known = { 0 };

	for (size_t i = 0; i < f->n; i++) {
		struct fleet_group *g = settle_group_of(f, &known, f->machines[i]);

		ARENA_ADD(f->arena, g->machines, g->n) = f->machines[i];
		f->machines[i]->group = g;
	}
	if (f->n_groups)
		qsort(f->groups, f->n_groups, sizeof(struct fleet_group *), settle_by_size);
	for (size_t i = 0; i < f->n_groups; i++)
		f->groups[i]->number = i + 1;
}

/* --- who stands alone ------------------------------------------------------------------------- */

static size_t class_of(const struct fleet_machine *m)
{
	for (size_t c = 0; m->platform && c < CLASSES - 1; c++)
		if (strcmp(m->platform, classes[c]) == 0)
			return c;
	return CLASSES - 1;
}

/* The most frequent answer of this class when more than half of it give it, else NULL. */
static const struct fleet_answer *usual_of(const struct fleet_subject *s, size_t peers)
{
	for (size_t i = 0; i < s->n_answers; i++)
		if (s->answers[i]->peers * 2 > peers)
			return s->answers[i];
	return NULL;
}

static void find_rare(struct fleet *f, struct fleet_machine *m,
		      const struct fleet_answer *const *usual, const size_t speakers[FLEET_KINDS])
{

	for (size_t s = 0; s < f->n_subjects; s++) {
		const struct fleet_answer *an = m->answers[s];
		size_t peers = speakers[f->subjects[s]->kind];
		size_t few = peers / RARE_ONE_IN > 1 ? peers / RARE_ONE_IN : 1;

		if (!an || !usual[s] || an == usual[s] || an->peers > few)
			continue;
		ARENA_ADD(f->arena, m->rare, m->n_rare) =
			(struct fleet_rare){ an, usual[s], peers };
	}
	f->n_outliers += m->n_rare > 0;
}

/* How many of the class gave each answer; how many of it there are, in all and by kind. */
static size_t count_class(struct fleet *f, size_t class, size_t speakers[FLEET_KINDS])
{
	size_t peers = 0;

	for (size_t s = 0; s < f->n_subjects; s++)
		for (size_t i = 0; i < f->subjects[s]->n_answers; i++)
			f->subjects[s]->answers[i]->peers = 0;
	for (size_t i = 0; i < f->n; i++) {
		const struct fleet_machine *m = f->machines[i];

		if (class_of(m) != class)
			continue;
		peers++;
		for (int k = 0; k < FLEET_KINDS; k++)
			speakers[k] += k == FLEET_HOST || m->times[k];
		for (size_t s = 0; s < f->n_subjects; s++)
			if (m->answers[s])
				m->answers[s]->peers++;
	}
	return peers;
}

static void settle_class(struct fleet *f, size_t class)
{
	const struct fleet_answer **usual =
		arena_array(f->arena, f->n_subjects, sizeof(struct fleet_answer *));
	size_t speakers[FLEET_KINDS] = { 0 };
	size_t peers = count_class(f, class, speakers);

	for (size_t s = 0; s < f->n_subjects; s++) {
		struct fleet_subject *it = f->subjects[s];
		bool differs = false;

		for (size_t i = 0; i < it->n_answers; i++)
			differs = differs || (it->answers[i]->peers &&
					      it->answers[i]->peers < speakers[it->kind]);
		it->differs = it->differs || differs;
		usual[s] = differs ? usual_of(it, speakers[it->kind]) : NULL;
	}
	for (size_t i = 0; peers && i < f->n; i++)
		if (class_of(f->machines[i]) == class)
			find_rare(f, f->machines[i], usual, speakers);
}

static int by_name(const void *a, const void *b)
{
	return str_natural((*(struct fleet_machine *const *)a)->name,
			   (*(struct fleet_machine *const *)b)->name);
}

void fleet_settle(struct fleet *f)
{
	struct map known = { 0 };
	size_t number = 0;

	if (f->n)
		qsort(f->machines, f->n, sizeof(struct fleet_machine *), by_name);
	for (size_t i = 0; i < f->n; i++)
		settle_machine(f, &known, &number, f->machines[i]);
	if (f->golden)
		settle_machine(f, &known, &number, f->golden);
	settle_subjects(f);
	settle_groups(f);
	for (size_t c = 0; c < CLASSES; c++)
		settle_class(f, c);
	settle_differences(f);
	proofs_settle(f);
	benches_settle(f);
	for (size_t i = 0; f->golden && i < f->n; i++) {
		for (size_t s = 0; s < f->n_subjects; s++)
			f->machines[i]->drifted +=
				f->machines[i]->answers[s] != f->golden->answers[s] &&
				could_report(f->machines[i], f->subjects[s]) &&
				could_report(f->golden, f->subjects[s]);
		f->n_drifted += f->machines[i]->drifted > 0;
	}
}
