/* SPDX-License-Identifier: Apache-2.0 */
/* Providers that ask, and tell, a program of the system's or a vendor's what no file and no library
 * answers. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "machine/host/ask.h"
#include "machine/host/command.h"
#include "machine/host/unit_file.h"

/* Bytes of what a program prints. */
enum { OUTPUT_MAX = 4096, OUTPUT_LONG = 64 * 1024 };

/*
 * Properties of ZFS pools by zpool(8): OpenZFS has no other interface that is kept. Object: the
 * pool. Questions: the properties below, which can be told too.
 */

/* Setting waits for the pool's next transaction group, which a busy disk delays. */
enum { ASK_MS = 5000, TELL_MS = 30000 };

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";

/* A word that can be neither an option nor two arguments. */
static bool is_plain(const char *s)
{
	return *s && *s != '-' && strlen(s) < 256 && !s[strspn(s, plain)];
}

static int host_program_check(const char *pool, const char *property)
{
	static const char *const properties[] = { "autotrim" };

	if (!is_plain(pool))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++)
		if (strcmp(properties[i], property) == 0)
			return 0;
	return -EINVAL;
}

static int zpool_ask(void **state, struct arena *a, const char *object, const char *field,
		     struct answer *out)
{
	char *argv[] = { "zpool",
			 "get",
			 "-Hp",
			 "-o",
			 "value",
			 arena_strdup(a, field),
			 arena_strdup(a, object),
			 NULL };
	const char *output, *value;
	size_t n;
	int r = host_program_check(object, field);

	(void)state;
	if (r == 0)
		r = command_report(a, argv, ASK_MS, OUTPUT_MAX, &output);
	if (r)
		return r;
	value = str_trim(output, strlen(output), &n);
	/* A property that this version does not have. */
	if (n == 0 || (n == 1 && *value == '-'))
		return -EOPNOTSUPP;
	answer_text(out, arena_strndup(a, value, n));
	return 0;
}

static int zpool_set(void **state, struct arena *a, const char *object, const char *field,
		     const struct answer *value)
{
	char *argv[] = { "zpool", "set", NULL, arena_strdup(a, object), NULL };
	int r = host_program_check(object, field);

	(void)state;
	if (r)
		return r;
	if (value->kind != ANSWER_TEXT || !is_plain(value->text))
		return -EINVAL;
	argv[2] = arena_printf(a, "%s=%s", field, value->text);
	return command_report(a, argv, TELL_MS, OUTPUT_MAX, NULL);
}

const struct provider provider_zpool = { .api = "zpool", .ask = zpool_ask, .tell = zpool_set };

/*
 * The boost slider "vboost" of a GPU: NVIDIA's management library has no call for it, its program
 * nvidia-smi does. Object: the GPU's PCI address, which means the same GPU to every process, as the
 * program's own numbers do not. Questions: "vboost" (the level; can be told) and "vboost.max".
 */

enum { BOOST_MS = 10000, LEVEL_MAX = 99 };

/* "|   0     vboost           4              0       |": largest and present level. */
int boost_parse(const char *output, unsigned *max, unsigned *level)
{
	static const char name[] = "vboost";
	const char *row = strstr(output, name);

	if (!row)
		return -EOPNOTSUPP;
	if (sscanf(row + sizeof(name) - 1, " %2u %2u", max, level) != 2)
		return -EPROTO;
	/* One GPU was asked about: a second row is somebody else's. */
	return strstr(row + 1, name) || *level > *max ? -EPROTO : 0;
}

static int host_program_boost_ask(void **state, struct arena *a, const char *object,
				  const char *field, struct answer *out)
{
	char *argv[] = { "nvidia-smi", "boost-slider", "-i", arena_strdup(a, object), "-l", NULL };
	bool ask_max = strcmp(field, "vboost.max") == 0;
	unsigned max, level;
	const char *output;
	int r;

	(void)state;
	if (!command_is_pci(object) || (!ask_max && strcmp(field, "vboost") != 0))
		return -EINVAL;
	r = command_report(a, argv, BOOST_MS, OUTPUT_LONG, &output);
	if (r == 0)
		r = boost_parse(output, &max, &level);
	if (r)
		return r;
	answer_int(out, ask_max ? max : level);
	return 0;
}

