/* SPDX-License-Identifier: Apache-2.0 */
/* The table, and the symptoms of addresses, routes, forwarding, RDMA and data. */
#include <string.h>

#include "many/cluster/check.h"
#include "base/text.h"

/* Bytes; what says the same of further paths is left out beyond that. */
enum { EVIDENCE_ENOUGH = 240 };

/* Adds the finding, or to the one with the same code, node and port its evidence; the worse
 * severity stays. For symptoms*.c. */
static void check_find(struct arena *a, struct check *c, const struct cluster_finding *f)
{
	for (size_t i = 0; i < c->cluster->n_findings; i++) {
		struct cluster_finding *x = &c->cluster->findings[i];

		if (strcmp(x->code, f->code) != 0 || strcmp(x->node, f->node) != 0 ||
		    strcmp(x->port, f->port) != 0)
			continue;
		if (strlen(x->evidence) < EVIDENCE_ENOUGH && !strstr(x->evidence, f->evidence))
			x->evidence = arena_printf(a, "%s; %s", x->evidence, f->evidence);
		if (f->severity > x->severity)
			x->severity = f->severity;
		return;
	}
	cluster_find(a, c->cluster, f);
}

static bool bad(const struct check_result *r)
{
	return r->state == CHECK_LOW || r->state == CHECK_FAILED;
}

/* The last word on this test. */
static bool stands(const struct check *c, const struct check_result *r)
{
	return check_newest(c, r) == r;
}

/* --- large packets ---------------------------------------------------------------------------- */

static void jumbo(struct arena *a, struct check *c)
{
	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *r = &c->results[i];
		const struct check_path *p = r->path == CHECK_NONE ? NULL : &c->paths[r->path];
		long long x, y;
		struct cluster_end e;

		if (r->test != CHECK_JUMBO || r->state != CHECK_FAILED || !p || !stands(c, r))
			continue;
		x = fact_or(&check_port(c, p->a)->mtu, 0);
		y = fact_or(&check_port(c, p->b)->mtu, 0);
		e = y < x ? p->b : p->a;
		check_find(a, c,
			   &(struct cluster_finding){
				   .code = x != y ? "mtu-mismatch" : "mtu-path",
				   .severity = CLUSTER_FAULT,
				   .node = check_node(c, e.node)->name,
				   .port = check_port(c, e)->name,
				   .text = arena_printf(
					   a, "Packets as large as the MTU are lost on %s.",
					   check_path_text(a, c, p)),
				   .evidence = arena_printf(
					   a,
					   "an echo of %llu bytes from %s got no reply (%s), a "
					   "small one did; MTU %lld bytes on %s, %lld bytes on %s",
					   r->bytes, check_node(c, r->from)->name,
					   r->why ? r->why : "no answer", x,
					   check_node(c, p->a.node)->name, y,
					   check_node(c, p->b.node)->name),
				   .fix = x != y ? "set the same MTU at both ends, 9000 (gputune "
						   "cluster plan)"
						 : "both ends agree: let the switch between them "
						   "accept packets of 9216 bytes" });
	}
}

/* --- which port it went by -------------------------------------------------------------------- */

static double through(const struct check_result *r, size_t node, const char *port)
{
	for (size_t i = 0; i < r->n_traffic; i++)
		if (r->traffic[i].node == node && strcmp(r->traffic[i].port, port) == 0)
			return r->traffic[i].rx + r->traffic[i].tx;
	return 0;
}

/* The port of the measuring node that carried most. */
static const struct check_traffic *symptoms_busiest(const struct check_result *r)
{
	const struct check_traffic *best = NULL;

	for (size_t i = 0; i < r->n_traffic; i++)
		if (!best || r->traffic[i].rx + r->traffic[i].tx > best->rx + best->tx)
			best = &r->traffic[i];
	return best;
}

static void symptoms_egress(struct arena *a, struct check *c)
{
	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *r = &c->results[i];
		const struct check_traffic *t = symptoms_busiest(r);
		const char *port;

		if (!t || r->together || r->path == CHECK_NONE || !check_kinds[r->test].one_way ||
		    !stands(c, r))
			continue;
		port = check_port(c, check_end(&c->paths[r->path], t->node))->name;
		/* What others do on that port meanwhile is no evidence. */
		if (strcmp(port, t->port) == 0 || through(r, t->node, port) > 0.1 * (t->rx + t->tx))
			continue;
		check_find(
			a, c,
			&(struct cluster_finding){
				.code = "wrong-egress",
				.severity = CLUSTER_FAULT,
				.node = check_node(c, t->node)->name,
				.port = port,
				.text = arena_printf(
					a,
					"Packets from %s to the other end of %s use another port.",
					check_node(c, t->node)->name, port),
				.evidence = arena_printf(
					a, "%s: %.3g MB went through %s, %.3g MB through %s",
					check_kinds[r->test].name, (t->rx + t->tx) / 1e6, t->port,
					through(r, t->node, port) / 1e6, port),
				.fix = "give every path its own subnet (gputune cluster plan); see "
				       "\"ip route get ADDRESS\"" });
	}
}

