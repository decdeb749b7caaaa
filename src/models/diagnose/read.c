/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all readers share: numbers as logs print them, figures at a place of a file, JSON piece by
 * piece, tables of a log, and which marks stand in a line.
 */
#include "models/diagnose/read.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

/* What figures are, how they are added, and which format a file has. */

enum { HEAD_MAX = 65536, TEXT_MOST = 1024 };

#include "models/diagnose_figures_rows.h"

size_t evidence_warming_up(size_t n)
{
	enum { LONG = 10, SHORT = 4, LEAST = 2 };

	if (n < LONG)
		return n >= SHORT ? 1 : 0;
	return n / 10 > LEAST ? n / 10 : LEAST;
}

/* Each text once: a log names the same few a million times. */
static const char *evidence_once(struct run_evidence *ev, const char *text)
{
	char *cut = NULL;
	const char *key;
	void **place;

	if (strnlen(text, TEXT_MOST + 1) > TEXT_MOST)
		text = cut = strndup(text, TEXT_MOST);
	if (!text)
		return "";
	place = map_at(ev->arena, &ev->texts, text);
	key = map_key(place);
	*place = ev;
	free(cut);
	return key;
}

bool evidence_training(const struct run_evidence *ev, size_t run, double *from_s, double *to_s)
{
	*from_s = INFINITY;
	*to_s = 0;
	for (size_t i = 0; i < ev->n_files; i++) {
		const struct evidence_file *f = &ev->files[i];

		if (f->run != run || !(f->trains_to_s > 0))
			continue;
		*from_s = fmin(*from_s, f->trains_from_s);
		*to_s = fmax(*to_s, f->trains_to_s);
	}
	return *to_s > *from_s;
}

void evidence_figure(struct run_evidence *ev, struct metric_sample f)
{
	if (!isfinite(f.value) || (f.value < 0 && f.kind != FIGURE_LOSS) || f.value >= 1e18)
		return;
	if (ev->n_figures >= EVIDENCE_FIGURES_MAX) {
		ev->dropped++;
		return;
	}
	f.text = f.text ? evidence_once(ev, f.text) : NULL;
	ARENA_ADD(ev->arena, ev->figures, ev->n_figures) = f;
}

void evidence_trait(struct run_evidence *ev, struct run_attribute t)
{
	if (!t.text)
		return;
	if (ev->n_traits >= EVIDENCE_TRAITS_MAX) {
		ev->dropped++;
		return;
	}
	t.text = evidence_once(ev, t.text);
	ARENA_ADD(ev->arena, ev->traits, ev->n_traits) = t;
}

/* Numbers as logs print them, and figures at a place of a file. */

enum { DIGITS_MAX = 64 };

bool read_sane(double v)
{
	return isfinite(v) && v >= 0 && v < 1e18;
}

double read_number(const char *s, const char **end)
{
	char digits[DIGITS_MAX];
	size_t n = 0;
	char *stop;
	double v;

	s += strspn(s, " \t:='\"");
	if ((*s == '-' || *s == '+') && (isdigit((unsigned char)s[1]) || s[1] == '.'))
		digits[n++] = *s++;
	if (end)
		*end = s;
	if (!isdigit((unsigned char)*s) && !(*s == '.' && isdigit((unsigned char)s[1])))
		return (double)NAN;
	for (; n + 1 < sizeof(digits); s++) {
		bool sign = (*s == '-' || *s == '+') && n && (digits[n - 1] | 32) == 'e';

		if (*s == ',' && isdigit((unsigned char)s[1]) && isdigit((unsigned char)s[2]) &&
		    isdigit((unsigned char)s[3]) && !isdigit((unsigned char)s[4]))
			continue;
		if ((*s == 'e' || *s == 'E') &&
		    !isdigit((unsigned char)s[s[1] == '-' || s[1] == '+' ? 2 : 1]))
			break;
		if (!isdigit((unsigned char)*s) && *s != '.' && *s != 'e' && *s != 'E' && !sign)
			break;
		digits[n++] = *s;
	}
	digits[n] = '\0';
	v = strtod(digits, &stop);
	s -= strlen(stop);
	if (end)
		*end = s;
	return isfinite(v) ? v : (double)NAN;
}

double read_after(const char *s, const char *key)
{
	const char *at = strstr(s, key);

	return at ? read_number(at + strlen(key), NULL) : (double)NAN;
}

long long read_whole(double v, long long otherwise)
{
	return v >= 0 && v <= 1e15 ? (long long)v : otherwise;
}

int read_rank(double v, int otherwise)
{
	return v >= 0 && v <= 1e6 ? (int)v : otherwise;
}

struct metric_sample read_seen(const struct read_place *p, enum figure_kind kind, double value)
{
	return (struct metric_sample){ .kind = kind,
				       .value = value,
				       .at = (double)NAN,
				       .over_s = (double)NAN,
				       .rank = p->rank,
				       .step = p->step,
				       .file = p->file,
				       .line = p->line };
}

