/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One fact, one verdict. Captured machines have their facts moved, one at a time, to their edges
 * and to both sides of every threshold that any verb has, and all verbs that judge are asked in
 * process:
 *
 * Contradiction: what takes its word from settings says "wrong" where these say "right", or "right"
 * where one of them says "wrong" (but where it weighs more than them).
 *
 * Second rule: what a fact moves from right to wrong takes its word from no setting that the same
 * fact moves, though there is one. Unnamed: there is none, and it does not name that fact.
 *
 * Unseen: something that asks an object is right, or wrong, by a fact of it that was not seen. No
 * reason: a verdict without a sentence.
 *
 * LAW_PART: "kept" leaves a third of the facts aside, "aside" takes that third alone; else all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "look/monitor/marks.h"
#include "many/cluster/links.h"
#include "measure/doctor/rule.h"
#include "models/generate/launch.h"
#include "models/generate/lint.h"
#include "verbs.h"

enum { SEED = 29, VARIANTS = 5000, FIRST_MOVES = 3, OBJECTS = 3, SHOWN = 60 };

enum broken { CONTRADICTION, SECOND_RULE, UNNAMED, UNSEEN_RIGHT, NO_REASON, BROKEN };
static const char *const broken_names[BROKEN] = { "contradiction", "second rule", "unnamed",
						  "unseen", "no reason" };

/* That a fact moved what a verb says from right to wrong or back. */
struct crossing {
	const char *key;
	enum law_verb verb;
	const char *what;
	const char *by, *judges, *given;
	const char *machine;
	bool whole; /* from right to wrong; else from or to what is neither */
};

struct trial {
	struct world worlds[MACHINES_MAX];
	size_t n_worlds;
	struct observations earlier[MACHINES_MAX];
	struct machine *peers[MACHINES_MAX];
	struct judgements base[MACHINES_MAX];
	struct arena keep;
	struct crossing *crossings;
	size_t n_crossings;
	size_t variants, count[BROKEN];
	bool quiet;
	unsigned long long random;
	const char *part, *only; /* of the facts: a key; NULL: all */
	const char **said;
	size_t n_said;
};

/* --- what is broken --------------------------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static void breaks(struct trial *t, enum broken b,
							 const char *once, const char *fmt, ...)
{
	va_list ap;

	/* The same of many machines and values is one. */
	for (size_t i = 0; i < t->n_said; i++)
		if (strcmp(t->said[i], once) == 0)
			return;
	t->said = arena_grow(&t->keep, t->said, t->n_said, sizeof(*t->said));
	t->said[t->n_said++] = arena_strdup(&t->keep, once);
	t->count[b]++;
	if (t->quiet || t->n_said > SHOWN)
		return;
	printf("%s: ", broken_names[b]);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static const struct judgement *judgement_of(const struct judgements *j, enum law_verb verb,
					    const char *what, const char *target)
{
	size_t low = 0, high = j->n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct judgement *x = &j->items[mid];
		int r = x->verb != verb ? (x->verb > verb) - (x->verb < verb)
					: strcmp(x->what, what);

		if (r == 0)
			r = strcmp(x->target, target);
		if (r == 0)
			return x;
		if (r < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* How many verdicts of the settings that it takes its word from are right, wrong. */
static void of_settings(const struct judgements *all, const struct judgement *j, size_t *right,
			size_t *wrong)
{
	*right = *wrong = 0;
	for (const char *p = j->by; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " "), low = 0, high = all->n;
		const char *name;

		while (low < high) {
			const struct judgement *x = &all->items[(low + high) / 2];
			int r = strncmp(x->what, p, n);

			if (x->verb > LAW_CHECK || r > 0 || (r == 0 && x->what[n]))
				high = (low + high) / 2;
			else if (r < 0)
				low = (low + high) / 2 + 1;
			else
				/* Its judgements have one text of its name. */
				for (low = high = (low + high) / 2;
				     low && all->items[low - 1].what == x->what;)
					high = --low;
		}
		name = low < all->n && all->items[low].verb == LAW_CHECK ? all->items[low].what
									 : "";
		if (strncmp(name, p, n) != 0 || name[n])
			name = NULL;
		for (; name && low < all->n && all->items[low].what == name; low++) {
			const struct judgement *x = &all->items[low];

			if (j->of && strcmp(j->of, x->target) != 0)
				continue;
			*right += x->state == LAW_RIGHT;
			*wrong += x->state == LAW_WRONG;
		}
		p += n;
	}
}

static void law_agree(struct trial *t, const struct world *w, const struct judgements *all,
		      const char *how)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct judgement *j = &all->items[i];
		size_t right, wrong;

		if (!j->text || !*j->text)
			breaks(t, NO_REASON, arena_printf(&t->keep, "reason %s", j->what),
			       "%s: %s %s %s: %s without a sentence", w->name, how,
			       law_verb_name(j->verb), j->what, law_state_name(j->state));
		if (!j->by || j->state == LAW_MAYBE || j->state == LAW_OPEN)
			continue;
		of_settings(all, j, &right, &wrong);
		if (j->state == LAW_WRONG ? !wrong && (right || !j->weighs) : wrong && !j->weighs)
			breaks(t, CONTRADICTION,
			       arena_printf(&t->keep, "%s %s %d", law_verb_name(j->verb), j->what,
					    (int)j->state),
			       "%s, %s: %s %s is %s (%s), but %s is %s", w->name, how,
			       law_verb_name(j->verb), j->what, law_state_name(j->state), j->text,
			       j->by,
			       wrong   ? "wrong"
			       : right ? "right"
				       : "not judged");
	}
}

