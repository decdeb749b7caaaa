/* SPDX-License-Identifier: Apache-2.0 */
/* Which file it is, and looking up its keys: what the judges of trainings' files share. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "models/generate/lint_train.h"
#include "base/text.h"

static void lint_train_judge(struct lint *l, const struct markup *m, enum train_format f)
{
	struct train_doc d = {
		.l = l, .format = f, .root = m->root, .json = m->json, .loose = f == TRAINER_FILE
	};

	l->configs++;
	lint_train_keys(&d);
	lint_train_values(&d);
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
static bool lint_train_begins_as_json(const char *text, size_t len)
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
	if (lint_train_begins_as_json(text, len))
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
	if (r == -ELIBACC) {
		lint_add(l, LINT_ERROR, "not-read", 0, name, arena_strdup(l->a, e.hint), NULL,
			 "not read: %s", e.text);
		return true;
	}
	if (r < 0) {
		/* One that is too large or too deep is not broken. */
		if ((!json || r == -E2BIG) && !speaks_of_training(text, len))
			return false;
		lint_add(l, LINT_ERROR, json ? "no-json" : "no-yaml", line, name,
			 json && (memmem(text, len, "//", 2) || memmem(text, len, "#", 1))
				 ? "only DeepSpeed accepts comments (HJSON); transformers and "
				   "Accelerate do not"
				 : NULL,
			 NULL, "invalid %s: %s", json ? "JSON" : "YAML", e.text);
		return true;
	}
	f = train_format_of(m.root);
	if (f == TRAIN_FORMATS)
		return false;
	if (m.bom && m.json)
		lint_add(l, LINT_ERROR, "byte-order-mark", 1, name,
			 "save it without a byte-order mark", NULL,
			 "the file begins with a byte-order mark, which Python's JSON parser "
			 "rejects");
	if (m.documents > 1)
		lint_add(l, LINT_ERROR, "documents", m.second, name, "use one file per document",
			 NULL,
			 "a second document begins here: the loaders of Accelerate and "
			 "transformers accept only one");
	lint_train_judge(l, &m, f);
	return true;
}

/* Keys and values against the list of what the program reads. */

static void lint_train_add(const struct train_doc *d, enum lint_level level, const char *code,
			   const struct markup_node *n, const char *path, const char *fix,
			   const char *says)
{
	lint_add(d->l, level, code, n->key ? n->key->line : n->line, path, fix,
		 train_schemas[d->format].source, "%s", says);
}

static void lint_train_unknown(const struct train_doc *d, const struct markup_node *n,
			       const char *path, const struct train_key *section)
{
	const struct train_schema *s = &train_schemas[d->format];
	const char *near = train_key_near(d->l->a, d->format, path), *where = NULL, *fix;
	bool refuses = section ? section->type == KEY_STRICT : d->format == ACCELERATE_FILE;
	const char *way = refuses ? "and refuses to start" : "and ignores it";

	if (!near)
		where = train_key_elsewhere(d->format, path);
	/* Among arguments of other classes only what looks like a slip is one. */
	if ((d->loose || d->format == FSDP_FILE) && !near)
		return;
	fix = near    ? arena_printf(d->l->a, "%s?", near)
	      : where ? arena_printf(d->l->a, "belongs to %s", where)
		      : "remove it";
	lint_train_add(d, refuses ? LINT_ERROR : LINT_WARNING, refuses ? "unknown-key" : "dead-key",
		       n, path, fix,
		       d->loose ? arena_printf(d->l->a, "transformers has no argument %s", path)
				: arena_printf(d->l->a,
					       "%s %s to %s does not support the key %s%s%s, %s",
					       s->name, s->oldest, s->newest, path,
					       section ? "" : " here", "", way));
}

static void age(const struct train_doc *d, const struct markup_node *n, const struct train_key *k,
		const char *path)
{
	const struct train_schema *s = &train_schemas[d->format];

	if (k->until)
		lint_train_add(d,
			       k->instead && d->format != TRAINER_FILE ? LINT_WARNING : LINT_NOTE,
			       "removed", n, path, k->instead ? k->instead : "remove it",
			       arena_printf(d->l->a, "%s %s and later no longer support %s",
					    s->name, k->until, path));
	else if (k->instead)
		lint_train_add(d, LINT_WARNING, "old-key", n, path, k->instead,
			       arena_printf(d->l->a, "%s was renamed to %s", path, k->instead));
}

