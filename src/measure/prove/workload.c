/* SPDX-License-Identifier: Apache-2.0 */
/* A window that is one run of the user's own program. */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/host/command.h"
#include "measure/prove/window.h"

/* Finding the one number in what a workload printed. */

enum { STEPS_MAX = 32, TEXT_LENGTH = 80, PATTERN_MAX = 2000 };

struct step {
	const char *key; /* NULL: an index */
	size_t index;
};

struct metric {
	enum { METRIC_WALL, METRIC_JSON, METRIC_PATTERN } kind;
	const char *text;
	struct step steps[STEPS_MAX];
	size_t n_steps;
	regex_t pattern;
};

/* --- json:.a.b[0] ----------------------------------------------------------------------------- */

static bool index_step(const char **at, struct step *out)
{
	char *end;
	unsigned long n;

	if (!isdigit((unsigned char)(*at)[1]))
		return false;
	n = strtoul(*at + 1, &end, 10);
	if (*end != ']' || n > 1000000)
		return false;
	out->index = n;
	*at = end + 1;
	return true;
}

static int parse_path(struct arena *a, struct metric *m, const char *path, struct err *e)
{
	const char *at = path;

	while (*at) {
		struct step *s = &m->steps[m->n_steps];
		size_t n;

		if (m->n_steps++ == STEPS_MAX)
			return err_set(e, -EINVAL, "json:%s: more than %d steps", path, STEPS_MAX);
		*s = (struct step){ 0 };
		if (*at == '[') {
			if (!index_step(&at, s))
				return err_set(e, -EINVAL, "json:%s: [ requires a number and ]",
					       path);
			continue;
		}
		at += *at == '.';
		n = strcspn(at, ".[");
		if (!n)
			return err_set(e, -EINVAL, "json:%s: a key is missing", path);
		s->key = arena_strndup(a, at, n);
		at += n;
	}
	return m->n_steps ? 0 : err_set(e, -EINVAL, "json: requires a path: json:.a.b[0]");
}

/* Programs print lines before their JSON: the first place from which the rest is one. */
static json_t *find_json(const char *output)
{
	for (const char *at = output; (at = strpbrk(at, "{[")) != NULL; at++) {
		json_t *j = at == output || at[-1] == '\n'
				    ? json_loads(at, JSON_DISABLE_EOF_CHECK, NULL)
				    : NULL;

		if (j)
			return j;
	}
	return NULL;
}

static int metric_from_json(const struct metric *m, const char *output, double *out, struct err *e)
{
	json_t *top = find_json(output);
	const json_t *j = top;
	int r = 0;

	if (!top)
		return err_set(e, -ENODATA, "the workload printed no JSON");
	for (size_t i = 0; j && i < m->n_steps; i++)
		j = m->steps[i].key ? json_object_get(j, m->steps[i].key)
				    : json_array_get(j, m->steps[i].index);
	if (json_is_number(j))
		*out = json_number_value(j);
	else
		r = err_set(e, -ENODATA, "%s: no number at this path in the workload's JSON",
			    m->text);
	json_decref(top);
	return r;
}

/* --- a pattern -------------------------------------------------------------------------------- */

/* The character behind a bracket expression; a ] that comes first in it is one of its own. */
static const char *behind_bracket(const char *s)
{
	s += 1 + (s[1] == '^');
	s += *s == ']';
	while (*s && *s != ']') {
		const char *end =
			*s == '[' && strchr(".:=", s[1]) && s[1] ? strchr(s + 2, ']') : NULL;

		s = end ? end + 1 : s + 1;
	}
	return s + (*s == ']');
}

/* How often a repeat writes out what stands before it; *s is put on its last character. */
static double metric_copies(const char **s)
{
	double most = 1;

	if (**s == '+')
		return 2;
	if (**s != '{')
		return 1;
	for (; **s && **s != '}'; ++*s)
		if (isdigit((unsigned char)(*s)[0]) && !isdigit((unsigned char)(*s)[-1]))
			most = fmax(most, strtod(*s, NULL));
	*s -= !**s;
	return most;
}

struct metric_shape {
	size_t groups;
	bool stacked; /* what is repeated is repeated again */
	double size;  /* characters, each repeat written out */
};

/* With one group nothing is nested deeper than once. */
static struct metric_shape metric_shape_of(const char *s)
{
	struct metric_shape out = { 0 };
	double within = 0, last = 0;
	bool inside = false, repeated = false;

	for (; *s && out.groups < 2; s++) {
		double more = 1;

		if (strchr("*?+{", *s)) {
			out.stacked = out.stacked || repeated;
			repeated = true;
			more = last * (metric_copies(&s) - 1);
			last += more;
		} else if (*s == '(') {
			out.groups++;
			inside = true;
			repeated = false;
			last = 0;
			continue;
		} else if (*s == ')' && inside) {
			inside = repeated = false;
			last = more = 1 + within;
		} else {
			if (*s == '[')
				s = behind_bracket(s) - 1;
			else if (*s == '\\' && s[1])
				s++;
			repeated = false;
			last = 1;
		}
		*(inside ? &within : &out.size) += more;
	}
	out.size += inside ? within : 0;
	return out;
}

