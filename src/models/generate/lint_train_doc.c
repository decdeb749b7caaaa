/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a training's files it is, and its values by key: what the judges of them share. */
#include <string.h>

#include "models/generate/lint_train.h"
#include "base/text.h"

static size_t known_below(const struct markup_node *map, enum train_format f, int depth)
{
	size_t n = 0;

	for (const struct markup_node *c = map->first; c; c = c->next) {
		if (c->key && c->key->kind == MARKUP_SCALAR &&
		    (train_key(f, c->key->text) ||
		     (f == TRAINER_FILE && lint_value_named(VALUE_TRAINER, c->key->text))))
			n++;
		if (c->kind == MARKUP_MAP && depth < 3)
			n += known_below(c, f, depth + 1);
	}
	return n;
}

enum train_format train_format_of(const struct markup_node *root)
{
	static const char *const deepspeed[] = {
		"zero_optimization",	"train_micro_batch_size_per_gpu",
		"train_batch_size",	"zero_allow_untested_optimizer",
		"wall_clock_breakdown", "fp16.enabled",
		"bf16.enabled"
	};
	static const char *const trainer[] = { "per_device_train_batch_size", "output_dir",
					       "gradient_checkpointing", "dataloader_num_workers",
					       "learning_rate" };

	if (!root || root->kind != MARKUP_MAP)
		return TRAIN_FORMATS;
	if (markup_get(root, "distributed_type") || markup_get(root, "compute_environment") ||
	    (markup_get(root, "num_processes") && markup_get(root, "mixed_precision")))
		return ACCELERATE_FILE;
	for (size_t i = 0; i < sizeof(deepspeed) / sizeof(deepspeed[0]); i++)
		if (markup_find(root, deepspeed[i]))
			return DEEPSPEED_FILE;
	if (known_below(root, TRAINER_FILE, 0) >= 3)
		for (size_t i = 0; i < sizeof(trainer) / sizeof(trainer[0]); i++) {
			const struct train_doc d = { .root = root, .loose = true };

			if (train_at(&d, trainer[i]))
				return TRAINER_FILE;
		}
	return known_below(root, FSDP_FILE, 3) >= 2 ? FSDP_FILE : TRAIN_FORMATS;
}

static const struct markup_node *anywhere(const struct markup_node *map, const char *path,
					  int depth)
{
	const struct markup_node *found = markup_find(map, path);

	if (found || depth > 3)
		return found;
	for (const struct markup_node *c = map->first; c && !found; c = c->next)
		if (c->kind == MARKUP_MAP)
			found = anywhere(c, path, depth + 1);
	return found;
}

const struct markup_node *train_at(const struct train_doc *d, const char *path)
{
	const struct markup_node *n =
		d->loose ? anywhere(d->root, path, 0) : markup_find(d->root, path);

	return n && !markup_null(n) ? n : NULL;
}

bool train_flag(const struct train_doc *d, const char *path, bool usual)
{
	bool v;

	return markup_bool(train_at(d, path), &v) ? v : usual;
}

double train_number(const struct train_doc *d, const char *path, double usual)
{
	double v;

	return markup_number(train_at(d, path), &v) ? v : usual;
}

const char *train_word(const struct train_doc *d, const char *path)
{
	const char *s = markup_text(train_at(d, path));

	return s ? s : "";
}

/* Line of a key, 0 where it is not there. */
static unsigned train_line(const struct train_doc *d, const char *path)
{
	const struct markup_node *n = train_at(d, path);

	return n ? n->key ? n->key->line : n->line : 0;
}

void train_finding(const struct train_doc *d, enum lint_level level, const char *code,
		   const char *path, const char *fix, const char *source, const char *fmt, ...)
{
	const char *says;
	va_list ap;

	va_start(ap, fmt);
	says = arena_vprintf(d->l->a, fmt, ap);
	va_end(ap);
	lint_add(d->l, level, code, train_line(d, path), path, fix, source, "%s", says);
}

const char *train_value(const struct markup_node *n, unsigned *line)
{
	const struct markup_node *r = markup_real(n);

	*line = n->key ? n->key->line : n->line;
	return !r || r->kind != MARKUP_SCALAR || strpbrk(r->text, "${<") ? lint_value_open
									 : r->text;
}

static const char *train_value_at(void *ctx, const char *name, unsigned *line)
{
	const struct train_doc *d = ctx;
	const struct markup_node *n = train_at(d, name);

	if (strcmp(name, ".file") == 0)
		return d->command ? "command" : "file";
	return n ? train_value(n, line) : NULL;
}

void lint_train_values(const struct train_doc *d)
{
	static const enum value_reader readers[TRAIN_FORMATS] = {
		[DEEPSPEED_FILE] = VALUE_DEEPSPEED,
		[ACCELERATE_FILE] = VALUE_ACCELERATE,
		[TRAINER_FILE] = VALUE_TRAINER,
	};

	if (d->format == FSDP_FILE) /* lint_train_fsdp() */
		return;
	lint_values(&(struct lint_values){ d->l, readers[d->format], train_value_at,
					   (void *)(uintptr_t)d });
}

size_t train_cpus(const struct lint *l)
{
	const struct machine *m = l->on->node ? l->on->node->facts : NULL;
	long long n = m ? fact_or(&m->cpu.threads, 0) : 0;

	return n > 0 && n < 1 << 16 ? (size_t)n : 0;
}
