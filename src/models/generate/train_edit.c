/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a user's file, and reading out of it how he trains now. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "models/generate/train_edit.h"
#include "base/text.h"
#include "models/generate/lint_train.h"
#include "models/training/train.h"

static int open_shell(struct train_edit *out, const char *text, size_t len)
{
	struct lint_on on = { 0 };
	struct lint l = { .a = out->a, .on = &on };

	out->shell = true;
	out->words = lint_split(&l, text, len, &out->n_words);
	return 0;
}

static int open_markup(struct train_edit *out, const char *text, size_t len, bool json,
		       struct err *e)
{
	unsigned line;
	struct err why = { 0 };
	int r = markup_read(out->a, text, len, json, &out->m, &line, &why);

	if (r == -ELIBACC)
		*e = why;
	else if (r < 0)
		err_set(e, r, "%.100s:%u: invalid %s: %.200s", out->name, line,
			json ? "JSON" : "YAML", why.text);
	if (r < 0)
		return r;
	if (out->m.documents > 1)
		return err_set(e, -EINVAL,
			       "%.100s:%u: a second document begins here; only files with one "
			       "document can be changed",
			       out->name, out->m.second);
	out->root = out->m.root;
	out->format = train_format_of(out->m.root);
	if (out->format == TRAIN_FORMATS)
		return err_set(e, -EINVAL,
			       "%.100s: not a DeepSpeed or Accelerate configuration, nor Trainer "
			       "or FSDP arguments",
			       out->name);
	return 0;
}

int train_edit_open(struct arena *a, const char *name, const char *text, size_t len,
		    struct train_edit *out, struct err *e)
{
	enum train_language language;

	*out = (struct train_edit){
		.a = a, .name = name, .format = TRAIN_FORMATS, .edits = { .text = text, .len = len }
	};
	if (memchr(text, '\0', len))
		return err_set(e, -EINVAL, "%.100s: not a text file", name);
	if (len > LINT_TEXT_MAX)
		return err_set(e, -E2BIG, "%.100s is larger than %d bytes", name, LINT_TEXT_MAX);
	language = train_language_of(name, text, len);
	return language == TRAIN_SHELL ? open_shell(out, text, len)
				       : open_markup(out, text, len, language == TRAIN_JSON, e);
}

/* "--name=VALUE" or "--name VALUE": the word that holds the value; *skip: bytes of it in front. */
static const struct lint_word *train_edit_find(const struct train_edit *e, const char *name,
					       size_t *skip)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < e->n_words; i++) {
		const char *s = e->words[i].text;
		size_t k = 0;

		if (!str_starts(s, "--"))
			continue;
		for (s += 2; k < n && (s[k] == name[k] || (s[k] == '-' && name[k] == '_')); k++)
			;
		if (k < n || (s[k] && s[k] != '='))
			continue;
		*skip = s[k] == '=' ? n + 3 : 0;
		if (*skip)
			return &e->words[i];
		return i + 1 < e->n_words && !e->words[i + 1].end ? &e->words[i + 1] : NULL;
	}
	return NULL;
}

/* The value of --name in a shell file; NULL: not there, or not known. */
static const struct lint_word *train_edit_word(const struct train_edit *e, const char *name)
{
	size_t skip = 0;
	const struct lint_word *w = train_edit_find(e, name, &skip);
	struct lint_word *own;

	if (!w || w->open || strlen(w->text) < skip)
		return NULL;
	own = ARENA_NEW(e->a, struct lint_word);
	*own = *w;
	own->text = w->text + skip;
	return own;
}

/* --- reading ---------------------------------------------------------------------------------- */
static double train_edit_number_at(const struct train_edit *e, const char *path)
{
	const struct lint_word *w = e->shell ? train_edit_word(e, path) : NULL;
	struct markup_node n = { .kind = MARKUP_SCALAR, .text = w ? w->text : "" };
	double v;

	return markup_number(e->shell ? &n : train_edit_bare(train_edit_at(e, path), &n), &v) ? v
											      : 0;
}

/* -1: not known. */
static int flag_at(const struct train_edit *e, const char *path)
{
	const struct lint_word *w = e->shell ? train_edit_word(e, path) : NULL;
	struct markup_node n = { .kind = MARKUP_SCALAR, .text = w ? w->text : "" };
	bool v;

	return markup_bool(e->shell ? &n : train_edit_bare(train_edit_at(e, path), &n), &v) ? v
											    : -1;
}

static void whole(const struct train_edit *e, const char *path, int most, int *out)
{
	double v = train_edit_number_at(e, path);

	if (!*out && v >= 1 && v <= most)
		*out = (int)v;
}

