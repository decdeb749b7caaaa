/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's own signs: memory, load, the kernel's log. */
#include "measure/doctor/signs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { SMALL_FILE = 64 << 10 };

struct fact_int sign_int(long long v, const char *from)
{
	return (struct fact_int){ .f = { .seen = SEEN_OK, .dir = "", .leaf = from }, .v = v };
}

struct fact_str sign_text(const char *v, const char *from)
{
	return (struct fact_str){ .f = { .seen = SEEN_OK, .dir = "", .leaf = from }, .v = v };
}

struct fact_int sign_unseen(int r, const char *from)
{
	return (struct fact_int){
		.f = { .seen = seen_from_errno(r), .err = -r, .dir = "", .leaf = from }
	};
}

struct fact_int sign_file(struct arena *a, struct host *h, const char *path)
{
	char line[64];
	long long v;
	int r = host_read_line(h, path, line, sizeof(line));

	path = arena_strdup(a, path);
	if (r == 0 && parse_i64(line, &v))
		r = -EPROTO;
	return r ? sign_unseen(r, path) : sign_int(v, path);
}

/* "key value" on a line of its own. */
static struct fact_int of_lines(const char *text, int r, const char *key, const char *from)
{
	size_t n = strlen(key);

	for (const char *at = text; r == 0 && at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, key, n) == 0 && at[n] == ' ')
			return sign_int(strtoll(at + n, NULL, 10), from);
	}
	return sign_unseen(r ? r : -ENOENT, from);
}

static void read_vmstat(struct arena *a, struct host *h, struct signs *s)
{
	static const char path[] = "/proc/vmstat";
	char *text = NULL;
	int r = host_read(h, path, SMALL_FILE, a, &text, NULL);

	s->swapped_in = of_lines(text, r, "pswpin", path);
	s->swapped_out = of_lines(text, r, "pswpout", path);
	s->compaction_stalls = of_lines(text, r, "compact_stall", path);
	s->thp_fallback = of_lines(text, r, "thp_fault_fallback", path);
	s->numa_moved = of_lines(text, r, "numa_pages_migrated", path);
}

/* "some avg10=1.25 ...": hundredths of a per cent. */
static struct fact_int pressure(struct host *h, const char *path)
{
	char line[160];
	const char *at;
	int r = host_read_line(h, path, line, sizeof(line));
	unsigned whole, part;

	if (r)
		return sign_unseen(r, path);
	at = strstr(line, "some avg10=");
	if (!at || sscanf(at, "some avg10=%3u.%2u", &whole, &part) != 2)
		return sign_unseen(-EPROTO, path);
	return sign_int(100LL * whole + part, path);
}

static struct fact_int load(struct host *h)
{
	static const char path[] = "/proc/loadavg";
	char line[128];
	unsigned whole, part;
	int r = host_read_line(h, path, line, sizeof(line));

	if (r == 0 && sscanf(line, "%6u.%2u", &whole, &part) != 2)
		r = -EPROTO;
	return r ? sign_unseen(r, path) : sign_int(100LL * whole + part, path);
}

/* How many names of a folder begin so. */
static struct fact_int names(struct arena *a, struct host *h, const char *path, const char *begin)
{
	long long count = 0;
	char **list;
	size_t n;
	int r = host_list(h, path, a, &list, &n);

	for (size_t i = 0; r == 0 && i < n; i++)
		count += str_starts(list[i], begin);
	return r ? sign_unseen(r, path) : sign_int(count, path);
}

/* 1 or 0; not known where a capture was never asked. */
static struct fact_int there(struct host *h, const char *path)
{
	enum host_kind kind;
	int r = host_kind(h, path, &kind);

	if (r && r != -ENOENT && r != -ENOTDIR)
		return sign_unseen(r, path);
	return sign_int(r == 0, path);
}

static void read_log(struct host *h, struct signs *s)
{
	const struct {
		struct fact_int *to;
		const char *field;
	} rows[] = {
		{ &s->log_no_memory, "lines(NV_ERR_NO_MEMORY)" },
		{ &s->log_xid, "lines(NVRM: Xid)" },
		{ &s->log_nic_wedged, "lines(irisc not responding)" },
		{ &s->log_nic_health, "lines(assert_var)" },
		{ &s->log_doe, "lines(DOE:)" },
		{ &s->log_aer, "lines(PCIe Bus Error)" },
		{ &s->log_oom, "lines(Out of memory: Killed)" },
		{ &s->log_throttled, "lines(clock throttled)" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		long long v;
		int r = host_ask_int(h, "kernel-log", "", rows[i].field, &v);

		*rows[i].to = r ? sign_unseen(r, rows[i].field) : sign_int(v, rows[i].field);
	}
}

static void read_home(struct arena *a, struct host *h, struct signs *s)
{
	struct answer home;
	int r = host_ask(h, "env", "", "HOME", &home);

	if (r == 0 && (home.kind != ANSWER_TEXT || home.text[0] != '/'))
		r = -EPROTO;
	s->ssh_folder =
		r ? sign_unseen(r, "HOME") : there(h, arena_printf(a, "%s/.ssh", home.text));
}

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release ...": the first
 * word of two points. */
static struct fact_str module_version(struct arena *a, struct host *h)
{
	static const char path[] = "/proc/driver/nvidia/version";
	char line[512], *save = NULL;
	int r = host_read_line(h, path, line, sizeof(line));

	if (r == 0) {
		line[strcspn(line, "\n")] = '\0';
		for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save))
			if (*w >= '0' && *w <= '9' && strchr(w, '.'))
				return sign_text(arena_strdup(a, w), path);
		r = -EPROTO;
	}
	return (struct fact_str){
		.f = { .seen = seen_from_errno(r), .err = -r, .dir = "", .leaf = path }
	};
}

void signs_read_machine(struct arena *a, struct host *h, const struct machine *m, struct signs *out)
{
	*out = (struct signs){ 0 };
	out->ksm_run = sign_file(a, h, "/sys/kernel/mm/ksm/run");
	out->ksm_sharing = sign_file(a, h, "/sys/kernel/mm/ksm/pages_sharing");
	read_vmstat(a, h, out);
	out->pressure_memory = pressure(h, "/proc/pressure/memory");
	out->pressure_cpu = pressure(h, "/proc/pressure/cpu");
	out->load = load(h);
	out->rdma_devices = names(a, h, "/dev/infiniband", "uverbs");
	out->ip_forward = sign_file(a, h, "/proc/sys/net/ipv4/ip_forward");
	out->crash_dumps = names(a, h, "/sys/fs/pstore", "");
	out->avahi = there(h, "/run/avahi-daemon/pid");
	out->module = module_version(a, h);
	read_log(h, out);
	signs_read_conf(a, h, out);
	signs_read_links(a, h, m, out);
}

void signs_read(struct arena *a, struct host *h, const struct machine *m, struct signs *out)
{
	signs_read_machine(a, h, m, out);
	read_home(a, h, out);
	signs_read_vars(a, h, m, out);
}
