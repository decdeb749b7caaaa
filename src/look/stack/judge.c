/* SPDX-License-Identifier: Apache-2.0 */
/* The driver, the toolkits, the GPU code of libraries, and what is not there at all. */
#include "look/stack/judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "look/stack/judge_inside.h"

struct stack_finding *judge_add(struct judge *j, const char *id, const char *title,
				const char *target, enum verdict_kind verdict)
{
	struct stack_findings *f = j->out;

	f->items = arena_grow(j->a, f->items, f->n, sizeof(*f->items));
	f->items[f->n] = (struct stack_finding){
		.id = id, .title = title, .target = target, .verdict = verdict, .reason = ""
	};
	return &f->items[f->n++];
}

const char *judge_place(struct judge *j, const struct stack_place *p)
{
	if (p->kind == PLACE_SYSTEM)
		return "system";
	return p->kind == PLACE_TOOLKIT ? arena_printf(j->a, "toolkit %s", p->path) : p->path;
}

const char *judge_target(struct judge *j, const struct stack_item *item)
{
	return arena_printf(j->a, "%s: %s", judge_place(j, &j->inv->places[item->place]),
			    components[item->c].name);
}

unsigned judge_driver_cuda(const struct judge *j)
{
	long long v = fact_or(&j->ask->m->gpu.cuda_driver, 0);

	return v > 0 ? (unsigned)(v / 10) : 0;
}

/* The open modules begin with Turing; 580 is the last branch for what came before. */
const char *judge_driver_package(const struct judge *j)
{
	for (size_t i = 0; i < j->ask->how->n_gpus; i++)
		if (j->ask->how->gpus[i].sm < 75)
			return "nvidia-driver-580";
	return "nvidia-driver-580-open";
}

bool judge_spark(const struct judge *j)
{
	if (fact_is(&j->ask->m->platform.kind, "dgx-spark"))
		return true;
	for (size_t i = 0; i < j->ask->how->n_gpus; i++)
		if (j->ask->how->gpus[i].sm == 121)
			return true;
	return false;
}

/* The CUDA major that packages are wanted for: the environment's, else the driver's. */
static int wanted_cuda(const struct judge *j, const struct stack_place *p)
{
	unsigned driver = judge_driver_cuda(j) / 100;

	if (p && p->torch_cuda && *p->torch_cuda)
		return (int)strtol(p->torch_cuda, NULL, 10);
	return driver ? (int)driver : 13;
}

/* The one "%d" of the component table, or none. */
static const char *for_cuda(struct judge *j, const char *name, int cuda)
{
	const char *d = strstr(name, "%d");

	return d ? arena_printf(j->a, "%.*s%d%s", (int)(d - name), name, cuda, d + 2) : name;
}

/* The toolkit's own parts have no "-cu13" behind their names since CUDA 13; what counts its
 * versions by itself (cuDNN, NCCL) has. */
static const char *pip_name(struct judge *j, enum component c, int cuda)
{
	const char *name = components[c].pip, *suffix = strstr(name, "-cu%d");
	bool own = c == COMPONENT_CUDART || c == COMPONENT_CUBLAS || c == COMPONENT_CUBLASLT ||
		   c == COMPONENT_CUFILE || c == COMPONENT_NVRTC;

	if (suffix && own && cuda >= 13)
		return arena_strndup(j->a, name, (size_t)(suffix - name));
	return for_cuda(j, name, cuda);
}

const char *judge_command(struct judge *j, enum component c, const struct stack_place *p,
			  const char *at_least)
{
	const struct component_row *row = &components[c];
	const struct software *s = &j->ask->m->software;
	int cuda = wanted_cuda(j, p);

	if (p && p->kind == PLACE_PYTHON && row->pip)
		return arena_printf(
			j->a, "%s -m pip install --upgrade '%s%s%s'",
			p->has_python ? arena_printf(j->a, "%s/bin/python", p->path) : "python3",
			pip_name(j, c, cuda), at_least ? ">=" : "", at_least ? at_least : "");
	if (!row->apt && row->pip && !p)
		return arena_printf(j->a, "python3 -m pip install '%s'", pip_name(j, c, cuda));
	if (row->apt && (fact_is(&s->os_id, "ubuntu") || fact_is(&s->os_id, "debian")))
		return arena_printf(j->a, "sudo apt-get install %s", for_cuda(j, row->apt, cuda));
	return NULL;
}

static void count_missing(struct judge *j)
{
	for (size_t c = 0; c < COMPONENTS; c++) {
		struct stack_finding *f;
		size_t i = 0;

		while (i < j->inv->n_items && j->inv->items[i].c != c)
			i++;
		if (i < j->inv->n_items)
			continue;
		if (!j->inv->system_seen && components[c].soname) {
			f = judge_add(j, "stack.installed", "Installed", components[c].name,
				      VERDICT_UNKNOWN);
			f->reason = j->inv->system_why;
		} else {
			f = judge_add(j, "stack.installed", "Installed", components[c].name,
				      VERDICT_NA);
			f->reason = arena_printf(j->a, "not installed: %s", components[c].why);
			f->command = judge_command(j, (enum component)c, NULL, NULL);
		}
		if (c == COMPONENT_CUFILE && judge_spark(j)) {
			f->reason = "not installed, and of no use here: GPU and CPU share one "
				    "memory, so plain direct reads are as direct";
			f->command = NULL;
		}
	}
}

static int by_gravity(const void *a, const void *b)
{
	static const int order[] = {
		[VERDICT_FAIL] = 0, [VERDICT_UNKNOWN] = 1, [VERDICT_PASS] = 2, [VERDICT_NA] = 3
	};
	const struct stack_finding *x = a, *y = b;
	int id;

	if (x->verdict != y->verdict)
		return order[x->verdict] - order[y->verdict];
	if (x->serious != y->serious)
		return x->serious ? -1 : 1;
	id = strcmp(x->id, y->id);
	return id ? id : str_natural(x->target, y->target);
}

void stack_judge(struct arena *a, const struct stack_ask *ask, struct stack_findings *out)
{
	struct judge j = { a, ask, ask->inv, out };

	*out = (struct stack_findings){ 0 };
	judge_system(&j);
	judge_code(&j);
	judge_partners(&j);
	judge_python(&j);
	count_missing(&j);
	for (size_t i = 0; i < out->n; i++)
		out->count[out->items[i].verdict]++;
	if (out->n)
		qsort(out->items, out->n, sizeof(*out->items), by_gravity);
}
