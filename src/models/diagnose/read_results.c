/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Hugging Face Trainer leaves beside a checkpoint: trainer_state.json with its history, and
 * all_results.json or train_results.json with the rates of the whole training.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "base/text.h"
#include "models/diagnose/read.h"

static bool looks(const char *head, size_t n, const char *path)
{
	const char *s = head + strspn(head, " \t\r\n");

	size_t first = json_cut(s, n - (size_t)(s - head));

	(void)path;
	/* Lines of JSON are a log. */
	if (first && s[first] && s[first + strspn(s + first, " \t\r\n")] == '{')
		return false;
	return *s == '{' && !strstr(head, "\"traceEvents\"") &&
	       (strstr(head, "\"log_history\"") || strstr(head, "\"train_runtime\"") ||
		strstr(head, "\"train_samples_per_second\""));
}

static double number(const json_t *j)
{
	return json_is_number(j) ? json_number_value(j) : (double)NAN;
}

/* An entry of the history: a step's loss, or at the end the rates of all. */
static bool entry(struct read_place *p, const json_t *o, struct hf_stretches *h)
{
	double run_s = number(json_object_get(o, "train_runtime")),
	       tokens = number(json_object_get(o, "num_input_tokens_seen"));
	const char *key;
	json_t *v;
	bool told = false, results = json_object_get(o, "train_samples_per_second") != NULL, since;

	p->step = read_whole(number(json_object_get(o, "step")), -1);
	since = !results && run_s > 0 && tokens > 0;
	if (since)
		hf_stretch(h, p, tokens, run_s);
	json_object_foreach((json_t *)o, key, v) told |=
		!isnan(number(v)) && ((since && strcmp(key, "train_tokens_per_second") == 0) ||
				      read_hf_key(p, key, number(v), run_s, results) ||
				      read_metric_key(p, key, number(v)));
	return told;
}

static size_t history(struct read_place *p, const struct json_piece *list, const char *text)
{
	const char *s = list->value + 1, *end = list->value + list->size, *counted = text;
	struct json_piece item;
	struct hf_stretches stretches = { 0 };
	size_t told = 0;

	p->line = 1;
	while (*list->value == '[' && json_next(&s, end, &item, false)) {
		json_t *o = *item.value == '{' ? json_piece_load(&item) : NULL;

		p->line += (size_t)csv_lines(counted, item.value);
		counted = item.value;
		told += o && entry(p, o, &stretches);
		json_decref(o);
	}
	hf_stretches_end(&stretches, p, (double)NAN);
	return told;
}

static int read_all(struct evidence *ev, size_t file, const char *text, size_t size, struct err *e)
{
	struct read_place p = { .ev = ev, .file = file, .line = 1, .rank = -1, .step = -1 };
	const char *s = strchr(text, '{') + 1, *end = text + size, *counted = text;
	struct json_piece m;
	double run_s = (double)NAN;
	size_t told = 0;

	for (const char *t = s; json_next(&t, end, &m, true);)
		if (strcmp(m.key, "train_runtime") == 0)
			run_s = read_number(m.value, NULL);
	while (json_next(&s, end, &m, true)) {
		double v = *m.value == '{' || *m.value == '[' ? (double)NAN
							      : read_number(m.value, NULL);
		struct read_place at = p;

		p.line += (size_t)csv_lines(counted, m.value);
		counted = m.value;
		at.line = p.line;
		if (strcmp(m.key, "log_history") == 0)
			told += history(&at, &m, text);
		else if (strcmp(m.key, "train_batch_size") == 0)
			read_trait_count(&at, TRAIT_MICRO_BATCH, v);
		else if (!isnan(v))
			told += read_hf_key(&at, m.key, v, run_s, true);
	}
	/* What stands before the end of a file that was cut off. */
	if (strcmp(m.key, "log_history") == 0 && !m.size) {
		m.size = (size_t)(end - m.value);
		told += history(&p, &m, text);
	}
	while (s < end && isspace((unsigned char)*s))
		s++;
	ev->files[file].used = told;
	p.line = 0;
	read_trait(&p, TRAIT_FRAMEWORK, "hf-trainer", (double)NAN);
	if (s >= end || *s != '}')
		return err_set(e, -EBADMSG, "%s:%zu: the JSON is broken or cut off behind this",
			       ev->files[file].path,
			       1 + (size_t)csv_lines(text, s < end ? s : end));
	return told ? 0
		    : err_set(e, -ENOTSUP, "%s: no step and no rate in it", ev->files[file].path);
}

const struct evidence_format evidence_json = { .name = "Hugging Face Trainer results",
					       .looks = looks,
					       .read = read_all };
