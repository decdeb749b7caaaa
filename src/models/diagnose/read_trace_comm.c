/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives in a trace (since PyTorch 2.2): the kernel's own arguments say which it was, of how
 * many elements and in what. Its time holds the wait for the slowest rank.
 */
#include <math.h>
#include <string.h>

#include "models/diagnose/read_trace.h"

enum { COLLECTIVES_TOLD = 20000 };

static double bytes_of(const char *dtype)
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
static const char *name_of(const char *name)
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

void trace_collective(struct trace *t, const json_t *event, double us)
{
	const json_t *args = json_object_get(event, "args");
	const char *name = json_string_value(json_object_get(args, "Collective name")),
		   *dtype = json_string_value(json_object_get(args, "dtype"));
	double in = json_number_value(json_object_get(args, "In msg nelems")),
	       out = json_number_value(json_object_get(args, "Out msg nelems"));
	struct figure_seen f = read_seen(&t->at, FIGURE_COLLECTIVE_US, us);

	if (!name || !dtype || t->collectives >= COLLECTIVES_TOLD)
		return;
	/* nccl-tests, too, counts the larger side. */
	f.at = fmax(in, out) * bytes_of(dtype);
	f.rank = t->rank;
	f.step = -1;
	f.text = name_of(name);
	if (!read_sane(f.at))
		return;
	t->collectives++;
	evidence_figure(t->at.ev, f);
}
