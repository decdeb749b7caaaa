/* SPDX-License-Identifier: Apache-2.0 */
/* Who the machine is, its kernel, the command line it was booted with, and what boot security
 * blocks. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "look/probe/probe.h"

enum { GROUPS_MAX = 64 };

static void add_arg(struct probe *p, const char *s, size_t n, long long position)
{
	struct kernel_arg *arg = list_add(p->a, &p->m->kernel.args, sizeof(*arg));
	const char *eq = memchr(s, '=', n);
	size_t name = eq ? (size_t)(eq - s) : n;
	const char *value = eq ? eq + 1 : "";
	size_t len = eq ? n - name - 1 : 0;

	/* The kernel strips quotes around a value, and around the whole argument. */
	if (name && s[0] == '"') {
		s++;
		name--;
		if (len && value[len - 1] == '"')
			len--;
	}
	if (len >= 2 && value[0] == '"' && value[len - 1] == '"') {
		value++;
		len -= 2;
	}
	arg->name = arena_strndup(p->a, s, name);
	arg->value = fact_str_of(arena_strndup(p->a, value, len), "", "/proc/cmdline");
	arg->position = fact_int_of(position, "", "/proc/cmdline");
}

/* Splits at blanks outside double quotes, as the kernel's next_arg() does. */
static void parse_args(struct probe *p, const char *line)
{
	long long position = 0;

	while (*line) {
		bool quoted = false;
		size_t n;

		line += strspn(line, " \t\n");
		for (n = 0; line[n] && (quoted || !strchr(" \t\n", line[n])); n++)
			if (line[n] == '"')
				quoted = !quoted;
		/* "--" ends the kernel's own arguments; the rest goes to init. */
		if (n == 2 && line[0] == '-' && line[1] == '-')
			return;
		if (n)
			add_arg(p, line, n, position++);
		line += n;
	}
}

static struct fact_str boot_mode(struct probe *p)
{
	if (host_exists(p->h, "/sys/firmware/efi"))
		return fact_str_of("uefi", "", "/sys/firmware/efi");
	if (host_exists(p->h, "/sys/firmware/devicetree/base/compatible"))
		return fact_str_of("device-tree", "", "/sys/firmware/devicetree");
	if (host_exists(p->h, "/sys/firmware"))
		return fact_str_of("bios", "", "/sys/firmware");
	return (struct fact_str){ .f = fact_unseen(-ENOENT, "", "/sys/firmware") };
}

/* Four bytes of attributes, then the value. */
static struct fact_int secure_boot(struct probe *p)
{
	static const char path[] =
		"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
	size_t len = 0;
	char *data;
	int r = host_read(p->h, path, 64, p->a, &data, &len);

	if (r == 0 && len != 5)
		r = -EPROTO;
	if (r)
		return (struct fact_int){ .f = fact_unseen(r, "", path) };
	return fact_int_of(data[4] == 1, "", path);
}

static struct fact_str preempt(const struct host_identity *id)
{
	static const struct {
		const char *mark, *name;
	} marks[] = { { "PREEMPT_RT", "rt" },
		      { "PREEMPT_DYNAMIC", "dynamic" },
		      { "PREEMPT", "full" } };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(id->version, marks[i].mark))
			return fact_str_of(marks[i].name, "", "uname -v");
	return fact_str_of("none or voluntary", "", "uname -v");
}

/* The one type that all groups share, or "mixed". */
static struct fact_str iommu(struct probe *p)
{
	static const char dir[] = "/sys/kernel/iommu_groups";
	const char *common = NULL;
	char **groups;
	size_t n;
	int r = host_list(p->h, dir, p->a, &groups, &n);

	if (r)
		return (struct fact_str){ .f = fact_unseen(r, "", dir) };
	for (size_t i = 0; i < n && i < GROUPS_MAX; i++) {
		char type[64];

		if (host_read_line(p->h, arena_printf(p->a, "%s/%s/type", dir, groups[i]), type,
				   sizeof(type)))
			continue;
		if (common && strcmp(common, type) != 0)
			return fact_str_of("mixed", "", "/sys/kernel/iommu_groups/*/type");
		if (!common)
			common = arena_strdup(p->a, type);
	}
	return fact_str_of(common ? common : "off", "", "/sys/kernel/iommu_groups/*/type");
}

static struct fact_int module_count(struct probe *p)
{
	long long lines = 0;
	char *text;
	int r = host_read(p->h, "/proc/modules", HOST_READ_MAX, p->a, &text, NULL);

	if (r)
		return (struct fact_int){ .f = fact_unseen(r, "", "/proc/modules") };
	for (; *text; text++)
		lines += *text == '\n';
	return fact_int_of(lines, "", "/proc/modules");
}

void probe_kernel(struct probe *p)
{
	const struct host_identity *id = &p->h->id;
	struct kernel *k = &p->m->kernel;

	p->m->nodename = fact_str_of(id->nodename, "", "uname -n");
	p->m->euid = fact_int_of(id->euid, "", "geteuid");
	p->m->captured = fact_int_of(id->captured, "", "gputune");
	p->m->time_s = fact_int_of(id->time_s, "", "time");
	k->release = fact_str_of(id->release, "", "uname -r");
	k->version = fact_str_of(id->version, "", "uname -v");
	k->arch = fact_str_of(id->machine, "", "uname -m");
	k->cmdline = probe_str(p, "/proc/", "cmdline");
	if (seen_ok(&k->cmdline.f))
		parse_args(p, k->cmdline.v);
	k->boot_mode = boot_mode(p);
	k->secure_boot = secure_boot(p);
	k->lockdown = probe_choice(p, "/sys/kernel/security/", "lockdown", NULL);
	k->clocksource = probe_str(p, "/sys/devices/system/clocksource/clocksource0/",
				   "current_clocksource");
	k->preempt = preempt(id);
	k->modules = module_count(p);
	k->tainted = probe_int(p, "/proc/sys/kernel/", "tainted");
	k->iommu = iommu(p);
}
