/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: each Python environment for itself. */
#include <stdlib.h>
#include <string.h>

#include "look/stack/judge_inside.h"

/* A build of the same version ("2.9.0+cu130") is the version that was asked for ("2.9.0"), and
 * zeros at its end are no difference ("13.0.3.0" is 13.0.3). */
static bool pin_met(const char *installed, const char *wanted)
{
	static const char numbers[] = "0123456789.";
	size_t n = strcspn(installed, "+");

	if (strcmp(installed, wanted) == 0)
		return true;
	if (strchr(wanted, '+'))
		return false;
	if (strncmp(installed, wanted, n) == 0 && !wanted[n])
		return true;
	return strspn(installed, numbers) == n && !wanted[strspn(wanted, numbers)] &&
	       version_compare(installed, wanted) == 0;
}

static void pins(struct judge *j, const struct stack_place *p, const struct dist *d)
{
	const char *wrong = "";
	struct stack_finding *f;
	size_t met = 0, missing = 0;

	for (size_t i = 0; i < d->n_pins; i++) {
		const struct dist *other = place_dist(p, d->pins[i].name);

		if (!other)
			missing++;
		else if (pin_met(other->version, d->pins[i].version))
			met++;
		else
			wrong = arena_printf(j->a, "%s%s%s %s (wanted %s)", wrong,
					     *wrong ? ", " : "", other->name, other->version,
					     d->pins[i].version);
	}
	if (!met && !*wrong)
		return;
	f = judge_add(j, "stack.pins", "What it was built with",
		      arena_printf(j->a, "%s: %s", judge_place(j, p), d->name),
		      *wrong ? VERDICT_FAIL : VERDICT_PASS);
	f->current = *wrong ? wrong : arena_printf(j->a, "%zu as pinned", met);
	f->serious = true;
	f->from = arena_printf(j->a, "%s/METADATA", d->info);
	f->reason = *wrong ? "it insists on other versions than those that are installed; their "
			     "interfaces may differ"
			   : arena_printf(j->a, "%zu partners are of the version that it names%s",
					  met, missing ? "; those not installed do not count" : "");
	if (*wrong)
		f->command = arena_printf(
			j->a, "%s -m pip install --force-reinstall '%s==%s'",
			p->has_python ? arena_printf(j->a, "%s/bin/python", p->path) : "python3",
			d->name, d->version);
}

static void torch(struct judge *j, const struct stack_place *p)
{
	unsigned driver = judge_driver_cuda(j);
	long major = strtol(p->torch_cuda, NULL, 10);
	const struct dist *d = place_dist(p, "torch");
	const char *target = arena_printf(j->a, "%s: PyTorch", judge_place(j, p));
	struct stack_finding *f;

	f = judge_add(j, "stack.torch-cuda", "PyTorch for a GPU", target,
		      *p->torch_cuda ? VERDICT_PASS : VERDICT_FAIL);
	f->serious = true;
	f->current = arena_printf(j->a, "%s%s%s", d && d->version ? d->version : "PyTorch",
				  *p->torch_cuda ? ", CUDA " : ", no CUDA", p->torch_cuda);
	f->from = arena_printf(j->a, "%s/torch/version.py", p->packages);
	f->reason = *p->torch_cuda ? "built with CUDA"
				   : "this build has no CUDA: it computes on the CPU alone";
	if (!*p->torch_cuda) {
		f->wanted = "a build with CUDA";
		f->command = judge_command(j, COMPONENT_TORCH, p, NULL);
		return;
	}
	f = judge_add(j, "stack.torch-driver", "Driver for PyTorch's CUDA", target,
		      !driver				? VERDICT_UNKNOWN
		      : driver / 100 >= (unsigned)major ? VERDICT_PASS
							: VERDICT_FAIL);
	f->current =
		driver ? arena_printf(j->a, "driver for CUDA %u.%u", driver / 100, driver / 10 % 10)
		       : NULL;
	f->wanted = arena_printf(j->a, "CUDA %ld or newer", major);
	f->serious = true;
	f->source = "CUDA compatibility: any driver of the same or a newer major version";
	f->from = fact_from(j->a, &j->ask->m->gpu.cuda_driver.f);
	f->reason = !driver ? "what the driver supports could not be seen"
		    : f->verdict == VERDICT_PASS
			    ? "the driver runs it"
			    : "programs of a newer CUDA major version do not start with it";
	if (f->verdict == VERDICT_FAIL)
		f->command = arena_printf(j->a, "sudo apt-get install %s", judge_driver_package(j));
}

static void triton(struct judge *j, const struct stack_place *p, unsigned sm)
{
	static const char *const names[] = { "ptxas-blackwell", "ptxas" };
	struct stack_finding *f;
	const char *path = NULL;
	int knows = -ENOENT;

	for (size_t i = 0; i < 2 && knows <= 0; i++) {
		const char *at = arena_printf(j->a, "%s/triton/backends/nvidia/bin/%s", p->packages,
					      names[i]);
		int now = j->ask->ptxas_knows ? j->ask->ptxas_knows(j->ask->ctx, at, sm) : -ENOSYS;

		if (now >= 0 || !path) {
			path = at;
			knows = now;
		}
	}
	f = judge_add(j, "stack.triton-ptxas", "Triton's compiler",
		      arena_printf(j->a, "%s: Triton", judge_place(j, p)),
		      knows > 0	   ? VERDICT_PASS
		      : knows == 0 ? VERDICT_FAIL
				   : VERDICT_UNKNOWN);
	f->from = path;
	f->serious = true;
	f->wanted = arena_printf(j->a, "a ptxas that knows sm_%u", sm);
	f->reason = knows > 0	 ? arena_printf(j->a, "its ptxas knows sm_%u", sm)
		    : knows == 0 ? arena_printf(j->a,
						"its ptxas does not know sm_%u: kernels of "
						"torch.compile fail",
						sm)
				 : "its ptxas could not be looked into";
	if (knows == 0)
		f->command = judge_command(j, COMPONENT_TRITON, p, NULL);
}

void judge_python(struct judge *j)
{
	for (size_t i = 0; i < j->inv->n_places; i++) {
		const struct stack_place *p = &j->inv->places[i];

		if (p->kind != PLACE_PYTHON)
			continue;
		for (size_t k = 0; k < p->n_dists; k++)
			if (component_of_dist(p->dists[k].name) != COMPONENTS)
				pins(j, p, &p->dists[k]);
		if (p->torch_cuda)
			torch(j, p);
		for (size_t g = 0; g < j->ask->how->n_gpus; g++)
			if (place_dist(p, "triton"))
				triton(j, p, j->ask->how->gpus[g].sm);
	}
}
