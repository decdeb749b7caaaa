/* SPDX-License-Identifier: Apache-2.0 */
/* The driver, the toolkits, the GPU code of libraries, and what is not there at all. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "look/stack/judge.h"

struct judge {
	struct arena *a;
	const struct stack_ask *ask;
	const struct inventory *inv;
	struct stack_findings *out;
};

/* A new finding, filled by the caller; valid until the next one. */
static struct stack_finding *judge_add(struct judge *j, const char *id, const char *title,
				       const char *target, enum verdict_kind verdict)
{
	struct stack_findings *f = j->out;

	f->items = arena_grow(j->a, f->items, f->n, sizeof(*f->items));
	f->items[f->n] = (struct stack_finding){
		.id = id, .title = title, .target = target, .verdict = verdict, .reason = ""
	};
	return &f->items[f->n++];
}

static const char *judge_place(struct judge *j, const struct stack_place *p)
{
	if (p->kind == PLACE_SYSTEM)
		return "system";
	return p->kind == PLACE_TOOLKIT ? arena_printf(j->a, "toolkit %s", p->path) : p->path;
}

/* "system", "toolkit /usr/local/cuda-13.0", "/opt/venv" */
static const char *judge_target(struct judge *j, const struct stack_item *item)
{
	return arena_printf(j->a, "%s: %s", judge_place(j, &j->inv->places[item->place]),
			    components[item->c].name);
}

/* 1300 for a driver of CUDA 13.0; 0: not seen. */
static unsigned judge_driver_cuda(const struct judge *j)
{
	long long v = fact_or(&j->ask->m->gpu.cuda_driver, 0);

	return v > 0 ? (unsigned)(v / 1000 * 100 + v % 1000 / 10 * 10) : 0;
}

/* The open modules begin with Turing; 580 is the last branch for what came before. */
static const char *judge_driver_package(const struct judge *j)
{
	for (size_t i = 0; i < j->ask->how->n_gpus; i++)
		if (j->ask->how->gpus[i].sm < 75)
			return "nvidia-driver-580";
	return "nvidia-driver-580-open";
}

/* GB10, by platform or by the GPU that is asked about. */
static bool judge_spark(const struct judge *j)
{
	if (fact_is(&j->ask->m->platform.kind, "dgx-spark"))
		return true;
	for (size_t i = 0; i < j->ask->how->n_gpus; i++)
		if (j->ask->how->gpus[i].sm == 121)
			return true;
	return false;
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

/* Rules: versions that several machines or several libraries of one process have to agree on. */

/* What the file is called and what it is when it is loaded. */
static void stack_judge_loaded(struct judge *j, const struct stack_item *item)
{
	struct stack_finding *f;
	bool same;

	if (!item->said && !item->said_error)
		return;
	same = item->said && item->version && version_compare(item->said, item->version) == 0;
	/* A package counts on after what its library says: 13.1.0 of 13.1.0.3. */
	if (item->said && item->version && !same)
		same = strncmp(item->said, item->version, strlen(item->said)) == 0;
	f = judge_add(j, "stack.loaded-version", "Version of the loaded library",
		      judge_target(j, item),
		      !item->said	       ? VERDICT_UNKNOWN
		      : same || !item->version ? VERDICT_PASS
					       : VERDICT_FAIL);
	f->current = item->said;
	f->wanted = item->version;
	f->from = item->path;
	f->reason = !item->said ? item->said_error
		    : same	? "matches its name or package"
		    : item->version
			    ? "the loaded library's version differs from its name or package"
			    : "reported by the library itself";
}

/* Two of one name with two versions: which one a process gets depends on who loads first. */
static bool rivals(const struct inventory *v, const struct stack_item *a,
		   const struct stack_item *b)
{
	return a->c == b->c && a->soname && b->soname && strcmp(a->soname, b->soname) == 0 &&
	       a->version && b->version && version_compare(a->version, b->version) != 0 &&
	       v->places[a->place].kind == PLACE_PYTHON && v->places[b->place].kind == PLACE_SYSTEM;
}

/* Rules: each Python environment for itself. */

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
			wrong = arena_printf(j->a, "%s%s%s %s (required %s)", wrong,
					     *wrong ? ", " : "", other->name, other->version,
					     d->pins[i].version);
	}
	if (!met && !*wrong)
		return;
	f = judge_add(j, "stack.pins", "Pinned dependencies",
		      arena_printf(j->a, "%s: %s", judge_place(j, p), d->name),
		      *wrong ? VERDICT_FAIL : VERDICT_PASS);
	f->current = *wrong ? wrong : arena_printf(j->a, "%zu as pinned", met);
	f->serious = true;
	f->from = arena_printf(j->a, "%s/METADATA", d->info);
	f->reason = *wrong ? "the package requires versions other than the installed ones; "
			     "interfaces may differ"
			   : arena_printf(j->a, "%zu dependencies match the pinned versions%s", met,
					  missing ? "; packages that are not installed are ignored"
						  : "");
	if (*wrong)
		f->command = arena_printf(
			j->a, "%s -m pip install --force-reinstall '%s==%s'",
			p->has_python ? arena_printf(j->a, "%s/bin/python", p->path) : "python3",
			d->name, d->version);
}

