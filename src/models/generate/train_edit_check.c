/* SPDX-License-Identifier: Apache-2.0 */
/* What a file of the user's can say, and what has become of it by the changes: read anew, predicted
 * and looked through, so that what is told of them is what they do. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/generate/train_edit.h"
#include "models/training/change.h"

static bool is_auto(const struct train_edit *e, const char *path)
{
	const struct markup_node *n = train_edit_at(e, path);

	return n && n->kind == MARKUP_SCALAR && strcmp(n->text, "auto") == 0;
}

struct train_bounds train_edit_bounds(const struct train_edit *e)
{
	if (e->shell)
		return (struct train_bounds){
			.way = true,
			.recompute = !train_edit_word(e, "gradient_checkpointing"),
			.micro_batch = !train_edit_word(e, "per_device_train_batch_size") ||
				       !train_edit_word(e, "gradient_accumulation_steps"),
		};
	switch (e->format) {
	case DEEPSPEED_FILE:
		return (struct train_bounds){
			.recompute = true,
			.micro_batch = is_auto(e, "train_micro_batch_size_per_gpu") ||
				       is_auto(e, "gradient_accumulation_steps"),
		};
	case ACCELERATE_FILE:
		return (struct train_bounds){ .micro_batch = true };
	case TRAINER_FILE:
		return (struct train_bounds){
			.way = true,
			.micro_batch = is_auto(e, "per_device_train_batch_size") ||
				       is_auto(e, "gradient_accumulation_steps"),
		};
	case FSDP_FILE:
	case TRAIN_FORMATS:
		break;
	}
	return (struct train_bounds){ .way = true, .recompute = true, .micro_batch = true };
}

const char *train_edit_other(const struct train_edit *e, enum train_target target)
{
	static const struct {
		enum train_format format;
		enum train_target target;
		const char *name, *verb;
	} own[] = {
		{ DEEPSPEED_FILE, TARGET_DEEPSPEED, "a configuration of DeepSpeed", "deepspeed" },
		{ ACCELERATE_FILE, TARGET_ACCELERATE, "a configuration of Accelerate",
		  "accelerate" },
		{ FSDP_FILE, TARGET_FSDP, "a configuration of FSDP", "fsdp" },
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]) && !e->shell; i++)
		if (e->format == own[i].format && target != own[i].target)
			return arena_printf(e->a,
					    "%.100s is %s: gputune generate %s --edit changes it",
					    e->name, own[i].name, own[i].verb);
	return NULL;
}

/* --- numbers and switches in quotes -------------------------------------------------------------
 */
static bool changed_already(const struct train_edit *e, const struct markup_node *n)
{
	for (size_t i = 0; i < e->edits.n; i++) {
		const struct edit *x = &e->edits.at[i];

		if (x->n && n->begin < x->at + x->n && x->at < n->end)
			return true;
	}
	return false;
}

static void bare(struct train_edit *e, const struct markup_node *n, const struct train_key *k,
		 const char *path)
{
	struct markup_node own;
	const struct markup_node *plain = train_edit_bare(n, &own);
	bool truth, number = k->type == KEY_INT || k->type == KEY_NUMBER;
	double v;

	if (plain == n || changed_already(e, n) || train_edit_at(e, path) != n)
		return;
	if (number ? markup_number(plain, &v) : k->type == KEY_BOOL && markup_bool(plain, &truth))
		train_edit_set(e, path, n->text, false,
			       number ? "in quotes it is a text, where a number belongs"
				      : "in quotes it is a text, where a switch belongs");
}

void train_edit_types(struct train_edit *e, const struct markup_node *map, const char *prefix,
		      int depth)
{
	for (const struct markup_node *c = map->first; c; c = c->next) {
		const char *name = c->key && c->key->kind == MARKUP_SCALAR ? c->key->text : NULL;
		const struct train_key *k;
		const char *path;

		if (!name || strcmp(name, "<<") == 0 || strlen(name) > 100)
			continue;
		path = *prefix ? arena_printf(e->a, "%s.%s", prefix, name) : name;
		k = train_key(e->format, path);
		if (c->kind == MARKUP_MAP && depth < 3 && (k || e->format == TRAINER_FILE))
			train_edit_types(e, c, k ? path : "", depth + 1);
		else if (k && c->kind == MARKUP_SCALAR)
			bare(e, c, k, path);
	}
}

/* --- after all changes --------------------------------------------------------------------------
 */
static bool differ(const char *before, const char *after)
{
	return after && (!before || strcasecmp(before, after) != 0);
}

static int word_at(const char *const *names, int n, const char *word)
{
	for (int i = 0; i < n; i++)
		if (strcasecmp(names[i], word) == 0)
			return i;
	return -1;
}

/* What the changed file says other than the one before. */
static void take(const struct train_words *was, const struct train_words *now,
		 enum train_target target, struct train_question *q)
{
	int k;

