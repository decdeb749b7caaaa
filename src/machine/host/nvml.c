/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider "nvml". Object "" is the machine, "0".."N" a GPU by NVML's index. A question is a
 * function's name without its version, arguments in parentheses, members after a dot; all of them
 * stand in nvml.def and nvml_read.c, what can be set in the table of nvml_set_gpu. The library is
 * opened and initialised once, at the first question.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/ask.h"
#include "machine/host/nvml_read.h"
#include "machine/host/nvml.h"

/* What follows the name in a question: "(SM)" and ".bar1Total". */
struct tail {
	const char *args, *member; /* NULL: none */
	size_t args_len;
};

static int answer_buffer(int r, struct arena *a, const char *buf, struct answer *out)
{
	if (r)
		return nvml_errno(r);
	answer_text(out, arena_strdup(a, buf));
	return 0;
}

static int ask_system(struct nvml *n, struct arena *a, const char *field, struct answer *out)
{
	char buf[NVML_TEXT_MAX] = "";
	unsigned v = 0;
	int r;

	/* Works without a driver, and names the library when the two do not match. */
	if (strcmp(field, "nvmlSystemGetNVMLVersion") == 0)
		return answer_buffer(n->api.nvmlSystemGetNVMLVersion(buf, sizeof(buf) - 1), a, buf,
				     out);
	if (n->result)
		return nvml_errno(n->result);
	if (strcmp(field, "nvmlSystemGetDriverVersion") == 0)
		return answer_buffer(n->api.nvmlSystemGetDriverVersion(buf, sizeof(buf) - 1), a,
				     buf, out);
	if (strcmp(field, "nvmlDeviceGetCount") == 0) {
		r = n->count_result;
		v = n->n;
	} else if (strcmp(field, "nvmlSystemGetCudaDriverVersion") == 0) {
		r = n->api.nvmlSystemGetCudaDriverVersion_v2(&v);
		if (r == NVML_FUNCTION_NOT_FOUND)
			r = n->api.nvmlSystemGetCudaDriverVersion(&v);
	} else {
		return -EINVAL;
	}
	answer_int(out, v);
	return nvml_errno(r);
}

/* A shape's function, out of its slot. */
#define SHAPE(api, slot, type, fn)                                                                 \
	type *fn;                                                                                  \
	memcpy(&(fn), (const char *)(api) + (slot), sizeof(fn))

typedef int uint_fn(struct nvml_device *, unsigned *);
typedef int uint_of_fn(struct nvml_device *, unsigned, unsigned *);
typedef int text_fn(struct nvml_device *, char *, unsigned);
typedef int pair_fn(struct nvml_device *, unsigned *, unsigned *);

static int read_values(struct nvml_gpu *g, const struct nvml_question *q, unsigned arg,
		       struct nvml_values *out)
{
	unsigned v[2] = { 0 };
	int r;

	if (q->how == NVML_ASK_UINT) {
		SHAPE(&g->nvml->api, q->slot, uint_fn, fn);
		r = fn(g->dev, &v[0]);
	} else if (q->how == NVML_ASK_UINT_OF) {
		SHAPE(&g->nvml->api, q->slot, uint_of_fn, fn);
		r = fn(g->dev, arg, &v[0]);
	} else if (q->how == NVML_ASK_PAIR) {
		SHAPE(&g->nvml->api, q->slot, pair_fn, fn);
		r = fn(g->dev, &v[0], &v[1]);
	} else {
		return q->read(g, arg, out);
	}
	out->v[0] = v[0];
	out->v[1] = v[1];
	return r;
}

static int read_text(struct nvml_gpu *g, const struct nvml_question *q, unsigned arg, char *buf,
		     size_t size)
{
	if (q->how == NVML_ASK_TEXT) {
		SHAPE(&g->nvml->api, q->slot, text_fn, fn);
		return fn(g->dev, buf, (unsigned)size);
	}
	return q->read_text(g, arg, buf, size);
}

static int member_index(const struct nvml_question *q, const char *member)
{
	if (!q->members[0])
		return member ? -EINVAL : 0;
	for (int i = 0; member && i < NVML_MEMBERS && q->members[i]; i++)
		if (strcmp(q->members[i], member) == 0)
			return i;
	return -EINVAL;
}

