/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of PyTorch's profiler (1.8 to 2.9): Chrome trace JSON, plain or packed by gzip. They are
 * large: the list of events streams through a window, and only events of interest are parsed.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "models/diagnose/read.h"
#include "base/text.h"

enum { TRACE_SPANS_MAX = 4000000, TRACE_RANGES_MAX = 1000000, TRACE_DEVICES_MAX = 64 };

/* A kernel or copy; microseconds. */
struct trace_span {
	double from, to;
	int device; /* index of devices */
	enum span_kind kind;
};

/* A range of the host: a step, the wait for a batch. */
struct trace_range {
	double from, to;
	enum figure_kind kind; /* FIGURE_STEP_S: a step */
	long long step;
	size_t line;
};

struct trace_device {
	long long id;
	size_t lines[SPAN_KINDS];
	double longest[SPAN_KINDS];
};

struct trace_call {
	char name[64];
	double s, longest;
	size_t line;
	enum figure_kind kind;
	double n;
};

enum { TRACE_CALLS_MAX = 64 };

struct trace {
	struct read_place at;
	int rank;	/* -1: the trace does not say */
	bool host_only; /* no GPU is named at its head: operators of the host are taken too */
	struct trace_span *spans, *host;
	size_t n_spans, n_host;
	struct trace_range *ranges;
	size_t n_ranges, events, dropped, collectives;
	struct trace_device devices[TRACE_DEVICES_MAX];
	size_t n_devices;
	struct trace_call calls[TRACE_CALLS_MAX];
	size_t n_calls;
	size_t host_line[SPAN_KINDS];
};

/*
 * Collectives in a trace (since PyTorch 2.2): the kernel's own arguments say which it was, of how
 * many elements and in what. Its time holds the wait for the slowest rank.
 */

enum { COLLECTIVES_TOLD = 20000 };

static double trace_bytes_of(const char *dtype)
{
	static const struct {
		const char *name;
		double bytes;
	} types[] = {
		{ "BFloat16", 2 }, { "bfloat16", 2 },	   { "Half", 2 },	 { "float16", 2 },
		{ "Float", 4 },	   { "float32", 4 },	   { "Double", 8 },	 { "float64", 8 },
		{ "Int", 4 },	   { "int32", 4 },	   { "Long", 8 },	 { "int64", 8 },
		{ "Byte", 1 },	   { "uint8", 1 },	   { "Char", 1 },	 { "int8", 1 },
		{ "Bool", 1 },	   { "Float8_e4m3fn", 1 }, { "Float8_e5m2", 1 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].name, dtype) == 0)
			return types[i].bytes;
	return (double)NAN;
}

