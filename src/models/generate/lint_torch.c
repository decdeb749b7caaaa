/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of PyTorch and CUDA whose values have a structure: options of the caching allocator,
 * lists of GPUs, workspaces of cuBLAS. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/generate/lint.h"
#include "knowledge/nccl_vars.h"

/* --- PYTORCH_ALLOC_CONF: "key:value,key:[64:8,>:1]", blanks anywhere -------------------------- */
enum option_kind {
	OPTION_FLAG,  /* True or False, so written */
	OPTION_MB,    /* at least so many */
	OPTION_POWER, /* a power of two, at most so many; 0: no bound. A list in [] is not looked at
		       */
	OPTION_SHARE, /* 0 to 1 */
	OPTION_INSIDE, /* 0 to 1, without both */
	OPTION_BACKEND,
};

static const struct option {
	const char *name;
	enum option_kind kind;
	int bound;
} options[] = {
	{ "backend", OPTION_BACKEND, 0 },
	{ "expandable_segments", OPTION_FLAG, 0 },
	{ "max_split_size_mb", OPTION_MB, 20 },
	{ "max_non_split_rounding_mb", OPTION_MB, 20 },
	{ "large_segment_size_mb", OPTION_MB, 1 },
	{ "roundup_power2_divisions", OPTION_POWER, 0 },
	{ "garbage_collection_threshold", OPTION_INSIDE, 0 },
	{ "per_process_memory_fraction", OPTION_SHARE, 0 },
	{ "graph_capture_record_stream_reuse", OPTION_FLAG, 0 },
	{ "release_lock_on_cudamalloc", OPTION_FLAG, 0 },
	{ "release_lock_on_hipmalloc", OPTION_FLAG, 0 },
	{ "pinned_use_cuda_host_register", OPTION_FLAG, 0 },
	{ "pinned_use_hip_host_register", OPTION_FLAG, 0 },
	{ "pinned_use_background_threads", OPTION_FLAG, 0 },
	{ "pinned_num_register_threads", OPTION_POWER, 128 },
	{ "pinned_reserve_segment_size_mb", OPTION_MB, 1 },
};

static const struct option *option_of(const char *name)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strcmp(options[i].name, name) == 0)
			return &options[i];
	return NULL;
}

static const char *option_near(const char *name)
{
	size_t best = 4;
	const char *near = NULL;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]) && strlen(name) > 5; i++) {
		size_t d = str_distance(options[i].name, name, best - 1);

		if (d < best) {
			best = d;
			near = options[i].name;
		}
	}
	return near;
}

/* What it takes, in words, where value is none of it; NULL: fine. */
static const char *option_wants(struct arena *a, const struct option *o, const char *value)
{
	double real = strtod(value, NULL);
	long long whole = strtoll(value, NULL, 10);

	switch (o->kind) {
	case OPTION_FLAG:
		return strcmp(value, "True") == 0 || strcmp(value, "False") == 0
			       ? NULL
			       : "True or False, with a capital letter";
	case OPTION_MB:
		return isdigit((unsigned char)*value) && whole >= o->bound
			       ? NULL
			       : arena_printf(a, "a number >= %d, in MiB", o->bound);
	case OPTION_POWER:
		if (*value == '[' ||
		    (whole > 0 && (whole & (whole - 1)) == 0 && (!o->bound || whole <= o->bound)))
			return NULL;
		return o->bound ? arena_printf(a, "a power of two, at most %d", o->bound)
				: "a power of two, or a list in [ ]";
	case OPTION_INSIDE:
		return real > 0 && real < 1 ? NULL : "a fraction between 0 and 1, exclusive";
	case OPTION_SHARE:
		return isdigit((unsigned char)*value) && real <= 1 ? NULL : "a fraction, 0 to 1";
	case OPTION_BACKEND:
		return strcmp(value, "native") == 0 || strcmp(value, "cudaMallocAsync") == 0
			       ? NULL
			       : "native or cudaMallocAsync";
	}
	return NULL;
}

