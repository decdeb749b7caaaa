/* SPDX-License-Identifier: Apache-2.0 */
/* Telling names of machines from words, by what else is called so. */
#include "machine/host/redact_host.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "machine/host/record.h"

/* Whether a part of the path is the name. */
static bool has_part(const char *path, const char *name, size_t n)
{
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
		if (strncmp(slash + 1, name, n) == 0 && (!slash[1 + n] || slash[1 + n] == '/'))
			return true;
	return false;
}

/* Whether it stands in the text between characters that are none of a name, in whatever case. */
static bool has_word(const struct recorded *p, const char *name, size_t n)
{
	for (size_t i = 0; p->data && i + n <= p->len; i++)
		if (strncasecmp(p->data + i, name, n) == 0 &&
		    (i == 0 || !isalnum((unsigned char)p->data[i - 1])) &&
		    (i + n == p->len || !isalnum((unsigned char)p->data[i + n])))
			return true;
	return false;
}

/* What the machine is, not who. */
static bool names_product(const char *path)
{
	return strcmp(path, "/proc/modules") == 0 ||
	       fnmatch("/sys/*/dmi/id/*_name", path, FNM_NOESCAPE) == 0 ||
	       fnmatch("/sys/*/dmi/id/*_family", path, FNM_NOESCAPE) == 0 ||
	       fnmatch("/sys/firmware/devicetree/base/model", path, FNM_NOESCAPE) == 0;
}

bool redact_host_is_word(const char *nodename, const struct map *places)
{
	size_t n = strcspn(nodename, ".");

	for (size_t i = 0; n && i < places->cap; i++) {
		const char *path = places->slots[i].key;

		if (!path)
			continue;
		if ((str_starts(path, "/sys/") && has_part(path, nodename, n)) ||
		    (names_product(path) && has_word(places->slots[i].value, nodename, n)))
			return true;
	}
	return false;
}

bool redact_names_host(const char *path)
{
	static const char *const patterns[] = {
		"/etc/hostname",
		"/etc/hosts",
		"/etc/hosts.*",
		"/etc/fstab",
		"/etc/machine-info",
		"/etc/mdadm/*",
		"/etc/netplan/*",
		"/etc/NetworkManager/*",
		"/etc/resolv.conf",
		"/etc/slurm*",
		"/etc/ssh/*",
		"/etc/systemd/network/*",
		"/home/*",
		"*/cmdline",
		"*/mounts",
		"*/mountinfo",
		"/proc/sys/kernel/hostname",
		"/proc/sys/kernel/domainname",
		"/proc/spl/kstat/zfs/*",
		"/dev/mapper/*",
		/* InfiniBand: "HOST mlx5_0". Volumes: a group or an array called by the machine. */
		"/sys/*/node_desc",
		"/sys/*/dm/name",
		"/sys/*/dm/uuid",
		"/sys/*/md/*",
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (fnmatch(patterns[i], path, FNM_NOESCAPE) == 0)
			return true;
	return false;
}
