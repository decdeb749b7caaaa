/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what programs printed. A pattern is looked for only in lines that hold four letters in a
 * row of it, which a table of all patterns tells by one look per letter: 2 GB take seconds.
 */
#include "measure/doctor/listen.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "look/defects/match.h"
#include "machine/host/posted.h"

enum { GRAM = 4, GRAM_BITS = 15, GRAMS = 1 << GRAM_BITS, PIECE = 1 << 16 };

struct pattern {
	const char *text;
	const struct diagnosis *of; /* or: */
	struct defect_row *defect;
	const char *literal; /* its longest part that stands for itself, in lower case */
	size_t len, gram;    /* of it; where in it the letters of the table begin */
	enum line_kind kind;
	unsigned short next; /* of the patterns with the same letters, + 1; 0: none */
	bool found;
};

struct reading {
	struct log_input *h;
	struct pattern *patterns;
	size_t n;
	unsigned short first[GRAMS]; /* of the patterns with these letters, + 1; 0: none */
	const char *source;
	unsigned long long line;
	struct text prose;
	unsigned char lower[256];
};

static unsigned gram_at(const char *s)
{
	uint32_t four;

	memcpy(&four, s, GRAM);
	return (four * 2654435761U) >> (32 - GRAM_BITS);
}

/* Looked for by the middle of its literal: beginnings are shared by many ("CUDA error: "). */
static void take_pattern(struct reading *r, const struct diagnosis *d, struct defect_row *defect,
			 const char *text)
{
	struct pattern p = { .of = d, .defect = defect };
	enum line_kind kind = !d	     ? LINE_SURE
			      : *text == '?' ? LINE_HINT
			      : *text == '!' ? LINE_AGAINST
					     : LINE_SURE;
	char *literal;
	unsigned at;

	p.kind = kind;
	p.text = text += kind != LINE_SURE;
	for (const char *s = text; *s;) {
		size_t n = strcspn(s, "*#");

		if (n > p.len) {
			p.len = n;
			p.literal = s;
		}
		s += n;
		while (*s == '*' || *s == '#')
			if (*s++ == '#' && (*s == '<' || *s == '>'))
				s += 1 + strspn(s + 1, "0123456789.");
	}
	if (p.len < GRAM)
		return;
	literal = arena_strndup(r->h->a, p.literal, p.len);
	for (size_t i = 0; i < p.len; i++)
		literal[i] = (char)r->lower[(unsigned char)literal[i]];
	p.literal = literal;
	p.gram = (p.len - GRAM) / 2;
	at = gram_at(literal + p.gram);
	p.next = r->first[at];
	ARENA_ADD(r->h->a, r->patterns, r->n) = p;
	r->first[at] = (unsigned short)r->n;
}

static void patterns_read(struct reading *r)
{
	const struct defect_rows *rows = r->h->defects;
	struct arena *a = r->h->a;
	json_t *v;
	size_t k;

	for (int i = 0; i < 256; i++)
		r->lower[i] = (unsigned char)tolower(i);
	DIAGNOSIS_FOR_EACH (d)
		LOG_PATTERN_FOR_EACH (s, d)
			take_pattern(r, d, NULL, arena_strndup(a, s, strcspn(s, "\n")));
	for (size_t i = 0; rows && i < rows->n; i++) {
		json_auto_t *row = defect_row_part(rows->rows[i], "signatures", NULL);

		json_array_foreach(json_object_get(row, "signatures"), k, v)
			take_pattern(r, NULL, rows->rows[i], arena_strdup(a, json_string_value(v)));
	}
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
	if (p->defect) {
		const json_t *row = defect_row_keep(p->defect);
		const char *id = defect_text(row, "id");

		for (size_t i = 0; i < h->n_found; i++)
			if (strcmp(h->found[i].id, id) == 0)
				return;
		ARENA_ADD(h->a, h->found, h->n_found) = (struct log_defect){
			id, defect_text(row, "title"), defect_text_of(row, "fix", "says"),
			arena_printf(h->a, "%s, line %llu: %s", r->source, r->line, p->text)
		};
		return;
	}
	ARENA_ADD(h->a, h->lines, h->n) =
		(struct log_line){ p->of, p->text, r->source, r->line, p->kind };
}

static void look_up(struct reading *r, const char *line, const char *lower, size_t n, size_t at)
{
	for (unsigned k = r->first[gram_at(lower + at)]; k; k = r->patterns[k - 1].next) {
		struct pattern *p = &r->patterns[k - 1];

		if (!p->found && at >= p->gram && at - p->gram + p->len <= n &&
		    memcmp(lower + at - p->gram, p->literal, p->len) == 0 &&
		    defect_signature_in(p->text, line))
			found(r, p);
	}
}

