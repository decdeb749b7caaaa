/* SPDX-License-Identifier: Apache-2.0 */
/* From facts to a node: interfaces and the RDMA devices of the same PCI function become ports. */
#include "many/cluster/inventory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "look/settings/predicates.h"
#include "machine/host/command.h"
#include "machine/host/host.h"
#include "many/cluster/ask.h"
#include "many/cluster/messages.h"
#include "many/cluster/neighbor.h"
#include "measure/bench/net/socket.h"
#include "measure/bench/net/verbs.h"

static struct fact seen(const char *from)
{
	return (struct fact){ .seen = SEEN_OK, .leaf = from };
}

static struct fact unseen(int error, const char *from)
{
	return (struct fact){ .seen = seen_from_errno(-error), .err = error, .leaf = from };
}

static struct fact_int number(long long v, const char *from)
{
	return (struct fact_int){ .f = seen(from), .v = v };
}

static struct fact_str word(const char *v, const char *from)
{
	return (struct fact_str){ .f = seen(from), .v = v };
}

static struct fact_str no_word(int error, const char *from)
{
	return (struct fact_str){ .f = unseen(error, from) };
}

static void cluster_inventory_rdma(const struct rdma_port *r, struct cluster_port *p)
{
	static const char from[] = "/sys/class/infiniband";

	if (!r) {
		p->rdma_device = no_word(ENOENT, from);
		return;
	}
	p->rdma_device = word(r->device, from);
	p->rdma_port = number(r->number, from);
	p->rdma = *r;
}

static void cluster_inventory_addresses(struct arena *a, const struct nic *n,
					struct cluster_port *p)
{
	char *text = arena_strdup(a, fact_text(&n->ipv4, "")), *save = NULL;

	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		struct cluster_prefix prefix;

		if (p->addresses.n < CLUSTER_ADDRESSES_MAX && !cluster_prefix_parse(w, &prefix))
			((struct cluster_address *)list_add(a, &p->addresses,
							    sizeof(struct cluster_address)))
				->name = w;
	}
}

static void cluster_inventory_port(struct arena *a, const struct machine *m, const struct nic *n,
				   struct cluster_port *p)
{
	const struct pci_function *f = *n->pci ? machine_pci(m, n->pci) : NULL;

	p->name = n->name;
	p->pci = n->pci;
	p->nic = *n;
	if (f) {
		struct link_best best = machine_link_best(m, f);

		p->function = *f;
		p->function.max_speed_mts.v = best.speed_mts;
		p->function.max_width.v = best.width;
	}
	cluster_inventory_addresses(a, n, p);
	cluster_inventory_rdma(rdma_of(m, n), p);
}

/* Of virtual ones no driver was asked for. */
static bool is_virtual_link(const struct nic *n)
{
	return !n->driver.f.leaf;
}

/* On the bus, so that twins stand in the order of their halves; virtual ones last. */
static bool stands_before(const struct cluster_port *x, const struct cluster_port *y)
{
	if (!*x->pci || !*y->pci)
		return *x->pci && !*y->pci;
	return strcmp(x->pci, y->pci) < 0;
}

static void cluster_inventory_in_order(struct list *ports)
{
	struct cluster_port *p = ports->items;

	for (size_t i = 1; i < ports->n; i++)
		for (size_t k = i; k && stands_before(&p[k], &p[k - 1]); k--) {
			struct cluster_port between = p[k];

			p[k] = p[k - 1];
			p[k - 1] = between;
		}
}

static void cluster_inventory_ports(struct arena *a, const struct machine *m, bool all_links,
				    struct cluster_node *out)
{
	LIST_FOR_EACH (struct nic, n, &m->net.nics) {
		/* What is on the bus is no loopback, whatever its type says. */
		if ((fact_is(&n->type, "loopback") && !*n->pci) ||
		    (is_virtual_link(n) && !all_links) || out->ports.n == CLUSTER_PORTS_MAX)
			continue;
		cluster_inventory_port(a, m, n,
				       list_add(a, &out->ports, sizeof(struct cluster_port)));
	}
	cluster_inventory_in_order(&out->ports);
}

static struct fact_str nccl(const struct machine *m)
{
	LIST_FOR_EACH (struct library, l, &m->software.libraries)
		if (strcmp(l->name, "libnccl.so.2") == 0)
			return l->version;
	return no_word(ENOENT, "libnccl.so.2");
}