static bool lint_train_one_of(const char *words, const char *s)
{
	size_t len = strlen(s);

	for (const char *at = words; *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strcspn(at, " ") == len && strncasecmp(at, s, len) == 0)
			return true;
	return false;
}

/* PyYAML takes "2e-5" for text: it wants a point and a sign. Axolotl (base_model) converts it. */
static bool number_to_pyyaml(const char *s)
{
	const char *e = strpbrk(s, "eE"), *point = strchr(s, '.');

	return !e || (point && point < e && (e[1] == '-' || e[1] == '+'));
}

static void lint_train_number(const struct train_doc *d, const struct markup_node *n,
			      const struct train_key *k, const char *path)
{
	const struct markup_node *r = markup_real(n);
	double v;

	if (!markup_number(n, &v)) {
		lint_train_add(d, LINT_ERROR, "bad-value", n, path, NULL,
			       arena_printf(d->l->a, "%s must be a%s number, not %s%.40s%s", path,
					    k->type == KEY_INT ? " whole" : "",
					    r->quoted ? "\"" : "",
					    r->kind == MARKUP_SCALAR ? r->text : "a map or list",
					    r->quoted ? "\"" : ""));
		return;
	}
	if (!d->json && !d->command && !markup_get(d->root, "base_model") &&
	    !number_to_pyyaml(r->text))
		lint_train_add(d, LINT_ERROR, "yaml-number", n, path,
			       arena_printf(d->l->a, "%s",
					    strpbrk(r->text, "-") ? "write 2.0e-5 for 2e-5"
								  : "write 1.0e+9 for 1e9"),
			       arena_printf(d->l->a,
					    "Python's YAML parser reads %s as text: a number with "
					    "an exponent requires a point and a sign",
					    r->text));
	else if (k->type == KEY_INT && fabs(v - round(v)) > 0)
		lint_train_add(
			d, LINT_ERROR, "bad-value", n, path, NULL,
			arena_printf(d->l->a, "%s must be an integer, not %.40s", path, r->text));
}

static void lint_train_value(const struct train_doc *d, const struct markup_node *n,
			     const struct train_key *k, const char *path)
{
	const struct markup_node *r = markup_real(n);
	bool truth;

	if (!r || markup_null(r) || (r->kind == MARKUP_SCALAR && strcmp(r->text, "auto") == 0) ||
	    (r->kind == MARKUP_SCALAR && strpbrk(r->text, "${<")))
		return;
	if (k->type == KEY_BOOL && !markup_bool(r, &truth)) {
		/* "true" in quotes is taken as true by all; "false" is true to some. */
		if (r->kind != MARKUP_SCALAR || strcasecmp(r->text, "true") != 0)
			lint_train_add(
				d, LINT_ERROR, "bad-value", n, path,
				"true or false, without quotes",
				arena_printf(d->l->a, "%s is a boolean: %s%.40s%s is invalid%s",
					     path, r->quoted ? "\"" : "",
					     r->kind == MARKUP_SCALAR ? r->text : "a map or list",
					     r->quoted ? "\"" : "",
					     r->quoted ? ", and any non-empty text counts as true"
						       : ""));
		else if (d->json && r->quoted)
			lint_train_add(
				d, LINT_WARNING, "bad-value", n, path, "true, without quotes",
				arena_printf(d->l->a,
					     "%s is a boolean, but \"%.40s\" is text: it only "
					     "works if the parser treats any text as true",
					     path, r->text));
	} else if (k->type == KEY_INT || k->type == KEY_NUMBER) {
		lint_train_number(d, n, k, path);
	} else if (k->type == KEY_WORDS &&
		   (r->kind != MARKUP_SCALAR || !lint_train_one_of(k->words, r->text))) {
		lint_train_add(d, LINT_ERROR, "bad-value", n, path, NULL,
			       arena_printf(d->l->a, "%s: expected one of %s, got %.40s", path,
					    k->words,
					    r->kind == MARKUP_SCALAR ? r->text : "a map or list"));
	}
}

static void twice(const struct train_doc *d, const struct markup_node *map)
{
	size_t n = 0;

	for (const struct markup_node *c = map->first; c && n < 400; c = c->next, n++)
		for (const struct markup_node *o = map->first; o != c; o = o->next)
			if (c->key && o->key && c->key->kind == MARKUP_SCALAR &&
			    o->key->kind == MARKUP_SCALAR && strcmp(c->key->text, "<<") != 0 &&
			    strcmp(c->key->text, o->key->text) == 0)
				lint_train_add(d, LINT_ERROR, "key-twice", c, c->key->text,
					       "remove one",
					       arena_printf(d->l->a,
							    "%s is also on line %u: the later one "
							    "silently wins",
							    c->key->text, o->key->line));
}