void read_figure(const struct read_place *p, enum figure_kind kind, double value, const char *text)
{
	struct metric_sample f = read_seen(p, kind, value);

	f.text = text;
	evidence_figure(p->ev, f);
}

void read_total(const struct read_place *p, enum figure_kind kind, double value, double over_s,
		const char *text)
{
	struct metric_sample f = read_seen(p, kind, value);

	f.text = text;
	f.over_s = over_s;
	f.step = -1;
	f.total = true;
	evidence_figure(p->ev, f);
}

void read_trait(const struct read_place *p, enum trait_kind kind, const char *text, double value)
{
	evidence_trait(p->ev, (struct run_attribute){ .kind = kind,
						      .text = text,
						      .value = value,
						      .rank = p->rank,
						      .file = p->file,
						      .line = p->line });
}

void read_trait_count(const struct read_place *p, enum trait_kind kind, double value)
{
	TEXT_AUTO t = { 0 };

	if (!(value > 0) || !read_sane(value))
		return;
	text_printf(&t, "%.15g", value);
	read_trait(p, kind, t.s, value);
}

size_t read_words(char *s, const char *between, char **words, size_t most)
{
	size_t n = 0;
	char *save = NULL;

	for (char *w = strtok_r(s, between, &save); w && n < most;
	     w = strtok_r(NULL, between, &save))
		words[n++] = w;
	return n;
}

size_t read_cells(char *s, const char *between, char **cells, size_t most)
{
	size_t n = read_words(s, between, cells, most);

	for (size_t i = 0; i < n; i++) {
		size_t len;
		const char *t = str_trim(cells[i], strlen(cells[i]), &len);

		cells[i] += t - cells[i];
		cells[i][len] = '\0';
	}
	return n;
}

int read_json_lines(struct read_place *at, const char *text, size_t size,
		    void (*line)(void *ctx, const json_t *o), void *ctx, struct err *e)
{
	const char *s = text, *end = text + size, *nl;

	for (; s < end && (nl = memchr(s, '\n', (size_t)(end - s))); s = nl + 1) {
		json_auto_t *o = json_loadb(s, (size_t)(nl - s), 0, NULL);

		at->line++;
		if (!o)
			return err_set(e, -EBADMSG, "%s:%zu: not JSON",
				       at->ev->files[at->file].path, at->line);
		line(ctx, o);
	}
	return 0;
}

bool read_pair(const char **s, char *key, size_t most, double *value, const char **at)
{
	for (const char *p = *s; (p = strpbrk(p, "'\"")); p++) {
		const char *stop = strchr(p + 1, *p);
		size_t n;

		if (!stop)
			return false;
		n = (size_t)(stop - p - 1);
		if (stop[1] == ':' && n && n < most) {
			memcpy(key, p + 1, n);
			key[n] = '\0';
			*value = read_number(stop + 2, NULL);
			*s = stop + 2;
			if (at)
				*at = stop + 2;
			return true;
		}
		p = stop;
	}
	return false;
}

void log_figure(struct log *l, enum figure_kind kind, double value, const char *text)
{
	read_figure(&l->at, kind, value, text);
}

void log_table(struct log *l, const struct log_reader *r)
{
	double ranks = l->ranks;

	l->open = r;
	l->open_line = l->at.line;
	l->open_whose = l->whose;
	memset(&l->table, 0, sizeof(l->table));
	l->table.over_s = (double)NAN;
	l->ranks = ranks;
}

bool log_first(struct log *l, enum trait_kind kind, const char *text)
{
	char key[1100];
	void **place;

	if (l->seen.n >= EVIDENCE_TRAITS_MAX)
		return false;
	snprintf(key, sizeof(key), "%d %.1024s", (int)kind, text);
	place = map_get(&l->seen, key) ? NULL : map_at(l->at.ev->arena, &l->seen, key);
	if (place)
		*place = l;
	return place != NULL;
}

void log_trait_once(struct log *l, enum trait_kind kind, const char *text, double value)
{
	if (*text && log_first(l, kind, text))
		read_trait(&l->at, kind, text, value);
}

/*
 * Where values of JSON begin and end, without looking at what is in them: files too large for a
 * tree are handed to the parser piece by piece, and each piece knows its line.
 */

static size_t string_end(const char *s, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (s[i] == '\\')
			i++;
		else if (s[i] == '"')
			return i + 1;
	return 0;
}

