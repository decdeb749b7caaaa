/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of the tables: its names, its targets on a machine, where its value stands, its target
 * value, and how rules say what they found and what to write. Judges nothing; knows no single
 * setting.
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "look/settings/settings.h"
#include "machine/host/host.h"

/* Names of the enumerations as users and scripts see them, and finding a setting by its id. */

static const struct {
	const char *name, *purpose;
} profiles[PROFILES] = {
	[PROFILE_DEFAULT] = { "default", "settings supported by evidence on the machine" },
	[PROFILE_PUBLISHED] = { "published", "settings from published tuning guides, as listed" },
	[PROFILE_MAX_PERFORMANCE] = { "max-performance", "maximum performance, at any power" },
	[PROFILE_LOW_LATENCY] = { "low-latency", "stable, short response times" },
	[PROFILE_BALANCED] = { "balanced", "balance of performance and power" },
	[PROFILE_INFERENCE] = { "inference", "a machine that serves models" },
	[PROFILE_TRAINING] = { "training", "a machine that trains models" },
	[PROFILE_VENDOR] = { "vendor", "values set or recommended by the machine's vendor" },
};

static const char *const scopes[SCOPES] = {
	[SCOPE_HOST] = "machine",
	[SCOPE_GPU] = "GPU",
	[SCOPE_POLICY] = "CPU policy",
	[SCOPE_IDLE] = "CPU",
	[SCOPE_POOL] = "huge-page pool",
	[SCOPE_NIC] = "network interface",
	[SCOPE_RDMA] = "RDMA port",
	[SCOPE_PCI] = "PCI function",
	[SCOPE_DISK] = "disk",
	[SCOPE_ZPOOL] = "ZFS pool",
	[SCOPE_HEAT] = "temperature sensor",
	[SCOPE_MOUNT] = "mount",
};

const char *profile_name(enum profile_id p)
{
	return profiles[p].name;
}

const char *profile_purpose(enum profile_id p)
{
	return profiles[p].purpose;
}

int profile_parse(const char *name)
{
	for (int i = 0; i < PROFILES; i++)
		if (strcmp(profiles[i].name, name) == 0)
			return i;
	return -1;
}

const char *scope_name(enum scope s)
{
	return scopes[s];
}

const char *verdict_name(enum verdict_kind v)
{
	static const char *const names[] = { "pass", "fail", "na", "unknown" };

	return names[v];
}

const char *severity_name(enum severity s)
{
	static const char *const names[] = { "info", "low", "medium", "high", "critical" };

	return names[s];
}

const char *risk_name(enum risk r)
{
	static const char *const names[] = { "none", "low", "service", "danger" };

	return names[r];
}

const char *effect_name(enum effect e)
{
	static const char *const names[] = { "now", "driver-reload", "reboot", "firmware" };

	return names[e];
}

const char *platform_bit_name(unsigned bit)
{
	static const char *const names[] = { "dgx-spark", "igx-orin", "hgx",
					     "generic",	  "no-gpu",   "grace" };

	return bit < sizeof(names) / sizeof(names[0]) ? names[bit] : NULL;
}

const char *setting_why(const struct setting *s, unsigned platform)
{
	return platform & ON_HOST && s->why_host ? s->why_host : s->why;
}

const struct setting *setting_find(const char *id)
{
	SETTING_FOR_EACH (s)
		if (*s->id == *id && strcmp(s->id, id) == 0)
			return s;
	return NULL;
}

const char *setting_group(size_t i)
{
	static _Thread_local char groups[64][24];
	size_t n = 0;

	SETTING_FOR_EACH (s) {
		size_t len = strcspn(s->id, "."), k = 0;

		while (k < n && (strncmp(groups[k], s->id, len) != 0 || groups[k][len]))
			k++;
		if (k < n || n == 64 || len >= sizeof(groups[0]))
			continue;
		memcpy(groups[n], s->id, len);
		groups[n++][len] = '\0';
		if (n > i)
			return groups[i];
	}
	return NULL;
}

