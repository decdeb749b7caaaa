/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what the live machine answers, by the first byte:
 *
 *   n  NVML: questions, what is told, and what the library says to each
 *   d  the CUDA driver, twice: by the provider's questions, and as benches open and use it
 *   m  its libraries: NCCL with a log, cuBLASLt, cuSPARSELt, cuFile
 *   e  ethtool's ioctls: questions, what is told
 *   k  the kernel's log                             i  interfaces and addresses by rtnetlink
 *   l  interfaces as a node of a cluster sees them  t  who answers ARP probes
 *   f  files that change while they are read, file systems
 *   g  who answers echoes                           a  frames and datagrams on the air
 *   p  programs that are asked                      r  programs on other machines
 *
 * Who answers stands in fuzz_live_driver.h, fuzz_live_kernel.h and fuzz_live_child.h. An answer is
 * a figure or an ended text, or else an errno; nobody reads behind what came; no descriptor,
 * process or memory stays.
 */
#include <math.h>
#include <stdio.h>

#include "many/cluster/neighbor.h"
#include "many/cluster/inventory.h"
#include "many/cluster/ask.h"
#include "fuzz_live_child.h"
#include "fuzz_live_gpu.h"
#include "fuzz_live_kernel.h"
#include "machine/host/command.h"
#include "machine/host/libraries.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int __real_poll(struct pollfd *p, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *p, nfds_t n, int timeout);

int __wrap_poll(struct pollfd *p, nfds_t n, int timeout)
{
	if (!live)
		return __real_poll(p, n, timeout);
	return kernel_net ? kernel_poll(p, n, timeout) : child_poll(p, n, timeout, __real_poll);
}

/* --- the kernel ------------------------------------------------------------------------------- */

static void play_ethtool(void)
{
	static const char *const fields[] = {
		"driver",
		"version",
		"fw_version",
		"rx_pending",
		"rx_max_pending",
		"tx_pending",
		"tx_max_pending",
		"rx_coalesce_usecs",
		"tx_coalesce_usecs",
		"use_adaptive_rx_coalesce",
		"combined_count",
		"max_combined",
	};
	static const char *const names[] = { "eth0", "eth0", "eth1", "an-interface-too-long", "" };
	void *state = NULL;
	struct answer out;

	for (int i = 0; i < OPERATIONS && !live_empty(); i++) {
		const char *name = names[live_byte() % 5];
		unsigned what = live_byte();
		const char *field = what == UCHAR_MAX ? live_text() : fields[what % 12];

		if (what & 0x40)
			tell(&provider_ethtool, &state, name, field);
		else if (ask(&provider_ethtool, &state, name, field, &out) == 0 &&
			 (out.kind == ANSWER_TEXT ? strlen(out.text) > ETHTOOL_FWVERS_LEN
						  : out.i < 0 || out.i > UINT32_MAX))
			abort();
	}
	end(&provider_ethtool, state);
}

static size_t words_of(const char *s)
{
	size_t n = 0;

	for (; *s; s += strspn(s, " "), n++)
		s += strcspn(s, " ");
	return n;
}

/* Counts are below how many letters there are; errors are a list by number. */
static void log_holds(long long letters, const struct answer *out)
{
	enum { KINDS = 64 };
	long long number, count;
	double age, before = 0;
	int n;

	if (out->kind == ANSWER_INT) {
		if (out->i < 0 || out->i > letters)
			abort();
		return;
	}
	if (words_of(out->text) > KINDS)
		abort();
	for (const char *s = out->text; *s; s += n, s += *s == ' ') {
		if (sscanf(s, "%lld:%lld:%lf%n", &number, &count, &age, &n) != 3 || count < 1 ||
		    !isfinite(age) || (age < 0 && age != -1) || (double)number <= before)
			abort();
		before = (double)number;
	}
}