/* As nccl-tests calls it. */
static const char *trace_name_of(const char *name)
{
	static const struct {
		const char *begins, *name;
	} names[] = {
		{ "allreduce", "all_reduce" },
		{ "all_reduce", "all_reduce" },
		{ "_allgather", "all_gather" },
		{ "allgather", "all_gather" },
		{ "all_gather", "all_gather" },
		{ "_reduce_scatter", "reduce_scatter" },
		{ "reduce_scatter", "reduce_scatter" },
		{ "all_to_all", "alltoall" },
		{ "alltoall", "alltoall" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(names[i].begins, name, strlen(names[i].begins)) == 0)
			return names[i].name;
	return name;
}

/* A kernel of communication that says what it was; us: how long it ran. */
static void trace_collective(struct trace *t, const json_t *event, double us)
{
	const json_t *args = json_object_get(event, "args");
	const char *name = json_string_value(json_object_get(args, "Collective name")),
		   *dtype = json_string_value(json_object_get(args, "dtype"));
	double in = json_number_value(json_object_get(args, "In msg nelems")),
	       out = json_number_value(json_object_get(args, "Out msg nelems"));
	struct metric_sample f = read_seen(&t->at, FIGURE_COLLECTIVE_US, us);

	if (!name || !dtype || t->collectives >= COLLECTIVES_TOLD)
		return;
	/* nccl-tests, too, counts the larger side. */
	f.at = fmax(in, out) * trace_bytes_of(dtype);
	f.rank = t->rank;
	f.step = -1;
	f.text = trace_name_of(name);
	if (!read_sane(f.at))
		return;
	t->collectives++;
	evidence_figure(t->at.ev, f);
}

/*
 * From events to figures: what a GPU did, laid over one another, over the time of the steps; what
 * the host waited for, step by step.
 */

static const double us = 1e-6;

/* Room for one more of n items, doubled; NULL: no memory. */
static void *room(void *items, size_t n, size_t size)
{
	return n & (n - 1) || (n && n < 1024) ? items : realloc(items, (n ? 2 * n : 1024) * size);
}

static void add_span(struct trace *t, struct trace_span **list, size_t *n, struct trace_span s)
{
	struct trace_span *larger = *n < TRACE_SPANS_MAX ? room(*list, *n, sizeof(s)) : NULL;

	if (!larger) {
		t->dropped++;
		return;
	}
	*list = larger;
	larger[(*n)++] = s;
}

static void trace_add_range(struct trace *t, struct trace_range r)
{
	struct trace_range *larger =
		t->n_ranges < TRACE_RANGES_MAX ? room(t->ranges, t->n_ranges, sizeof(r)) : NULL;

	if (!larger) {
		t->dropped++;
		return;
	}
	t->ranges = larger;
	larger[t->n_ranges++] = r;
}

static void trace_free(struct trace *t)
{
	free(t->spans);
	free(t->host);
	free(t->ranges);
}

/* --- events ----------------------------------------------------------------------------------- */

static int trace_device_of(struct trace *t, const json_t *event)
{
	const json_t *id = json_object_get(json_object_get(event, "args"), "device");
	long long v;
	size_t i;

	id = json_is_integer(id) ? id : json_object_get(event, "pid");
	v = json_is_integer(id) ? json_integer_value(id) : -1;
	for (i = 0; i < t->n_devices && t->devices[i].id != v; i++)
		;
	if (i == t->n_devices) {
		if (i == TRACE_DEVICES_MAX)
			return -1;
		t->devices[t->n_devices++] = (struct trace_device){ .id = v };
	}
	return (int)i;
}

static void on_gpu(struct trace *t, const json_t *event, enum span_kind kind, double from,
		   double to)
{
	int device = trace_device_of(t, event);
	struct trace_device *d;

	if (device < 0)
		return;
	d = &t->devices[device];
	if (to - from >= d->longest[kind]) {
		d->longest[kind] = to - from;
		d->lines[kind] = t->at.line;
	}
	add_span(t, &t->spans, &t->n_spans, (struct trace_span){ from, to, device, kind });
}

static void trace_call_one(struct trace *t, const char *name, enum figure_kind kind, double s)
{
	struct trace_call *c = t->calls, *end = t->calls + t->n_calls;

	while (c < end && (c->kind != kind || strcmp(c->name, name) != 0))
		c++;
	if (c == end) {
		if (t->n_calls == TRACE_CALLS_MAX || strlen(name) >= sizeof(c->name))
			return;
		t->n_calls++;
		*c = (struct trace_call){ .kind = kind };
		strcpy(c->name, name);
	}
	c->s += s;
	c->n++;
	if (s >= c->longest) {
		c->longest = s;
		c->line = t->at.line;
	}
}

static bool of_cat(const char *cat, const char *now, const char *before)
{
	return strcmp(cat, now) == 0 || strcmp(cat, before) == 0;
}

/* What the host did. cat is empty in traces before Kineto. */
static void trace_on_host(struct trace *t, const char *name, const char *cat, double from,
			  double to)
{
	struct trace_range r = { from, to, FIGURE_KINDS, -1, t->at.line };
	bool comm =
		str_starts(name, "gloo:") || str_starts(name, "nccl:") || str_starts(name, "mpi:");

	if (str_starts(name, "ProfilerStep#")) {
		r.kind = FIGURE_STEP_S;
		r.step = read_whole(read_number(name + strlen("ProfilerStep#"), NULL), -1);
	} else if (str_starts(name, "enumerate(DataLoader)")) {
		r.kind = FIGURE_DATA_S;
	} else if (str_starts(name, "Optimizer.step#")) {
		r.kind = FIGURE_OPTIMIZER_S;
	} else if (t->host_only && str_starts(name, "autograd::engine::evaluate_function")) {
		r.kind = FIGURE_BACKWARD_S;
	} else if (strcmp(cat, "user_annotation") == 0) {
		r.kind = read_range(name);
	}
	if (r.kind != FIGURE_KINDS)
		trace_add_range(t, r);
	if (t->host_only && strcmp(name, "aten::item") == 0)
		trace_call_one(t, ".item()", FIGURE_SYNCS, us * (to - from));
	if (t->host_only && (comm || str_starts(name, "aten::"))) {
		t->host_line[comm ? SPAN_COMM : SPAN_COMPUTE] = t->at.line;
		add_span(t, &t->host, &t->n_host,
			 (struct trace_span){ from, to, 0, comm ? SPAN_COMM : SPAN_COMPUTE });
	}
}

/* An event (an object of traceEvents), at t->at.line. */
static void trace_event(struct trace *t, const json_t *event)
{
	const char *name = json_string_value(json_object_get(event, "name")),
		   *cat = json_string_value(json_object_get(event, "cat")),
		   *ph = json_string_value(json_object_get(event, "ph"));
	double from = json_number_value(json_object_get(event, "ts")),
	       dur = json_number_value(json_object_get(event, "dur"));
	double to = from + dur;
	enum figure_kind kind;

	if (!name || !ph || strcmp(ph, "X") != 0 || !isfinite(from) || !read_sane(dur) ||
	    fabs(from) > 1e18)
		return;
	cat = cat ? cat : "";
	if (of_cat(cat, "kernel", "Kernel")) {
		if (span_is_comm(name))
			trace_collective(t, event, dur);
		if (span_gemm(name))
			trace_call_one(t, span_gemm(name), FIGURE_GEMM_S, us * dur);
		on_gpu(t, event, span_is_comm(name) ? SPAN_COMM : SPAN_COMPUTE, from, to);
	} else if (of_cat(cat, "gpu_memcpy", "Memcpy")) {
		if (strstr(name, "Pageable"))
			trace_call_one(t, strstr(name, "HtoD") ? "to the GPU" : "from the GPU",
				       FIGURE_COPY_PAGEABLE_S, us * dur);
		/* From a GPU to itself it is work like any other. */
		on_gpu(t, event, strstr(name, "DtoD") ? SPAN_COMPUTE : SPAN_COPY, from, to);
	} else if (of_cat(cat, "gpu_memset", "Memset")) {
		on_gpu(t, event, SPAN_COMPUTE, from, to);
	} else if (of_cat(cat, "cuda_runtime", "Runtime") || strcmp(cat, "cuda_driver") == 0) {
		kind = span_host_call(name);
		if (kind != FIGURE_KINDS)
			trace_call_one(t, name, kind, us * dur);
	} else if (strcmp(cat, "gpu_user_annotation") != 0) {
		trace_on_host(t, name, cat, from, to);
	}
}

/* --- figures ---------------------------------------------------------------------------------- */

static int by_device(const void *a, const void *b)
{
	const struct trace_span *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static int by_start(const void *a, const void *b)
{
	const struct trace_range *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* Steps, in order; the time from the first one's start to the last one's end. */
static size_t trace_steps_of(const struct trace *t, struct trace_range *out, double *from,
			     double *to)
{
	size_t n = 0;

	*from = HUGE_VAL;
	*to = -HUGE_VAL;
	for (size_t i = 0; i < t->n_ranges; i++)
		if (t->ranges[i].kind == FIGURE_STEP_S) {
			out[n++] = t->ranges[i];
			*from = fmin(*from, t->ranges[i].from);
			*to = fmax(*to, t->ranges[i].to);
		}
	return n;
}

static void trace_emit_spans(struct trace *t, const struct trace_span *list, size_t n, double from,
			     double to, const size_t *lines, bool many)
{
	struct spans s = { 0 };
	struct read_place p = t->at;
	long long id = t->n_devices ? t->devices[list->device].id : -1;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		spans_add(&s, list[i].kind, list[i].from, list[i].to);
	p.rank = t->rank >= 0 && !many ? t->rank : read_rank((double)id, t->rank);
	p.step = -1;
	/* The GPU is behind the host: it ends later, and what is idle at the start is waiting. */
	spans_emit(&s, &p, fmin(from, s.first), fmax(to, s.last), us, lines,
		   t->n_spans ? NULL : "host operators");
}

static void trace_emit_gpus(struct trace *t, double from, double to, double *over_s)
{
	size_t begin = 0;

	qsort(t->spans, t->n_spans, sizeof(*t->spans), by_device);
	for (size_t i = 1; i <= t->n_spans; i++) {
		if (i < t->n_spans && t->spans[i].device == t->spans[begin].device)
			continue;
		trace_emit_spans(t, t->spans + begin, i - begin, from, to,
				 t->devices[t->spans[begin].device].lines, t->n_devices > 1);
		*over_s = fmax(*over_s, us * (fmax(to, t->spans[i - 1].to) -
					      fmin(from, t->spans[begin].from)));
		begin = i;
	}
}

/* What a step held of a kind: ranges that begin in it, joined. */
static void trace_emit_step(struct trace *t, const struct trace_range *step,
			    const struct trace_range *r, size_t n)
{
	static const enum figure_kind kinds[] = { FIGURE_DATA_S, FIGURE_OPTIMIZER_S,
						  FIGURE_FORWARD_S, FIGURE_BACKWARD_S,
						  FIGURE_CHECKPOINT_S };
	struct read_place p = t->at;

	p.step = step->step;
	p.line = step->line;
	read_figure(&p, FIGURE_STEP_S, us * (step->to - step->from), NULL);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		double sum = 0, end = -HUGE_VAL, longest = -1;

		for (size_t i = 0; i < n; i++) {
			if (r[i].kind != kinds[k])
				continue;
			sum += fmax(0, r[i].to - fmax(end, r[i].from));
			end = fmax(end, r[i].to);
			if (r[i].to - r[i].from > longest) {
				longest = r[i].to - r[i].from;
				p.line = r[i].line;
			}
		}
		if (longest >= 0)
			read_figure(&p, kinds[k], us * sum, "host time");
	}
}

static void trace_emit_steps(struct trace *t, const struct trace_range *steps, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		/* They follow one another; where a file says otherwise, the next one begins. */
		double to = i + 1 < n ? fmin(steps[i].to, steps[i + 1].from) : steps[i].to;
		size_t end;

		while (at < t->n_ranges && t->ranges[at].from < steps[i].from)
			at++;
		for (end = at; end < t->n_ranges && t->ranges[end].from < to; end++)
			;
		trace_emit_step(t, &steps[i], t->ranges + at, end - at);
	}
}

static void trace_emit_calls(const struct trace *t, double over_s)
{
	struct read_place p = t->at;

	p.rank = t->rank;
	for (size_t i = 0; i < t->n_calls; i++) {
		const struct trace_call *c = &t->calls[i];

		p.line = c->line;
		if (c->kind != FIGURE_SYNCS)
			read_total(&p, c->kind, c->s, over_s, c->name);
		if (c->kind == FIGURE_SYNC_S || c->kind == FIGURE_SYNCS)
			read_total(&p, FIGURE_SYNCS, c->n, over_s, c->name);
	}
}

/* The trace is over: figures. */
static void trace_emit(struct trace *t)
{
	struct trace_range *steps;
	double from, to, over_s = 0;
	size_t n;

	if (t->n_ranges)
		qsort(t->ranges, t->n_ranges, sizeof(*t->ranges), by_start);
	steps = heap_array(t->n_ranges + 1, sizeof(*steps));
	n = trace_steps_of(t, steps, &from, &to);
	t->at.rank = t->rank;
	trace_emit_steps(t, steps, n);
	if (t->n_spans) {
		trace_emit_gpus(t, from, to, &over_s);
	} else if (t->n_host) {
		qsort(t->host, t->n_host, sizeof(*t->host), by_device);
		trace_emit_spans(t, t->host, t->n_host, from, to, t->host_line, false);
	}
	if (!(over_s > 0))
		over_s = n ? us * (to - from) : (double)NAN;
	trace_emit_calls(t, over_s);
	free(steps);
}

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
static bool trace_more(struct stream *s)
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
static char trace_peek(struct stream *s, const char *blanks)
{
	for (;;) {
		size_t k = 0;

		while (s->at + k < s->n && strchr(blanks, s->buf[s->at + k]) && s->buf[s->at + k])
			k++;
		step_over(s, k);
		if (s->at < s->n)
			return s->buf[s->at];
		if (!trace_more(s))
			return '\0';
	}
}

/* The whole value that begins here; false: it is cut off. */
static bool piece(struct stream *s, struct json_piece *p)
{
	while (!(p->size = json_cut(s->buf + s->at, s->n - s->at)))
		if (!trace_more(s))
			return false;
	p->value = s->buf + s->at;
	return true;
}

static int broken(struct stream *s)
{
	return err_set(s->e, -EBADMSG, "%s:%zu: corrupt or truncated trace", s->path, s->t.at.line);
}

/* --- pieces ----------------------------------------------------------------------------------- */

static int trace_events(struct stream *s)
{
	struct json_piece p;
	char c;

	step_over(s, 1);
	while ((c = trace_peek(s, " \t\r\n,")) && c != ']') {
		unsigned found;

		if (!piece(s, &p))
			return broken(s);
		found = c == '{' ? marks_find(s->marks, p.value, p.size) : 0;
		s->t.events++;
		if (found & 1 || (found & 2 && s->t.host_only)) {
			json_auto_t *o = json_piece_load(&p);

			if (!o)
				return broken(s);
			trace_event(&s->t, o);
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

static int trace_member(struct stream *s, const char *key)
{
	struct json_piece p;
	json_auto_t *o = NULL;
	char c = trace_peek(s, " \t\r\n:");

	if (strcmp(key, "traceEvents") == 0 && c == '[') {
		properties(s);
		return trace_events(s);
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
	step_over(s, p.size);
	return 0;
}

static int trace_object(struct stream *s)
{
	struct json_piece p;
	char key[64], c;
	int code;

	step_over(s, 1);
	while ((c = trace_peek(s, " \t\r\n,")) && c != '}') {
		if (c != '"' || !piece(s, &p))
			return broken(s);
		key[0] = '\0';
		if (p.size - 2 < sizeof(key)) {
			memcpy(key, p.value + 1, p.size - 2);
			key[p.size - 2] = '\0';
		}
		step_over(s, p.size);
		code = trace_member(s, key);
		if (code)
			return code;
	}
	return c == '}' ? 0 : broken(s);
}

/* --- a file ----------------------------------------------------------------------------------- */

/* "rank3", "rank_3" or "rank-3" in the file's own name. */
static int trace_rank_of(const char *path)
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
	c = trace_peek(s, " \t\r\n");
	code = c == '[' ? trace_events(s) : c == '{' ? trace_object(s) : broken(s);
	trace_emit(&s->t);
	s->t.at.ev->files[s->t.at.file].lines = s->t.at.line;
	s->t.at.ev->files[s->t.at.file].used = s->t.n_spans + s->t.n_ranges + s->t.n_host;
	if (!code && s->t.dropped)
		code = err_set(s->e, -EFBIG, "%s: %zu events over the limit per trace", s->path,
			       s->t.dropped);
	if (!code && !s->t.events)
		code = err_set(s->e, -EBADMSG, "%s: no events", s->path);
	return code;
}

static int open_trace(struct run_evidence *ev, size_t file, const char *path, struct err *e)
{
	struct stream *s = heap_array(1, sizeof(*s));
	int code;

	s->buf = heap_array(2 * WINDOW + 1, 1);
	s->cap = 2 * WINDOW;
	s->path = path;
	s->e = e;
	s->t.rank = trace_rank_of(path);
	s->t.at = (struct read_place){ .ev = ev, .file = file, .rank = s->t.rank, .step = -1 };
	errno = 0;
	s->in = gzopen(path, "rbe");
	if (s->in) {
		gzbuffer(s->in, 1 << 18);
		code = stream_all(s);
		gzclose(s->in);
	} else {
		code = err_set(e, errno ? -errno : -ENOMEM, "%s: cannot open", path);
	}
	trace_free(&s->t);
	json_decref(s->properties);
	free(s->buf);
	free(s);
	return code;
}

static bool trace_looks(const char *head, size_t n, const char *path)
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
						.looks = trace_looks,
						.open = open_trace };