/* One "key:value". Returns whether it is for PyTorch's own allocator alone. */
static bool one_option(struct lint *l, const struct lint_var *v, char *text)
{
	const char *source = known_var(v->name)->source, *near, *wants;
	char *colon = strchr(text, ':');
	const struct option *o;

	if (!colon || !colon[1]) {
		lint_add(l, LINT_ERROR, "bad-value", v->line, v->name, "KEY:VALUE,KEY:VALUE",
			 source, "%s: \"%.60s\" is not KEY:VALUE: the program exits at start",
			 v->name, text);
		return false;
	}
	*colon = '\0';
	o = option_of(text);
	if (!o) {
		near = option_near(text);
		lint_add(
			l, near ? LINT_ERROR : LINT_WARNING, "unknown-key", v->line, v->name,
			near ? arena_printf(l->a, "%s?", near) : "remove it", source,
			"%s: unknown option \"%.60s\"; PyTorch exits at start on an unknown option",
			v->name, text);
		return false;
	}
	wants = option_wants(l->a, o, colon + 1);
	if (wants)
		lint_add(l, LINT_ERROR, "bad-value", v->line, v->name, NULL, source,
			 "%s: %s: expected %s, got \"%.40s\"", v->name, o->name, wants, colon + 1);
	return o->kind != OPTION_BACKEND;
}

void lint_allocator(struct lint *l, const struct lint_var *v)
{
	char *text = arena_strdup(l->a, v->value), *out = text, *begin = text;
	bool own = false, inside = false;

	for (const char *s = text; *s; s++)
		if (!isspace((unsigned char)*s))
			*out++ = *s;
	*out = '\0';
	for (char *s = text;; s++) {
		bool end = !*s;

		inside = !end && (*s == '[' || (inside && *s != ']'));
		if (!end && (*s != ',' || inside))
			continue;
		*s = '\0';
		if (s > begin)
			own = one_option(l, v, begin) || own;
		begin = s + 1;
		if (end)
			break;
	}
	if (own && strstr(v->value, "cudaMallocAsync"))
		lint_add(l, LINT_NOTE, "contradiction", v->line, v->name, NULL,
			 known_var(v->name)->source,
			 "%s: with backend:cudaMallocAsync the options of PyTorch's own allocator "
			 "are ignored",
			 v->name);
}

/* --- CUDA_VISIBLE_DEVICES --------------------------------------------------------------------- */
static bool names_gpu(const char *s)
{
	return isdigit((unsigned char)*s) || str_starts(s, "GPU-") || str_starts(s, "MIG-");
}

static void nothing_seen(struct lint *l, const struct lint_var *v)
{
	bool all = strcasecmp(v->value, "all") == 0;
	/* "-1" and "" are meant so. */
	bool beyond = isdigit((unsigned char)*v->value);

	lint_add(l,
		 all	  ? LINT_ERROR
		 : beyond ? LINT_WARNING
			  : LINT_NOTE,
		 all ? "bad-value" : "no-gpu", v->line, v->name, all ? "unset it" : NULL,
		 known_var(v->name)->source, "%s=%.40s does not name a GPU: programs see no GPU%s",
		 v->name, v->value, all ? "; \"all\" is only valid in NVIDIA_VISIBLE_DEVICES" : "");
}

