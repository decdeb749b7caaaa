/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of PyTorch's profiler (1.8 to 2.9): Chrome trace JSON, plain or packed by gzip. They are
 * large: the list of events streams through a window, and only events that could tell something are
 * parsed.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/path.h"
#include "models/diagnose/read_trace.h"

enum { WINDOW = 1 << 20, PIECE_MAX = 16 << 20 };

/* Unpacked; a bomb ends here. */
#define BYTES_MAX (16ll << 30)

static const char *const marks[] = { "\"kernel\"",	"\"Kernel\"", "emcpy",
				     "emset",		"\"cuda_",    "\"Runtime\"",
				     "ProfilerStep",	"DataLoader", "Optimizer.",
				     "user_annotation", NULL };
static const char *const host_marks[] = { "nccl:", "gloo:", "mpi:", "aten::", "autograd::", NULL };
static const struct log_reader wanted = { .marks = marks }, wanted_host = { .marks = host_marks };

struct stream {
	gzFile in;
	char *buf;
	size_t at, n, cap;
	long long bytes;
	struct marks *marks;
	const char *path;
	json_t *properties; /* of GPUs; they stand before whose the trace is */
	size_t properties_line;
	struct trace t;
	struct err *e;
};

/* More of the file behind what is left; false: it is over, or the piece is too large. */
static bool more(struct stream *s)
{
	int got;

	s->n -= s->at;
	memmove(s->buf, s->buf + s->at, s->n);
	s->at = 0;
	if (s->cap - s->n < WINDOW) {
		char *larger = s->cap < PIECE_MAX ? realloc(s->buf, 2 * s->cap + 1) : NULL;

		if (!larger)
			return false;
		s->buf = larger;
		s->cap *= 2;
	}
	if (s->bytes > BYTES_MAX)
		return false;
	got = gzread(s->in, s->buf + s->n, WINDOW);
	if (got <= 0)
		return false;
	s->bytes += got;
	s->n += (size_t)got;
	s->buf[s->n] = '\0';
	return true;
}

static void step_over(struct stream *s, size_t n)
{
	const char *p = s->buf + s->at, *end = p + n;

	while ((p = memchr(p, '\n', (size_t)(end - p)))) {
		s->t.at.line++;
		p++;
	}
	s->at += n;
}

/* The next character that is no blank; '\0': the file is over. */
static char peek(struct stream *s, const char *blanks)
{
	for (;;) {
		size_t k = 0;

		while (s->at + k < s->n && strchr(blanks, s->buf[s->at + k]) && s->buf[s->at + k])
			k++;
		step_over(s, k);
		if (s->at < s->n)
			return s->buf[s->at];
		if (!more(s))
			return '\0';
	}
}

/* The whole value that begins here; false: it is cut off. */
static bool piece(struct stream *s, struct json_piece *p)
{
	while (!(p->size = json_cut(s->buf + s->at, s->n - s->at)))
		if (!more(s))
			return false;
	p->value = s->buf + s->at;
	return true;
}

static int broken(struct stream *s)
{
	return err_set(s->e, -EBADMSG, "%s:%zu: the trace is broken or cut off here", s->path,
		       s->t.at.line);
}

/* --- pieces --------------------------------------------------------------------------------------
 */

static int events(struct stream *s)
{
	struct json_piece p;
	char c;

	step_over(s, 1);
	while ((c = peek(s, " \t\r\n,")) && c != ']') {
		unsigned found;

		if (!piece(s, &p))
			return broken(s);
		found = c == '{' ? marks_find(s->marks, p.value, p.size) : 0;
		s->t.events++;
		if (found & 1 || (found & 2 && s->t.host_only)) {
			json_t *o = json_piece_load(&p);

			if (!o)
				return broken(s);
			trace_event(&s->t, o);
			json_decref(o);
		}
		step_over(s, p.size);
	}
	if (c != ']')
		return broken(s);
	step_over(s, 1);
	return 0;
}

static void distributed(struct trace *t, const json_t *o)
{
	const json_t *rank = json_object_get(o, "rank"), *world = json_object_get(o, "world_size");

	if (json_is_integer(rank))
		t->rank = read_rank((double)json_integer_value(rank), -1);
	t->at.rank = t->rank;
	if (json_is_integer(world))
		read_trait_count(&t->at, TRAIT_WORLD_SIZE, (double)json_integer_value(world));
}

