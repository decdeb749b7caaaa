/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data center bridging by rtnetlink: which priorities an interface pauses (PFC), by what it sorts
 * packets, and who negotiates that. Object: the interface. Fields: "pfc", a list of priorities or
 * "none", which can be told too; "pfc_max", how many it can have; "dscp_prio", the table
 * DSCP:PRIORITY with runs as one, "none" when it is empty; "trust", what the driver says it sorts
 * by (Linux 6.3 and later, few drivers); "dcbx", "host" or "firmware"; "ets", the traffic classes
 * with priorities, as CLASS:PRIORITIES:HOW with how being "strict", "cbs", "vendor", or "ets=" and
 * per cent of what is sent. Source: net/dcb/dcbnl.c, uapi/linux/dcbnl.h.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/idset.h"
#include "machine/host/ask.h"
#include "machine/host/interface.h"
#include "machine/host/libraries.h"

enum {
	PRIORITIES = 8,
	DSCPS = 64,
	TRUST_TABLE = 11, /* DCB_ATTR_DCB_APP_TRUST_TABLE, which older headers do not have */
	BY_DSCP = 5,	  /* IEEE_8021QAZ_APP_SEL_DSCP */
	REQUEST_BYTES = 512,
	ANSWER_BYTES = 16384,
};

/* What one interface answered. */
struct bridging {
	bool has_pfc, has_table, has_trust, has_dcbx, has_ets;
	struct ieee_pfc pfc;
	struct ieee_ets ets;
	signed char priority[DSCPS]; /* -1: none */
	unsigned char trust, dcbx;
};

struct dcb_state {
	int fd;
	int error;	      /* negative errno: there is no socket */
	char name[IFNAMSIZ];  /* of the last answer; "" when there is none */
	int r;		      /* of the request */
	struct bridging last; /* probes ask all of one interface before the next */
};

static int dcb_app(const struct nlattr *a, void *to)
{
	struct bridging *b = to;
	const struct dcb_app *app = mnl_attr_get_payload(a);

	if (mnl_attr_get_type(a) != DCB_ATTR_IEEE_APP ||
	    mnl_attr_get_payload_len(a) < sizeof(*app) || app->selector != BY_DSCP ||
	    app->protocol >= DSCPS || app->priority >= PRIORITIES)
		return MNL_CB_OK;
	/* Of several for one DSCP the largest counts. */
	if (b->priority[app->protocol] < (int)app->priority)
		b->priority[app->protocol] = (signed char)app->priority;
	return MNL_CB_OK;
}

/* The first that is there counts first. */
static int dcb_trusted(const struct nlattr *a, void *to)
{
	struct bridging *b = to;

	if (!b->has_trust && mnl_attr_get_payload_len(a) >= 1)
		b->trust = *(const unsigned char *)mnl_attr_get_payload(a);
	b->has_trust = true;
	return MNL_CB_OK;
}

static int dcb_ieee(const struct nlattr *a, void *to)
{
	struct bridging *b = to;
	uint16_t type = mnl_attr_get_type(a), len = mnl_attr_get_payload_len(a);

	if (type == DCB_ATTR_IEEE_PFC && len >= sizeof(b->pfc)) {
		memcpy(&b->pfc, mnl_attr_get_payload(a), sizeof(b->pfc));
		b->has_pfc = true;
	} else if (type == DCB_ATTR_IEEE_ETS && len >= sizeof(b->ets)) {
		memcpy(&b->ets, mnl_attr_get_payload(a), sizeof(b->ets));
		b->has_ets = true;
	} else if (type == DCB_ATTR_IEEE_APP_TABLE) {
		b->has_table = true;
		mnl_attr_parse_nested(a, dcb_app, b);
	} else if (type == TRUST_TABLE) {
		mnl_attr_parse_nested(a, dcb_trusted, b);
	}
	return MNL_CB_OK;
}

static int dcb_attribute(const struct nlattr *a, void *to)
{
	struct bridging *b = to;

	if (mnl_attr_get_type(a) == DCB_ATTR_IEEE)
		mnl_attr_parse_nested(a, dcb_ieee, b);
	if (mnl_attr_get_type(a) == DCB_ATTR_DCBX && mnl_attr_get_payload_len(a) >= 1) {
		b->dcbx = *(const unsigned char *)mnl_attr_get_payload(a);
		b->has_dcbx = true;
	}
	return MNL_CB_OK;
}