static bool mentions(const struct check_result *r, const char *word)
{
	return r->why && strstr(r->why, word) != NULL;
}

/* A figure that is void, because the bytes were not seen at the port where they had to be. */
static void ingress(struct arena *a, struct check *c)
{
	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *r = &c->results[i];
		struct cluster_end e;

		if (r->state != CHECK_FAILED || r->together || r->path == CHECK_NONE ||
		    !mentions(r, "passed the peer's") || !stands(c, r))
			continue;
		e = check_far(&c->paths[r->path], r->asker);
		check_find(
			a, c,
			&(struct cluster_finding){
				.code = "wrong-ingress",
				.severity = CLUSTER_FAULT,
				.node = check_node(c, e.node)->name,
				.port = check_port(c, e)->name,
				.text = arena_printf(
					a,
					"Packets for %s of %s arrive at another port of that node.",
					check_port(c, e)->name, check_node(c, e.node)->name),
				.evidence = r->why,
				.fix = "ports on one switch answer for each other's addresses: set "
				       "net.ipv4.conf.all.arp_ignore=1 and arp_announce=2 on that "
				       "node, or a VLAN for each half; then run \"ip neigh flush\" "
				       "at the other end" });
	}
}

static bool good_alone(const struct check *c, const struct check_result *together, size_t path)
{
	struct check_result like = *together;
	const struct check_result *r;

	like.together = false;
	like.path = path;
	r = check_newest(c, &like);
	return r && r->state == CHECK_GOOD;
}

static void twin_unused(struct arena *a, struct check *c)
{
	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *r = &c->results[i];
		const struct check_traffic *t = symptoms_busiest(r);

		if (!r->together || !t || r->state == CHECK_FAILED || !stands(c, r))
			continue;
		for (size_t k = 0; k < c->n_paths; k++) {
			const struct check_path *p = &c->paths[k], *first = &c->paths[r->path];
			const char *port;

			if (p->untestable || p->wire != first->wire || p->a.node != first->a.node ||
			    p->b.node != first->b.node)
				continue;
			port = check_port(c, check_end(p, t->node))->name;
			/* One that is slow by itself is something else. */
			if (through(r, t->node, port) > 0.1 * (t->rx + t->tx) ||
			    !good_alone(c, r, k))
				continue;
			check_find(
				a, c,
				&(struct cluster_finding){
					.code = "half-speed-twin-unused",
					.severity = CLUSTER_FAULT,
					.node = check_node(c, t->node)->name,
					.port = port,
					.text = arena_printf(
						a,
						"%s of %s carries nothing while both halves of its "
						"cage are used: half of the speed is lost.",
						port, check_node(c, t->node)->name),
					.evidence = arena_printf(
						a,
						"%s over all paths: %s; %.3g MB through %s, %.3g "
						"MB through %s",
						check_kinds[r->test].name,
						check_figure_text(a, r->test, r->value),
						(t->rx + t->tx) / 1e6, t->port,
						through(r, t->node, port) / 1e6, port),
					.fix = "give each half an address in its own subnet "
					       "(gputune cluster plan), and list both in "
					       "NCCL_IB_HCA" });
		}
	}
}

/* --- through another node --------------------------------------------------------------------- */

/* Who sits at the other end of the port that a packet leaves by. */
static size_t next_node(const struct check *c, size_t node, const char *port)
{
	for (size_t i = 0; i < c->n_paths; i++) {
		const struct check_path *p = &c->paths[i];

		if ((p->a.node == node || p->b.node == node) &&
		    strcmp(check_port(c, check_end(p, node))->name, port) == 0)
			return check_far(p, node).node;
	}
	return CHECK_NONE;
}

