/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives by name: "all-reduce:8GiB", "all-gather:1GiB:in-place", and any size asked for. */
#include <string.h>

#include "base/text.h"
#include "measure/bench/collective.h"

/* name: as it was asked for; NULL: by operation and size. */
static void add(const struct bench_env *env, struct bench_cases *out,
		struct collective_shared *shared, enum collective_op op, uint64_t bytes,
		bool in_place, const char *name)
{
	struct collective_arg *arg = ARENA_NEW(env->a, struct collective_arg);
	struct collective_sizes z;
	const struct gpu_places *on = &shared->places;
	const char *list = "";

	*arg = (struct collective_arg){ op, env->small && bytes > 65536 ? 65536 : bytes, in_place,
					env->small, shared };
	z = collective_sizes(op, arg->bytes, shared->all);
	for (size_t i = 0; i < on->n; i++)
		list = arena_printf(env->a, "%s%s%u", list, i ? ", " : "", on->items[i].index);
	list = shared->world ? world_placement(env->a, shared->world)
			     : arena_printf(env->a, "GPUs %s, one process", list);
	bench_case_add(
		env->a, out,
		(struct bench_case){
			.name = name ? name
				     : arena_printf(env->a, "%s:%s%s", collective_name(op),
						    collective_size_text(env->a, bytes),
						    in_place ? ":in-place" : ""),
			.setup = arena_printf(
				env->a, "%llu bytes, %zu ranks, %s%s%s",
				(unsigned long long)z.total, shared->all,
				in_place ? "in place" : "out of place", shared->world ? ", " : "",
				shared->world ? world_text(env->a, shared->world) : ""),
			.placement = list,
			.hardware = on->items[0].gpu->name,
			.arg = arg });
}

static bool add_named(const struct bench_env *env, struct bench_cases *out,
		      struct collective_shared *shared)
{
	static const char in_place[] = ":in-place";
	const char *name = env->ask.name;

	for (enum collective_op op = 0; name && op < COLLECTIVE_OPS; op++) {
		size_t len = strlen(collective_name(op));
		bool inside = str_ends(name, in_place);
		uint64_t bytes;

		if (strncmp(name, collective_name(op), len) != 0 || name[len] != ':')
			continue;
		name = arena_strndup(env->a, name + len + 1,
				     strlen(name + len + 1) - (inside ? sizeof(in_place) - 1 : 0));
		if (!collective_size_parse(name, &bytes) || (inside && !collective_in_place(op)))
			return false;
		add(env, out, shared, op, bytes, inside, env->ask.name);
		return true;
	}
	return false;
}

void collective_cases(const struct bench_env *env, struct bench_cases *out)
{
	static const uint64_t sizes[] = { 8,	     4096,	 65536,	   1u << 20,
					  16u << 20, 128u << 20, 1u << 30, 8ull << 30 };
	struct collective_shared *shared = env->ask.team;

	if (!shared) {
		shared = ARENA_NEW(env->a, struct collective_shared);
		gpu_places_find(env, out, &shared->places);
		shared->all = shared->places.n;
	}
	if (!shared->places.n)
		return;
	if (shared->all == 1) {
		out->none = arena_printf(env->a,
					 "one GPU (%s) has nobody to exchange data with; at least "
					 "two are needed",
					 shared->places.items[0].gpu->name);
		return;
	}
	if (add_named(env, out, shared))
		return;
	for (enum collective_op op = 0; op < COLLECTIVE_OPS; op++)
		for (int inside = 0; inside < (collective_in_place(op) ? 2 : 1); inside++)
			for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
				add(env, out, shared, op, sizes[i], inside, NULL);
}
