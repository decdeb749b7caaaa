/* SPDX-License-Identifier: Apache-2.0 */
/* What looking at the live machine and changing it share: the providers, those that need no library
 * and no program among them, and what a path is looked up from. */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "machine/host/live.h"

/* Environment variables of this process. Object: "". An unset one is -ENOENT. */

static int env_ask(void **state, struct arena *a, const char *object, const char *field,
		   struct answer *out)
{
	const char *value = getenv(field);

	(void)state;
	(void)object;
	if (!value)
		return -ENOENT;
	answer_text(out, arena_strdup(a, value));
	return 0;
}

static const struct provider provider_env = { .api = "env", .ask = env_ask };

/*
 * What the MPS daemon was started with, which its clients begin with. Object: "". Fields: the
 * variables below and no others: an environment holds secrets. Another control command may have
 * changed the daemon's defaults since.
 */

static int mps_environment(struct arena *a, char **text, size_t *len)
{
	enum { BYTES = 1 << 20 };
	FILE *f = fopen("/tmp/nvidia-mps/nvidia-cuda-mps-control.pid", "re");
	int pid = 0;

	if (!f)
		return -errno;
	if (fscanf(f, "%9d", &pid) != 1 || pid <= 0)
		pid = 0;
	fclose(f);
	if (!pid)
		return -EPROTO;
	f = fopen(arena_printf(a, "/proc/%d/environ", pid), "re");
	if (!f)
		return -errno;
	*text = arena_alloc(a, BYTES + 1);
	*len = fread(*text, 1, BYTES, f);
	(*text)[*len] = '\0';
	fclose(f);
	return 0;
}

static int mps_ask(void **state, struct arena *a, const char *object, const char *field,
		   struct answer *out)
{
	static const char *const fields[] = { "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
					      "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT" };
	size_t n = strlen(field), len = 0;
	char *text = NULL;
	int r = -EINVAL;

	(void)state;
	for (size_t i = 0; !*object && i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strcmp(fields[i], field) == 0)
			r = mps_environment(a, &text, &len);
	if (r)
		return r;
	for (const char *p = text; p < text + len; p += strlen(p) + 1)
		if (strncmp(p, field, n) == 0 && p[n] == '=') {
			answer_text(out, p + n + 1);
			return 0;
		}
	return -ENOENT;
}

static const struct provider provider_mps = { .api = "mps", .ask = mps_ask };

/*
 * Sizes and kind of mounted file systems. Object: a path. Fields: "total_bytes", "free_bytes",
 * "avail_bytes" (what is free for others than root), and "type", the number of statfs(2)
 * (linux/magic.h).
 */

/* Some file systems of the network report sizes that no signed number holds. */
static long long bytes(unsigned long long blocks, unsigned long long size)
{
	unsigned long long product;

	return __builtin_mul_overflow(blocks, size, &product) || product > INT64_MAX
		       ? INT64_MAX
		       : (long long)product;
}

static int statfs_ask(void **state, struct arena *a, const char *object, const char *field,
		      struct answer *out)
{
	struct statfs st;
	unsigned long long size;

	(void)state;
	(void)a;
	if (statfs(object, &st) < 0)
		return -errno;
	size = (unsigned long long)(st.f_frsize ? st.f_frsize : st.f_bsize);
	if (strcmp(field, "total_bytes") == 0)
		answer_int(out, bytes(st.f_blocks, size));
	else if (strcmp(field, "free_bytes") == 0)
		answer_int(out, bytes(st.f_bfree, size));
	else if (strcmp(field, "avail_bytes") == 0)
		answer_int(out, bytes(st.f_bavail, size));
	else if (strcmp(field, "type") == 0)
		answer_int(out, st.f_type);
	else
		return -EINVAL;
	return 0;
}

const struct provider provider_statfs = { .api = "statfs", .ask = statfs_ask };

/* The C library that this program runs with. Field: "version" (2.39). */
static int libc_ask(void **state, struct arena *a, const char *object, const char *field,
		    struct answer *out)
{
	(void)state;
	(void)a;
	if (*object || strcmp(field, "version") != 0)
		return -EINVAL;
	answer_text(out, gnu_get_libc_version());
	return 0;
}

static const struct provider provider_libc = { .api = "libc", .ask = libc_ask };

static const struct provider *const providers[] = {
	&provider_nvml,	   &provider_cuda,     &provider_ethtool,	&provider_interface,
	&provider_statfs,  &provider_zpool,    &provider_boost,		&provider_mlxconfig,
	&provider_systemd, &provider_env,      &provider_kernel_log,	&provider_fabric_manager,
	&provider_kmod,	   &provider_nvpmodel, &provider_jetson_clocks, &provider_dcb,
	&provider_imex,	   &provider_mps,      &provider_libc,
};
enum { PROVIDERS = sizeof(providers) / sizeof(providers[0]) };
_Static_assert((int)PROVIDERS <= (int)LIVE_PROVIDERS,
	       "every provider must have a slot for its state");

const struct provider *live_provider(struct live *l, const char *api, void ***state)
{
	for (size_t i = 0; i < PROVIDERS; i++)
		if (strcmp(providers[i]->api, api) == 0) {
			*state = &l->state[i];
			return providers[i];
		}
	return NULL;
}

int live_at(const struct host *h, const char **path)
{
	const struct live *l = (const struct live *)h;
	size_t n = l->own_fd < 0 ? 0 : strlen(l->own), slashes;

	if (!n || strncmp(*path, l->own, n) != 0)
		return AT_FDCWD;
	/* All of them: what is left with one in front would be looked up from the root. */
	slashes = strspn(*path + n, "/");
	if (!slashes || !(*path)[n + slashes])
		return AT_FDCWD;
	*path += n + slashes;
	return l->own_fd;
}

void live_close_providers(struct live *l)
{
	for (size_t i = 0; i < PROVIDERS; i++)
		if (l->state[i] && providers[i]->close)
			providers[i]->close(l->state[i]);
}