	if (differ(was->way, now->way) &&
	    (k = word_at(train_way_names, TRAIN_WAYS, now->way)) >= 0) {
		train_setup_way(q, target, (enum train_way)k, k == TRAIN_ZERO3);
	}
	if (differ(was->recompute, now->recompute) &&
	    (k = word_at(train_recompute_names, TRAIN_RECOMPUTES, now->recompute)) >= 0)
		q->recompute = (enum train_recompute)k;
	if (differ(was->precision, now->precision) &&
	    (k = word_at(train_precision_names, TRAIN_PRECISIONS, now->precision)) >= 0)
		q->precision = (enum train_precision)k;
	if (now->micro_batch && now->micro_batch != was->micro_batch)
		q->micro_batch = now->micro_batch;
	if (now->accumulation && now->accumulation != was->accumulation)
		q->accumulation = now->accumulation;
	if (now->workers && now->workers != was->workers)
		q->workers = now->workers;
	if (now->compile >= 0 && now->compile != was->compile)
		q->compile = now->compile;
	if (now->overlap >= 0 && now->overlap != was->overlap)
		q->overlap = now->overlap;
	if (now->reshard >= 0 && now->reshard != was->reshard)
		q->reshard = now->reshard;
	if (now->bucket_bytes > 0 && fabs(now->bucket_bytes - was->bucket_bytes) > 0)
		q->bucket_bytes = now->bucket_bytes;
	if (q->dp > 0)
		q->global_batch = q->micro_batch * q->accumulation * q->dp;
}

static void without_note(struct train_question *q, const char *word)
{
	size_t kept = 0;

	for (size_t i = 0; i < q->n_notes; i++)
		if (!strstr(q->notes[i], word))
			q->notes[kept++] = q->notes[i];
	q->n_notes = kept;
}

/* "no" is FP32, which the changed file is not any more: told by neither option nor file, bf16 was
 * taken for both. */
static void before_mixed(const struct train_edit *e, struct train_setup *s)
{
	const char *mixed = markup_text(train_edit_at(e, "mixed_precision"));
	struct train_question *q;

	if (e->shell || e->format != ACCELERATE_FILE || !mixed || strcasecmp(mixed, "no") != 0 ||
	    s->before->q.precision != TRAIN_BF16)
		return;
	q = ARENA_NEW(e->a, struct train_question);
	*q = s->before->q;
	q->precision = TRAIN_FP32;
	train_predict(e->a, q, s->before);
}

/* now: the file after the changes. */
static void predict_again(struct train_edit *e, const struct train_edit *now, int gpus,
			  struct train_setup *s)
{
	struct train_question *q = ARENA_NEW(e->a, struct train_question);
	struct train_words was, is;
	struct err err = { 0 };

	*q = s->before->q;
	train_words_none(&was);
	train_words_none(&is);
	train_edit_read(e, gpus, &was);
	train_edit_read(now, gpus, &is);
	take(&was, &is, s->target, q);
	if (train_question_settle(e->a, q, &err) < 0)
		*q = s->before->q;
	if (q->compile)
		without_note(q, "no torch.compile");
	train_predict(e->a, q, s->after);
	before_mixed(e, s);
	s->gain = train_ratio(&s->after->q, &s->before->q);
	if (q->way == s->before->q.way && q->micro_batch == s->before->q.micro_batch &&
	    q->recompute == s->before->q.recompute)
		s->why = "nothing else that is changed in this file is predicted to be 2 % faster";
	if (!s->after->memory.fits && s->fits) {
		s->fits = false;
		s->fits_why =
			arena_printf(e->a,
				     "the file as it is after the changes needs %.1f GB of "
				     "%.1f GB on each GPU",
				     s->after->memory.total / 1e9, s->after->memory.limit / 1e9);
	}
}

static size_t lines_in(const char *s, size_t n)
{
	size_t lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += s[i] == '\n';
	return lines;
}

/* A line of the changed text, in the text before. */
static unsigned line_before(const struct edits *e, unsigned line)
{
	long long more = 0;

	for (size_t i = 0; i < e->n; i++) {
		const struct edit *x = &e->at[i];
		long long come = (long long)lines_in(x->with, strlen(x->with));
		long long go = (long long)lines_in(e->text + x->at, x->n);

		/* Where a line was taken out, the next stands now. */
		if (line > x->line + more || (line == x->line + more && !*x->with && go))
			more += come - go;
	}
	return line && line > more ? (unsigned)(line - more) : line;
}

static bool left_already(const struct train_edit *e, unsigned line, const char *subject)
{
	for (size_t i = 0; i < e->n_left; i++)
		if (e->left[i].line == line && str_starts(e->left[i].what, subject))
			return true;
	return false;
}

static void faults(struct train_edit *e, const char *text, size_t len, const struct lint_on *on)
{
	struct lint l = { .a = e->a, .on = on };

	lint_text(&l, e->name, text, len);
	lint_sort(&l);
	for (size_t i = 0; i < l.n; i++) {
		const struct lint_finding *f = &l.findings[i];
		unsigned line = line_before(&e->edits, f->line);

		if (f->level != LINT_ERROR)
			continue;
		e->n_faults++;
		if (!left_already(e, line, f->subject))
			train_edit_leave(
				e, line, f->subject,
				f->fix ? arena_printf(e->a, "wrong, and not mended: %s (%s)",
						      f->says, f->fix)
				       : arena_printf(e->a, "wrong, and not mended: %s", f->says));
	}
}

int train_edit_settle(struct train_edit *e, int gpus, const struct lint_on *on,
		      struct train_setup *s, struct err *err)
{
	struct train_edit *again = ARENA_NEW(e->a, struct train_edit);
	TEXT_AUTO now = { 0 };
	struct err why = { 0 };
	const char *text;

	edits_apply(&e->edits, &now);
	text = arena_strndup(e->a, now.s ? now.s : "", now.len);
	if (train_edit_open(e->a, e->name, text, now.len, again, &why) < 0)
		return err_set(err, -EINVAL,
			       "nothing is written, because the changed text cannot be read: %s",
			       why.text);
	/* With offload the step is not predicted, nor where nothing fits. */
	if (s->fits && !s->offload.optimizer)
		predict_again(e, again, gpus, s);
	faults(e, text, now.len, on);
	return 0;
}