static int needs_a_group(const struct metric *m, struct err *e)
{
	err_set(e, -EINVAL, "\"%s\" requires exactly one group, the number", m->text);
	err_hint(e, "for example: 'throughput: ([0-9.]+)'");
	return -EINVAL;
}

/*
 * Judged before it is compiled: the C library writes each repeat out, so that a short pattern of
 * nested ones takes all memory, and of stacked ones all time.
 */
static int parse_pattern(struct metric *m, struct err *e)
{
	struct metric_shape shape = metric_shape_of(m->text);
	char why[TEXT_LENGTH];
	int r;

	if (shape.groups != 1)
		return needs_a_group(m, e);
	if (shape.stacked)
		return err_set(e, -EINVAL, "\"%s\" has a nested repetition", m->text);
	if (shape.size > PATTERN_MAX)
		return err_set(e, -EINVAL, "\"%s\" has too many repetitions within a repetition",
			       m->text);
	r = regcomp(&m->pattern, m->text, REG_EXTENDED | REG_NEWLINE);
	if (r) {
		regerror(r, &m->pattern, why, sizeof(why));
		return err_set(e, -EINVAL, "invalid regular expression \"%s\": %s", m->text, why);
	}
	if (m->pattern.re_nsub == 1)
		return 0;
	regfree(&m->pattern);
	return needs_a_group(m, e);
}

/* The last one: programs report as they go and say the result in the end. */
static int from_pattern(const struct metric *m, const char *output, double *out, struct err *e)
{
	regmatch_t at[2], last = { .rm_so = -1 };
	size_t from = 0;
	char text[TEXT_LENGTH];
	int flags = 0;

	while (output[from] && regexec(&m->pattern, output + from, 2, at, flags) == 0) {
		if (at[1].rm_so >= 0)
			last = (regmatch_t){ (regoff_t)from + at[1].rm_so,
					     (regoff_t)from + at[1].rm_eo };
		from += (size_t)(at[0].rm_eo > 0 ? at[0].rm_eo : 1);
		flags = from && output[from - 1] != '\n' ? REG_NOTBOL : 0;
	}
	if (last.rm_so < 0)
		return err_set(e, -ENODATA, "nothing in the workload's output matches \"%s\"",
			       m->text);
	snprintf(text, sizeof(text), "%.*s", (int)(last.rm_eo - last.rm_so), output + last.rm_so);
	if (parse_real(text + strspn(text, " \t"), out))
		return err_set(e, -ENODATA, "\"%s\" matches \"%s\", which is not a number", m->text,
			       text);
	return 0;
}

/* --- all -------------------------------------------------------------------------------------- */

int metric_parse(struct arena *a, const char *text, struct metric **out, struct err *e)
{
	struct metric *m = ARENA_NEW(a, struct metric);

	m->text = arena_strdup(a, text);
	*out = m;
	if (strcmp(text, "wall") == 0) {
		m->kind = METRIC_WALL;
		return 0;
	}
	m->kind = str_starts(text, "json:") ? METRIC_JSON : METRIC_PATTERN;
	return m->kind == METRIC_JSON ? parse_path(a, m, text + strlen("json:"), e)
				      : parse_pattern(m, e);
}

bool metric_is_wall(const struct metric *m)
{
	return m->kind == METRIC_WALL;
}

int metric_find(const struct metric *m, const char *output, double *out, struct err *e)
{
	return m->kind == METRIC_JSON ? metric_from_json(m, output, out, e)
				      : from_pattern(m, output, out, e);
}

void metric_free(struct metric *m)
{
	if (m && m->kind == METRIC_PATTERN)
		regfree(&m->pattern);
}

/* A command line to words, as a shell splits it but without a shell. */

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
				       "the command runs without a shell, so %c has no effect",
				       *s->at);
		if (quote == '"' && *s->at == '\\' && s->at[1] && strchr("\"\\$`", s->at[1]))
			s->at++;
		text_addc(&s->word, *s->at);
	}
	if (!*s->at)
		return err_set(s->e, -EINVAL, "the quote before \"%.40s\" is not closed", from);
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
		err_set(s->e, -EINVAL, "the command runs without a shell, so %c has no effect", c);
		err_hint(s->e, "quote it if it is meant literally, or put the line into a script");
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

/* The word that has the argument's value, and where in it; -1: none. */
static int word_of(const char *const *argv, const char *name, size_t *from)
{
	for (int i = 0; argv[i]; i++) {
		const char *at = argv[i], *of = name;

		for (; *at && *of != '=' && *at == *of; at++)
			of++;
		if (*of && *of != '=')
			continue;
		*from = *at == '=' ? (size_t)(at - argv[i]) + 1 : 0;
		if (*from || (!*at && argv[i + 1]))
			return *from ? i : i + 1;
	}
	return -1;
}

