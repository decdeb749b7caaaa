/* SPDX-License-Identifier: Apache-2.0 */
/* Which file answers for which kind, and what is asked of every knob before its kind is. Touches no
 * machine. */
#include <fnmatch.h>
#include <string.h>

#include "machine/knob/kinds.h"
#include "machine/write/write.h"
#include "base/idset.h"
#include "base/text.h"

enum { NAME_MAX_LEN = 512, OBJECT_MAX = 256, VALUE_MAX = 4096, CONTENT_VALUE_MAX = 1 << 20 };

const struct knob_ops *knob_ops_of(enum knob_kind kind)
{
	static const struct knob_ops *const ops[KNOB_KINDS] = {
		[KNOB_SYSCTL] = &knob_ops_file,	  [KNOB_SYSFS] = &knob_ops_file,
		[KNOB_MODPARAM] = &knob_ops_file, [KNOB_BOOTARG] = &knob_ops_bootarg,
		[KNOB_NVML] = &knob_ops_nvml,	  [KNOB_PCI] = &knob_ops_pci,
		[KNOB_LINK] = &knob_ops_link,	  [KNOB_UNIT] = &knob_ops_unit,
		[KNOB_ZPROP] = &knob_ops_zprop,	  [KNOB_HELPER] = &knob_ops_helper,
		[KNOB_FILE] = &knob_ops_own_file, [KNOB_ADDRESS] = &knob_ops_address,
		[KNOB_BLOCK] = &knob_ops_block,	  [KNOB_FIRMWARE] = &knob_ops_firmware,
		[KNOB_CPUSET] = &knob_ops_cpuset, [KNOB_MODULE] = &knob_ops_module,
		[KNOB_POWER] = &knob_ops_power,
	};

	return (unsigned)kind < KNOB_KINDS ? ops[kind] : NULL;
}

/* At most max bytes, none of them a control character, all of them UTF-8: plans and journals keep
 * nothing else. */
static bool kinds_clean(const char *s, size_t max)
{
	size_t at = 0, n;
	uint32_t cp;

	for (; at <= max && (n = utf8_next(s + at, &cp)); at += n)
		if (cp < 0x20 || cp == 0x7f || (cp == UTF8_BAD && n == 1))
			return false;
	return at <= max;
}

const char *knob_command(struct arena *a, const struct knob *k, const char *value)
{
	return value && knob_valid(k, value, NULL) ? knob_ops_of(k->kind)->command(a, k, value)
						   : NULL;
}

const char *knob_command_here(struct host *h, struct arena *a, const struct knob *k,
			      const char *value)
{
	const struct knob_ops *ops = knob_ops_of(k->kind);

	if (!ops || !ops->command_here || !value || !knob_valid(k, value, NULL))
		return knob_command(a, k, value);
	return ops->command_here(h, a, k, value);
}

const char *knob_remains(const struct knob *k, const char *now, const char *value)
{
	const struct knob_ops *ops = knob_ops_of(k->kind);

	return ops && ops->remains && now && value ? ops->remains(k, now, value) : NULL;
}

const char *knob_neutral(const struct knob *k)
{
	const struct knob_ops *ops = knob_ops_of(k->kind);

	return ops && ops->neutral ? ops->neutral(k) : NULL;
}

bool knob_holds(const struct knob *k, const char *now, const char *value)
{
	return knob_same(k, now, value) && (strcmp(now, value) == 0 || knob_valid(k, now, NULL));
}

bool knob_same(const struct knob *k, const char *x, const char *y)
{
	const struct knob_ops *ops = knob_ops_of(k->kind);

	if (!x || !y)
		return x == y;
	if (strcmp(x, y) == 0)
		return true;
	if (ops && ops->exact)
		return false;
	return ops && ops->same ? ops->same(k, x, y) : knob_same_text(x, y);
}

const char *knob_booted(const struct kernel *m, const struct knob *k)
{
	const char *value = kernel_arg_value(m, k->name);

	return value ? value : "not set";
}

/* What host_put leaves next to a knob's files when it is cut off. The names follow from the knob's;
 * no folder is searched. */

enum { SAVED_MAX = 4 << 20 };

static bool is_same_text(struct host *h, struct arena *a, const char *x, const char *y)
{
	char *text[2];
	size_t n[2];

	return host_read(h, x, SAVED_MAX, a, &text[0], &n[0]) == 0 &&
	       host_read(h, y, SAVED_MAX, a, &text[1], &n[1]) == 0 && n[0] == n[1] &&
	       memcmp(text[0], text[1], n[0]) == 0;
}