/* Devices may have another name on each machine. */
static struct fact_str nccl_conf(struct arena *a, const struct fact_str *f)
{
	char *words, *w;
	TEXT_AUTO t = { 0 };

	if (!seen_ok(&f->f) && f->f.seen != SEEN_ABSENT)
		return *f;
	words = arena_strdup(a, fact_text(f, ""));
	while ((w = strsep(&words, " ")))
		if (str_starts(w, "NCCL_") && !str_starts(w, "NCCL_SOCKET_IFNAME") &&
		    !str_starts(w, "NCCL_IB_HCA"))
			text_printf(&t, "%s%s", t.len ? " " : "", w);
	return word(arena_strdup(a, t.len ? t.s : "none"), "/etc/nccl.conf");
}

/* 13000 is 13.0. */
static struct fact_str cuda(struct arena *a, const struct fact_int *driver)
{
	if (!seen_ok(&driver->f))
		return (struct fact_str){ .f = driver->f };
	return (struct fact_str){ .f = driver->f,
				  .v = arena_printf(a, "%lld.%lld", driver->v / 1000,
						    driver->v % 1000 / 10) };
}

static long long adapters(const struct machine *m)
{
	long long n = 0;

	LIST_FOR_EACH (struct pci_function, f, &m->pci)
		n += is_connectx(f);
	return n;
}

void cluster_inventory(struct arena *a, const struct machine *m, bool all_links,
		       struct cluster_node *out)
{
	const struct gpu *g = machine_gpu(m, 0);

	out->hostname = m->nodename;
	out->platform = m->platform.kind;
	out->product = m->platform.product;
	out->os = m->software.os_name;
	out->kernel = m->kernel.release;
	out->arch = m->kernel.arch;
	out->driver = m->gpu.driver;
	out->cuda = cuda(a, &m->gpu.cuda_driver);
	out->nccl = nccl(m);
	out->nccl_conf = nccl_conf(a, &m->software.nccl_conf);
	out->gpus = m->gpu.count;
	out->gpu = g ? g->name : no_word(ENODEV, "nvmlDeviceGetName");
	out->memory_bytes = m->memory.total_kb;
	out->memory_bytes.v *= 1024;
	out->euid = m->euid;
	out->captured = m->captured;
	out->adapters = number(adapters(m), "/sys/bus/pci/devices");
	out->hotplug = m->net.spark_hotplug;
	out->version = word(GPUTUNE_VERSION, "gputune");
	cluster_inventory_ports(a, m, all_links, out);
}

/* getifaddrs, ioctl, /proc and two programs, all of this process's own network namespace. */

enum {
	PROGRAM_MS = 3000,
	LISTING_MAX = 1 << 20,
	LOWER_UP = 1 << 16, /* IFF_LOWER_UP of linux/if.h, which does not go with net/if.h */
};

static void add_address(struct arena *a, const struct ifaddrs *i, struct cluster_port *p)
{
	bool six = i->ifa_addr->sa_family == AF_INET6;
	size_t offset = six ? offsetof(struct sockaddr_in6, sin6_addr)
			    : offsetof(struct sockaddr_in, sin_addr);
	char host[INET6_ADDRSTRLEN];
	struct cluster_address *out;

	if (p->addresses.n == CLUSTER_ADDRESSES_MAX ||
	    !inet_ntop(six ? AF_INET6 : AF_INET, (const char *)i->ifa_addr + offset, host,
		       sizeof(host)))
		return;
	out = list_add(a, &p->addresses, sizeof(*out));
	out->name = arena_printf(a, "%s/%u", host, cluster_prefix_length(i->ifa_netmask));
}

