/* SPDX-License-Identifier: Apache-2.0 */
/* What one node makes of its part of a wiring, on a captured machine that takes writes: addresses
 * and lines of ours in others' files as knobs, the files of each owner, and that all of it goes
 * back to the byte. */
#include <sys/wait.h>

#include "lab.h"

#include "base/text.h"
#include "many/cluster/rollback_timer.h"
#include "many/cluster/setup.h"
#include "machine/host/ask.h"
#include "look/probe/probe.h"

#define IF0 "enp1s0f0np0"
#define IF1 "enp1s0f1np1"
#define HOSTS "/etc/hosts"

static void ports_of_machine(const struct box *b)
{
	static const char *const all[] = { IF0, IF1 };

	for (size_t i = 0; i < 2; i++) {
		char path[256], to[256];

		snprintf(path, sizeof(path), "m/root/sys/devices/pci0/0000:01:00.%zu/net/%s/mtu", i,
			 all[i]);
		box_file(b, path, "1500\n");
		snprintf(path, sizeof(path), "m/root/sys/devices/pci0/0000:01:00.%zu/net/%s/type",
			 i, all[i]);
		box_file(b, path, "1\n");
		snprintf(path, sizeof(path), "m/root/sys/class/net/%s", all[i]);
		snprintf(to, sizeof(to), "../../devices/pci0/0000:01:00.%zu/net/%s", i, all[i]);
		box_link(b, path, to);
	}
	box_file(b, "m/api/if.json",
		 "{\"" IF0 "\": {\"ipv4\": \"169.254.9.9/16\", \"max_mtu\": 9978}, \"" IF1
		 "\": {\"ipv4\": \"\", \"max_mtu\": 9978}}\n");
}

static void open_lab(struct lab *l)
{
	*l = (struct lab){ 0 };
	box_make(&l->box);
	lab_machine(&l->box);
	ports_of_machine(&l->box);
	box_file(&l->box, "m/root/etc/.gitkeep", "");
	box_file(&l->box, "m/root/run/.gitkeep", "");
	l->h = lab_host(l);
}

/* --- the two knobs ---------------------------------------------------------------------------- */

static const char *value(struct lab *l, const struct knob *k)
{
	const char *v = NULL;
	struct err e = { 0 };

	if (knob_get(l->h, &l->a, k, &v, &e))
		fail_msg("%s", e.text);
	return v;
}

static void set(struct lab *l, const struct knob *k, const char *v)
{
	struct err e = { 0 };

	if (knob_set(l->h, &l->a, k, v, &e))
		fail_msg("%s", e.text);
}

static void test_address(void **state)
{
	static const struct knob k = { KNOB_ADDRESS, "192.168.100.1/24", IF0 },
				 bad[] = { { KNOB_ADDRESS, "192.168.100.1", IF0 },
					   { KNOB_ADDRESS, "192.168.100.1/0", IF0 },
					   { KNOB_ADDRESS, "192.168.100.1/024", IF0 },
					   { KNOB_ADDRESS, "fe80::1/64", IF0 },
					   { KNOB_ADDRESS, "192.168.100.1/24 x", IF0 },
					   { KNOB_ADDRESS, "192.168.100.1/24", "a b" } };
	struct answer list;
	struct lab l;

	(void)state;
	open_lab(&l);
	assert_string_equal(value(&l, &k), "absent");
	set(&l, &k, "present");
	set(&l, &k, "present");
	assert_string_equal(value(&l, &k), "present");
	assert_int_equal(host_ask(l.h, "if", IF0, "ipv4", &list), 0);
	assert_string_equal(list.text, "169.254.9.9/16 192.168.100.1/24");
	set(&l, &k, "absent");
	assert_int_equal(host_ask(l.h, "if", IF0, "ipv4", &list), 0);
	assert_string_equal(list.text, "169.254.9.9/16");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(knob_valid(&bad[i], NULL, NULL));
	assert_false(knob_valid(&k, "perhaps", NULL));
	assert_string_equal(knob_command(&l.a, &k, "present"),
			    "ip address add 192.168.100.1/24 dev " IF0 " broadcast +");
	lab_close(&l);
}

static const char lines[] = "192.168.100.2\\tspark-b-fabric\\n";

