/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What "gputune record --trace" leaves (src/models/inject): a line of JSON for each quarter of a
 * second in which a process was looked into. The run is those from the first to the last with work.
 */
#include <math.h>
#include <string.h>

#include "base/stat.h"
#include "models/diagnose/read.h"

enum { LOOKS_MOST = 100000, PIDS_MOST = 4096, DEVICES = 16 };

/* A GPU of a process in one look, or the process without one (device -1). */
struct seen {
	int pid, rank, device;
	size_t line;
	double ends_s; /* seconds since 1970 */
	double ns, compute, comm, copy, kernels_ns, any, kernels, comms, copies, long_gaps;
	double pageable;
	double waits;	  /* of the host for the GPU; NAN: not looked at */
	bool copies_seen; /* copies were looked at, too */
	json_t *names;	  /* of the process, told once a look */
};

struct seeing {
	struct read_place at;
	struct seen *items;
	size_t n;
};

static double of(const json_t *o, const char *key)
{
	double v = json_number_value(json_object_get(o, key));

	return v >= 0 && v < 1e15 ? v : 0;
}

static void inject_line(void *ctx, const json_t *o)
{
	struct seeing *w = ctx;
	const json_t *devices = json_object_get(o, "devices"), *d,
		     *none = json_object_get(o, "none");
	struct seen base = { .pid = (int)of(o, "pid"), .device = -1, .line = w->at.line };
	size_t i;

	base.rank = read_rank(json_number_value(json_object_get(o, "rank")), -1);
	base.ns = of(o, "ns");
	base.ends_s = of(o, "at_s");
	base.pageable = of(o, "pageable_ns");
	base.waits = json_object_get(o, "waits") ? of(o, "waits") : (double)NAN;
	base.copies_seen = !json_is_false(json_object_get(o, "copies_seen"));
	if (none || json_is_true(json_object_get(o, "cut")) || !(base.ns > 0) || w->n >= LOOKS_MOST)
		return;
	base.names = json_incref(json_object_get(o, "names"));
	json_array_foreach((json_t *)devices, i, d)
	{
		const json_t *gaps = json_object_get(d, "gaps_ns");
		struct seen s = base;

		s.device = (int)of(d, "device") % DEVICES;
		s.compute = of(d, "compute_ns");
		s.comm = of(d, "comm_ns");
		s.copy = of(d, "copy_ns");
		s.kernels_ns = of(d, "kernels_ns");
		s.any = of(d, "any_ns");
		s.kernels = of(d, "kernels");
		s.comms = of(d, "comms");
		s.copies = of(d, "copies");
		/* The last one: 10 ms and longer. */
		s.long_gaps = json_number_value(json_array_get(
			gaps, json_array_size(gaps) ? json_array_size(gaps) - 1 : 0));
		if (i) {
			s.names = NULL;
			s.pageable = 0;
		}
		ARENA_ADD(w->at.ev->arena, w->items, w->n) = s;
	}
	if (json_array_size(devices))
		return;
	base.long_gaps = base.ns;
	ARENA_ADD(w->at.ev->arena, w->items, w->n) = base;
}

/* Kernels of a forward pass and the one that each of them has in the backward pass. */
static const char *const passes[][2] = {
	{ "flash_fwd", "flash_bwd_dq_dk_dv" },
	{ "flash_fprop", "flash_bprop" },
	{ "fmha_cutlassF", "fmha_cutlassB" },
	{ "softmax_warp_forward", "softmax_warp_backward" },
	{ "vectorized_layer_norm_kernel", "layer_norm_grad_input" },
};
enum { PASSES = sizeof(passes) / sizeof(passes[0]) };

struct kernel_names {
	double forward[PASSES], backward[PASSES], comm_ns;
	const char *comm; /* of communication, with the most time in one look */
};

static void inject_names(struct seeing *w, const struct seen *s, double over_s,
			 struct kernel_names *k)
{
	const json_t *row;
	size_t i;