const char *setting_suggest(const char *id)
{
	struct near_word near = near_word_to(id);
	const char *group;

	for (size_t i = 0; (group = setting_group(i)); i++)
		near_word_try(&near, group, group);
	SETTING_FOR_EACH (s) {
		const char *dot = strchr(s->id, '.');

		/* The kernel's own name. */
		if (s->knob == KNOB_SYSCTL && strcmp(s->name, id) == 0)
			return s->id;
		near_word_try(&near, s->id, s->id);
		/* "swappiness" should lead to "memory.swappiness". */
		if (dot)
			near_word_try(&near, dot + 1, s->id);
	}
	return near.word;
}

int setting_check(struct err *e, const char *word)
{
	SETTING_FOR_EACH (s)
		if (id_matches(s->id, word))
			return 0;
	err_set(e, -EINVAL, "unknown setting \"%s\"", word);
	if (strchr(word, '/') || strchr(word, ':') || str_ends(word, ".tar") ||
	    str_ends(word, ".gz"))
		err_hint(e, "a captured machine: --host %s", word);
	else if (host_is_demo(word))
		err_hint(e, "did you mean \"--host demo:%s\"?", word);
	else
		err_hint_near(e, setting_suggest(word), "\"gputune list\" shows all ids");
	return -EINVAL;
}

/* The documents that settings cite by a short key. */

static const struct {
	const char *key, *title;
	unsigned on; /* platforms that it is about */
} sources[] = {
	{ "S0",
	  "GPU Performance Optimization for DGX Spark (scripts and guide of a ComfyUI "
	  "deployment)",
	  ON_SPARK },
	{ "S1", "DAQIRI system configuration guide (NVIDIA): IGX Orin and DGX Spark",
	  ON_SPARK | ON_IGX },
	{ "S2", "Optimizing the NVIDIA DGX Spark (software stack guide)", ON_SPARK },
	{ "S3", "DGX Spark networking and multi-node scaling (course chapter)", ON_SPARK },
	{ "S4", "H100 multi-node training optimisation report (Nebius cluster)", ON_HGX },
	{ "vm.rst", "Linux kernel, Documentation/admin-guide/sysctl/vm.rst", ON_ALL },
	{ "ip-sysctl.rst", "Linux kernel, Documentation/networking/ip-sysctl.rst", ON_ALL },
	{ "net.rst", "Linux kernel, Documentation/admin-guide/sysctl/net.rst", ON_ALL },
	{ "kernel-parameters", "Linux kernel, Documentation/admin-guide/kernel-parameters.txt",
	  ON_ALL },
	{ "cgroup-v2.rst", "Linux kernel, Documentation/admin-guide/cgroup-v2.rst", ON_ALL },
	{ "cpuidle.rst", "Linux kernel, Documentation/admin-guide/pm/cpuidle.rst", ON_ALL },
	{ "cpufreq.rst", "Linux kernel, Documentation/admin-guide/pm/cpufreq.rst", ON_ALL },
	{ "transhuge.rst", "Linux kernel, Documentation/admin-guide/mm/transhuge.rst", ON_ALL },
	{ "hugetlbpage.rst", "Linux kernel, Documentation/admin-guide/mm/hugetlbpage.rst", ON_ALL },
	{ "queue-sysfs", "Linux kernel, Documentation/ABI/stable/sysfs-block", ON_ALL },
	{ "nvml", "NVIDIA Management Library API reference", ON_ALL },
	{ "spark-known-issues", "NVIDIA DGX Spark user guide, known issues", ON_SPARK },
	{ "gpudirect", "NVIDIA GPUDirect RDMA documentation", ON_ALL },
	{ "nccl-troubleshooting", "NVIDIA NCCL user guide, troubleshooting", ON_ALL },
	{ "pcie-base", "PCI Express base specification, as in the kernel's pci_regs.h", ON_ALL },
};