static void link_state(struct arena *a, const struct ifaddrs *i, int fd, struct cluster_port *p)
{
	static const char from[] = "getifaddrs";
	const struct sockaddr_ll *l = (const struct sockaddr_ll *)(const void *)i->ifa_addr;
	bool up = i->ifa_flags & IFF_UP, carrier = i->ifa_flags & LOWER_UP;
	struct ifreq ask = { 0 };

	snprintf(ask.ifr_name, sizeof(ask.ifr_name), "%s", p->name);
	if (l->sll_halen == 6)
		p->nic.mac = word(arena_printf(a, "%02x:%02x:%02x:%02x:%02x:%02x", l->sll_addr[0],
					       l->sll_addr[1], l->sll_addr[2], l->sll_addr[3],
					       l->sll_addr[4], l->sll_addr[5]),
				  from);
	p->nic.carrier = number(up && carrier, from);
	p->nic.operstate = word(up && carrier ? "up" : "down", from);
	if (ioctl(fd, SIOCGIFMTU, &ask) == 0)
		p->nic.mtu = number(ask.ifr_mtu, "ioctl SIOCGIFMTU");
}

/* A capture may describe ports that this namespace lacks: they carry nothing here. */
static void not_here(struct cluster_port *p)
{
	static const char from[] = "getifaddrs";

	p->addresses.n = 0;
	p->nic.carrier = (struct fact_int){ .f = unseen(ENODEV, from) };
	p->nic.operstate = no_word(ENODEV, from);
}

static void local_ports(struct arena *a, struct cluster_node *n)
{
	struct ifaddrs *all = NULL;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || getifaddrs(&all)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	NODE_PORTS(p, n)
	not_here(p);
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		struct cluster_port *p = i->ifa_addr ? cluster_port_find(n, i->ifa_name) : NULL;

		if (p && i->ifa_addr->sa_family == AF_PACKET)
			link_state(a, i, fd, p);
		else if (p &&
			 (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6))
			add_address(a, i, p);
	}
	freeifaddrs(all);
	close(fd);
}

static void default_route(struct arena *a, struct cluster_node *n)
{
	static const char from[] = "/proc/net/route";
	FILE *f = fopen("/proc/thread-self/net/route", "re");
	unsigned long best = 0;
	char line[256];

	n->default_route = no_word(f ? ENOENT : errno, from);
	while (f && fgets(line, sizeof(line), f)) {
		char name[32];
		unsigned long to, mask, metric;

		if (sscanf(line, "%31s %lx %*x %*x %*u %*u %lu %lx", name, &to, &metric, &mask) !=
			    4 ||
		    to || mask || (seen_ok(&n->default_route.f) && metric >= best))
			continue;
		best = metric;
		n->default_route = word(arena_strdup(a, name), from);
	}
	if (f)
		fclose(f);
}

static void digest(struct arena *a, struct cluster_node *n)
{
	static const char from[] = "boot id and network namespace";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	crypto_hash_sha256_state s;
	struct stat st;
	uint8_t out[crypto_hash_sha256_BYTES];
	char id[64] = "", hex[17];

	if (f && !fgets(id, sizeof(id), f))
		id[0] = '\0';
	if (f)
		fclose(f);
	if (!id[0] || stat("/proc/thread-self/ns/net", &st)) {
		n->digest = no_word(ENOENT, from);
		return;
	}
	crypto_hash_sha256_init(&s);
	crypto_hash_sha256_update(&s, (const uint8_t *)id, strlen(id));
	crypto_hash_sha256_update(&s, (const uint8_t *)&st.st_ino, sizeof(st.st_ino));
	crypto_hash_sha256_final(&s, out);
	sodium_bin2hex(hex, sizeof(hex), out, 8);
	n->digest = word(arena_strdup(a, hex), from);
}

static void cluster_inventory_forwarding(struct arena *a, struct cluster_node *n)
{
	char nft[] = "nft", json[] = "-j", list[] = "list", chains[] = "chains";
	char iptables[] = "iptables", rules[] = "-S", chain[] = "FORWARD", wait[] = "-w";
	char *const ask_nft[] = { nft, json, list, chains, NULL };
	char *const ask_iptables[] = { iptables, wait, rules, chain, NULL };
	const char *said = NULL, *listed = NULL, *by = NULL, *policy;
	int r = command_report(a, ask_nft, PROGRAM_MS, LISTING_MAX, &listed), r2 = -ENOENT;
	FILE *f = fopen("/proc/sys/net/ipv4/ip_forward", "re");
	int on = f ? fgetc(f) : EOF;

	if (f)
		fclose(f);
	n->ip_forward = (struct fact_int){ .f = on == EOF ? unseen(EACCES, "net.ipv4.ip_forward")
							  : seen("net.ipv4.ip_forward"),
					   .v = on == '1' };
	/* iptables sees the tables of its older kind, which nft does not. */
	r2 = command_report(a, ask_iptables, PROGRAM_MS, LISTING_MAX, &said);
	policy = local_forward_policy(a, r ? NULL : listed, r2 ? NULL : said, &by);
	if (policy) {
		n->forward = word(policy, "nft, iptables");
		n->forward_by = word(by, "nft, iptables");
		return;
	}
	r = r == -ENOENT ? r2 : r;
	n->forward = no_word(r ? -r : EPROTO, "nft, iptables");
}

