/* SPDX-License-Identifier: Apache-2.0 */
/* A small captured machine that takes writes into an overlay, and plans of a few changes to it. */
#ifndef TESTS_LAB_H
#define TESTS_LAB_H

#include "box.h"

#include "fault.h"
#include "machine/write/write.h"
#include "machine/knob/io.h"
#include "look/settings/settings.h"
#include "tune/txn/txn.h"

#define LAB_GPU "0000:01:00.0"
#define LAB_BOOT "11111111-1111-1111-1111-111111111111"
#define LAB_QUEUE "/sys/block/nvme0n1/queue/"

enum { LAB_CHANGES = 8 };

struct lab {
	struct box box;
	struct arena a;
	struct host *h;
	struct plan plan;
	struct change changes[LAB_CHANGES];
	struct setting settings[LAB_CHANGES];
	struct txn_report report; /* of what was done last */
	const char *op;		  /* of what is applied; NULL: "apply" */
	struct err e;
};

static inline void lab_machine(const struct box *b)
{
	static const char boot[] = LAB_BOOT "\n";

	box_file(b, "m/meta.json", BOX_META("absent"));
	box_file(b, "m/root/proc/sys/kernel/random/boot_id", boot);
	box_file(b, "m/root/proc/sys/vm/swappiness", "60\n");
	box_file(b, "m/root/proc/sys/vm/dirty_ratio", "20\n");
	box_file(b, "m/root/proc/sys/vm/dirty_bytes", "0\n");
	box_file(b, "m/root/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
	box_file(b, "m/root/sys/devices/pci0/nvme0n1/queue/scheduler",
		 "none [mq-deadline] kyber\n");
	box_file(b, "m/root/sys/devices/pci0/nvme0n1/queue/nr_requests", "64\n");
	box_link(b, "m/root/sys/block/nvme0n1", "../devices/pci0/nvme0n1");
	box_folder(b, "m/root/sys/devices/pci0/" LAB_GPU);
	box_link(b, "m/root/sys/bus/pci/devices/" LAB_GPU, "../../../devices/pci0/" LAB_GPU);
	box_file(b, "m/root/var/lib/.gitkeep", "");
	box_file(b, "m/api/nvml.json",
		 "{\"\": {\"nvmlDeviceGetCount\": 1}, \"0\": {"
		 "\"nvmlDeviceGetPciInfo.busId\": \"00000000:01:00.0\","
		 "\"nvmlDeviceGetMaxClockInfo(SM)\": 1980, \"nvmlDeviceGetClockInfo(SM)\": 345,"
		 "\"nvmlDeviceGetPersistenceMode\": 0}}\n");
}

/* The machine as it is now, for as many hosts as are asked for. */
static inline struct host *lab_host(struct lab *l)
{
	char machine[512], overlay[512];
	struct err e = { 0 };
	struct host *h = host_open_overlay(box_path(&l->box, "m", machine, sizeof(machine)),
					   box_path(&l->box, "o", overlay, sizeof(overlay)), &e);

	if (!h)
		fail_msg("%s", e.text);
	return h;
}

static inline void lab_open(struct lab *l)
{
	*l = (struct lab){ 0 };
	box_make(&l->box);
	lab_machine(&l->box);
	l->h = lab_host(l);
}

/* The next command: another process, as far as the machine can tell. */
static inline void lab_next(struct lab *l)
{
	host_close(l->h);
	l->h = lab_host(l);
	l->plan = (struct plan){ 0 };
}

static inline void lab_close(struct lab *l)
{
	host_close(l->h);
	arena_free(&l->a);
	box_remove(&l->box);
}

/* NULL: it has no getter. */
static inline const char *lab_value(struct lab *l, enum knob_kind kind, const char *name)
{
	struct knob k = { kind, name, kind == KNOB_NVML ? LAB_GPU : "" };
	struct err e = { 0 };
	const char *v = NULL;
	int r = knob_get(l->h, &l->a, &k, &v, &e);

	if (r && r != -ENODATA)
		fail_msg("%s", e.text);
	return v;
}

static inline const char *lab_sysctl(struct lab *l, const char *name)
{
	return lab_value(l, KNOB_SYSCTL, name);
}

static inline const char *lab_queue(struct lab *l, const char *name)
{
	return lab_value(l, KNOB_SYSFS, arena_printf(&l->a, LAB_QUEUE "%s", name));
}

static inline long long lab_clock(struct lab *l)
{
	long long mhz = 0;

	assert_int_equal(host_ask_int(l->h, "nvml", "0", "nvmlDeviceGetClockInfo(SM)", &mhz), 0);
	return mhz;
}

/* As somebody with a shell. */
static inline void lab_by_hand(struct lab *l, const char *path, const char *text)
{
	assert_int_equal(host_write(l->h, path, text), 0);
}

/* Adds a change to the plan that is next applied; the setting is called as the knob. */
static inline struct change *lab_change(struct lab *l, const char *id, enum knob_kind kind,
					const char *name, const char *after)
{
	struct change *c = &l->changes[l->plan.n];
	struct setting s = { .id = id, .title = id, .source = "a test" };

	assert_true(l->plan.n < LAB_CHANGES);
	memcpy(&l->settings[l->plan.n], &s, sizeof(s));
	*c = (struct change){
		.s = &l->settings[l->plan.n],
		.target = "",
		.knob = { kind, name, kind == KNOB_NVML ? LAB_GPU : "" },
		.before = lab_value(l, kind, name),
		.after = after,
	};
	l->plan.profile = "default";
	l->plan.changes = l->changes;
	l->plan.n++;
	return c;
}

static inline int lab_apply(struct lab *l)
{
	struct txn_who who = { .user = "tester", .version = "1", .op = l->op };
	int r;

	l->e = (struct err){ 0 };
	r = txn_apply(l->h, &l->a, &l->plan, &who, &l->report, &l->e);
	lab_next(l);
	return r;
}

/* One change, applied as a transaction of its own. */
static inline void lab_make(struct lab *l, const char *id, enum knob_kind kind, const char *name,
			    const char *after)
{
	lab_change(l, id, kind, name, after);
	if (lab_apply(l))
		fail_msg("%s", l->e.text);
}

static inline int lab_undo(struct lab *l, struct txn_select s)
{
	struct txn_who who = { .user = "tester", .version = "1" };
	int r;

	l->e = (struct err){ 0 };
	r = txn_undo(l->h, &l->a, &s, &who, &l->report, &l->e);
	lab_next(l);
	return r;
}

static inline void lab_undo_txn(struct lab *l, unsigned long txn)
{
	if (lab_undo(l, (struct txn_select){ .txn = txn }))
		fail_msg("%s", l->e.text);
}

static inline void lab_journal(struct lab *l, struct journal *j)
{
	struct err e = { 0 };

	if (journal_load(l->h, &l->a, true, j, &e))
		fail_msg("%s", e.text);
}

/* This is all there is of the journal. */
static inline void lab_set_journal(struct lab *l, const char *text)
{
	box_file(&l->box, "o/root" TXN_JOURNAL, text);
	host_remove(l->h, TXN_COPY);
	lab_next(l);
}

/* The machine is what it was when it was captured: nothing but our own files is in the overlay. */
static inline bool lab_is_original(struct lab *l)
{
	return strcmp(lab_sysctl(l, "vm.swappiness"), "60") == 0 &&
	       strcmp(lab_sysctl(l, "vm.dirty_ratio"), "20") == 0 &&
	       strcmp(lab_sysctl(l, "vm.dirty_bytes"), "vm.dirty_ratio=20") == 0 &&
	       strcmp(lab_sysctl(l, "net.ipv4.tcp_rmem"), "4096 131072 6291456") == 0 &&
	       strcmp(lab_queue(l, "scheduler"), "mq-deadline") == 0 &&
	       strcmp(lab_queue(l, "nr_requests"), "64") == 0 && lab_clock(l) == 345;
}

#endif