static int ask_question(struct nvml_gpu *g, const struct nvml_question *q, struct arena *a,
			const struct tail *t, struct answer *out)
{
	struct nvml_values once = { 0 }, *v = &once;
	char buf[1024] = "";
	unsigned arg = 0;
	int member = member_index(q, t->member);

	if (member < 0 || !q->args != !t->args ||
	    (q->args && nvml_args_parse(q->args, t->args, t->args_len, &arg)))
		return -EINVAL;
	if (q->how == NVML_ASK_TEXT || q->how == NVML_ASK_READ_TEXT)
		return answer_buffer(read_text(g, q, arg, buf, sizeof(buf) - 1), a, buf, out);
	if (!q->args)
		v = &g->cache[q - nvml_questions];
	if (!v->asked || v->given >> member & 1) {
		*v = (struct nvml_values){ .asked = true };
		v->result = read_values(g, q, arg, v);
	}
	v->given |= 1u << member;
	if (v->result)
		return nvml_errno(v->result);
	if (v->missing >> member & 1)
		return -ENOSYS;
	answer_int(out, v->v[member]);
	return 0;
}

static int host_nvml_split(const char *field, size_t name, struct tail *t)
{
	const char *s = field + name, *close;

	*t = (struct tail){ 0 };
	if (*s == '(') {
		close = strchr(s, ')');
		if (!close)
			return -EINVAL;
		t->args = s + 1;
		t->args_len = (size_t)(close - t->args);
		s = close + 1;
	}
	if (*s == '.')
		t->member = s + 1;
	return *s && *s != '.' ? -EINVAL : 0;
}

static const struct nvml_question *host_nvml_question(struct nvml *n, const char *field, size_t len)
{
	for (size_t i = 0; i < nvml_questions_n; i++) {
		size_t at = (n->hint + i) % nvml_questions_n;

		if (strncmp(nvml_questions[at].name, field, len) == 0 &&
		    !nvml_questions[at].name[len]) {
			n->hint = at;
			return &nvml_questions[at];
		}
	}
	return NULL;
}

static int ask_gpu(struct nvml_gpu *g, struct arena *a, const char *field, struct answer *out)
{
	static const char *const processes[NVML_PROCESS_KINDS] = {
		[NVML_COMPUTE] = "nvmlDeviceGetComputeRunningProcesses",
		[NVML_GRAPHICS] = "nvmlDeviceGetGraphicsRunningProcesses",
		[NVML_MPS] = "nvmlDeviceGetMPSComputeRunningProcesses",
	};
	size_t len = strcspn(field, "(.");
	const struct nvml_question *q;
	struct tail t;
	long long v = 0;
	int r;

	if (g->result)
		return nvml_errno(g->result);
	if (host_nvml_split(field, len, &t))
		return -EINVAL;
	q = host_nvml_question(g->nvml, field, len);
	if (q)
		return ask_question(g, q, a, &t, out);
	r = -EINVAL;
	if (len == strlen("nvmlDeviceGetFieldValues") && t.args && !t.member &&
	    str_starts(field, "nvmlDeviceGetFieldValues"))
		r = nvml_errno(nvml_field(g, t.args, t.args_len, &v));
	for (unsigned k = 0; k < NVML_PROCESS_KINDS; k++)
		if (strlen(processes[k]) == len && str_starts(field, processes[k]))
			r = nvml_process_ask(g, k, field + len, &v);
	answer_int(out, v);
	return r;
}

static struct nvml *opened(void **state)
{
	struct nvml *n = *state;

	if (n)
		return n;
	n = *state = heap_array(1, sizeof(*n));
	nvml_open(n);
	return n;
}

/* The GPU of that index: 0 and *g, or why there is none. */
static int host_nvml_find_gpu(struct nvml *n, const char *object, struct nvml_gpu **g)
{
	unsigned long long index = 0;

	if (n->error)
		return n->error;
	if (n->result)
		return nvml_errno(n->result);
	if (parse_u64(object, &index) || index >= n->n)
		return -EINVAL;
	*g = nvml_gpu(n, (unsigned)index);
	return 0;
}

static int nvml_ask(void **state, struct arena *a, const char *object, const char *field,
		    struct answer *out)
{
	struct nvml *n = opened(state);
	struct nvml_gpu *g = NULL;
	struct answer ans;
	int r;

	if (n->error)
		return n->error;
	if (!*object) {
		r = ask_system(n, a, field, &ans);
	} else {
		r = host_nvml_find_gpu(n, object, &g);
		if (r == 0 && g)
			r = ask_gpu(g, a, field, &ans);
	}
	if (r == 0)
		*out = ans;
	return r;
}

static void nvml_close(void *state)
{
	struct nvml *n = state;

	nvml_shut(n);
	free(n);
}

/*
 * What can be told to a GPU through NVML: under the question that reads it back, or, for the two
 * clock locks that NVML never answers about, under the setter's own name. Everything told here is
 * forgotten by the driver when it unloads; without persistence mode that is when its last client
 * goes.
 */

