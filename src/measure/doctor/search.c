/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding diagnoses by what people say. A word counts where a word of the row begins so or, from
 * four letters on, is within one letter of it; rows with the most words win.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "measure/doctor/doctor.h"
#include "measure/doctor/rule.h"

/* The tables in the order in which a person would look: the GPU first, the cluster last. */

const struct diagnosis_table *const diagnosis_tables[] = {
	&diagnoses_gpu, &diagnoses_gpu_work, &diagnoses_memory, &diagnoses_memory_pages,
	&diagnoses_cpu, &diagnoses_disk,     &diagnoses_system, &diagnoses_nic,
	&diagnoses_net, &diagnoses_rdma,     &diagnoses_nccl,
};
const size_t diagnosis_table_count = sizeof(diagnosis_tables) / sizeof(diagnosis_tables[0]);

enum { WORD_MAX = 48, NEAR = 4 };

/* Words that every symptom has. */
static bool is_noise(const char *w)
{
	static const char *const noise[] = { "a",    "an",   "the", "is",  "are", "my",	  "of",
					     "on",   "in",   "to",  "and", "it",  "i",	  "not",
					     "with", "does", "do",  "at",  "why", "very", "too" };

	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
		if (strcmp(noise[i], w) == 0)
			return true;
	return false;
}

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

static bool search_has_word(const char *text, const char *word)
{
	char here[WORD_MAX];
	size_t n = strlen(word);

	while (text && (text = search_next_word(text, here)) != NULL)
		if (strncmp(here, word, n) == 0 ||
		    (n >= NEAR && strlen(here) >= NEAR && str_distance(here, word, 1) <= 1))
			return true;
	return false;
}

static size_t score(const struct diagnosis *d, const char *const *words, size_t n)
{
	char word[WORD_MAX];
	size_t out = 0;

	for (size_t i = 0; i < n; i++)
		for (const char *at = words[i]; (at = search_next_word(at, word)) != NULL;)
			out += !is_noise(word) &&
			       (search_has_word(d->id, word) || search_has_word(d->symptom, word) ||
				search_has_word(d->words, word));
	return out;
}

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

bool doctor_choose(struct arena *a, const char *const *words, size_t n, struct chosen *out)
{
	size_t best = 0;
	const char *bad;

	*out = (struct chosen){ 0 };
	if (n == 0) {
		DIAGNOSIS_FOR_EACH (d)
			if (!d->ask_only)
				add(a, out, d);
		return true;
	}
	/* "gpu" is a topic, "gpu.link" an id; "half speed" are words. */
	if (doctor_only(a, words, n, out, &bad))
		return true;
	*out = (struct chosen){ .named = true };
	DIAGNOSIS_FOR_EACH (d) {
		size_t s = score(d, words, n);

		best = s > best ? s : best;
	}
	DIAGNOSIS_FOR_EACH (d)
		if (best && score(d, words, n) == best)
			add(a, out, d);
	return out->n > 0;
}
