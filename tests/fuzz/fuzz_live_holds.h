/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of every answer of a live machine: an errno with a reason, or a figure, or a text that
 * ends. */
#ifndef FUZZ_LIVE_HOLDS_H
#define FUZZ_LIVE_HOLDS_H

#include "base/err.h"
#include "base/text.h"
#include "fuzz_live.h"
#include "machine/host/ask.h"

enum { OPERATIONS = 64, ERRNO_MAX = 4095, TEXT_LONGEST = 1 << 16, SENTENCE_MAX = 4096 };

static void error_holds(int r)
{
	if (r > 0 || r < -ERRNO_MAX)
		abort();
}

static void sentence_holds(const char *s)
{
	uint32_t cp;

	if (!s || strlen(s) > SENTENCE_MAX)
		abort();
	for (size_t n; (n = utf8_next(s, &cp)) > 0; s += n)
		if (cp == UTF8_BAD || cp < ' ' || cp == 0x7f)
			abort();
}

/* A refusal has a reason. */
static void refusal_holds(int r, const struct err *e)
{
	error_holds(r);
	if (r && (!*e->text || strlen(e->text) >= sizeof(e->text)))
		abort();
}

static int ask(const struct provider *p, void **state, const char *object, const char *field,
	       struct answer *out)
{
	static const struct answer none = { .kind = ANSWER_TEXT, .text = NULL };
	int r;

	*out = none;
	r = p->ask(state, live->a, object, field, out);
	error_holds(r);
	if (r == 0 && out->kind == ANSWER_TEXT && (!out->text || strlen(out->text) > TEXT_LONGEST))
		abort();
	return r;
}

static int tell(const struct provider *p, void **state, const char *object, const char *field)
{
	static const char *const words[] = { "active", "inactive", "enabled", "disabled",
					     "masked", "on",	   "off",     "300,1800" };
	unsigned how = live_byte();
	struct answer value = { .kind = how % 2 ? ANSWER_TEXT : ANSWER_INT };
	int r;

	if (value.kind == ANSWER_INT)
		value.i = (long long)live_number();
	else
		value.text = how & 0x80 ? words[how / 2 % 8] : live_text();
	r = p->tell(state, live->a, object, field, &value);
	error_holds(r);
	return r;
}

static void end(const struct provider *p, void *state)
{
	if (state && p->close)
		p->close(state);
}

#endif