size_t json_cut(const char *s, size_t n)
{
	size_t depth = 0, i = 0;

	if (!n)
		return 0;
	if (*s == '"')
		return string_end(s, n);
	if (*s != '{' && *s != '[') { /* a number or a word */
		while (i < n && !memchr(",]} \t\r\n", s[i], 7))
			i++;
		return i < n ? i : 0;
	}
	for (; i < n; i++) {
		if (s[i] == '"') {
			size_t m = string_end(s + i, n - i);

			if (!m)
				return 0;
			i += m - 1;
		} else if (s[i] == '{' || s[i] == '[') {
			depth++;
		} else if ((s[i] == '}' || s[i] == ']') && --depth == 0) {
			return i + 1;
		}
	}
	return 0;
}

static const char *skip(const char *s, const char *end)
{
	while (s < end && memchr(" \t\r\n,", *s, 5))
		s++;
	return s;
}

bool json_next(const char **s, const char *end, struct json_piece *p, bool member)
{
	const char *at = skip(*s, end);
	size_t n;

	p->key[0] = '\0';
	p->size = 0;
	if (at >= end || *at == '}' || *at == ']')
		return false;
	if (member) {
		n = *at == '"' ? json_cut(at, (size_t)(end - at)) : 0;
		if (n < 2)
			return false;
		n -= 2;
		n = n < sizeof(p->key) ? n : sizeof(p->key) - 1;
		memcpy(p->key, at + 1, n);
		p->key[n] = '\0';
		at += json_cut(at, (size_t)(end - at));
		at = skip(at, end);
		if (at >= end || *at != ':')
			return false;
		at = skip(at + 1, end);
	}
	p->size = json_cut(at, (size_t)(end - at));
	p->value = at;
	*s = at + p->size;
	return p->size > 0;
}

json_t *json_piece_load(const struct json_piece *p)
{
	return json_loadb(p->value, p->size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

/*
 * Which of many words stand in a line, in one pass: an automaton of all of them (Aho and Corasick,
 * 1975). Most lines of a log hold none, and a log may be large.
 */

enum { STATES_MAX = 4096, CLASSES_MAX = 96 };

struct marks {
	uint8_t class[256]; /* 0: in no mark */
	size_t classes, n;
	uint16_t *next; /* state and class */
	uint32_t *found;
};

static void classify(struct marks *m, const char *s)
{
	for (; *s; s++)
		if (!m->class[(unsigned char)*s] && m->classes + 1 < CLASSES_MAX)
			m->class[(unsigned char)*s] = (uint8_t)m->classes++;
}

static uint16_t *edge(const struct marks *m, size_t state, char c)
{
	return &m->next[state * m->classes + m->class[(unsigned char)c]];
}

static void read_insert(struct marks *m, const char *s, size_t reader)
{
	size_t state = 0;

	for (; *s; s++) {
		uint16_t *to = edge(m, state, *s);

		if (!*to)
			*to = (uint16_t)m->n++;
		state = *to;
	}
	m->found[state] |= 1u << reader;
}

/* Where a word breaks off, the longest end of it that begins another goes on. */
static void link_up(struct arena *a, struct marks *m)
{
	uint16_t *fail = arena_array(a, m->n, sizeof(*fail)),
		 *queue = arena_array(a, m->n, sizeof(*queue));
	size_t head = 0, tail = 0;

	for (size_t c = 0; c < m->classes; c++)
		if (m->next[c])
			queue[tail++] = m->next[c];
	while (head < tail) {
		size_t s = queue[head++];

		m->found[s] |= m->found[fail[s]];
		for (size_t c = 0; c < m->classes; c++) {
			uint16_t *to = &m->next[s * m->classes + c];
			uint16_t other = m->next[fail[s] * m->classes + c];

			if (*to) {
				fail[*to] = other;
				queue[tail++] = *to;
			} else {
				*to = other;
			}
		}
	}
}

struct marks *marks_make(struct arena *a, const struct log_reader *const *list, size_t n)
{
	struct marks *m = ARENA_NEW(a, struct marks);
	size_t states = 1;

	m->classes = 1;
	m->n = 1;
	for (size_t i = 0; i < n; i++)
		for (const char *const *s = list[i]->marks; *s; s++) {
			classify(m, *s);
			states += strlen(*s);
		}
	states = states < STATES_MAX ? states : STATES_MAX;
	m->next = arena_array(a, states * m->classes, sizeof(*m->next));
	m->found = arena_array(a, states, sizeof(*m->found));
	for (size_t i = 0; i < n; i++)
		for (const char *const *s = list[i]->marks; *s; s++)
			if (m->n + strlen(*s) <= states)
				read_insert(m, *s, i);
	link_up(a, m);
	return m;
}

unsigned marks_find(const struct marks *m, const char *s, size_t n)
{
	const uint16_t *next = m->next;
	const size_t classes = m->classes;
	uint32_t found = 0;
	size_t state = 0;

	for (size_t i = 0; i < n; i++) {
		state = next[state * classes + m->class[(unsigned char)s[i]]];
		found |= m->found[state];
	}
	return found;
}
