/* SPDX-License-Identifier: Apache-2.0 */
/* Figures in other programs' output, by the rows of outputs.rows. */
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/normal/normal.h"

enum { GROUPS = 10, NODES_MAX = 1024, JSON_DEPTH = 24, OUTPUT_LINES_MAX = 256 };

struct reader {
	struct arena *a;
	const char *file;
	const struct normal_on *on;
	struct normal_items *out;
	const char *tool;
	struct normal_seen seen;
	const char *nodes[NODES_MAX];
	size_t line, found;
};

static void keep(struct reader *r, const char *key, const char *text)
{
	struct normal_seen *s = &r->seen;
	size_t i = 0;

	while (i < s->n_keys && strcmp(s->keys[i], key) != 0)
		i++;
	if (i == NORMAL_KEYS)
		return;
	s->keys[i] = key;
	s->texts[i] = text;
	s->n_keys += i == s->n_keys;
}

/* GPUs and nodes are counted; a run that begins anew counts anew. */
static void set_key(struct reader *r, const char *key, const char *text)
{
	struct normal_seen *s = &r->seen;
	int n = 0;

	if (strcmp(key, "gpus") == 0) {
		s->gpus = strcmp(text, "+1") == 0 ? s->gpus + 1 : atoi(text);
		s->nodes = s->gpus ? s->nodes : 0;
	} else if (strcmp(key, "node") == 0) {
		while (n < s->nodes && strcmp(r->nodes[n], text) != 0)
			n++;
		if (n == s->nodes && n < NODES_MAX)
			r->nodes[s->nodes++] = text;
	} else if (strcmp(key, "gpu") == 0) {
		s->gpu = text;
	} else if (strcmp(key, "op") == 0) { /* as benches here write it */
		char *op = arena_strdup(r->a, text);

		for (char *c = op; (c = strchr(c, '_'));)
			*c = '-';
		keep(r, key, op);
	} else {
		keep(r, key, text);
	}
}

/* The least of the numbers behind the first: of GPUs in a row, the slowest. */
static double least(const char *line)
{
	double min = 0;
	char *end;

	strtod(line, &end);
	for (const char *s = end; *s; s = end) {
		double v = strtod(s, &end);

		if (end == s)
			end += 1;
		else if (v > 0 && (min == 0 || v < min))
			min = v;
	}
	return min;
}

/* The template of a row with its groups filled in. */
static const char *groups(struct reader *r, const char *line, const regmatch_t *m,
			  const char *template)
{
	TEXT_AUTO t = { 0 };

	for (const char *s = template; *s; s++) {
		const regmatch_t *g =
			*s == '$' && isdigit((unsigned char)s[1]) ? &m[s[1] - '0'] : NULL;

		if (!g) {
			text_addc(&t, *s);
			continue;
		}
		if (g->rm_so >= 0)
			text_addn(&t, line + g->rm_so, (size_t)(g->rm_eo - g->rm_so));
		s++;
	}
	return normal_fill(r->a, &r->seen, arena_strdup(r->a, t.s ? t.s : ""));
}

/* --- units ------------------------------------------------------------------------------------ */

/* "MiB/s": 1048576 bytes; what: B bytes, b bits, F operations, s seconds, ' ' others. */
static double unit_of(const char *u, char *what)
{
	static const char prefixes[] = "kKMGTP";
	const char *at = *u ? strchr(prefixes, *u) : NULL;
	double step = at && u[1] == 'i' ? 1024 : 1000, by = 1;

	for (long p = at ? (at > prefixes ? at - prefixes : 1) : 0; p > 0; p--)
		by *= step;
	u += at ? (step > 1000 ? 2 : 1) : 0;
	*what = *u == 'B'			 ? 'B'
		: *u == 'b'			 ? 'b'
		: strncasecmp(u, "flop", 4) == 0 ? 'F'
		: strcmp(u, "us") == 0		 ? 's'
						 : ' ';
	return by;
}

/* The value in the unit that is wanted; NAN: it is of another kind. */
static double converted(double v, const char *from, const char *to)
{
	char is, want;
	double a = unit_of(from, &is), b = unit_of(to, &want);

	if (is == 'B' && want == 'b')
		return v * a * 8 / b;
	if (is == 'b' && want == 'B')
		return v * a / 8 / b;
	return is == want ? v * a / b : NAN;
}

/* "1024KiB", "65536". */
static double size_of(const char *s)
{
	char *end, what;
	double v = strtod(s, &end);

	return *end ? v * unit_of(end, &what) : v;
}

/* --- a line ----------------------------------------------------------------------------------- */

/* The same figure of a larger message, or the last line of it, replaces what was there; lowest: if
 * it is less. */
static struct normal_item *place_for(struct reader *r, const struct normal_item *item, bool lowest)
{
	struct normal_items *out = r->out;

	for (size_t i = out->n - r->found; i < out->n; i++) {
		struct normal_item *o = &out->items[i];
		const char *of = item->hardware ? item->hardware : "";

		if (strcmp(o->title, item->title) == 0 && strcmp(o->tool, item->tool) == 0 &&
		    strcmp(o->hardware ? o->hardware : "", of) == 0)
			return o->size <= item->size && !(lowest && o->value < item->value) ? o
											    : NULL;
	}
	if (out->n == NORMAL_ITEMS_MAX)
		return NULL;
	out->items = arena_grow(r->a, out->items, out->n, sizeof(*out->items));
	r->found++;
	return &out->items[out->n++];
}

