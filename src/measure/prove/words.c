/* SPDX-License-Identifier: Apache-2.0 */
/* A command line to words, as a shell splits it but without a shell. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "measure/prove/window.h"

/* What a shell would do something with, outside of quotes. */
static const char special[] = "|&;<>()$`*?[]#~!{}";

struct splitter {
	const char *at;
	struct text word;
	bool in_word;
	struct err *e;
};

static int prove_words_quoted(struct splitter *s, char quote)
{
	const char *from = s->at;

	s->in_word = true;
	for (; *s->at && *s->at != quote; s->at++) {
		if (quote == '"' && (*s->at == '$' || *s->at == '`'))
			return err_set(s->e, -EINVAL,
				       "no shell runs the command: %c means nothing here", *s->at);
		if (quote == '"' && *s->at == '\\' && s->at[1] && strchr("\"\\$`", s->at[1]))
			s->at++;
		text_addc(&s->word, *s->at);
	}
	if (!*s->at)
		return err_set(s->e, -EINVAL, "the quote before \"%.40s\" is never closed", from);
	s->at++;
	return 0;
}

static int prove_words_one(struct splitter *s)
{
	char c = *s->at++;

	if (c == '\'' || c == '"')
		return prove_words_quoted(s, c);
	if (c == '\\') {
		if (!*s->at)
			return err_set(s->e, -EINVAL, "the command ends with a backslash");
		c = *s->at++;
	} else if (strchr(special, c)) {
		err_set(s->e, -EINVAL, "no shell runs the command: %c means nothing here", c);
		err_hint(s->e,
			 "quote it where it is meant as it is, or put the line into a script");
		return -EINVAL;
	}
	s->in_word = true;
	text_addc(&s->word, c);
	return 0;
}

int words_split(struct arena *a, const char *line, char ***argv, struct err *e)
{
	struct splitter s = { .at = line, .e = e };
	char **out = arena_array(a, WORDS_MAX + 1, sizeof(*out));
	size_t n = 0;
	int r = 0;

	while (r == 0) {
		bool blank = *s.at && strchr(" \t\n", *s.at);

		if (s.in_word && (blank || !*s.at)) {
			if (n == WORDS_MAX)
				r = err_set(e, -EINVAL, "the command has more than %d words",
					    WORDS_MAX);
			else
				out[n++] = arena_strdup(a, s.word.s ? s.word.s : "");
			text_clear(&s.word);
			s.in_word = false;
		}
		if (!*s.at)
			break;
		if (blank)
			s.at++;
		else if (r == 0)
			r = prove_words_one(&s);
	}
	text_free(&s.word);
	if (r == 0 && !n)
		r = err_set(e, -EINVAL, "the command is empty");
	*argv = out;
	return r;
}
