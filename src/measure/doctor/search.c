/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding diagnoses by what people say and what their programs printed. Lines of programs weigh
 * most (measure/doctor/listen.c); words are weighed by BM25 over the fields of each row. Both
 * become a probability by weights that are rows (terms.rows). Below the bar nothing fits.
 */
#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "measure/doctor/doctor.h"
#include "measure/doctor/listen.h"

enum { WORD_MAX = 40, NEAR = 5, ASKED_MAX = 96, SHOWN = 3, SHOWN_ALL = 10 };

static double weight_of(const char *id)
{
	for (size_t i = 0; i < doctor_weights.n; i++)
		if (strcmp(doctor_weights.rows[i].id, id) == 0)
			return strtod(doctor_weights.rows[i].same, NULL);
	return 0;
}

/* --- words ------------------------------------------------------------------------------------ */

/* The next word in lower case; NULL at the end. */
static const char *search_next_word(const char *at, char *word)
{
	size_t n = 0;

	while (*at && !isalnum((unsigned char)*at))
		at++;
	if (!*at)
		return NULL;
	for (; isalnum((unsigned char)*at); at++)
		if (n + 1 < WORD_MAX)
			word[n++] = (char)tolower((unsigned char)*at);
	word[n] = '\0';
	return at;
}

/* Endings that make no other word: "hangs", "stalled", "loading". */
static void stem(char *w)
{
	static const char *const ends[] = { "ing", "ed", "es", "ly", "s", "e" };
	size_t n = strlen(w);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t k = strlen(ends[i]);

		if (n < k + 3 || !str_ends(w, ends[i]) || (k == 1 && w[n - 2] == 's'))
			continue;
		n -= k;
		if (k > 1 && n > 3 && w[n - 1] == w[n - 2])
			n--; /* "dropped" */
		else if (w[n - 1] == 'e' && n > 3)
			n--;
		w[n] = '\0';
		return;
	}
}

/* As rows and questions are compared: one word of several that mean the same, without ending.
 * False: a word that says nothing. */
static bool normal(char *w)
{
	for (size_t i = 0; i < doctor_terms.n; i++) {
		const struct vocabulary *t = &doctor_terms.rows[i];

		if (!words_have(t->same, w, strlen(w)))
			continue;
		if (*t->id == '-')
			return false;
		strncpy(w, t->id, WORD_MAX - 1);
		break;
	}
	stem(w);
	return true;
}

/* Calls each for every word and for every two neighbours as one. */
struct tokens {
	char word[WORD_MAX], pair[2 * WORD_MAX];
	const char *at;
	char before[WORD_MAX];
};

/* The next word of t->word; t->pair is it with the word before, or "". False at the end. */
static bool tokens_next(struct tokens *t)
{
	while (t->at && (t->at = search_next_word(t->at, t->word)) != NULL) {
		if (!normal(t->word))
			continue;
		*t->pair = '\0';
		if (*t->before) {
			strcpy(t->pair, t->before);
			strcat(t->pair, t->word);
		}
		strcpy(t->before, t->word);
		return true;
	}
	return false;
}

/* --- the index -------------------------------------------------------------------------------- */

struct posting {
	const char *word;
	size_t row;
	double weight; /* by field */
};

struct index {
	struct arena *a;
	struct posting *postings;
	size_t n, rows;
	double *length, mean;
	const struct diagnosis **of;
};

static void post(struct index *x, const char *word, size_t row, double weight)
{
	if (x->n && x->n % 1024 == 0) {
		struct posting *wider = arena_array(x->a, x->n + 1024, sizeof(*wider));

		memcpy(wider, x->postings, x->n * sizeof(*wider));
		x->postings = wider;
	} else if (!x->n) {
		x->postings = arena_array(x->a, 1024, sizeof(*x->postings));
	}
	x->postings[x->n++] = (struct posting){ arena_strdup(x->a, word), row, weight };
	x->length[row] += weight;
}

static void post_text(struct index *x, const char *text, size_t row, double weight)
{
	struct tokens t = { .at = text };

	while (tokens_next(&t)) {
		post(x, t.word, row, weight);
		if (*t.pair)
			post(x, t.pair, row, weight / 2);
	}
}

/* By word, then by row, for counting and for looking up. */
static int by_word(const void *a, const void *b)
{
	const struct posting *p = a, *q = b;
	int c = strcmp(p->word, q->word);

	return c ? c : p->row < q->row ? -1 : p->row > q->row;
}

/* What one row has of a word is one posting. */
static void gather(struct index *x)
{
	size_t k = 0;

	qsort(x->postings, x->n, sizeof(*x->postings), by_word);
	for (size_t i = 1; i < x->n; i++)
		if (by_word(&x->postings[k], &x->postings[i]) == 0)
			x->postings[k].weight += x->postings[i].weight;
		else
			x->postings[++k] = x->postings[i];
	x->n = x->n ? k + 1 : 0;
}