void lint_visible(struct lint *l, const struct lint_var *v)
{
	size_t have = l->on->node && !l->on->image ? l->on->node->gpus : 0;
	const char *source = known_var(v->name)->source;
	char *list = arena_strdup(l->a, v->value), *one;
	bool first = true;

	while ((one = strsep(&list, ",")) != NULL) {
		one += strspn(one, " ");
		if (!*one)
			continue;
		if (first && (!names_gpu(one) || (have && isdigit((unsigned char)*one) &&
						  strtoull(one, NULL, 10) >= have))) {
			nothing_seen(l, v);
			return;
		}
		if (!names_gpu(one) ||
		    (have && isdigit((unsigned char)*one) && strtoull(one, NULL, 10) >= have)) {
			lint_add(l, LINT_WARNING, "cut-short", v->line, v->name, NULL, source,
				 "%s=%.60s: \"%.40s\" is not a GPU%s: only the GPUs before it are "
				 "visible",
				 v->name, v->value, one,
				 have ? arena_printf(l->a, " of the machine, which has %zu", have)
				      : "");
			return;
		}
		first = false;
	}
	if (l->slurm && !v->once && isdigit((unsigned char)*v->value))
		lint_add(l, LINT_WARNING, "fixed-gpus", v->line, v->name, "remove it",
			 "Slurm documentation, generic resources",
			 "%s=%.60s: Slurm sets a job's GPUs; with a list in the script, the job "
			 "uses GPUs of other jobs, or only some of its GPUs",
			 v->name, v->value);
}

/* --- CUBLAS_WORKSPACE_CONFIG: ":KiB:COUNT", one or more --------------------------------------- */
void lint_workspace(struct lint *l, const struct lint_var *v)
{
	const struct known_var *k = known_var(v->name);
	bool any = false;

	for (const char *s = v->value; *s;) {
		char *end, *last;
		unsigned long long kib = *s == ':' ? strtoull(s + 1, &end, 10) : 0, count;

		if (*s != ':' || !isdigit((unsigned char)s[1]) || *end != ':' ||
		    !isdigit((unsigned char)end[1])) {
			lint_add(l, LINT_ERROR, "bad-value", v->line, v->name, ":4096:8", k->source,
				 "%s=%.40s: expected :KIB:COUNT", v->name, v->value);
			return;
		}
		count = strtoull(end + 1, &last, 10);
		any = any || (kib && count);
		s = last;
	}
	if (!any)
		lint_add(l, LINT_WARNING, "harmful", v->line, v->name, k->instead, k->source,
			 "%s=%.40s: cuBLAS gets no workspace and uses algorithms without one; the "
			 "cost is unmeasured",
			 v->name, v->value);
	else if (strcmp(v->value, ":16:8") == 0)
		lint_add(l, LINT_NOTE, "harmful", v->line, v->name, ":4096:8", k->source,
			 "%s=%s: gives reproducible results; the small workspace may slow matrix "
			 "multiplications (unmeasured)",
			 v->name, v->value);
}

/* Names of RDMA devices and interfaces in variables, against what the machine has. */

struct look {
	size_t named;	  /* names in the list */
	size_t known;	  /* that some device has */
	size_t matches;	  /* devices that are taken */
	size_t down;	  /* of these */
	const char *more; /* a device that only its beginning names; NULL */
	const char *of;	  /* by this name, which another device has */
	const char *wide; /* a name that no device has, and some begin with; NULL */
	const char *none; /* a name that no device has; NULL */
};

static void lint_torch_look_at(struct lint *l, const char *list, bool exact, struct look *out)
{
	const struct gen_node *n = l->on->node;
	const char *name;
	size_t len;

	*out = (struct look){ 0 };
	while ((name = var_list_next(&list, &len)) != NULL) {
		const char *longer = NULL;
		bool found = false, whole = false;

		out->named++;
		for (size_t i = 0; i < n->n_ports; i++) {
			const struct gen_port *p = &n->ports[i];

			if (!len || strncmp(name, p->device, len) != 0 || (exact && p->device[len]))
				continue;
			found = true;
			out->matches++;
			out->down += p->down;
			whole = whole || !p->device[len];
			longer = p->device[len] && !longer ? p->device : longer;
		}
		if (whole && longer && !out->more) {
			out->more = longer;
			out->of = arena_strndup(l->a, name, len);
		}
		if (!whole && longer && !out->wide)
			out->wide = arena_strndup(l->a, name, len);
		out->known += found;
		if (!found && !out->none)
			out->none = arena_strndup(l->a, name, len);
	}
}