/* Rules: the driver and the toolkits against the GPU, and the GPU code of every library. */

/* "13.0.1" -> 1300; 0 when it is none. */
static unsigned cuda_number(const char *version)
{
	char *end;
	unsigned long major = version ? strtoul(version, &end, 10) : 0, minor = 0;

	if (!major || major > 99)
		return 0;
	if (*end == '.')
		minor = strtoul(end + 1, NULL, 10);
	return (unsigned)(major * 100 + (minor < 10 ? minor * 10 : 99));
}

static const char *cuda_text(struct judge *j, unsigned v)
{
	return arena_printf(j->a, "%u.%u", v / 100, v / 10 % 10);
}

static void stack_judge_driver(struct judge *j)
{
	const struct gpus *g = &j->ask->m->gpu;
	unsigned cuda = judge_driver_cuda(j);
	struct stack_finding *f;

	if (!seen_ok(&g->driver.f)) {
		bool absent = g->driver.f.seen == SEEN_ABSENT;

		f = judge_add(j, "stack.driver", "NVIDIA driver", "system",
			      absent ? VERDICT_NA : VERDICT_UNKNOWN);
		f->reason =
			absent ? "no NVIDIA driver is loaded here" : "driver version unreadable";
		f->from = fact_from(j->a, &g->driver.f);
		return;
	}
	f = judge_add(j, "stack.driver", "NVIDIA driver", "system", VERDICT_PASS);
	f->current = cuda ? arena_printf(j->a, "%s (CUDA %s)", g->driver.v, cuda_text(j, cuda))
			  : g->driver.v;
	f->from = fact_from(j->a, &g->driver.f);
	f->source = "CUDA release notes: minimum driver versions";
}

/* The CUDA major that packages are wanted for: the environment's, else the driver's. */
static int wanted_cuda(const struct judge *j, const struct stack_place *p)
{
	unsigned driver = judge_driver_cuda(j) / 100;

	if (p && p->torch_cuda && *p->torch_cuda)
		return (int)strtol(p->torch_cuda, NULL, 10);
	return driver ? (int)driver : 13;
}

/* What installs or renews a component there; NULL when nothing is known for this system. */
static const char *judge_command(struct judge *j, enum component c, const struct stack_place *p,
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
			f->reason = "not installed, and useless on this machine: GPU and CPU share "
				    "one memory, and plain direct reads are equivalent";
			f->command = NULL;
		}
	}
}