static void lint_train_walk(const struct train_doc *d, const struct markup_node *map,
			    const char *prefix, const struct train_key *section, int depth)
{
	twice(d, map);
	for (const struct markup_node *c = map->first; c; c = c->next) {
		const char *name = c->key && c->key->kind == MARKUP_SCALAR ? c->key->text : NULL;
		const struct markup_node *r = markup_real(c);
		const struct train_key *k;
		const char *path;

		if (!name || strcmp(name, "<<") == 0 || strlen(name) > 100)
			continue;
		path = *prefix ? arena_printf(d->l->a, "%s.%s", prefix, name) : name;
		k = train_key(d->format, path);
		if (!k && d->loose && r && r->kind == MARKUP_MAP && depth < 3) {
			lint_train_walk(d, r, "", NULL, depth + 1);
			continue;
		}
		if (!k) {
			lint_train_unknown(d, c, path, section);
			continue;
		}
		age(d, c, k, path);
		if (k->type != KEY_OBJECT && k->type != KEY_STRICT)
			lint_train_value(d, c, k, path);
		else if (r && r->kind == MARKUP_MAP && depth < 3)
			lint_train_walk(d, r, path, k, depth + 1);
	}
}

void lint_train_keys(const struct train_doc *d)
{
	if (!d->command)
		lint_train_walk(d, d->root, "", NULL, 0);
}

/*
 * Arguments of trainings in command lines: "--bf16 True --fsdp 'full_shard auto_wrap'" says what a
 * file of the Trainer's arguments says, so it is judged as one.
 */

static const char launchers[][16] = { "torchrun", "deepspeed", "accelerate", "python", "python3" };

static bool launches(const struct lint_word *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < sizeof(launchers) / sizeof(launchers[0]); k++)
			if (strcmp(path_name(w[i].text), launchers[k]) == 0)
				return true;
	return false;
}

static struct markup_node *scalar(struct arena *a, const char *text, const struct lint_word *w)
{
	struct markup_node *n = ARENA_NEW(a, struct markup_node);

	*n = (struct markup_node){ .kind = MARKUP_SCALAR, .text = text, .line = w->line };
	return n;
}

/* "--name", "--name=VALUE" or "--name VALUE" of a known argument; NULL: it is none. */
static struct markup_node *lint_train_argument(struct arena *a, const struct lint_word *w, size_t n)
{
	char name[64];
	const char *s = w->text + 2, *value;
	struct markup_node *v;
	size_t len;

	if (!str_starts(w->text, "--"))
		return NULL;
	len = strcspn(s, "=");
	if (!len || len >= sizeof(name))
		return NULL;
	for (size_t i = 0; i < len; i++)
		name[i] = s[i] == '-' ? '_' : s[i];
	name[len] = '\0';
	if (!train_key(TRAINER_FILE, name) && !lint_value_named(VALUE_TRAINER, name))
		return NULL;
	if (s[len] == '=')
		value = s + len + 1;
	else if (n > 1 && !w[1].end && !str_starts(w[1].text, "--"))
		value = w[1].text;
	else
		value = "true";
	/* What an expansion holds is not known. */
	if (w->open || (n > 1 && value == w[1].text && w[1].open))
		return NULL;
	v = scalar(a, arena_strdup(a, value), w);
	v->key = scalar(a, arena_strdup(a, name), w);
	return v;
}

static void lint_train_unquoted(struct lint *l, const struct lint_word *w)
{
	const char *brace = strchr(w->text, '{');

	if (w->quoted_inside && !w->quoted_first && brace && (brace == w->text || brace[-1] == '='))
		lint_add(l, LINT_ERROR, "json-unquoted", w->line, w->text, "enclose it in '...'",
			 "POSIX shell",
			 "the shell removes the quotes of this JSON and splits it into words: the "
			 "program reads \"%.60s\"",
			 w->text);
}

static void srun_of_deepspeed(struct lint *l, const struct lint_word *w, size_t n)
{
	bool srun = false;

	for (size_t i = 0; i < n; i++) {
		srun = srun || strcmp(path_name(w[i].text), "srun") == 0;
		if (srun && strcmp(path_name(w[i].text), "deepspeed") == 0)
			lint_add(l, LINT_WARNING, "launcher-twice", w[i].line, "deepspeed",
				 "srun torchrun, or deepspeed --no_ssh --node_rank", NULL,
				 "srun starts this on every machine, and deepspeed starts its "
				 "processes on every machine again");
	}
}