const char *source_title(const char *key, unsigned platform)
{
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (strcmp(sources[i].key, key) == 0)
			return sources[i].on & platform ? sources[i].title : "";
	return NULL;
}

/* The targets of a setting on a machine, and naming many of them in few words. */

/* Where the objects of a scope stand, and 1 + where their name does; 0: it is made. */
#define OBJECTS(type, member, name)                                                                \
	{                                                                                          \
		offsetof(struct machine, member), sizeof(struct type), name                        \
	}
#define NAMED(type, member) OBJECTS(type, member, 1 + offsetof(struct type, name))
static const struct {
	size_t list, size, name;
} scope_objects[SCOPES] = {
	[SCOPE_GPU] = OBJECTS(gpu, gpu.gpus, 0),
	[SCOPE_POLICY] = OBJECTS(freq_policy, cpu.policies, 0),
	[SCOPE_IDLE] = OBJECTS(idle_group, cpu.idle, 0),
	[SCOPE_POOL] = NAMED(huge_pool, memory.pools),
	[SCOPE_NIC] = NAMED(nic, net.nics),
	[SCOPE_RDMA] = NAMED(rdma_port, net.rdma),
	[SCOPE_PCI] = NAMED(pci_function, pci),
	[SCOPE_DISK] = NAMED(disk, storage.disks),
	[SCOPE_ZPOOL] = NAMED(zpool, storage.pools),
	[SCOPE_HEAT] = NAMED(temperature, sensors.temperatures),
	[SCOPE_MOUNT] = NAMED(mount, storage.mounts),
};

/* Objects that no setting of the scope is about: virtual interfaces, partitions' helpers, ram
 * disks. */
static bool in_scope(enum scope s, const void *object)
{
	if (s == SCOPE_NIC)
		return ((const struct nic *)object)->pci[0] != '\0';
	if (s == SCOPE_DISK)
		return fact_is(&((const struct disk *)object)->role, "disk");
	return true;
}

static const char *object_name(struct arena *a, enum scope s, const void *object)
{
	const struct freq_policy *p = object;

	if (scope_objects[s].name)
		return *(const char *const *)((const char *)object + scope_objects[s].name - 1);
	if (s == SCOPE_GPU)
		return arena_printf(a, "gpu%u", ((const struct gpu *)object)->index);
	if (s == SCOPE_IDLE)
		return arena_printf(a, "cpu%s",
				    idset_format(a, &((const struct idle_group *)object)->cpus.v));
	return seen_ok(&p->cpus.f) ? arena_printf(a, "cpu%s", idset_format(a, &p->cpus.v))
				   : arena_printf(a, "policy%u", p->index);
}

size_t setting_subjects(struct arena *a, const struct machine *m, const struct setting *s,
			void (*each)(const void *object, const char *name, void *ctx), void *ctx)
{
	const struct list *l;
	size_t n = 0;

	if (s->scope == SCOPE_HOST) {
		if (s->select && !s->select(m, m))
			return 0;
		each(m, "", ctx);
		return 1;
	}
	l = (const void *)((const char *)m + scope_objects[s->scope].list);
	for (size_t i = 0; i < l->n; i++) {
		const void *object = (const char *)l->items + i * scope_objects[s->scope].size;

		if (!in_scope(s->scope, object) || (s->select && !s->select(m, object)))
			continue;
		each(object, object_name(a, s->scope, object), ctx);
		n++;
	}
	return n;
}

const char *setting_knob_object(struct arena *a, const struct setting *s, const void *object)
{
	switch (s->scope) {
	case SCOPE_HOST:
		return "";
	case SCOPE_GPU:
		return ((const struct gpu *)object)->pci;
	case SCOPE_POLICY:
		return arena_printf(a, "%u", ((const struct freq_policy *)object)->index);
	case SCOPE_RDMA:
		return ((const struct rdma_port *)object)->device;
	case SCOPE_MOUNT:
		return ((const struct mount *)object)->bdi;
	default:
		return object_name(a, s->scope, object);
	}
}