static void there_and_back(const char *before)
{
	static const struct knob k = { KNOB_BLOCK, HOSTS, "" };
	const char *wanted;
	char *now;
	struct lab l;
	size_t len;

	open_lab(&l);
	if (before)
		assert_int_equal(host_put(l.h, HOSTS, before, strlen(before), 0600), 0);
	assert_string_equal(value(&l, &k), "absent");
	wanted = arena_printf(&l.a, "0644:%s", lines);
	set(&l, &k, wanted);
	assert_string_equal(value(&l, &k), wanted);
	set(&l, &k, arena_printf(&l.a, "0644:%s192.168.101.2 x\\n", lines));
	set(&l, &k, wanted);
	assert_string_equal(value(&l, &k), wanted);
	set(&l, &k, "absent");
	assert_string_equal(value(&l, &k), "absent");
	if (before) {
		assert_int_equal(host_read(l.h, HOSTS, 1 << 16, &l.a, &now, &len), 0);
		assert_string_equal(now, before);
	} else {
		assert_false(host_exists(l.h, HOSTS));
	}
	lab_close(&l);
}

static void test_block(void **state)
{
	(void)state;
	there_and_back("127.0.0.1 localhost\n");
	there_and_back("127.0.0.1 localhost");
	there_and_back("127.0.0.1 localhost\n\n\n");
	there_and_back("\n");
	there_and_back("");
	there_and_back(NULL);
}

/* A last line without its end that would become a mark of ours, and a file that could not be read
 * again with our lines in it, are left as they are. */
static void test_block_no_room(void **state)
{
	static const struct knob k = { KNOB_BLOCK, HOSTS, "" };
	static const char *const last[] = { "# gputune cluster: begin", "# gputune cluster: end" };
	enum { LARGE = 1 << 20 };
	struct err e = { 0 };
	char *now, *large;
	struct lab l;

	(void)state;
	open_lab(&l);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(host_put(l.h, HOSTS, last[i], strlen(last[i]), 0644), 0);
		assert_int_equal(knob_set(l.h, &l.a, &k, "0644:x\\n", &e), -EBADMSG);
		assert_int_equal(host_read(l.h, HOSTS, 1 << 16, &l.a, &now, NULL), 0);
		assert_string_equal(now, last[i]);
	}
	large = arena_alloc(&l.a, LARGE);
	memset(large, '\n', LARGE);
	assert_int_equal(host_put(l.h, HOSTS, large, LARGE, 0644), 0);
	assert_int_equal(knob_set(l.h, &l.a, &k, "0644:x\\n", &e), -EFBIG);
	assert_string_equal(value(&l, &k), "absent");
	lab_close(&l);
}

/* What somebody wrote above and below stays, and what has been done to the marks is not guessed. */
static void test_block_edited(void **state)
{
	static const struct knob k = { KNOB_BLOCK, HOSTS, "" };
	struct lab l;
	struct err e = { 0 };
	char *now;

	(void)state;
	open_lab(&l);
	host_put(l.h, HOSTS, "a\n", 2, 0644);
	set(&l, &k, "0644:x\\n");
	assert_int_equal(host_read(l.h, HOSTS, 1 << 16, &l.a, &now, NULL), 0);
	now = arena_printf(&l.a, "first\n%slast", now);
	host_put(l.h, HOSTS, now, strlen(now), 0644);
	set(&l, &k, "absent");
	assert_int_equal(host_read(l.h, HOSTS, 1 << 16, &l.a, &now, NULL), 0);
	assert_string_equal(now, "first\na\nlast");
	now = arena_strdup(&l.a, "# gputune cluster: begin\nx\n");
	host_put(l.h, HOSTS, now, strlen(now), 0644);
	assert_string_equal(value(&l, &k), "broken marks");
	assert_int_equal(knob_set(l.h, &l.a, &k, "absent", &e), -EBADMSG);
	host_remove(l.h, HOSTS);
	host_make_link(l.h, HOSTS, "/etc/elsewhere");
	assert_int_equal(knob_set(l.h, &l.a, &k, "0644:x\\n", &e), -ELOOP);
	assert_false(knob_valid(&k, "0644:no end", NULL));
	assert_false(knob_valid(&k, "0644:# gputune cluster: end\\n", NULL));
	assert_false(knob_valid(&(struct knob){ KNOB_BLOCK, "/etc/passwd", "" }, NULL, NULL));
	lab_close(&l);
}

