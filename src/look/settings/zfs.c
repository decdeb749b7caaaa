/* SPDX-License-Identifier: Apache-2.0 */
/* OpenZFS: module parameters and pool properties. The whole topic applies only where the module is
 * loaded. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <string.h>

static const char no_zfs[] = "the ZFS module is not loaded";

static bool loaded(const struct machine *m, const void *object)
{
	(void)object;
	return seen_ok(&m->storage.zfs_version.f);
}

static const struct opinion autotrim[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "on", "sustains the write speed of flash", NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "on", "published as: prevents write amplification",
	  "S0" },
};
static const struct opinion meta_limit[] = {
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "8589934592",
	  "published as: faster look-ups in large model folders", "S0" },
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL, "OpenZFS balances data and metadata itself",
	  NULL },
};
static const struct opinion meta_balance[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "the default of 500 has no measured better value here", NULL },
};
static const struct opinion prefetch[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "0", "checkpoints are read in order", NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "0", "published as: prefetch verified enabled",
	  "S0" },
};

/* A member without discard (common behind USB bridges) cannot be trimmed. */
static bool can_trim(const struct question *q, struct verdict *v)
{
	const struct zpool *pool = q->object;
	bool any = false;

	LIST_FOR_EACH (struct disk, d, &q->m->storage.disks)
		if (seen_ok(&pool->members.f) && strstr(pool->members.v, d->name) &&
		    fact_or(&d->discard_max_bytes, 0) > 0)
			any = true;
	if (any || !seen_ok(&pool->members.f))
		return true;
	verdict_na(v, CODE_NO_SUPPORT, "no member of the pool supports discard");
	return false;
}

static bool has_meta_limit(const struct question *q, struct verdict *v)
{
	if (zfs_release(q->m) < 202)
		return true;
	verdict_na(v, CODE_NO_SUPPORT,
		   arena_printf(q->a, "OpenZFS %s has no metadata limit: it was removed in 2.2",
				q->m->storage.zfs_version.v));
	return false;
}

static bool has_meta_balance(const struct question *q, struct verdict *v)
{
	if (zfs_release(q->m) >= 202)
		return true;
	verdict_na(v, CODE_NO_SUPPORT, "it came with OpenZFS 2.2");
	return false;
}

/* A quarter of memory, and never more than 16 GiB. */
static long long arc_limit(const struct machine *m)
{
	long long quarter = fact_or(&m->memory.total_kb, 0) * 1024 / 4;

	return quarter < 16ll << 30 ? quarter : 16ll << 30;
}

