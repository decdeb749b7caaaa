/* SPDX-License-Identifier: Apache-2.0 */
/* Findings, and their order. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "models/generate/lint.h"
#include "models/inference/format.h"

const char *const lint_level_names[LINT_LEVELS] = { "error", "warning", "note" };

/* Which ports a name takes, and how two of them hang together. */
#define NAMED "net.rdma.netdev net.nics.port net.nics.ipv4 net.rdma.link_layer platform.kind"

const struct lint_code lint_codes[] = {
	{ .code = "hca-down", .setting = "rdma.state", .given = NAMED },
	{ .code = "hca-prefix",
	  .setting = "rdma.state rdma.rate nic.address",
	  .given = NAMED " net.rdma.rate_mbps" },
	{ .code = "half-a-cage", .given = NAMED },
	{ .code = "interface-wireless",
	  .judges = "net.nics.wireless",
	  .given = "net.nics.ipv4 net.nics.operstate" },
	/* An option against what there is: neither is wrong by itself. */
	{ .code = "memory",
	  .given = "memory.available_kb memory.total_kb gpu.gpus.integrated platform.kind" },
	{ .code = "known-defect", .given = "platform.* gpu.* kernel.* net.nics.*" },
	{ .code = "not-here", .given = "platform.kind gpu.gpus.integrated" },
	{ .code = "gid-pinned", .given = "net.rdma.* net.nics.ipv4 software.libraries.version" },
	{ .code = NULL },
};

void lint_add(struct lint *l, enum lint_level level, const char *code, unsigned line,
	      const char *subject, const char *fix, const char *source, const char *fmt, ...)
{
	va_list ap;

	if (l->n >= LINT_FINDINGS_MAX)
		return;
	l->findings = arena_grow(l->a, l->findings, l->n, sizeof(*l->findings));
	va_start(ap, fmt);
	l->findings[l->n++] = (struct lint_finding){ .level = level,
						     .code = code,
						     .file = l->file ? l->file : "command line",
						     .line = line,
						     .subject = arena_strdup(l->a, subject),
						     .says = arena_vprintf(l->a, fmt, ap),
						     .fix = fix,
						     .source = source };
	va_end(ap);
}

static int by_weight(const void *x, const void *y)
{
	const struct lint_finding *a = x, *b = y;
	int r;

	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	r = strcmp(a->file, b->file);
	if (r)
		return r;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	r = strcmp(a->code, b->code);
	return r ? r : strcmp(a->says, b->says);
}

void lint_sort(struct lint *l)
{
	size_t kept = 0;

	if (l->n)
		qsort(l->findings, l->n, sizeof(*l->findings), by_weight);
	for (size_t i = 0; i < l->n; i++)
		if (!kept || by_weight(&l->findings[kept - 1], &l->findings[i]) != 0)
			l->findings[kept++] = l->findings[i];
	l->n = kept;
}

/* What an engine's option for quantization says of the weights' width, and what it leaves open. */

/* Methods of which the model's own files tell how wide they are. */
static bool of_any_width(const char *method)
{
	static const char *const methods[] = { "gptq",	     "gptq_marlin", "gptq_bitblas",
					       "auto-round", "auto_round",  "inc",
					       "moe_wna16",  "hqq",	    "bitsandbytes" };

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strcasecmp(methods[i], method) == 0)
			return true;
	return false;
}

const char *lint_weights(const char *model, const char *method, const struct model_file *file)
{
	bool by_itself =
		file ? file->exact.name || file->format : format_in_name(model, true) != NULL;

	if (!method)
		return NULL;
	if (of_any_width(method) && by_itself)
		return NULL;
	/* Weights that are not quantized are made so when they are loaded: to NF4. */
	if (strcasecmp(method, "bitsandbytes") == 0)
		return "int4";
	return format_find(method, true) ? method : NULL;
}
