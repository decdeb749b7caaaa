/* SPDX-License-Identifier: Apache-2.0 */
/* Targets and the rule which of them a GPU runs. */
#include "look/stack/gpu_code.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void code_add(struct arena *a, struct code_set *set, const struct gpu_code *c)
{
	struct gpu_code *same = NULL;

	for (size_t i = 0; i < set->n && !same; i++) {
		struct gpu_code *o = &set->items[i];

		if (o->kind == c->kind && o->sm == c->sm && o->suffix == c->suffix &&
		    o->ptx == c->ptx)
			same = o;
	}
	if (!same && set->n == CODE_SET_MAX)
		same = &set->items[set->n - 1];
	if (same) {
		same->n += c->n;
		same->inside += c->inside;
		same->empty += c->empty;
		same->size += c->size;
		return;
	}
	set->items = arena_grow(a, set->items, set->n, sizeof(*set->items));
	set->items[set->n++] = *c;
}

static int by_target(const void *a, const void *b)
{
	const struct gpu_code *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->sm != y->sm)
		return x->sm < y->sm ? -1 : 1;
	if (x->suffix != y->suffix)
		return x->suffix < y->suffix ? -1 : 1;
	return x->ptx < y->ptx ? -1 : x->ptx > y->ptx;
}

void code_sort(struct code_set *set)
{
	if (set->n)
		qsort(set->items, set->n, sizeof(*set->items), by_target);
}

/* Jetson and Drive: TX1, TX2, Xavier, Orin, Thor (10.1, since CUDA 13 called 11.0). */
static bool tegra(unsigned sm)
{
	return sm == 53 || sm == 62 || sm == 72 || sm == 87 || sm == 101 || sm == 110;
}

/* From the release notes of the PTX manual: each version came with one CUDA release. */
unsigned ptx_needs_cuda(unsigned ptx)
{
	static const struct {
		unsigned ptx, cuda;
	} table[] = { { 60, 900 },  { 61, 910 },  { 62, 920 },	{ 63, 1000 }, { 64, 1010 },
		      { 65, 1020 }, { 70, 1100 }, { 71, 1110 }, { 72, 1120 }, { 73, 1130 },
		      { 74, 1140 }, { 75, 1150 }, { 76, 1160 }, { 77, 1170 }, { 78, 1180 },
		      { 80, 1200 }, { 81, 1210 }, { 82, 1220 }, { 83, 1230 }, { 84, 1240 },
		      { 85, 1250 }, { 86, 1270 }, { 87, 1280 }, { 88, 1290 }, { 90, 1300 },
		      { 91, 1310 }, { 92, 1320 }, { 93, 1330 }, { 94, 1340 } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (ptx <= table[i].ptx)
			return table[i].cuda;
	return 1350; /* newer than any listed: at least newer than the last one */
}

/* NVIDIA's release notes. CUDA 13.0 dropped what came before Turing, and Thor changed its number.
 */
bool cuda_makes(unsigned sm, unsigned *since, unsigned *until)
{
	static const struct {
		unsigned sm, since, until;
	} rows[] = { { 50, 600, 1300 },	  { 52, 650, 1300 }, { 53, 700, 1300 }, { 60, 800, 1300 },
		     { 61, 800, 1300 },	  { 62, 800, 1300 }, { 70, 900, 1300 }, { 72, 920, 1300 },
		     { 75, 1000, 0 },	  { 80, 1100, 0 },   { 86, 1110, 0 },	{ 87, 1140, 0 },
		     { 88, 1300, 0 },	  { 89, 1180, 0 },   { 90, 1180, 0 },	{ 100, 1280, 0 },
		     { 101, 1280, 1300 }, { 103, 1290, 0 },  { 107, 1340, 0 },	{ 110, 1300, 0 },
		     { 120, 1280, 0 },	  { 121, 1290, 0 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].sm == sm) {
			*since = rows[i].since;
			*until = rows[i].until;
			return true;
		}
	*since = *until = 0;
	return false;
}

static bool gpu_code_covers(const struct gpu_code *c, unsigned sm)
{
	if (c->suffix == 'a')
		return c->sm == sm;
	if (c->suffix == 'f' || c->kind == CODE_CUBIN) {
		if (c->sm != sm && (tegra(c->sm) || tegra(sm)))
			return false;
		return c->sm / 10 == sm / 10 && c->sm <= sm;
	}
	return c->sm <= sm;
}

enum code_answer code_answer(const struct gpu_code *c, const struct gpu_target *gpu)
{
	if (c->kind == CODE_LTO || c->kind == CODE_OTHER || !gpu_code_covers(c, gpu->sm))
		return CODE_CANNOT;
	if (c->kind == CODE_CUBIN)
		return c->sm == gpu->sm ? CODE_NATIVE : CODE_FAMILY;
	if (gpu->driver_cuda && c->ptx && ptx_needs_cuda(c->ptx) > gpu->driver_cuda)
		return CODE_CANNOT;
	return CODE_JIT;
}

enum code_answer code_best(const struct code_set *set, const struct gpu_target *gpu,
			   const struct gpu_code **by)
{
	enum code_answer best = CODE_NONE;

	for (size_t i = 0; i < set->n; i++) {
		const struct gpu_code *c = &set->items[i];
		enum code_answer now = code_answer(c, gpu);

		if (c->n == c->empty)
			continue; /* nothing in it that could be missed */

		/* Of equal answers the newer code is what the driver takes. */
		if (now < best || (now == best && now != CODE_CANNOT)) {
			best = now;
			if (by)
				*by = c;
		}
	}
	return best;
}

const char *code_answer_name(enum code_answer answer)
{
	static const char *const names[] = { "native", "same-family", "ptx-jit", "cannot-run",
					     "no-gpu-code" };

	return names[answer];
}

const char *code_kind_name(enum code_kind k)
{
	static const char *const names[] = { "cubin", "ptx", "lto-ir", "other" };

	return names[k];
}

const char *code_name(struct arena *a, const struct gpu_code *c)
{
	const char *suffix = c->suffix == 'a' ? "a" : c->suffix == 'f' ? "f" : "";

	switch (c->kind) {
	case CODE_CUBIN:
		return arena_printf(a, "sm_%u%s", c->sm, suffix);
	case CODE_PTX:
		return arena_printf(a, "compute_%u%s (PTX %u.%u)", c->sm, suffix, c->ptx / 10,
				    c->ptx % 10);
	case CODE_LTO:
		return arena_printf(a, "lto_%u%s", c->sm, suffix);
	default:
		return arena_printf(a, "other_%u%s", c->sm, suffix);
	}
}

int gpu_target_parse(const char *text, unsigned *sm, struct err *e)
{
	const char *p = str_starts(text, "sm_") ? text + 3 : text;
	unsigned value = 0, digits = 0, dot = 0;

	for (; isdigit((unsigned char)*p) || (*p == '.' && !dot); p++) {
		if (*p == '.') {
			dot = digits;
			continue;
		}
		value = value * 10 + (unsigned)(*p - '0');
		if (++digits > 3)
			break;
	}
	if ((*p == 'a' || *p == 'f') && !dot)
		p++;
	if (*p || digits < 2 || digits > 3 || value < 20 || (dot && digits - dot != 1)) {
		err_set(e, -EINVAL, "\"%.40s\" is no GPU architecture", text);
		err_hint(e, "it looks like sm_121, sm_90 or 12.1");
		return -EINVAL;
	}
	*sm = value;
	return 0;
}
