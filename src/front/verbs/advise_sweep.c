/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of a sweep: "1,2,4", "1-512", "1024,8K"; formats and machines by commas. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "front/verbs/advise.h"

/* One number, with K or M for thousands; returns where it ends, NULL: none is there. */
static const char *one_number(const char *s, double *out)
{
	const char *end;
	double v;

	if (parse_decimal(s, &v, &end) || v < 0)
		return NULL;
	if ((*end | 32) == 'k')
		v *= 1e3, end++;
	else if ((*end | 32) == 'm')
		v *= 1e6, end++;
	*out = v;
	return end;
}

static int wrong(enum option_id id, const char *text)
{
	return complain_text(EXIT_USAGE,
			     "--%s takes up to %d numbers such as 1,2,4 or 1-16, not \"%.60s\"",
			     option_rows[id].name, SWEEP_LIST, text);
}

/* whole: there is no half GPU and no half request; of tokens there is a mean. */
static int number_list(struct run *r, enum option_id id, double low, double high, bool whole,
		       struct numbers *out)
{
	const char *text = r->value[id], *s = text;
	double *list, from = 0, to;
	size_t n = 0;

	if (!text)
		return 0;
	list = arena_array(&r->arena, SWEEP_LIST, sizeof(*list));
	do {
		s = one_number(*s == ',' ? s + 1 : s, &from);
		to = from;
		if (s && *s == '-')
			s = one_number(s + 1, &to);
		if (!s || (*s && *s != ',') || from < low || to > high || to < from ||
		    ((whole || to > from) && floor(from) != from) || to - from >= SWEEP_LIST)
			return wrong(id, text);
		for (size_t i = 0, more = (size_t)(to - from) + 1; i < more; i++) {
			if (n == SWEEP_LIST)
				return wrong(id, text);
			list[n++] = from + (double)i;
		}
	} while (*s);
	*out = (struct numbers){ list, n };
	r->value[id] = NULL;
	return 0;
}

static int name_list(struct run *r, enum option_id id, struct names *out)
{
	const char *s = r->value[id];
	const char **list;
	size_t n = 0;

	if (!s)
		return 0;
	list = arena_array(&r->arena, SWEEP_LIST, sizeof(*list));
	for (;;) {
		size_t len = strcspn(s, ","), part;
		const char *from = str_trim(s, len, &part);

		if (!part || n == SWEEP_LIST)
			return complain_text(EXIT_USAGE, "--%s has an empty item: \"%.60s\"",
					     option_rows[id].name, r->value[id]);
		list[n++] = arena_strndup(&r->arena, from, part);
		if (!s[len])
			break;
		s += len + 1;
	}
	*out = (struct names){ list, n };
	r->value[id] = NULL;
	return 0;
}

int advise_lists(struct run *r, struct sweep *s)
{
	const struct {
		enum option_id id;
		double low, high;
		bool whole;
		struct numbers *to;
	} numbers[] = {
		{ OPT_TP, 1, 4096, true, &s->tp },
		{ OPT_PP, 1, 4096, true, &s->pp },
		{ OPT_COPIES, 1, 4096, true, &s->copies },
		{ OPT_BATCH, 1, QUESTION_REQUESTS, true, &s->batch },
		{ OPT_USERS, 1, QUESTION_REQUESTS, true, &s->batch },
		{ OPT_PROMPT, 1, QUESTION_TOKENS, false, &s->prompt },
		{ OPT_ANSWER, 1, QUESTION_TOKENS, false, &s->output },
		{ OPT_DEPTH, 0, QUESTION_TOKENS, false, &s->depth },
		{ OPT_CHUNK, 16, 1e7, false, &s->chunk },
		{ OPT_DRAFT, 0, 64, true, &s->draft },
		{ OPT_CONTEXT, 1, QUESTION_TOKENS, false, &s->prompt },
	};
	int code = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !code; i++)
		code = number_list(r, numbers[i].id, numbers[i].low, numbers[i].high,
				   numbers[i].whole, numbers[i].to);
	if (!code)
		code = name_list(r, OPT_ON, &s->machines);
	if (!code)
		code = name_list(r, OPT_WEIGHTS, &s->weights);
	if (!code)
		code = name_list(r, OPT_CACHE, &s->caches);
	return code;
}

enum goal advise_goal(const struct run *r)
{
	const char *name = r->value[OPT_GOAL];

	for (int g = 0; g < GOALS && name; g++)
		if (strcmp(name, goal_names[g]) == 0)
			return (enum goal)g;
	return GOAL_LATENCY;
}