static void read_line(struct reading *r, const char *line, size_t n)
{
	char lower[LOG_LINE_MAX];

	r->line++;
	for (size_t i = 0; i < n; i++)
		lower[i] = (char)r->lower[(unsigned char)line[i]];
	for (size_t i = 0; i + GRAM <= n; i++)
		if (r->first[gram_at(lower + i)])
			look_up(r, line, lower, n, i);
	if (r->prose.len + n < LOG_PROSE_MAX && is_prose(line, n))
		text_printf(&r->prose, "%s\n", line);
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
		read_line(r, line, text_plain(line, buf + at, len));
		at += len + (at + len < n && buf[at + len] == '\n');
	}
	memmove(buf, buf + at, n - at);
	return n - at;
}

/* The patterns are read once, and each is said once, of the source that has it first. */
static struct reading *reading_begin(struct log_input *h, const char *source)
{
	if (!h->reading) {
		h->reading = ARENA_NEW(h->a, struct reading);
		h->reading->h = h;
		patterns_read(h->reading);
	}
	h->reading->source = arena_strdup(h->a, source);
	h->reading->line = 0;
	return h->reading;
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

/* Reads to the end. -errno and *e where it cannot be read. */
static int log_input_add(struct log_input *h, const char *source, int fd, struct err *e)
{
	struct reading *r = reading_begin(h, source);
	char *buf = arena_array(h->a, PIECE, 1);
	size_t n = 0;
	ssize_t got;

	ARENA_ADD(h->a, h->sources, h->n_sources) = r->source;
	while ((got = read(fd, buf + n, PIECE - n)) > 0 || (got < 0 && errno == EINTR)) {
		if (got < 0)
			continue;
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
	struct reading *r = reading_begin(h, source);
	size_t n = strlen(text);

	read_lines(r, arena_strndup(h->a, text, n), n, true);
	text_clear(&r->prose);
	reading_end(r);
}

/* Whether somebody who says this means a file, be it there or not. */
static bool is_path(const char *word)
{
	static const char *const ends[] = { ".log", ".txt", ".out", ".err", ".md" };
	bool path = *word == '/' || str_starts(word, "./") || str_starts(word, "../");

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		path = path || str_ends(word, ends[i]);
	return path && !strchr(word, ' ');
}

/* A file that a word names, as *fd; below 0: it is a word. -errno and *e: it can be no word. */
static int open_file(const char *word, int *fd, struct err *e)
{
	struct stat st;

	*fd = strchr(word, ' ') ? -1 : open(word, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (*fd < 0)
		return is_path(word) ? err_set(e, -errno, "%s: %s", word, strerror(errno)) : 0;
	if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
		return 0;
	close(*fd);
	*fd = -1;
	return is_path(word) ? err_set(e, -EINVAL, "%s: not a regular file", word) : 0;
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
		int fd = STDIN_FILENO;

		r = dash ? 0 : open_file(words[i], &fd, e);
		if (r)
			break;
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

struct host *log_input_machine(const struct log_input *in, const char *const *words, size_t n,
			       struct host *live)
{
	struct posted *p = posted_open(in->a);
	struct answer version;
	struct host *h;
	char ours[256];
	struct err unsaid;

	for (size_t i = 0; i < in->n_sources; i++) {
		bool dash = strcmp(in->sources[i], "standard input") == 0;

		posted_add(p, dash ? "/dev/stdin" : in->sources[i], &unsaid);
	}
	for (size_t i = 0; i < n; i++)
		if (strchr(words[i], '\n'))
			posted_text(p, arena_strdup(in->a, words[i]), strlen(words[i]), false);
	h = posted_machine(p, &unsaid);
	posted_close(p);
	if (!h || host_read_line(live, "/proc/driver/nvidia/version", ours, sizeof(ours)) ||
	    host_ask(h, "nvml", "", "nvmlSystemGetDriverVersion", &version) ||
	    version.kind != ANSWER_TEXT || !strstr(ours, version.text))
		return h;
	host_close(h);
	return NULL;
}

double log_input_weight(const struct log_input *h, const struct diagnosis *d, enum line_kind kind)
{
	double out = 0;

	for (size_t i = 0; h && i < h->n; i++)
		out += h->lines[i].of == d && h->lines[i].kind == kind;
	return out < 3 ? out : 3;
}

const char *log_input_line(const struct log_input *h, const struct diagnosis *d)
{
	for (size_t i = 0; h && i < h->n; i++)
		if (h->lines[i].of == d && h->lines[i].kind != LINE_AGAINST)
			return arena_printf(h->a, "%s, line %llu: %s", h->lines[i].source,
					    h->lines[i].line, h->lines[i].pattern);
	return NULL;
}