static const char *forwards(struct arena *a, const struct cluster_node *n)
{
	return arena_printf(a, "net.ipv4.ip_forward is %s there, forwarded packets are %s",
			    fact_or(&n->ip_forward, 0) ? "1" : "0",
			    fact_is(&n->forward, "drop")
				    ? arena_printf(a, "dropped by default (%s)",
						   fact_text(&n->forward_by, "a forward chain"))
				    : fact_text(&n->forward, "subject to an unreadable firewall"));
}

static void symptoms_forwarding(struct arena *a, struct check *c)
{
	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *r = &c->results[i];
		size_t by = r->egress ? next_node(c, r->from, r->egress) : CHECK_NONE;

		if (r->test != CHECK_ROUTED || r->state != CHECK_FAILED || by == CHECK_NONE ||
		    !stands(c, r))
			continue;
		check_find(a, c,
			   &(struct cluster_finding){
				   .code = "forward-drop",
				   .severity = CLUSTER_FAULT,
				   .node = check_node(c, by)->name,
				   .port = "",
				   .text = arena_printf(
					   a, "Packets from %s to %s do not pass through %s.",
					   check_node(c, r->from)->name, check_node(c, r->to)->name,
					   check_node(c, by)->name),
				   .evidence = arena_printf(
					   a, "an echo from %s to %s through %s got no reply; %s",
					   check_node(c, r->from)->name, r->address,
					   check_node(c, by)->name, forwards(a, check_node(c, by))),
				   .fix = "set net.ipv4.ip_forward=1 there, and accept the links' "
					  "subnets in the forward chain (Docker: DOCKER-USER). Use "
					  "a unit: neither survives a reboot" });
	}
}

/* --- RDMA and data ---------------------------------------------------------------------------- */

static void add_rdma(struct arena *a, struct check *c, const struct check_result *r,
		     const char *code, const char *text, const char *fix)
{
	struct cluster_end e = { r->from, 0 };
	const char *port = "";

	if (r->path != CHECK_NONE) {
		e = check_end(&c->paths[r->path], r->from);
		port = check_port(c, e)->name;
	}
	check_find(a, c,
		   &(struct cluster_finding){
			   .code = code,
			   .severity = CLUSTER_FAULT,
			   .node = check_node(c, e.node)->name,
			   .port = port,
			   .text = text,
			   .evidence = arena_printf(a, "%s, %s: %s", check_kinds[r->test].name,
						    check_result_text(a, c, r), r->why),
			   .fix = fix });
}

static void symptoms_rdma(struct arena *a, struct check *c)
{
	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *r = &c->results[i];

		if (r->state != CHECK_FAILED || !stands(c, r))
			continue;
		if (mentions(r, "NCCL uses TCP sockets") || mentions(r, "libibverbs") ||
		    mentions(r, "no RDMA device"))
			add_rdma(a, c, r, "socket-fallback",
				 "RDMA is present but cannot be used, so NCCL would fall back to "
				 "TCP sockets: 0.4 to 1 GB/s where 20 are possible.",
				 "install libibverbs1 and ibverbs-providers; in containers provide "
				 "the device /dev/infiniband, IPC_LOCK and memlock -1; set "
				 "NCCL_IB_HCA to devices of this node; NCCL_NET=IB turns the "
				 "fallback into an error");
		else if (mentions(r, "Cannot allocate memory"))
			add_rdma(a, c, r, "rdma-memory",
				 "The kernel refuses to register memory for RDMA.",
				 "raise the locked-memory limit (ulimit -l unlimited). If "
				 "/proc/meminfo shows CmaTotal 0 and CmaFree above it, it is a bug "
				 "of kernels 7.0 for this machine: boot with kho=off, or use "
				 "another kernel");
		else if (r->operation)
			add_rdma(a, c, r, "nccl-failed", "NCCL does not work between two nodes.",
				 "run it manually for details: NCCL_DEBUG=INFO gputune bench "
				 "collectives --rank N --ranks 2 --peer ADDRESS --token FILE");
	}
}

static void wrong_data(struct arena *a, struct check *c)
{
	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *r = &c->results[i];

		if (bad(r) && mentions(r, "different data than was sent"))
			add_rdma(a, c, r, "data-wrong", "Received data differ from sent data.",
				 "take the node out of service: memory, adapter or firmware is "
				 "faulty; check the kernel log for machine checks");
	}
}

