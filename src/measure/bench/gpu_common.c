/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs are meant, who uses them, and our kernels on them. */
#include "measure/bench/gpu_common.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measure/bench/gpu_ahead.h"

/* --- which --------------------------------------------------------------------------------------
 */

static const struct gpu *facts_of(const struct machine *m, const char *pci)
{
	LIST_FOR_EACH (const struct gpu, g, &m->gpu.gpus)
		if (g->pci && strcmp(g->pci, pci) == 0)
			return g;
	return NULL;
}

/* One word of --gpus: an index, a range of them, or the beginning of a UUID. */
static bool word_means(struct arena *a, const char *word, const struct gpu_place *p)
{
	struct idset set;

	if (*word >= '0' && *word <= '9' && idset_parse(a, word, &set) == 0)
		return idset_has(&set, p->index);
	return strlen(word) >= 8 && strncmp(p->gpu->uuid, word, strlen(word)) == 0;
}

static bool mark(const struct bench_env *env, const char *word, const struct gpu_places *all,
		 bool *wanted)
{
	bool any = false;

	for (size_t i = 0; i < all->n; i++)
		if (word_means(env->a, word, &all->items[i]))
			any = wanted[i] = true;
	return any;
}

/* Keeps those that --gpus names. */
static void choose(const struct bench_env *env, struct bench_cases *cases, struct gpu_places *all)
{
	bool wanted[CUDA_GPUS_MAX] = { false };
	const char *at = env->ask.gpus;
	size_t n = 0;

	if (!at[strspn(at, ",")]) {
		cases->none = "--gpus takes indices or UUIDs like 0-3, not nothing";
		cases->usage = true;
		all->n = 0;
		return;
	}
	while (*at) {
		size_t len = strcspn(at, ",");
		const char *word = arena_strndup(env->a, at, len);

		if (len && !mark(env, word, all, wanted)) {
			cases->none = arena_printf(env->a,
						   "--gpus: no GPU that this process may use is "
						   "\"%.60s\"",
						   word);
			cases->usage = true;
			all->n = 0;
			return;
		}
		at += len + (at[len] == ',');
	}
	for (size_t i = 0; i < all->n; i++)
		if (wanted[i])
			all->items[n++] = all->items[i];
	all->n = n;
}

/* In the order of the indices that the user sees. */
static void sort(struct gpu_places *all)
{
	for (size_t i = 1; i < all->n; i++)
		for (size_t k = i; k > 0 && all->items[k].index < all->items[k - 1].index; k--) {
			struct gpu_place swap = all->items[k];

			all->items[k] = all->items[k - 1];
			all->items[k - 1] = swap;
		}
}

void gpu_places_find(const struct bench_env *env, struct bench_cases *cases, struct gpu_places *out)
{
	struct err e = { 0 };
	struct cuda *c = NULL;
	int r = 0;

	*out = (struct gpu_places){ 0 };
	if (!gpu_ahead_driver(env->ahead, &c, &r, &e)) {
		c = ARENA_NEW(env->a, struct cuda);
		r = cuda_open(c, &e);
	}
	if (r) {
		LIST_FOR_EACH (const struct gpu, g, &env->m->gpu.gpus)
			if (fact_or(&g->mig, 0) == 1 && !*e.hint)
				err_hint(&e,
					 "GPU %u is in MIG mode: a process sees an instance of "
					 "it, once one is made and chosen",
					 g->index);
		cases->none = *e.hint ? arena_printf(env->a, "%s (%s)", e.text, e.hint)
				      : arena_strdup(env->a, e.text);
		return;
	}
	out->items = arena_array(env->a, c->n, sizeof(*out->items));
	for (size_t i = 0; i < c->n; i++) {
		struct gpu_place *p = &out->items[out->n++];

		p->gpu = &c->gpu[i];
		p->facts = facts_of(env->m, p->gpu->pci);
		p->index = p->facts ? p->facts->index : (unsigned)p->gpu->ordinal;
	}
	sort(out);
	if (env->ask.gpus)
		choose(env, cases, out);
}

const char *gpu_place_text(struct arena *a, const struct gpu_place *p)
{
	return arena_printf(a, "GPU %u (%s, %s%s)", p->index, p->gpu->name, p->gpu->pci,
			    p->gpu->slice ? ", a MIG slice of it" : "");
}

/* --- who ----------------------------------------------------------------------------------------
 */