static const char *own_devices(struct lint *l)
{
	const struct gen_node *n = l->on->node;
	const char *list = "";

	for (size_t i = 0; i < n->n_ports; i++)
		list = arena_printf(l->a, "%s%s%s", list, *list ? ", " : "", n->ports[i].device);
	return list;
}

/* A cage of a DGX Spark with one of its twins in the list. */
static void lint_torch_judge_twin(struct lint *l, const struct lint_var *v)
{
	const struct gen_node *n = l->on->node;

	for (size_t i = 0; i < n->n_ports; i++)
		for (size_t k = 0; k < n->n_ports; k++) {
			const struct gen_port *p = &n->ports[i], *twin = &n->ports[k];

			if (i == k || !*p->cage || strcmp(p->cage, twin->cage) != 0 ||
			    !var_list_names(v->value, p->device) ||
			    var_list_names(v->value, twin->device))
				continue;
			lint_add(l, LINT_WARNING, "half-a-cage", v->line, v->name,
				 arena_printf(l->a, "%s,%s", v->value, twin->device),
				 "NVIDIA, DGX Spark: connect multiple Sparks (cables)",
				 "%s and %s share port %s, but only one is listed: half of the "
				 "cable's bandwidth is lost",
				 p->device, twin->device, p->cage);
		}
}

/* Who names a beginning means all that begin so; among them may be what no collective should go
 * over. */
static void judge_wide(struct lint *l, const struct lint_var *v, const char *list, const char *wide)
{
	const struct gen_node *n = l->on->node;
	const char *good = "", *last = "", *odd = NULL;

	for (size_t i = 0; i < n->n_ports; i++) {
		const struct gen_port *p = &n->ports[i];

		if (!var_list_names(list, p->device))
			continue;
		if (!gen_port_used(n, p)) {
			odd = odd ? odd : p->device;
		} else if (strcmp(last, p->device) != 0) {
			last = p->device;
			good = arena_printf(l->a, "%s%s%s", good, *good ? "," : "=", last);
		}
	}
	if (odd)
		lint_add(l, LINT_WARNING, "hca-prefix", v->line, v->name, *good ? good : NULL, NULL,
			 "\"%s\" matches every device with this prefix, including %s, which is "
			 "down, slower than others or without an address",
			 wide, odd);
}

static void judge_own(struct lint *l, const struct lint_var *v, const char *list, bool exact)
{
	struct look k;

	lint_torch_look_at(l, list, exact, &k);
	if (k.named && !k.known)
		lint_add(l, l->on->image ? LINT_NOTE : LINT_ERROR, "hca-unknown", v->line, v->name,
			 "run ibv_devices where the program runs", NULL,
			 "%s=%.80s matches no device of the machine (%s)%s", v->name, v->value,
			 own_devices(l), l->on->image ? "; names may differ in a container" : "");
	else if (k.none)
		lint_add(l, LINT_WARNING, "hca-unknown", v->line, v->name, NULL, NULL,
			 "%s: not a device of the machine (%s)", k.none, own_devices(l));
	if (k.more)
		lint_add(l, LINT_ERROR, "hca-prefix", v->line, v->name,
			 arena_printf(l->a, "=%s", v->value), NULL,
			 "\"%s\" without \"=\" before the list also matches %s", k.of, k.more);
	if (k.wide)
		judge_wide(l, v, list, k.wide);
	else if (k.down)
		lint_add(l, LINT_WARNING, "hca-down", v->line, v->name, NULL, NULL,
			 "%zu of the %zu matching ports are down", k.down, k.matches);
	if (strcmp(l->on->node->platform, "dgx-spark") == 0 && k.known)
		lint_torch_judge_twin(l, v);
}