struct knob_left *knob_left_over(struct host *h, struct arena *a, const struct knob *k, size_t *n)
{
	static const char *const endings[] = { HOST_NEW, HOST_OLD, HOST_OLD HOST_PART };
	const struct knob_ops *ops = knob_ops_of(k->kind);
	const char *files[KNOB_FILES_MAX];
	struct knob_left *out = NULL;
	size_t n_files = ops && ops->files && knob_valid(k, NULL, NULL) ? ops->files(k, files) : 0;

	*n = 0;
	for (size_t i = 0; i < n_files * 3; i++) {
		const char *of = files[i / 3], *path = arena_printf(a, "%s%s", of, endings[i % 3]);

		if (!host_exists(h, path))
			continue;
		ARENA_ADD(a, out, *n) =
			(struct knob_left){ .path = path,
					    .of = of,
					    .saved = i % 3 == 1,
					    .spare = i % 3 != 1 || is_same_text(h, a, path, of),
					    .ours = knob_left_is_ours(h, path) };
	}
	return out;
}

/*
 * Which names of files of the kernel, boot arguments and services are ever written, and which
 * values are ever asked for there. A table of places and not of settings: a setting may write
 * several places, several settings one, and a journal names places, also those of settings that are
 * gone. Knows no target values; reads no machine.
 */

enum form {
	FORM_RANGE, /* a number from least to most */
	FORM_WORDS, /* one of words */
	FORM_THREE, /* three numbers, none less than the one before it, each from least to most */
	FORM_CPUS,  /* a list of CPUs; before it may stand some of words, each with a comma */
	FORM_MASK,  /* a bit a CPU, in words of eight hexadecimal digits */
	FORM_STATE, /* what the kind takes */
	FORM_BACK,  /* put back, and never asked for */
};

struct bound {
	enum knob_kind kind;
	enum form form;
	const char *name; /* '*' stands for anything within one part of a path */
	long long least, most;
	const char *words; /* blank-separated; of a range its unit; NULL */
};

#define MIB (1ll << 20)
#define GIB (1ll << 30)
#define TIB (1ll << 40)
#define CPU "/sys/devices/system/cpu/"
#define PAGES "/sys/kernel/mm/"
#define QUEUE "/sys/block/*/queue/"

/*
 * What can be meant, not what the kernel takes: 0 for vfs_cache_pressure runs out of memory, 1024
 * in tcp_fastopen opens every listener. Wide enough for a profile file. A place whose setting is
 * gone stays, as FORM_BACK. Sources: admin-guide/sysctl, ip-sysctl.rst, kernel-parameters.txt,
 * zfs(4).
 */