/* "pid 4711 (python3, 2048 MiB)" of all other processes that the facts name, "" without any. */
static void gpu_users(const struct gpu_place *p, char *out, size_t size)
{
	size_t len = 0;

	*out = '\0';
	if (!p->facts)
		return;
	LIST_FOR_EACH (const struct gpu_process, u, &p->facts->processes) {
		long long bytes = fact_or(&u->memory_bytes, -1);
		int n;

		if (u->index == (unsigned)getpid())
			continue;
		n = snprintf(out + len, size - len, "%spid %u (%.20s", len ? ", " : "", u->index,
			     fact_text(&u->command, "name not visible"));

		if (n < 0 || (size_t)n + 24 >= size - len) {
			out[len] = '\0';
			return;
		}
		len += (size_t)n;
		n = bytes >= 0 ? snprintf(out + len, size - len, ", %lld MiB)", bytes >> 20)
			       : snprintf(out + len, size - len, ")");
		len += n > 0 ? (size_t)n : 0;
	}
}

/* Adds who else uses the GPU to what went wrong. */
static int blame(const struct gpu_place *p, int r, struct err *e)
{
	char users[200], text[sizeof(e->text)];

	if (r != -ENOMEM && r != -EBUSY)
		return r;
	gpu_users(p, users, sizeof(users));
	memcpy(text, e->text, sizeof(text));
	if (p->facts && fact_is(&p->facts->compute_mode, "prohibited"))
		return err_set(e, r, "%.300s; its compute mode is \"prohibited\"", text);
	if (*users)
		return err_set(e, r, "%.300s; it is used by %s", text, users);
	return r;
}

int gpu_alloc(struct gpu_place *p, size_t bytes, cuda_address *out, struct err *e)
{
	return blame(p, cuda_alloc(p->gpu, bytes, out, e), e);
}

/* --- kernels ------------------------------------------------------------------------------------
 */

static int find_tools(struct gpu_place *p, struct err *e)
{
	static const struct {
		const char *name;
		size_t offset;
	} tools[] = {
#define GPU_TOOL(name) { #name, offsetof(struct gpu_tools, name) },
		GPU_TOOLS(GPU_TOOL)
#undef GPU_TOOL
	};
	TEXT_AUTO ptx = { 0 };
	int r;

	cuda_tools_text(&ptx);
	r = cuda_module_load(p->gpu, ptx.s, &p->module, e);
	for (size_t i = 0; r == 0 && i < sizeof(tools) / sizeof(tools[0]); i++) {
		struct cuda_function *f = NULL;

		r = cuda_function_find(p->gpu, p->module, tools[i].name, &f, e);
		memcpy((char *)&p->tools + tools[i].offset, &f, sizeof(f));
	}
	if (r && p->module) {
		cuda_module_end(p->gpu, p->module);
		p->module = NULL;
	}
	return r;
}

/* Making a context is where a sick GPU is met first. */
static int use(struct gpu_place *p, struct err *e)
{
	struct cuda_guard guard = { 0 };
	int r;

	if (!p->gpu->context)
		cuda_guard_begin(&guard, CUDA_GUARD_S, p->gpu->pci);
	r = cuda_use(p->gpu, e);
	cuda_guard_end(&guard);
	return blame(p, r, e);
}

int gpu_place_use(struct gpu_place *p, struct err *e)
{
	int r = use(p, e);

	if (r)
		return r;
	if (p->gpu->cc_major < 7)
		return err_set(e, -EOPNOTSUPP,
			       "GPU %u (%s) is of compute capability %d.%d; 7.0 is needed",
			       p->index, p->gpu->name, p->gpu->cc_major, p->gpu->cc_minor);
	return 0;
}

int gpu_place_open(struct gpu_place *p, struct err *e)
{
	int r = gpu_place_use(p, e);

	return r || p->module ? r : find_tools(p, e);
}

int gpu_stream_kernel(struct gpu_place *p, const struct cuda_shape *s, struct cuda_function **out,
		      struct err *e)
{
	char name[64];
	int r = 0;

	if (!p->streams[s->op]) {
		TEXT_AUTO ptx = { 0 };

		cuda_stream_text(&ptx, s->op, p->gpu->cc_major);
		r = cuda_module_load(p->gpu, ptx.s, &p->streams[s->op], e);
	}
	cuda_shape_name(s, name, sizeof(name));
	return r ? r : cuda_function_find(p->gpu, p->streams[s->op], name, out, e);
}