static void symptom_unsteady(struct arena *a, struct check *c)
{
	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *r = &c->results[i], *last = check_newest(c, r);
		struct cluster_end e = { r->from, 0 };

		if ((r->state != CHECK_LOW && r->state != CHECK_FAILED) || !last || last == r ||
		    last->state != CHECK_GOOD)
			continue;
		if (r->path != CHECK_NONE)
			e = check_end(&c->paths[r->path], r->from);
		check_find(a, c,
			   &(struct cluster_finding){
				   .code = "unsteady",
				   .severity = CLUSTER_NOTE,
				   .node = check_node(c, e.node)->name,
				   .port = r->path == CHECK_NONE ? "" : check_port(c, e)->name,
				   .text = arena_printf(
					   a, "%s of %s was bad at first and good when repeated.",
					   check_kinds[r->test].name, check_result_text(a, c, r)),
				   .evidence = arena_printf(
					   a, "first %s, then %s",
					   r->n ? check_figure_text(a, r->test, r->value)
						: (r->why ? r->why : "failed"),
					   last->n ? check_figure_text(a, last->test, last->value)
						   : "good"),
				   .fix = "check again while no other program uses the network" });
	}
}

static const char *blame_fix(const struct check_blame *b, const char *code)
{
	if (strcmp(code, "degraded-fabric") == 0)
		return "restart the node; if it stays slow, switch it off and disconnect power for "
		       "a minute: no readable value shows this state";
	if (b->test == CHECK_PING)
		return "check address, cable and firewall there (ip addr, ip neigh, nft list "
		       "ruleset)";
	return b->next ? b->next
		       : "check traffic shaping (tc qdisc), the link's speed and PCIe width, and "
			 "the node's CPU frequency; then exchange the cable";
}

static const char *symptoms_blame_text(struct arena *a, const struct check_blame *b)
{
	const char *what = b->test == CHECK_PING    ? "No echo reply over"
			   : b->test == CHECK_JUMBO ? "Large packets are lost on"
						    : "The cause of slow or failed tests is";

	return b->others ? arena_printf(a, "%s %s, or %s: the tests cannot distinguish them.", what,
					b->what, b->others)
			 : arena_printf(a, "%s %s.", what, b->what);
}

/* Whether anything else speaks against that node or port: then the fabric is not silently slow. */
static bool otherwise_clean(const struct check *c, const struct check_blame *b)
{
	for (size_t i = 0; i < c->cluster->n_findings; i++) {
		const struct cluster_finding *f = &c->cluster->findings[i];

		if (f->severity == CLUSTER_FAULT && strcmp(f->node, b->node) == 0 &&
		    (!*f->port || !*b->port || strcmp(f->port, b->port) == 0))
			return false;
	}
	return true;
}

/* --- blames ----------------------------------------------------------------------------------- */

static bool is_rdma(enum check_test t)
{
	return t == CHECK_RDMA_WRITE || t == CHECK_RDMA_READ || t == CHECK_RDMA_LATENCY;
}

/* An MTU that differs was named by its own symptom. */
static bool symptoms_already_reported(const struct check *c, const struct check_blame *b)
{
	for (size_t i = 0; i < c->cluster->n_findings; i++) {
		const struct cluster_finding *f = &c->cluster->findings[i];

		if (b->test == CHECK_JUMBO &&
		    (strcmp(f->code, "mtu-mismatch") == 0 || strcmp(f->code, "mtu-path") == 0))
			return true;
	}
	return false;
}

static void symptom_blames(struct arena *a, struct check *c)
{
	for (size_t i = 0; i < c->n_blames; i++) {
		const struct check_blame *b = &c->blames[i];
		const char *code = b->test == CHECK_PING ? "path-dead" : "slow-path";

		if (symptoms_already_reported(c, b))
			continue;
		/* TCP came first and would have found it. */
		if (is_rdma(b->test) && otherwise_clean(c, b))
			code = "degraded-fabric";
		if (b->test == CHECK_JUMBO)
			code = "mtu-path";
		check_find(a, c,
			   &(struct cluster_finding){
				   .code = code,
				   .severity = b->certain ? CLUSTER_FAULT : CLUSTER_WARNING,
				   .node = b->node,
				   .port = b->port,
				   .text = symptoms_blame_text(a, b),
				   .evidence = arena_printf(a, "%s (by %s)", b->evidence, b->tests),
				   .fix = blame_fix(b, code) });
	}
}