static void lint_train_command(struct lint *l, const struct lint_word *w, size_t n)
{
	struct markup_node map = { .kind = MARKUP_MAP, .text = "" };
	struct train_doc d = { .l = l, .format = TRAINER_FILE, .root = &map, .command = true };

	for (size_t i = 0; i < n; i++) {
		struct markup_node *v = lint_train_argument(l->a, &w[i], n - i);

		lint_train_unquoted(l, &w[i]);
		if (!v)
			continue;
		v->parent = &map;
		if (map.last)
			map.last->next = v;
		else
			map.first = v;
		map.last = v;
	}
	if (!launches(w, n))
		return;
	srun_of_deepspeed(l, w, n);
	if (!map.first)
		return;
	l->configs++;
	lint_train_values(&d);
	lint_train_trainer(&d);
}

void lint_train_words(struct lint *l, const struct lint_word *w, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t k = i + 1;

		while (k < n && !w[k].end)
			k++;
		lint_train_command(l, w + i, k - i);
		i = k;
	}
}

/*
 * Accelerate's configuration: machines and processes, sections that the kind of training does not
 * use. Rules are those of commands/launch.py and utils/dataclasses.py, 1.15.0.
 */

static const char source[] = "Accelerate's sources (commands/launch.py)";

static void lint_train_machines(const struct train_doc *d)
{
	double n = train_number(d, "num_machines", 1), all = train_number(d, "num_processes", 0);
	double rank = train_number(d, "machine_rank", 0);
	size_t gpus = d->l->on->node ? d->l->on->node->gpus : 0;

	if (n >= 1 && all > 0 && fmod(all, n) != 0)
		train_finding(
			d, LINT_ERROR, "batch-arithmetic", "num_processes", NULL, source,
			"num_processes is the total of all machines: %g is not divisible by %g",
			all, n);
	else if (n >= 1 && gpus && all / n > (double)gpus)
		train_finding(d, LINT_ERROR, "too-many-processes", "num_processes",
			      arena_printf(d->l->a, "%.0f", (double)gpus * n), source,
			      "%g processes on each of %g machines, but this machine has %zu GPU%s",
			      all / n, n, gpus, PLURAL(gpus));
	else if (n > 1 && gpus > 1 && all == (double)gpus)
		train_finding(d, LINT_WARNING, "batch-arithmetic", "num_processes",
			      arena_printf(d->l->a, "%.0f", (double)gpus * n), source,
			      "num_processes is the total of all machines: %g means %g per "
			      "machine, but this one has %zu GPUs",
			      all, all / n, gpus);
	if (rank >= n)
		train_finding(d, LINT_ERROR, "bad-value", "machine_rank",
			      arena_printf(d->l->a, "0 to %.0f", n - 1), source,
			      "rank %g of %g machines: ranks start at 0", rank, n);
}

static void lint_train_kind(const struct train_doc *d)
{
	const char *type = train_word(d, "distributed_type");
	bool truth;

	/* YAML reads NO without quotes as false; Accelerate then knows no such type. */
	if (markup_bool(train_at(d, "distributed_type"), &truth))
		train_finding(d, LINT_ERROR, "yaml-no", "distributed_type", "'NO', in quotes", NULL,
			      "NO without quotes is false in YAML, not text");
	if (strcasecmp(type, "DEEPSPEED") != 0 && train_at(d, "deepspeed_config") &&
	    train_at(d, "deepspeed_config")->first)
		train_finding(d, LINT_WARNING, "dead-key", "deepspeed_config",
			      "set \"distributed_type: DEEPSPEED\", or remove this section", source,
			      "distributed_type is %s: this section has no effect", type);
	if (strcasecmp(type, "FSDP") != 0 && train_at(d, "fsdp_config") &&
	    train_at(d, "fsdp_config")->first)
		train_finding(d, LINT_WARNING, "dead-key", "fsdp_config",
			      "set \"distributed_type: FSDP\", or remove this section", source,
			      "distributed_type is %s: this section has no effect", type);
}

void lint_train_accelerate(const struct train_doc *d)
{
	lint_train_machines(d);
	lint_train_kind(d);
	if (strcasecmp(train_word(d, "distributed_type"), "FSDP") == 0)
		lint_train_fsdp(d, markup_real(train_at(d, "fsdp_config")));
}