void lint_hca(struct lint *l, const struct lint_var *v)
{
	const char *list = v->value;
	bool exact;

	if (*list == '^')
		return;
	exact = *list == '=';
	list += exact;
	if (strchr(list, '='))
		lint_add(l, LINT_ERROR, "bad-value", v->line, v->name, "one \"=\", before the list",
			 known_var("NCCL_IB_HCA")->source,
			 "%s=%.80s: \"=\" is only allowed once, before the list; elsewhere it "
			 "becomes part of a device name",
			 v->name, v->value);
	else if (l->on->node && l->on->node->n_ports)
		judge_own(l, v, list, exact);
	else if (!exact)
		lint_add(l, LINT_NOTE, "hca-prefix", v->line, v->name, "\"=\" before full names",
			 known_var("NCCL_IB_HCA")->source,
			 "%s=%.80s matches every device with this prefix", v->name, v->value);
}

static const struct gen_link *link_of(const struct gen_node *n, const char *name, size_t len,
				      bool exact)
{
	for (size_t i = 0; i < n->n_links; i++)
		if (strncmp(n->links[i].name, name, len) == 0 && (!exact || !n->links[i].name[len]))
			return &n->links[i];
	return NULL;
}

/* Whether an RDMA port's or any other interface of the machine is named so. */
static bool lint_torch_there(const struct gen_node *n, const char *name, size_t len, bool exact)
{
	for (size_t i = 0; i < n->n_ports; i++)
		if (strncmp(n->ports[i].netdev, name, len) == 0 &&
		    (!exact || !n->ports[i].netdev[len]))
			return true;
	if (!n->facts)
		return link_of(n, name, len, exact) != NULL;
	LIST_FOR_EACH (struct nic, c, &n->facts->net.nics)
		if (strncmp(c->name, name, len) == 0 && (!exact || !c->name[len]))
			return true;
	return false;
}

void lint_interface(struct lint *l, const struct lint_var *v)
{
	const struct gen_node *n = l->on->node;
	bool exact = *v->value == '=' || strncmp(v->name, "NCCL_", 5) != 0;
	const char *list = v->value + (*v->value == '='), *name;
	size_t len;

	if (*v->value == '^' || !n)
		return;
	while ((name = var_list_next(&list, &len)) != NULL) {
		const struct gen_link *k;

		/* Of Open MPI: a subnet. */
		if (memchr(name, '/', len))
			continue;
		if ((len == 2 && strncmp(name, "lo", 2) == 0) ||
		    (len == 7 && strncmp(name, "docker0", 7) == 0))
			lint_add(l, LINT_ERROR, "interface-local", v->line, v->name, NULL, NULL,
				 "%.*s does not reach other machines", (int)len, name);
		else if (!lint_torch_there(n, name, len, exact))
			lint_add(l, l->on->image ? LINT_NOTE : LINT_ERROR, "interface-unknown",
				 v->line, v->name, "ip -br link", NULL,
				 "%s=%.60s: no interface %.*s on the machine", v->name, v->value,
				 (int)len, name);
		k = link_of(n, name, len, exact);
		if (k && k->wireless)
			lint_add(l, LINT_WARNING, "interface-wireless", v->line, v->name, NULL,
				 NULL,
				 "%s is wireless: its power saving slows the bootstrap or makes it "
				 "fail",
				 k->name);
	}
}

/* "mlx5_0:1" goes by RDMA, "eth0" by TCP; patterns are let be. */
void lint_ucx_devices(struct lint *l, const struct lint_var *v)
{
	const struct gen_node *n = l->on->node;
	const char *list = v->value, *name;
	size_t len;

	if (!n || !n->n_ports || strcmp(v->value, "all") == 0 || strpbrk(v->value, "^*?[~"))
		return;
	while ((name = var_list_next(&list, &len)) != NULL) {
		size_t device = strcspn(name, ":,"), i = 0;

		device = device < len ? device : len;
		while (i < n->n_ports && (strlen(n->ports[i].device) != device ||
					  strncmp(n->ports[i].device, name, device) != 0))
			i++;
		if (i < n->n_ports)
			continue;
		for (i = 0; i < n->n_ports && (strlen(n->ports[i].netdev) != len ||
					       strncmp(n->ports[i].netdev, name, len) != 0);)
			i++;
		if (i < n->n_ports)
			lint_add(l, LINT_NOTE, "tcp-only", v->line, v->name, n->ports[i].device,
				 known_var(v->name)->source,
				 "%.*s is an interface: UCX uses TCP over it, not RDMA", (int)len,
				 name);
		else if (!lint_torch_there(n, name, len, true))
			lint_add(l, l->on->image ? LINT_NOTE : LINT_ERROR, "interface-unknown",
				 v->line, v->name, "ucx_info -d", known_var(v->name)->source,
				 "%s=%.60s: no RDMA device or interface %.*s on the machine",
				 v->name, v->value, (int)len, name);
	}
}

