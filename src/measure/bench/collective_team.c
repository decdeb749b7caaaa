/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that a collective runs in: their GPUs, and how they come together. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"
#include "measure/bench/collective.h"
#include "measure/bench/ranks.h"

/* Who cannot take part says so soon, and does not wait long to be heard. */
enum { UNABLE_S = 10 };

/* 64 bits that differ where the text does. */
static uint64_t mark_of(const char *text)
{
	uint8_t sum[SHA256_BYTES];
	struct sha256 h;
	uint64_t v;

	sha256_begin(&h);
	sha256_add(&h, text, strlen(text));
	sha256_end(&h, sum);
	memcpy(&v, sum, sizeof(v));
	return v;
}

/* The kernel's number of this boot: the same in all containers of a machine, and no other's. */
static uint64_t machine_mark(const char *host)
{
	char text[80] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return mark_of(n > 0 ? text : host);
}

static void describe(const struct collective_shared *s, struct frame_join *j)
{
	char host[WIRE_NAME_MAX + 1] = "";

	if (gethostname(host, sizeof(host) - 1))
		snprintf(host, sizeof(host), "unknown");
	/* Nothing else may go over the line. */
	for (char *c = host; *c; c++)
		*c = *c > ' ' && *c <= '~' ? *c : '?';
	memcpy(j->text, host, sizeof(host));
	snprintf(j->tool, sizeof(j->tool), "%.*s", WIRE_NAME_MAX, GPUTUNE_VERSION);
	j->machine = machine_mark(host);
	j->nccl = (uint32_t)s->nccl.version;
	j->gpus = (uint32_t)(s->places.n < WIRE_GPUS_MAX ? s->places.n : WIRE_GPUS_MAX);
	for (size_t i = 0; i < j->gpus; i++) {
		const struct cuda_gpu *g = s->places.items[i].gpu;
		char text[160];

		snprintf(text, sizeof(text), "%llx %s %s", (unsigned long long)j->machine,
			 *g->uuid ? g->uuid : host, g->pci);
		j->gpu[i] = mark_of(text);
	}
}

/* With several processes on a machine each has the GPU of its place, unless it sees only one. */
static int own_gpu(const struct ranks *r, struct gpu_places *on, struct err *e)
{
	if (r->locals < 2 || on->n < 2)
		return 0;
	if (r->local >= on->n)
		return err_set(e, -ENODEV,
			       "this is process %u of %u on this machine, which has %zu GPUs for "
			       "them",
			       r->local + 1, r->locals, on->n);
	on->items += r->local;
	on->n = 1;
	return 0;
}

static int find_own(const struct bench_env *env, const struct ranks *r, struct collective_shared *s,
		    struct err *e)
{
	struct bench_cases none = { 0 };
	int code;

	s->nccl.log = -1;
	gpu_places_find(env, &none, &s->places);
	if (!s->places.n)
		return err_set(e, none.usage ? -EINVAL : -ENODEV, "%s",
			       none.none ? none.none : "no GPU");
	code = own_gpu(r, &s->places, e);
	if (code)
		s->places.n = 0;
	return code ? code : nccl_open(&s->nccl, e);
}

static int ask_of(const struct ranks *r, const char *token_file, struct world_ask *out,
		  struct err *e)
{
	int code;

	out->rank = r->rank;
	out->ranks = r->ranks;
	out->job = r->job;
	if (r->job)
		return 0;
	if (!r->meet) {
		err_set(e, -EINVAL, "%s does not say where rank 0 listens", r->by);
		err_hint(e, "--peer HOST[:PORT] on all of them, or MASTER_ADDR in their "
			    "environment");
		return -EINVAL;
	}
	if (!token_file) {
		err_set(e, -EINVAL,
			"processes on several machines need --token FILE (or GPUTUNE_TOKEN_FILE): "
			"a secret that all of them can read and nobody else");
		err_hint(e, "on storage that all share, mode 600: head -c 32 /dev/urandom | "
			    "base64 > FILE");
		return -EINVAL;
	}
	code = net_address_parse(r->meet, false, &out->address, e);
	return code ? code : token_load(token_file, &out->token, e);
}

int team_join(const struct bench_env *env, const struct ranks *r, const char *token_file,
	      struct collective_shared **out, struct err *e)
{
	struct world_ask ask = { .stop = env->stop };
	struct collective_shared *s = calloc(1, sizeof(*s));
	struct frame_join own = { 0 };
	struct err unable = { 0 };
	int code, can;

	if (!s)
		return err_set(e, -ENOMEM, "no memory");
	code = ask_of(r, token_file, &ask, e);
	can = code ? 0 : find_own(env, r, s, &unable);
	describe(s, &own);
	if (can)
		ask.limit_s = UNABLE_S;
	/* Who cannot tells the others too: they need not wait. */
	code = code ? code : world_open(&ask, &own, &s->world, e);
	explicit_bzero(&ask.token, sizeof(ask.token));
	if (can) {
		*e = unable;
		code = can;
	}
	if (code) {
		world_close(s->world);
		free(s);
		return code;
	}
	s->all = world_leads(s->world) ? world_total(s->world) : s->places.n;
	*out = s;
	return 0;
}

int team_follow(const struct bench_env *env, struct collective_shared *team, struct err *e)
{
	return collective_follow(env, team, e);
}

double team_near_cpu_s(const struct collective_shared *team)
{
	return team && team->world ? world_near_cpu_s(team->world) : 0;
}

void team_end(struct collective_shared *team)
{
	if (!team)
		return;
	nccl_log_end(&team->nccl);
	world_close(team->world);
	if (!team->stuck)
		free(team);
}

size_t team_gpus(const struct bench_env *env, const char **why)
{
	struct bench_cases none = { 0 };
	struct gpu_places on;

	gpu_places_find(env, &none, &on);
	*why = none.none;
	return on.n;
}