/* --- a node's setup --------------------------------------------------------------------------- */

static const struct machine *probe(struct lab *l)
{
	struct machine *m = ARENA_NEW(&l->a, struct machine);
	struct probe p = { .h = l->h, .a = &l->a, .m = m };

	probe_machine(&p);
	return m;
}

static struct setup_want wish(void)
{
	return (struct setup_want){ .ports = { { IF0, "192.168.100.1/24", 9000 },
					       { IF1, "192.168.101.1/24", 9000 } },
				    .n = 2,
				    .hosts = "192.168.100.2\tspark-b-fabric\n",
				    .known_hosts = "" };
}

static const struct change *change_of(const struct plan *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->changes[i].knob.name, name) == 0)
			return &p->changes[i];
	return NULL;
}

static void make(struct lab *l, struct setup *out)
{
	struct setup_want w = wish();

	setup_make(&l->a, l->h, probe(l), &w, out);
}

/* Nobody's: live alone, and the lines. */
static void test_nobody(void **state)
{
	struct setup s;
	struct lab l;

	(void)state;
	open_lab(&l);
	make(&l, &s);
	assert_int_equal(s.owners[0], SETUP_NOBODY);
	assert_int_equal(s.trial.n, 4);
	assert_string_equal(change_of(&s.trial, "mtu")->before, "1500");
	assert_string_equal(change_of(&s.trial, "192.168.100.1/24")->after, "present");
	assert_int_equal(s.keep.n, 1);
	assert_non_null(change_of(&s.keep, HOSTS));
	/* The lab is a captured machine, which is said. */
	assert_int_equal(s.n_notes, 2);
	assert_true(str_starts(s.notes[1], "This is a captured machine"));
	assert_int_equal(s.n_refusals, 0);
	lab_close(&l);
}

static void test_netplan(void **state)
{
	static const char own[] = "network:\n  ethernets:\n    fast0:\n      match:\n"
				  "        name: " IF0 "\n";
	struct setup s;
	struct lab l;
	const struct change *c;

	(void)state;
	open_lab(&l);
	host_make_dir(l.h, "/etc/netplan", 0755);
	host_put(l.h, "/etc/netplan/01-own.yaml", own, strlen(own), 0600);
	make(&l, &s);
	assert_int_equal(s.owners[0], SETUP_NETPLAN_OWNS);
	c = change_of(&s.trial, "/run/netplan/" SETUP_NETPLAN);
	assert_non_null(c);
	assert_non_null(strstr(c->after, "\"fast0\":"));
	assert_non_null(strstr(c->after, "\"" IF1 "\":"));
	c = change_of(&s.keep, "/etc/netplan/" SETUP_NETPLAN);
	assert_non_null(c);
	assert_int_equal(strncmp(c->after, "0600:", 5), 0);
	lab_close(&l);
}

static void test_manager_and_networkd(void **state)
{
	struct setup s;
	struct lab l;

	(void)state;
	open_lab(&l);
	host_make_dir(l.h, "/etc/systemd", 0755);
	host_make_dir(l.h, "/etc/systemd/network", 0755);
	host_put(l.h, "/etc/systemd/network/20-own.network", "[Match]\nName=" IF0 "\n", 25, 0644);
	host_make_dir(l.h, "/run/NetworkManager", 0755);
	host_make_dir(l.h, "/run/NetworkManager/devices", 0755);
	make(&l, &s);
	assert_int_equal(s.owners[0], SETUP_NETWORKD);
	assert_int_equal(s.owners[1], SETUP_MANAGER);
	assert_non_null(
		change_of(&s.keep, "/etc/systemd/network/05-gputune-cluster-" IF0 ".network"));
	assert_non_null(change_of(&s.trial, "/run/NetworkManager/system-connections/"
					    "gputune-cluster-" IF1 ".nmconnection"));
	assert_non_null(change_of(&s.keep, "/etc/NetworkManager/system-connections/"
					   "gputune-cluster-" IF1 ".nmconnection"));
	lab_close(&l);
}

/* Of files of one name /etc has the say, by their names the first that means the link; what leads
 * to /dev/null counts nowhere. */
