/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a user's file, and reading out of it how he trains now. */
#include "models/generate/train_edit.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/generate/lint_train.h"

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

	if (r < 0)
		return err_set(e, r, "%.100s:%u: this is no %s: %.200s", out->name, line,
			       json ? "JSON" : "YAML", why.text);
	if (out->m.documents > 1)
		return err_set(e, -EINVAL,
			       "%.100s:%u: a second document begins here; only files with one are "
			       "changed",
			       out->name, out->m.second);
	out->root = out->m.root;
	out->format = train_format_of(out->m.root);
	if (out->format == TRAIN_FORMATS)
		return err_set(e, -EINVAL,
			       "%.100s is neither DeepSpeed's nor Accelerate's configuration, nor "
			       "arguments of the Trainer or of FSDP",
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
		return err_set(e, -EINVAL, "%.100s is no text", name);
	if (len > LINT_TEXT_MAX)
		return err_set(e, -E2BIG, "%.100s is larger than %d bytes", name, LINT_TEXT_MAX);
	language = train_language_of(name, text, len);
	return language == TRAIN_SHELL ? open_shell(out, text, len)
				       : open_markup(out, text, len, language == TRAIN_JSON, e);
}

/* --- reading ------------------------------------------------------------------------------------
 */
static double number_at(const struct train_edit *e, const char *path)
{
	const struct lint_word *w = e->shell ? train_edit_word(e, path) : NULL;
	struct markup_node n = { .kind = MARKUP_SCALAR, .text = w ? w->text : "" };
	double v;

	return markup_number(e->shell ? &n : train_edit_bare(train_edit_at(e, path), &n), &v) ? v
											      : 0;
}

/* -1: not told. */
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
	double v = number_at(e, path);

	if (!*out && v >= 1 && v <= most)
		*out = (int)v;
}

static void trainer(const struct train_edit *e, struct train_words *w)
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

static void deepspeed(const struct train_edit *e, int gpus, struct train_words *w)
{
	static const char *const ways[] = { "ddp", "zero-1", "zero-2", "zero-3" };
	const struct markup_node *stage = train_edit_at(e, "zero_optimization.stage");
	double v = number_at(e, "zero_optimization.stage");
	double bucket = number_at(e, "zero_optimization.reduce_bucket_size");

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

static void accelerate(const struct train_edit *e, struct train_words *w)
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

void train_edit_read(const struct train_edit *e, int gpus, struct train_words *w)
{
	if (e->shell || e->format == TRAINER_FILE)
		trainer(e, w);
	else if (e->format == DEEPSPEED_FILE)
		deepspeed(e, gpus, w);
	else if (e->format == ACCELERATE_FILE)
		accelerate(e, w);
}