	json_array_foreach(s->names, i, row)
	{
		const char *name = json_string_value(json_array_get(row, 0));
		double ns = json_number_value(json_array_get(row, 1)),
		       n = json_number_value(json_array_get(row, 2));

		if (!name)
			continue;
		if (span_gemm(name) && read_sane(ns))
			read_total(&w->at, FIGURE_GEMM_S, 1e-9 * ns, over_s, span_gemm(name));
		if (span_is_comm(name) && ns > k->comm_ns) {
			k->comm = name;
			k->comm_ns = ns;
		}
		for (size_t p = 0; p < PASSES; p++) {
			k->forward[p] += strstr(name, passes[p][0]) ? n : 0;
			k->backward[p] += strstr(name, passes[p][1]) ? n : 0;
		}
	}
}

/* A forward pass that runs twice for each backward pass is recomputed. */
static void inject_passes(struct seeing *w, const struct kernel_names *k)
{
	double from_s, to_s;
	bool stacked = evidence_training(w->at.ev, w->at.ev->files[w->at.file].run, &from_s, &to_s);

	for (size_t p = 0; p < PASSES; p++) {
		if (!(k->backward[p] >= 8))
			continue;
		/* Few looks may see one pass more often than the other: stacks know better. */
		if (!stacked)
			read_trait(&w->at, TRAIT_CHECKPOINTING,
				   k->forward[p] > 1.7 * k->backward[p] ? "full" : "none",
				   (double)NAN);
		return;
	}
}

/* Looks of the time in which the job trained by its stacks; false: none is. */
static bool inject_trained(const struct seeing *w, int pid, size_t *from, size_t *to)
{
	double from_s, to_s;
	size_t first = w->n, last = 0;

	if (!evidence_training(w->at.ev, w->at.ev->files[w->at.file].run, &from_s, &to_s))
		return false;
	for (size_t i = 0; i < w->n; i++) {
		const struct seen *x = &w->items[i];

		if (x->pid != pid || x->ends_s - 1e-9 * x->ns < from_s || x->ends_s > to_s)
			continue;
		first = i < first ? i : first;
		last = i;
	}
	*from = first;
	*to = last;
	return first <= last;
}

/* The looks of a process from the first to the last that had work, without the two themselves,
 * in which training begins or ends. */
static bool inject_stretch(struct arena *a, const struct seeing *w, int pid, size_t *from,
			   size_t *to)
{
	double *kernels = arena_array(a, w->n + 1, sizeof(*kernels)), middle, all = 0;
	size_t n = 0, first = w->n, last = 0, kept = 0;

	for (size_t i = 0; i < w->n; i++)
		if (w->items[i].pid == pid && w->items[i].kernels > 0)
			all += kernels[n++] = w->items[i].kernels;
	if (all < 200) /* a step of training launches more, nearly always */
		return false;
	if (inject_trained(w, pid, from, to))
		return true;
	/* What runs before training launches less. */
	stat_sort(kernels, n);
	middle = stat_quantile(kernels, n, 0.75);
	for (size_t i = 0; i < w->n; i++) {
		if (w->items[i].pid != pid || w->items[i].kernels < 0.1 * middle)
			continue;
		first = i < first ? i : first;
		last = i;
		kept++;
	}
	*from = first + (kept > 2);
	*to = last - (kept > 3);
	return first <= last;
}

/* A value that the host fetches (.item()) is copied by itself, in 1 to 3 us: as many such copies
 * are as many waits for the GPU. Batches and parameters take longer. */
#define FETCH_NS 20e3

/* copies: looks for each one in which copies were looked at, too. */
static void inject_device(struct seeing *w, int pid, int device, size_t from, size_t to,
			  double over_ns, double copies)
{
	struct spans s = { .begun = true };
	size_t lines[SPAN_KINDS] = { 0 };
	double longest = -1, gaps = 0, covered = 0, fetches = 0;

	for (size_t i = from; i <= to; i++) {
		const struct seen *x = &w->items[i];

		if (x->pid != pid || (x->device != device && x->device >= 0))
			continue;
		covered += x->ns;
		gaps += x->long_gaps;
		s.sum[SPAN_COMPUTE] += x->compute;
		s.sum[SPAN_COMM] += x->comm;
		s.sum[SPAN_COPY] += x->copy * copies;
		fetches += x->copies * copies;
		s.kernels += x->kernels_ns;
		s.any += x->kernels_ns + (x->any - x->kernels_ns) * copies;
		s.n[SPAN_COMPUTE] += (size_t)x->kernels;
		s.n[SPAN_COMM] += (size_t)x->comms;
		if (x->compute > longest)
			for (int k = 0; k < SPAN_KINDS; k++)
				lines[k] = x->line;
		longest = fmax(longest, x->compute);
	}
	if (!(copies > 0))
		s.sum[SPAN_COPY] = NAN;
	/* Looks in which this GPU had nothing at all. */
	gaps += fmax(0, over_ns - covered);
	spans_emit(&s, &w->at, 0, over_ns, 1e-9, lines, NULL);
	w->at.line = lines[SPAN_COMPUTE];
	read_total(&w->at, FIGURE_LONG_IDLE_S, 1e-9 * fmin(gaps, over_ns), 1e-9 * over_ns, NULL);
	if (fetches > 0 && s.sum[SPAN_COPY] < FETCH_NS * fetches)
		read_total(&w->at, FIGURE_SYNCS, fetches, 1e-9 * over_ns, NULL);
}