/* The questions first, then sizes, then the log to the end of the input. */
static void play_log(void)
{
	static const char *const objects[] = { "", "", "0000:a3:00.0", "0000:A3:00.0", ".", "0" };
	static const char *const fields[] = { "lines(NVRM)", "sxids(Fatal)", "sxids(Non-fatal)",
					      "xids", "xids" };
	const char *object[4], *field[4];
	unsigned n = live_byte() % 4;
	long long letters;
	void *state = NULL;
	struct answer out;

	for (unsigned i = 0; i < n; i++) {
		unsigned how = live_byte();

		object[i] = objects[how % 6];
		field[i] = how / 6 % 6 == 5 ? live_text() : fields[how / 6 % 6];
	}
	letters = live->end - live->p;
	for (unsigned i = 0; i < n; i++)
		if (ask(&provider_kernel_log, &state, object[i], field[i], &out) == 0)
			log_holds(letters, &out);
	end(&provider_kernel_log, state);
}

static void play_interface(void)
{
	static const char *const fields[] = { "ipv4", "max_mtu", "ipv4-now", "x" };
	static const char *const names[] = { "eth0", "lo", "eth1", "" };
	void *state = NULL;
	struct answer out;

	for (int i = 0; i < 8 && !live_empty(); i++) {
		unsigned what = live_byte();
		const char *name = names[what % 4], *field = fields[what / 4 % 4];

		if (what & 0x40)
			tell(&provider_interface, &state, name, "ipv4");
		else if (ask(&provider_interface, &state, name, field, &out) == 0 &&
			 (out.kind == ANSWER_TEXT
				  ? out.text[strspn(out.text, "0123456789./ ")] != '\0'
				  : out.i <= 0 || out.i > UINT32_MAX))
			abort();
	}
	end(&provider_interface, state);
}

enum { FILE_MOST = 300, LINE_MOST = 64 };

static void play_files(void)
{
	static const char *const fields[] = { "total_bytes", "free_bytes", "avail_bytes" };
	struct host *h = host_open_live();
	char line[LINE_MOST], *text;
	void *state = NULL;
	struct answer out;
	size_t n;

	live->files = true;
	for (int i = 0; i < OPERATIONS && !live_empty(); i++) {
		unsigned what = live_byte() % 4;
		int r = what == 0   ? host_read(h, "/sys/f", FILE_MOST, live->a, &text, &n)
			: what == 1 ? host_read_line(h, "/sys/f", line, sizeof(line))
			: what == 2 ? host_link(h, "/sys/f", line, sizeof(line))
				    : ask(&provider_statfs, &state, "/", fields[i % 3], &out);

		error_holds(r);
		if (r == 0 && (what == 0   ? n > FILE_MOST || text[n]
			       : what == 3 ? out.i < 0
					   : strnlen(line, sizeof(line)) == sizeof(line)))
			abort();
	}
	live->files = false;
	host_close(h);
}

/* --- the network ------------------------------------------------------------------------------ */

static void play_local(void)
{
	static const char *const names[] = { "eth0", "eth1" };
	struct cluster_node n = { .name = "n", .address = "n", .failure = "" };
	struct err e;

	if (library_open(LIBRARY_SODIUM, &e)) /* as the node's program does first */
		return;
	kernel_net = false; /* nft and iptables are programs */
	for (int i = 0; i < 2; i++) {
		struct cluster_port *p = list_add(live->a, &n.ports, sizeof(*p));

		p->name = names[i];
		p->pci = "";
	}
	local_lay_over(live->a, &n);
	NODE_PORTS(p, &n)
	{
		if (p->addresses.n > CLUSTER_ADDRESSES_MAX)
			abort();
		LIST_FOR_EACH (struct cluster_address, x, &p->addresses) {
			struct cluster_prefix prefix;

			if (cluster_prefix_parse(x->name, &prefix))
				abort();
		}
	}
	if (seen_ok(&n.forward.f))
		sentence_holds(n.forward_by.v);
}

static void play_taken(void)
{
	struct arp_probe_ask asks[3] = { { .port = "eth0", .address = "192.168.100.1/24" },
					 { .port = "eth1", .address = "10.0.0.1/8" },
					 { .port = "eth2", .address = "1.2.3.4" } };
	size_t n = 1 + live_byte() % 3;

	error_holds(arp_probe(asks, n));
	for (size_t i = 0; i < n; i++)
		if (*asks[i].by && strspn(asks[i].by, "0123456789abcdef:") != TAKEN_MAC - 1)
			abort();
}