static void train_edit_trainer(const struct train_edit *e, struct train_options *w)
{
	int full = flag_at(e, "gradient_checkpointing");
	const struct lint_word *fsdp;
	const char *s;

	whole(e, "per_device_train_batch_size", 1 << 16, &w->micro_batch);
	whole(e, "gradient_accumulation_steps", 1 << 16, &w->accumulation);
	if (!w->accumulation && !w->global_batch && w->micro_batch)
		w->accumulation = 1;
	whole(e, "dataloader_num_workers", 1024, &w->workers);
	if (!w->precision && (flag_at(e, "bf16") == 1 || flag_at(e, "fp16") == 1))
		w->precision = flag_at(e, "bf16") == 1 ? "bf16" : "fp16";
	if (!w->recompute && full >= 0)
		w->recompute = full ? "full" : "none";
	fsdp = e->shell ? train_edit_word(e, "fsdp") : NULL;
	s = e->shell ? fsdp ? fsdp->text : NULL : markup_text(train_edit_at(e, "fsdp"));
	if (!w->way && s && strstr(s, "shard"))
		w->way = strstr(s, "hybrid") ? "hsdp" : "fsdp";
	if (w->compile < 0 && flag_at(e, "torch_compile") >= 0)
		w->compile = flag_at(e, "torch_compile");
}

static void train_edit_deepspeed(const struct train_edit *e, int gpus, struct train_options *w)
{
	static const char *const ways[] = { "ddp", "zero-1", "zero-2", "zero-3" };
	const struct markup_node *stage = train_edit_at(e, "zero_optimization.stage");
	double v = train_edit_number_at(e, "zero_optimization.stage");
	double bucket = train_edit_number_at(e, "zero_optimization.reduce_bucket_size");

	whole(e, "train_micro_batch_size_per_gpu", 1 << 16, &w->micro_batch);
	whole(e, "gradient_accumulation_steps", 1 << 16, &w->accumulation);
	whole(e, "train_batch_size", 1 << 24, &w->global_batch);
	if (!w->accumulation && !w->global_batch && w->micro_batch)
		w->accumulation = 1;
	/* Three that do not multiply: what each GPU does is what counts. */
	if (w->micro_batch && w->accumulation && gpus > 0)
		w->global_batch = 0;
	if (!w->way && stage && v >= 0 && v <= 3)
		w->way = ways[(int)v];
	/* Without ZeRO gradients are summed behind the backward pass, in the type of the weights
	 * and in messages of one size: reduce_bucket_size is not read.
	 */
	if (v <= 0) {
		w->overlap = 0;
		w->reduce_fp32 = 0;
		bucket = DEEPSPEED_REDUCE / 2;
	}
	if (!w->precision && (flag_at(e, "bf16.enabled") == 1 || flag_at(e, "fp16.enabled") == 1))
		w->precision = flag_at(e, "bf16.enabled") == 1 ? "bf16" : "fp16";
	if (w->bucket_bytes <= 0 && bucket >= 1e4 && bucket <= 1e11)
		w->bucket_bytes = 2 * bucket;
	if (w->overlap < 0 && v > 0)
		w->overlap = flag_at(e, "zero_optimization.overlap_comm") >= 0
				     ? flag_at(e, "zero_optimization.overlap_comm")
				     : v >= 3;
}

static void train_edit_accelerate(const struct train_edit *e, struct train_options *w)
{
	const struct markup_node *type = train_edit_at(e, "distributed_type");
	const char *s = markup_text(type),
		   *mixed = markup_text(train_edit_at(e, "mixed_precision"));

	if (!w->way && s && strcasecmp(s, "FSDP") == 0)
		w->way = "fsdp";
	else if (!w->way && s && strcasecmp(s, "MULTI_GPU") == 0)
		w->way = "ddp";
	if (!w->precision && mixed &&
	    (strcasecmp(mixed, "bf16") == 0 || strcasecmp(mixed, "fp16") == 0))
		w->precision = mixed;
	if (!w->recompute && flag_at(e, "fsdp_config.fsdp_activation_checkpointing") >= 0)
		w->recompute =
			flag_at(e, "fsdp_config.fsdp_activation_checkpointing") ? "full" : "none";
	if (w->reshard < 0)
		w->reshard = flag_at(e, "fsdp_config.fsdp_reshard_after_forward");
}

void train_edit_read(const struct train_edit *e, int gpus, struct train_options *w)
{
	if (e->shell || e->format == TRAINER_FILE)
		train_edit_trainer(e, w);
	else if (e->format == DEEPSPEED_FILE)
		train_edit_deepspeed(e, gpus, w);
	else if (e->format == ACCELERATE_FILE)
		train_edit_accelerate(e, w);
}