static const struct bound bounds[] = {
	{ KNOB_SYSCTL, FORM_RANGE, "vm.swappiness", 0, 200, NULL },
	{ KNOB_SYSCTL, FORM_RANGE, "vm.dirty_ratio", 1, 90, "%" },
	{ KNOB_SYSCTL, FORM_RANGE, "vm.dirty_background_ratio", 1, 90, "%" },
	{ KNOB_SYSCTL, FORM_RANGE, "vm.dirty_bytes", MIB, TIB, "bytes" },
	{ KNOB_SYSCTL, FORM_RANGE, "vm.dirty_background_bytes", MIB, TIB, "bytes" },
	{ KNOB_SYSCTL, FORM_RANGE, "vm.vfs_cache_pressure", 1, 1000, NULL },
	{ KNOB_SYSCTL, FORM_RANGE, "vm.zone_reclaim_mode", 0, 7, NULL },
	{ KNOB_SYSCTL, FORM_RANGE, "vm.overcommit_memory", 0, 2, NULL },
	{ KNOB_SYSCTL, FORM_RANGE, "vm.max_map_count", 65530, 16777216, "mappings" },
	{ KNOB_SYSCTL, FORM_RANGE, "fs.inotify.max_user_instances", 128, 1048576, NULL },
	{ KNOB_SYSCTL, FORM_RANGE, "fs.inotify.max_user_watches", 8192, 16777216, NULL },
	{ KNOB_SYSCTL, FORM_BACK, "vm.min_free_kbytes", 0, 0, NULL },
	{ KNOB_SYSCTL, FORM_RANGE, "kernel.numa_balancing", 0, 3, NULL },
	{ KNOB_SYSCTL, FORM_RANGE, "kernel.sched_autogroup_enabled", 0, 1, NULL },
	/* What 400 Gbit/s hold in flight within 20 ms. */
	{ KNOB_SYSCTL, FORM_RANGE, "net.core.rmem_max", 2304, GIB, "bytes" },
	{ KNOB_SYSCTL, FORM_RANGE, "net.core.wmem_max", 4608, GIB, "bytes" },
	{ KNOB_SYSCTL, FORM_RANGE, "net.core.rmem_default", 2304, GIB / 4, "bytes" },
	{ KNOB_SYSCTL, FORM_RANGE, "net.core.wmem_default", 4608, GIB / 4, "bytes" },
	{ KNOB_SYSCTL, FORM_THREE, "net.ipv4.tcp_rmem", 1, GIB, "bytes" },
	{ KNOB_SYSCTL, FORM_THREE, "net.ipv4.tcp_wmem", 1, GIB, "bytes" },
	{ KNOB_SYSCTL, FORM_RANGE, "net.ipv4.tcp_fastopen", 0, 3, NULL },
	{ KNOB_SYSCTL, FORM_RANGE, "net.ipv4.tcp_slow_start_after_idle", 0, 1, NULL },
	{ KNOB_SYSCTL, FORM_RANGE, "net.core.netdev_max_backlog", 100, 1000000, "packets" },
	{ KNOB_SYSCTL, FORM_RANGE, "net.core.somaxconn", 128, 1000000, "connections" },
	{ KNOB_SYSCTL, FORM_RANGE, "net.ipv4.conf.all.arp_announce", 0, 2, NULL },
	{ KNOB_SYSCTL, FORM_RANGE, "net.ipv4.conf.all.arp_ignore", 0, 2, NULL },
	{ KNOB_SYSCTL, FORM_WORDS, "net.ipv4.tcp_congestion_control", 0, 0,
	  "bbr cubic dctcp reno" },
	{ KNOB_SYSCTL, FORM_WORDS, "net.core.default_qdisc", 0, 0, "fq fq_codel pfifo_fast" },

	{ KNOB_SYSFS, FORM_WORDS, PAGES "transparent_hugepage/enabled", 0, 0,
	  "always madvise never" },
	{ KNOB_SYSFS, FORM_WORDS, PAGES "transparent_hugepage/defrag", 0, 0,
	  "always defer defer+madvise madvise never" },
	{ KNOB_SYSFS, FORM_RANGE, PAGES "hugepages/hugepages-*/nr_hugepages", 0, 1 << 22, "pages" },
	{ KNOB_SYSFS, FORM_RANGE, CPU "cpu*/cpuidle/state*/disable", 0, 1, NULL },
	{ KNOB_SYSFS, FORM_WORDS, CPU "cpufreq/policy*/scaling_governor", 0, 0,
	  "conservative ondemand performance powersave schedutil userspace" },
	{ KNOB_SYSFS, FORM_RANGE, CPU "cpufreq/policy*/scaling_max_freq", 100000, 10000000, "kHz" },
	{ KNOB_SYSFS, FORM_BACK, CPU "cpufreq/policy*/energy_performance_preference", 0, 0, NULL },
	{ KNOB_SYSFS, FORM_RANGE, CPU "cpufreq/boost", 0, 1, NULL },
	{ KNOB_SYSFS, FORM_RANGE, CPU "intel_pstate/no_turbo", 0, 1, NULL },
	{ KNOB_SYSFS, FORM_RANGE, CPU "intel_pstate/max_perf_pct", 1, 100, "%" },
	{ KNOB_SYSFS, FORM_WORDS, QUEUE "scheduler", 0, 0, "bfq kyber mq-deadline none" },
	{ KNOB_SYSFS, FORM_RANGE, QUEUE "nr_requests", 4, 65536, "requests" },
	{ KNOB_SYSFS, FORM_RANGE, QUEUE "read_ahead_kb", 0, 1 << 18, "KiB" },
	{ KNOB_SYSFS, FORM_RANGE, "/sys/class/bdi/*/read_ahead_kb", 0, 1 << 18, "KiB" },
	{ KNOB_SYSFS, FORM_MASK, "/sys/class/net/*/queues/rx-*/rps_cpus", 0, 0, NULL },
	{ KNOB_SYSFS, FORM_WORDS, "/sys/block/*/device/iopolicy", 0, 0,
	  "numa queue-depth round-robin" },
	{ KNOB_SYSFS, FORM_BACK, QUEUE "wbt_lat_usec", 0, 0, NULL },
	{ KNOB_SYSFS, FORM_BACK, QUEUE "iosched/*", 0, 0, NULL },

	{ KNOB_MODPARAM, FORM_RANGE, "zfs.zfs_arc_max", 64 * MIB, 64 * TIB, "bytes" },
	{ KNOB_MODPARAM, FORM_RANGE, "zfs.zfs_arc_meta_limit", 16 * MIB, 64 * TIB, "bytes" },
	{ KNOB_MODPARAM, FORM_RANGE, "zfs.zfs_arc_meta_balance", 1, 100000, NULL },
	{ KNOB_MODPARAM, FORM_RANGE, "zfs.zfs_prefetch_disable", 0, 1, NULL },

	{ KNOB_BOOTARG, FORM_CPUS, "isolcpus", 0, 0, "domain managed_irq nohz" },
	{ KNOB_BOOTARG, FORM_CPUS, "irqaffinity", 0, 0, NULL },
	{ KNOB_BOOTARG, FORM_CPUS, "nohz_full", 0, 0, NULL },
	{ KNOB_BOOTARG, FORM_CPUS, "rcu_nocbs", 0, 0, NULL },
	{ KNOB_BOOTARG, FORM_WORDS, "rcu_nocb_poll", 0, 0, "" },
	{ KNOB_BOOTARG, FORM_WORDS, "mitigations", 0, 0, "auto auto,nosmt off" },
	{ KNOB_BOOTARG, FORM_RANGE, "init_on_alloc", 0, 1, NULL },
	{ KNOB_BOOTARG, FORM_WORDS, "iommu", 0, 0, "off pt" },
	{ KNOB_BOOTARG, FORM_RANGE, "cppc_cpufreq.auto_sel_mode", 0, 1, NULL },
	/* boot.pcie-bus wrote it once. */
	{ KNOB_BOOTARG, FORM_BACK, "pci", 0, 0, NULL },

	{ KNOB_UNIT, FORM_STATE, "nvidia-fabricmanager.service", 0, 0, NULL },
	{ KNOB_UNIT, FORM_STATE, "nvidia-persistenced.service", 0, 0, NULL },
	{ KNOB_UNIT, FORM_STATE, "irqbalance.service", 0, 0, NULL },
	{ KNOB_UNIT, FORM_STATE, "nvidia-spark-mlnx-firmware-manager.service", 0, 0, NULL },

	{ KNOB_MODULE, FORM_STATE, "nvidia-peermem", 0, 0, NULL },
	{ KNOB_POWER, FORM_RANGE, "nvpmodel", 0, 63, NULL },
};