/* --- one fact of one machine ------------------------------------------------------------------ */

enum { STATES = 3 }; /* bits: right, wrong, other */

struct track {
	const char *what, *target;
	enum law_verb verb;
	unsigned states, usual;
	bool right_unseen; /* right where the fact was not seen */
	bool wrong_unseen; /* and was not wrong before */
	bool own;	   /* asked of the struct that has the fact */
	struct judgement j;
};

struct tracks {
	struct track *items;
	size_t n;
};

static unsigned bit_of(enum law_state s)
{
	return s == LAW_RIGHT ? 1U : s == LAW_WRONG ? 2U : 4U;
}

static struct track *track_of(struct arena *a, struct tracks *all, const struct judgement *j,
			      const struct judgement *was, const struct place *p)
{
	for (size_t k = 0; k < all->n; k++)
		if (all->items[k].verb == j->verb && strcmp(all->items[k].what, j->what) == 0 &&
		    strcmp(all->items[k].target, j->target) == 0)
			return &all->items[k];
	if (was && was->state == j->state)
		return NULL; /* not moved, so far */
	all->items = arena_grow(a, all->items, all->n, sizeof(*all->items));
	all->items[all->n] = (struct track){ .what = arena_strdup(a, j->what),
					     .target = arena_strdup(a, j->target),
					     .verb = j->verb,
					     .states = was ? bit_of(was->state) : 0,
					     .usual = was ? bit_of(was->state) : 0,
					     .own = j->object == p->object,
					     .j = *j };
	return &all->items[all->n++];
}

static void track(struct arena *a, struct tracks *all, const struct judgements *base,
		  const struct judgements *now, const struct place *p, bool unseen, bool blind)
{
	for (size_t i = 0; i < now->n; i++) {
		const struct judgement *j = &now->items[i];
		struct track *x =
			track_of(a, all, j, judgement_of(base, j->verb, j->what, j->target), p);

		if (!x)
			continue;
		x->states |= bit_of(j->state);
		x->right_unseen = x->right_unseen || (unseen && j->state == LAW_RIGHT);
		x->wrong_unseen = x->wrong_unseen ||
				  (blind && x->usual && j->state == LAW_WRONG && !(x->usual & 2));
	}
	/* What a setting is not asked of any more is neither right nor wrong. */
	for (size_t i = 0; i < base->n; i++) {
		struct judgement gone = base->items[i];
		struct track *x = NULL;

		gone.state = LAW_OPEN;
		if (gone.verb == LAW_CHECK && !judgement_of(now, gone.verb, gone.what, gone.target))
			x = track_of(a, all, &gone, &base->items[i], p);
		if (x)
			x->states |= bit_of(LAW_OPEN);
	}
}

