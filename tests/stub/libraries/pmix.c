/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in of libpmix: what ranks put are files of a folder, which all ranks of a test share.
 * GPUTUNE_STUB_PMIX: "FOLDER RANKS LOCALS"; without it no server has started this process.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

int PMIx_Init(struct proc *me, struct info *info, size_t n);
int PMIx_Put(uint8_t scope, const char *key, struct value *v);
int PMIx_Commit(void);
int PMIx_Get(const struct proc *of, const char *key, const struct info *info, size_t n,
	     struct value **out);
int PMIx_Finalize(const struct info *info, size_t n);

enum { UNREACHABLE = -25, TIMEOUT = -24, NOT_FOUND = -46 };

static char folder[200];
static unsigned ranks, locals, rank;

int PMIx_Init(struct proc *me, struct info *info, size_t n)
{
	const char *said = getenv("GPUTUNE_STUB_PMIX"), *own = getenv("PMIX_RANK");

	(void)info;
	(void)n;
	if (!said || !own || sscanf(said, "%199s %u %u", folder, &ranks, &locals) != 3)
		return UNREACHABLE;
	rank = (unsigned)strtoul(own, NULL, 10);
	*me = (struct proc){ .rank = rank };
	snprintf(me->space, sizeof(me->space), "%s", getenv("PMIX_NAMESPACE"));
	return 0;
}

int PMIx_Put(uint8_t scope, const char *key, struct value *v)
{
	char path[300], made[320];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%u", folder, key, rank);
	snprintf(made, sizeof(made), "%s.new", path);
	f = scope == 3 && v->type == 3 ? fopen(made, "w") : NULL;
	if (!f)
		return NOT_FOUND;
	fputs(v->of.text, f);
	return fclose(f) || rename(made, path) ? NOT_FOUND : 0;
}

int PMIx_Commit(void)
{
	return 0;
}

int PMIx_Get(const struct proc *of, const char *key, const struct info *info, size_t n,
	     struct value **out)
{
	static struct value v;
	static char text[4096];
	int left_ms = n ? 1000 * info->value.of.number : 0;
	char path[300];
	FILE *f;

	*out = &v;
	v = (struct value){ .type = 14 };
	if (strcmp(key, "pmix.job.size") == 0)
		v.of.u32 = ranks;
	else if (strcmp(key, "pmix.local.size") == 0)
		v.of.u32 = locals;
	else if (strcmp(key, "pmix.lrank") == 0)
		v = (struct value){ .type = 13, .of.u16 = (uint16_t)(of->rank % locals) };
	else
		v.type = 3;
	if (v.type != 3)
		return 0;
	snprintf(path, sizeof(path), "%s/%s.%u", folder, key, of->rank);
	while (!(f = fopen(path, "r")) && (left_ms -= 20) > 0)
		nanosleep(&(struct timespec){ 0, 20 * 1000000 }, NULL);
	if (!f)
		return TIMEOUT;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	v.of.text = text;
	return 0;
}

int PMIx_Finalize(const struct info *info, size_t n)
{
	(void)info;
	(void)n;
	return 0;
}
