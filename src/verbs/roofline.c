/* SPDX-License-Identifier: Apache-2.0 */
/* gputune roofline: where kernels, copies and our own benches stand under this machine's roofs. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/host/confine.h"
#include "measure/bench/bench.h"
#include "measure/bench/gemm_type.h"
#include "models/inference/page_roofline.h"
#include "models/inference/predict.h"
#include "models/inference/roofline.h"
#include "verbs/calibrations.h"
#include "verbs/model_files.h"

struct roofline_ask {
	struct target_ask target;
	const char *nsys, *ncu;
	bool from_bench;
	struct state_ask state;
};

static const struct ask_row roofline_ask_rows[] = {
	{ ASK_PART(roofline_ask, target, target_ask) },
	{ "from-bench", "use saved results of gputune bench on this machine",
	  ASK_FLAG(roofline_ask, from_bench) },
	{ "nsys", "SQLite export of nsys (nsys export --type sqlite)", ASK_TEXT(roofline_ask, nsys),
	  .arg = "FILE", .files = true },
	{ "ncu", "CSV of ncu, page details or raw", ASK_TEXT(roofline_ask, ncu), .arg = "FILE",
	  .files = true },
	{ ASK_PART(roofline_ask, state, state_ask) },
};

/* Roofs and points from kept results of benches and from data sheets. */

static struct roof_limit measured(struct arena *a, const struct record_case *c, const char *id)
{
	return (struct roof_limit){ c->series[0].s.median, true,
				    arena_printf(a, "%s %s, %s", c->bench, c->name, id) };
}

static struct roof_limit from_bench(struct arena *a, const struct bench_facts *f, const char *bench,
				    const char *name, const char *else_name)
{
	const char *id = NULL;
	const struct record_case *c = name ? bench_fact(f, bench, name, &id) : NULL;

	if (!c && else_name)
		c = bench_fact(f, bench, else_name, &id);
	return c ? measured(a, c, id) : (struct roof_limit){ 0 };
}

static void sheet(struct roof_limit *l, double v, const char *source)
{
	if (!(l->value > 0) && v > 0)
		*l = (struct roof_limit){ v, false, source };
}

/* What the data sheet of a card says of formats that inference does not need. */
static void more_sheets(struct roof *roof, const struct gpu_kind *g)
{
	if (g->tf32 <= 0)
		return;
	sheet(&roof->math[ROOF_FP64_TENSOR], g->fp64, g->math_source);
	/* Units of FP64 besides tensor cores: half of those of FP32 where there are any. */
	sheet(&roof->math[ROOF_FP64], fmin(g->fp64, g->fp32 / 2), g->math_source);
	sheet(&roof->math[ROOF_FP32], g->fp32, g->math_source);
	sheet(&roof->math[ROOF_TF32], g->tf32, g->math_source);
}

/* The roofs: what benches of ours measured on that machine, else its data sheet. */
static void roof_of(struct arena *a, const struct bench_facts *f, const struct target_hw *place,
		    struct roof *out)
{
	static const char *const formats[ROOF_MATHS] = {
		[ROOF_FP64_TENSOR] = "fp64:8192", [ROOF_TF32] = "tf32:8192",
		[ROOF_HALF] = "bf16:8192",	  [ROOF_FP8] = "fp8-e4m3:8192",
		[ROOF_FP4] = "nvfp4:8192",	  [ROOF_INT8] = "int8:8192",
	};
	const struct gpu_kind *g = place->gpu;

	*out = (struct roof){ .machine = place->taken };
	out->memory = from_bench(a, f, "gpu-memory", "read:gpu", "copy:gpu");
	for (int m = ROOF_FP64_TENSOR; m < ROOF_MATHS; m++)
		out->math[m] =
			from_bench(a, f, "gemm", formats[m], m == ROOF_HALF ? "fp16:8192" : NULL);
	out->copy[COPY_H2D] = from_bench(a, f, "copy", "h2d:gpu", NULL);
	out->copy[COPY_D2H] = from_bench(a, f, "copy", "d2h:gpu", NULL);
	out->launch = from_bench(a, f, "launch", "next:gpu", NULL);
	sheet(&out->memory, g->bandwidth, g->source);
	sheet(&out->math[ROOF_HALF], g->half, g->source);
	sheet(&out->math[ROOF_FP8], g->fp8, g->source);
	sheet(&out->math[ROOF_FP4], g->fp4, g->source);
	sheet(&out->math[ROOF_INT8], g->int8, g->source);
	more_sheets(out, g);
	/* Within the GPU each byte is read and written. */
	if (out->memory.value > 0)
		out->copy[COPY_D2D] = (struct roof_limit){
			out->memory.value / 2, out->memory.measured,
			"half of the memory bandwidth, since bytes are read and written"
		};
	sheet(&out->copy[COPY_P2P], g->link, g->source);
}

/* --- points ----------------------------------------------------------------------------------- */