static void crossed(struct trial *t, const struct world *w, const struct place *p,
		    const struct tracks *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct track *x = &all->items[i];
		bool known = false;

		bool whole = (x->states & 3) == 3;

		/* What is not right or wrong of a setting may make it so of a diagnosis. */
		if (!whole && x->verb != LAW_CHECK)
			continue;
		for (size_t k = 0; k < t->n_crossings && !known; k++) {
			struct crossing *c = &t->crossings[k];

			known = c->verb == x->verb && strcmp(c->key, p->key) == 0 &&
				strcmp(c->what, x->what) == 0;
			if (known)
				c->whole = c->whole || whole;
		}
		if (known)
			continue;
		t->crossings =
			arena_grow(&t->keep, t->crossings, t->n_crossings, sizeof(*t->crossings));
		t->crossings[t->n_crossings++] =
			(struct crossing){ .key = arena_strdup(&t->keep, p->key),
					   .verb = x->verb,
					   .what = arena_strdup(&t->keep, x->what),
					   .by = x->j.by,
					   .judges = x->j.judges,
					   .given = x->j.given,
					   .machine = w->name,
					   .whole = whole };
	}
}

/* What every verb says in this state, as one number: to see where it changes. */
static uint64_t signature(const struct judgements *all)
{
	uint64_t h = 14695981039346656037ULL;

	for (size_t i = 0; i < all->n; i++) {
		const struct judgement *j = &all->items[i];

		for (const char *c = j->what; *c; c++)
			h = (h ^ (unsigned char)*c) * 1099511628211ULL;
		for (const char *c = j->target; *c; c++)
			h = (h ^ (unsigned char)*c) * 1099511628211ULL;
		h = (h ^ (unsigned)j->state ^ (j->weighs ? 8U : 0) ^
		     (j->text && *j->text ? 16U : 0)) *
		    1099511628211ULL;
	}
	return h;
}

struct at_work {
	struct trial *t;
	size_t world;
	struct place *p;
	struct tracks tracks;
	struct arena a; /* of the tracks */
	uint64_t usual;
};

/* Judges the machine as it is now. */
static uint64_t look(struct at_work *k, const char *how, bool unseen, bool blind)
{
	struct trial *t = k->t;
	struct world *w = &t->worlds[k->world];
	struct judgements now;
	struct arena a = { 0 };
	uint64_t s;

	judge_all(w, &a, &t->earlier[k->world], t->peers[k->world], &now);
	t->variants++;
	s = signature(&now);
	if (s != k->usual)
		track(&k->a, &k->tracks, &t->base[k->world], &now, k->p, unseen, blind);
	else if (unseen)
		for (size_t i = 0; i < k->tracks.n; i++)
			k->tracks.items[i].right_unseen =
				k->tracks.items[i].right_unseen || (k->tracks.items[i].usual & 1);
	/* As captured they agree. */
	if (s != k->usual)
		law_agree(t, w, &now, how);
	arena_free(&a);
	return s;
}

static uint64_t look_at_move(struct at_work *k, size_t i)
{
	struct world *w = &k->t->worlds[k->world];
	struct moved m;
	uint64_t s;

	move_to(w, k->p, i, &m);
	s = look(k, arena_printf(&k->a, "%s %s", k->p->key, m.what), move_unseen(k->p, i),
		 move_blind(k->p, i));
	move_back(&m);
	return s;
}

static uint64_t look_at_number(struct at_work *k, long long v)
{
	struct moved m;
	uint64_t s;

	move_number(k->p, v, &m);
	s = look(k, arena_printf(&k->a, "%s %s", k->p->key, m.what), false, false);
	move_back(&m);
	return s;
}