/* What a file of the user's can say, and what has become of it by the changes: read anew, predicted
 * and looked through, so that what is told of them is what they do. */

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
		{ DEEPSPEED_FILE, TARGET_DEEPSPEED, "a DeepSpeed configuration", "deepspeed" },
		{ ACCELERATE_FILE, TARGET_ACCELERATE, "an Accelerate configuration", "accelerate" },
		{ FSDP_FILE, TARGET_FSDP, "an FSDP configuration", "fsdp" },
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]) && !e->shell; i++)
		if (e->format == own[i].format && target != own[i].target)
			return arena_printf(e->a, "%.100s is %s: use gputune generate %s --edit",
					    e->name, own[i].name, own[i].verb);
	return NULL;
}

/* --- numbers and switches in quotes ----------------------------------------------------------- */
bool train_edit_touched(const struct train_edit *e, const struct markup_node *n)
{
	for (size_t i = 0; i < e->edits.n; i++) {
		const struct edit *x = &e->edits.at[i];

		if (x->n && n->begin < x->at + x->n && x->at < n->end)
			return true;
	}
	return false;
}

static void train_edit_bare_one(struct train_edit *e, const struct markup_node *n,
				const struct train_key *k, const char *path)
{
	struct markup_node own;
	const struct markup_node *plain = train_edit_bare(n, &own);
	bool truth, number = k->type == KEY_INT || k->type == KEY_NUMBER;
	double v;

	if (plain == n || train_edit_touched(e, n) || train_edit_at(e, path) != n)
		return;
	if (number ? markup_number(plain, &v) : k->type == KEY_BOOL && markup_bool(plain, &truth))
		train_edit_set(e, path, n->text, false,
			       number ? "quoted, it is text, but a number is expected"
				      : "quoted, it is text, but a boolean is expected");
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
			train_edit_bare_one(e, c, k, path);
	}
}

/*
 * Changes of a launch script: values of arguments that stand there, and lines that do nothing but
 * set a variable that does harm. No other word is touched.
 */

bool train_edit_option(struct train_edit *e, const char *name, const char *value,
		       const char *reason)
{
	size_t skip = 0;
	const struct lint_word *w = train_edit_find(e, name, &skip);
	struct err err = { 0 };
	const char *what;

	if (!w || strcmp(w->text + skip, value) == 0)
		return false;
	what = arena_printf(e->a, "--%s: %.40s -> %s", name, w->text + skip, value);
	/* Only a word that stands as it is read has its value at a known place. */
	if (w->open || w->quoted || w->end_at - w->begin != strlen(w->text)) {
		train_edit_leave(e, w->line, what, "quoted, or a shell expansion");
		return false;
	}
	if (edit_add(e->a, &e->edits,
		     &(struct edit){ .at = w->begin + skip,
				     .n = w->end_at - w->begin - skip,
				     .with = value,
				     .what = what,
				     .reason = reason },
		     &err) == 0)
		return true;
	train_edit_leave(e, w->line, what, arena_strdup(e->a, err.text));
	return false;
}

static void train_edit_set_one(struct train_edit *e, const char *name,
			       const struct train_items *items, const char *more)
{
	const struct train_item *i = train_item_find(items, name);

	if (i)
		train_edit_option(e, name, i->value,
				  more ? arena_printf(e->a, "%s; %s", i->reason, more) : i->reason);
}

/* "NAME=VALUE": a word that sets a variable. */
static bool is_setting(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

	return n && s[n] == '=' && !(s[0] >= '0' && s[0] <= '9');
}

/* Whether the command beside these bytes can go alone: no other command depends on it. In front of
 * it is a line's end or ";", behind it ";" or "&&". */
static bool is_free_between(const char *text, size_t from, size_t to, bool behind)
{
	size_t n;
	const char *s = str_trim(text + from, to - from, &n);

	if (n == 1 && *s == ';')
		return true;
	return behind ? n == 2 && memcmp(s, "&&", 2) == 0
		      : memchr(text + from, '\n', to - from) && (!n || !strchr("&|\\", s[n - 1]));
}

/* The bytes to remove for a command that only sets the one variable, words [first, end): its whole
 * line, or the command with the separator before or after it. */