static enum roof_math roofline_math_of(const struct gemm_type *t)
{
	switch (t->a) {
	case CODE_F64:
		return ROOF_FP64_TENSOR;
	case CODE_F32:
		return t->tf32 ? ROOF_TF32 : ROOF_FP32;
	case CODE_F16:
	case CODE_BF16:
		return ROOF_HALF;
	case CODE_E4M3:
	case CODE_E5M2:
		return ROOF_FP8;
	case CODE_E2M1:
		return ROOF_FP4;
	case CODE_I8:
		return ROOF_INT8;
	default:
		return ROOF_MATHS;
	}
}

/* "8192 x 4096, sums over 8192, random data": sizes are the record's own words. */
static bool sizes_of(const char *setup, double *m, double *n, double *k)
{
	unsigned long long a, b, c;

	if (sscanf(setup, "%9llu x %9llu, sums over %9llu", &a, &b, &c) != 3 || !a || !b || !c)
		return false;
	*m = (double)a;
	*n = (double)b;
	*k = (double)c;
	return true;
}

static void roofline_product(struct arena *a, const struct record_case *c, struct roof_profile *out)
{
	const struct gemm_type *t = gemm_type_find(c->name, strcspn(c->name, ":"));
	double m, n, k, rate = c->series[0].s.median;
	struct roof_point *p;

	if (!t || t->sparse || !(rate > 0) || !sizes_of(c->setup, &m, &n, &k) ||
	    !(p = roof_point_of(a, out, arena_printf(a, "gemm %s", c->name))))
		return;
	p->ops = 2 * m * n * k;
	p->bytes = (m * k * gemm_code_bits(t->a) + n * k * gemm_code_bits(t->b) +
		    m * n * gemm_code_bits(t->d)) /
		   8;
	if (t->block)
		p->bytes += (m + n) * k / t->block;
	p->math = roofline_math_of(t);
	p->time_ms = p->ops / (rate * 1e12) * 1e3;
	p->launches = 1;
	p->counted = "computed from its sizes; each matrix is read or written once";
}

/* A rate of memory or of a copy, as a second of it. */
static void streamed(struct arena *a, const struct record_case *c, struct roof_profile *out)
{
	static const struct {
		const char *begins;
		enum roof_copy way;
	} ways[] = { { "h2d:", COPY_H2D }, { "d2h:", COPY_D2H } };
	double rate = c->series[0].s.median;
	struct roof_point *p;
	bool copy = strcmp(c->bench, "copy") == 0;
	size_t i = 0;

	while (copy && i < 2 && !str_starts(c->name, ways[i].begins))
		i++;
	if (!(rate > 0) || (copy && i == 2) || str_starts(c->name, "l2-") ||
	    !(p = roof_point_of(a, out, arena_printf(a, "%s %s", c->bench, c->name))))
		return;
	p->bytes = rate * 1e9;
	p->time_ms = 1e3;
	p->copy = copy;
	if (copy)
		p->way = ways[i].way;
	p->counted = "computed from its sizes, per second";
}

/* The newest result of each case alone. */
static bool newest(const struct bench_facts *f, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(f->cases[k]->bench, f->cases[i]->bench) == 0 &&
		    strcmp(f->cases[k]->name, f->cases[i]->name) == 0)
			return false;
	return true;
}

/* Products, memory and copies as our benches measured them: operations and bytes are known there,
 * because the sizes are. */
static void roof_bench_points(struct arena *a, const struct bench_facts *f,
			      struct roof_profile *out)
{
	*out = (struct roof_profile){ .source = "benches", .separate = true };
	for (size_t i = 0; i < f->n; i++) {
		const struct record_case *c = f->cases[i];

		if (!newest(f, i))
			continue;
		if (strcmp(c->bench, "gemm") == 0)
			roofline_product(a, c, out);
		else if (strcmp(c->bench, "gpu-memory") == 0 || strcmp(c->bench, "copy") == 0)
			streamed(a, c, out);
	}
}

/* The machine under whose roofs things stand; digest NULL: --on names it. */
static int roofline_machine(struct door *d, struct host *h, const char *on, struct target_hw *p,
			    const char **digest)
{
	const struct knowledge *known = door_knowledge(d, false);
	struct record rec = { 0 };
	struct err e = { 0 };
	struct machine *m;

	*digest = NULL;
	if (on)
		return place_parse(d->arena, known, on, p, &e) < 0 ? door_fail(d, EXIT_USAGE, &e)
								   : 0;
	m = door_machine(d, h, &(struct door_look){ 0 });
	if (place_of(d->arena, known, m, p, &e) < 0)
		return door_fail(d, EXIT_BLIND, &e);
	record_fingerprint(d->arena, h, m, &rec);
	*digest = rec.machine;
	return 0;
}

