/* SPDX-License-Identifier: Apache-2.0 */
/* A child's group, signals, folder and descriptors; the fixed folders that programs come from. */
#include "machine/host/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *spawn_find(const char *name, bool local, char *buf, size_t cap)
{
	static const char *const dirs[] = { "/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
					    "/usr/bin",	       "/sbin",		 "/bin" };
	enum { LOCAL = 2 };

	if (*name == '/')
		return access(name, X_OK) == 0 ? name : NULL;
	if (strchr(name, '/'))
		return NULL;
	for (size_t i = local ? 0 : LOCAL; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		int n = snprintf(buf, cap, "%s/%s", dirs[i], name);

		if (n > 0 && (size_t)n < cap && access(buf, X_OK) == 0)
			return buf;
	}
	return NULL;
}

static int attributes(posix_spawnattr_t *attr, bool front)
{
	sigset_t none, all;
	int r = posix_spawnattr_init(attr);

	if (r)
		return r;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
	/* Its own group, so that the time limit reaches its children too. */
	posix_spawnattr_setpgroup(attr, 0);
	return posix_spawnattr_setflags(attr,
					(short)((front ? 0 : POSIX_SPAWN_SETPGROUP) |
						POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
}

/* The input is named from here, not from the folder that it runs in. */
static int redirect(posix_spawn_file_actions_t *actions, const struct spawn *s)
{
	int r = posix_spawn_file_actions_init(actions);

	if (r == 0)
		r = posix_spawn_file_actions_addopen(actions, 0, s->input ? s->input : "/dev/null",
						     O_RDONLY, 0);
	if (r == 0 && s->dir)
		r = posix_spawn_file_actions_addchdir_np(actions, s->dir);
	if (r == 0 && s->output >= 0)
		r = posix_spawn_file_actions_adddup2(actions, s->output, 1);
	if (r == 0 && s->errors >= 0)
		r = posix_spawn_file_actions_adddup2(actions, s->errors, 2);
	return r;
}

int spawn_start(const struct spawn *s, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r = redirect(&actions, s);

	if (r)
		return -r;
	r = attributes(&attr, s->front);
	if (r == 0)
		r = s->path ? posix_spawn(pid, s->path, &actions, &attr, s->argv, s->env)
			    : posix_spawnp(pid, s->argv[0], &actions, &attr, s->argv, s->env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -r;
}