/* What a set is answered with: an errno without its sign, cut to a byte. */
static int dcb_refusal(const struct nlattr *a, void *to)
{
	if (mnl_attr_get_type(a) == DCB_ATTR_IEEE && mnl_attr_get_payload_len(a) >= 1) {
		unsigned char code = *(const unsigned char *)mnl_attr_get_payload(a);

		*(int *)to = code ? code - 256 : 0;
	}
	return MNL_CB_OK;
}

static struct nlmsghdr *dcb_begin(char buf[REQUEST_BYTES], unsigned short type,
				  unsigned char command, const char *name)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct dcbmsg *d;

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST;
	d = mnl_nlmsg_put_extra_header(h, sizeof(*d));
	d->dcb_family = AF_UNSPEC;
	d->cmd = command;
	mnl_attr_put(h, DCB_ATTR_IFNAME, strlen(name) + 1, name);
	return h;
}

/* The kernel's answer in buf; 0 or a negative errno. */
static int dcb_transact(int fd, const struct nlmsghdr *q, char buf[ANSWER_BYTES],
			const struct nlmsghdr **answer)
{
	ssize_t n;

	if (send(fd, q, q->nlmsg_len, 0) < 0)
		return -errno;
	do
		n = recv(fd, buf, ANSWER_BYTES, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	*answer = (const struct nlmsghdr *)(void *)buf;
	if (!netlink_ok(*answer, (int)n))
		return -EPROTO;
	if ((*answer)->nlmsg_type == NLMSG_ERROR)
		return interface_error(*answer) ? interface_error(*answer) : -EPROTO;
	return mnl_nlmsg_get_payload_len(*answer) < sizeof(struct dcbmsg) ? -EPROTO : 0;
}

static int dcb_get(int fd, const char *name, struct bridging *out)
{
	_Alignas(struct nlmsghdr) char ask[REQUEST_BYTES], buf[ANSWER_BYTES];
	const struct nlmsghdr *answer = NULL;
	int r = dcb_transact(fd, dcb_begin(ask, RTM_GETDCB, DCB_CMD_IEEE_GET, name), buf, &answer);

	*out = (struct bridging){ 0 };
	memset(out->priority, -1, sizeof(out->priority));
	if (r == 0)
		mnl_attr_parse(answer, sizeof(struct dcbmsg), dcb_attribute, out);
	return r;
}

/* All of it goes back, with another set of priorities. */
static int dcb_set_pfc(int fd, const char *name, const struct ieee_pfc *pfc)
{
	_Alignas(struct nlmsghdr) char ask[REQUEST_BYTES], buf[ANSWER_BYTES];
	const struct nlmsghdr *answer = NULL;
	struct nlmsghdr *q = dcb_begin(ask, RTM_SETDCB, DCB_CMD_IEEE_SET, name);
	struct nlattr *ieee = mnl_attr_nest_start(q, DCB_ATTR_IEEE);
	int r, said = -EPROTO;

	mnl_attr_put(q, DCB_ATTR_IEEE_PFC, sizeof(*pfc), pfc);
	mnl_attr_nest_end(q, ieee);
	r = dcb_transact(fd, q, buf, &answer);
	if (r == 0)
		mnl_attr_parse(answer, sizeof(struct dcbmsg), dcb_refusal, &said);
	return r ? r : said;
}

/* --- as text ---------------------------------------------------------------------------------- */

static const char *priorities(struct arena *a, unsigned mask)
{
	struct idset set = { 0 };

	for (unsigned i = 0; i < PRIORITIES; i++)
		if (mask >> i & 1)
			idset_add(a, &set, i);
	return set.n ? idset_format(a, &set) : "none";
}

static int priority_mask(struct arena *a, const char *text, unsigned *mask)
{
	struct idset set = { 0 };

	*mask = 0;
	if (strcmp(text, "none") == 0)
		return 0;
	if (idset_parse(a, text, &set) || !set.n || set.r[set.n - 1].hi >= PRIORITIES)
		return -EINVAL;
	IDSET_FOR_EACH (i, &set)
		*mask |= 1u << i;
	return 0;
}

/* "0:1:vendor 1:0,2:strict 3:3:ets=50" */
static const char *traffic_classes(struct arena *a, const struct ieee_ets *e)
{
	static const char *const how[] = { "strict", "cbs", "ets" };
	TEXT_AUTO t = { 0 };

	for (unsigned tc = 0; tc < PRIORITIES; tc++) {
		unsigned mask = 0, as = e->tc_tsa[tc];

		for (unsigned i = 0; i < PRIORITIES; i++)
			mask |= (unsigned)(e->prio_tc[i] == tc) << i;
		if (!mask)
			continue;
		text_printf(&t, "%s%u:%s:%s", t.len ? " " : "", tc, priorities(a, mask),
			    as < sizeof(how) / sizeof(how[0]) ? how[as] : "vendor");
		if (as == IEEE_8021QAZ_TSA_ETS)
			text_printf(&t, "=%u", e->tc_tx_bw[tc]);
	}
	return t.len ? arena_strdup(a, t.s) : "none";
}

/* "0-7:0 8-15:1" */
static const char *dscp_table(struct arena *a, const signed char priority[DSCPS])
{
	TEXT_AUTO t = { 0 };

	for (int i = 0, end; i < DSCPS; i = end + 1) {
		for (end = i; end + 1 < DSCPS && priority[end + 1] == priority[i]; end++)
			;
		if (priority[i] < 0)
			continue;
		text_printf(&t, "%s%d", t.len ? " " : "", i);
		if (end > i)
			text_printf(&t, "-%d", end);
		text_printf(&t, ":%d", priority[i]);
	}
	return t.len ? arena_strdup(a, t.s) : "none";
}

/* --- the provider ----------------------------------------------------------------------------- */

static struct dcb_state *dcb_open(void **state, const char *name, int *r)
{
	struct timeval limit = { .tv_sec = 2 };
	struct dcb_state *s = *state;
	struct err unsaid;

	*r = -EINVAL;
	if (!*name || strlen(name) >= IFNAMSIZ)
		return NULL;
	if (!s) {
		s = *state = calloc(1, sizeof(*s));
		*r = -ENOMEM;
		if (!s)
			return NULL;
		s->fd = -1;
		s->error = library_open(LIBRARY_MNL, &unsaid) ? -ENOPKG : 0;
		if (!s->error)
			s->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
		if (!s->error && s->fd < 0)
			s->error = -errno;
		if (s->fd >= 0)
			setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	}
	*r = s->error;
	return *r ? NULL : s;
}

/* The same interface is asked anew by "pfc", which knobs read; the other fields go with it. */
static int dcb_ask(void **state, struct arena *a, const char *name, const char *field,
		   struct answer *out)
{
	int r;
	struct dcb_state *s = dcb_open(state, name, &r);
	const struct bridging *b = s ? &s->last : NULL;

	if (!s)
		return r;
	if (strcmp(s->name, name) != 0 || strcmp(field, "pfc") == 0) {
		s->r = dcb_get(s->fd, name, &s->last);
		strcpy(s->name, name);
	}
	if (s->r)
		return s->r;
	if (strcmp(field, "pfc") == 0 && b->has_pfc)
		answer_text(out, priorities(a, b->pfc.pfc_en));
	else if (strcmp(field, "pfc_max") == 0 && b->has_pfc)
		answer_int(out, b->pfc.pfc_cap);
	else if (strcmp(field, "dscp_prio") == 0 && b->has_table)
		answer_text(out, dscp_table(a, b->priority));
	else if (strcmp(field, "ets") == 0 && b->has_ets)
		answer_text(out, traffic_classes(a, &b->ets));
	else if (strcmp(field, "trust") == 0 && b->has_trust)
		answer_text(out, b->trust == BY_DSCP ? "dscp" : "pcp");
	else if (strcmp(field, "dcbx") == 0 && b->has_dcbx)
		answer_text(out, b->dcbx & DCB_CAP_DCBX_HOST ? "host" : "firmware");
	else
		return -EOPNOTSUPP;
	return 0;
}

static int dcb_write(void **state, struct arena *a, const char *name, const char *field,
		     const struct answer *value)
{
	unsigned mask;
	int r;
	struct dcb_state *s = dcb_open(state, name, &r);

	if (!s)
		return r;
	if (strcmp(field, "pfc") != 0)
		return -EOPNOTSUPP;
	if (value->kind != ANSWER_TEXT || priority_mask(a, value->text, &mask))
		return -EINVAL;
	s->name[0] = '\0';
	r = dcb_get(s->fd, name, &s->last);
	if (r == 0 && !s->last.has_pfc)
		r = -EOPNOTSUPP;
	if (r)
		return r;
	s->last.pfc.pfc_en = (__u8)mask;
	return dcb_set_pfc(s->fd, name, &s->last.pfc);
}

static void dcb_close(void *state)
{
	struct dcb_state *s = state;

	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

const struct provider provider_dcb = {
	.api = "dcb", .ask = dcb_ask, .tell = dcb_write, .close = dcb_close
};
