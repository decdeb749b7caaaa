/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From text to words by the rules of a POSIX shell: quotes, backslashes, comments, continued lines.
 * Expansions stay as they stand and mark their word. It accepts what is no shell at all (YAML,
 * INI): then words are what blanks separate.
 */
#include <string.h>

#include "base/text.h"
#include "models/generate/lint.h"

struct reader {
	struct lint *l;
	const char *s;
	size_t len, at;
	unsigned line;
	struct lint_word *words;
	size_t n;
	bool end; /* before the next word */
};

static char peek(const struct reader *r)
{
	return r->at < r->len ? r->s[r->at] : '\0';
}

static char take(struct reader *r)
{
	char c = r->s[r->at++];

	r->line += c == '\n';
	return c;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* What ends a command, or begins one inside: these stand between words. */
static bool separator(char c)
{
	return c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')' || c == '<' ||
	       c == '>' || c == '\0';
}

/* Typographic marks that editors and web pages put in place of what a program reads. */
static const struct {
	const char *bytes, *means;
	bool anywhere; /* else only where a name or value begins */
} typographic[] = {
	{ "\xe2\x80\x93", "a dash instead of \"-\"", false },
	{ "\xe2\x80\x94", "a long dash instead of \"--\"", false },
	{ "\xe2\x80\x9c", "a curly quote instead of \"", false },
	{ "\xe2\x80\x98", "a curly quote instead of '", false },
	{ "\xc2\xa0", "a blank that is none", true },
};

static void look_for_marks(struct reader *r, const char *word, unsigned line)
{
	const char *is = strchr(word, '=');

	for (size_t i = 0; i < sizeof(typographic) / sizeof(typographic[0]); i++) {
		const char *at = strstr(word, typographic[i].bytes);

		if (!at || !(typographic[i].anywhere || at == word || (is && at == is + 1)))
			continue;
		lint_add(r->l, LINT_ERROR, "typography", line, word, "type it anew", NULL,
			 "\"%.60s\" has %s: programs read it as part of the name or value", word,
			 typographic[i].means);
	}
}

/* Up to the closing quote; complains when there is none. */
static void quoted(struct reader *r, struct text *t, char quote, struct lint_word *w)
{
	unsigned line = r->line;

	w->quoted = true;
	while (r->at < r->len) {
		char c = take(r);

		if (c == quote)
			return;
		if (quote == '"' && c == '\\' && strchr("$`\"\\\n", peek(r)) && peek(r)) {
			c = take(r);
			if (c == '\n')
				continue;
		} else if (quote == '"' && (c == '$' || c == '`')) {
			w->open = true;
		}
		if (c)
			text_addc(t, c);
	}
	lint_add(r->l, LINT_ERROR, "quoting", line, "", "close it", NULL,
		 "a %s quote that opens here never closes: everything behind it is one word",
		 quote == '"' ? "double" : "single");
}

static void add_word(struct reader *r)
{
	struct lint_word w = { .line = r->line, .end = r->end, .begin = r->at };
	TEXT_AUTO t = { 0 };

	while (r->at < r->len && !blank(peek(r)) && !separator(peek(r))) {
		char c = take(r);

		if (c == '\'' || c == '"') {
			w.quoted_first = w.quoted_first || !t.len;
			w.quoted_inside = w.quoted_inside || t.len;
			quoted(r, &t, c, &w);
		} else if (c == '\\' && r->at < r->len) {
			c = take(r);
			if (c != '\n' && c)
				text_addc(&t, c);
		} else {
			w.open = w.open || c == '$' || c == '`';
			if (c)
				text_addc(&t, c);
		}
	}
	if (!t.s && !w.quoted)
		return;
	w.text = arena_strdup(r->l->a, t.s ? t.s : "");
	w.end_at = r->at;
	look_for_marks(r, w.text, w.line);
	r->end = false;
	if (r->n >= LINT_WORDS_MAX)
		return;
	r->words = arena_grow(r->l->a, r->words, r->n, sizeof(*r->words));
	r->words[r->n++] = w;
}

/* A backslash with something invisible behind it does not continue the line. */
static void continuation(struct reader *r)
{
	size_t k = r->at + 1;

	while (k < r->len && blank(r->s[k]))
		k++;
	if (k > r->at + 1 && k < r->len && r->s[k] == '\n')
		lint_add(r->l, LINT_ERROR, "continuation", r->line, "\\",
			 "take the blanks behind the backslash out", NULL,
			 "blanks stand behind the backslash at the end of this line: the command "
			 "ends here, and the next line is one of its own");
}

struct lint_word *lint_split(struct lint *l, const char *text, size_t len, size_t *n)
{
	struct reader r = { .l = l, .s = text, .len = len, .line = 1, .end = true };

	while (r.at < r.len) {
		char c = peek(&r);

		if (c == '\\' && r.at + 1 < r.len && r.s[r.at + 1] == '\n') {
			take(&r);
			take(&r);
		} else if (blank(c)) {
			take(&r);
		} else if (separator(c)) {
			take(&r);
			r.end = true;
		} else if (c == '#') {
			static const char mark[] = "#SBATCH";
			size_t k = sizeof(mark) - 1;
			bool directive =
				len - r.at >= k && memcmp(r.s + r.at, mark, k) == 0 && r.end;

			while (r.at < r.len && peek(&r) != '\n' && !directive)
				take(&r);
			if (directive)
				add_word(&r);
		} else {
			if (c == '\\')
				continuation(&r);
			add_word(&r);
		}
	}
	*n = r.n;
	return r.words;
}