/* Both sides of every threshold between two numbers. */
static void between(struct at_work *k, long long low, uint64_t at_low, long long high,
		    uint64_t at_high)
{
	while (at_low != at_high && high - low > 1) {
		long long mid = low + (high - low) / 2;
		uint64_t at_mid = look_at_number(k, mid);

		if (at_mid != at_low && at_mid != at_high) {
			between(k, low, at_low, mid, at_mid);
			low = mid;
			at_low = at_mid;
		} else if (at_mid == at_low) {
			low = mid;
		} else {
			high = mid;
		}
	}
}

static int by_number(const void *x, const void *y)
{
	const long long *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

static void look_between(struct at_work *k)
{
	long long v[64];
	uint64_t s[64];
	size_t n = 0;

	for (size_t i = 0; i < move_count(k->p) && n < 64; i++)
		if (move_value(k->p, i, &v[n]))
			n++;
	qsort(v, n, sizeof(*v), by_number);
	for (size_t i = 0; i < n; i++)
		s[i] = i && v[i] == v[i - 1] ? s[i - 1] : look_at_number(k, v[i]);
	for (size_t i = 1; i < n; i++)
		between(k, v[i - 1], s[i - 1], v[i], s[i]);
}

/* Has two sources, and takes the one that is told. */
static const char two_sources[] = "gpu.temperature gpu.temperature-memory gpu.fabric";

static void unseen_is_not_right(struct at_work *k)
{
	for (size_t i = 0; i < k->tracks.n; i++) {
		const struct track *x = &k->tracks.items[i];

		/* Between machines what one does not tell is a difference. */
		if (x->wrong_unseen && (x->verb != LAW_CLUSTER || x->j.by) &&
		    !is_word_of(x->j.given, k->p->key))
			breaks(k->t, UNSEEN_RIGHT,
			       arena_printf(&k->t->keep, "guess %s %s", x->what, k->p->key),
			       "%s: %s %s is wrong although %s was not seen",
			       k->t->worlds[k->world].name, law_verb_name(x->verb), x->what,
			       k->p->key);
		if (x->verb != LAW_CHECK || is_word_of(two_sources, x->what) || !x->own ||
		    !(x->states & 2) || !x->right_unseen)
			continue;
		breaks(k->t, UNSEEN_RIGHT,
		       arena_printf(&k->t->keep, "unseen %s %s", x->what, k->p->key),
		       "%s: %s is right although %s was not seen, which can make it wrong",
		       k->t->worlds[k->world].name, x->what, k->p->key);
	}
}

static void one_place(struct trial *t, size_t world, struct place *p)
{
	struct at_work k = { .t = t, .world = world, .p = p };
	size_t n = move_count(p);
	bool moves = false;

	k.usual = signature(&t->base[world]);
	for (size_t i = 0; i < FIRST_MOVES && i < n; i++)
		moves = look_at_move(&k, law_random(&t->random) % n) != k.usual || moves;
	if (moves) {
		for (size_t i = 0; i < n; i++)
			look_at_move(&k, i);
		if (is_number(p) && p->kind != SHAPE_KIND_FACT_FLAG)
			look_between(&k);
		crossed(t, &t->worlds[world], p, &k.tracks);
		unseen_is_not_right(&k);
	}
	arena_free(&k.a);
}

/* --- all facts of all machines ---------------------------------------------------------------- */

static bool takes_part(const struct trial *t, const struct place *p)
{
	if (t->only && strcmp(t->only, p->key) != 0)
		return false;
	return strcmp(t->part, "aside") == 0  ? p->aside
	       : strcmp(t->part, "kept") == 0 ? !p->aside
					      : true;
}

static int by_key(const void *x, const void *y)
{
	const struct place *a = *(struct place *const *)x, *b = *(struct place *const *)y;
	int r = strcmp(a->key, b->key);

	return r ? r : (a > b) - (a < b);
}

static const char *value_of(struct trial *t, const struct place *p)
{
	return arena_printf(&t->keep, "%s %d %lld %s", p->key, (int)p->at->seen,
			    is_number(p) ? ((const struct fact_int *)(const void *)p->at)->v : 0,
			    p->kind == SHAPE_KIND_FACT_TEXT && p->at->seen == SEEN_OK
				    ? ((const struct fact_str *)(const void *)p->at)->v
				    : "");
}

/* Of a machine that is another one with changes: what no machine before it has. */
static size_t only_new(struct trial *t, struct map *had, const struct world *w,
		       struct place **places, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		void **at = map_at(&t->keep, had, value_of(t, places[i]));

		if (!*at || !w->differs)
			places[kept++] = places[i];
		*at = t;
	}
	return kept;
}

