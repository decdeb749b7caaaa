/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a qualification, a row a member, and a node's answers. */
#include "many/ranks/member.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "machine/host/libraries.h"
#include "many/cluster/ask.h"
#include "measure/bench/net/peer.h"

#define SECONDS_MAX 3600.0

/* clang-format off */
static const struct shape_row self_ask_rows[] = {
	{ "seconds", NULL, SHAPE_REAL(self_ask, seconds) },
	{ "again", NULL, SHAPE_FLAG(self_ask, again), .later = true },
};
const struct shape self_ask_shape = SHAPE(self_ask, self_ask);

static const struct shape_row self_product_rows[] = {
	{ "gpu", NULL, SHAPE_TEXT(self_product, gpu) },
	{ "place", NULL, SHAPE_TEXT(self_product, place) },
	{ "bits", NULL, SHAPE_TEXT(self_product, bits) },
};
static const struct shape self_product_shape = SHAPE(self_product, self_product);

static const struct shape_row self_answer_rows[] = {
	{ "host", NULL, SHAPE_TEXT(self_answer, host) },
	{ "unfit", NULL, SHAPE_TEXT(self_answer, unfit), .unknown = SHAPE_NULL },
	{ "unreadable", NULL, SHAPE_TEXT(self_answer, unknown), .unknown = SHAPE_NULL },
	{ "platform", NULL, SHAPE_TEXT(self_answer, platform), .unknown = SHAPE_NULL },
	{ "gpu", NULL, SHAPE_TEXT(self_answer, gpu), .unknown = SHAPE_NULL, .later = true },
	{ "products", NULL, SHAPE_LIST(self_answer, products, n_products, self_product), .max = 256 },
	{ "check", NULL, SHAPE_JSON(self_answer, check), .unknown = SHAPE_NULL },
	{ "bench", NULL, SHAPE_JSON(self_answer, bench), .unknown = SHAPE_NULL },
};
const struct shape self_answer_shape = SHAPE(self_answer, self_answer);

static const struct shape_row addresses_ask_rows[] = {
	{ "token", NULL, SHAPE_TEXT(addresses_ask, token) },
};
const struct shape addresses_ask_shape = SHAPE(addresses_ask, addresses_ask);

static const struct shape_row exchange_address_rows[] = {
	{ "interface", NULL, SHAPE_TEXT(exchange_address, interface) },
	{ "address", NULL, SHAPE_TEXT(exchange_address, address) },
	{ "at", NULL, SHAPE_TEXT(exchange_address, at) },
	{ "bits", NULL, SHAPE_COUNT(exchange_address, bits) },
	{ "mbps", NULL, SHAPE_COUNT(exchange_address, mbps) },
	{ "mtu", NULL, SHAPE_COUNT(exchange_address, mtu) },
	{ "bench", NULL, SHAPE_TEXT(exchange_address, bench), .unknown = SHAPE_NULL },
};
static const struct shape exchange_address_shape = SHAPE(exchange_address, exchange_address);

static const struct shape_row addresses_answer_rows[] = {
	{ "addresses", NULL, SHAPE_LIST(addresses_answer, addresses, n, exchange_address),
	  .max = EXCHANGE_ADDRESSES_MAX },
};
const struct shape addresses_answer_shape = SHAPE(addresses_answer, addresses_answer);

static const struct shape_row rail_ask_rows[] = {
	{ "rail", NULL, SHAPE_COUNT(rail_ask, rail) },
	{ "self", NULL, SHAPE_COUNT(rail_ask, self) },
	{ "address", NULL, SHAPE_COUNT(rail_ask, address) },
	{ "peers", NULL, SHAPE_TEXT_LIST(rail_ask, peers, n), .max = MEMBERS_MAX },
};
const struct shape rail_ask_shape = SHAPE(rail_ask, rail_ask);

static const struct shape_row group_ask_rows[] = {
	{ "rail", NULL, SHAPE_COUNT(group_ask, rail) },
	{ "test", NULL, SHAPE_COUNT(group_ask, test) },
	{ "bytes", NULL, SHAPE_COUNT(group_ask, bytes) },
	{ "group", NULL, SHAPE_COUNT_LIST(group_ask, group, n), .max = MEMBERS_MAX },
	{ "limit_s", NULL, SHAPE_REAL(group_ask, limit_s) },
	{ "slow_s", NULL, SHAPE_REAL(group_ask, slow_s) },
	{ "late_us", NULL, SHAPE_REAL(group_ask, late_us) },
};
const struct shape group_ask_shape = SHAPE(group_ask, group_ask);

static const struct shape_row exchange_bad_rows[] = {
	{ "peer", NULL, SHAPE_COUNT(exchange_bad, peer) },
	{ "rate", NULL, SHAPE_REAL(exchange_bad, rate), .unknown = SHAPE_NULL },
	{ "rtt_us", NULL, SHAPE_REAL(exchange_bad, rtt_us), .unknown = SHAPE_NULL },
	{ "why", NULL, SHAPE_TEXT(exchange_bad, why) },
};
static const struct shape exchange_bad_shape = SHAPE(exchange_bad, exchange_bad);

