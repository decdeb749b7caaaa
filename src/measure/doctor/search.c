/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding diagnoses by what people say and what their programs printed. Lines of programs weigh
 * most (measure/doctor/listen.c); words are weighed by BM25 over the fields of each row. What is no
 * matter of ours has rows too (doctor_background), and all compete: a probability is a share of
 * them, by weights that are rows (terms.rows). Below the bar nothing fits.
 */
#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "measure/doctor/doctor.h"
#include "measure/doctor/listen.h"

enum { WORD_MAX = 40, SHOWN = 3, SHOWN_ALL = 10, DENIED_WORDS = 3, FEW = 3 };

static double weight_of(const char *id)
{
	for (size_t i = 0; i < doctor_weights.n; i++)
		if (strcmp(doctor_weights.rows[i].id, id) == 0)
			return strtod(doctor_weights.rows[i].same, NULL);
	return 0;
}

/* --- words ------------------------------------------------------------------------------------ */

/* Bytes of an apostrophe, which is no end of a word: "doesn't" is "doesnt". */
static size_t apostrophe(const char *at)
{
	return *at == '\'' ? 1 : strncmp(at, "\xe2\x80\x99", 3) == 0 ? 3 : 0;
}

/* The next word in lower case; NULL at the end. */
static const char *search_next_word(const char *at, char *word)
{
	size_t n = 0, skip;

	while (*at && !isalnum((unsigned char)*at))
		at++;
	if (!*at)
		return NULL;
	for (;; at += skip) {
		bool letter = isalnum((unsigned char)*at);

		skip = letter ? 1 : apostrophe(at);
		if (skip == 0)
			break;
		if (letter && n + 1 < WORD_MAX)
			word[n++] = (char)tolower((unsigned char)*at);
	}
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

struct posting {
	struct posting *next;
	unsigned row;
	float weight; /* by field */
};

/* A sentence that holds a word: one way to say a symptom. */
struct saying {
	size_t phrase;
	struct saying *next;
};

struct word {
	struct posting *rows;
	double n; /* of rows */
	struct saying *phrases;
};

struct phrase {
	size_t row;
	double length; /* root of the squares of what its words weigh */
};

struct index {
	struct arena a;
	struct map terms;     /* a word, or two as "a_b": the name of its row */
	struct map deniable;  /* words that say nothing behind a "no" */
	struct map leanings;  /* a word as it is, or "=" and as tokens have it: what it adds */
	struct map complains; /* likewise: what a symptom is told with */
	struct map words;     /* a word of rows, as tokens have it: struct word */
	double number, common, pair, strange; /* weights of kinds of words */
	size_t rows;
	struct phrase *phrases;
	size_t n_phrases;
	double *length, mean, often; /* often: of the mean diagnosis */
	const struct diagnosis **of; /* NULL: no matter of ours */
};

/* What a text says, word by word. */
struct token {
	char text[2 * WORD_MAX];
	double weight; /* 0: nothing is said */
	bool alone;    /* no pair of words */
};
struct tokens {
	const struct index *x;
	const char *at;
	char raw[WORD_MAX], said[WORD_MAX]; /* the last word, and the last that says something */
	unsigned denied;		    /* how many words a "no" before still reaches */
	struct token now[3];		    /* of this word: itself, a term of two words, a pair */
};

static void token_set(struct token *t, const char *a, const char *b, double weight, bool alone)
{
	*t = (struct token){ .weight = weight, .alone = alone };
	strcpy(t->text, a);
	strcat(t->text, b);
}

/* The row of a word; of a number with a unit, "240w", that of its unit. */
static const char *term_of(const struct index *x, char *w)
{
	size_t digits = strspn(w, "0123456789");
	const char *name = map_get(&x->terms, w);

	if (!name && digits && (name = map_get(&x->terms, w + digits)) != NULL)
		memmove(w, w + digits, strlen(w + digits) + 1);
	return name;
}

/* The word as rows and questions are compared: one of several that mean the same, without ending.
 */
static void take_word(struct tokens *t, char *w)
{
	const char *name = term_of(t->x, w), *common;
	bool no = name && strcmp(name, "-no") == 0, denied = t->denied > 0;

	t->denied = no || (name && strcmp(name, "-not") == 0) ? DENIED_WORDS : t->denied - denied;
	if (name && *name == '-' && strcmp(name, "-common") != 0 && !no)
		return;
	if (name && *name != '-')
		strncpy(w, name, WORD_MAX - 1);
	stem(w);
	if (denied && map_get(&t->x->deniable, w))
		return;
	common = map_get(&t->x->terms, w);
	token_set(&t->now[0], w, "",
		  strspn(w, "0123456789") == strlen(w)	     ? t->x->number
		  : common && strcmp(common, "-common") == 0 ? t->x->common
							     : 1,
		  true);
	if (*t->said)
		token_set(&t->now[2], t->said, w, t->x->pair, false);
	strcpy(t->said, w);
}

/* Fills t->now; false at the end. A line of its own begins anew. */
static bool tokens_next(struct tokens *t)
{
	char w[WORD_MAX] = "", two[2 * WORD_MAX + 1];
	const char *end = search_next_word(t->at, w), *name;

	memset(t->now, 0, sizeof(t->now));
	if (!end)
		return false;
	if (memchr(t->at, '\n', (size_t)(end - t->at)))
		*t->raw = *t->said = '\0';
	if (t->at + strcspn(t->at, ",;.:!?()\n") < end)
		t->denied = 0;
	t->at = end;
	strcpy(two, t->raw);
	strcat(two, "_");
	strcat(two, w);
	strcpy(t->raw, w);
	name = map_get(&t->x->terms, two);
	if (name && *name != '-') {
		token_set(&t->now[1], name, "", 1, true);
		stem(t->now[1].text);
	}
	take_word(t, w);
	return true;
}

/* --- the index -------------------------------------------------------------------------------- */

static void post(struct index *x, const char *text, size_t row, double weight)
{
	struct word **w = (struct word **)map_at(&x->a, &x->words, text);

	*w = *w ? *w : ARENA_NEW(&x->a, struct word);
	if (!(*w)->rows || (*w)->rows->row != row) {
		struct posting *p = ARENA_NEW(&x->a, struct posting);

		*p = (struct posting){ (*w)->rows, (unsigned)row, 0 };
		(*w)->rows = p;
		(*w)->n++;
	}
	(*w)->rows->weight += (float)weight;
	x->length[row] += weight;
}

static void post_text(struct index *x, const char *text, size_t row, double weight)
{
	struct tokens t = { .x = x, .at = text };

	while (tokens_next(&t))
		for (size_t i = 0; i < 3; i++)
			if (t.now[i].weight > 0)
				post(x, t.now[i].text, row,
				     weight * (t.now[i].alone ? 1 : t.now[i].weight));
}

static double rarity(const struct index *x, double n)
{
	return log(1 + ((double)x->rows - n + 0.5) / (n + 0.5));
}

/* What a word of a text says; one that no row has says something else. */
static double weight_of_word(const struct index *x, const struct token *t, const struct word *w)
{
	return t->weight * (w ? rarity(x, w->n) : x->strange * rarity(x, 3));
}

static void post_phrase(struct index *x, const char *line, size_t row)
{
	struct tokens t = { .x = x, .at = line };
	double squares = 0;

	while (tokens_next(&t))
		for (size_t i = 0; i < 3; i++) {
			struct word *w = map_get(&x->words, t.now[i].text);
			double weight = weight_of_word(x, &t.now[i], w);
			struct saying *s;

			if (!t.now[i].alone || weight <= 0 || !w ||
			    (w->phrases && w->phrases->phrase == x->n_phrases))
				continue;
			squares += weight * weight;
			s = ARENA_NEW(&x->a, struct saying);
			*s = (struct saying){ x->n_phrases, w->phrases };
			w->phrases = s;
		}
	ARENA_ADD(&x->a, x->phrases, x->n_phrases) =
		(struct phrase){ row, squares > 0 ? sqrt(squares) : 1 };
}

/* The words of a row, by where they belong; the first row that has a word keeps it. */
static void take_row(struct index *x, const struct vocabulary *t, struct map *all)
{
	bool deniable = strcmp(t->id, "-deniable") == 0;
	struct map *into = deniable			     ? &x->deniable
			   : strcmp(t->id, "complains") == 0 ? &x->complains
							     : all;

	for (const char *s = t->same; *s; s += strspn(s, " ")) {
		char w[2 * WORD_MAX] = "";
		size_t n = strcspn(s, " ");
		const char **name;

		memcpy(w, s, n < sizeof(w) ? n : sizeof(w) - 1);
		s += n;
		if (deniable || strcmp(t->id, "-common") == 0)
			stem(w);
		name = (const char **)map_at(&x->a, into, w);
		*name = *name ? *name : t->id;
	}
}

static void index_make(struct index *x)
{
	size_t n = doctor_background.n, k = 0;
	double total = 0, often = 0;
	ARENA_AUTO line = { 0 };

	x->number = weight_of("number");
	x->common = weight_of("common");
	x->pair = weight_of("pair");
	x->strange = weight_of("strange");
	for (size_t i = 0; i < doctor_terms.n; i++)
		take_row(x, &doctor_terms.rows[i], &x->terms);
	for (size_t i = 0; i < doctor_leanings.n; i++)
		take_row(x, &doctor_leanings.rows[i], &x->leanings);
	DIAGNOSIS_FOR_EACH (d)
		n += d != NULL;
	x->length = arena_array(&x->a, n, sizeof(*x->length));
	x->of = arena_array(&x->a, n, sizeof(const struct diagnosis *));
	DIAGNOSIS_FOR_EACH (d) {
		post_text(x, d->symptom, k, 1);
		post_text(x, d->words ? d->words : "", k, 1);
		post_text(x, d->said ? d->said : "", k, 1);
		post_text(x, d->id, k, 0.5);
		for (size_t i = 0; i < d->n; i++)
			post_text(x, d->causes[i].title, k, 0.3);
		LOG_PATTERN_FOR_EACH (s, d)
			if (*s != '!')
				post_text(x, arena_strndup(&x->a, s, strcspn(s, "\n")), k, 0.3);
		total += x->length[k];
		often += d->often;
		x->of[k++] = d;
	}
	x->mean = total / (double)k;
	x->often = 1 + often / (double)k;
	for (size_t i = 0; i < doctor_background.n; i++)
		post_text(x, doctor_background.rows[i].same, k++, 1);
	x->rows = n;
	for (size_t i = 0; i < n && x->of[i]; i++) {
		post_phrase(x, x->of[i]->symptom, i);
		for (const char *s = x->of[i]->said; s && *s; s += strcspn(s, "\n"), s += *s != 0)
			post_phrase(x, arena_strndup(&line, s, strcspn(s, "\n")), i);
	}
}

/* Built on first use. It takes 2 MB, so doctor_describe, which needs it once, frees it. */
static struct index index_kept;
static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;

/* Takes index_lock; the caller releases it. */
static const struct index *index_use(void)
{
	pthread_mutex_lock(&index_lock);
	if (!index_kept.rows)
		index_make(&index_kept);
	return &index_kept;
}

static void index_drop(void)
{
	pthread_mutex_lock(&index_lock);
	arena_free(&index_kept.a);
	index_kept = (struct index){ 0 };
	pthread_mutex_unlock(&index_lock);
}

/* --- weighing --------------------------------------------------------------------------------- */

struct weighed {
	double words;	     /* BM25 */
	double phrase;	     /* cosine to the nearest of its phrases */
	double known;	     /* of what the question weighs: the part that this row has */
	double lines, hints; /* by the programs' lines that it knows: sure ones, weak ones */
	double against;	     /* lines that speak against it */
	double pull;	     /* what single words add, as doctor_pulls has it */
	double probability;
};

/* What is asked. */
struct asked {
	double weight, strange;	  /* strange: the part that no row has */
	bool question, wish;	  /* the text has a "?"; it requests a feature ("wish") */
	bool complains;		  /* it describes a symptom */
	size_t words;		  /* that say something; few are looked up as they are */
	double leaning;		  /* log-odds, by its words, that it is no matter of ours */
	double pull;		  /* likewise, by doctor_pulls */
	bool specific;		  /* it says more than that something is slow */
	double squares, *phrases; /* of the weights of its words; what of it each phrase has */
};

static void weigh_token(const struct index *x, const struct token *t, struct weighed *out,
			struct asked *asked)
{
	const double k = 1.2, b = 0.4;
	const struct word *w = map_get(&x->words, t->text);
	double rare = weight_of_word(x, t, w);

	if (t->alone) {
		asked->words++;
		asked->weight += rare;
		asked->specific =
			asked->specific || (t->weight >= 1 && strcmp(t->text, "slow") != 0);
		asked->strange += w ? 0 : rare;
	}
	asked->squares += t->alone ? rare * rare : 0;
	for (const struct saying *s = w ? w->phrases : NULL; s; s = s->next)
		asked->phrases[s->phrase] += rare * rare;
	for (const struct posting *p = w ? w->rows : NULL; p; p = p->next) {
		double tf = p->weight, norm = 1 - b + b * x->length[p->row] / x->mean;

		out[p->row].words += rare * tf * (k + 1) / (tf + k * norm);
		if (t->alone)
			out[p->row].known += rare;
	}
}

/* A word as it is, or "=" and as rows have it. What is said twice counts once. */
static void lean(struct arena *a, const struct index *x, struct map *seen, const char *kind,
		 const char *word, struct asked *asked)
{
	char key[2 * WORD_MAX + 2];
	const char *by;
	void **place;

	strcpy(key, kind);
	strcat(key, word);
	place = map_at(a, seen, key);
	by = map_get(&x->leanings, key);
	if (by && !*place)
		asked->leaning += strtod(by, NULL);
	*place = seen;
	asked->complains = asked->complains || map_get(&x->complains, key);
}

/* What the words that were said add to a diagnosis, "gpu.gone:0.3", or to "-", what is none of
 * ours. */
static void pull(const struct index *x, const struct map *said, struct weighed *out,
		 struct asked *asked)
{
	for (size_t i = 0; i < doctor_pulls.n; i++) {
		const char *id = doctor_pulls.rows[i].id, *by = strchr(id, ':') + 1;
		double *to = &asked->pull;
		char w[2 * WORD_MAX + 2];
		size_t n;

		for (size_t k = 0; k < x->rows && x->of[k]; k++)
			if (str_starts(id, x->of[k]->id) && id + strlen(x->of[k]->id) + 1 == by)
				to = &out[k].pull;
		for (const char *s = doctor_pulls.rows[i].same; *s; s += n, s += strspn(s, " ")) {
			n = strcspn(s, " ");
			snprintf(w, sizeof(w), "%.*s", (int)n, s);
			*to += map_get(said, w) ? strtod(by, NULL) : 0;
		}
	}
}

/* What is said twice counts once. */
static void weigh_text(struct arena *a, const struct index *x, const char *const *words, size_t n,
		       struct weighed *out, struct asked *asked)
{
	struct map seen = { 0 }, leant = { 0 };

	*asked = (struct asked){ .phrases = arena_array(a, x->n_phrases, sizeof(double)) };
	for (size_t i = 0; i < n; i++) {
		struct tokens t = { .x = x, .at = words[i] };

		asked->question = asked->question || strchr(words[i], '?');
		while (tokens_next(&t)) {
			lean(a, x, &leant, "", t.raw, asked);
			for (size_t b = 0; b < 3; b++) {
				void **place = map_at(a, &seen, t.now[b].text);

				if (t.now[b].weight > 0 && t.now[b].alone)
					lean(a, x, &leant, "=", t.now[b].text, asked);
				if (t.now[b].weight > 0 && !*place)
					weigh_token(x, &t.now[b], out, asked);
				*place = &seen;
				asked->wish = asked->wish || strcmp(t.now[b].text, "wish") == 0;
			}
		}
	}
	pull(x, &leant, out, asked);
	asked->weight = asked->weight > 0 ? asked->weight : 1;
	for (size_t i = 0; i < x->n_phrases && asked->squares > 0; i++) {
		struct weighed *row = &out[x->phrases[i].row];

		row->phrase = fmax(row->phrase,
				   asked->phrases[i] / sqrt(asked->squares) / x->phrases[i].length);
	}
}

/* Each row's share of all that fits, and the share of what is no matter of ours. */
static double weigh_all(const struct index *x, struct weighed *w, const struct asked *asked)
{
	double total = 0, other = 0, leaning;
	double question = weight_of(asked->question ? "question" : "");
	double asked_for = weight_of(asked->question ? "asked" : "");
	bool symptom = asked->complains || asked->words <= FEW;

	for (size_t i = 0; i < x->rows; i++)
		symptom = symptom || w[i].lines > 0;
	for (size_t i = 0; i < x->rows; i++) {
		const struct diagnosis *d = x->of[i];
		double z;

		w[i].known /= asked->weight;
		z = weight_of("words") * w[i].words +
		    weight_of("density") * w[i].words / sqrt(asked->weight) +
		    weight_of("known") * w[i].known + weight_of("phrase") * w[i].phrase +
		    weight_of("line") * w[i].lines + weight_of("hint") * w[i].hints -
		    weight_of("against") * w[i].against;
		if (!d)
			other = fmax(other, weight_of("background") * z);
		else if (z > 0)
			w[i].probability = exp(z + w[i].pull +
					       weight_of("often") * log((1 + d->often) / x->often) +
					       (str_starts(d->id, "ask.") ? asked_for
						: symptom		  ? 0
									  : -weight_of("quiet")));
		total += w[i].probability;
	}
	leaning = fmax(-4, fmin(4, asked->leaning + weight_of("leaning-from")));
	other = (exp(other) + exp(weight_of("nothing") +
				  weight_of("unknown") * asked->strange / asked->weight)) *
		exp(question + weight_of(asked->wish ? "wish" : "") +
		    weight_of("leaning") * leaning + asked->pull);
	for (size_t i = 0; i < x->rows; i++)
		w[i].probability *=
			weight_of(w[i].lines > 0 ? "sure-line" : "sure-words") / (total + other);
	return other / (total + other);
}

/* --- choosing --------------------------------------------------------------------------------- */
static void add(struct arena *a, struct chosen *out, const struct diagnosis *d)
{
	for (size_t i = 0; i < out->n; i++)
		if (out->items[i] == d)
			return;
	ARENA_ADD(a, out->items, out->n) = d;
}

bool doctor_only(struct arena *a, const char *const *ids, size_t n, struct chosen *io,
		 const char **bad)
{
	for (size_t i = 0; i < n; i++) {
		bool known = false;

		DIAGNOSIS_FOR_EACH (d)
			if (id_matches(d->id, ids[i])) {
				add(a, io, d);
				known = true;
			}
		if (!known) {
			*bad = ids[i];
			return false;
		}
	}
	io->named = true;
	return true;
}

void doctor_all(struct arena *a, bool asked, struct chosen *out)
{
	*out = (struct chosen){ 0 };
	DIAGNOSIS_FOR_EACH (d)
		if (asked || !d->ask_only)
			add(a, out, d);
}

static void choose_likely(struct arena *a, const struct index *x, struct weighed *w, double other,
			  const struct log_input *input, struct chosen *out)
{
	bool all = input && input->all;

	while (out->n < (all ? SHOWN_ALL : SHOWN)) {
		struct weighed *best = w;
		bool line, lead;
		double share;

		for (size_t i = 1; i < x->rows; i++)
			best = w[i].probability > best->probability ? &w[i] : best;
		line = best->lines > 0;
		lead = str_starts(x->of[best - w]->id, "ask.");
		share = weight_of(out->n ? "also" : lead ? "bar-lead" : "bar");
		if ((best->probability < (all ? 0.001 : share) && !line) ||
		    (!all && !out->n &&
		     other > fmax(best->probability, weight_of(lead ? "other-lead" : "other"))))
			return;
		/* A share of all that fits is right as often as labelled reports say. */
		share = best->probability / weight_of(line ? "sure-line" : "sure-words");
		share = fmin(0.975, fmax(line ? 0.5 : 0.01, share));
		share = 1 / (1 + exp(-weight_of("says") * log(share / (1 - share)) -
				     weight_of("says-from") - weight_of(line ? "says-line" : "")));
		out->matches = arena_grow(a, out->matches, out->n, sizeof(*out->matches));
		out->matches[out->n] = (struct symptom_match){
			share,	     best->words, best->known,
			best->lines, best->hints, log_input_line(input, x->of[best - w])
		};
		add(a, out, x->of[best - w]);
		best->probability = 0;
	}
}

bool doctor_choose(struct arena *a, const char *const *words, size_t n,
		   const struct log_input *input, struct chosen *out)
{
	struct weighed *w;
	const char *bad;
	const struct index *x;
	struct asked asked;
	bool lines = false;

	*out = (struct chosen){ 0 };
	if (n == 0 && !input) {
		doctor_all(a, false, out);
		return true;
	}
	/* "gpu" is a topic, "gpu.link" an id; "half speed" are words. */
	if (!input && doctor_only(a, words, n, out, &bad))
		return true;
	*out = (struct chosen){ .named = true };
	x = index_use();
	w = arena_array(a, x->rows, sizeof(*w));
	weigh_text(a, x, words, n, w, &asked);
	for (size_t i = 0; input && i < x->rows; i++) {
		w[i].lines = log_input_weight(input, x->of[i], LINE_SURE);
		w[i].hints = log_input_weight(input, x->of[i], LINE_HINT);
		w[i].against = log_input_weight(input, x->of[i], LINE_AGAINST);
		lines = lines || w[i].lines > 0 || w[i].hints > 0;
	}
	/* "The GPU is slow" may have any cause: all are tested, as without words. */
	if (!asked.specific && !lines && asked.squares > 0)
		doctor_choose(a, NULL, 0, NULL, out);
	else
		choose_likely(a, x, w, weigh_all(x, w, &asked), input, out);
	pthread_mutex_unlock(&index_lock);
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
	index_drop();
	return 0;
}