/* The other kinds know their names themselves, and check what they take. */
static bool is_listed(enum knob_kind kind)
{
	return kind == KNOB_SYSCTL || kind == KNOB_SYSFS || kind == KNOB_MODPARAM ||
	       kind == KNOB_BOOTARG || kind == KNOB_UNIT || kind == KNOB_MODULE ||
	       kind == KNOB_POWER;
}

static const struct bound *bound_of(const struct knob *k)
{
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		if (bounds[i].kind == k->kind &&
		    str_matches(bounds[i].name, k->name, FNM_PATHNAME | FNM_NOESCAPE))
			return &bounds[i];
	return NULL;
}

bool knob_known(const struct knob *k)
{
	return !is_listed(k->kind) ? knob_ops_of(k->kind) != NULL : bound_of(k) != NULL;
}

const char *knob_unit(const struct knob *k)
{
	const struct bound *b = is_listed(k->kind) ? bound_of(k) : NULL;

	return b && (b->form == FORM_RANGE || b->form == FORM_THREE) ? b->words : NULL;
}

static bool kinds_has_word(const char *words, const char *word, size_t n)
{
	return words_have(words, word, n) || (!*words && !n);
}

static bool in_range(const struct bound *b, const char *value, long long *n)
{
	return knob_is_number(value) && parse_i64(value, n) == 0 && *n >= b->least && *n <= b->most;
}

static bool are_three(const struct bound *b, const char *value)
{
	ARENA_AUTO a = { 0 };
	long long n = 0, before = b->least;
	size_t words = 0;
	bool good = true;

	for (const char *p = value; good && *p; words++) {
		size_t len = strcspn(p, " ");

		good = in_range(b, arena_strndup(&a, p, len), &n) && n >= before;
		before = n;
		p += len;
		p += strspn(p, " ");
	}
	return good && words == 3;
}

