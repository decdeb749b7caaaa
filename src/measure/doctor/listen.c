/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what programs printed. A pattern is looked for only in lines that hold four letters in a
 * row of it, which a table of all patterns tells by one look per letter: 2 GB take seconds.
 */
#include "measure/doctor/listen.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "look/defects/match.h"

enum { GRAM = 4, GRAMS = 1 << 14, PIECE = 1 << 16, HIT_MAX = 32 };

struct pattern {
	const char *text;
	const struct diagnosis *of;
	bool found;
};

struct reading {
	struct log_input *h;
	struct pattern *patterns;
	size_t n;
	unsigned short first[GRAMS]; /* of the patterns with these letters, + 1; 0: none */
	unsigned short *next;	     /* of each pattern: the next one, + 1 */
	const char *source;
	unsigned long long line;
	struct text prose;
};

static unsigned gram_at(const char *s)
{
	unsigned h = 0;

	for (size_t i = 0; i < GRAM; i++)
		h = h * 131 + (unsigned)tolower((unsigned char)s[i]);
	return (h ^ h >> 14) % GRAMS;
}

/* The middle of the longest literal part: beginnings are shared by many ("CUDA error: "). */
static const char *gram_of(const char *pattern)
{
	const char *best = NULL;
	size_t most = 0;

	for (const char *s = pattern; *s;) {
		size_t n = strcspn(s, "*#");

		if (n >= GRAM && n > most) {
			most = n;
			best = s + (n - GRAM) / 2;
		}
		s += n;
		s += strspn(s, "*#");
	}
	return best;
}

static void take_pattern(struct reading *r, const struct diagnosis *d, const char *text)
{
	const char *gram = gram_of(text);

	if (!gram)
		return;
	r->patterns[r->n] = (struct pattern){ text, d, false };
	r->next[r->n] = r->first[gram_at(gram)];
	r->first[gram_at(gram)] = (unsigned short)++r->n;
}