static void echoes_hold(const json_t *list)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		long long got = json_integer_value(json_object_get(one, "got"));
		const json_t *us = json_object_get(one, "us");

		if (got < 0 ||
		    (got ? !(json_real_value(us) >= 0) || !isfinite(json_real_value(us))
			 : !json_is_null(us) || !json_is_string(json_object_get(one, "error"))))
			abort();
	}
}

static void play_echoes(void)
{
	static const atomic_bool never;
	struct rank_member m = { .stop = &never };
	json_t *with = json_pack("{s:[{s:s, s:s, s:i}, {s:s, s:s, s:i}], s:i, s:i}", "targets",
				 "from", "10.0.0.1", "to", "10.0.0.2", "bytes", (int)live_byte(),
				 "from", "fd00::1", "to", "fd00::2", "bytes", 8, "tries", 2,
				 "limit_ms", 100),
	       *out = NULL;
	struct err e = { 0 };
	int r = member_answer(&m, live->a, "ping", with, &out, &e);

	refusal_holds(r, &e);
	if (r == 0)
		echoes_hold(json_object_get(out, "echoes"));
	json_decref(out);
	json_decref(with);
}

static bool never_stopped(void *ctx)
{
	(void)ctx;
	return false;
}

/* What strangers said does not make of the node one that nobody can read. */
static void node_holds(const struct cluster_node *n)
{
	json_t *j = shape_object_json(&cluster_node_shape, n), *again;
	char *text = json_dumps(j, JSON_COMPACT);
	struct cluster_node read = { .name = "" };
	struct err e = { 0 };

	again = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (!again || cluster_node_read(live->a, again, &read, &e) || read.heard.n != n->heard.n ||
	    read.heard.n > CLUSTER_HEARD_MAX)
		abort();
	json_decref(again);
	json_decref(j);
	free(text);
}

/* The token is of nought, so that an input can be one of us. */
static void play_air(void)
{
	static const char *const names[] = { "eth0", "eth1" };
	const struct neighbor_options how = { .name = "n0" };
	struct cluster_node n = { .name = "n0", .address = "n0", .failure = "" };
	struct neighbor_discovery *air = NULL;
	struct err e = { 0 };

	for (int i = 0; i < 2; i++) {
		struct cluster_port *p = list_add(live->a, &n.ports, sizeof(*p));
		struct cluster_address *x = list_add(live->a, &p->addresses, sizeof(*x));

		p->name = names[i];
		p->pci = "";
		p->nic.carrier = (struct fact_int){ .f = { .seen = SEEN_OK }, .v = 1 };
		x->name = "fe80::1/64";
	}
	if (neighbor_open(live->a, &how, &n, &air, &e))
		abort();
	if (neighbor_announce(air, 300, never_stopped, NULL))
		abort();
	neighbor_receive(air);
	live_show();
	neighbor_close(air);
	node_holds(&n);
}

/* --- programs --------------------------------------------------------------------------------- */

static void result_holds(int r, const struct command_result *x, size_t max)
{
	error_holds(r);
	if (r) {
		if (x->output || x->errors)
			abort();
		return;
	}
	if (x->status < 0 || x->status > UCHAR_MAX || strlen(x->output) > max ||
	    strlen(x->errors) > COMMAND_ERRORS_MAX || !isfinite(x->seconds) || x->seconds < 0)
		abort();
	error_holds(command_errno(x));
	if (strlen(command_last_line(live->a, x->output, 200)) > 200)
		abort();
}

static void run_program(unsigned how)
{
	enum { LIMIT_MS = 5000, LONGEST_MS = LIMIT_MS + 30000 };
	char name[] = "program", *argv[] = { name, NULL };
	const struct command_of_user own = { .limit_ms = LIMIT_MS,
					     .max = 200,
					     .stop = &children.stop };
	const struct command_front front = { .argv = argv, .output = -1, .limit_s = 5 };
	struct command_result x = { 0 };
	long long begin = clock_mono_ms();
	struct err e = { 0 };
	int r;

	if (how == 0)
		result_holds(command_run(live->a, argv, LIMIT_MS, 200, &x), &x, 200);
	else if (how == 1)
		result_holds(command_run_own(live->a, argv, &own, &x), &x, 200);
	else {
		r = command_front(&front, &e);
		if (r > UCHAR_MAX || (r < 0 && !*e.text))
			abort();
	}
	if (clock_mono_ms() - begin > LONGEST_MS)
		abort();
}

