/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of a launch script: values of arguments that stand there, and lines that do nothing but
 * set a variable that does harm. No other word is touched.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/generate/train_edit.h"

/* "--name=VALUE" or "--name VALUE": the word that holds the value; *skip: bytes of it in front. */
static const struct lint_word *find(const struct train_edit *e, const char *name, size_t *skip)
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

const struct lint_word *train_edit_word(const struct train_edit *e, const char *name)
{
	size_t skip = 0;
	const struct lint_word *w = find(e, name, &skip);
	struct lint_word *own;

	if (!w || w->open || strlen(w->text) < skip)
		return NULL;
	own = ARENA_NEW(e->a, struct lint_word);
	*own = *w;
	own->text = w->text + skip;
	return own;
}

static void set(struct train_edit *e, const char *name, const struct train_items *items,
		const char *more)
{
	const struct train_item *i = train_item_find(items, name);
	size_t skip = 0;
	const struct lint_word *w = find(e, name, &skip);
	struct err err = { 0 };
	const char *what;

	if (!i || !w || strcmp(w->text + skip, i->value) == 0)
		return;
	what = arena_printf(e->a, "--%s: %.40s -> %s", name, w->text + skip, i->value);
	/* Only a word that stands as it is read has its value at a known place. */
	if (w->open || w->quoted || w->end_at - w->begin != strlen(w->text)) {
		train_edit_leave(e, w->line, what, "it is quoted, or an expansion");
		return;
	}
	if (edit_add(e->a, &e->edits,
		     &(struct edit){ .at = w->begin + skip,
				     .n = w->end_at - w->begin - skip,
				     .with = i->value,
				     .what = what,
				     .reason = more ? arena_printf(e->a, "%s; %s", i->reason, more)
						    : i->reason },
		     &err) < 0)
		train_edit_leave(e, w->line, what, arena_strdup(e->a, err.text));
}

/* The line of this number holds "export NAME=VALUE" or "NAME=VALUE" and nothing else. */
static bool alone(const struct train_edit *e, unsigned line, const char *name, size_t *from,
		  size_t *to)
{
	const char *text = e->edits.text, *s;
	size_t n;

	for (*from = 0; line > 1 && *from < e->edits.len; ++*from)
		line -= text[*from] == '\n';
	s = memchr(text + *from, '\n', e->edits.len - *from);
	*to = s ? (size_t)(s - text) + 1 : e->edits.len;
	s = str_trim(text + *from, *to - *from, &n);
	if (n > 7 && strncmp(s, "export ", 7) == 0) {
		s += 7;
		n -= 7;
	}
	if (n <= strlen(name) || strncmp(s, name, strlen(name)) != 0 || s[strlen(name)] != '=')
		return false;
	for (size_t i = 0; i < n; i++)
		if (strchr(" \t;|&\\\"'$`#", s[i]))
			return false;
	/* The line before goes on in this one. */
	for (size_t i = *from; i > 1; i--)
		if (text[i - 2] != '\r')
			return text[i - 2] != '\\';
	return true;
}

static bool worth(const struct lint_finding *f)
{
	static const char *const codes[] = { "forced",	"gid-pinned",	    "harmful", "not-here",
					     "removed", "unknown-variable", "gdr-off" };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strcmp(f->code, codes[i]) == 0)
			return f->level != LINT_NOTE;
	return false;
}

static void variables(struct train_edit *e, const struct lint_on *on)
{
	struct lint l = { .a = e->a, .on = on };

	lint_text(&l, e->name, e->edits.text, e->edits.len);
	lint_sort(&l);
	for (size_t i = 0; i < l.n; i++) {
		const struct lint_finding *f = &l.findings[i];
		const char *what = arena_printf(e->a, "%s: taken out", f->subject);
		size_t from, to;
		struct err err = { 0 };

		if (!worth(f) || !f->line)
			continue;
		if (!alone(e, f->line, f->subject, &from, &to))
			train_edit_leave(e, f->line, what, "it does not stand alone in its line");
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
	const char *why = "predicted to be faster, together with the other changes";
	size_t skip;

	train_items_trainer(e->a, s, &items);
	variables(e, on);
	if (pays && find(e, "per_device_train_batch_size", &skip) &&
	    find(e, "gradient_accumulation_steps", &skip)) {
		set(e, "per_device_train_batch_size", &items, why);
		set(e, "gradient_accumulation_steps", &items, NULL);
	}
	if (pays && s->after->q.recompute != s->before->q.recompute)
		set(e, "gradient_checkpointing", &items, why);
	if (s->after->q.loader_s > 0)
		set(e, "dataloader_num_workers", &items, NULL);
}
