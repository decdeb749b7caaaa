/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that change a node's network, in this order:
 *   "network-plan" {"ports", "hosts", "known_hosts"}: what would be changed; writes nothing
 *   "network-set"  the same and {"digest", "limit_s"}: arms the rollback timer, makes the trial
 *   "network-look" {"ports"}: whether addresses and MTUs are there now
 *   "network-keep" {}: disarms, and writes what is kept
 *   "network-back" {}: takes the trial back
 *   "network-undo" {"dry"}: takes back all that was ever kept
 * The trial is an open transaction of the journal; when the program ends it is taken back.
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/if_ether.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/knob/io.h"
#include "many/cluster/apply.h"
#include "many/cluster/messages.h"
#include "many/cluster/neighbor.h"
#include "many/cluster/ask.h"
#include "many/cluster/plan.h"
#include "many/cluster/rollback_timer.h"
#include "many/cluster/setup.h"
#include "tune/txn/layer.h"

/* ARP probes, and who answers them. What comes in is anybody's: only its sender's address counts.
 */

enum { WAIT_MS = 250, TRIES = 2, GAP_MS = 90 };

struct asker {
	int fd;	     /* -1: it could not be asked */
	uint32_t ip; /* host order */
	struct ether_arp probe;
	struct sockaddr_ll to;
};

static int open_asker(struct asker *k, const struct arp_probe_ask *ask)
{
	struct ifreq own = { 0 };
	struct ipv4 x;
	uint32_t ip;

	if (ipv4_parse(ask->address, &x))
		return -EINVAL;
	k->ip = x.ip;
	k->to = (struct sockaddr_ll){ .sll_family = AF_PACKET,
				      .sll_protocol = htons(ETH_P_ARP),
				      .sll_ifindex = (int)if_nametoindex(ask->port),
				      .sll_halen = ETH_ALEN };
	memset(k->to.sll_addr, 0xff, ETH_ALEN);
	k->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ARP));
	if (k->fd < 0)
		return -errno;
	snprintf(own.ifr_name, sizeof(own.ifr_name), "%s", ask->port);
	if (!k->to.sll_ifindex || ioctl(k->fd, SIOCGIFHWADDR, &own) < 0 ||
	    own.ifr_hwaddr.sa_family != ARPHRD_ETHER ||
	    bind(k->fd, (const struct sockaddr *)&k->to, sizeof(k->to)) < 0) {
		int r = errno ? -errno : -EOPNOTSUPP;

		close(k->fd);
		k->fd = -1;
		return r;
	}
	ip = htonl(x.ip);
	k->probe = (struct ether_arp){ .ea_hdr = { .ar_hrd = htons(ARPHRD_ETHER),
						   .ar_pro = htons(ETHERTYPE_IP),
						   .ar_hln = ETH_ALEN,
						   .ar_pln = 4,
						   .ar_op = htons(ARPOP_REQUEST) } };
	memcpy(k->probe.arp_sha, own.ifr_hwaddr.sa_data, ETH_ALEN);
	memcpy(k->probe.arp_tpa, &ip, sizeof(ip));
	return 0;
}

/* Whoever says that the address is his, and is not this port. */
static void arp_probe_take(struct asker *k, struct arp_probe_ask *ask)
{
	struct ether_arp got;
	uint32_t ip;

	while (recv(k->fd, &got, sizeof(got), 0) == (ssize_t)sizeof(got)) {
		memcpy(&ip, got.arp_spa, sizeof(ip));
		if (got.ea_hdr.ar_pro != htons(ETHERTYPE_IP) || got.ea_hdr.ar_hln != ETH_ALEN ||
		    got.ea_hdr.ar_pln != 4 || ntohl(ip) != k->ip ||
		    memcmp(got.arp_sha, k->probe.arp_sha, ETH_ALEN) == 0)
			continue;
		snprintf(ask->by, sizeof(ask->by), "%02x:%02x:%02x:%02x:%02x:%02x", got.arp_sha[0],
			 got.arp_sha[1], got.arp_sha[2], got.arp_sha[3], got.arp_sha[4],
			 got.arp_sha[5]);
	}
}