static void play_programs(void)
{
	static const struct {
		const struct provider *of;
		const char *object, *field;
	} asked[] = {
		{ &provider_zpool, "tank", "autotrim" },
		{ &provider_mlxconfig, "0000:01:00.0", "LINK_TYPE_P1" },
		{ &provider_boost, "0000:01:00.0", "vboost" },
		{ &provider_boost, "0000:01:00.0", "vboost.max" },
		{ &provider_fabric_manager, "", "version" },
		{ &provider_systemd, "a.service", "active" },
		{ &provider_systemd, "a.service", "enabled" },
	};
	enum { ASKED = sizeof(asked) / sizeof(asked[0]) };

	for (int i = 0; i < 4 && !live_empty(); i++) {
		unsigned what = live_byte() % (ASKED + 3);
		struct answer out;
		void *state = NULL;

		if (what < 3) {
			run_program(what);
		} else {
			const struct provider *p = asked[what - 3].of;

			if (p->tell && live_byte() % 2)
				tell(p, &state, asked[what - 3].object, asked[what - 3].field);
			else
				ask(p, &state, asked[what - 3].object, asked[what - 3].field, &out);
			end(p, state);
		}
		children_end();
	}
}

static void reply_holds(const struct rsh_reply *x)
{
	if (!x->answer == !x->failure || (x->answer && !json_is_object(x->answer)) ||
	    !isfinite(x->seconds) || x->seconds < 0)
		abort();
	if (x->failure)
		sentence_holds(x->failure);
	if (x->hint)
		sentence_holds(x->hint);
}

enum { NODES = 3 };

static int ask_nodes(struct rsh *r, size_t n)
{
	struct rsh_reply replies[NODES] = { 0 };
	bool which[NODES] = { false };
	unsigned what = live_byte();
	int code;

	which[what / 2 % n] = true;
	code = rsh_ask_all(r, "look", what % 2 ? which : NULL, NULL, 2000, replies);
	for (size_t i = 0; i < n && code == 0; i++)
		if (!(what % 2) || which[i])
			reply_holds(&replies[i]);
	error_holds(code);
	return code;
}

static void play_nodes(void)
{
	const struct rsh_target targets[NODES] = { { .name = "n0", .address = "n0" },
						   { .name = "n1", .address = "n1" },
						   { .name = "n2", .address = "n2" } };
	const struct rsh_how how = { .stop = &children.stop };
	size_t n = 1 + live_byte() % NODES;
	struct err e = { 0 };
	struct rsh *r = NULL;
	int code = rsh_open(live->a, targets, n, &how, &r, &e);

	refusal_holds(code, &e);
	if (code)
		return;
	for (int i = 0; i < 8 && code != -EINTR && !live_empty(); i++)
		code = ask_nodes(r, n);
	for (size_t i = 0; i < n; i++)
		if (r->nodes[i].failure)
			sentence_holds(r->nodes[i].failure);
	rsh_close(r);
}

/* --- one input -------------------------------------------------------------------------------- */

static void play(char what)
{
	kernel_net = strchr("elcitga", what) != NULL;
	switch (what) {
	case 'n':
		play_nvml();
		break;
	case 'd':
	case 'm':
		play_driver(what == 'm');
		break;
	case 'e':
		play_ethtool();
		break;
	case 'k':
		play_log();
		break;
	case 'i':
		play_interface();
		break;
	case 'l':
		play_local();
		break;
	case 't':
		play_taken();
		break;
	case 'g':
		play_echoes();
		break;
	case 'a':
		play_air();
		break;
	case 'f':
		play_files();
		break;
	case 'p':
		play_programs();
		break;
	case 'r':
		play_nodes();
		break;
	default:
		break;
	}
}

/* The lowest number that is free. */
static int free_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct live now = { .p = data + 1, .end = data + size, .a = &a, .ns = 1ll << 40 };
	int before = free_descriptor();

	if (!size)
		return 0;
	children_begin();
	live = &now;
	play((char)*data);
	live_show();
	children_end();
	live = NULL;
	if (free_descriptor() != before)
		abort();
	arena_free(&a);
	return 0;
}