/* nsys's own format, a text, a pipe: refused before the library opens it. */
static int roofline_is_export(struct door *d, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char head[16] = "";
	ssize_t n = 0;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = read(fd, head, sizeof(head));
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return door_refuse(d, EXIT_USAGE, "%s: cannot read: %s", path,
				   fd < 0 ? strerror(errno) : "not a file, or empty");
	if (n != sizeof(head) || memcmp(head, "SQLite format 3", 16) != 0)
		return door_refuse(d, EXIT_USAGE,
				   "%s: not a SQLite database; convert a .nsys-rep file with "
				   "\"nsys export --type sqlite\"",
				   path);
	return 0;
}

static int read_nsys(struct door *d, const char *path, struct roof_profile *p)
{
	struct err e = { 0 };
	int code = roofline_is_export(d, path);

	if (code)
		return code;
	return roof_read_sqlite(d->arena, path, p, &e) < 0 ? door_fail(d, EXIT_USAGE, &e) : 0;
}

static int read_ncu(struct door *d, const char *path, struct roof_profile *p)
{
	struct err e = { 0 };
	size_t len;
	char *text = door_file(d, path, ROOF_BYTES_MAX, &len, NULL);

	if (!text)
		return -EXIT_USAGE;
	if (memchr(text, '\0', len))
		return door_refuse(d, EXIT_USAGE,
				   "%s is not text; convert a .ncu-rep file with \"ncu --import "
				   "FILE --csv --page raw\"",
				   path);
	return roof_read_ncu(d->arena, path, text, p, &e) < 0 ? door_fail(d, EXIT_USAGE, &e) : 0;
}

static int read_points(struct door *d, const struct roofline_ask *ask, const struct bench_facts *f,
		       const struct target_hw *place, struct roof_profile *p, const char **source)
{
	const char *nsys = ask->nsys, *ncu = ask->ncu;

	if ((nsys != NULL) + (ncu != NULL) + ask->from_bench > 1)
		return door_refuse(d, EXIT_USAGE,
				   "give only one of --nsys, --ncu and --from-bench");
	*source = nsys ? nsys : ncu ? ncu : "saved results of gputune bench";
	if (nsys)
		return read_nsys(d, nsys, p);
	if (ncu)
		return read_ncu(d, ncu, p);
	roof_bench_points(d->arena, f, p);
	if (p->n)
		return 0;
	return door_refuse(d, EXIT_BLIND,
			   "no saved result of %s has roofline data; measure some with gputune "
			   "bench gpu-memory gemm copy, or give a profile with --nsys or --ncu",
			   place->taken);
}

static int roofline_answer(struct door *d, const struct roofline_ask *ask,
			   struct roofline_page *out)
{
	struct roof_profile *profile = ARENA_NEW(d->arena, struct roof_profile);
	struct roof *roof = ARENA_NEW(d->arena, struct roof);
	HOST_AUTO *h = d->live(d->ctx);
	struct bench_facts facts;
	struct target_hw place;
	const char *digest;
	int code = roofline_machine(d, h, ask->target.on, &place, &digest);

	if (!code) {
		bench_facts_of(d, h, &ask->state, digest, place.gpu->name, &facts);
		code = read_points(d, ask, &facts, &place, profile, &out->source);
		/* What benches measured is no limit of itself. */
		if (profile->separate)
			facts.n = 0;
		roof_of(d->arena, &facts, &place, roof);
	}
	if (code)
		return code;
	roof_judge(d->arena, roof, profile);
	out->roof = roof;
	out->profile = profile;
	return EXIT_CLEAN;
}

static struct doc *roofline_page_of(struct arena *a, const struct roofline_ask *ask,
				    const struct roofline_page *p, const struct page_view *view)
{
	(void)ask;
	return page_roofline(a, p, view->verbose);
}

VERB_ANSWER(roofline_ask_any, roofline_answer, roofline_ask, roofline_page)
VERB_PAGE(roofline_page_any, roofline_page_of, roofline_ask, roofline_page)

/* SQLite, for exports of a profiler. */
static unsigned roofline_confine(const void *ask)
{
	(void)ask;
	return CONFINE_CODE;
}

/* clang-format off */
const struct verb roofline_verb = {
	.name = "roofline", .group = VERB_MEASURE,
	.summary = "what limits GPU kernels: memory bandwidth, compute, or neither",
	.about = "Places measured kernels under the roofline of this GPU, or of --on. Limits are those that "
	  "bench measured, or the data sheet's. Kernels are those of gputune's benches, or of a profile: "
	  "--nsys reads the SQLite export of nsys, --ncu the CSV of ncu.",
	.words = "kernels flops intensity nsys ncu nsight",
	.examples = EXAMPLES({ "roofline --from-bench", "benches of this machine" },
		{ "roofline --nsys report.sqlite --on h100", "kernels from a profile on an H100" }),
	.ask = ASK_OF(roofline_ask, NULL, roofline_ask_rows), .answer = roofline_ask_any,
	.result = &roofline_result, .page = roofline_page_any, .reads = READS_FILES,
	.confine = roofline_confine,
};
