/* SPDX-License-Identifier: Apache-2.0 */
/* After all changes: what lint still says is mended or named, and what came of it is predicted. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/generate/train_edit.h"
#include "models/training/train.h"

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

/* Takes into q what the changed file sets to another value than the one before. */
static void train_edit_take(const struct train_options *was, const struct train_options *now,
			    enum train_target target, struct train_config *q)
{
	int k;

	if (differ(was->way, now->way) &&
	    (k = word_at(train_way_names, TRAIN_WAYS, now->way)) >= 0) {
		train_setup_parallelism(q, target, (enum train_parallelism)k, k == TRAIN_ZERO3);
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

static void without_note(struct train_config *q, const char *word)
{
	size_t kept = 0;

	for (size_t i = 0; i < q->n_notes; i++)
		if (!strstr(q->notes[i], word))
			q->notes[kept++] = q->notes[i];
	q->n_notes = kept;
}

/* mixed_precision "no" is FP32. The prediction of the file before the changes took bf16, its
 * default where no precision is set: it is made again with FP32. */
static void before_mixed(const struct train_edit *e, struct train_setup *s)
{
	const char *mixed = markup_text(train_edit_at(e, "mixed_precision"));
	struct train_config *q;

	if (e->shell || e->format != ACCELERATE_FILE || !mixed || strcasecmp(mixed, "no") != 0 ||
	    s->before->q.precision != TRAIN_BF16)
		return;
	q = ARENA_NEW(e->a, struct train_config);
	*q = s->before->q;
	q->precision = TRAIN_FP32;
	train_predict(e->a, q, s->before);
}

/* now: the file after the changes. */
static void predict_again(struct train_edit *e, const struct train_edit *now, int gpus,
			  struct train_setup *s)
{
	struct train_config *q = ARENA_NEW(e->a, struct train_config);
	struct train_options was, is;
	struct err err = { 0 };

	*q = s->before->q;
	train_words_none(&was);
	train_words_none(&is);
	train_edit_read(e, gpus, &was);
	train_edit_read(now, gpus, &is);
	train_edit_take(&was, &is, s->target, q);
	if (train_config_complete(e->a, q, &err) < 0)
		*q = s->before->q;
	if (q->compile)
		without_note(q, "no torch.compile");
	train_predict(e->a, q, s->after);
	before_mixed(e, s);
	s->gain = train_ratio(&s->after->q, &s->before->q);
	if (q->way == s->before->q.way && q->micro_batch == s->before->q.micro_batch &&
	    q->recompute == s->before->q.recompute)
		s->why = "no other change in this file is predicted to gain 2 %";
	if (!s->after->memory.fits && s->fits) {
		s->fits = false;
		s->fits_why =
			arena_printf(e->a, "the changed file needs %.1f GB of %.1f GB on each GPU",
				     s->after->memory.total / 1e9, s->after->memory.limit / 1e9);
	}
}

/* A line of the changed text, in the text before. */
static unsigned line_before(const struct edits *e, unsigned line)
{
	long long more = 0;

	for (size_t i = 0; i < e->n; i++) {
		const struct edit *x = &e->at[i];
		long long come = csv_lines(x->with, x->with + strlen(x->with));
		long long go = csv_lines(e->text + x->at, e->text + x->at + x->n);

		/* After a removed line, its number is that of the next line. */
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

/* --- what lint says --------------------------------------------------------------------------- */
/* The value that a remedy begins with: "sdpa, or flash_attention_2", "10 or more", "false". NULL:
 * it is a sentence, a range, or of another type than the key takes. */
static const char *first_value(struct arena *a, const struct train_key *k,
			       const struct lint_finding *f)
{
	const char *fix = f->fix;
	size_t n =
		strspn(fix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-");
	const char *value = arena_strndup(a, fix, n), *rest = fix + n;
	struct markup_node own = { .kind = MARKUP_SCALAR, .text = value };
	double number_;
	bool truth;

	/* For an invalid value "1 or more" is the valid range, not the best value. */
	if (!n || (*rest && *rest != ',' && *rest != ':' &&
		   (!str_starts(rest, " or more") || strcmp(f->code, "bad-value") == 0)))
		return NULL;
	if (k && k->type == KEY_BOOL && !markup_bool(&own, &truth))
		return NULL;
	if (k && (k->type == KEY_INT || k->type == KEY_NUMBER) && !markup_number(&own, &number_))
		return NULL;
	return value;
}

static const struct train_key *key_of(const struct train_edit *e, const char *path)
{
	return train_key(e->shell ? TRAINER_FILE : e->format, path);
}

static void mend_one(struct train_edit *e, const char *path, const char *value, const char *says)
{
	const struct train_key *k = key_of(e, path);
	const struct markup_node *n = e->shell ? NULL : train_edit_at(e, path);

	if (e->shell)
		train_edit_option(e, path, value, says);
	else if (!n || !train_edit_touched(e, n))
		train_edit_set(e, path, value,
			       !k || k->type == KEY_TEXT || k->type == KEY_WORDS ||
				       k->type == KEY_ANY,
			       says);
}

/* "bf16: true, fp16: false": each of them. False: the remedy is of another form. */
static bool mend_pairs(struct train_edit *e, const struct lint_finding *f)
{
	char *save = NULL, *text = arena_strdup(e->a, f->fix);
	const char *names[8], *values[8];
	size_t n = 0;

	for (char *part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		char *colon = strchr(part, ':');

		part += strspn(part, " ");
		if (!colon || colon[1] != ' ' || n == 8)
			return false;
		*colon = '\0';
		if (!key_of(e, part))
			return false;
		names[n] = part;
		values[n++] = colon + 2;
	}
	for (size_t i = 0; i < n; i++)
		mend_one(e, names[i], values[i], f->says);
	return n > 0;
}

/* Errors and warnings of now, the changed text, whose better value is known, as changes of e. */
static void train_edit_mend(struct train_edit *e, const struct train_edit *now,
			    const struct lint *l)
{
	enum value_reader in = e->shell ? VALUE_TRAINER : (enum value_reader)e->format;

	for (size_t i = 0; i < l->n; i++) {
		const struct lint_finding *f = &l->findings[i];
		const char *path = str_starts(f->subject, "--") ? f->subject + 2 : f->subject;
		const struct markup_node *n = e->shell ? NULL : train_edit_at(e, path);
		const char *value;

		if (f->level == LINT_NOTE || !f->fix || !lint_value_named(in, path) ||
		    strcmp(f->code, "removed") == 0 || strcmp(f->code, "old-key") == 0)
			continue;
		/* A change of ours set it. */
		if (!e->shell && (n ? train_edit_touched(e, n) : train_edit_at(now, path) != NULL))
			continue;
		if (mend_pairs(e, f))
			continue;
		value = first_value(e->a, key_of(e, path), f);
		if (value)
			mend_one(e, path, value, f->says);
		else if (n && str_starts(f->fix, "remove it"))
			train_edit_drop(e, n, f->says);
	}
}

static void look_through(struct train_edit *e, const struct edits *now, const struct lint_on *on,
			 struct lint *l)
{
	*l = (struct lint){ .a = e->a, .on = on };
	lint_text(l, e->name, now->text, now->len);
	lint_sort(l);
}

static void faults(struct train_edit *e, const struct lint *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct lint_finding *f = &l->findings[i];
		unsigned line = line_before(&e->edits, f->line);

		if (f->level == LINT_NOTE)
			continue;
		e->n_faults += f->level == LINT_ERROR;
		if (!left_already(e, line, f->subject))
			train_edit_leave(e, line, f->subject,
					 arena_printf(e->a, "%s: %s%s%s%s",
						      f->level == LINT_ERROR ? "the error remains"
									     : "not changed",
						      f->says, f->fix ? " (" : "",
						      f->fix ? f->fix : "", f->fix ? ")" : ""));
	}
}

/* The text with all changes, read. */
static int open_changed(struct train_edit *e, struct train_edit *out, struct err *err)
{
	TEXT_AUTO now = { 0 };
	struct err why = { 0 };

	edits_apply(&e->edits, &now);
	if (train_edit_open(e->a, e->name, arena_strndup(e->a, now.s ? now.s : "", now.len),
			    now.len, out, &why) < 0)
		return err_set(err, -EINVAL,
			       "nothing is written: cannot parse the changed text: %s", why.text);
	return 0;
}

int train_edit_settle(struct train_edit *e, int gpus, const struct lint_on *on,
		      struct train_setup *s, struct err *err)
{
	struct train_edit *now = ARENA_NEW(e->a, struct train_edit);
	size_t before = e->edits.n;
	struct lint l;

	if (open_changed(e, now, err) < 0)
		return -EINVAL;
	look_through(e, &now->edits, on, &l);
	train_edit_mend(e, now, &l);
	if (e->edits.n > before) {
		if (open_changed(e, now, err) < 0)
			return -EINVAL;
		look_through(e, &now->edits, on, &l);
	}
	/* With offload the step is not predicted, nor where nothing fits. */
	if (s->fits && !s->offload.optimizer)
		predict_again(e, now, gpus, s);
	faults(e, &l);
	return 0;
}
