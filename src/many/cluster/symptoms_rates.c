/* SPDX-License-Identifier: Apache-2.0 */
/* The symptoms of figures: blames in words, counters, and what changed since an earlier check. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "many/cluster/symptoms.h"

/* Less than this share of an earlier figure is told. */
#define EARLIER_SHARE 0.8
#define EARLIER_TIMES 1.5
#define EARLIER_SLACK_US 20.0

/* --- blames -------------------------------------------------------------------------------------
 */

static bool is_rdma(enum check_test t)
{
	return t == CHECK_RDMA_WRITE || t == CHECK_RDMA_READ || t == CHECK_RDMA_LATENCY;
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

/* An MTU that differs was named by its own symptom. */
static bool told(const struct check *c, const struct check_blame *b)
{
	for (size_t i = 0; i < c->cluster->n_findings; i++) {
		const struct cluster_finding *f = &c->cluster->findings[i];

		if (b->test == CHECK_JUMBO &&
		    (strcmp(f->code, "mtu-mismatch") == 0 || strcmp(f->code, "mtu-path") == 0))
			return true;
	}
	return false;
}

static const char *blame_fix(const struct check_blame *b, const char *code)
{
	if (strcmp(code, "degraded-fabric") == 0)
		return "restart the node; if it stays slow, switch it off and take it off power "
		       "for "
		       "a minute: nothing that can be read shows this state";
	if (b->test == CHECK_PING)
		return "look at address, cable and firewall of that place (ip addr, ip neigh, nft "
		       "list ruleset)";
	return b->next ? b->next
		       : "look for traffic shaping (tc qdisc), the link's speed and PCIe width, "
			 "the "
			 "CPU frequency of the node; then exchange the cable";
}

static const char *blame_text(struct arena *a, const struct check_blame *b)
{
	const char *what = b->test == CHECK_PING    ? "No echo comes back over"
			   : b->test == CHECK_JUMBO ? "Large packets do not come through"
						    : "To blame for what is slow or fails is";

	return b->others ? arena_printf(a, "%s %s, or %s: the tests cannot tell them apart.", what,
					b->what, b->others)
			 : arena_printf(a, "%s %s.", what, b->what);
}

void symptom_blames(struct arena *a, struct check *c)
{
	for (size_t i = 0; i < c->n_blames; i++) {
		const struct check_blame *b = &c->blames[i];
		const char *code = b->test == CHECK_PING ? "path-dead" : "slow-path";

		if (told(c, b))
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
				   .text = blame_text(a, b),
				   .evidence = arena_printf(a, "%s (by %s)", b->evidence, b->tests),
				   .fix = blame_fix(b, code) });
	}
}

/* --- counters -----------------------------------------------------------------------------------
 */

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
				.text = arena_printf(
					a,
					line ? "%s of %s counted errors of the line."
					     : "%s of %s lost packets that had to be sent again.",
					k->port, check_node(c, k->node)->name),
				.evidence = arena_printf(a, "%s grew by %lld during the tests",
							 k->name, k->after - k->before),
				.fix = line ? "clean or exchange the cable at this end first"
					    : "flow control on switch and ports (PFC, ECN), and "
					      "jumbo packets all the way" });
	}
}

/* --- earlier ------------------------------------------------------------------------------------
 */

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
		check_find(
			a, c,
			&(struct cluster_finding){
				.code = "slower-than-before",
				.severity = CLUSTER_WARNING,
				.node = check_node(c, e.node)->name,
				.port = r->path == CHECK_NONE ? "" : check_port(c, e)->name,
				.text = arena_printf(a, "%s is slower than in an earlier check.",
						     check_result_text(a, c, r)),
				.evidence = arena_printf(a, "%s: %s, then %s",
							 check_kinds[r->test].title,
							 check_figure_text(a, r->test, r->value),
							 check_figure_text(a, r->test, r->before)),
				.fix = "see what changed since (driver, firmware, kernel, cable); "
				       "nothing else changed: restart the node" });
	}
}

void symptom_unsteady(struct arena *a, struct check *c)
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
					   a,
					   "%s of %s was bad at first and good when it "
					   "was tried again.",
					   check_kinds[r->test].name, check_result_text(a, c, r)),
				   .evidence = arena_printf(
					   a, "first %s, then %s",
					   r->n ? check_figure_text(a, r->test, r->value)
						: (r->why ? r->why : "failed"),
					   last->n ? check_figure_text(a, last->test, last->value)
						   : "good"),
				   .fix = "check again while nothing else uses the network" });
	}
}