static void properties(struct stream *s)
{
	struct trace *t = &s->t;
	const json_t *list = s->properties;
	struct read_place p = t->at;

	p.line = s->properties_line;
	for (size_t i = 0; i < json_array_size(list) && i < TRACE_DEVICES_MAX; i++) {
		const json_t *o = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(o, "name"));
		const json_t *memory = json_object_get(o, "totalGlobalMem");

		t->host_only = false;
		p.rank = t->rank >= 0
				 ? t->rank
				 : read_rank((double)json_integer_value(json_object_get(o, "id")),
					     -1);
		/* All GPUs of the node stand there; a rank has one. */
		if (name && (i == 0 || t->rank < 0))
			read_trait(&p, TRAIT_GPU, name, (double)NAN);
		if (json_is_number(memory) && (i == 0 || t->rank < 0))
			read_figure(&p, FIGURE_GPU_MEMORY_TOTAL, json_number_value(memory), NULL);
	}
}

static int member(struct stream *s, const char *key)
{
	struct json_piece p;
	json_t *o = NULL;
	char c = peek(s, " \t\r\n:");

	if (strcmp(key, "traceEvents") == 0 && c == '[') {
		properties(s);
		return events(s);
	}
	if (!c || !piece(s, &p))
		return broken(s);
	if (strcmp(key, "distributedInfo") == 0 || strcmp(key, "deviceProperties") == 0)
		o = json_piece_load(&p);
	if (json_is_object(o)) {
		distributed(&s->t, o);
	} else if (json_is_array(o) && !s->properties) {
		s->properties = json_incref(o);
		s->properties_line = s->t.at.line;
	}
	json_decref(o);
	step_over(s, p.size);
	return 0;
}

static int object(struct stream *s)
{
	struct json_piece p;
	char key[64], c;
	int code;

	step_over(s, 1);
	while ((c = peek(s, " \t\r\n,")) && c != '}') {
		if (c != '"' || !piece(s, &p))
			return broken(s);
		key[0] = '\0';
		if (p.size - 2 < sizeof(key)) {
			memcpy(key, p.value + 1, p.size - 2);
			key[p.size - 2] = '\0';
		}
		step_over(s, p.size);
		code = member(s, key);
		if (code)
			return code;
	}
	return c == '}' ? 0 : broken(s);
}

/* --- a file --------------------------------------------------------------------------------------
 */

/* "rank3", "rank_3" or "rank-3" in the file's own name. */
static int rank_of(const char *path)
{
	const char *at = strstr(path_name(path), "rank");

	if (!at)
		return -1;
	at += 4;
	at += *at == '_' || *at == '-';
	return isdigit((unsigned char)*at) ? read_rank(strtod(at, NULL), -1) : -1;
}

static int stream_all(struct stream *s)
{
	static const struct log_reader *const both[] = { &wanted, &wanted_host };
	char c;
	int code;

	s->marks = marks_make(s->t.at.ev->arena, both, 2);
	s->t.host_only = true;
	s->t.at.line = 1;
	c = peek(s, " \t\r\n");
	code = c == '[' ? events(s) : c == '{' ? object(s) : broken(s);
	trace_tell(&s->t);
	s->t.at.ev->files[s->t.at.file].lines = s->t.at.line;
	s->t.at.ev->files[s->t.at.file].used = s->t.n_spans + s->t.n_ranges + s->t.n_host;
	if (!code && s->t.dropped)
		code = err_set(s->e, -EFBIG, "%s: %zu events more than are taken of one trace",
			       s->path, s->t.dropped);
	if (!code && !s->t.events)
		code = err_set(s->e, -EBADMSG, "%s: no event in it", s->path);
	return code;
}

static int open_trace(struct evidence *ev, size_t file, const char *path, struct err *e)
{
	struct stream *s = calloc(1, sizeof(*s));
	int code;

	if (!s || !(s->buf = malloc(2 * WINDOW + 1))) {
		free(s);
		return err_set(e, -ENOMEM, "%s: not enough memory to read it", path);
	}
	s->cap = 2 * WINDOW;
	s->path = path;
	s->e = e;
	s->t.rank = rank_of(path);
	s->t.at = (struct read_place){ .ev = ev, .file = file, .rank = s->t.rank, .step = -1 };
	errno = 0;
	s->in = gzopen(path, "rbe");
	if (s->in) {
		gzbuffer(s->in, 1 << 18);
		code = stream_all(s);
		gzclose(s->in);
	} else {
		code = err_set(e, errno ? -errno : -ENOMEM, "%s: cannot be opened", path);
	}
	trace_free(&s->t);
	json_decref(s->properties);
	free(s->buf);
	free(s);
	return code;
}

static bool looks(const char *head, size_t n, const char *path)
{
	const char *s = head + strspn(head, " \t\r\n");

	(void)path;
	if (memchr(head, '\0', n))
		return false;
	return (*s == '{' && (strstr(s, "\"traceEvents\"") || strstr(s, "\"deviceProperties\"") ||
			      strstr(s, "\"distributedInfo\""))) ||
	       (*s == '[' && strstr(s, "\"ph\"") && strstr(s, "\"ts\""));
}

const struct evidence_format evidence_trace = { .name = "PyTorch profiler trace",
						.looks = looks,
						.open = open_trace };
