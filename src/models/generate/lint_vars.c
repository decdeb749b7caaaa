/* SPDX-License-Identifier: Apache-2.0 */
/* A variable and its value: does the library know it, can it mean that, does it harm here? */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/generate/lint.h"
#include "knowledge/nccl_vars.h"

static void not_known(struct lint *l, const struct lint_var *v, enum nccl_knows k)
{
	const char *since, *until, *near;

	nccl_name(v->name, &since, &until);
	if (k == NCCL_NOT_YET) {
		lint_add(l, LINT_ERROR, "too-new", v->line, v->name,
			 arena_printf(l->a, "NCCL %s or later", since), "NCCL's sources",
			 "NCCL reads %s since %s; %s is %s and silently ignores it", v->name, since,
			 l->on->nccl_from, l->on->nccl);
		return;
	}
	if (k == NCCL_NO_MORE) {
		lint_add(l, LINT_WARNING, "removed", v->line, v->name, "remove it",
			 "NCCL's sources", "NCCL %s and later no longer read %s (%s is %s)", until,
			 v->name, l->on->nccl_from, l->on->nccl);
		return;
	}
	near = nccl_near(l->a, v->name);
	lint_add(l, LINT_ERROR, "unknown-variable", v->line, v->name,
		 near ? arena_printf(l->a, "%s?", near) : "remove it", "NCCL's sources",
		 "NCCL %s to %s does not read %s: no effect", nccl_oldest, nccl_newest, v->name);
}

/* PyTorch (ProcessGroupNCCL) reads what is TORCH_NCCL_... today by its old name too. NULL: it is no
 * such name. */
static const char *torch_name(struct lint *l, const char *name)
{
	static const char *const torch[] = { "NCCL_ASYNC_ERROR_HANDLING", "NCCL_BLOCKING_WAIT",
					     "NCCL_DESYNC_DEBUG", "NCCL_ENABLE_TIMING" };

	for (size_t i = 0; i < sizeof(torch) / sizeof(torch[0]); i++)
		if (strcmp(name, torch[i]) == 0)
			return arena_printf(l->a, "TORCH_%s", name);
	return NULL;
}

/* Names that other programs use and that begin like NCCL's. */
static bool of_others(const char *name)
{
	return str_starts(name, "NCCL_TESTS_") || str_starts(name, "NCCL_ROOT") ||
	       str_starts(name, "NCCL_HOME") || str_starts(name, "NCCL_LIB") ||
	       str_starts(name, "NCCL_INCLUDE") || str_starts(name, "NCCL_VERSION") ||
	       str_starts(name, "NCCL_TUNER_") || str_starts(name, "NCCL_FASTRAK_") ||
	       str_starts(name, "NCCL_GPUDIRECTTCPX_");
}

static bool is_number(const char *s)
{
	char *end;

	if (!*s)
		return true;
	strtoll(s, &end, 0);
	return end != s && !*end;
}

