/* SPDX-License-Identifier: Apache-2.0 */
/* The way that connections take, and what holds TCP back. */
#include <stdio.h>
#include <string.h>

#include "measure/doctor/rule.h"

/* The first name of "=a:1,b" or "^a", and whether it excludes. */
static const char *first_name(struct arena *a, const char *list, bool *excludes)
{
	*excludes = *list == '^';
	list += strspn(list, "^=");
	return arena_strndup(a, list, strcspn(list, ",:"));
}

static void doctor_net_named(const struct rule_facts *e, struct judged *out)
{
	static const char *const names[] = { "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME",
					     "TP_SOCKET_IFNAME" };

	verdict_set(e, out, CAUSE_EXCLUDED,
		    "no visible variable names an interface that is missing or slow");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct observed_var *v = var_of(e, names[i]);
		const struct nic *found = NULL;
		const char *want;
		bool excludes;

		if (!v || !*fact_text(&v->value, ""))
			continue;
		want = first_name(e->a, v->value.v, &excludes);
		if (excludes)
			continue;
		LIST_FOR_EACH (struct nic, n, &e->m->net.nics)
			if (strncmp(n->name, want, strlen(want)) == 0)
				found = n;
		if (!found)
			verdict_set(e, out, CAUSE_CERTAIN, "%s: no such interface on the machine",
				    var_text(e, v));
		else if (fact_or(&found->wireless, 0))
			verdict_set(e, out, CAUSE_LIKELY, "%s: a wireless interface",
				    var_text(e, v));
		if (out->likelihood != CAUSE_EXCLUDED)
			return;
	}
}

/* A listener may be rank 0 itself, which waits: it is no more than possible. */
static void taken(const struct rule_facts *e, struct judged *out)
{
	const struct observed_var *v = var_of(e, "MASTER_PORT");
	long long port;

	if (!v || parse_i64(fact_text(&v->value, ""), &port))
		port = 29500;
	if (verdict_set_unseen(e, out, &e->signs->listens.f, "the table of TCP ports"))
		return;
	if (port > 0 && idset_has(&e->signs->listens.v, (unsigned)port))
		verdict_set(e, out, CAUSE_POSSIBLE,
			    "a program here listens on port %lld: rank 0 of this job, or one that "
			    "an earlier job left",
			    port);
	else
		verdict_set(e, out, CAUSE_EXCLUDED, "no program here listens on port %lld", port);
}

static void routed(const struct rule_facts *e, struct judged *out)
{
	const struct path_look *p = e->path;

	if (test_missing(e, TEST_PATH, out))
		return;
	if (!p || !*p->interface)
		verdict_set(e, out, CAUSE_UNSEEN, "the interface to the peer is unknown");
	else if (p->wireless)
		verdict_set(e, out, CAUSE_CERTAIN, "%s is reached through %s, which is wireless",
			    p->to, p->interface);
	else if (p->speed_mbps && p->fastest_mbps >= 4 * p->speed_mbps)
		verdict_set(e, out, CAUSE_LIKELY,
			    "%s is reached through %s (%lld Mb/s), but %s has %lld Mb/s", p->to,
			    p->interface, p->speed_mbps, p->fastest, p->fastest_mbps);
	else
		verdict_set(e, out, CAUSE_EXCLUDED, "%s is reached through %s", p->to,
			    p->interface);
}

/* --- Wi-Fi ------------------------------------------------------------------------------------ */
static void doctor_net_power_save(const struct rule_facts *e, struct judged *out)
{
	verdict_set(e, out, CAUSE_NOT_HERE, "no wireless interface is up");
	LIST_FOR_EACH (struct nic, n, &e->m->net.nics) {
		const struct observed_link *s = NULL;

		if (!fact_or(&n->wireless, 0) || !is_up(n))
			continue;
		LIST_FOR_EACH (struct observed_link, l, &e->signs->links)
			if (strcmp(l->name, n->name) == 0)
				s = l;
		if (!s || (s->wifi_power_save.f.seen != SEEN_OK &&
			   s->wifi_power_save.f.seen != SEEN_ABSENT))
			verdict_set(e, out, CAUSE_UNSEEN, "NetworkManager's files are unreadable");
		else if (seen_ok(&s->wifi_power_save.f) && s->wifi_power_save.v == 2)
			verdict_set(e, out, CAUSE_EXCLUDED, "power saving is off for %s", n->name);
		else
			verdict_set(e, out,
				    seen_ok(&s->wifi_power_save.f) ? CAUSE_LIKELY : CAUSE_POSSIBLE,
				    "%s is up, and its power saving is %s", n->name,
				    seen_ok(&s->wifi_power_save.f) ? "on (wifi.powersave in "
								     "NetworkManager's files)"
								   : "the driver's default");
	}
}

/* Two cables with networks of their own: a machine of a ring. The halves of one port are one. */
static bool stands_between(const struct machine *m)
{
	const char *first = NULL;

	LIST_FOR_EACH (struct nic, n, &m->net.nics) {
		if (!is_data_port(m, n) || !is_up(n) || !seen_ok(&n->ipv4.f) || !*n->ipv4.v ||
		    !seen_ok(&n->port.f))
			continue;
		if (first && strcmp(first, n->port.v) != 0)
			return true;
		first = n->port.v;
	}
	return false;
}