/* One process; alone: there is no other one. */
static void inject_process(struct seeing *w, int pid, int number, bool alone)
{
	double over_ns = 0, copies_ns = 0, pageable = 0, waits = 0;
	struct kernel_names k = { 0 };
	unsigned devices = 0;
	size_t from, to, line = 0;

	if (!inject_stretch(w->at.ev->arena, w, pid, &from, &to))
		return;
	for (size_t i = from; i <= to; i++) {
		const struct seen *x = &w->items[i];

		if (x->pid != pid)
			continue;
		over_ns += x->line != line ? x->ns : 0;
		copies_ns += x->line != line && x->copies_seen ? x->ns : 0;
		waits += x->line != line ? x->waits : 0;
		line = x->line;
		pageable += x->pageable;
		devices |= x->device >= 0 ? 1u << x->device : 0;
		w->at.rank = x->rank >= 0 ? x->rank : alone ? -1 : number;
	}
	for (size_t i = from; i <= to; i++)
		if (w->items[i].pid == pid && w->items[i].names) {
			w->at.line = w->items[i].line;
			inject_names(w, &w->items[i], 1e-9 * over_ns, &k);
		}
	for (int d = 0; d < DEVICES; d++)
		if (devices & 1u << d)
			inject_device(w, pid, d, from, to, over_ns,
				      copies_ns > 0 ? over_ns / copies_ns : 0);
	if (copies_ns > 0)
		read_total(&w->at, FIGURE_COPY_PAGEABLE_S, 1e-9 * pageable, 1e-9 * copies_ns, NULL);
	if (waits > 0)
		read_total(&w->at, FIGURE_SYNCS, waits, 1e-9 * over_ns, NULL);
	inject_passes(w, &k);
	if (k.comm)
		read_trait(&w->at, TRAIT_PLACE,
			   arena_printf(w->at.ev->arena, "collective: %s runs %.3g s in one look",
					k.comm, 1e-9 * k.comm_ns),
			   1);
}

static int inject_read(struct run_evidence *ev, size_t file, const char *text, size_t size,
		       struct err *e)
{
	struct seeing w = { .at = { .ev = ev, .file = file, .rank = -1, .step = -1 } };
	int pids[PIDS_MOST], code = read_json_lines(&w.at, text, size, inject_line, &w, e);
	size_t n_pids = 0;

	if (code)
		return code;
	for (size_t i = 0, k; i < w.n; i++) {
		for (k = 0; k < n_pids && pids[k] != w.items[i].pid;)
			k++;
		if (k == n_pids && n_pids < PIDS_MOST && w.items[i].kernels > 0)
			pids[n_pids++] = w.items[i].pid;
	}
	for (size_t k = 0; k < n_pids; k++)
		inject_process(&w, pids[k], (int)k, n_pids == 1);
	for (size_t i = 0; i < w.n; i++)
		json_decref(w.items[i].names);
	ev->files[file].used = w.n;
	return 0;
}

static bool looks(const char *head, size_t n, const char *path)
{
	static const char begin[] = "{\"gputune_trace\":1,";

	(void)path;
	return n > sizeof(begin) && strncmp(head, begin, sizeof(begin) - 1) == 0;
}

const struct evidence_format evidence_inject = { .name = "gputune trace",
						 .looks = looks,
						 .read = inject_read };