/* The union of the CPUs of policies or idle groups, as "cpu0-255". */
static const char *cpus_text(struct arena *a, enum scope scope, const void *const *objects,
			     size_t n)
{
	struct idset all = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct fact_set *set =
			scope == SCOPE_POLICY ? &((const struct freq_policy *)objects[i])->cpus
					      : &((const struct idle_group *)objects[i])->cpus;

		IDSET_FOR_EACH (id, &set->v)
			idset_add(a, &all, id);
	}
	return arena_printf(a, "cpu%s", idset_format(a, &all));
}

const char *targets_text(struct arena *a, const struct setting *s, const void *const *objects,
			 const char *const *names, size_t n)
{
	TEXT_AUTO t = { 0 };
	struct idset gpus = { 0 };

	if (n == 1)
		return names[0];
	if (s->scope == SCOPE_POLICY || s->scope == SCOPE_IDLE)
		return cpus_text(a, s->scope, objects, n);
	if (s->scope == SCOPE_GPU) {
		for (size_t i = 0; i < n; i++)
			idset_add(a, &gpus, ((const struct gpu *)objects[i])->index);
		return arena_printf(a, "gpu%s", idset_format(a, &gpus));
	}
	for (size_t i = 0; i < n; i++)
		text_printf(&t, "%s%s", i ? " " : "", names[i]);
	return arena_strdup(a, t.s ? t.s : "");
}

/* Where a setting's value stands: a fact of the model, a boot argument, or a knob that is read. */

struct knob setting_knob(struct arena *a, const struct setting *s, const void *object)
{
	return knob_make(a, s->knob, s->name, setting_knob_object(a, s, object));
}

struct knob setting_place(struct arena *a, const struct setting *s, const void *object)
{
	struct knob k = setting_knob(a, s, object);

	if (k.kind != KNOB_NVML && k.kind != KNOB_PCI && k.kind != KNOB_LINK &&
	    k.kind != KNOB_ZPROP && k.kind != KNOB_HELPER)
		k.object = "";
	return k;
}

static const struct shape_row *fact_row(const struct setting *s)
{
	for (size_t i = 0; i < s->of->n; i++)
		if (strcmp(s->of->rows[i].key, s->fact) == 0)
			return &s->of->rows[i];
	return NULL;
}

static struct fact_str from_fact(struct arena *a, const struct setting *s, const void *object)
{
	const struct shape_row *f = fact_row(s);
	struct fact_str out = { 0 };

	if (!f)
		return out;
	switch (f->kind) {
	case SHAPE_KIND_FACT_TEXT:
		return *(const struct fact_str *)shape_at(f, object);
	case SHAPE_KIND_FACT_INT:
	case SHAPE_KIND_FACT_FLAG:
	case SHAPE_KIND_FACT_HEX: {
		const struct fact_int *i = shape_at(f, object);

		out.f = i->f;
		out.v = seen_ok(&i->f) ? arena_printf(a, "%lld", i->v) : NULL;
		return out;
	}
	case SHAPE_KIND_FACT_SET: {
		const struct fact_set *set = shape_at(f, object);

		out.f = set->f;
		out.v = seen_ok(&set->f) ? idset_format(a, &set->v) : NULL;
		return out;
	}
	default:
		return out;
	}
}

/* For scope host the fact's struct is a part of the machine, found by its shape. */
static const void *part_of(const struct machine *m, const struct shape *of)
{
	for (size_t i = 0; i < machine_shape.n; i++)
		if (machine_shape.rows[i].kind == SHAPE_KIND_OBJECT &&
		    machine_shape.rows[i].sub == of)
			return shape_at(&machine_shape.rows[i], m);
	return of == &machine_shape ? m : NULL;
}

static struct fact_str from_boot_argument(const struct machine *m, const char *name)
{
	struct fact_str out = { .f = m->kernel.cmdline.f };