static int boost_set(void **state, struct arena *a, const char *object, const char *field,
		     const struct answer *value)
{
	char *argv[] = { "nvidia-smi", "boost-slider", "-i", arena_strdup(a, object),
			 "--vboost",   NULL,	       NULL };

	(void)state;
	if (strcmp(field, "vboost") != 0)
		return -EOPNOTSUPP;
	if (!command_is_pci(object) || value->kind != ANSWER_INT || value->i < 0 ||
	    value->i > LEVEL_MAX)
		return -EINVAL;
	argv[5] = arena_printf(a, "%lld", value->i);
	return command_report(a, argv, BOOST_MS, OUTPUT_LONG, NULL);
}

const struct provider provider_boost = {
	.api = "boost-slider",
	.ask = host_program_boost_ask,
	.tell = boost_set,
};

/*
 * The link layer of a ConnectX port, which its firmware takes up at the next boot: asked and told
 * by NVIDIA's own program. Object: the adapter's PCI address. Questions: "LINK_TYPE_P1" and
 * "LINK_TYPE_P2", 1 for InfiniBand, 2 for Ethernet, 3 for whichever the cable speaks.
 */

enum { MLXCONFIG_MS = 30000, TYPE_MAX = 3 };

static bool is_type(const char *field)
{
	return strcmp(field, "LINK_TYPE_P1") == 0 || strcmp(field, "LINK_TYPE_P2") == 0;
}

int mlxconfig_parse(const char *output, const char *name, long long *out)
{
	const char *row = strstr(output, name), *end, *open;
	char number[8] = "", rest;
	long long v;

	if (!row)
		return -EOPNOTSUPP;
	row += strlen(name);
	end = row + strcspn(row, "\n");
	open = end;
	while (open > row && *open != '(')
		open--;
	if (*open != '(' || sscanf(open, "(%7[0-9]%c", number, &rest) != 2 || rest != ')' ||
	    parse_i64(number, &v))
		return -EPROTO;
	*out = v;
	return 0;
}

/* The value in the last column of the row "NAME  [DEFAULT  NOW]  NEXT", a number or "Word(number)".
 * Rows that differ from the default begin with a star. */
static bool mlxconfig_row(const char *output, const char *name, size_t n, long long *out)
{
	for (const char *line = output; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *p = line + strspn(line, " \t*"), *end = line + strcspn(line, "\n");
		char number[24];
		size_t len;

		if (strncmp(p, name, n) != 0 || !strchr(" \t", p[n]) || !p[n])
			continue;
		while (end > p && strchr(" \t\r)", end[-1]))
			end--;
		for (p = end; p > line && isdigit((unsigned char)p[-1]); p--)
			;
		len = (size_t)(end - p);
		if (!len || len >= sizeof(number) || !strchr(" \t(", p[-1]))
			return false;
		memcpy(number, p, len);
		number[len] = '\0';
		return parse_i64(number, out) == 0;
	}
	return false;
}

const char *mlxconfig_values(struct arena *a, const char *output, const char *names)
{
	TEXT_AUTO t = { 0 };
	long long v;

	for (const char *p = names; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		if (mlxconfig_row(output, p, n, &v))
			text_printf(&t, "%s%.*s=%lld", t.len ? " " : "", (int)n, p, v);
		p += n;
	}
	return arena_strdup(a, t.s ? t.s : "");
}

/* Several names at once: all settings are printed, since one that the adapter lacks would refuse.
 */
static int mlxconfig_several(struct arena *a, const char *object, const char *names,
			     struct answer *out)
{
	char *argv[] = { "mlxconfig", "-d", arena_strdup(a, object), "query", NULL };
	const char *output;
	int r;

