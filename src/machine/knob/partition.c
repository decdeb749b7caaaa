/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPUs set aside while the machine runs: an isolated partition of the cpuset controller, in a
 * control group of our own that holds no process. Its value is the list of those CPUs, or
 *   "none"                  there is no such group
 *   "none, controller off"  the same, and the root group hands the controller to nobody: the
 * machine behaves as with "none", but a write of it turns the controller off again, if no other
 * program uses it "not finished"          the group is there and no partition: a write of ours was
 * cut off, or the kernel took the CPUs back Journals hold these texts: they are never reworded.
 * Source: admin-guide/cgroup-v2, cpuset.cpus.partition; "isolated" is there since Linux 6.1. Linux
 * before 6.2 forgets, when CPUs come and go, which ones a program had bound itself to.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/idset.h"
#include "base/text.h"
#include "machine/write/write.h"
#include "machine/knob/kinds.h"

#define CGROUPS "/sys/fs/cgroup"
#define HANDED CGROUPS "/cgroup.subtree_control"
#define GROUP CGROUPS "/gputune-isolated"
#define GROUP_CPUS GROUP "/cpuset.cpus"
#define GROUP_STATE GROUP "/cpuset.cpus.partition"

/* LIST: a list of every second CPU is long, and no longer than what may be written. */
enum { LINE = 512, LIST = 4096 + 1 };

static const char none[] = "none", none_off[] = "none, controller off", cut[] = "not finished";

/* 1: the root group hands the controller to its children; 0: not. -EOPNOTSUPP: there is none. */
static int handed(struct host *h)
{
	char line[LINE];
	int r = host_read_line(h, CGROUPS "/cgroup.controllers", line, sizeof(line));

	if (r < 0)
		return r;
	if (!words_have(line, "cpuset", strlen("cpuset")))
		return -EOPNOTSUPP;
	r = host_read_line(h, HANDED, line, sizeof(line));
	return r < 0 ? r : words_have(line, "cpuset", strlen("cpuset"));
}

static int partition_read_state(struct host *h, struct arena *a, const char **value)
{
	char line[LINE], list[LIST];
	int r = handed(h);

	if (r < 0)
		return r;
	if (!host_exists(h, GROUP)) {
		*value = r ? none : none_off;
		return 0;
	}
	*value = cut;
	if (!r || host_read_line(h, GROUP_STATE, line, sizeof(line)) < 0 ||
	    strcmp(line, "isolated") != 0)
		return 0;
	r = host_read_line(h, GROUP_CPUS, list, sizeof(list));
	if (r >= 0)
		*value = arena_strdup(a, list);
	return r < 0 ? r : 0;
}

static int cpuset_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		      struct err *e)
{
	int r = partition_read_state(h, a, value);

	if (r == -EOPNOTSUPP)
		return err_set(e, r,
			       "could not read %s: cgroup v2 has no cpuset controller: cgroup v1 "
			       "uses this controller, or the kernel lacks it",
			       k->name);
	return r ? knob_fail(e, r, "read", k) : 0;
}

static struct fact_str cpuset_look(struct host *h, struct arena *a, const struct knob *k)
{
	struct fact_str out = { .f = { .seen = SEEN_OK, .leaf = CGROUPS } };
	int r = partition_read_state(h, a, &out.v);

	(void)k;
	if (r)
		out = (struct fact_str){
			.f = { .seen = seen_from_errno(r), .err = r < 0 ? -r : r, .leaf = CGROUPS }
		};
	return out;
}

/*
 * Gives the CPUs back and takes the group away; it is what tells that a write was cut off, so it
 * goes last. Somebody else who uses the controller by now keeps it.
 */
static int dissolve(struct host *h, bool off)
{
	int r = 0;

	if (host_exists(h, GROUP_STATE))
		r = host_write(h, GROUP_STATE, "member");
	if (r == 0 && off && handed(h) == 1) {
		r = host_write(h, HANDED, "-cpuset");
		r = r == -EBUSY ? 0 : r;
	}
	return r == 0 && host_exists(h, GROUP) ? host_remove(h, GROUP) : r;
}

/* The kernel takes the word and says afterwards why it did not do it. */
static int check_state(struct host *h, const struct knob *k, const char *value, struct err *e)
{
	char line[LINE];
	int r = host_read_line(h, GROUP_STATE, line, sizeof(line));

	if (r < 0)
		return knob_fail(e, r, "set", k);
	return strcmp(line, "isolated") == 0
		       ? 0
		       : err_set(e, -EINVAL, "could not isolate CPUs %s: the kernel reports \"%s\"",
				 value, line);
}