static void test_networkd_merged(void **state)
{
	static const char match[] = "[Match]\nName=" IF0 "\n", second[] = "[Match]\nName=" IF1 "\n";
	struct setup s;
	struct lab l;

	(void)state;
	open_lab(&l);
	for (int i = 0; i < 4; i++) {
		static const char *const folders[] = { "/etc/systemd", "/etc/systemd/network",
						       "/run/systemd", "/run/systemd/network" };

		host_make_dir(l.h, folders[i], 0755);
	}
	host_put(l.h, "/etc/systemd/network/20-own.network", match, sizeof(match) - 1, 0644);
	host_put(l.h, "/run/systemd/network/10-netplan-" IF0 ".network", match, sizeof(match) - 1,
		 0644);
	host_put(l.h, "/etc/systemd/network/30-own.network", second, sizeof(second) - 1, 0644);
	host_make_link(l.h, "/etc/systemd/network/10-netplan-" IF1 ".network", "/dev/null");
	host_put(l.h, "/run/systemd/network/10-netplan-" IF1 ".network", second, sizeof(second) - 1,
		 0644);
	make(&l, &s);
	assert_int_equal(s.owners[0], SETUP_NETPLAN_OWNS);
	assert_int_equal(s.owners[1], SETUP_NETWORKD);
	lab_close(&l);
}

static int apply(struct lab *l, const struct plan *p)
{
	struct txn_who who = { .user = "tester", .version = "1", .op = SETUP_OP };
	int r = txn_apply(l->h, &l->a, p, &who, &l->report, &l->e);

	lab_next(l);
	return r;
}

/* Made, nothing more to do; undone, as it was. */
static void test_whole_way(void **state)
{
	struct setup s, again;
	struct lab l;
	const char *digest;
	char *now;

	(void)state;
	open_lab(&l);
	host_put(l.h, HOSTS, "127.0.0.1 localhost", 19, 0644);
	host_make_dir(l.h, "/etc/netplan", 0755);
	make(&l, &s);
	digest = setup_digest(&l.a, &s);
	make(&l, &again);
	assert_string_equal(setup_digest(&l.a, &again), digest);
	if (apply(&l, &s.trial))
		fail_msg("%s", l.e.text);
	make(&l, &again);
	assert_string_not_equal(setup_digest(&l.a, &again), digest);
	if (apply(&l, &s.keep))
		fail_msg("%s", l.e.text);
	make(&l, &again);
	assert_int_equal(again.trial.n, 0);
	assert_int_equal(again.keep.n, 0);
	/* "undo" alone means settings. */
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), -ENOENT);
	if (lab_undo(&l, (struct txn_select){ .all = true, .op = SETUP_OP }))
		fail_msg("%s", l.e.text);
	for (size_t i = 0; i < l.report.n; i++)
		assert_int_equal(l.report.rows[i].outcome, OUTCOME_RESTORED);
	assert_int_equal(host_read(l.h, HOSTS, 1 << 16, &l.a, &now, NULL), 0);
	assert_string_equal(now, "127.0.0.1 localhost");
	assert_false(host_exists(l.h, "/run/netplan"));
	assert_false(host_exists(l.h, "/etc/netplan/" SETUP_NETPLAN));
	make(&l, &again);
	assert_string_equal(setup_digest(&l.a, &again), digest);
	lab_close(&l);
}

static void test_gates(void **state)
{
	static const char *const codes[] = { "no-port", "default-route", "gpu-busy" };
	struct setup_want w = wish();
	struct setup s = { 0 };
	const struct machine *m;
	struct gpu_process *job;
	struct gpu *gpu;
	struct lab l;

	(void)state;
	open_lab(&l);
	box_file(&l.box, "m/root/proc/net/route",
		 "Iface Destination Gateway Flags RefCnt Use Metric Mask\n" IF1
		 " 00000000 0100A8C0 0003 0 0 0 00000000 0 0 0\n");
	lab_next(&l);
	w.ports[w.n++] = (struct setup_port){ "eth99", "192.168.9.1/24", 9000 };
	m = probe(&l);
	gpu = list_add(&l.a, (struct list *)&m->gpu.gpus, sizeof(*gpu));
	job = list_add(&l.a, &gpu->processes, sizeof(*job));
	job->index = 4711;
	job->kind = (struct fact_str){ .f = { .seen = SEEN_OK }, .v = "compute" };
	setup_gates(&l.a, l.h, m, &w, &s);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		size_t k = 0;

		while (k < s.n_refusals && strcmp(s.refusals[k].code, codes[i]) != 0)
			k++;
		if (k == s.n_refusals)
			fail_msg("%s was not refused", codes[i]);
	}
	lab_close(&l);
}

