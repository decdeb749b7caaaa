/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of PyTorch and CUDA whose values have an inside: options of the caching allocator,
 * lists of GPUs, workspaces of cuBLAS. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/generate/lint.h"
#include "knowledge/nccl_vars.h"

/* --- PYTORCH_ALLOC_CONF: "key:value,key:[64:8,>:1]", blanks anywhere ----------------------------
 */
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
			       : arena_printf(a, "a number of %d or more, in MiB", o->bound);
	case OPTION_POWER:
		if (*value == '[' ||
		    (whole > 0 && (whole & (whole - 1)) == 0 && (!o->bound || whole <= o->bound)))
			return NULL;
		return o->bound ? arena_printf(a, "a power of two, %d at most", o->bound)
				: "a power of two, or a list in [ ]";
	case OPTION_INSIDE:
		return real > 0 && real < 1 ? NULL : "a share between 0 and 1, neither of them";
	case OPTION_SHARE:
		return isdigit((unsigned char)*value) && real <= 1 ? NULL : "a share, 0 to 1";
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
			 source, "%s: \"%.60s\" is no KEY:VALUE: the program ends at its start",
			 v->name, text);
		return false;
	}
	*colon = '\0';
	o = option_of(text);
	if (!o) {
		near = option_near(text);
		lint_add(l, near ? LINT_ERROR : LINT_WARNING, "unknown-key", v->line, v->name,
			 near ? arena_printf(l->a, "%s?", near) : "take it out", source,
			 "%s: \"%.60s\" is none of the options that this program knows of; "
			 "PyTorch ends at its start with one that it does not know",
			 v->name, text);
		return false;
	}
	wants = option_wants(l->a, o, colon + 1);
	if (wants)
		lint_add(l, LINT_ERROR, "bad-value", v->line, v->name, NULL, source,
			 "%s: %s takes %s, not \"%.40s\"", v->name, o->name, wants, colon + 1);
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
			 "are not looked at",
			 v->name);
}

/* --- CUDA_VISIBLE_DEVICES -----------------------------------------------------------------------
 */
static bool names_gpu(const char *s)
{
	return isdigit((unsigned char)*s) || str_starts(s, "GPU-") || str_starts(s, "MIG-");
}

static void nothing_seen(struct lint *l, const struct lint_var *v)
{
	bool all = strcasecmp(v->value, "all") == 0;

	lint_add(l, all ? LINT_ERROR : LINT_NOTE, all ? "bad-value" : "no-gpu", v->line, v->name,
		 all ? "unset it" : NULL, known_var(v->name)->source,
		 "%s=%.40s names no GPU: programs see none%s", v->name, v->value,
		 all ? "; \"all\" is a word of NVIDIA_VISIBLE_DEVICES" : "");
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
		if (!names_gpu(one) && first) {
			nothing_seen(l, v);
			return;
		}
		if (!names_gpu(one) ||
		    (have && isdigit((unsigned char)*one) && strtoull(one, NULL, 10) >= have)) {
			lint_add(l, LINT_WARNING, "cut-short", v->line, v->name, NULL, source,
				 "%s=%.60s: \"%.40s\" is no GPU%s: programs see only those before "
				 "it",
				 v->name, v->value, one,
				 have ? arena_printf(l->a, " of this machine, which has %zu", have)
				      : "");
			return;
		}
		first = false;
	}
	if (l->slurm && !v->once && isdigit((unsigned char)*v->value))
		lint_add(l, LINT_WARNING, "fixed-gpus", v->line, v->name, "take it out",
			 "Slurm documentation, generic resources",
			 "%s=%.60s: Slurm tells a job which GPUs are its own; a list in the script "
			 "takes those of others, or hides some of its own",
			 v->name, v->value);
}

/* --- CUBLAS_WORKSPACE_CONFIG: ":KiB:COUNT", one or more -----------------------------------------
 */
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
				 "%s=%.40s: it takes :KIB:COUNT", v->name, v->value);
			return;
		}
		count = strtoull(end + 1, &last, 10);
		any = any || (kib && count);
		s = last;
	}
	if (!any)
		lint_add(l, LINT_WARNING, "harmful", v->line, v->name, k->instead, k->source,
			 "%s=%.40s: cuBLAS gets no workspace, and takes what can do without: what "
			 "it costs is unmeasured",
			 v->name, v->value);
	else if (strcmp(v->value, ":16:8") == 0)
		lint_add(l, LINT_NOTE, "harmful", v->line, v->name, ":4096:8", k->source,
			 "%s=%s: for results that are the same each time; so small a workspace may "
			 "make products slower (unmeasured)",
			 v->name, v->value);
}