/*
 * Slurm's directives and PyTorch's launcher in one script: directives that come too late, and
 * numbers of machines and processes that do not go together.
 */

/* 0: not known. */
struct batch {
	long long nodes, tasks, gpus; /* of #SBATCH */
	unsigned line_nodes, line_tasks;
	long long nnodes, per_node; /* of torchrun; per_node -1: as many as there are GPUs */
	unsigned line_torchrun;
	bool launched; /* torchrun is there: on a command line it has no line */
};

/* The value of "--name=VALUE" or of "--name VALUE"; NULL: it is another option. "_" is "-". */
static const char *lint_torch_value_of(const struct lint_word *w, size_t n, const char *name)
{
	const char *s = w->text;
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if ((s[i] == '_' ? '-' : s[i]) != name[i])
			return NULL;
	if (s[len] == '=')
		return s + len + 1;
	return !s[len] && n > 1 && !w[1].end ? w[1].text : NULL;
}

static bool number(const char *s, long long *out)
{
	return s && parse_i64(s, out) == 0 && *out > 0;
}

/* "h100:8" and "gpu:8" are 8. */
static bool gpu_count(const char *s, long long *out)
{
	const char *colon = s ? strrchr(s, ':') : NULL;

	return number(colon ? colon + 1 : s, out);
}

static void lint_torch_directive(struct batch *b, const struct lint_word *w, size_t n)
{
	long long v;

	for (size_t i = 0; i < n && w[i].line == w[0].line; i++) {
		size_t left = n - i;

		if (number(lint_torch_value_of(&w[i], left, "--nodes"), &v) ||
		    number(lint_torch_value_of(&w[i], left, "-N"), &v)) {
			b->nodes = v;
			b->line_nodes = w[i].line;
		} else if (number(lint_torch_value_of(&w[i], left, "--ntasks-per-node"), &v)) {
			b->tasks = v;
			b->line_tasks = w[i].line;
		} else if (gpu_count(lint_torch_value_of(&w[i], left, "--gpus-per-node"), &v) ||
			   gpu_count(lint_torch_value_of(&w[i], left, "--gres"), &v)) {
			b->gpus = v;
		}
	}
}

static void lint_torch_torchrun(struct batch *b, const struct lint_word *w, size_t n)
{
	b->line_torchrun = w[0].line;
	b->launched = true;
	b->per_node = 1;
	b->nnodes = 1;
	for (size_t i = 1; i < n && !w[i].end; i++) {
		const char *nodes = lint_torch_value_of(&w[i], n - i, "--nnodes");
		const char *each = lint_torch_value_of(&w[i], n - i, "--nproc-per-node");

		if (nodes && !number(nodes, &b->nnodes))
			b->nnodes = 0; /* "1:4", or a variable */
		if (each && !number(each, &b->per_node))
			b->per_node = strchr(each, '$') ? 0 : -1;
		if (w[i].text[0] != '-' && str_ends(w[i].text, ".py"))
			return;
	}
}