	if (!command_is_pci(object) || !strchr(names, ' ') ||
	    strspn(names, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ") != strlen(names))
		return -EINVAL;
	r = command_report(a, argv, MLXCONFIG_MS, OUTPUT_LONG, &output);
	if (r == 0)
		answer_text(out, mlxconfig_values(a, output, names));
	return r;
}

static int mlxconfig_ask(void **state, struct arena *a, const char *object, const char *field,
			 struct answer *out)
{
	char *argv[] = {
		"mlxconfig", "-d", arena_strdup(a, object), "query", arena_strdup(a, field), NULL
	};
	const char *output;
	long long v;
	int r;

	(void)state;
	if (strchr(field, ' '))
		return mlxconfig_several(a, object, field, out);
	if (!command_is_pci(object) || !is_type(field))
		return -EINVAL;
	r = command_report(a, argv, MLXCONFIG_MS, OUTPUT_LONG, &output);
	if (r == 0)
		r = mlxconfig_parse(output, field, &v);
	if (r)
		return r;
	answer_int(out, v);
	return 0;
}

static int mlxconfig_set(void **state, struct arena *a, const char *object, const char *field,
			 const struct answer *value)
{
	char *argv[] = { "mlxconfig", "-y", "-d", arena_strdup(a, object), "set", NULL, NULL };

	(void)state;
	if (!command_is_pci(object) || !is_type(field) || value->kind != ANSWER_INT ||
	    value->i < 1 || value->i > TYPE_MAX)
		return -EINVAL;
	argv[5] = arena_printf(a, "%s=%lld", field, value->i);
	return command_report(a, argv, MLXCONFIG_MS, OUTPUT_LONG, NULL);
}

const struct provider provider_mlxconfig = {
	.api = "mlxconfig",
	.ask = mlxconfig_ask,
	.tell = mlxconfig_set,
};

/*
 * Services are told through systemctl(1), because systemd has to load what changed. What state they
 * have stands in files (machine/knob/unit.c), so that nothing is asked here. Object: the unit.
 * Fields: "enabled" takes "enabled", "disabled" or "masked"; "active" takes "active" or "inactive".
 */

/* systemd itself gives a service 90 s to stop before it kills it. */
enum { SYSTEMCTL_MS = 120000, SOON_MS = 30000, STEPS = 2 };

static const struct {
	const char *field, *value;
	/* A masked unit can be neither enabled nor disabled: the mask goes first, as a step that
	 * does nothing to others. */
	const char *steps[STEPS];
	const char *back; /* what replaces its job when that does not end; NULL: it has none */
} rows[] = {
	{ "enabled", "enabled", { "unmask", "enable" }, NULL },
	{ "enabled", "disabled", { "unmask", "disable" }, NULL },
	{ "enabled", "masked", { "mask" }, NULL },
	{ "active", "active", { "start" }, "stop" },
	{ "active", "inactive", { "stop" }, "start" },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static int systemctl(struct arena *a, const char *verb, const char *unit)
{
	char *argv[] = { "systemctl",		"--no-ask-password",   "--quiet", "--system",
			 arena_strdup(a, verb), arena_strdup(a, unit), NULL };

	return command_report(a, argv, SYSTEMCTL_MS, OUTPUT_LONG, NULL);
}

/* We gave up, systemd has not: later, unseen, the unit would have the state that it does not have
 * now. The opposite takes the place of the job that waits or runs. */
static void systemctl_gave_up(struct arena *a, const char *back, const char *unit)
{
	char *argv[] = { "systemctl",
			 "--no-ask-password",
			 "--quiet",
			 "--system",
			 "--no-block",
			 "--job-mode=replace",
			 arena_strdup(a, back),
			 arena_strdup(a, unit),
			 NULL };

	command_report(a, argv, SOON_MS, OUTPUT_LONG, NULL);
}

static int systemd_ask(void **state, struct arena *a, const char *object, const char *field,
		       struct answer *out)
{
	(void)state;
	(void)a;
	(void)object;
	(void)field;
	(void)out;
	return -EOPNOTSUPP;
}

static int systemd_set(void **state, struct arena *a, const char *object, const char *field,
		       const struct answer *value)
{
	size_t i = 0;
	int r = 0;

	(void)state;
	if (value->kind != ANSWER_TEXT || !unit_name_valid(object))
		return -EINVAL;
	while (i < ROWS &&
	       (strcmp(rows[i].field, field) != 0 || strcmp(rows[i].value, value->text) != 0))
		i++;
	if (i == ROWS)
		return -EINVAL;
	for (size_t k = 0; r == 0 && k < STEPS && rows[i].steps[k]; k++)
		r = systemctl(a, rows[i].steps[k], object);
	if (r == -ETIME && rows[i].back)
		systemctl_gave_up(a, rows[i].back, object);
	return r;
}

const struct provider provider_systemd = {
	.api = "systemd",
	.ask = systemd_ask,
	.tell = systemd_set,
};

/*
 * Kernel modules by modprobe(8) and rmmod(8). Object: the module. Field: "state" takes "loaded" or
 * "absent"; whether it is loaded stands in /sys/module. No file is named, no option passed.
 */

enum { KMOD_MS = 60000 };

static int kmod_set(void **state, struct arena *a, const char *object, const char *field,
		    const struct answer *value)
{
	char *argv[] = { NULL, arena_strdup(a, object), NULL };

	(void)state;
	if (strcmp(field, "state") != 0 || value->kind != ANSWER_TEXT || !is_plain(object) ||
	    strpbrk(object, ".:"))
		return -EINVAL;
	argv[0] = strcmp(value->text, "loaded") == 0 ? "modprobe" : "rmmod";
	return command_report(a, argv, KMOD_MS, OUTPUT_LONG, NULL);
}

const struct provider provider_kmod = { .api = "kmod", .ask = systemd_ask, .tell = kmod_set };

/*
 * Which Fabric Manager is installed. Object: "". Field: "version", as the program itself says it
 * ("570.133.20"): no file of its package does. It has to be the driver's own version.
 */

enum { MANAGER_MS = 2000, VERSION_MAX = 32 };

const char *fabric_manager_version(struct arena *a, const char *said)
{
	static const char mark[] = "Fabric Manager version is";
	const char *at = strstr(said, mark);
	size_t n;

	if (!at)
		return NULL;
	at += sizeof(mark) - 1;
	at += strspn(at, " :\t");
	n = strspn(at, "0123456789.");
	return n == 0 || n > VERSION_MAX ? NULL : arena_strndup(a, at, n);
}

static int manager_ask(void **state, struct arena *a, const char *object, const char *field,
		       struct answer *out)
{
	char *argv[] = { "nv-fabricmanager", "--version", NULL };
	const char *said, *version;
	int r;

	(void)state;
	if (*object || strcmp(field, "version") != 0)
		return -EINVAL;
	r = command_report(a, argv, MANAGER_MS, OUTPUT_MAX, &said);
	if (r)
		return r;
	version = fabric_manager_version(a, said);
	if (!version)
		return -EPROTO;
	answer_text(out, version);
	return 0;
}

const struct provider provider_fabric_manager = { .api = "fabric-manager", .ask = manager_ask };

/*
 * The daemon that shares GPU memory over the nodes of a rack. Object: "". Field: "state", the
 * daemon's own. Source: NVIDIA IMEX guide; field 1503 of DCGM (IMEX daemon status).
 */

const char *imex_state(const char *said)
{
	static const char *const states[] = {
		"initializing",	     "starting_auth_server",
		"waiting_for_peers", "waiting_for_recovery",
		"init_gpu",	     "ready",
		"shutting_down",     "unavailable",
	};
	size_t n = strspn(said, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strlen(states[i]) == n && strncasecmp(said, states[i], n) == 0)
			return states[i];
	return NULL;
}

static int imex_ask(void **state, struct arena *a, const char *object, const char *field,
		    struct answer *out)
{
	char *argv[] = { "nvidia-imex-ctl", "-q", NULL };
	const char *said, *now;
	int r;

	(void)state;
	if (*object || strcmp(field, "state") != 0)
		return -EINVAL;
	r = command_report(a, argv, MANAGER_MS, OUTPUT_MAX, &said);
	now = r ? NULL : imex_state(said);
	if (now)
		answer_text(out, now);
	return now || r ? r : -EPROTO;
}

const struct provider provider_imex = { .api = "imex", .ask = imex_ask };