static void from_nft(struct arena *a, const json_t *root, const char **policy, const char **by)
{
	const json_t *items = json_object_get(root, "nftables");
	json_t *item;
	size_t i;

	if (json_is_array(items) && !*policy)
		*policy = "accept";
	json_array_foreach(items, i, item)
	{
		const json_t *c = json_object_get(item, "chain");
		const char *hook = json_string_value(json_object_get(c, "hook"));
		const char *said = json_string_value(json_object_get(c, "policy"));
		const char *family = json_string_value(json_object_get(c, "family"));
		const char *table = json_string_value(json_object_get(c, "table"));
		const char *name = json_string_value(json_object_get(c, "name"));

		if (!hook || !said || !family || !table || !name || strcmp(hook, "forward") != 0 ||
		    (strcmp(family, "ip") != 0 && strcmp(family, "inet") != 0))
			continue;
		if (strcmp(said, "drop") == 0 && strcmp(*policy, "drop") != 0) {
			*policy = "drop";
			*by = arena_printf(a, "nft: %.16s %.64s %.64s", family, table, name);
		}
	}
}

const char *local_forward_policy(struct arena *a, const char *nft, const char *save,
				 const char **by)
{
	const char *policy = NULL;
	json_t *root = nft ? json_loads(nft, JSON_REJECT_DUPLICATES, NULL) : NULL;

	*by = "no chain drops";
	if (root)
		from_nft(a, root, &policy, by);
	json_decref(root);
	if (policy && strcmp(policy, "drop") == 0)
		return policy;
	if (save && (str_starts(save, "-P FORWARD DROP") || strstr(save, "\n-P FORWARD DROP"))) {
		*by = "iptables: filter FORWARD";
		return "drop";
	}
	if (save && strstr(save, "-P FORWARD ACCEPT") && !policy)
		policy = "accept";
	return policy;
}

void local_lay_over(struct arena *a, struct cluster_node *n)
{
	local_ports(a, n);
	default_route(a, n);
	digest(a, n);
	cluster_inventory_forwarding(a, n);
}

/* Which way the kernel would send to each of n addresses (without prefix), as routes. */
static void local_routes(struct arena *a, const char *const *to, size_t n, struct list *out)
{
	static const char from[] = "connect of a datagram socket";

	for (size_t i = 0; i < n; i++) {
		struct net_address address;
		struct net_link link;
		struct err e;
		struct cluster_route *r;
		const char *text = strchr(to[i], ':') ? arena_printf(a, "[%s]:9", to[i]) : to[i];

		if (net_address_parse(text, true, &address, &e))
			continue;
		link_to(&address, &link);
		r = list_add(a, out, sizeof(*r));
		r->name = to[i];
		r->port = link.name[0] ? word(arena_strdup(a, link.name), from)
				       : no_word(ENOENT, from);
	}
}

/* What a node answers to a discovery: inventory, listen, say, hear, routes. Changes nothing. */

enum { SAY_MS = 500, SAY_MS_MAX = 120000, NUMBER_MAX = 65535 };

/* From listen to hear. */
struct look {
	struct arena arena;
	struct cluster_node node;
	struct neighbor_discovery *air;
};

/* What only the verbs library tells; opening a device changes nothing. */
static void active_mtu(struct cluster_port *p)
{
	struct verbs_port v;
	struct err e;

	if (!fact_is(&p->rdma.state, "ACTIVE") || verbs_port_open(p->name, &v, &e))
		return;
	if (strcmp(v.netdev, p->name) == 0 && v.mtu >= 1 && v.mtu <= 5)
		p->active_mtu = number(128LL << v.mtu, "ibv_query_port");
	verbs_port_close(&v);
}