/* Some objects of each kind of fact, by chance. */
static void one_world(struct trial *t, size_t world, struct map *had)
{
	struct world *w = &t->worlds[world];
	/* Of each fact, so many objects: GPUs, ports, disks. */
	size_t all = w->n_places, objects = t->only || getenv("LAW_ALL") ? OBJECTS : 1;
	struct place **sorted = arena_array(&t->keep, w->n_places, sizeof(*sorted));

	for (size_t i = 0; i < w->n_places; i++)
		sorted[i] = &w->places[i];
	all = only_new(t, had, w, sorted, all);
	qsort(sorted, all, sizeof(*sorted), by_key);
	for (size_t i = 0, k; i < all; i = k) {
		for (k = i + 1; k < all && strcmp(sorted[i]->key, sorted[k]->key) == 0; k++)
			;
		for (size_t n = 0; takes_part(t, sorted[i]) && n < k - i && n < objects; n++)
			one_place(t, world, sorted[i + law_random(&t->random) % (k - i)]);
	}
}

static void law_one_rule(struct trial *t)
{
	for (size_t i = 0; i < t->n_crossings; i++) {
		const struct crossing *c = &t->crossings[i];
		const char *rows = NULL;
		bool by_row = false;

		if (c->verb == LAW_CHECK)
			continue;
		for (size_t k = 0; k < t->n_crossings; k++) {
			const struct crossing *r = &t->crossings[k];

			if (r->verb != LAW_CHECK || strcmp(r->key, c->key) != 0)
				continue;
			by_row = by_row || is_word_of(c->by, r->what);
			rows = rows || !r->whole ? rows : r->what;
		}
		if (by_row)
			continue;
		if (rows && !is_word_of(c->given, c->key))
			breaks(t, SECOND_RULE,
			       arena_printf(&t->keep, "second %s %s", c->what, c->key),
			       "%s: %s %s judges %s by itself, as the setting %s does", c->machine,
			       law_verb_name(c->verb), c->what, c->key, rows);
		else if (!is_word_of(c->judges, c->key) && !is_word_of(c->given, c->key))
			breaks(t, UNNAMED, arena_printf(&t->keep, "unnamed %s %s", c->what, c->key),
			       "%s: %s %s is moved by %s and does not name it", c->machine,
			       law_verb_name(c->verb), c->what, c->key);
	}
}

static void trial_open(struct trial *t, const char *part, const char *only)
{
	*t = (struct trial){ .random = SEED, .part = part, .only = only, .quiet = only != NULL };
	/* Machines that lie packed alone, and more objects of each, are asked at night. */
	t->n_worlds = worlds_open(t->worlds, !only && getenv("LAW_ALL"));
	for (size_t i = 0; i < t->n_worlds; i++) {
		struct world *w = &t->worlds[i], other;

		/* As it was before, and at the other end of its cables. */
		world_again(w, &other);
		t->peers[i] = other.m;
		t->earlier[i] = other.signs;
		judge_all(w, &t->keep, &t->earlier[i], t->peers[i], &t->base[i]);
		world_places(w);
		law_agree(t, w, &t->base[i], "as captured");
	}
}

static void trial_close(struct trial *t)
{
	worlds_close(t->worlds, t->n_worlds);
	arena_free(&t->keep);
}

static size_t trial_run(struct trial *t)
{
	struct map had = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < t->n_worlds; i++)
		one_world(t, i, &had);
	law_one_rule(t);
	for (size_t b = 0; b < BROKEN; b++)
		n += t->count[b];
	return n;
}