static void send_all(struct asker *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].fd >= 0)
			(void)sendto(list[i].fd, &list[i].probe, sizeof(list[i].probe), 0,
				     (const struct sockaddr *)&list[i].to, sizeof(list[i].to));
}

static void listen_all(struct asker *list, struct arp_probe_ask *asks, size_t n)
{
	long long begin = clock_mono_ms(), now;
	struct pollfd p[TAKEN_MAX];
	int sent = 0;

	while ((now = clock_mono_ms() - begin) < WAIT_MS) {
		if (sent < TRIES && now >= sent * GAP_MS) {
			send_all(list, n);
			sent++;
		}
		for (size_t i = 0; i < n; i++)
			p[i] = (struct pollfd){ .fd = list[i].fd, .events = POLLIN };
		poll(p, (nfds_t)n, GAP_MS / 3);
		for (size_t i = 0; i < n; i++)
			if (list[i].fd >= 0 && p[i].revents)
				arp_probe_take(&list[i], &asks[i]);
	}
}

int arp_probe(struct arp_probe_ask *asks, size_t n)
{
	struct asker list[TAKEN_MAX];
	size_t open = 0;
	int r = 0;

	if (n > TAKEN_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n; i++) {
		int failed;

		asks[i].by[0] = '\0';
		list[i].fd = -1;
		failed = open_asker(&list[i], &asks[i]);
		r = failed ? failed : r;
		open += !failed;
	}
	if (open)
		listen_all(list, asks, n);
	for (size_t i = 0; i < n; i++)
		if (list[i].fd >= 0)
			close(list[i].fd);
	return open ? 0 : r;
}

/* One run's: from network-set to network-keep or network-back. */
struct configure {
	struct host *h; /* of a captured machine the node's, whose folder takes what is written */
	bool captured;
	struct arena a;
	struct txn_trial *trial; /* NULL: nothing was begun */
	struct txn_who who;
	struct setup setup;
	struct rollback_timer deadman;
	bool armed;
};

static struct txn_who who_is(struct arena *a)
{
	struct txn_who who = txn_who_here(a, "cluster plan");

	who.op = SETUP_OP;
	return who;
}

static struct knob *knobs_of(struct arena *a, const struct plan *p)
{
	struct knob *out = arena_array(a, p->n, sizeof(*out));

	for (size_t i = 0; i < p->n; i++)
		out[i] = p->changes[i].knob;
	return out;
}

/* It is over; what it found stays until it is reported. */
static void finish(struct configure *c)
{
	if (!c->captured)
		host_close(c->h);
	*c = (struct configure){ .a = c->a };
}

static void forget(struct configure *c)
{
	finish(c);
	arena_free(&c->a);
	*c = (struct configure){ 0 };
}

/* --- planning --------------------------------------------------------------------------------- */

/* A file of our name that somebody edited, or wrote, is theirs. */
static void refuse_edited(struct arena *a, const struct journal *j, const struct plan *p,
			  struct setup *s)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];
		const struct entry *ours;

		if ((c->knob.kind != KNOB_FILE && c->knob.kind != KNOB_BLOCK) ||
		    strcmp(c->before, "absent") == 0)
			continue;
		ours = layer_top((struct journal *)j, &c->knob);
		if (ours && strcmp(ours->after, c->before) == 0)
			continue;
		setup_refuse(a, s, REFUSED_EDITED, "", "%s: %s", c->knob.name,
			     ours ? "edited since gputune wrote it" : "not written by gputune");
	}
}

