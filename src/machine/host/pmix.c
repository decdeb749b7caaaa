/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PMIx Standard 4, whose first functions and layouts are those of every version since 2: names of
 * types and keys are its own (chapters 3 and 6). No fence: it would wait for a rank
 * that never comes; a get waits for the one rank that it is about.
 */
#include "machine/host/pmix.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/host/vendor.h"

enum {
	TYPE_STRING = 3,
	TYPE_INT = 6,
	TYPE_UINT16 = 13,
	TYPE_UINT32 = 14,
	SCOPE_GLOBAL = 3,
	ERR_TIMEOUT = -24,
};

static const uint32_t wildcard = UINT32_MAX - 1; /* PMIX_RANK_WILDCARD: the job itself */

struct proc {
	char space[256];
	uint32_t rank;
};

struct value {
	uint16_t type;
	union {
		int number;
		uint16_t u16;
		uint32_t u32;
		char *text;
		uint64_t room[3];
	} of;
};

struct info {
	char key[512];
	uint32_t flags;
	struct value value;
};

struct pmix_library {
	int (*init)(struct proc *me, struct info *info, size_t n);
	int (*put)(uint8_t scope, const char *key, struct value *v);
	int (*commit)(void);
	int (*get)(const struct proc *of, const char *key, const struct info *info, size_t n,
		   struct value **out);
	int (*finalize)(const struct info *info, size_t n);
};

static const struct vendor_symbol symbols[] = {
	{ "PMIx_Init", offsetof(struct pmix_library, init), NULL },
	{ "PMIx_Put", offsetof(struct pmix_library, put), NULL },
	{ "PMIx_Commit", offsetof(struct pmix_library, commit), NULL },
	{ "PMIx_Get", offsetof(struct pmix_library, get), NULL },
	{ "PMIx_Finalize", offsetof(struct pmix_library, finalize), NULL },
};

enum { SYMBOLS = sizeof(symbols) / sizeof(symbols[0]) };

static struct {
	struct pmix_library lib;
	struct proc me;
	bool joined;
	int code; /* of PMIx_Init */
} pmix;

static bool pmix_load(void)
{
	void *handle;

	/* Its plugins look for its own functions. */
	return vendor_open("libpmix.so.2", symbols, SYMBOLS, &pmix.lib, &handle) == 0 &&
	       vendor_publish("libpmix.so.2") && !vendor_lacks(symbols, SYMBOLS, &pmix.lib);
}

static void pmix_begin(void *ctx)
{
	(void)ctx;
	pmix.code = pmix.lib.init(&pmix.me, NULL, 0);
}

static unsigned pmix_number(uint32_t rank, const char *key)
{
	struct proc of = pmix.me;
	struct value *v = NULL;

	of.rank = rank;
	if (pmix.lib.get(&of, key, NULL, 0, &v) || !v)
		return 0;
	return v->type == TYPE_UINT32 ? v->of.u32 : v->type == TYPE_UINT16 ? v->of.u16 : 0;
}

int pmix_join(struct pmix_place *out)
{
	/* Init where nothing has started this process may wait for a server. */
	if (!pmix.joined && (!getenv("PMIX_NAMESPACE") || !getenv("PMIX_RANK") || !pmix_load()))
		return -ENOENT;
	if (!pmix.joined)
		vendor_call(pmix_begin, NULL);
	pmix.joined = pmix.code == 0;
	if (!pmix.joined)
		return -ENOENT;
	*out = (struct pmix_place){ .rank = pmix.me.rank,
				    .ranks = pmix_number(wildcard, "pmix.job.size"),
				    .local = pmix_number(pmix.me.rank, "pmix.lrank"),
				    .locals = pmix_number(wildcard, "pmix.local.size") };
	return out->ranks > out->rank ? 0 : -ENOENT;
}

int pmix_put(const char *key, const char *text)
{
	char copy[PMIX_BYTES_MAX];
	struct value v = { .type = TYPE_STRING, .of.text = copy };

	if (!pmix.joined || (size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return -EINVAL;
	return pmix.lib.put(SCOPE_GLOBAL, key, &v) || pmix.lib.commit() ? -EIO : 0;
}

int pmix_get(unsigned rank, const char *key, int seconds, char out[PMIX_BYTES_MAX])
{
	struct info limit = { .key = "pmix.timeout",
			      .value = { .type = TYPE_INT, .of.number = seconds } };
	struct proc of = pmix.me;
	struct value *v = NULL;
	int code;

	of.rank = rank;
	code = pmix.joined ? pmix.lib.get(&of, key, &limit, 1, &v) : -1;
	if (code || !v || v->type != TYPE_STRING || !v->of.text ||
	    strlen(v->of.text) >= PMIX_BYTES_MAX)
		return code == ERR_TIMEOUT ? -ETIMEDOUT : -EIO;
	snprintf(out, PMIX_BYTES_MAX, "%s", v->of.text);
	return 0;
}

void pmix_leave(void)
{
	if (pmix.joined)
		(void)pmix.lib.finalize(NULL, 0);
	pmix.joined = false;
	pmix.code = -1;
}