static void test_law(void **state)
{
	const char *part = getenv("LAW_PART");
	static struct trial t;
	size_t n, facts = 0;
	clock_t begin = clock();

	(void)state;
	trial_open(&t, part ? part : "all", NULL);
	n = trial_run(&t);
	for (size_t i = 0; i < t.n_worlds; i++)
		facts += t.worlds[i].n_places;
	printf("%zu machines, %zu facts, %zu variants, %zu times right or wrong by a fact; %zu "
	       "broken; %.1f s\n",
	       t.n_worlds, facts, t.variants, t.n_crossings, n,
	       (double)(clock() - begin) / CLOCKS_PER_SEC);
	if (getenv("LAW_SHOW"))
		for (size_t i = 0; i < t.n_crossings; i++)
			printf("  %s %s %s\n", t.crossings[i].key,
			       law_verb_name(t.crossings[i].verb), t.crossings[i].what);
	assert_int_equal(n, 0);
	assert_true(part || t.variants >= VARIANTS);
	trial_close(&t);
}

/* --- a second rule is found ------------------------------------------------------------------- */

/* A quarter of memory is enough: no setting says so. */
static void a_quarter(const struct rule_facts *e, struct judged *out)
{
	const struct memory *m = &e->m->memory;

	if (!has_rdma(e->m) || !seen_ok(&m->memlock.f) || !seen_ok(&m->total_kb.f) ||
	    m->total_kb.v <= 0)
		verdict_set(e, out, CAUSE_UNSEEN, "not known");
	else
		verdict_set(e, out,
			    m->memlock.v >= 0 && m->memlock.v / 1024 < m->total_kb.v / 4
				    ? CAUSE_LIKELY
				    : CAUSE_EXCLUDED,
			    "%lld bytes may be locked", m->memlock.v);
}

/* Twice of memory is needed, it says: more than its setting does. */
static void twice(const struct rule_facts *e, struct judged *out)
{
	const struct memory *m = &e->m->memory;

	rule_by_setting(e, "memory.memlock", CAUSE_LIKELY, out);
	if (out->likelihood == CAUSE_EXCLUDED && m->memlock.v >= 0 &&
	    m->memlock.v / 2048 < fact_or(&m->total_kb, 0))
		verdict_set(e, out, CAUSE_LIKELY, "%lld bytes may be locked", m->memlock.v);
}

static size_t broken_by(const struct cause *planted, enum broken how, const char *key)
{
	const struct diagnosis d = { .id = "test.planted",
				     .symptom = "a second rule",
				     .words = "none",
				     .causes = planted,
				     .n = planted ? 1 : 0 };
	static struct trial t;
	size_t n;

	law_planted = planted ? &d : NULL;
	trial_open(&t, "all", key);
	trial_run(&t);
	n = t.count[how];
	trial_close(&t);
	law_planted = NULL;
	return n;
}

static void test_planted(void **state)
{
	static const char key[] = "memory.memlock_bytes";
	const struct cause by_itself = { .id = "quarter", .title = "q", .rule = a_quarter },
			   named = { .id = "quarter",
				     .title = "q",
				     .rule = a_quarter,
				     .judges = key },
			   beside = { .id = "twice",
				      .title = "t",
				      .setting = "memory.memlock",
				      .rule = twice },
			   hidden = { .id = "quarter",
				      .title = "q",
				      .rule = a_quarter,
				      .given = "memory.total_kb" };

	(void)state;
	assert_int_equal(broken_by(NULL, SECOND_RULE, key), 0);
	assert_int_equal(broken_by(&by_itself, SECOND_RULE, key), 1);
	/* To name the fact does not help: a setting judges it. */
	assert_int_equal(broken_by(&named, SECOND_RULE, key), 1);
	assert_int_equal(broken_by(&hidden, SECOND_RULE, key), 1);
	assert_int_equal(broken_by(&beside, CONTRADICTION, key), 1);
	/* Another fact that moves it, which it does not name. */
	assert_int_equal(broken_by(&by_itself, UNNAMED, "memory.total_kb") +
				 broken_by(&by_itself, SECOND_RULE, "memory.total_kb"),
			 1);
}

static enum law_state over_60(const struct world *w)
{
	LIST_FOR_EACH (struct gpu, g, &w->m->gpu.gpus)
		if (fact_or(&g->temperature_c, 0) > 60)
			return LAW_WRONG;
	return LAW_RIGHT;
}