static void patterns_read(struct reading *r)
{
	struct arena *a = r->h->a;
	size_t n = 0;

	DIAGNOSIS_FOR_EACH (d)
		for (const char *s = d->log; s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
			n++;
	r->patterns = arena_array(a, n, sizeof(*r->patterns));
	r->next = arena_array(a, n, sizeof(*r->next));
	DIAGNOSIS_FOR_EACH (d)
		for (const char *s = d->log; s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
			take_pattern(r, d, arena_strndup(a, s, strcspn(s, "\n")));
}

/* Two words and more, hardly anything but letters: a sentence, not a line of a log. */
static bool is_prose(const char *line, size_t n)
{
	size_t letters = 0, blanks = 0;

	for (size_t i = 0; i < n; i++) {
		letters += isalpha((unsigned char)line[i]) || line[i] == ' ';
		blanks += line[i] == ' ';
		if (line[i] == '[' || line[i] == '=' || line[i] == '{' || line[i] == '|')
			return false;
	}
	return blanks >= 2 && letters * 100 >= n * 85;
}

static void found(struct reading *r, struct pattern *p)
{
	struct log_input *h = r->h;

	p->found = true;
	h->lines = arena_grow(h->a, h->lines, h->n, sizeof(*h->lines));
	h->lines[h->n++] = (struct log_line){ p->of, p->text, r->source, r->line };
}

static void read_line(struct reading *r, char *line, size_t n)
{
	r->line++;
	for (size_t i = 0; i < n; i++)
		line[i] = line[i] == '\0' ? ' ' : line[i];
	line[n] = '\0';
	for (size_t i = 0; i + GRAM <= n; i++)
		for (unsigned k = r->first[gram_at(line + i)]; k; k = r->next[k - 1])
			if (!r->patterns[k - 1].found &&
			    defect_signature_in(r->patterns[k - 1].text, line))
				found(r, &r->patterns[k - 1]);
	if (r->prose.len + n < LOG_PROSE_MAX && is_prose(line, n))
		text_printf(&r->prose, "%s\n", line);
}

/* Colours and other escapes of terminals are no part of what was said. */
static size_t without_escapes(char *line, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (line[i] == '\033' && i + 1 < n && line[i + 1] == '[')
			for (i += 2; i < n && !isalpha((unsigned char)line[i]);)
				i++;
		else if (line[i] != '\r')
			line[k++] = line[i];
	}
	return k;
}

/* The lines of buf; what is left of the last one moves to its beginning. A line beyond the most is
 * cut into lines. */
static size_t read_lines(struct reading *r, char *buf, size_t n, bool last)
{
	char line[LOG_LINE_MAX + 1];
	size_t at = 0;

	while (at < n) {
		char *stop = memchr(buf + at, '\n', n - at);
		size_t len = stop ? (size_t)(stop - buf) - at : n - at;

		if (!stop && !last && len < LOG_LINE_MAX)
			break;
		len = len < LOG_LINE_MAX ? len : LOG_LINE_MAX;
		memcpy(line, buf + at, len);
		at += len + (at + len < n && buf[at + len] == '\n');
		read_line(r, line, without_escapes(line, len));
	}
	memmove(buf, buf + at, n - at);
	return n - at;
}

static void reading_begin(struct reading *r, struct log_input *h, const char *source)
{
	*r = (struct reading){ .h = h, .source = arena_strdup(h->a, source) };
	patterns_read(r);
	/* Each pattern is said once, of the source that has it first. */
	for (size_t i = 0; i < h->n; i++)
		for (size_t k = 0; k < r->n; k++)
			if (strcmp(r->patterns[k].text, h->lines[i].pattern) == 0 &&
			    r->patterns[k].of == h->lines[i].of)
				r->patterns[k].found = true;
}

static void reading_end(struct reading *r)
{
	if (r->prose.len)
		r->h->prose = arena_printf(r->h->a, "%s\n%s", r->h->prose, r->prose.s);
	text_free(&r->prose);
}

void log_input_init(struct arena *a, struct log_input *out)
{
	*out = (struct log_input){ .a = a, .prose = "" };
}

int log_input_add(struct log_input *h, const char *source, int fd, struct err *e)
{
	struct reading *r = ARENA_NEW(h->a, struct reading);
	char *buf = arena_array(h->a, PIECE, 1);
	size_t n = 0;
	ssize_t got;

	reading_begin(r, h, source);
	h->sources = arena_grow(h->a, h->sources, h->n_sources, sizeof(const char *));
	h->sources[h->n_sources++] = r->source;
	while ((got = read(fd, buf + n, PIECE - n)) > 0 || (got < 0 && errno == EINTR)) {
		if (got < 0)
			continue;
		h->bytes += (unsigned long long)got;
		n = read_lines(r, buf, n + (size_t)got, false);
	}
	if (got < 0)
		err_set(e, -errno, "%s: %s", source, strerror(errno));
	read_lines(r, buf, n, true);
	reading_end(r);
	return got < 0 ? e->code : 0;
}

void log_input_add_text(struct log_input *h, const char *source, const char *text)
{
	struct reading *r = ARENA_NEW(h->a, struct reading);
	size_t n = strlen(text);

	reading_begin(r, h, source);
	read_lines(r, arena_strndup(h->a, text, n), n, true);
	text_clear(&r->prose);
	reading_end(r);
}

/* A word that is a file's name, opened; below 0: it is a word. */
static int open_file(const char *word)
{
	int fd = strchr(word, ' ') ? -1 : open(word, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* "doctor < log": not the list of machines that a shell's loop reads. */
static bool is_log(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	       lseek(fd, 0, SEEK_CUR) == 0;
}

int log_input_ask(struct log_input *h, const char *const *words, size_t n, const char ***left,
		  size_t *n_left, struct err *e)
{
	int r = 0;

	*left = arena_array(h->a, n + 1, sizeof(const char *));
	*n_left = 0;
	if (!n && is_log(STDIN_FILENO))
		r = log_input_add(h, "standard input", STDIN_FILENO, e);
	for (size_t i = 0; i < n && r == 0; i++) {
		bool dash = strcmp(words[i], "-") == 0;
		int fd = dash ? STDIN_FILENO : open_file(words[i]);

		if (fd < 0) {
			(*left)[(*n_left)++] = words[i];
			continue;
		}
		r = log_input_add(h, dash ? "standard input" : words[i], fd, e);
		if (!dash)
			close(fd);
	}
	return r;
}

double log_input_weight(const struct log_input *h, const struct diagnosis *d)
{
	double out = 0;

	for (size_t i = 0; h && i < h->n; i++)
		if (h->lines[i].of == d)
			out += out > 0 ? 0.25 : 1;
	return out < 2 ? out : 2;
}

const char *log_input_line(const struct log_input *h, const struct diagnosis *d)
{
	for (size_t i = 0; h && i < h->n; i++)
		if (h->lines[i].of == d)
			return arena_printf(h->a, "%s, line %llu: %s", h->lines[i].source,
					    h->lines[i].line, h->lines[i].pattern);
	return NULL;
}
