/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hugging Face Trainer: what its callbacks print (transformers 4.20 to 5: dictionaries, from 5 on
 * with quoted numbers), the page of results, what it says before training, and bars of tqdm.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

/* Tokens that are counted while it trains are gathered of all; those of the results are of one
 * device, as its documentation says (include_tokens_per_second). */
static enum figure_kind of_one(enum figure_kind kind, bool results)
{
	return results && kind == FIGURE_TOKENS_PER_S ? FIGURE_TOKENS_PER_S_PER_GPU : kind;
}

bool read_hf_key(const struct read_place *p, const char *key, double value, double over_s,
		 bool results)
{
	static const struct {
		const char *key;
		enum figure_kind kind;
		bool run; /* of the whole training */
	} keys[] = {
		{ "loss", FIGURE_LOSS, false },
		{ "train_loss", FIGURE_LOSS, true },
		{ "train_samples_per_second", FIGURE_SAMPLES_PER_S, true },
		{ "train_tokens_per_second", FIGURE_TOKENS_PER_S, true },
		{ "train_steps_per_second", FIGURE_STEP_S, true },
		{ "tokens_per_second_per_gpu", FIGURE_TOKENS_PER_S_PER_GPU, false },
		{ "tokens/train_per_sec_per_gpu", FIGURE_TOKENS_PER_S_PER_GPU, false },
		{ "step_time", FIGURE_STEP_S, false },
		/* Axolotl. */
		{ "memory/device_reserved (GiB)", FIGURE_GPU_MEMORY, false },
	};

	if (strcmp(key, "train_runtime") == 0)
		return true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(key, keys[i].key) == 0) {
			bool rate = strcmp(key, "train_steps_per_second") == 0;
			struct metric_sample f = read_seen(p, of_one(keys[i].kind, results),
							   rate ? 1 / value : value);

			f.value *= f.kind == FIGURE_GPU_MEMORY ? 0x1p30 : 1;
			f.text = key;
			if (keys[i].run) {
				f.step = -1;
				f.over_s = over_s;
			}
			evidence_figure(p->ev, f);
			return true;
		}
	return false;
}

/* The number behind a key in quotes of either kind. */
static double behind(const char *s, const char *key)
{
	const char *at = strstr(s, key);

	at = at ? at + strlen(key) : NULL;
	return at && (*at == '\'' || *at == '"') ? read_number(at + 1, NULL) : (double)NAN;
}

/* What the rates of the whole training say together: sequences a step, and their tokens. */
static void hf_sizes(const struct read_place *p, double batch, double steps, double tokens)
{
	double whole = round(batch), sequence = round(tokens / steps / whole);

	if (!(whole >= 1) || fabs(batch / whole - 1) > 0.02)
		return;
	read_trait_count(p, TRAIT_GLOBAL_BATCH, whole);
	if (sequence >= 1 && fabs(tokens / steps / whole / sequence - 1) < 1e-3)
		read_trait_count(p, TRAIT_SEQUENCE, sequence);
}

static bool dictionary(struct log *l, const char *s)
{
	const char *p = strchr(s, '{');
	bool told = false, results = strstr(s, "train_samples_per_second") != NULL, since, early;
	double value, run_s, tokens, samples_s, steps_s;
	char key[96];

	if (!p)
		return false;
	run_s = behind(p, "train_runtime");
	tokens = behind(p, "num_input_tokens_seen");
	samples_s = behind(p, "train_samples_per_second");
	steps_s = behind(p, "train_steps_per_second");
	since = !results && run_s > 0 && tokens > 0;
	/* Rates of the results count the steps that were asked for, also where a run ends before:
	 * less than a token a sequence, steps shorter than a launch. */
	early = results && (tokens < run_s * samples_s || steps_s > 1e4);
	if (since)
		hf_stretch(&l->hf, &l->at, tokens, run_s);
	if (results) {
		double steps = early ? (double)NAN : round(run_s * steps_s);

		hf_sizes(&l->at, samples_s / steps_s, steps, tokens);
		hf_stretches_end(&l->hf, &l->at, steps);
	}
	while (read_pair(&p, key, sizeof(key), &value, NULL))
		told |= (since && strcmp(key, "train_tokens_per_second") == 0) ||
			(early && str_ends(key, "s_per_second")) ||
			read_hf_key(&l->at, key, value, run_s, results) ||
			read_metric_key(&l->at, key, value);
	return told;
}