static void doctor_net_dropped(const struct rule_facts *e, struct judged *out)
{
	if (!is_spark(e) || !stands_between(e->m))
		verdict_set(e, out, CAUSE_NOT_HERE,
			    "the machine is not part of a ring without a switch");
	else if (verdict_set_unseen(e, out, &e->signs->ip_forward.f, "ip_forward"))
		return;
	else if (!e->signs->ip_forward.v)
		verdict_set(e, out, CAUSE_POSSIBLE,
			    "two cables, but ip_forward is 0: the machine does not forward "
			    "packets between them. A ring of four requires forwarding, a ring of "
			    "three does not");
	else if (service_active(e->m, "docker.service"))
		verdict_set(e, out, CAUSE_POSSIBLE,
			    "Docker runs, which by default drops packets forwarded between other "
			    "interfaces");
	else
		verdict_set(e, out, CAUSE_EXCLUDED, "ip_forward is 1 and Docker does not run");
}

/* --- ARP -------------------------------------------------------------------------------------- */
/* As the row of the whole machine wants it, where it wants anything. */
static bool doctor_net_meets(const struct rule_facts *e, const char *setting,
			     const struct fact_int *f)
{
	const struct recommendation *o =
		setting_recommendation(setting_find(setting), PROFILE_DEFAULT, ON_SPARK);

	return seen_ok(&f->f) && recommendation_met(o, arena_printf(e->a, "%lld", f->v));
}

static void flux(const struct rule_facts *e, struct judged *out)
{
	bool strict = e->signs->links.n > 0;

	rule_by_setting(e, "nic.subnets", CAUSE_LIKELY, out);
	if (out->likelihood != CAUSE_LIKELY)
		return;
	LIST_FOR_EACH (struct observed_link, l, &e->signs->links)
		strict = strict && doctor_net_meets(e, "net.arp-ignore", &l->arp_ignore) &&
			 doctor_net_meets(e, "net.arp-announce", &l->arp_announce);
	if (strict)
		verdict_set(e, out, CAUSE_EXCLUDED,
			    "%s; but arp_ignore and arp_announce restrict every interface to its "
			    "own addresses",
			    out->text);
}

/* The third figure of "4096 16384 4194304", as the setting's finding shows it; 0: not seen. */
static double largest_of(const struct finding *f)
{
	long long x[3];

	return f && f->v.current && sscanf(f->v.current, "%lld %lld %lld", &x[0], &x[1], &x[2]) == 3
		       ? (double)x[2]
		       : 0;
}

/*
 * Bytes on their way are rate times round trip. Where they come near what the buffer allows, the
 * buffer is the limit; of a buffer about half is data, the rest is what the kernel keeps beside it.
 */
static void doctor_net_buffers(const struct rule_facts *e, const char *setting,
			       enum doctor_test_id t, struct judged *out)
{
	double most = largest_of(finding_of(e, setting)), rate, on_way;
	struct judged test;

	rule_by_setting(e, setting, CAUSE_POSSIBLE, out);
	if (test_missing(e, t, &test) || test_missing(e, TEST_PATH, &test)) {
		if (out->likelihood != CAUSE_EXCLUDED)
			verdict_set(e, out,
				    out->likelihood == CAUSE_POSSIBLE ? CAUSE_POSSIBLE
								      : CAUSE_UNSEEN,
				    "%s; %s", out->text, test.text);
		return;
	}
	if (!(most > 0) || !e->path || !(e->path->rtt_s > 0) ||
	    !figure_of(case_of(e, "tcp", doctor_tests[t].cases), "rate", &rate)) {
		verdict_set(e, out, CAUSE_UNSEEN,
			    "the buffer's limit or the round trip is unknown");
		return;
	}
	on_way = rate * 1e9 / 8 * e->path->rtt_s;
	verdict_set(e, out, on_way > 0.35 * most ? CAUSE_LIKELY : CAUSE_EXCLUDED,
		    "%.3g Gbit/s with a round trip of %.2f ms require %.0f KiB in flight; the "
		    "buffer is limited to %.0f KiB",
		    rate, 1e3 * e->path->rtt_s, on_way / 1024, most / 1024);
}

static void receive_buffer(const struct rule_facts *e, struct judged *out)
{
	doctor_net_buffers(e, "net.tcp-rmem", TEST_TCP_BACK, out);
}

static void send_buffer(const struct rule_facts *e, struct judged *out)
{
	doctor_net_buffers(e, "net.tcp-wmem", TEST_TCP, out);
}

static void forgets(const struct rule_facts *e, struct judged *out)
{
	const struct finding *f = finding_of(e, "net.tcp-slow-start-after-idle");
	const struct record_case *c = case_of(e, "tcp-idle", "1MiB");
	bool on = f && f->v.current && *f->v.current == '1';
	struct judged test;
	double share;

	if (!f || !f->v.current) {
		verdict_set(e, out, CAUSE_UNSEEN, "net.tcp-slow-start-after-idle is unreadable");
		return;
	}
	if (test_missing(e, TEST_TCP_IDLE, &test) || !figure_of(c, "share", &share)) {
		verdict_set(e, out, on ? CAUSE_POSSIBLE : CAUSE_EXCLUDED,
			    "tcp_slow_start_after_idle is %s%s%s", f->v.current, on ? "; " : "",
			    on ? test.text : "");
		return;
	}
	verdict_set(e, out, share >= 80 || !on ? CAUSE_EXCLUDED : CAUSE_CERTAIN,
		    "a burst after a pause reaches %.0f %% of the speed without a pause; slow "
		    "start after idle is %s",
		    share, on ? "on" : "off");
}

#include "measure/doctor_net_rows.h"