static bool are_cpus(const struct bound *b, const char *value)
{
	ARENA_AUTO a = { 0 };
	struct idset cpus;
	bool good;

	for (size_t n = strcspn(value, ",");
	     b->words && value[n] && kinds_has_word(b->words, value, n); n = strcspn(value, ","))
		value += n + 1;
	good = strspn(value, "0123456789,-") == strlen(value) &&
	       idset_parse(&a, value, &cpus) == 0 && cpus.n > 0;
	return good;
}

static bool is_mask(const char *value)
{
	return *value && strspn(value, "0123456789abcdef,") == strlen(value);
}

static bool is_within(const struct bound *b, const char *value)
{
	long long n;

	switch (b->form) {
	case FORM_RANGE:
		return in_range(b, value, &n);
	case FORM_WORDS:
		return kinds_has_word(b->words, value, strlen(value));
	case FORM_THREE:
		return are_three(b, value);
	case FORM_CPUS:
		return are_cpus(b, value);
	case FORM_MASK:
		return is_mask(value);
	case FORM_STATE:
		return true;
	default:
		return false;
	}
}

static const char *kinds_range_text(struct arena *a, const struct bound *b)
{
	const char *unit = b->words ? b->words : "";

	switch (b->form) {
	case FORM_RANGE:
		return arena_printf(a, "%lld to %lld%s%s", b->least, b->most, *unit ? " " : "",
				    unit);
	case FORM_WORDS:
		return *unit ? arena_printf(a, "one of: %s", unit) : "no value";
	case FORM_THREE:
		return arena_printf(a, "three non-decreasing numbers, %lld to %lld %s", b->least,
				    b->most, unit);
	case FORM_CPUS:
		return "a list of CPUs such as 2-5,8";
	case FORM_MASK:
		return "hexadecimal digits such as 00000000,000000ff";
	default:
		return "there is no new value; gputune can only restore the old value";
	}
}

bool knob_allows(struct arena *a, const struct knob *k, const char *value, const char **why)
{
	const struct bound *b = is_listed(k->kind) ? bound_of(k) : NULL;

	if (!knob_valid(k, value, why))
		return false;
	if (!knob_known(k))
		return knob_unsound(why, arena_printf(a, "gputune does not change %s", k->name));
	if (!b || is_within(b, value))
		return true;
	return knob_unsound(why, arena_printf(a, "%s takes %s, not \"%.60s\"", k->name,
					      kinds_range_text(a, b), value));
}

/* Whether the value has the form of what this place holds: a number, one word, three numbers. Knobs
 * without a row of bounds, and those that hold anything, take all. */
static bool knob_form_valid(const struct knob *k, const char *value, const char **why)
{
	const struct bound *b =
		k->kind == KNOB_SYSCTL || k->kind == KNOB_SYSFS || k->kind == KNOB_MODPARAM
			? bound_of(k)
			: NULL;
	const char *number = value, *twin = strchr(value, '=');

	if (!b || b->form == FORM_BACK)
		return true;
	if (b->form == FORM_WORDS)
		return knob_is_word(value, 64, "+_-") ||
		       knob_unsound(why, "the value is not a single word");
	if (b->form == FORM_THREE)
		return (*value && strspn(value, "0123456789 -") == strlen(value)) ||
		       knob_unsound(why, "the value is not a list of numbers");
	if (b->form == FORM_MASK)
		return is_mask(value) || knob_unsound(why, "the value is not a CPU mask");
	/* Of two that are one limit the other's value. */
	if (twin)
		number = twin + 1;
	number += *number == '-';
	return knob_is_number(number) || knob_unsound(why, "the value is not a number");
}

bool knob_valid(const struct knob *k, const char *value, const char **why)
{
	const struct knob_ops *ops = knob_ops_of(k->kind);
	const char *unused;

	if (!why)
		why = &unused;
	if (!ops)
		return knob_unsound(why, "unknown kind of knob");
	if (!k->name || !*k->name || !kinds_clean(k->name, NAME_MAX_LEN))
		return knob_unsound(
			why,
			"\"name\" is empty, too long, not UTF-8, or contains control characters");
	if (!k->object || !kinds_clean(k->object, OBJECT_MAX))
		return knob_unsound(
			why, "\"object\" is too long, not UTF-8, or contains control characters");
	if (value &&
	    !kinds_clean(value, k->kind == KNOB_FILE || k->kind == KNOB_BLOCK ? CONTENT_VALUE_MAX
									      : VALUE_MAX))
		return knob_unsound(
			why, "the value is too long, not UTF-8, or contains control characters");
	return ops->valid(k, value, why) && (!value || knob_form_valid(k, value, why));
}