const char *words_value(const char *const *argv, const char *name)
{
	size_t from;
	int i = word_of(argv, name, &from);

	return i < 0 ? NULL : argv[i] + from;
}

const char *const *words_with(struct arena *a, const char *const *argv, const char *const *values)
{
	const char **out;
	size_t n = 0, from;

	while (argv[n])
		n++;
	out = arena_array(a, n + 1, sizeof(*out));
	memcpy(out, argv, n * sizeof(*out));
	for (; values && *values; values++) {
		int i = **values == '-' ? word_of(argv, *values, &from) : -1;

		if (i >= 0)
			out[i] = from ? *values : *values + strcspn(*values, "=") + 1;
	}
	return out;
}

enum { OUTPUT_MAX = 256 << 10, SAID = 160 };

struct running {
	struct workload w;
	struct metric *metric;
	char **argv;
};

static int workload_judge(const struct running *s, struct arena *a, const struct command_result *r,
			  struct window_reading *out, struct err *e)
{
	const char *said = command_last_line(a, *r->errors ? r->errors : r->output, SAID);
	int code;

	if (r->status)
		return err_set(e, -EBADMSG, "%s exited with %s %d%s%s", s->argv[0],
			       r->status > 128 ? "signal" : "status",
			       r->status > 128 ? r->status - 128 : r->status, *said ? ": " : "",
			       said);
	out->samples = 1;
	out->value[0] = r->seconds;
	code = metric_is_wall(s->metric) ? 0 : metric_find(s->metric, r->output, &out->value[0], e);
	if (code) {
		err_hint(e, "the last line that it printed: \"%s\"",
			 command_last_line(a, r->output, SAID));
		return code;
	}
	if (!isfinite(out->value[0]) || out->value[0] <= 0)
		return err_set(e, -EDOM, "%s: a ratio requires positive figures, not %g",
			       s->w.metric, out->value[0]);
	return 0;
}

/* Ours, and what the window adds; NULL: ours. */
static char **workload_environment(struct arena *a, const char *const *more)
{
	size_t n = 0, k = 0;
	char **out;

	if (!more || !*more)
		return NULL;
	while (environ[n])
		n++;
	while (more[k])
		k++;
	out = arena_array(a, n + k + 1, sizeof(*out));
	k = 0;
	/* The first of a name counts. */
	for (; *more; more++)
		if (**more != '-')
			out[k++] = arena_strdup(a, *more);
	memcpy(out + k, environ, n * sizeof(*out));
	return out;
}

static int workload_measure(struct window *w, struct window_reading *out, struct err *e)
{
	struct running *s = w->state;
	ARENA_AUTO own = { 0 };
	struct command_of_user how = { .limit_ms = (int)(s->w.limit_s * 1e3),
				       .max = OUTPUT_MAX,
				       .stop = s->w.stop,
				       .env = workload_environment(&own, w->variables) };
	struct command_result result = { 0 };
	char **argv = (char **)(uintptr_t)words_with(&own, w->argv, w->variables);
	int r = command_run_own(&own, argv, &how, &result);

	if (r == 0)
		r = workload_judge(s, &own, &result, out, e);
	else if (r == -ETIME)
		r = err_set(e, -EBADMSG, "%s did not finish within %.0f s", s->argv[0],
			    s->w.limit_s);
	else if (r != -EINTR)
		err_set(e, r, "cannot run %s: %s", s->argv[0], strerror(-r));
	return r;
}

static void close_it(struct window *w)
{
	metric_free(((struct running *)w->state)->metric);
}

int window_command(struct arena *a, const struct workload *w, struct window *out, struct err *e)
{
	struct running *s = ARENA_NEW(a, struct running);
	int r = words_split(a, w->command, &s->argv, e);
	bool wall;

	if (r == 0)
		r = metric_parse(a, w->metric, &s->metric, e);
	if (r)
		return r;
	s->w = *w;
	wall = metric_is_wall(s->metric);
	*out = (struct window){ .kind = "command",
				.name = arena_strdup(a, w->command),
				.setup = "",
				.of = arena_strdup(a, w->metric),
				.argv = (const char *const *)s->argv,
				.n_figures = 1,
				.measure = workload_measure,
				.close = close_it,
				.state = s };
	out->figures[0] = (struct bench_figure){ .key = wall ? "wall" : "metric",
						 .title = wall ? "time from start to end"
							       : "the workload's output",
						 .unit = wall ? "s" : "",
						 .unit_text = wall ? "s" : "",
						 .better = wall ? BENCH_LOWER : w->better };
	return 0;
}

void window_close(struct window *w)
{
	if (w->close)
		w->close(w);
	w->close = NULL;
}
