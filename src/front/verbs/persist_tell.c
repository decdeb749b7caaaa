/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the system that persist runs: by their names and fixed arguments, never with data. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "front/verbs/persist.h"
#include "machine/host/command.h"

enum { RELOAD_MS = 60000, OUTPUT_MAX = 1 << 20 };

int persist_run_program(struct arena *a, char *const *argv, int limit_ms, const char **said)
{
	struct command_result res = { 0 };
	int r = command_run(a, argv, limit_ms, OUTPUT_MAX, &res);

	*said = r ? strerror(-r) : res.errors;
	return r ? r : res.status;
}

void persist_reload(struct persisting *s)
{
	char *const daemon[] = { "systemctl", "--system", "daemon-reload", NULL };
	char *const rules[] = { "udevadm", "control", "--reload", NULL };
	const char *said;

	if (s->h->id.captured || !host_exists(s->h, "/run/systemd/system"))
		return;
	if (persist_run_program(&s->r->arena, daemon, RELOAD_MS, &said))
		complain_text(0, "systemctl daemon-reload failed (%.200s): the next boot does it",
			      said);
	if (persist_run_program(&s->r->arena, rules, RELOAD_MS, &said))
		complain_text(0, "udevadm control --reload failed (%.200s): the next boot does it",
			      said);
}

/* The unit sees it, and the file and every folder above it belong to root alone. */
static bool is_safe(const char *path)
{
	static const char *const hidden[] = { "/home/", "/root/", "/run/", "/tmp/", "/var/tmp/" };
	char part[HOST_PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (str_starts(path, hidden[i]))
			return false;

	for (size_t n = strlen(path); n; n--) {
		if (path[n] && path[n] != '/')
			continue;
		memcpy(part, path, n);
		part[n] = '\0';
		if (stat(part, &st) < 0 || st.st_uid != 0 || (st.st_mode & 022))
			return false;
	}
	return true;
}

const char *persist_program(const struct persisting *s)
{
	char path[HOST_PATH_MAX];
	ssize_t n;

	if (s->h->id.captured)
		return "/usr/bin/gputune";
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n <= 0)
		return "/usr/bin/gputune";
	path[n] = '\0';
	if (!s->writes || is_safe(path))
		return arena_strdup(&s->r->arena, path);
	complain_text(
		EXIT_USAGE,
		"%s would be run at every boot, but it lies where users keep files, or others than "
		"root may change it: install gputune first",
		path);
	return NULL;
}