static const struct shape_row exchange_answer_rows[] = {
	{ "bad", NULL, SHAPE_ARRAY(exchange_answer, bad, n_bad, exchange_bad) },
	{ "seconds", NULL, SHAPE_REAL(exchange_answer, seconds), .unknown = SHAPE_NULL },
	{ "rtt_us", NULL, SHAPE_REAL(exchange_answer, rtt_us), .unknown = SHAPE_NULL },
};
const struct shape exchange_answer_shape = SHAPE(exchange_answer, exchange_answer);
/* clang-format on */

static int answer_self(struct rank_member *m, struct arena *a, const json_t *with, json_t **out,
		       struct err *e)
{
	struct self_answer answer = { 0 };
	struct self_ask ask;
	int r = shape_read(a, &self_ask_shape, with, &ask, e);

	if (r == 0 && !(ask.seconds >= 0 && ask.seconds <= SECONDS_MAX))
		r = err_set(e, -EINVAL, "\"seconds\" must be 0 to %.0f", SECONDS_MAX);
	r = r ? r : m->self(m->ctx, a, &ask, &answer, e);
	if (r == 0)
		*out = shape_object_json(&self_answer_shape, &answer);
	json_decref(answer.check);
	json_decref(answer.bench);
	return r;
}

static int answer_addresses(struct rank_member *m, struct arena *a, const json_t *with,
			    json_t **out, struct err *e)
{
	struct addresses_answer answer = { 0 };
	struct addresses_ask ask;
	int r = shape_read(a, &addresses_ask_shape, with, &ask, e);

	r = r ? r : library_open(LIBRARY_SODIUM, e);
	if (r)
		return r;
	member_end(m);
	if (token_bytes(ask.token, m->x.token, sizeof(m->x.token)) != sizeof(m->x.token))
		return err_set(e, -EINVAL, "the request has no token");
	r = exchange_open(&m->arena, &m->x, m->only, m->n_only, e);
	for (size_t i = 0; i < m->x.n; i++)
		member_serve(m, i);
	answer.addresses = m->x.address;
	answer.n = m->x.n;
	if (r == 0)
		*out = shape_object_json(&addresses_answer_shape, &answer);
	return r;
}

static int answer_rail(struct rank_member *m, struct arena *a, const json_t *with, json_t **out,
		       struct err *e)
{
	struct rail_ask ask;
	int r = shape_read(&m->arena, &rail_ask_shape, with, &ask, e);

	if (r == 0 && (ask.rail < 0 || ask.rail >= MEMBER_RAILS_MAX || ask.address < 0 ||
		       (size_t)ask.address >= m->x.n || ask.self < 0 || (size_t)ask.self >= ask.n))
		r = err_set(e, -EINVAL, "no such rail");
	if (r)
		return r;
	(void)a;
	m->rail[ask.rail] = ask;
	*out = json_object();
	return 0;
}

static int answer_exchange(struct rank_member *m, struct arena *a, const json_t *with, json_t **out,
			   struct err *e)
{
	struct exchange_answer answer;
	const struct rail_ask *rail;
	struct group_ask ask;
	int r = shape_read(a, &group_ask_shape, with, &ask, e);

	if (r)
		return r;
	rail = ask.rail >= 0 && ask.rail < MEMBER_RAILS_MAX ? &m->rail[ask.rail] : NULL;
	if (!rail || !rail->n || ask.bytes < 1 || !(ask.limit_s > 0 && ask.limit_s <= SECONDS_MAX))
		return err_set(e, -EINVAL, "no such exchange");
	for (size_t i = 0; i < ask.n; i++)
		if (ask.group[i] >= rail->n)
			return err_set(e, -EINVAL, "no such node");
	exchange_run(a, &m->x,
		     &(struct exchange_ask){ .address = (size_t)rail->address,
					     .test = ask.test,
					     .self = (unsigned)rail->self,
					     .peer = rail->peers,
					     .group = ask.group,
					     .n = ask.n,
					     .bytes = ask.bytes,
					     .limit_s = ask.limit_s,
					     .slow_s = ask.slow_s,
					     .late_us = ask.late_us,
					     .stop = m->stop },
		     &answer);
	*out = shape_object_json(&exchange_answer_shape, &answer);
	return 0;
}

static const struct {
	const char *name;
	int (*answer)(struct rank_member *m, struct arena *a, const json_t *with, json_t **out,
		      struct err *e);
} requests[] = {
	{ "self", answer_self },	 { "addresses", answer_addresses }, { "rail", answer_rail },
	{ "exchange", answer_exchange }, { "measure", member_measure },	    { "ping", member_ping },
};

const char *member_request(size_t i)
{
	return i < sizeof(requests) / sizeof(requests[0]) ? requests[i].name : NULL;
}

int member_answer(struct rank_member *m, struct arena *a, const char *what, const json_t *with,
		  json_t **out, struct err *e)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		if (strcmp(what, requests[i].name) == 0)
			return requests[i].answer(m, a, with, out, e);
	return err_set(e, -ENOSYS, "gputune %s does not support \"%.32s\"", GPUTUNE_VERSION, what);
}

void member_end(struct rank_member *m)
{
	for (size_t i = 0; i < EXCHANGE_ADDRESSES_MAX; i++)
		peer_serve_end(m->server[i]);
	memset(m->server, 0, sizeof(m->server));
	exchange_close(&m->x);
	memset(m->rail, 0, sizeof(m->rail));
	arena_free(&m->arena);
	m->arena = (struct arena){ 0 };
}