/* Somebody who is no node of the cluster: on a switch there may be anybody. */
static void refuse_taken(struct arena *a, struct setup *s)
{
	struct arp_probe_ask asks[TAKEN_MAX];
	size_t n = 0;

	for (size_t i = 0; i < s->trial.n && n < TAKEN_MAX; i++) {
		const struct knob *k = &s->trial.changes[i].knob;

		if (k->kind == KNOB_ADDRESS)
			asks[n++] = (struct arp_probe_ask){ .port = k->object, .address = k->name };
	}
	/* What cannot be asked is said by the echoes afterwards. */
	if (!n || arp_probe(asks, n))
		return;
	for (size_t i = 0; i < n; i++)
		if (*asks[i].by)
			setup_refuse(a, s, REFUSED_TAKEN, arena_strdup(a, asks[i].port),
				     "%s is already in use: %s answers ARP requests for it",
				     asks[i].address, asks[i].by);
}

/* want: from the network. */
static int node_configure_make(struct ask_node *n, struct host *h, struct arena *a,
			       struct setup_want *want, struct setup *out, struct err *e)
{
	struct journal j;
	int r = setup_want_check(a, want, e);

	if (r)
		return r;
	setup_make(a, h, n->look(n, true), want, out);
	if (!n->captured)
		refuse_taken(a, out);
	r = journal_load(h, a, false, &j, e);
	if (r && r != -EACCES && r != -EPERM && r != HOST_NOT_CAPTURED)
		return r;
	if (r == 0) {
		refuse_edited(a, &j, &out->trial, out);
		refuse_edited(a, &j, &out->keep, out);
	}
	return 0;
}

static int answer_plan(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	struct setup_want want = *(const struct setup_want *)with;
	struct ask_node *n = of;
	struct setup s;
	int r = node_configure_make(n, n->h, a, &want, &s, e);

	if (r == 0)
		setup_answer(a, n->h, &s, &want, answer);
	return r;
}

/* --- the trial -------------------------------------------------------------------------------- */

static int check_target(struct configure *c, const struct setup_want *want, struct err *e)
{
	if (want->limit_s && (want->limit_s < DEADMAN_LEAST_S || want->limit_s > DEADMAN_MOST_S))
		return err_set(e, -EINVAL, "\"limit_s\" must be a number from %d to %d",
			       DEADMAN_LEAST_S, DEADMAN_MOST_S);
	if (c->setup.n_refusals)
		return err_set(e, -EBUSY, "%s", c->setup.refusals[0].text);
	if (!want->digest || strcmp(want->digest, setup_digest(&c->a, &c->setup)) != 0)
		return err_set(e, -ESTALE,
			       "the node was changed since the plan was made; make a new plan");
	return 0;
}

/* What is open goes back, and the owners of the links hear of it. */
static int node_rollback(struct configure *c, struct txn_report *report, struct err *e)
{
	struct knob *knobs = knobs_of(&c->a, &c->setup.trial);
	bool made = c->trial && c->setup.trial.n;
	struct err late = { 0 };
	int r = c->trial ? txn_trial_revert(c->trial, report, e) : 0, ended, reloaded = 0;

	ended = c->trial ? txn_trial_end(c->trial, &late) : 0;
	c->trial = NULL;
	if (made && !c->captured)
		reloaded = setup_reload(&c->a, c->h, knobs, c->setup.trial.n, &late);
	if (r == 0 && (ended || reloaded)) {
		*e = late;
		r = ended ? ended : reloaded;
	}
	/* Whether he has fired meanwhile does not matter: it is back, or he could not do more. */
	if (c->armed)
		rollback_timer_end(c->h, &c->a, &c->deadman);
	c->armed = false;
	return r;
}

static int node_configure_try_it(struct configure *c, int limit_s, struct err *e)
{
	struct txn_report report = { 0 };
	struct err ignored = { 0 };
	int r = c->captured ? 0 : rollback_timer_arm(c->h, &c->a, limit_s, &c->deadman, e);

	if (r)
		return r;
	c->armed = !c->captured;
	r = txn_trial_begin(c->h, &c->a, &c->who, "cluster plan", &report, &c->trial, e);
	if (r == 0 && c->setup.trial.n)
		r = txn_trial_set(c->trial, &c->setup.trial, SETUP_OP, &report, e);
	if (r == 0 && c->setup.trial.n && !c->captured)
		r = setup_reload(&c->a, c->h, knobs_of(&c->a, &c->setup.trial), c->setup.trial.n,
				 e);
	if (r)
		(void)node_rollback(c, NULL, &ignored);
	return r;
}