static void lint_torch_judge(struct lint *l, const struct batch *b)
{
	size_t have = l->on->node ? l->on->node->gpus : 0;

	if (!b->launched)
		return;
	if (b->tasks > 1 && (b->per_node > 1 || b->per_node < 0))
		lint_add(l, LINT_ERROR, "too-many-processes", b->line_torchrun, "torchrun",
			 "#SBATCH --ntasks-per-node=1", "torchrun and srun documentation",
			 "line %u has %lld tasks per machine, and each task starts a torchrun with "
			 "its own processes: each GPU is used %lld times",
			 b->line_tasks, b->tasks, b->tasks);
	if (b->nodes && b->nnodes && b->nodes != b->nnodes)
		lint_add(l, LINT_ERROR, "machines-differ", b->line_torchrun, "--nnodes",
			 "--nnodes=\"$SLURM_JOB_NUM_NODES\"", "torchrun documentation",
			 "torchrun has --nnodes %lld, but line %u requests %lld machines: %s",
			 b->nnodes, b->line_nodes, b->nodes,
			 b->nnodes > b->nodes ? "it hangs" : "the machines run independently");
	if (b->gpus && b->per_node > b->gpus)
		lint_add(l, LINT_ERROR, "too-many-processes", b->line_torchrun, "--nproc-per-node",
			 "--nproc-per-node=gpu", "torchrun documentation",
			 "%lld processes per machine, but %lld GPUs", b->per_node, b->gpus);
	else if (!b->gpus && have && b->per_node > (long long)have)
		lint_add(l, LINT_ERROR, "too-many-processes", b->line_torchrun, "--nproc-per-node",
			 "--nproc-per-node=gpu", "torchrun documentation",
			 "%lld processes per machine, but this machine has %zu GPU%s", b->per_node,
			 have, PLURAL(have));
}

/* "accelerate launch": its processes are those of all machines. */
static void lint_torch_accelerate(struct lint *l, const struct lint_word *w, size_t n)
{
	long long all = 0, machines = 1;
	size_t have = l->on->node ? l->on->node->gpus : 0;

	for (size_t i = 1; i < n && !w[i].end; i++) {
		const char *processes = lint_torch_value_of(&w[i], n - i, "--num-processes");
		const char *of = lint_torch_value_of(&w[i], n - i, "--num-machines");

		if (processes && !number(processes, &all))
			return;
		if (of && !number(of, &machines))
			return;
		if (w[i].text[0] != '-' && str_ends(w[i].text, ".py"))
			break;
	}
	if (all % machines)
		lint_add(l, LINT_ERROR, "batch-arithmetic", w[0].line, "--num_processes", NULL,
			 "Accelerate's sources (commands/launch.py)",
			 "--num_processes is the total of all machines: %lld is not divisible by "
			 "%lld",
			 all, machines);
	else if (have && all > (long long)have * machines)
		lint_add(l, LINT_ERROR, "too-many-processes", w[0].line, "--num_processes",
			 arena_printf(l->a, "%lld", (long long)have * machines),
			 "Accelerate's sources (commands/launch.py)",
			 "%lld processes on %lld machine%s, but this machine has %zu GPU%s", all,
			 machines, PLURAL(machines), have, PLURAL(have));
}

/* "deepspeed": --num_gpus of each machine, which its launcher does not compare with what is there.
 */
static void lint_torch_deepspeed(struct lint *l, const struct lint_word *w, size_t n)
{
	size_t have = l->on->node ? l->on->node->gpus : 0;
	long long each = 0;

	for (size_t i = 1; i < n && !w[i].end; i++) {
		const char *gpus = lint_torch_value_of(&w[i], n - i, "--num-gpus");

		if (gpus && !number(gpus, &each))
			return;
		if (w[i].text[0] != '-' && str_ends(w[i].text, ".py"))
			break;
	}
	if (have && each > (long long)have)
		lint_add(l, LINT_ERROR, "too-many-processes", w[0].line, "--num_gpus",
			 arena_printf(l->a, "%zu", have),
			 "DeepSpeed's sources (launcher/runner.py)",
			 "%lld processes per machine, but this machine has %zu GPU%s: DeepSpeed "
			 "starts all, and the excess processes find no GPU",
			 each, have, PLURAL(have));
}