static enum law_state half_free(const struct world *w)
{
	const struct memory *m = &w->m->memory;

	return fact_or(&m->available_kb, 0) < fact_or(&m->total_kb, 0) / 2 ? LAW_WRONG : LAW_RIGHT;
}

static enum law_state slow_port(const struct world *w)
{
	LIST_FOR_EACH (struct rdma_port, p, &w->m->net.rdma)
		if (fact_or(&p->rate_mbps, 0) < 1000000)
			return LAW_WRONG;
	return LAW_RIGHT;
}

static enum law_state always(const struct world *w)
{
	(void)w;
	return LAW_RIGHT;
}

/* In each verb a rule beside that of the setting. */
static void test_seconds(void **state)
{
	static const struct {
		struct law_second second;
		const char *key;
	} rows[] = {
		{ { LAW_CLUSTER, "rdma-down", slow_port }, "net.rdma.rate_mbps" },
		{ { LAW_GENERATE, "port", always }, "net.rdma.rate_mbps" },
		{ { LAW_LINT, "hca-down", slow_port }, "net.rdma.rate_mbps" },
		{ { LAW_MONITOR, "gpu.temperature", over_60 }, "gpu.gpus.temperature_c" },
		{ { LAW_MONITOR, "memory.available", half_free }, "memory.available_kb" },
		{ { LAW_WATCH, "net.tcp-slow-start-after-idle", always },
		  "knob.net.ipv4.tcp_slow_start_after_idle" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t without = broken_by(NULL, CONTRADICTION, rows[i].key), with;

		law_second = &rows[i].second;
		with = broken_by(NULL, CONTRADICTION, rows[i].key);
		law_second = NULL;
		if (without || !with)
			fail_msg("%s %s: %zu without and %zu with a second rule",
				 law_verb_name(rows[i].second.verb), rows[i].second.what, without,
				 with);
	}
}

/* Facts that causes and codes name are facts. */
static bool is_fact(const struct trial *t, const char *word)
{
	for (size_t i = 0; i < t->n_worlds; i++)
		for (size_t k = 0; k < t->worlds[i].n_places; k++)
			if (is_word_of(word, t->worlds[i].places[k].key))
				return true;
	return false;
}

static void names_are(const struct trial *t, const char *of, const char *list, bool settings)
{
	for (const char *p = list ? list : ""; *p; p += strspn(p, " ")) {
		char word[96];
		size_t n = strcspn(p, " ");

		snprintf(word, sizeof(word), "%.*s", (int)n, p);
		if (settings ? !setting_find(word) : !is_fact(t, word))
			fail_msg("%s names %s, which is no %s", of, word,
				 settings ? "setting" : "fact of any captured machine");
		p += n;
	}
}

static void test_names(void **state)
{
	static struct trial t;

	(void)state;
	trial_open(&t, "all", NULL);
	DIAGNOSIS_FOR_EACH (d)
		for (size_t i = 0; i < d->n; i++) {
			names_are(&t, d->id, d->causes[i].setting, true);
			names_are(&t, d->id, d->causes[i].given, false);
		}
	for (size_t i = 0; gen_codes[i].code; i++) {
		names_are(&t, gen_codes[i].code, gen_codes[i].setting, true);
		names_are(&t, gen_codes[i].code, gen_codes[i].given, false);
	}
	for (size_t i = 0; lint_codes[i].code; i++) {
		names_are(&t, lint_codes[i].code, lint_codes[i].setting, true);
		names_are(&t, lint_codes[i].code, lint_codes[i].given, false);
	}
	for (size_t i = 0; i < monitor_marks_n; i++)
		names_are(&t, monitor_marks[i].what, monitor_marks[i].setting, true);
	for (size_t i = 0; cluster_codes[i].code; i++) {
		names_are(&t, cluster_codes[i].code, cluster_codes[i].setting, true);
		names_are(&t, cluster_codes[i].code, cluster_codes[i].given, false);
	}
	trial_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_law),
		cmocka_unit_test(test_planted),
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests_name("law", tests, NULL, NULL);
}