/* A trial whose program is gone: the dead man takes it back; one that was kept is left. */
static void fire(struct lab *l, const char *claim, bool fired)
{
	static const struct txn_who nobody = { .user = "dead man", .version = "1", .op = SETUP_OP };
	struct rollback_report report;
	struct err e = { 0 };

	host_make_dir(l->h, DEADMAN_DIR, 0700);
	if (claim)
		assert_int_equal(host_put(l->h, claim, "999999 12345 1\n", 15, 0600), 0);
	if (rollback_timer_fire(l->h, &l->a, &nobody, &report, &e))
		fail_msg("%s", e.text);
	assert_int_equal(report.fired, fired);
	assert_false(host_exists(l->h, DEADMAN_CLAIM));
	assert_false(host_exists(l->h, DEADMAN_DECIDED));
	lab_next(l);
}

static void test_dead_man(void **state)
{
	static const struct txn_who who = { .user = "tester", .version = "1" };
	static const struct knob k = { KNOB_ADDRESS, "192.168.100.1/24", IF0 };
	static const char *const claims[] = { DEADMAN_CLAIM, DEADMAN_DECIDED };
	struct txn_trial *t = NULL;
	int status = -1;
	pid_t child;
	struct setup s;
	struct err e = { 0 };
	struct lab l;

	(void)state;
	open_lab(&l);
	fire(&l, NULL, false);
	for (size_t i = 0; i < 2; i++) {
		make(&l, &s);
		child = fork();
		if (child == 0)
			_exit(txn_trial_begin(l.h, &l.a, &who, "cluster plan", &l.report, &t, &e) ||
			      txn_trial_set(t, &s.trial, SETUP_OP, &l.report, &e));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		lab_next(&l);
		assert_string_equal(value(&l, &k), "present");
		fire(&l, NULL, false);
		assert_string_equal(value(&l, &k), "present");
		fire(&l, claims[i], true);
		assert_string_equal(value(&l, &k), "absent");
	}
	make(&l, &s);
	if (apply(&l, &s.trial))
		fail_msg("%s", l.e.text);
	fire(&l, DEADMAN_DECIDED, true);
	assert_string_equal(value(&l, &k), "present");
	lab_close(&l);
}

/* Without a program that lists queue pairs. */
static void test_rdma_openers(void **state)
{
	struct lab l;

	(void)state;
	open_lab(&l);
	assert_string_equal(setup_rdma_openers(&l.a, l.h), "");
	box_link(&l.box, "m/root/proc/1/fd/0", "/dev/null");
	box_link(&l.box, "m/root/proc/812/fd/9", "/dev/infiniband/uverbs1");
	box_file(&l.box, "m/root/proc/812/comm", "vllm\n");
	lab_next(&l);
	assert_string_equal(setup_rdma_openers(&l.a, l.h), "vllm (process 812)");
	lab_close(&l);
}

/* From InfiniBand to Ethernet and back: a value that the adapter keeps. */
static void test_link_type(void **state)
{
	static const struct knob k = { KNOB_FIRMWARE, "LINK_TYPE_P1", LAB_GPU },
				 bad[] = { { KNOB_FIRMWARE, "SRIOV_EN", LAB_GPU },
					   { KNOB_FIRMWARE, "LINK_TYPE_P1", "mlx5_0" } };
	struct setup_want w = {
		.types = { { LAB_GPU, 1 } }, .n_types = 1, .hosts = "", .known_hosts = ""
	};
	struct setup s;
	struct lab l;

	(void)state;
	open_lab(&l);
	box_file(&l.box, "m/api/mlxconfig.json", "{\"" LAB_GPU "\": {\"LINK_TYPE_P1\": 1}}\n");
	lab_next(&l);
	assert_string_equal(value(&l, &k), "1");
	setup_make(&l.a, l.h, probe(&l), &w, &s);
	assert_int_equal(s.trial.n, 0);
	assert_int_equal(s.keep.n, 1);
	assert_string_equal(s.keep.changes[0].after, "2");
	if (apply(&l, &s.keep))
		fail_msg("%s", l.e.text);
	assert_string_equal(value(&l, &k), "2");
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true, .op = SETUP_OP }), 0);
	assert_string_equal(value(&l, &k), "1");
	for (size_t i = 0; i < 2; i++)
		assert_false(knob_valid(&bad[i], NULL, NULL));
	assert_false(knob_valid(&k, "4", NULL));
	lab_close(&l);
}