static int answer_set(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	struct ask_node *n = of;
	struct configure *c = n->change ? n->change : calloc(1, sizeof(*c));
	struct setup_want want;
	int r;

	(void)a;
	n->change = c;
	if (!c)
		return err_set(e, -ENOMEM, "out of memory");
	if (c->h)
		return err_set(e, -EBUSY, "another change is waiting to be confirmed or undone");
	forget(c);
	c->captured = n->captured;
	c->h = c->captured ? n->h : host_open_live();
	c->who = who_is(&c->a);
	/* It lives longer than the request. */
	r = shape_read(&c->a, &setup_want_shape, with, &want, e);
	r = r ? r : node_configure_make(n, c->h, &c->a, &want, &c->setup, e);
	if (r == 0)
		r = check_target(c, &want, e);
	if (r == 0)
		r = node_configure_try_it(c, want.limit_s ? (int)want.limit_s : DEADMAN_S, e);
	if (r == 0)
		((struct armed_answer *)answer)->dead_man =
			c->captured ? "no rollback timer on a captured machine"
				    : rollback_timer_how(&c->deadman);
	else
		finish(c);
	return r;
}

/* --- keeping and taking back ------------------------------------------------------------------ */

static int node_configure_keep(struct configure *c, struct err *e)
{
	struct txn_report report = { 0 };
	int r = c->armed ? rollback_timer_decide(c->h, e) : 0;

	if (r)
		return r;
	if (c->setup.trial.n)
		r = txn_trial_keep(c->trial, e);
	if (r == 0 && c->setup.keep.n)
		r = txn_trial_set(c->trial, &c->setup.keep, SETUP_OP, &report, e);
	if (r == 0 && c->setup.keep.n)
		r = txn_trial_keep(c->trial, e);
	return r;
}

static int answer_keep(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	struct configure *c = ((struct ask_node *)of)->change;
	struct err ignored = { 0 };
	int r;

	(void)a;
	(void)with;
	(void)answer;
	if (!c || !c->trial)
		return err_set(e, -ENOENT, "no change is waiting for confirmation");
	r = node_configure_keep(c, e);
	/* What is still open is taken back. */
	if (r) {
		(void)node_rollback(c, NULL, &ignored);
	} else {
		(void)txn_trial_end(c->trial, &ignored);
		if (c->armed)
			rollback_timer_end(c->h, &c->a, &c->deadman);
	}
	finish(c);
	return r;
}

static int answer_back(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	struct configure *c = ((struct ask_node *)of)->change;
	int r;

	(void)a;
	(void)with;
	if (!c || !c->trial)
		return 0;
	r = node_rollback(c, answer, e);
	finish(c);
	return r;
}

void configure_end(struct ask_node *n)
{
	struct configure *c = n->change;
	struct err ignored = { 0 };

	if (c && c->h)
		(void)node_rollback(c, NULL, &ignored);
	if (c)
		forget(c);
	free(c);
	n->change = NULL;
}

static int answer_undo(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	const struct undo_ask *ask = with;
	const struct ask_node *n = of;
	const struct txn_select s = {
		.all = true, .op = SETUP_OP, .dry = ask->dry, .force = ask->force
	};
	struct txn_who who = who_is(a);
	struct txn_report *report = answer;
	HOST_AUTO *live = n->captured ? NULL : host_open_live();
	struct host *h = live ? live : n->h;
	struct knob *knobs;
	int r = txn_undo(h, a, &s, &who, report, e);

	if (r && r != -ENOENT)
		return r;
	knobs = arena_array(a, report->n, sizeof(*knobs));
	for (size_t i = 0; i < report->n; i++)
		knobs[i] = report->rows[i].knob;
	return s.dry || !report->n || n->captured ? 0 : setup_reload(a, h, knobs, report->n, e);
}