static bool command_bytes(const struct train_edit *e, size_t first, size_t end, size_t *from,
			  size_t *to)
{
	const char *text = e->edits.text, *s;
	size_t n, begin = e->words[first].begin, after = e->words[end - 1].end_at;

	if (first && !is_free_between(text, e->words[first - 1].end_at, begin, false))
		return false;
	for (*from = begin; *from && strchr(" \t", text[*from - 1]); --*from)
		;
	s = memchr(text + after, '\n', e->edits.len - after);
	*to = s ? (size_t)(s - text) + 1 : e->edits.len;
	str_trim(text + after, *to - after, &n);
	if (n == 0 && (!*from || text[*from - 1] == '\n'))
		return true;
	if (n && end < e->n_words && is_free_between(text, after, e->words[end].begin, true)) {
		*from = begin;
		*to = e->words[end].begin;
		return true;
	}
	if (n || !first)
		return false;
	*from = e->words[first - 1].end_at;
	*to = after;
	return true;
}

/* The bytes to remove for NAME=VALUE in this line: the whole command, or one of several variables
 * that a command sets. */
static bool setting_bytes(const struct train_edit *e, unsigned line, const char *name, size_t *from,
			  size_t *to)
{
	size_t n = strlen(name), i = 0, first, end, others = 0;

	while (i < e->n_words &&
	       (e->words[i].line != line || strncmp(e->words[i].text, name, n) != 0 ||
		e->words[i].text[n] != '='))
		i++;
	if (i == e->n_words || e->words[i].open || e->words[i].quoted)
		return false;
	for (first = i; first && !e->words[first].end; first--)
		;
	for (end = i + 1; end < e->n_words && !e->words[end].end; end++)
		;
	/* Of "docker run -e NAME=VALUE" the option would be left alone. */
	for (size_t k = first; k < i; k++)
		if (!is_setting(e->words[k].text) &&
		    (k > first || (strcmp(e->words[k].text, "export") != 0 &&
				   strcmp(e->words[k].text, "env") != 0)))
			return false;
	for (size_t k = first; k < end; k++)
		others += k != i && strcmp(e->words[k].text, "export") != 0;
	if (!others)
		return command_bytes(e, first, end, from, to);
	*from = i + 1 < end ? e->words[i].begin : e->words[i - 1].end_at;
	*to = i + 1 < end ? e->words[i + 1].begin : e->words[i].end_at;
	return !memchr(e->edits.text + *from, '\\', *to - *from);
}

static bool train_edit_worth(const struct lint_finding *f)
{
	static const char *const codes[] = { "forced",	"gid-pinned",	    "harmful", "not-here",
					     "removed", "unknown-variable", "gdr-off" };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strcmp(f->code, codes[i]) == 0)
			return f->level != LINT_NOTE;
	return false;
}

static void train_edit_variables(struct train_edit *e, const struct lint_on *on)
{
	struct lint l = { .a = e->a, .on = on };

	lint_text(&l, e->name, e->edits.text, e->edits.len);
	lint_sort(&l);
	for (size_t i = 0; i < l.n; i++) {
		const struct lint_finding *f = &l.findings[i];
		const char *what = arena_printf(e->a, "%s: removed", f->subject);
		size_t from, to;
		struct err err = { 0 };

		if (!train_edit_worth(f) || !f->line)
			continue;
		if (!setting_bytes(e, f->line, f->subject, &from, &to))
			train_edit_leave(e, f->line, what,
					 "cannot be removed separately: its line has an option, a "
					 "condition, quotes or a comment");
		else if (edit_add(e->a, &e->edits,
				  &(struct edit){ .at = from,
						  .n = to - from,
						  .with = "",
						  .what = what,
						  .reason = f->says },
				  &err) < 0 &&
			 !strstr(err.text, "twice"))
			train_edit_leave(e, f->line, what, arena_strdup(e->a, err.text));
	}
}

void train_edit_shell(struct train_edit *e, const struct train_setup *s, const struct lint_on *on)
{
	struct train_items items = { 0 };
	bool pays = s->fits && (!s->before->memory.fits || s->gain.value >= 1.02);
	const char *why = "predicted to be faster in combination with the other changes";
	size_t skip;

	train_items_trainer(e->a, s, &items);
	train_edit_variables(e, on);
	if (pays && train_edit_find(e, "per_device_train_batch_size", &skip) &&
	    train_edit_find(e, "gradient_accumulation_steps", &skip)) {
		train_edit_set_one(e, "per_device_train_batch_size", &items, why);
		train_edit_set_one(e, "gradient_accumulation_steps", &items, NULL);
	}
	if (pays && s->after->q.recompute != s->before->q.recompute)
		train_edit_set_one(e, "gradient_checkpointing", &items, why);
	if (s->after->q.loader_s > 0)
		train_edit_set_one(e, "dataloader_num_workers", &items, NULL);
}