static void test_mlxconfig(void **state)
{
	static const char output[] =
		"\nDevice #1:\n----------\n\nDevice type:    ConnectX7\nDevice:         "
		"0000:01:00.0\n\nConfigurations:                              Default     Current  "
		" "
		"  Next Boot\n*       LINK_TYPE_P1                        ETH(2)      IB(1)       "
		"ETH(2)\n        LINK_TYPE_P2                        IB(1)\n";
	long long v = 0;

	(void)state;
	assert_int_equal(mlxconfig_parse(output, "LINK_TYPE_P1", &v), 0);
	assert_int_equal(v, 2);
	assert_int_equal(mlxconfig_parse(output, "LINK_TYPE_P2", &v), 0);
	assert_int_equal(v, 1);
	assert_int_equal(mlxconfig_parse(output, "LINK_TYPE_P3", &v), -EOPNOTSUPP);
	assert_int_equal(mlxconfig_parse("LINK_TYPE_P1 ETH\n(2)", "LINK_TYPE_P1", &v), -EPROTO);
	assert_int_equal(mlxconfig_parse("LINK_TYPE_P1 ETH(x)", "LINK_TYPE_P1", &v), -EPROTO);
}

static void test_wish(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"ports\": 3}",
		"{\"ports\": [{}]}",
		"{\"ports\": [{\"name\": \"a/b\", \"address\": \"1.2.3.4/24\", \"mtu\": 9000}]}",
		"{\"ports\": [{\"name\": \"a\", \"address\": \"1.2.3.4\", \"mtu\": 9000}]}",
		"{\"ports\": [{\"name\": \"a\", \"address\": \"1.2.3.4/24\"}]}",
		"{\"ports\": [{\"name\": \"a\", \"address\": \"1.2.3.4/24\", \"mtu\": 90000}]}",
		("{\"ports\": [{\"name\": \"a\", \"address\": \"1.2.3.4/24\", \"mtu\": 9000},"
		 "{\"name\": \"a\", \"address\": \"1.2.3.5/24\", \"mtu\": 9000}]}"),
		"{\"ports\": [], \"hosts\": \"no end\"}",
		"{\"ports\": [], \"hosts\": \"# gputune cluster: end\\n\"}",
		"{\"ports\": [], \"known_hosts\": 7}",
	};
	struct setup_want w;
	struct arena a = { 0 };
	struct err e = { 0 };
	json_t *j;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		j = json_loads(bad[i], 0, NULL);
		assert_non_null(j);
		if (!shape_read(&a, &setup_want_shape, j, &w, &e) &&
		    setup_want_check(&a, &w, &e) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
		json_decref(j);
	}
	j = json_loads("{\"ports\": [{\"name\": \"a\", \"address\": \"1.2.3.4/24\", \"mtu\": "
		       "9000}], \"hosts\": \"1.2.3.5 b\\n\"}",
		       0, NULL);
	assert_int_equal(shape_read(&a, &setup_want_shape, j, &w, &e), 0);
	assert_int_equal(setup_want_check(&a, &w, &e), 0);
	assert_int_equal(w.n, 1);
	assert_string_equal(w.hosts, "1.2.3.5 b\n");
	json_decref(j);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_block),
		cmocka_unit_test(test_block_no_room),
		cmocka_unit_test(test_block_edited),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_netplan),
		cmocka_unit_test(test_manager_and_networkd),
		cmocka_unit_test(test_networkd_merged),
		cmocka_unit_test(test_whole_way),
		cmocka_unit_test(test_gates),
		cmocka_unit_test(test_dead_man),
		cmocka_unit_test(test_rdma_openers),
		cmocka_unit_test(test_link_type),
		cmocka_unit_test(test_mlxconfig),
		cmocka_unit_test(test_wish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