/* Of a partition that is there the list could only be narrowed. */
static int give_list(struct host *h, const char *value)
{
	int r = host_write(h, GROUP_STATE, "member");

	return r ? r : host_write(h, GROUP_CPUS, value);
}

/* What was there before a write that failed; where it does not come back either, no group. */
static void partition_bring_back(struct host *h, const char *old, bool off)
{
	char line[LINE];

	if (*old && give_list(h, old) == 0 && host_write(h, GROUP_STATE, "isolated") == 0 &&
	    host_read_line(h, GROUP_STATE, line, sizeof(line)) == 0 &&
	    strcmp(line, "isolated") == 0)
		return;
	dissolve(h, off);
}

static int isolate(struct host *h, const struct knob *k, const char *value, const char *old,
		   struct err *e)
{
	int on = handed(h), r = on < 0 ? on : 0;

	if (r == 0 && !host_exists(h, GROUP))
		r = host_make_dir(h, GROUP, 0755);
	if (r == 0 && !on)
		r = host_write(h, HANDED, "+cpuset");
	if (r == 0)
		r = give_list(h, value);
	if (r == 0) {
		r = host_write(h, GROUP_STATE, "isolated");
		if (r == -EINVAL)
			err_set(e, r,
				"could not isolate CPUs %s: isolated partitions require Linux 6.1",
				value);
		r = r == 0	   ? check_state(h, k, value, e)
		    : r == -EINVAL ? r
				   : knob_fail(e, r, "set", k);
	} else {
		knob_fail(e, r, "set", k);
	}
	if (r)
		partition_bring_back(h, old, on == 0);
	return r;
}

static int cpuset_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		      struct err *e)
{
	bool off = strcmp(value, none_off) == 0;
	const char *old = none;
	int r;

	if (!off && strcmp(value, none) != 0) {
		(void)partition_read_state(h, a, &old);
		return isolate(h, k, value, isdigit((unsigned char)*old) ? old : "", e);
	}
	r = dissolve(h, off);
	if (r == -EBUSY)
		err_set(e, r, "could not remove %s: the group has processes or subgroups", GROUP);
	return r && r != -EBUSY ? knob_fail(e, r, "set", k) : r;
}

static bool cpuset_valid(const struct knob *k, const char *value, const char **why)
{
	struct arena a = { 0 };
	struct idset cpus = { 0 };
	bool list, first;

	if (strcmp(k->name, "isolated") != 0)
		return knob_unsound(why, "unknown CPU partition");
	if (*k->object)
		return knob_unsound(why, "\"object\" must be empty for a CPU partition");
	if (!value || strcmp(value, none) == 0 || strcmp(value, none_off) == 0)
		return true;
	list = strspn(value, "0123456789,-") == strlen(value) &&
	       idset_parse(&a, value, &cpus) == 0 && idset_count(&cpus);
	first = list && idset_has(&cpus, 0);
	arena_free(&a);
	if (!list)
		return knob_unsound(why, "expected a list of CPUs such as 2-5,8, or none");
	if (first)
		return knob_unsound(why, "CPU 0 is required for housekeeping");
	return true;
}

static const char *cpuset_command(struct arena *a, const struct knob *k, const char *value)
{
	(void)k;
	if (strcmp(value, none_off) == 0)
		return "echo member > " GROUP_STATE " && echo -cpuset > " HANDED " && rmdir " GROUP;
	if (strcmp(value, none) == 0)
		return "echo member > " GROUP_STATE " && rmdir " GROUP;
	return arena_printf(a,
			    "mkdir -p " GROUP " && echo +cpuset > " HANDED
			    " && echo %s > " GROUP_CPUS " && echo isolated > " GROUP_STATE,
			    value);
}

/* What was cut off counts as any list, so that it is taken back after a crash. */
static bool cpuset_same(const struct knob *k, const char *x, const char *y)
{
	bool x_none = str_starts(x, none), y_none = str_starts(y, none);
	ARENA_AUTO a = { 0 };
	struct idset of_x, of_y;
	bool same;

	(void)k;
	if (x_none || y_none)
		return x_none && y_none;
	if (strcmp(x, cut) == 0 || strcmp(y, cut) == 0)
		return true;
	same = idset_parse(&a, x, &of_x) == 0 && idset_parse(&a, y, &of_y) == 0 &&
	       idset_equal(&of_x, &of_y);
	return same;
}

const struct knob_ops knob_ops_cpuset = {
	.get = cpuset_get,
	.set = cpuset_set,
	.look = cpuset_look,
	.valid = cpuset_valid,
	.command = cpuset_command,
	.same = cpuset_same,
};
