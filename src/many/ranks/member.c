/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a qualification, a row a member, and a node's answers. */
#include "many/ranks/member.h"

#include <errno.h>
#include <string.h>

#include "machine/host/libraries.h"
#include "many/cluster/ask.h"
#include "many/cluster/messages.h"
#include "measure/bench/net/peer.h"

#define SECONDS_MAX 3600.0

/* clang-format off */
const struct shape self_ask_shape = SHAPE_OF(self_ask, self_ask,
	{ "seconds", NULL, SHAPE_REAL(self_ask, seconds) },
	{ "again", NULL, SHAPE_FLAG(self_ask, again), .later = true });

static const struct shape self_product_shape = SHAPE_OF(self_product, self_product,
	{ "gpu", NULL, SHAPE_TEXT(self_product, gpu) },
	{ "place", NULL, SHAPE_TEXT(self_product, place) },
	{ "bits", NULL, SHAPE_TEXT(self_product, bits) });

const struct shape self_answer_shape = SHAPE_OF(self_answer, self_answer,
	{ "host", NULL, SHAPE_TEXT(self_answer, host) },
	{ "unfit", NULL, SHAPE_TEXT(self_answer, unfit), .unknown = SHAPE_NULL },
	{ "unreadable", NULL, SHAPE_TEXT(self_answer, unknown), .unknown = SHAPE_NULL },
	{ "platform", NULL, SHAPE_TEXT(self_answer, platform), .unknown = SHAPE_NULL },
	{ "gpu", NULL, SHAPE_TEXT(self_answer, gpu), .unknown = SHAPE_NULL, .later = true },
	{ "products", NULL, SHAPE_LIST(self_answer, products, n_products, self_product), .max = 256 },
	{ "check", NULL, SHAPE_JSON(self_answer, check), .unknown = SHAPE_NULL },
	{ "bench", NULL, SHAPE_JSON(self_answer, bench), .unknown = SHAPE_NULL });

const struct shape addresses_ask_shape = SHAPE_OF(addresses_ask, addresses_ask,
	{ "token", NULL, SHAPE_TEXT(addresses_ask, token) });

static const struct shape exchange_address_shape = SHAPE_OF(exchange_address, exchange_address,
	{ "interface", NULL, SHAPE_TEXT(exchange_address, interface) },
	{ "address", NULL, SHAPE_TEXT(exchange_address, address) },
	{ "at", NULL, SHAPE_TEXT(exchange_address, at) },
	{ "bits", NULL, SHAPE_COUNT(exchange_address, bits) },
	{ "mbps", NULL, SHAPE_COUNT(exchange_address, mbps) },
	{ "mtu", NULL, SHAPE_COUNT(exchange_address, mtu) },
	{ "bench", NULL, SHAPE_TEXT(exchange_address, bench), .unknown = SHAPE_NULL });

const struct shape addresses_answer_shape = SHAPE_OF(addresses_answer, addresses_answer,
	{ "addresses", NULL, SHAPE_LIST(addresses_answer, addresses, n, exchange_address),
	  .max = EXCHANGE_ADDRESSES_MAX });

const struct shape rail_ask_shape = SHAPE_OF(rail_ask, rail_ask,
	{ "rail", NULL, SHAPE_COUNT(rail_ask, rail) },
	{ "self", NULL, SHAPE_COUNT(rail_ask, self) },
	{ "address", NULL, SHAPE_COUNT(rail_ask, address) },
	{ "peers", NULL, SHAPE_TEXT_LIST(rail_ask, peers, n), .max = MEMBERS_MAX });

const struct shape group_ask_shape = SHAPE_OF(group_ask, group_ask,
	{ "rail", NULL, SHAPE_COUNT(group_ask, rail) },
	{ "test", NULL, SHAPE_COUNT(group_ask, test) },
	{ "bytes", NULL, SHAPE_COUNT(group_ask, bytes) },
	{ "group", NULL, SHAPE_COUNT_LIST(group_ask, group, n), .max = MEMBERS_MAX },
	{ "limit_s", NULL, SHAPE_REAL(group_ask, limit_s) },
	{ "slow_s", NULL, SHAPE_REAL(group_ask, slow_s) },
	{ "late_us", NULL, SHAPE_REAL(group_ask, late_us) });

static const struct shape exchange_bad_shape = SHAPE_OF(exchange_bad, exchange_bad,
	{ "peer", NULL, SHAPE_COUNT(exchange_bad, peer) },
	{ "rate", NULL, SHAPE_REAL(exchange_bad, rate), .unknown = SHAPE_NULL },
	{ "rtt_us", NULL, SHAPE_REAL(exchange_bad, rtt_us), .unknown = SHAPE_NULL },
	{ "why", NULL, SHAPE_TEXT(exchange_bad, why) });

const struct shape exchange_answer_shape = SHAPE_OF(exchange_answer, exchange_answer,
	{ "bad", NULL, SHAPE_ARRAY(exchange_answer, bad, n_bad, exchange_bad) },
	{ "seconds", NULL, SHAPE_REAL(exchange_answer, seconds), .unknown = SHAPE_NULL },
	{ "rtt_us", NULL, SHAPE_REAL(exchange_answer, rtt_us), .unknown = SHAPE_NULL });