/* "  train_samples_per_second = 12.3" of the page of results; times as 1:02:03.45. */
static bool of_page(struct log *l, const char *s)
{
	char key[64];
	size_t n;
	const char *eq;
	double v;

	s += strspn(s, " ");
	n = strspn(s, "abcdefghijklmnopqrstuvwxyz_");
	eq = s + n + strspn(s + n, " ");
	if (!n || n >= sizeof(key) || *eq != '=')
		return false;
	memcpy(key, s, n);
	key[n] = '\0';
	v = read_number(eq + 1, &eq);
	for (int i = 0; *eq == ':' && i < 2; i++)
		v = 60 * v + read_number(eq + 1, &eq);
	if (strcmp(key, "train_runtime") == 0)
		l->run_s = v;
	return strcmp(key, "loss") != 0 && read_hf_key(&l->at, key, v, l->run_s, true);
}

static bool hf_before(struct log *l, const char *s)
{
	static const struct {
		const char *words;
		enum trait_kind kind;
	} says[] = {
		{ "Instantaneous batch size per device =", TRAIT_MICRO_BATCH },
		{ "distributed & accumulation) =", TRAIT_GLOBAL_BATCH },
		{ "Gradient Accumulation steps =", TRAIT_ACCUMULATION },
	};

	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
		double v = read_after(s, says[i].words);

		if (v > 0) {
			read_trait_count(&l->at, says[i].kind, v);
			return true;
		}
	}
	return strstr(s, "***** Running training *****") != NULL;
}

static bool line(struct log *l, const char *s)
{
	return hf_before(l, s) || dictionary(l, s) || of_page(l, s);
}

static void end(struct log *l)
{
	hf_stretches_end(&l->hf, &l->at, (double)NAN);
}

static const char *const marks[] = { "'loss':",
				     "\"loss\":",
				     "train_runtime",
				     "train_samples_per_second",
				     "train_steps_per_second",
				     "train_tokens_per_second",
				     "tokens_per_second_per_gpu'",
				     "tokens/train_per_sec_per_gpu",
				     "Instantaneous batch size per device =",
				     "distributed & accumulation) =",
				     "Gradient Accumulation steps =",
				     "***** Running training *****",
				     NULL };
const struct log_reader log_hf = { .framework = "hf-trainer",
				   .format = "Hugging Face Trainer log",
				   .marks = marks,
				   .line = line,
				   .end = end };

/*
 * Hugging Face Trainer with include_num_input_tokens_seen: each line says the tokens and the
 * seconds since training began, and a rate of all of both, in which the first step and all saving
 * still weigh at the end. What lies between two lines is that stretch's own.
 */

void hf_stretch(struct hf_stretches *h, const struct read_place *p, double tokens, double run_s)
{
	struct hf_stretch s = { tokens - h->tokens, run_s - h->run_s, tokens, p->line };
	bool after = h->run_s > 0 && s.tokens > 0 && s.seconds > 0;

	if (after) {
		read_figure(p, FIGURE_TOKENS_PER_S, s.tokens / s.seconds, "num_input_tokens_seen");
		if (h->step >= 0 && p->step > h->step)
			read_figure(p, FIGURE_STEP_S, s.seconds / (double)(p->step - h->step),
				    "train_runtime");
		ARENA_ADD(p->ev->arena, h->items, h->n) = s;
	}
	h->line = p->line;
	h->tokens = tokens;
	h->run_s = run_s;
	h->step = p->step;
}

void hf_stretches_end(struct hf_stretches *h, const struct read_place *p, double steps)
{
	double a_step = h->tokens / steps;

	/* One line alone: what it says of all that was before it. */
	if (!h->n && h->run_s > 0) {
		struct metric_sample f = read_seen(p, FIGURE_TOKENS_PER_S, h->tokens / h->run_s);

		f.over_s = h->run_s;
		f.line = h->line;
		f.step = -1;
		f.text = "num_input_tokens_seen";
		evidence_figure(p->ev, f);
	}
	for (size_t i = 0; i < h->n && a_step > 0 && steps >= 1; i++) {
		struct read_place at = *p;

		at.line = h->items[i].line;
		at.step = read_whole(h->items[i].until / a_step + 0.5, -1);
		read_figure(&at, FIGURE_STEP_S, h->items[i].seconds * a_step / h->items[i].tokens,
			    "train_runtime");
	}
	*h = (struct hf_stretches){ 0 };
}