	if (!seen_ok(&out.f))
		return out;
	/* A missing argument is a value, not an unseen one: the command line was read. */
	out.v = kernel_arg_value(&m->kernel, name);
	if (!out.v)
		out.v = "not set";
	return out;
}

struct fact_str setting_current(struct arena *a, const struct setting *s, const struct machine *m,
				const void *object, bool wished, knob_reader *read, void *ctx)
{
	struct knob k;

	if (s->of) {
		if (s->scope == SCOPE_HOST)
			object = part_of(m, s->of);
		return object ? from_fact(a, s, object) : (struct fact_str){ 0 };
	}
	if (s->knob == KNOB_BOOTARG)
		return from_boot_argument(m, s->name);
	if (s->knob == KNOB_NONE || !read)
		return (struct fact_str){ 0 };
	/* The vendor's program costs a process and a second: only for a profile that has a target
	 * value. */
	if (s->knob == KNOB_HELPER && !wished)
		return (struct fact_str){ 0 };
	k = setting_knob(a, s, object);
	return read(ctx, a, &k);
}

/* How rules speak: the four verdicts, and what an unseen fact means. */

void verdict_pass(struct verdict *v, const char *reason)
{
	v->kind = VERDICT_PASS;
	v->code = CODE_OK;
	v->reason = reason;
}

void verdict_fail(struct verdict *v, const char *wanted, const char *reason)
{
	v->kind = VERDICT_FAIL;
	v->code = CODE_DIFFERS;
	v->wanted = wanted;
	v->reason = reason;
}

void verdict_fail_by(struct verdict *v, const char *code, const char *wanted, const char *reason)
{
	verdict_fail(v, wanted, reason);
	v->code = code;
}

void verdict_na(struct verdict *v, const char *code, const char *reason)
{
	v->kind = VERDICT_NA;
	v->code = code;
	v->reason = reason;
}

void verdict_unknown(struct verdict *v, const char *code, const char *reason)
{
	v->kind = VERDICT_UNKNOWN;
	v->code = code;
	v->reason = reason;
}

const char *setting_unit(const struct setting *s)
{
	const struct knob k = { s->knob, s->name, "" };

	return s->unit ? s->unit : s->knob == KNOB_NONE ? NULL : knob_unit(&k);
}

void verdict_unseen(const struct rule_ctx *q, struct verdict *v, const struct fact *f,
		    const char *absent_reason)
{
	const char *from = fact_from(q->a, f), *err = errno_name(f->err);

	switch (f->seen) {
	case SEEN_ABSENT:
	case SEEN_UNSUPPORTED:
		verdict_na(v, CODE_NO_SUPPORT,
			   absent_reason
				   ? absent_reason
				   : arena_printf(q->a, "not available on the machine (%s: %s)",
						  from, err));
		return;
	case SEEN_DENIED:
		verdict_unknown(v, CODE_DENIED,
				arena_printf(q->a, "%s is %s (%s)", from,
					     fact_or(&q->m->euid, -1) ? "readable only by root"
								      : "denied even to root",
					     err));
		return;
	case SEEN_ERROR:
		verdict_unknown(v, CODE_ERROR,
				arena_printf(q->a, "%s is unreadable (%s)", from, err));
		return;
	default:
		/* Asked of a capture that does not know, against not asked at all because it is
		 * slow. */
		if (*from)
			verdict_unknown(v, CODE_NOT_CAPTURED,
					arena_printf(q->a, "%s is not in the capture", from));
		else
			verdict_na(v, CODE_NEEDS_DEEP, "slow to read, so skipped; use --deep");
		return;
	}
}

/* Wishes: which one holds, whether a value meets it, and how it reads. */

static const struct recommendation *find_opinion(const struct setting *s, enum profile_id p,
						 enum on platform)
{
	for (size_t i = 0; i < s->n_opinions; i++)
		if (s->opinions[i].profile == p && (s->opinions[i].on & (unsigned)platform))
			return &s->opinions[i];
	return NULL;
}