/* clang-format on */

static int answer_self(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	const struct rank_member *m = of;
	const struct self_ask *ask = with;

	if (!(ask->seconds >= 0 && ask->seconds <= SECONDS_MAX))
		return err_set(e, -EINVAL, "\"seconds\" must be 0 to %.0f", SECONDS_MAX);
	return m->self(m->ctx, a, ask, answer, e);
}

static void self_done(void *answer)
{
	json_decref(((struct self_answer *)answer)->check);
	json_decref(((struct self_answer *)answer)->bench);
}

static int answer_addresses(void *of, struct arena *a, const void *with, void *answer,
			    struct err *e)
{
	const struct addresses_ask *ask = with;
	struct addresses_answer *out = answer;
	struct rank_member *m = of;
	int r = library_open(LIBRARY_SODIUM, e);

	(void)a;
	if (r)
		return r;
	member_end(m);
	if (token_bytes(ask->token, m->x.token, sizeof(m->x.token)) != sizeof(m->x.token))
		return err_set(e, -EINVAL, "the request has no token");
	r = exchange_open(&m->arena, &m->x, m->only, m->n_only, e);
	for (size_t i = 0; i < m->x.n; i++)
		member_serve(m, i);
	out->addresses = m->x.address;
	out->n = m->x.n;
	return r;
}

static int answer_rail(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	const struct rail_ask *ask = with;
	struct rank_member *m = of;
	struct rail_ask *kept;

	(void)a;
	(void)answer;
	if (ask->rail < 0 || ask->rail >= MEMBER_RAILS_MAX || ask->address < 0 ||
	    (size_t)ask->address >= m->x.n || ask->self < 0 || (size_t)ask->self >= ask->n)
		return err_set(e, -EINVAL, "no such rail");
	kept = &m->rail[ask->rail];
	*kept = *ask;
	kept->peers = arena_array(&m->arena, ask->n, sizeof(*kept->peers));
	for (size_t i = 0; i < ask->n; i++)
		kept->peers[i] = arena_strdup(&m->arena, ask->peers[i]);
	return 0;
}

static int answer_exchange(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	const struct group_ask *ask = with;
	const struct rank_member *m = of;
	const struct rail_ask *rail =
		ask->rail >= 0 && ask->rail < MEMBER_RAILS_MAX ? &m->rail[ask->rail] : NULL;

	if (!rail || !rail->n || ask->bytes < 1 ||
	    !(ask->limit_s > 0 && ask->limit_s <= SECONDS_MAX))
		return err_set(e, -EINVAL, "no such exchange");
	for (size_t i = 0; i < ask->n; i++)
		if (ask->group[i] >= rail->n)
			return err_set(e, -EINVAL, "no such node");
	exchange_run(a, &m->x,
		     &(struct exchange_ask){ .address = (size_t)rail->address,
					     .test = ask->test,
					     .self = (unsigned)rail->self,
					     .peer = rail->peers,
					     .group = ask->group,
					     .n = ask->n,
					     .bytes = ask->bytes,
					     .limit_s = ask->limit_s,
					     .slow_s = ask->slow_s,
					     .late_us = ask->late_us,
					     .stop = m->stop },
		     answer);
	return 0;
}

/* clang-format off */
const struct request member_requests[] = {
	{ "self", &self_ask_shape, &self_answer_shape, answer_self, self_done },
	{ "addresses", &addresses_ask_shape, &addresses_answer_shape, answer_addresses, NULL },
	{ "rail", &rail_ask_shape, NULL, answer_rail, NULL },
	{ "exchange", &group_ask_shape, &exchange_answer_shape, answer_exchange, NULL },
	{ "measure", &measure_ask_shape, &measure_answer_shape, member_measure, NULL },
	{ "ping", &ping_ask_shape, &ping_answer_shape, member_ping, NULL },
	{ .name = NULL },
};
/* clang-format on */

int request_answer(const struct request *list, void *of, struct arena *a, const char *what,
		   const json_t *with, json_t **out, struct err *e)
{
	void *ask, *answer;
	int r = 0;

	while (list->name && strcmp(list->name, what) != 0)
		list++;
	if (!list->name)
		return -ENOSYS;
	ask = list->ask ? arena_alloc(a, list->ask->size) : NULL;
	answer = list->answer ? arena_alloc(a, list->answer->size) : NULL;
	if (ask)
		r = shape_read(a, list->ask, with, ask, e);
	r = r ? r : list->run(of, a, ask ? ask : (const void *)with, answer, e);
	if (r == 0)
		*out = answer ? shape_object_json(list->answer, answer) : json_object();
	if (list->done)
		list->done(answer);
	return r;
}

int member_answer(struct rank_member *m, struct arena *a, const char *what, const json_t *with,
		  json_t **out, struct err *e)
{
	int r = request_answer(member_requests, m, a, what, with, out, e);

	return r == -ENOSYS ? err_set(e, r, "gputune %s does not support \"%.32s\"",
				      GPUTUNE_VERSION, what)
			    : r;
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