void check_symptoms(struct arena *a, struct check *c)
{
	static void (*const look[])(struct arena * a, struct check * c) = {
		jumbo,		     /* echoes that fill the MTU and do not come back */
		symptoms_egress,     /* traffic that went through another port than the path's */
		ingress,	     /* traffic that came in through another port than the path's */
		twin_unused,	     /* one half of a cage without traffic while both are used */
		symptoms_forwarding, /* echoes through another node that do not come back */
		symptoms_rdma,	     /* RDMA tests that could not be run, and NCCL over sockets */
		wrong_data,	     /* data that were compared and found wrong */
		symptom_blames,	     /* whom the tests that went wrong have in common */
		symptom_counters,    /* counters of errors that grew during the tests */
		symptom_earlier,     /* figures far below those of an earlier check */
		symptom_unsteady,    /* tests that were bad once and good again */
	};

	for (size_t i = 0; i < sizeof(look) / sizeof(look[0]); i++)
		look[i](a, c);
}

/* The symptoms of figures: blames in words, counters, and what changed since an earlier check. */

/* Less than this share of an earlier figure is told. */
#define EARLIER_SHARE 0.8
#define EARLIER_TIMES 1.5
#define EARLIER_SLACK_US 20.0

/* --- counters --------------------------------------------------------------------------------- */

static const struct {
	const char *word; /* in the counter's name */
	const char *code;
} meanings[] = {
	{ "rx_crc", "link-errors" },	      { "rx_frame", "link-errors" },
	{ "symbol", "link-errors" },	      { "link_down", "link-errors" },
	{ "recovery", "link-errors" },	      { "integrity", "link-errors" },
	{ "carrier", "link-errors" },	      { "rx_errors", "link-errors" },
	{ "tx_errors", "link-errors" },	      { "port_rcv_errors", "link-errors" },
	{ "adp_retrans", "lossy-fabric" },    { "out_of_seq", "lossy-fabric" },
	{ "packet_seq_err", "lossy-fabric" }, { "timeout_err", "lossy-fabric" },
	{ "rnr_nak", "lossy-fabric" },	      { "discards_phy", "lossy-fabric" },
	{ "out_of_buffer", "lossy-fabric" },
};

static const char *code_of(const char *counter)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (strstr(counter, meanings[i].word))
			return meanings[i].code;
	return NULL;
}

void symptom_counters(struct arena *a, struct check *c)
{
	for (size_t i = 0; i < c->n_counts; i++) {
		const struct check_count *k = &c->counts[i];
		const char *code = code_of(k->name);
		bool line = code && strcmp(code, "link-errors") == 0;

		if (!code || k->after <= k->before)
			continue;
		check_find(
			a, c,
			&(struct cluster_finding){
				.code = code,
				.severity = CLUSTER_WARNING,
				.node = check_node(c, k->node)->name,
				.port = k->port,
				.text = arena_printf(a,
						     line ? "%s of %s counted line errors."
							  : "%s of %s lost packets that had to be "
							    "retransmitted.",
						     k->port, check_node(c, k->node)->name),
				.evidence = arena_printf(a, "%s increased by %lld during the tests",
							 k->name, k->after - k->before),
				.fix = line ? "clean or exchange the cable at this end first"
					    : "check flow control on switch and ports (PFC, ECN), "
					      "and jumbo packets on the whole path" });
	}
}

/* --- earlier ---------------------------------------------------------------------------------- */

static bool fell(const struct check_result *r)
{
	if (!(r->before > 0) || !r->n)
		return false;
	if (check_kinds[r->test].better == BENCH_LOWER)
		return r->value > r->before * EARLIER_TIMES + EARLIER_SLACK_US;
	return r->value < r->before * EARLIER_SHARE;
}

void symptom_earlier(struct arena *a, struct check *c)
{
	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *r = &c->results[i];
		struct cluster_end e = { r->from, 0 };

		if (!check_kinds[r->test].judged || !fell(r) || check_newest(c, r) != r)
			continue;
		if (r->path != CHECK_NONE)
			e = check_end(&c->paths[r->path], r->from);
		check_find(a, c,
			   &(struct cluster_finding){
				   .code = "slower-than-before",
				   .severity = CLUSTER_WARNING,
				   .node = check_node(c, e.node)->name,
				   .port = r->path == CHECK_NONE ? "" : check_port(c, e)->name,
				   .text = arena_printf(a, "%s is slower than in an earlier check.",
							check_result_text(a, c, r)),
				   .evidence = arena_printf(
					   a, "%s: %s, then %s", check_kinds[r->test].title,
					   check_figure_text(a, r->test, r->value),
					   check_figure_text(a, r->test, r->before)),
				   .fix = "check what changed since (driver, firmware, kernel, "
					  "cable); if nothing changed, restart the node" });
	}
}