enum launcher { LAUNCH_NONE, LAUNCH_TORCH, LAUNCH_ACCELERATE, LAUNCH_DEEPSPEED };

/* What word i starts, by its name or behind "python -m". */
static enum launcher launcher_at(const struct lint_word *w, size_t n, size_t i)
{
	static const struct {
		const char *name;
		enum launcher what;
	} modules[] = {
		{ "torch.distributed.run", LAUNCH_TORCH },
		{ "torch.distributed.launch", LAUNCH_TORCH },
		{ "accelerate.commands.launch", LAUNCH_ACCELERATE },
		{ "deepspeed.launcher.runner", LAUNCH_DEEPSPEED },
	};
	const char *name = path_name(w[i].text);

	for (size_t k = 0; i && k < sizeof(modules) / sizeof(modules[0]); k++)
		if (strcmp(w[i - 1].text, "-m") == 0 && strcmp(w[i].text, modules[k].name) == 0)
			return modules[k].what;
	if (strcmp(name, "torchrun") == 0)
		return LAUNCH_TORCH;
	if (strcmp(name, "accelerate") == 0 && i + 1 < n && strcmp(w[i + 1].text, "launch") == 0)
		return LAUNCH_ACCELERATE;
	return strcmp(name, "deepspeed") == 0 ? LAUNCH_DEEPSPEED : LAUNCH_NONE;
}

static void launched(struct lint *l, struct batch *b, const struct lint_word *w, size_t n, size_t i)
{
	switch (launcher_at(w, n, i)) {
	case LAUNCH_TORCH:
		lint_torch_torchrun(b, w + i, n - i);
		break;
	case LAUNCH_ACCELERATE:
		lint_torch_accelerate(l, w + i, n - i);
		break;
	case LAUNCH_DEEPSPEED:
		lint_torch_deepspeed(l, w + i, n - i);
		break;
	case LAUNCH_NONE:
		break;
	}
}

/* Each process of a machine has so many threads. */
static void lint_torch_threads(struct lint *l, const struct lint_word *w)
{
	static const char name[] = "OMP_NUM_THREADS=";
	const struct gen_node *node = l->on->node;
	const struct machine *m = node ? node->facts : NULL;
	long long cpus = m ? fact_or(&m->cpu.threads, 0) : 0, v;
	long long gpus = node ? (long long)node->gpus : 0;

	/* A machine without a GPU is not the one that trains. */
	if (gpus < 1 || !str_starts(w->text, name) || !number(w->text + strlen(name), &v) ||
	    cpus < 1 || v * gpus <= cpus || v > 1 << 20)
		return;
	lint_add(l, LINT_WARNING, "too-many-threads", w->line, "OMP_NUM_THREADS",
		 arena_printf(l->a, "%lld", cpus / gpus > 1 ? cpus / gpus : 1), NULL,
		 v > cpus ? "%lld threads in each of %lld processes, one per GPU: a single process "
			    "exceeds the machine's %lld CPUs"
			  : "%lld threads in each of %lld processes, one per GPU, share %lld CPUs",
		 v, gpus, cpus);
}

void lint_batch(struct lint *l, const struct lint_word *w, size_t n)
{
	struct batch b = { 0 };
	bool directives = true;
	unsigned line = 0;

	for (size_t i = 0; i < n; i++) {
		lint_torch_threads(l, &w[i]);
		if (w[i].end && strcmp(w[i].text, "#SBATCH") == 0) {
			line = w[i].line;
			if (directives)
				lint_torch_directive(&b, w + i, n - i);
			else
				lint_add(l, LINT_ERROR, "directive-late", line, "#SBATCH",
					 "move it up, after the first line", "sbatch documentation",
					 "sbatch stops reading directives at the first command: "
					 "this line is a comment");
		} else if (!w[i].line || w[i].line != line) {
			directives = false;
			launched(l, &b, w, n, i);
		}
	}
	lint_torch_judge(l, &b);
}