/* On unified memory the default ceiling lets the cache hold nearly all that CUDA needs. */
static void arc_max(const struct question *q, struct verdict *v)
{
	long long c_max = fact_or(&q->m->storage.zfs_arc_c_max, -1);
	long long set = fact_or(&q->m->storage.zfs_arc_max, 0);
	long long total = fact_or(&q->m->memory.total_kb, 0) * 1024;

	if (c_max < 0) {
		verdict_unseen(q, v, &q->m->storage.zfs_arc_c_max.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld MiB of %lld MiB", c_max >> 20, total >> 20);
	if (!has_unified_memory(q->m))
		verdict_na(v, CODE_LEFT_ALONE,
			   "the GPU has its own memory: the cache gives way under pressure");
	else if (set > 0 && set <= total / 4)
		verdict_pass(v, "bounded by zfs_arc_max");
	else if (total && c_max > total / 4)
		verdict_fail(v, "at most a quarter of memory (8 to 16 GiB)",
			     "GPU and cache share one memory, and the cache may take most of it");
	else
		verdict_pass(v, "bounded");
}

static void aim_arc_max(const struct question *q, struct aims *out)
{
	aim_value(q, out, arena_printf(q->a, "%lld", arc_limit(q->m)));
}

static void pool_state(const struct question *q, struct verdict *v)
{
	if (!seen_ok(&q->current.f))
		verdict_unseen(q, v, &q->current.f, NULL);
	else if (strcmp(q->current.v, "ONLINE") == 0)
		verdict_pass(v, "online");
	else
		verdict_fail(v, "ONLINE", "the pool is not whole: repair it before tuning it");
}

#define ZFS_HOST                                                                                   \
	.scope = SCOPE_HOST, .select = loaded, .none = no_zfs, .knob = KNOB_MODPARAM,              \
	.effect = EFFECT_NOW, .not_when = "the ZFS module is not loaded"

static const struct setting rows[] = {
	{ .id = "zfs.pool-state",
	  .title = "Pool state",
	  .scope = SCOPE_ZPOOL,
	  .of = &schema_zpool,
	  .fact = "state",
	  .none = "no ZFS pool",
	  .not_when = "there is no ZFS pool",
	  .health = true,
	  .why = "A degraded pool reads slower and is one fault from loss.",
	  .source = "S0",
	  .severity = SEVERITY_HIGH,
	  .judge = pool_state,
	  .by_hand =
		  "zpool status says which member failed: replace it, then wait for the resilver" },
	{ .id = "zfs.autotrim",
	  .title = "Automatic TRIM",
	  .scope = SCOPE_ZPOOL,
	  .of = &schema_zpool,
	  .fact = "autotrim",
	  .knob = KNOB_ZPROP,
	  .name = "autotrim",
	  .none = "no ZFS pool",
	  .not_when = "no member of the pool supports discard",
	  .why = "Tells flash which blocks are free, so that writes stay fast over months.",
	  .note = "The published script names one pool and counts a failure as success.",
	  .source = "S0",
	  .not_shown = "it shows after the whole disk was written, which no bench of ours does to "
		       "a disk of yours",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  OPINIONS(autotrim),
	  .applies = can_trim },
	{ .id = "zfs.arc-max",
	  .title = "ARC ceiling",
	  ZFS_HOST,
	  .name = "zfs.zfs_arc_max",
	  .why = "ARC is ZFS's cache of file data. On unified memory it competes with CUDA "
		 "allocations.",
	  .note = "The published script overwrites the file in which a ceiling would stand.",
	  .source = "spark-known-issues; OpenZFS module parameters",
	  .shown_by = "model-load/warm",
	  .settle_s = 5,
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE,
	  .judge = arc_max,
	  .aim = aim_arc_max },
	{ .id = "zfs.arc-meta-limit",
	  .title = "ARC metadata limit",
	  ZFS_HOST,
	  .name = "zfs.zfs_arc_meta_limit",
	  .unit = "bytes",
	  .why = "Bounded metadata in the cache up to OpenZFS 2.1.",
	  .note = "Published as 8 GiB; on OpenZFS 2.2 and later the file does not exist and the "
		  "published script hides "
		  "the error.",
	  .source = "S0; OpenZFS 2.2.0 release notes",
	  .not_shown = "it shows with millions of small files, which no bench of ours makes",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  OPINIONS(meta_limit),
	  .applies = has_meta_limit },
	{ .id = "zfs.arc-meta-balance",
	  .title = "ARC metadata balance",
	  ZFS_HOST,
	  .name = "zfs.zfs_arc_meta_balance",
	  .why = "The successor of the metadata limit: how ghost hits weigh metadata.",
	  .source = "OpenZFS module parameters",
	  .not_shown = "it shows with millions of small files, which no bench of ours makes",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  OPINIONS(meta_balance),
	  .applies = has_meta_balance },
	{ .id = "zfs.prefetch",
	  .title = "Predictive prefetch off switch",
	  ZFS_HOST,
	  .name = "zfs.zfs_prefetch_disable",
	  .why = "With 1 ZFS does not read ahead of a sequential reader such as a checkpoint "
		 "loader.",
	  .note = "The published script writes 1 and then 0; if the second write fails, prefetch "
		  "stays off.",
	  .source = "S0",
	  .shown_by = "disk/read-seq:128KiB:buffered model-load",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  OPINIONS(prefetch) },
};

const struct setting_table settings_zfs = SETTING_TABLE(rows);