static void one_version(struct judge *j, const struct stack_item *item)
{
	const struct stack_item *other = NULL;
	struct stack_finding *f;

	if (j->inv->places[item->place].kind != PLACE_PYTHON || !item->soname)
		return;
	for (size_t i = 0; i < j->inv->n_items && !other; i++)
		if (rivals(j->inv, item, &j->inv->items[i]))
			other = &j->inv->items[i];
	f = judge_add(j, "stack.one-version", "One version per process", judge_target(j, item),
		      other ? VERDICT_FAIL : VERDICT_PASS);
	f->current = item->version;
	f->from = item->path;
	if (!other) {
		f->reason = "the dynamic loader finds no other version of this library";
		return;
	}
	f->wanted = other->version;
	f->reason = arena_printf(j->a,
				 "the system also has %s %s (%s): load order or LD_LIBRARY_PATH "
				 "decides which one a process uses",
				 components[item->c].name, other->version, other->path);
	/* The older of the two is to be renewed. */
	if (version_compare(item->version, other->version) > 0)
		f->command = judge_command(j, item->c, &j->inv->places[other->place], NULL);
	else
		f->command =
			judge_command(j, item->c, &j->inv->places[item->place], other->version);
}

/* what has to fit together */
static void judge_partners(struct judge *j)
{
	for (size_t i = 0; i < j->inv->n_items; i++) {
		const struct stack_item *item = &j->inv->items[i];

		stack_judge_loaded(j, item);
		one_version(j, item);
	}
}

static void torch(struct judge *j, const struct stack_place *p)
{
	unsigned driver = judge_driver_cuda(j);
	long major = strtol(p->torch_cuda, NULL, 10);
	const char *target = arena_printf(j->a, "%s: PyTorch", judge_place(j, p));
	struct stack_finding *f;

	if (!*p->torch_cuda)
		return;
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
	f->reason = !driver			 ? "CUDA version of the driver unreadable"
		    : f->verdict == VERDICT_PASS ? "the driver supports it"
						 : "programs built for a newer CUDA major version "
						   "do not start on this driver";
	if (f->verdict == VERDICT_FAIL)
		f->command = arena_printf(j->a, "sudo apt-get install %s", judge_driver_package(j));
}

/* each environment */
static void judge_python(struct judge *j)
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
	}
}

static void toolkit_for_gpu(struct judge *j, const struct stack_place *p, unsigned sm)
{
	unsigned since, until, have = cuda_number(p->version);
	bool known = cuda_makes(sm, &since, &until), late = until && have >= until;
	bool good = have && known && have >= since && !late;
	struct stack_finding *f = judge_add(j, "stack.toolkit", "CUDA toolkit", judge_place(j, p),
					    !have || !known ? VERDICT_UNKNOWN
					    : good	    ? VERDICT_PASS
							    : VERDICT_FAIL);

	f->current = p->version;
	f->from = p->path;
	f->source = "CUDA release notes: added and dropped architectures";
	if (!have)
		f->reason = "version unreadable";
	else if (!known)
		f->reason = arena_printf(j->a, "gputune does not know which toolkit supports sm_%u",
					 sm);
	else
		f->reason = arena_printf(j->a, "its compiler %s sm_%u%s%s",
					 good ? "supports" : "does not support", sm,
					 late ? " any more" : "",
					 p->nvcc ? "" : "; nvcc itself is not installed");
	if (!good && known) {
		f->wanted = until ? arena_printf(j->a, "%s or newer, before %s",
						 cuda_text(j, since), cuda_text(j, until))
				  : arena_printf(j->a, "%s or newer", cuda_text(j, since));
		/* 12.9 is the last one before 13.0. */
		f->command = until ? "sudo apt-get install cuda-toolkit-12-9"
				   : arena_printf(j->a, "sudo apt-get install cuda-toolkit-%u-%u",
						  since < 1300 ? 13 : since / 100,
						  since < 1300 ? 0 : since / 10 % 10);
	}
}

/* driver, toolkits */
static void judge_system(struct judge *j)
{
	stack_judge_driver(j);
	for (size_t i = 0; i < j->inv->n_places; i++)
		for (size_t g = 0; g < j->ask->how->n_gpus; g++)
			if (j->inv->places[i].kind == PLACE_TOOLKIT)
				toolkit_for_gpu(j, &j->inv->places[i], j->ask->how->gpus[g].sm);
}

/* --- GPU code --- */

static const char *all_codes(struct judge *j, const struct code_set *set)
{
	const char *text = "";

	for (size_t i = 0; i < set->n; i++)
		if (set->items[i].kind == CODE_CUBIN || set->items[i].kind == CODE_PTX)
			text = arena_printf(j->a, "%s%s%s", text, *text ? ", " : "",
					    code_name(j->a, &set->items[i]));
	return text;
}