enum { SETTLE_MS = 8000, LOOK_MS = 100 };

/* NULL: the port is as asked for. */
static const char *node_configure_trouble_of(const struct ask_node *n, struct arena *a,
					     const struct setup_port *p)
{
	const struct knob address = { KNOB_ADDRESS, p->address, p->name },
			  mtu = { KNOB_LINK, "mtu", p->name };
	HOST_AUTO *live = n->captured ? NULL : host_open_live();
	struct host *h = live ? live : n->h;
	struct err e = { 0 };
	const char *now;

	if (knob_get(h, a, &address, &now, &e))
		return arena_strdup(a, e.text);
	if (strcmp(now, "present") != 0)
		return arena_printf(a, "the node does not have %s", p->address);
	if (knob_get(h, a, &mtu, &now, &e))
		return arena_strdup(a, e.text);
	if (strcmp(now, arena_printf(a, "%lld", p->mtu)) != 0)
		return arena_printf(a, "the MTU is %s, not %lld", now, p->mtu);
	return NULL;
}

static int answer_settled(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	struct setup_want want = *(const struct setup_want *)with;
	const struct ask_node *n = of;
	struct settled_answer *out = answer;
	long long until = clock_mono_ms() + SETTLE_MS;
	int r = setup_want_check(a, &want, e);

	if (r)
		return r;
	out->ports = arena_array(a, want.n, sizeof(*out->ports));
	for (size_t i = 0; i < want.n; i++) {
		const char *trouble = node_configure_trouble_of(n, a, &want.ports[i]);

		while (trouble && clock_mono_ms() < until && !atomic_load(n->stop)) {
			poll(NULL, 0, LOOK_MS);
			trouble = node_configure_trouble_of(n, a, &want.ports[i]);
		}
		out->ports[out->n++] = (struct settled_port){ want.ports[i].name, trouble };
	}
	return 0;
}

/*
 * "preflight" {}: whose program this is, what time it has, which networks its addresses and routes
 * use, the public keys of its user and of its ssh server. Public halves alone: no private key is
 * ever opened.
 */

enum { KEY_FILE_MAX = 16384 };

/* "TYPE BASE64" of a line "TYPE BASE64 COMMENT"; NULL: no key. */
static const char *node_configure_key_of(struct arena *a, const char *text)
{
	size_t n = strcspn(text, " "), m;
	const char *key;

	if (!text[n])
		return NULL;
	m = strcspn(text + n + 1, " \n\r");
	key = arena_strndup(a, text, n + 1 + m);
	return wiring_host_key_valid(key) ? key : NULL;
}

static const char *read_key(struct arena *a, struct host *h, const char *path)
{
	char *text;

	return host_read(h, path, KEY_FILE_MAX, a, &text, NULL) ? NULL
								: node_configure_key_of(a, text);
}

static void user_keys(struct arena *a, struct host *h, const char *home, struct wiring_node *out)
{
	struct wiring_key *list = arena_array(a, WIRING_KEYS_MAX, sizeof(*list));
	const char *dir = arena_printf(a, "%s/.ssh", home), *key;
	char **names;
	size_t n;

	out->keys = list;
	if (host_list(h, dir, a, &names, &n))
		return;
	for (size_t i = 0; i < n && out->n_keys < WIRING_KEYS_MAX; i++) {
		size_t len = strlen(names[i]) - (str_ends(names[i], ".pub") ? 4 : 0);

		/* A public key without its other half here is somebody else's. */
		if (names[i][len] &&
		    host_exists(h, arena_printf(a, "%s/%.*s", dir, (int)len, names[i])) &&
		    (key = read_key(a, h, arena_printf(a, "%s/%s", dir, names[i]))) != NULL)
			list[out->n_keys++] =
				(struct wiring_key){ names[i], setup_sha256(a, key, strlen(key)) };
	}
}

