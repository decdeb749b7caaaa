/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of kernels and copies of one GPU, laid over one another. In order of start the time that
 * any of a set covers needs only the end of the last one, and what one set covers alone is the
 * difference of two such times.
 */
#include <math.h>
#include <string.h>

#include "models/diagnose/read.h"

static void cover(double *sum, double *end, double from, double to)
{
	if (to > *end) {
		*sum += to - fmax(from, *end);
		*end = to;
	}
}

void spans_add(struct spans *s, enum span_kind kind, double from, double to)
{
	if (!(to >= from))
		return;
	if (!s->begun) {
		s->begun = true;
		s->first = s->last = from;
		for (int i = 0; i < SPAN_KINDS; i++)
			s->to[i] = from;
		s->kernels_to = s->any_to = from;
	}
	s->last = fmax(s->last, to);
	s->n[kind]++;
	cover(&s->sum[kind], &s->to[kind], from, to);
	cover(&s->any, &s->any_to, from, to);
	if (kind != SPAN_COPY)
		cover(&s->kernels, &s->kernels_to, from, to);
}

void spans_emit(const struct spans *s, const struct read_place *p, double from, double to,
		double unit_s, const size_t *lines, const char *text)
{
	const double over = (to - from) * unit_s;
	const double compute = s->sum[SPAN_COMPUTE], comm = s->sum[SPAN_COMM];
	const struct {
		enum figure_kind kind;
		enum span_kind of;
		double value;
	} tell[] = {
		{ FIGURE_COMPUTE_S, SPAN_COMPUTE, compute },
		{ FIGURE_COMM_S, SPAN_COMM, comm },
		{ FIGURE_COMM_EXPOSED_S, SPAN_COMM, s->kernels - compute },
		{ FIGURE_COPY_S, SPAN_COPY, s->sum[SPAN_COPY] },
		{ FIGURE_COPY_EXPOSED_S, SPAN_COPY, s->any - s->kernels },
		{ FIGURE_IDLE_S, SPAN_KINDS, to - from - s->any },
	};
	struct read_place at = *p;

	if (!s->begun || !(over > 0))
		return;
	/* The host's operators tell nothing of copies, and between them the host is not idle. */
	for (size_t i = 0; i < (text ? 3 : sizeof(tell) / sizeof(tell[0])); i++) {
		at.line = lines && tell[i].of != SPAN_KINDS ? lines[tell[i].of] : 0;
		read_total(&at, tell[i].kind, fmax(0, tell[i].value * unit_s), over, text);
	}
	if (text) /* operators, not kernels */
		return;
	at.line = lines ? lines[SPAN_COMPUTE] : 0;
	read_total(&at, FIGURE_KERNELS, (double)(s->n[SPAN_COMPUTE] + s->n[SPAN_COMM]), over, NULL);
}

bool span_is_comm(const char *kernel)
{
	static const char *const words[] = { "nccl",
					     "rccl",
					     "nvshmem",
					     "cross_device_reduce",
					     "multimem_",
					     "two_shot_all_reduce",
					     "one_shot_all_reduce",
					     "deep_ep::" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(kernel, words[i]))
			return true;
	return false;
}

const char *span_gemm(const char *kernel)
{
	static const char *const words[] = { "gemm", "nvjet", "cutlass", "xmma", "GemmUniversal" };
	static const struct {
		const char *word, *format;
	} formats[] = {
		{ "bf16", "bf16" },   { "tf32", "tf32" },    { "e4m3", "fp8" },
		{ "e5m2", "fp8" },    { "fp8", "fp8" },	     { "f16", "fp16" },
		{ "fp16", "fp16" },   { "hgemm", "fp16" },   { "h1688", "fp16" },
		{ "h16816", "fp16" }, { "s1688", "fp16" },   { "s16816", "fp16" },
		{ "_qqt", "fp8" },    { "nvjet_t", "bf16" }, { "nvjet_h", "fp16" },
		{ "sgemm", "fp32" },  { "f32f32", "fp32" },  { "dgemm", "fp64" },
	};
	bool is = false;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		is |= strstr(kernel, words[i]) != NULL;
	for (size_t i = 0; is && i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strstr(kernel, formats[i].word))
			return formats[i].format;
	return is ? "format not told" : NULL;
}

enum figure_kind span_host_call(const char *name)
{
	/* A plain cudaMemcpy waits; the asynchronous one only does so from pageable memory. */
	static const char *const waits[] = { "cudaStreamSynchronize", "cudaDeviceSynchronize",
					     "cudaEventSynchronize",  "cuStreamSynchronize",
					     "cuCtxSynchronize",      "cuEventSynchronize",
					     "cudaMemcpy_v",	      "cuMemcpyDtoH_v",
					     "cuMemcpyHtoD_v" };
	static const char *const launches[] = { "cudaLaunchKernel", "cuLaunchKernel",
						"cudaGraphLaunch", "cuGraphLaunch",
						"cudaLaunchCooperativeKernel" };

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (strncmp(name, waits[i], strlen(waits[i])) == 0)
			return FIGURE_SYNC_S;
	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
		if (strncmp(name, launches[i], strlen(launches[i])) == 0)
			return FIGURE_LAUNCH_S;
	return strcmp(name, "cudaMemcpy") == 0 ? FIGURE_SYNC_S : FIGURE_KINDS;
}