static void code_for_gpu(struct judge *j, const struct stack_item *item,
			 const struct gpu_target *gpu)
{
	const struct gpu_code *by = NULL;
	enum code_answer answer = code_best(&item->code.codes, gpu, &by);
	bool good = answer == CODE_NATIVE || answer == CODE_FAMILY;
	struct stack_finding *f;

	if (answer == CODE_NONE)
		return;
	f = judge_add(j, "stack.gpu-code", "Built for this GPU", judge_target(j, item),
		      good ? VERDICT_PASS : VERDICT_FAIL);
	f->current = all_codes(j, &item->code.codes);
	f->wanted = arena_printf(j->a, "sm_%u or its family", gpu->sm);
	f->from = item->path;
	f->source = "CUDA programming guide: binary and PTX compatibility";
	f->serious = answer == CODE_CANNOT;
	if (answer == CODE_CANNOT)
		f->reason = arena_printf(j->a, "no GPU code in it runs on sm_%u", gpu->sm);
	else if (answer == CODE_JIT)
		f->reason = arena_printf(j->a,
					 "the driver compiles %s at the first start on sm_%u, "
					 "which takes minutes and lacks native tuning",
					 code_name(j->a, by), gpu->sm);
	else
		f->reason = arena_printf(j->a, "%s runs on sm_%u %s", code_name(j->a, by), gpu->sm,
					 answer == CODE_NATIVE ? "as native code"
							       : "as code of its family");
	if (!good)
		f->command = judge_command(j, item->c, &j->inv->places[item->place], NULL);
}

/* GPU code of each library */
static void judge_code(struct judge *j)
{
	for (size_t i = 0; i < j->inv->n_items; i++) {
		const struct stack_item *item = &j->inv->items[i];

		if (item->code.error && !item->code.entries) {
			struct stack_finding *f =
				judge_add(j, "stack.gpu-code", "Built for this GPU",
					  judge_target(j, item), VERDICT_UNKNOWN);

			f->reason = item->code.error;
			f->from = item->path;
			continue;
		}
		for (size_t g = 0; g < j->ask->how->n_gpus && item->scanned; g++)
			code_for_gpu(j, item, &j->ask->how->gpus[g]);
	}
}

/* Defects that are known and here: rows of knowledge/defects. */
static void judge_known(struct judge *j)
{
	const struct defects_view *known = j->ask->known;
	struct stack_finding *f;
	bool any = false;

	for (size_t i = 0; known && i < known->n; i++) {
		const struct defect_found *d = &known->items[i];

		if (!defect_breaks(d))
			continue;
		any = true;
		f = judge_add(j, "stack.known-fault", d->s.id,
			      arena_printf(j->a, "%s: %s", d->place, d->s.component), VERDICT_FAIL);
		f->serious = strcmp(d->s.effect, "slow") != 0;
		f->current = d->n_proofs ? d->proofs[0].text : NULL;
		f->from = d->n_proofs ? d->proofs[0].from : NULL;
		f->wanted = d->s.fix;
		f->command = d->s.command;
		f->reason = d->s.title;
		f->source = arena_printf(j->a, "%s (%s)", d->s.source, d->s.date);
	}
	if (!known || any)
		return;
	f = judge_add(j, "stack.known-fault", "Known defects", "all places", VERDICT_PASS);
	f->reason = arena_printf(j->a, "none of %zu known defects was found", known->rows);
}

void stack_judge(struct arena *a, const struct stack_ask *ask, struct stack_findings *out)
{
	struct judge j = { a, ask, ask->inv, out };

	*out = (struct stack_findings){ 0 };
	judge_system(&j);
	judge_code(&j);
	judge_partners(&j);
	judge_python(&j);
	judge_known(&j);
	count_missing(&j);
	for (size_t i = 0; i < out->n; i++)
		out->count[out->items[i].verdict]++;
	if (out->n)
		qsort(out->items, out->n, sizeof(*out->items), by_gravity);
}