static int take_inventory(struct ask_node *n, struct arena *a, const struct look_ask *ask,
			  struct cluster_node *out, struct err *e)
{
	const char *name = ask->name ? ask->name : "node";
	struct arena *was = n->arena;

	if (!cluster_name_valid(name))
		return err_set(e, -EINVAL, "\"name\" is not a valid node name");
	n->arena = a;
	cluster_inventory(a, n->look(n, true), ask->all_links, out);
	n->arena = was;
	out->name = out->address = arena_strdup(a, name);
	out->failure = "";
	local_lay_over(a, out);
	if (!n->captured)
		NODE_PORTS(p, out)
	active_mtu(p);
	return 0;
}

static int inventory(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	return take_inventory(of, a, with, answer, e);
}

static void forget(struct look *l)
{
	if (l->air)
		neighbor_close(l->air);
	arena_free(&l->arena);
	memset(l, 0, sizeof(*l));
}

static int listen_now(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	const struct look_ask *ask = with;
	struct neighbor_options how = { .node = (unsigned)ask->number };
	struct ask_node *n = of;
	struct look *l = n->looking ? n->looking : calloc(1, sizeof(*l));
	int r;

	(void)a;
	(void)answer;
	n->looking = l;
	if (!ask->token || token_bytes(ask->token, how.token, HELLO_TOKEN) != HELLO_TOKEN)
		return err_set(e, -EINVAL, "\"token\" must be %d hexadecimal digits",
			       HELLO_TOKEN * 2);
	if (ask->number < 0 || ask->number > NUMBER_MAX)
		return err_set(e, -EINVAL, "\"number\" must be at most %d", NUMBER_MAX);
	if (!l)
		return err_set(e, -ENOMEM, "out of memory");
	forget(l);
	r = take_inventory(n, &l->arena, ask, &l->node, e);
	how.name = l->node.name;
	return r ? r : neighbor_open(&l->arena, &how, &l->node, &l->air, e);
}

static bool stopped(void *ctx)
{
	return ask_stopped(ctx);
}

static int look_announce(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	const struct look_ask *ask = with;
	struct ask_node *n = of;

	(void)a;
	(void)answer;
	if (ask->for_ms < 0 || ask->for_ms > SAY_MS_MAX)
		return err_set(e, -EINVAL, "\"for_ms\" must be at most %d", SAY_MS_MAX);
	if (!n->looking || !n->looking->air)
		return err_set(e, -EINVAL, "\"say\" requires \"listen\" first");
	return neighbor_announce(n->looking->air, ask->for_ms ? (int)ask->for_ms : SAY_MS, stopped,
				 n);
}

static int look_receive(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	struct look *l = ((struct ask_node *)of)->looking;

	(void)a;
	(void)with;
	if (!l || !l->air)
		return err_set(e, -EINVAL, "\"hear\" requires \"listen\" first");
	neighbor_receive(l->air);
	neighbor_close(l->air);
	l->air = NULL;
	*(struct cluster_node *)answer = l->node;
	return 0;
}

static int look_routes(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	const struct look_ask *ask = with;
	struct cluster_node *node = answer;
	struct cluster_prefix p;

	(void)of;
	*node = (struct cluster_node){ .name = "node", .address = "node", .failure = "" };
	for (size_t i = 0; i < ask->n; i++)
		if (strchr(ask->to[i], '/') || cluster_prefix_parse(ask->to[i], &p))
			return err_set(e, -EINVAL, "\"to\" must be a list of addresses");
	local_routes(a, ask->to, ask->n, &node->routes);
	return 0;
}

void look_end(struct ask_node *n)
{
	if (n->looking)
		forget(n->looking);
	free(n->looking);
	n->looking = NULL;
}

/* clang-format off */
static const struct shape node_answer_shape = SHAPE_OF(cluster_node, node_answer,
	{ "node", NULL, SHAPE_PART(cluster_node_shape) });

const struct request ask_look[] = {
	{ "inventory", &look_ask_shape, &node_answer_shape, inventory, NULL },
	{ "listen", &look_ask_shape, NULL, listen_now, NULL },
	{ "say", &look_ask_shape, NULL, look_announce, NULL },
	{ "hear", NULL, &node_answer_shape, look_receive, NULL },
	{ "routes", &look_ask_shape, &node_answer_shape, look_routes, NULL },
	{ .name = NULL },
};
/* clang-format on */