const struct recommendation *setting_recommendation(const struct setting *s, enum profile_id p,
						    unsigned platform)
{
	const struct recommendation *o = find_opinion(s, p, platform);

	/* "published" is exactly what was published: nothing is filled in from our own
	 * recommendations. */
	if (o || p == PROFILE_DEFAULT || p == PROFILE_PUBLISHED || p == PROFILE_VENDOR)
		return o;
	return find_opinion(s, PROFILE_DEFAULT, platform);
}

static bool is_listed(const char *words, const char *w)
{
	size_t n = strlen(w);

	for (const char *p = words; *p; p += strcspn(p, " ")) {
		p += strspn(p, " ");
		if (strncmp(p, w, n) == 0 && (p[n] == ' ' || p[n] == '\0') && n)
			return true;
	}
	return false;
}

bool recommendation_met(const struct recommendation *o, const char *current)
{
	long long have, want;
	bool numbers = parse_i64(current, &have) == 0 && parse_i64(o->value, &want) == 0;

	switch (o->rel) {
	case WANT_LEAVE:
		return true;
	case WANT_IS:
		return numbers ? have == want : strcmp(current, o->value) == 0;
	case WANT_NOT:
		return numbers ? have != want : strcmp(current, o->value) != 0;
	case WANT_AT_LEAST:
		return numbers && have >= want;
	case WANT_AT_MOST:
		return numbers && have <= want;
	case WANT_ONE_OF:
		return is_listed(o->value, current);
	}
	return false;
}

/* "none mq-deadline kyber" -> "none, mq-deadline or kyber" */
static const char *setting_one_of(struct arena *a, const char *words)
{
	TEXT_AUTO t = { 0 };
	const char *last = strrchr(words, ' ');

	for (const char *p = words; *p; p++) {
		if (*p != ' ')
			text_addc(&t, *p);
		else
			text_add(&t, p == last ? " or " : ", ");
	}
	return arena_strdup(a, t.s ? t.s : "");
}

const char *recommendation_text(struct arena *a, const struct recommendation *o, const char *unit)
{
	static const char *const before[] = {
		[WANT_IS] = "",
		[WANT_AT_LEAST] = ">= ",
		[WANT_AT_MOST] = "<= ",
		[WANT_NOT] = "not ",
	};
	const char *sep = unit ? " " : "";

	if (o->rel == WANT_LEAVE)
		return "left alone";
	if (o->rel == WANT_ONE_OF)
		return arena_printf(a, "%s%s%s", setting_one_of(a, o->value), sep,
				    unit ? unit : "");
	return arena_printf(a, "%s%s%s%s", before[o->rel], o->value, sep, unit ? unit : "");
}

/* Writes that make a finding right. */

void remediate_knob(const struct rule_ctx *q, struct remediations *out, struct knob k,
		    const char *value)
{
	ARENA_ADD(q->a, out->items, out->n) = (struct remediation){ .knob = k, .value = value };
}

void remediate_value(const struct rule_ctx *q, struct remediations *out, const char *value)
{
	remediate_knob(q, out, setting_place(q->a, q->s, q->object), value);
}

void remediate_by_hand(struct remediations *out, const char *sentence)
{
	out->by_hand = sentence;
}

void remediate_argument(const struct rule_ctx *q, struct remediations *out, const char *name,
			const char *value)
{
	const char *present = kernel_arg_value(&q->m->kernel, name);

	if (present && strcmp(present, value) != 0)
		remediate_by_hand(
			out,
			arena_printf(q->a,
				     "the kernel command line has %s=%s: remove it where it is set "
				     "(or undo it, if gputune set it), then plan %s=%s again",
				     name, present, name, value));
	else
		remediate_knob(q, out, (struct knob){ KNOB_BOOTARG, name, "" }, value);
}

const char *remediate_target(const struct rule_ctx *q)
{
	const char *value = q->wish->value;

	return q->wish->rel == WANT_ONE_OF ? arena_strndup(q->a, value, strcspn(value, " "))
					   : value;
}
