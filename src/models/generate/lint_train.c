/* SPDX-License-Identifier: Apache-2.0 */
/* Which file it is, and looking up its keys: what the judges of trainings' files share. */
#include "models/generate/lint_train.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static size_t known_below(const struct markup_node *map, enum train_format f, int depth)
{
	size_t n = 0;

	for (const struct markup_node *c = map->first; c; c = c->next) {
		if (c->key && c->key->kind == MARKUP_SCALAR && train_key(f, c->key->text))
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

void train_say(const struct train_doc *d, enum lint_level level, const char *code, const char *path,
	       const char *fix, const char *source, const char *fmt, ...)
{
	const char *says;
	va_list ap;

	va_start(ap, fmt);
	says = arena_vprintf(d->l->a, fmt, ap);
	va_end(ap);
	lint_add(d->l, level, code, train_line(d, path), path, fix, source, "%s", says);
}

size_t train_cpus(const struct lint *l)
{
	const struct machine *m = l->on->node ? l->on->node->facts : NULL;
	long long n = m ? fact_or(&m->cpu.threads, 0) : 0;

	return n > 0 && n < 1 << 16 ? (size_t)n : 0;
}

static void judge(struct lint *l, const struct markup *m, enum train_format f)
{
	struct train_doc d = {
		.l = l, .format = f, .root = m->root, .json = m->json, .loose = f == TRAINER_FILE
	};

	l->configs++;
	lint_train_keys(&d);
	if (f == DEEPSPEED_FILE) {
		lint_train_deepspeed(&d);
		lint_train_zero(&d);
	} else if (f == TRAINER_FILE) {
		lint_train_trainer(&d);
		if (train_at(&d, "fsdp_config"))
			lint_train_fsdp(&d, markup_real(train_at(&d, "fsdp_config")));
	} else if (f == ACCELERATE_FILE) {
		lint_train_accelerate(&d);
	} else {
		lint_train_fsdp(&d, m->root);
	}
}

/* Words that stand in no other files of people who train. */
static bool speaks_of_training(const char *text, size_t len)
{
	static const char *const words[] = {
		"zero_optimization",	  "train_micro_batch_size",
		"train_batch_size",	  "distributed_type",
		"compute_environment",	  "gradient_accumulation_steps",
		"dataloader_num_workers", "fsdp_"
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (memmem(text, len, words[i], strlen(words[i])))
			return true;
	return false;
}

/* A brace and what follows it in JSON; "{ command" is a shell's. */
static bool begins_as_json(const char *text, size_t len)
{
	size_t at = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	while (at < len && strchr(" \t\r\n", text[at]) && text[at])
		at++;
	if (at == len || text[at++] != '{')
		return false;
	while (at < len && strchr(" \t\r\n", text[at]) && text[at])
		at++;
	return at == len || text[at] == '"' || text[at] == '}';
}

/* The first line that is no comment is "key:" alone, or with a blank and a value behind it: in a
 * shell that would be a command whose name ends in a colon. */
static bool begins_as_yaml(const char *text, size_t len)
{
	size_t at = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	while (at < len) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - (text + at)) : len - at, k = 0;
		const char *s = text + at;

		while (n && (s[n - 1] == '\r' || s[n - 1] == ' ' || s[n - 1] == '\t'))
			n--;
		while (k < n && s[k] == ' ')
			k++;
		if (k == n || s[k] == '#' || (n >= 3 && memcmp(s, "---", 3) == 0)) {
			if (at == 0 && n >= 2 && s[1] == '!' && s[0] == '#')
				return false;
			at += (size_t)(end ? end - s + 1 : (long)(len - at));
			continue;
		}
		while (k < n && (s[k] == '_' || s[k] == '-' || s[k] == '"' || s[k] == '\'' ||
				 (s[k] >= '0' && s[k] <= '9') || (s[k] >= 'a' && s[k] <= 'z') ||
				 (s[k] >= 'A' && s[k] <= 'Z')))
			k++;
		return k && k < n && s[k] == ':' && (k + 1 == n || s[k + 1] == ' ');
	}
	return false;
}

enum train_language train_language_of(const char *name, const char *text, size_t len)
{
	if (str_ends(name, ".json"))
		return TRAIN_JSON;
	if (str_ends(name, ".yaml") || str_ends(name, ".yml"))
		return TRAIN_YAML;
	/* What a change leaves of it may begin like another language. */
	if (str_ends(name, ".sh") || str_ends(name, ".bash") || str_ends(name, ".sbatch") ||
	    str_ends(name, ".slurm"))
		return TRAIN_SHELL;
	if (begins_as_json(text, len))
		return TRAIN_JSON;
	return begins_as_yaml(text, len) ? TRAIN_YAML : TRAIN_SHELL;
}

bool lint_train(struct lint *l, const char *name, const char *text, size_t len)
{
	enum train_language language = train_language_of(name, text, len);
	bool json = language == TRAIN_JSON;
	struct markup m;
	struct err e = { 0 };
	enum train_format f;
	unsigned line = 0;
	int r;

	if (language == TRAIN_SHELL)
		return false;
	r = markup_read(l->a, text, len, json, &m, &line, &e);
	if (r < 0) {
		/* One that is too large or too deep is not broken. */
		if ((!json || r == -E2BIG) && !speaks_of_training(text, len))
			return false;
		lint_add(l, LINT_ERROR, json ? "no-json" : "no-yaml", line, name,
			 json && (memmem(text, len, "//", 2) || memmem(text, len, "#", 1))
				 ? "DeepSpeed alone reads comments in it (HJSON); transformers and "
				   "Accelerate do not"
				 : NULL,
			 NULL, "this is no %s: %s", json ? "JSON" : "YAML", e.text);
		return true;
	}
	f = train_format_of(m.root);
	if (f == TRAIN_FORMATS)
		return false;
	if (m.bom && m.json)
		lint_add(l, LINT_ERROR, "byte-order-mark", 1, name, "save it without one", NULL,
			 "the file begins with a byte-order mark, at which Python's JSON reader "
			 "stops");
	if (m.documents > 1)
		lint_add(l, LINT_ERROR, "documents", m.second, name, "one file each", NULL,
			 "a second document begins here: the loaders of Accelerate and "
			 "transformers take one alone and stop");
	judge(l, &m, f);
	return true;
}