static void index_make(struct arena *a, struct index *x)
{
	double total = 0;

	*x = (struct index){ .a = a };
	DIAGNOSIS_FOR_EACH (d)
		x->rows += d != NULL;
	x->length = arena_array(a, x->rows, sizeof(*x->length));
	x->of = arena_array(a, x->rows, sizeof(const struct diagnosis *));
	x->rows = 0;
	DIAGNOSIS_FOR_EACH (d) {
		const char *const fields[] = { d->symptom, d->words, d->said, d->id };

		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
			if (fields[i])
				post_text(x, fields[i], x->rows, i == 3 ? 0.5 : 1);
		for (size_t i = 0; i < d->n; i++)
			post_text(x, d->causes[i].title, x->rows, 0.3);
		if (d->log)
			post_text(x, d->log, x->rows, 0.5);
		x->of[x->rows++] = d;
	}
	gather(x);
	for (size_t i = 0; i < x->rows; i++)
		total += x->length[i];
	x->mean = total / (double)x->rows;
}

static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;

/* Made once a process: its rows never change. */
static const struct index *index_once(void)
{
	static struct arena arena;
	static struct index once;

	pthread_mutex_lock(&index_lock);
	if (!once.n)
		index_make(&arena, &once);
	pthread_mutex_unlock(&index_lock);
	return &once;
}