static const struct normal_figure *figure_named(const char *name)
{
	for (size_t i = 0; i < n_normal_figures; i++)
		if (strcasecmp(normal_figures[i].name, name) == 0)
			return &normal_figures[i];
	return NULL;
}

static void emit(struct reader *r, const struct output_line *o, const char *line,
		 const regmatch_t *m)
{
	struct normal_seen *s = &r->seen;
	struct normal_item item, *at;
	double by = o->divide ? atof(groups(r, line, m, o->divide)) : 1;
	bool lowest = strcmp(o->value, "least") == 0;

	s->figure = figure_named(groups(r, line, m, o->is));
	s->size = o->size ? size_of(groups(r, line, m, o->size)) : 0;
	if (!s->figure || !(by > 0))
		return;
	s->value = converted((lowest ? least(line) : atof(groups(r, line, m, o->value))) / by,
			     groups(r, line, m, o->unit ? o->unit : ""), s->figure->unit);
	if (!(s->value > 0) || !isfinite(s->value) || !isfinite(s->size))
		return;
	s->tool = o->tool;
	s->where = arena_printf(r->a, "%s:%zu", r->file, r->line);
	normal_judge(r->a, r->on, s, &item);
	at = place_for(r, &item, lowest);
	if (at)
		*at = item;
}

static bool any_of(const struct output_line *o)
{
	return strcmp(o->tool, "any") == 0;
}

static regex_t compiled[OUTPUT_LINES_MAX]; /* of output_lines */

static bool fits(struct reader *r, size_t i, const char *line, regmatch_t *m)
{
	const struct output_line *o = &output_lines[i];

	if (!any_of(o) && !o->sign && (!r->tool || strcmp(r->tool, o->tool) != 0))
		return false;
	return (!o->has || strstr(line, o->has)) && regexec(&compiled[i], line, GROUPS, m, 0) == 0;
}

static void take(struct reader *r, const char *line)
{
	for (size_t i = 0; i < n_output_lines; i++) {
		const struct output_line *o = &output_lines[i];
		regmatch_t m[GROUPS];

		if (!fits(r, i, line, m))
			continue;
		if (!any_of(o))
			r->tool = o->tool;
		for (const char *s = o->set; s && strcmp(s, "-") != 0 && *s; s += strspn(s, " ")) {
			size_t n = strcspn(s, " "), k = strcspn(s, "=");

			set_key(r, arena_strndup(r->a, s, k),
				groups(r, line, m, arena_strndup(r->a, s + k + 1, n - k - 1)));
			s += n;
		}
		if (o->is)
			emit(r, o, line, m);
		return;
	}
}

/* --- texts ------------------------------------------------------------------------------------ */

static void flat(struct reader *r, const json_t *j, const char *path, unsigned depth)
{
	const char *key;
	json_t *v;

	if (depth > JSON_DEPTH)
		return;
	if (json_is_object(j))
		json_object_foreach((json_t *)(uintptr_t)j, key, v)
			flat(r, v, *path ? arena_printf(r->a, "%s.%s", path, key) : key, depth + 1);
	else if (json_is_array(j))
		for (size_t i = 0; i < json_array_size(j); i++)
			flat(r, json_array_get(j, i), arena_printf(r->a, "%s[%zu]", path, i),
			     depth + 1);
	else if (json_is_string(j))
		take(r, arena_printf(r->a, "%s=%.200s", path, json_string_value(j)));
	else if (json_is_number(j))
		take(r, arena_printf(r->a, "%s=%.12g", path, json_number_value(j)));
}

static bool is_json(struct reader *r, const char *text)
{
	json_auto_t *j = NULL;

	text += strspn(text, " \t\r\n");
	if (*text != '{' && *text != '[')
		return false;
	j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	if (!j)
		return false;
	r->line = 1;
	flat(r, j, "", 0);
	return true;
}

/* What launchers put before a line: "[0]", "[1,0]<stdout>:", "3: ". */
static const char *behind_prefix(const char *line)
{
	const char *s = line + strspn(line, " "), *number = s;

	if (*s == '[' && isdigit((unsigned char)s[1])) {
		s += 1 + strspn(s + 1, "0123456789,");
		if (*s != ']')
			return line;
		s++;
		return strncmp(s, "<stdout>:", 9) == 0 ? s + 9 : s;
	}
	s += strspn(s, "0123456789");
	return s > number && s[0] == ':' && s[1] == ' ' ? s + 1 : line;
}

static void compile(void)
{
	if (n_output_lines > OUTPUT_LINES_MAX)
		abort();
	for (size_t i = 0; i < n_output_lines; i++)
		if (regcomp(&compiled[i], output_lines[i].line, REG_EXTENDED) != 0)
			abort(); /* a built-in pattern; the tests compile all of them */
}

size_t normal_read(struct arena *a, const char *file, char *text, const struct normal_on *on,
		   struct normal_items *out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct reader *r = ARENA_NEW(a, struct reader);
	const char *whole;

	*r = (struct reader){ .a = a, .file = file, .on = on, .out = out };
	pthread_once(&once, compile);
	whole = arena_strdup(a, text);
	if (!is_json(r, text))
		for (char *line = text, *next; line && *line; line = next) {
			next = strchr(line, '\n');
			if (next)
				*next++ = '\0';
			r->line++;
			line[strnlen(line, NORMAL_LINE_MAX)] = '\0';
			text_plain(line, line, strlen(line));
			for (char *c = line; (c = strchr(c, '\t'));)
				*c = ' ';
			take(r, behind_prefix(line));
		}
	normal_runs(a, file, whole, on, r->seen.gpu, out);
	return r->found;
}