struct setter {
	const char *field;
	/* The smallest and largest value NVML has a meaning for; the board's own limits are the
	 * driver's matter. */
	long long min, max;
	size_t slot, reset; /* in struct nvml_api */
	bool range;	    /* "MIN,MAX", and "" calls reset */
};

#define SLOT(name) offsetof(struct nvml_api, name)

static const struct setter setters[] = {
	{ "nvmlDeviceGetPersistenceMode", 0, 1, .slot = SLOT(nvmlDeviceSetPersistenceMode) },
	{ "nvmlDeviceGetAccountingMode", 0, 1, .slot = SLOT(nvmlDeviceSetAccountingMode) },
	{ "nvmlDeviceGetComputeMode", 0, 3, .slot = SLOT(nvmlDeviceSetComputeMode) },
	{ "nvmlDeviceGetPowerManagementLimit", 1, UINT_MAX,
	  .slot = SLOT(nvmlDeviceSetPowerManagementLimit) },
	/* Megahertz: the largest numbers stand for symbols in NVML and are not passed on. */
	{ "nvmlDeviceSetGpuLockedClocks", 0, 1000000, .slot = SLOT(nvmlDeviceSetGpuLockedClocks),
	  .reset = SLOT(nvmlDeviceResetGpuLockedClocks), .range = true },
	{ "nvmlDeviceSetMemoryLockedClocks", 0, 1000000,
	  .slot = SLOT(nvmlDeviceSetMemoryLockedClocks),
	  .reset = SLOT(nvmlDeviceResetMemoryLockedClocks), .range = true },
};
enum { SETTERS = sizeof(setters) / sizeof(setters[0]) };

typedef int value_fn(struct nvml_device *, unsigned);
typedef int range_fn(struct nvml_device *, unsigned, unsigned);
typedef int reset_fn(struct nvml_device *);

static int nvml_set_named(struct nvml_gpu *g, const struct setter *s, long long value)
{
	value_fn *fn;

	if (value < s->min || value > s->max)
		return -EINVAL;
	memcpy(&fn, (const char *)&g->nvml->api + s->slot, sizeof(fn));
	return nvml_errno(fn(g->dev, (unsigned)value));
}

/* "MIN,MAX" without signs and blanks. */
static int split_range(const struct setter *s, const char *text, long long out[2])
{
	const char *comma = strchr(text, ',');
	char min[16];
	size_t n = comma ? (size_t)(comma - text) : sizeof(min);

	if (n >= sizeof(min) || text[strspn(text, "0123456789,")])
		return -EINVAL;
	memcpy(min, text, n);
	min[n] = '\0';
	if (parse_i64(min, &out[0]) || parse_i64(comma + 1, &out[1]))
		return -EINVAL;
	return out[0] < s->min || out[1] > s->max || out[0] > out[1] || out[1] == 0 ? -EINVAL : 0;
}

static int nvml_set_range(struct nvml_gpu *g, const struct setter *s, const char *text)
{
	long long v[2];
	reset_fn *reset;
	range_fn *fn;
	int r;

	if (!*text) {
		memcpy(&reset, (const char *)&g->nvml->api + s->reset, sizeof(reset));
		return nvml_errno(reset(g->dev));
	}
	r = split_range(s, text, v);
	if (r)
		return r;
	memcpy(&fn, (const char *)&g->nvml->api + s->slot, sizeof(fn));
	return nvml_errno(fn(g->dev, (unsigned)v[0], (unsigned)v[1]));
}

/* Sets what a question answers, or what can only be set. Negative errno.
 */
static int nvml_set_gpu(struct nvml_gpu *g, const char *field, const struct answer *value)
{
	const struct setter *s = NULL;
	int r;

	for (size_t i = 0; i < SETTERS; i++)
		if (strcmp(setters[i].field, field) == 0)
			s = &setters[i];
	if (!s)
		return -EOPNOTSUPP;
	if (value->kind != (s->range ? ANSWER_TEXT : ANSWER_INT))
		return -EINVAL;
	if (g->result)
		return nvml_errno(g->result);
	r = s->range ? nvml_set_range(g, s, value->text) : nvml_set_named(g, s, value->i);
	/* Whatever came of it. And a GPU whose memory is a NUMA node of the host loses its handle
	 * when persistence mode goes off. */
	nvml_gpu_renew(g);
	return r;
}

static int nvml_set(void **state, struct arena *a, const char *object, const char *field,
		    const struct answer *value)
{
	struct nvml_gpu *g = NULL;
	int r = host_nvml_find_gpu(opened(state), object, &g);

	(void)a;
	return r ? r : nvml_set_gpu(g, field, value);
}

const struct provider provider_nvml = {
	.api = "nvml",
	.ask = nvml_ask,
	.close = nvml_close,
	.tell = nvml_set,
};