/* The first posting of a word; *n gets how many there are. */
static const struct posting *find_word(const struct index *x, const char *word, size_t *n)
{
	size_t low = 0, high = x->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (strcmp(x->postings[mid].word, word) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (*n = 0; low + *n < x->n && strcmp(x->postings[low + *n].word, word) == 0;)
		++*n;
	return x->postings + low;
}

/* A word that is one letter away from one of several that mean the same. */
static const struct posting *find_same(const struct index *x, const char *word, size_t *n)
{
	char same[WORD_MAX];

	for (size_t i = 0; i < doctor_terms.n; i++)
		for (const char *at = doctor_terms.rows[i].same;
		     (at = search_next_word(at, same)) != NULL;)
			if (strlen(same) >= NEAR && str_distance(same, word, 1) <= 1 &&
			    normal(same))
				return find_word(x, same, n);
	return x->postings;
}

/* A word that no row has may be one letter away from one, or the beginning of one. */
static const struct posting *find_near(const struct index *x, const char *word, size_t *n)
{
	size_t len = strlen(word);
	const struct posting *p = find_word(x, word, n);

	if (*n > 0 || len < NEAR)
		return p;
	for (size_t i = 0; i < x->n; i++) {
		const char *w = x->postings[i].word;
		size_t k = strlen(w);

		if ((k > len && k < len + 4 && strncmp(w, word, len) == 0) ||
		    (k >= NEAR && k <= len + 1 && len <= k + 1 && str_distance(w, word, 1) <= 1))
			return find_word(x, w, n);
	}
	return find_same(x, word, n);
}

/* --- weighing --------------------------------------------------------------------------------- */

struct weighed {
	double words; /* BM25 */
	double known; /* of what the question weighs: the part that this row has */
	double lines; /* by the programs' lines that it knows */
	double ahead; /* words against the best */
	double probability;
};

static double rarity(const struct index *x, size_t n)
{
	return log(1 + ((double)x->rows - (double)n + 0.5) / ((double)n + 0.5));
}

/* share: of a word alone it counts as known, of a pair it does not. */
static void weigh_word(const struct index *x, const char *word, double share, struct weighed *out,
		       double *asked)
{
	enum { K = 12, B = 6 }; /* tenths */
	size_t n;
	const struct posting *p = share < 1 ? find_word(x, word, &n) : find_near(x, word, &n);
	double rare = rarity(x, n);

	if (share == 1)
		*asked += n ? rare : rarity(x, 3) * weight_of("strange");
	for (size_t i = 0; i < n; i++) {
		double norm = 1 - B / 10.0 + B / 10.0 * x->length[p[i].row] / x->mean;
		double tf = p[i].weight;

		out[p[i].row].words += share * rare * tf * (K / 10.0 + 1) / (tf + K / 10.0 * norm);
		if (share == 1)
			out[p[i].row].known += rare;
	}
}

static void weigh_text(const struct index *x, const char *const *words, size_t n,
		       struct weighed *out)
{
	char seen[ASKED_MAX][2 * WORD_MAX];
	size_t n_seen = 0;
	double asked = 0;

	for (size_t i = 0; i < n; i++) {
		struct tokens t = { .at = words[i] };

		while (n_seen + 2 <= ASKED_MAX && tokens_next(&t)) {
			const char *const both[] = { t.word, t.pair };

			for (size_t b = 0; b < 2; b++) {
				size_t k = 0;

				while (k < n_seen && strcmp(seen[k], both[b]) != 0)
					k++;
				if (!*both[b] || k < n_seen)
					continue;
				strcpy(seen[n_seen++], both[b]);
				weigh_word(x, both[b], b ? 0.5 : 1, out, &asked);
			}
		}
	}
	for (size_t i = 0; i < x->rows; i++)
		out[i].known = asked > 0 ? out[i].known / asked : 0;
}

static void weigh_all(const struct index *x, struct weighed *w)
{
	double top = 0;

	for (size_t i = 0; i < x->rows; i++)
		top = w[i].words > top ? w[i].words : top;
	for (size_t i = 0; i < x->rows; i++) {
		double z, by_words, by_lines;

		w[i].ahead = top > 0 ? w[i].words / top : 0;
		z = weight_of("bias") + weight_of("words") * w[i].words +
		    weight_of("known") * w[i].known + weight_of("ahead") * w[i].ahead;
		by_words = w[i].words > 0 ? 1 / (1 + exp(-z)) : 0;
		by_lines = 1 - pow(1 - weight_of("line"), w[i].lines);
		w[i].probability = 1 - (1 - by_words) * (1 - by_lines);
	}
}

/* --- choosing --------------------------------------------------------------------------------- */

static void add(struct arena *a, struct chosen *out, const struct diagnosis *d)
{
	for (size_t i = 0; i < out->n; i++)
		if (out->items[i] == d)
			return;
	out->items = arena_grow(a, out->items, out->n, sizeof(*out->items));
	out->items[out->n++] = d;
}

bool doctor_only(struct arena *a, const char *const *ids, size_t n, struct chosen *io,
		 const char **bad)
{
	for (size_t i = 0; i < n; i++) {
		size_t before = io->n;
		bool known = false;

		DIAGNOSIS_FOR_EACH (d)
			if (id_matches(d->id, ids[i])) {
				add(a, io, d);
				known = true;
			}
		if (!known && io->n == before) {
			*bad = ids[i];
			return false;
		}
	}
	io->named = true;
	return true;
}

void doctor_all(struct arena *a, struct chosen *out)
{
	*out = (struct chosen){ 0 };
	DIAGNOSIS_FOR_EACH (d)
		add(a, out, d);
}

static void choose_likely(struct arena *a, const struct index *x, const struct weighed *w,
			  const struct log_input *input, struct chosen *out)
{
	bool *taken = arena_array(a, x->rows, sizeof(*taken));
	bool all = input && input->all;

	while (out->n < (all ? SHOWN_ALL : SHOWN)) {
		size_t best = 0;

		for (size_t i = 1; i < x->rows; i++)
			if (!taken[i] && (taken[best] || w[i].probability > w[best].probability))
				best = i;
		if (taken[best] || w[best].probability < (all ? 0.001 : weight_of("bar")))
			return;
		taken[best] = true;
		out->matches = arena_grow(a, out->matches, out->n, sizeof(*out->matches));
		out->matches[out->n] = (struct symptom_match){
			w[best].probability, w[best].words, w[best].known,
			w[best].lines,	     w[best].ahead, log_input_line(input, x->of[best])
		};
		add(a, out, x->of[best]);
	}
}

bool doctor_choose(struct arena *a, const char *const *words, size_t n,
		   const struct log_input *input, struct chosen *out)
{
	struct weighed *w;
	const char *bad;
	const struct index *x;

	*out = (struct chosen){ 0 };
	if (n == 0 && !input) {
		DIAGNOSIS_FOR_EACH (d)
			if (!d->ask_only)
				add(a, out, d);
		return true;
	}
	/* "gpu" is a topic, "gpu.link" an id; "half speed" are words. */
	if (!input && doctor_only(a, words, n, out, &bad))
		return true;
	*out = (struct chosen){ .named = true };
	x = index_once();
	w = arena_array(a, x->rows, sizeof(*w));
	weigh_text(x, words, n, w);
	for (size_t i = 0; input && i < x->rows; i++)
		w[i].lines = log_input_weight(input, x->of[i]);
	weigh_all(x, w);
	choose_likely(a, x, w, input, out);
	return out->n > 0;
}

int doctor_describe(struct arena *a, const char *const *words, size_t n, struct log_input *input,
		    struct chosen *out, struct err *e)
{
	const char **left, *bad = NULL;
	struct chosen by_id = { 0 };
	size_t n_left;

	if (n && doctor_only(a, words, n, &by_id, &bad)) {
		*out = by_id;
		return 0;
	}
	if (log_input_ask(input, words, n, &left, &n_left, e))
		return e->code;
	for (size_t i = 0; i < n_left; i++)
		log_input_add_text(input, "your words", left[i]);
	if (*input->prose)
		left[n_left++] = input->prose;
	if (!n_left && !input->n_sources)
		doctor_choose(a, NULL, 0, NULL, out);
	else if (!doctor_choose(a, left, n_left, input, out)) {
		doctor_choose(a, NULL, 0, NULL, out);
		out->unknown = true;
	}
	return 0;
}