static bool among(const char *words, const char *s, size_t n)
{
	for (const char *at = words; *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (n == strcspn(at, " ") && strncasecmp(at, s, n) == 0)
			return true;
	return false;
}

/* "^LL128", "LL,Simple". What is told function by function (2.24: "allreduce:LL;...") is not looked
 * at. */
static bool all_among(const char *words, const char *list)
{
	if (strpbrk(list, ":;"))
		return true;
	for (list += *list == '^'; *list; list += strcspn(list, ","), list += *list == ',')
		if (!among(words, list, strcspn(list, ",")))
			return false;
	return true;
}

static void judge_value(struct lint *l, const struct lint_var *v, const struct known_var *k)
{
	if (v->open || !*v->value)
		return;
	if ((k->values == VALUES_INT || k->values == VALUES_BOOL) && !is_number(v->value)) {
		lint_add(l, LINT_ERROR, "bad-value", v->line, v->name, "digits only", k->source,
			 "%s=%.40s: expected a number; text after the digits (or the whole value) "
			 "is ignored",
			 v->name, v->value);
		return;
	}
	if (k->values == VALUES_INT && k->most > 0 &&
	    (strtoll(v->value, NULL, 0) < k->least || strtoll(v->value, NULL, 0) > k->most))
		lint_add(l, LINT_ERROR, "bad-value", v->line, v->name, NULL, k->source,
			 "%s=%.40s: expected %d to %d", v->name, v->value, k->least, k->most);
	if (!k->words || (k->values == VALUES_LIST ? all_among(k->words, v->value)
						   : among(k->words, v->value, strlen(v->value))))
		return;
	lint_add(l, LINT_ERROR, "bad-value", v->line, v->name, NULL, k->source,
		 "%s=%.40s: expected one of %s", v->name, v->value, k->words);
}

static bool gb10(const struct lint *l)
{
	return l->on->node && strcmp(l->on->node->platform, "dgx-spark") == 0;
}

static void harmful(struct lint *l, const struct lint_var *v, enum lint_level level,
		    const char *code, const char *here)
{
	const struct known_var *k = known_var(v->name);

	lint_add(l, level, code, v->line, v->name, k->instead, k->source, "%s=%.60s: %s%s%s",
		 v->name, v->value, here ? here : k->harm, here && k->harm ? "; " : "",
		 here && k->harm ? k->harm : "");
}

/* --- single variables ------------------------------------------------------------------------- */
static void gid_index(struct lint *l, const struct lint_var *v)
{
	const struct gen_node *n = l->on->node;
	bool infiniband = false, roce = false;

	if (strcmp(v->value, "-1") == 0)
		return;
	/* Before it took row 0, which RoCE between subnets cannot use. */
	if (l->on->nccl && version_order(l->on->nccl, "2.21") < 0) {
		lint_add(l, LINT_NOTE, "gid-pinned", v->line, v->name, "NCCL 2.21 or later",
			 known_var(v->name)->source,
			 "%s=%.20s: indexes change with the addresses, but %s is %s and cannot "
			 "find the index itself",
			 v->name, v->value, l->on->nccl_from, l->on->nccl);
		return;
	}
	for (size_t i = 0; n && i < n->n_ports; i++)
		if (gen_port_used(n, &n->ports[i])) {
			infiniband = infiniband || n->ports[i].infiniband;
			roce = roce || !n->ports[i].infiniband;
		}
	if (infiniband && !roce)
		lint_add(l, LINT_WARNING, "gid-pinned", v->line, v->name, "remove it",
			 known_var(v->name)->source,
			 "%s=%.20s: the fast ports of the machine are InfiniBand, where it is "
			 "ignored",
			 v->name, v->value);
	else
		harmful(l, v, LINT_ERROR, "gid-pinned", NULL);
}

static void algo(struct lint *l, const struct lint_var *v)
{
	/* Leaving one out is what releases with a fault in it were told to do. */
	if (*v->value == '^')
		lint_add(l, LINT_NOTE, "forced", v->line, v->name, known_var(v->name)->instead,
			 known_var(v->name)->source,
			 "%s=%.60s excludes these choices for all message sizes and machines",
			 v->name, v->value);
	else
		harmful(l, v, LINT_WARNING, "forced", NULL);
}

static void gdr(struct lint *l, const struct lint_var *v)
{
	bool off = strcmp(v->value, "0") == 0 || strcasecmp(v->value, "LOC") == 0;

	if (gb10(l) && !off)
		lint_add(l, LINT_WARNING, "not-here", v->line, v->name, "remove it",
			 "docs.nvidia.com/dgx/dgx-spark-porting-guide (read 2026-11-21)",
			 "%s=%.20s: a GB10 has no GPUDirect RDMA; NIC and GPU share memory, so "
			 "this variable can only make the start fail",
			 v->name, v->value);
	else if (!gb10(l) && off)
		lint_add(l, LINT_WARNING, "gdr-off", v->line, v->name, "unset it",
			 known_var(v->name)->source,
			 "%s=%.20s: NIC and GPU exchange data through host memory, which is slower",
			 v->name, v->value);
	else if (!off && strcmp(v->name, "NCCL_NET_GDR_LEVEL") == 0)
		harmful(l, v, LINT_NOTE, "forced", NULL);
}

static void net(struct lint *l, const struct lint_var *v)
{
	if (strcasecmp(v->value, "socket") == 0)
		harmful(l, v, LINT_ERROR, "harmful", NULL);
}

static void debug(struct lint *l, const struct lint_var *v)
{
	if (strcasecmp(v->value, "INFO") == 0 || strcasecmp(v->value, "TRACE") == 0)
		lint_add(l, LINT_NOTE, "debug-left", v->line, v->name, "WARN in normal operation",
			 NULL, "%s=%s: every rank logs its actions; for debugging only", v->name,
			 v->value);
}

static void connections(struct lint *l, const struct lint_var *v)
{
	bool sharded = l->fsdp || l->zero;

	if (strcmp(v->value, "1") == 0 && !(l->megatron && !sharded))
		harmful(l, v, sharded ? LINT_WARNING : LINT_NOTE, "harmful",
			l->fsdp	  ? "this script mentions FSDP"
			: l->zero ? "this script mentions DeepSpeed, whose overlap it prevents"
				  : NULL);
}

static void dist_debug(struct lint *l, const struct lint_var *v)
{
	if (strcasecmp(v->value, "DETAIL") == 0)
		harmful(l, v, LINT_WARNING, "debug-left", NULL);
}

static void errors_unseen(struct lint *l, const struct lint_var *v)
{
	if (strcmp(v->value, "0") == 0)
		harmful(l, v, LINT_WARNING, "harmful", NULL);
}

static void blocking_wait(struct lint *l, const struct lint_var *v)
{
	if (strchr("1yYtT", *v->value))
		harmful(l, v, LINT_WARNING, "harmful", NULL);
}

static void loading(struct lint *l, const struct lint_var *v)
{
	if (strcasecmp(v->value, "EAGER") == 0)
		harmful(l, v, LINT_NOTE, "harmful", NULL);
}

static void merge(struct lint *l, const struct lint_var *v)
{
	if (gb10(l) && strcmp(v->value, "1") == 0)
		harmful(l, v, LINT_NOTE, "harmful", NULL);
}

static void topology(struct lint *l, const struct lint_var *v)
{
	harmful(l, v, LINT_NOTE, "harmful", NULL);
}

/* The whole name: "=" is NCCL's alone. */
static void plain_interface(struct lint *l, const struct lint_var *v)
{
	if (*v->value == '=')
		lint_add(l, LINT_ERROR, "bad-value", v->line, v->name, v->value + 1,
			 known_var(v->name)->source,
			 "%s=%.40s: a leading \"=\" is only valid for NCCL; here it becomes part "
			 "of the interface name",
			 v->name, v->value);
	else
		lint_interface(l, v);
}

static const struct {
	const char *name;
	void (*judge)(struct lint *l, const struct lint_var *v);
} rules[] = {
	{ "NCCL_IB_GID_INDEX", gid_index },
	{ "NCCL_ALGO", algo },
	{ "NCCL_PROTO", algo },
	{ "NCCL_NET", net },
	{ "NCCL_NET_GDR_LEVEL", gdr },
	{ "NCCL_NET_GDR_READ", gdr },
	{ "NCCL_DMABUF_ENABLE", gdr },
	{ "NCCL_GDRCOPY_ENABLE", gdr },
	{ "NCCL_NET_GDR_C2C", gdr },
	{ "NCCL_IB_HCA", lint_hca },
	{ "NCCL_SOCKET_IFNAME", lint_interface },
	{ "GLOO_SOCKET_IFNAME", plain_interface },
	{ "TP_SOCKET_IFNAME", plain_interface },
	{ "UCX_NET_DEVICES", lint_ucx_devices },
	{ "OMPI_MCA_btl_tcp_if_include", lint_interface },
	{ "OMPI_MCA_oob_tcp_if_include", lint_interface },
	{ "NCCL_DEBUG", debug },
	{ "CUDA_DEVICE_MAX_CONNECTIONS", connections },
	{ "NCCL_IB_MERGE_NICS", merge },
	{ "NCCL_TOPO_FILE", topology },
	{ "PYTORCH_ALLOC_CONF", lint_allocator },
	{ "PYTORCH_CUDA_ALLOC_CONF", lint_allocator },
	{ "TORCH_NCCL_ASYNC_ERROR_HANDLING", errors_unseen },
	{ "TORCH_NCCL_BLOCKING_WAIT", blocking_wait },
	{ "TORCH_DISTRIBUTED_DEBUG", dist_debug },
	{ "CUDA_VISIBLE_DEVICES", lint_visible },
	{ "CUDA_MODULE_LOADING", loading },
	{ "CUBLAS_WORKSPACE_CONFIG", lint_workspace },
};

static void old_name(struct lint *l, const struct lint_var *v, const char *today)
{
	struct lint_var as = *v;

	lint_add(l, LINT_NOTE, "old-name", v->line, v->name, today,
		 "PyTorch sources, torch/csrc/distributed/c10d/Utils.hpp",
		 "%s is a PyTorch variable, not NCCL's; PyTorch 2.2 renamed it %s and warns about "
		 "the old name",
		 v->name, today);
	as.name = today;
	lint_var(l, &as);
}

static const char *variable_at(void *ctx, const char *name, unsigned *line)
{
	const struct lint_var *v = ctx;

	if (strcmp(name, v->name) != 0)
		return NULL;
	*line = v->line;
	return v->open ? lint_value_open : v->value;
}

void lint_var(struct lint *l, const struct lint_var *v)
{
	const char *today = torch_name(l, v->name);
	const struct known_var *k = known_var(v->name);
	enum nccl_knows knows = NCCL_KNOWN;

	lint_values(&(struct lint_values){ l, VALUE_VARIABLE, variable_at, (void *)(uintptr_t)v });
	if (l->env && !v->open) {
		json_object_set_new(l->env, v->name, json_string(v->value));
		json_object_set_new(l->env_at, v->name,
				    json_pack("{s:s?, s:i}", "file", l->file, "line", v->line));
	}
	if (today) {
		old_name(l, v, today);
		return;
	}
	if (str_starts(v->name, "NCCL_") && !of_others(v->name)) {
		knows = nccl_knows(v->name, l->on->nccl);
		if (l->on->image && l->conf)
			lint_add(l, LINT_WARNING, "image-conf", v->line, v->name,
				 "delete the file, or remove forgotten settings", NULL,
				 "%s=%.60s is set for every program of this image, without any log "
				 "entry",
				 v->name, v->value);
	}
	if (knows != NCCL_KNOWN && knows != NCCL_NOT_TOLD) {
		if (knows == NCCL_NEVER && k && k->harm)
			harmful(l, v, LINT_WARNING, "removed", NULL);
		else
			not_known(l, v, knows);
		return;
	}
	if (!k)
		return;
	judge_value(l, v, k);
	if (!v->open && var_takes_away(k, v->value))
		harmful(l, v, LINT_WARNING, "harmful", NULL);
	if (v->open || !*v->value)
		return;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strcmp(rules[i].name, v->name) == 0)
			rules[i].judge(l, v);
}