static void host_keys(struct arena *a, struct host *h, struct wiring_node *out)
{
	static const char dir[] = "/etc/ssh";
	const char **list = arena_array(a, WIRING_KEYS_MAX, sizeof(*list)), *key;
	char **names;
	size_t n;

	out->host_keys = list;
	if (host_list(h, dir, a, &names, &n))
		return;
	for (size_t i = 0; i < n && out->n_host_keys < WIRING_KEYS_MAX; i++)
		if (str_starts(names[i], "ssh_host_") && str_ends(names[i], "_key.pub") &&
		    (key = read_key(a, h, arena_printf(a, "%s/%s", dir, names[i]))) != NULL)
			list[out->n_host_keys++] = key;
}

static void add_network(struct arena *a, struct wiring_node *out, struct ipv4 x)
{
	if (!x.bits || ipv4_local(x) || out->n_network_texts == WIRING_NETWORKS_MAX)
		return;
	ARENA_ADD(a, out->network_texts, out->n_network_texts) = ipv4_text(a, ipv4_network(x));
}

static void networks(struct arena *a, struct host *h, const struct machine *m,
		     struct wiring_node *out)
{
	char *text, *save = NULL, *words;

	LIST_FOR_EACH (struct nic, n, &m->net.nics) {
		words = arena_strdup(a, fact_text(&n->ipv4, ""));
		for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
			struct ipv4 x;

			if (ipv4_parse(w, &x) == 0)
				add_network(a, out, x);
		}
	}
	if (host_read(h, "/proc/net/route", HOST_READ_MAX, a, &text, NULL))
		return;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long to, mask;

		if (sscanf(line, "%*s %lx %*x %*x %*d %*d %*d %lx", &to, &mask) == 2)
			add_network(a, out,
				    /* Addresses stand there as they lie in memory. */
				    (struct ipv4){ .ip = ntohl((uint32_t)to),
						   .bits = (unsigned)__builtin_popcountl(mask) });
	}
}

static int answer_preflight(void *of, struct arena *a, const void *with, void *answer,
			    struct err *e)
{
	struct ask_node *n = of;
	struct wiring_node *own = answer;
	const struct machine *m = n->look(n, false);
	const char *sudo = getenv("SUDO_USER");
	/* Whoever logged in: whose keys, and whose name launchers would use. */
	const struct passwd *pw = sudo && *sudo ? getpwnam(sudo) : getpwuid(geteuid());
	struct timespec now;

	(void)with;
	(void)e;
	clock_gettime(CLOCK_REALTIME, &now);
	*own = (struct wiring_node){ .user = pw ? arena_strdup(a, pw->pw_name) : "?",
				     .euid = n->captured ? 0 : geteuid(), /* it is this user's */
				     .version = GPUTUNE_VERSION,
				     .time_ms =
					     (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 };
	networks(a, n->h, m, own);
	user_keys(a, n->h, pw ? pw->pw_dir : "/nonexistent", own);
	host_keys(a, n->h, own);
	return 0;
}

/* clang-format off */
const struct request ask_configure[] = {
	{ "preflight", NULL, &wiring_node_shape, answer_preflight, NULL },
	{ "network-plan", &setup_want_shape, &setup_answer_shape, answer_plan, NULL },
	{ "network-set", NULL, &armed_answer_shape, answer_set, NULL },
	{ "network-look", &setup_want_shape, &settled_answer_shape, answer_settled, NULL },
	{ "network-keep", NULL, NULL, answer_keep, NULL },
	{ "network-back", NULL, &apply_undone_shape, answer_back, NULL },
	{ "network-undo", &undo_ask_shape, &apply_undone_shape, answer_undo, NULL },
	{ .name = NULL },
};
/* clang-format on */
