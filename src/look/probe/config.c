/* SPDX-License-Identifier: Apache-2.0 */
/* Who sets what: what the lines of each kind of file mean. */
#include "look/probe/config.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "machine/host/boot_menu.h"
#include "machine/host/host.h"

/*
 * Where the kernel's arguments of the next boot come from: the files of GRUB, kernel-install,
 * loader entries and extlinux. Shell syntax is read as far as these files use it: assignments, and
 * a variable within its own new value.
 */

enum { WORDS_MAX = 256 };

struct word {
	char *text;
	const char *file;
	unsigned line;
};

struct variable {
	const char *name;
	struct word words[WORDS_MAX];
	size_t n;
};

static void add_word(struct config_reader *r, struct variable *v, char *text)
{
	if (v->n < WORDS_MAX)
		v->words[v->n++] = (struct word){ text, r->file, r->line };
}

static bool refers_to(const char *word, const char *name)
{
	size_t n = strlen(name);

	if (*word++ != '$')
		return false;
	if (*word == '{')
		return strncmp(word + 1, name, n) == 0 && strcmp(word + 1 + n, "}") == 0;
	return strcmp(word, name) == 0;
}

/* The text within quotes, without what follows them; the whole text where there are none. */
static char *quoted_part(char *s)
{
	char *end;

	s += strspn(s, " ");
	if (*s != '"' && *s != '\'') {
		s[strcspn(s, " #;")] = '\0';
		return s;
	}
	end = strrchr(s + 1, *s);
	if (end)
		*end = '\0';
	return s + 1;
}

static void config_boot_assign(struct config_reader *r, struct variable *v, char *value,
			       bool append)
{
	struct variable *old = ARENA_NEW(r->p->a, struct variable);
	char *word;

	*old = *v;
	if (!append)
		v->n = 0;
	while ((word = config_word(&value))) {
		if (refers_to(word, v->name)) {
			for (size_t i = 0; i < old->n && v->n < WORDS_MAX; i++)
				v->words[v->n++] = old->words[i];
			old->n = 0;
		} else if (*word != '$' && *word != '`') {
			add_word(r, v, word);
		}
	}
}

static void grub_file(struct config_reader *r, const char *path, struct variable *vars, size_t n)
{
	struct config_lines l = { .next = config_text(r, path, true), .comment = "#" };
	char *line;

	while ((line = config_line(r, &l))) {
		char *eq = strchr(line, '=');
		bool append = eq && eq > line && eq[-1] == '+';

		if (str_starts(line, "export "))
			line += strlen("export ");
		if (!eq || eq < line)
			continue;
		eq[append ? -1 : 0] = '\0';
		for (size_t i = 0; i < n; i++)
			if (strcmp(line, vars[i].name) == 0)
				config_boot_assign(r, &vars[i], quoted_part(eq + 1), append);
	}
}

static void grub(struct config_reader *r)
{
	static const char *const folder[] = { "/etc/default/grub.d" };
	struct variable *vars = arena_array(r->p->a, 2, sizeof(*vars));
	size_t n;
	char **paths = config_files(r, folder, 1, ".cfg", &n);

	/* In the order in which the boot menu joins them. */
	vars[0].name = "GRUB_CMDLINE_LINUX";
	vars[1].name = "GRUB_CMDLINE_LINUX_DEFAULT";
	grub_file(r, "/etc/default/grub", vars, 2);
	for (size_t i = 0; i < n; i++)
		grub_file(r, paths[i], vars, 2);
	for (size_t v = 0; v < 2; v++)
		for (size_t i = 0; i < vars[v].n; i++) {
			r->file = vars[v].words[i].file;
			r->line = vars[v].words[i].line;
			config_add_argument(r, vars[v].words[i].text);
		}
}

/* Words that name a variable of the boot loader are not arguments. */
static void add_arguments(struct config_reader *r, char *words)
{
	char *word;

	while ((word = config_word(&words)))
		if (*word != '$')
			config_add_argument(r, word);
}

static void config_boot_kernel_install(struct config_reader *r)
{
	struct config_lines l = { .next = config_text(r, "/etc/kernel/cmdline", true),
				  .comment = "#" };
	char *line;

	while ((line = config_line(r, &l)))
		add_arguments(r, line);
}

/* Of the entries, one a kernel, the one for the kernel that runs; else the last. */
static void loader_entry(struct config_reader *r)
{
	static const char *const folders[] = { "/boot/loader/entries", "/efi/loader/entries",
					       "/boot/efi/loader/entries" };
	const char *release = fact_text(&r->p->m->kernel.release, "");
	struct config_lines l = { .comment = "#" };
	size_t n, best;
	char **paths, *line;

	paths = config_files(r, folders, sizeof(folders) / sizeof(folders[0]), ".conf", &n);
	if (!n)
		return;
	best = n - 1;
	for (size_t i = 0; *release && i < n; i++)
		if (strstr(paths[i], release))
			best = i;
	l.next = config_text(r, paths[best], false);
	while ((line = config_line(r, &l))) {
		char *word = config_word(&line);

		if (strcmp(word, "options") == 0)
			add_arguments(r, line);
	}
}

/* The arguments of the label that DEFAULT names. */
static void extlinux(struct config_reader *r)
{
	struct config_lines l = { .next = config_text(r, "/boot/extlinux/extlinux.conf", false),
				  .comment = "#" };
	const char *chosen = "", *label = "";
	char *line;

	while ((line = config_line(r, &l))) {
		char *word = config_word(&line);

		if (strcasecmp(word, "DEFAULT") == 0)
			chosen = line;
		else if (strcasecmp(word, "LABEL") == 0)
			label = line;
		else if (strcasecmp(word, "APPEND") == 0 && strcmp(label, chosen) == 0)
			add_arguments(r, line);
	}
}

static void config_boot(struct config_reader *r)
{
	grub(r);
	config_boot_kernel_install(r);
	loader_entry(r);
	extlinux(r);
}

/* The lines of sysctl.d, tmpfiles.d and modprobe.d. See sysctl.d(5), tmpfiles.d(5), modprobe.d(5).
 */

#define FOLDERS(name)                                                                              \
	{                                                                                          \
		"/etc/" name, "/run/" name, "/usr/local/lib/" name, "/usr/lib/" name, "/lib/" name \
	}
enum { N_FOLDERS = 5 };

/* Whichever of the two ways of writing a key it is, the path with dots for slashes comes out. */
static void dotted_key(char *key)
{
	for (char *c = key; *c; c++)
		if (*c == '/')
			*c = '.';
}

static void probe_config_sysctl_line(struct config_reader *r, char *line, bool boot)
{
	char *eq = strchr(line, '='), *key = line;
	enum config_layer layer = boot ? LAYER_SYSCTL : LAYER_NONE;
	size_t n;

	if (*key == '-')
		key++;
	else if (!eq)
		return;
	if (eq)
		*eq++ = '\0';
	key += strspn(key, " /");
	str_trim(key, strlen(key), &n);
	key[n] = '\0';
	dotted_key(key);
	if (boot && strpbrk(key, "*?["))
		layer = LAYER_SYSCTL_GLOB;
	config_add(r, "sysctl", layer, key, eq ? eq + strspn(eq, " ") : NULL);
}

static void sysctl_file(struct config_reader *r, const char *path, bool boot)
{
	struct config_lines l = { .next = config_text(r, path, false), .comment = "#;" };
	char *line;

	while ((line = config_line(r, &l)))
		probe_config_sysctl_line(r, line, boot);
}

/* /etc/sysctl.conf is read at boot where a folder links to it, and where no systemd is. */
static bool links_to_conf(struct config_reader *r, const char *path)
{
	char target[HOST_PATH_MAX];

	return host_link_path(r->p->h, path, target, sizeof(target)) == 0 &&
	       strcmp(target, "/etc/sysctl.conf") == 0;
}

static void config_sysctl(struct config_reader *r)
{
	static const char *const folders[] = FOLDERS("sysctl.d");
	bool linked = false;
	size_t n;
	char **paths = config_files(r, folders, N_FOLDERS, ".conf", &n);

	for (size_t i = 0; i < n; i++) {
		bool conf = links_to_conf(r, paths[i]);

		linked |= conf;
		sysctl_file(r, conf ? "/etc/sysctl.conf" : paths[i], true);
	}
	if (!linked)
		sysctl_file(r, "/etc/sysctl.conf", !fact_is(&r->p->m->software.init, "systemd"));
}

/* "w /sys/kernel/mm/ksm/run - - - - 1": the argument is the seventh field, to the end of the line.
 * Of plain lines with one path the first counts; those with "+" all do, in their order. */
static void probe_config_tmpfiles_line(struct config_reader *r, char *line, struct map *seen)
{
	char *type = config_word(&line), *path = config_word(&line);
	enum config_layer layer = LAYER_TMPFILES;

	if (!path || *type != 'w')
		return;
	for (int i = 0; i < 4; i++)
		if (!config_word(&line))
			return;
	line += strspn(line, " ");
	path = config_unquote(path);
	if (!strchr(type, '+')) {
		void **at = map_at(r->p->a, seen, path);

		if (*at)
			layer = LAYER_NONE;
		*at = r;
	}
	config_add_path(r, layer, path, config_unquote(line));
}

static void config_tmpfiles(struct config_reader *r)
{
	static const char *const folders[] = FOLDERS("tmpfiles.d");
	struct map seen = { 0 };
	size_t n;
	char **paths = config_files(r, folders, N_FOLDERS, ".conf", &n);

	for (size_t i = 0; i < n; i++) {
		struct config_lines l = { .next = config_text(r, paths[i], false), .comment = "#" };
		char *line;

		while ((line = config_line(r, &l)))
			probe_config_tmpfiles_line(r, line, &seen);
	}
}

/* "options zfs zfs_arc_max=1 zfs_prefetch_disable=1". */
static void probe_config_modprobe_line(struct config_reader *r, char *line)
{
	char *word = config_word(&line), *module, *value;

	if (strcmp(word, "options") != 0 || !(module = config_word(&line)))
		return;
	for (char *c = module; *c; c++)
		if (*c == '-')
			*c = '_';
	while ((word = config_word(&line))) {
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		config_add(r, "module-parameter", LAYER_MODULE,
			   arena_printf(r->p->a, "%s.%s", module, word),
			   value ? config_unquote(value) : "");
	}
}

static void config_modprobe(struct config_reader *r)
{
	static const char *const folders[] = FOLDERS("modprobe.d");
	size_t n;
	char **paths = config_files(r, folders, N_FOLDERS, ".conf", &n);

	for (size_t i = 0; i < n; i++) {
		struct config_lines l = { .next = config_text(r, paths[i], true), .comment = "#" };
		char *line;

		while ((line = config_line(r, &l)))
			probe_config_modprobe_line(r, line);
	}
}

/*
 * What .link files of udev and .network files of networkd, netplan's among them, set of an
 * interface. The matches become conditions as udev rules have them. NetworkManager's connections
 * hold passwords and are not read.
 */

static const struct {
	const char *key, *name; /* of [Link]; of the knob */
} rows[] = {
	{ "MTUBytes", "mtu" },
	{ "RxBufferSize", "rx-ring" },
	{ "TxBufferSize", "tx-ring" },
	{ "CombinedChannels", "channels" },
};

/* "Name=eth* en*" is KERNEL=="eth*|en*". A negated match is only kept as text. */
static void add_match(struct text *when, const char *key, char *value)
{
	bool plain = *value != '!' && !strchr(value, '"');
	const char *as = strcmp(key, "Name") == 0	  ? "KERNEL"
			 : strcmp(key, "MACAddress") == 0 ? "MAC"
							  : NULL;

	text_add(when, when->len ? ", " : "");
	if (!as || !plain) {
		text_printf(when, "%s=%s (not checked)", key, value);
		return;
	}
	for (char *c = value; *c; c++)
		if (*c == ' ')
			*c = '|';
	text_printf(when, "%s==\"%s\"", as, value);
}

/* Of the files that match an interface the first one counts, so that earlier ones rank higher. */
static void add_value(struct config_reader *r, const char *key, const char *value,
		      enum config_layer layer, const char *when)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct assignment *it;

		if (strcmp(key, rows[i].key) != 0)
			continue;
		it = config_add(r, "link", layer, rows[i].name, value);
		if (!it)
			continue;
		if (layer != LAYER_NONE)
			it->rank = (unsigned)layer << 16 | (0xffff - r->n);
		it->when = fact_str_of(arena_strdup(r->p->a, when), "", r->file);
	}
}

static void network_file(struct config_reader *r, const char *path, enum config_layer layer)
{
	struct config_lines l = { .next = config_text(r, path, false), .comment = "#;" };
	const char *section = "";
	TEXT_AUTO when = { 0 };
	char *line;

	while ((line = config_line(r, &l))) {
		char *value = strchr(line, '=');
		size_t n;

		if (*line == '[') {
			line[strcspn(line, "]")] = '\0';
			section = line + 1;
		}
		if (*line == '[' || !value)
			continue;
		*value++ = '\0';
		str_trim(line, strlen(line), &n);
		line[n] = '\0';
		value += strspn(value, " ");
		if (strcmp(section, "Match") == 0)
			add_match(&when, line, value);
		if (strcmp(section, "Link") == 0)
			add_value(r, line, value, layer, when.s ? when.s : "");
	}
}

static bool runs_networkd(const struct machine *m)
{
	const struct service *s = machine_service(m, "systemd-networkd.service");

	return s && fact_or(&s->enabled, 0) + fact_or(&s->active, 0) > 0;
}

static void config_network(struct config_reader *r)
{
	static const char *const folders[MERGED_N] = MERGED_FOLDERS("network");
	enum config_layer layer = runs_networkd(r->p->m) ? LAYER_NETWORKD : LAYER_NONE;
	size_t n;
	char **paths = config_files(r, folders, MERGED_N, ".link", &n);

	for (size_t i = 0; i < n; i++)
		network_file(r, paths[i], LAYER_UDEV);
	paths = config_files(r, folders, MERGED_N, ".network", &n);
	for (size_t i = 0; i < n; i++)
		network_file(r, paths[i], layer);
}

/* What the active profile of tuned sets, with the profiles that it includes. Plug-ins and sections
 * whose effect is not one value of one place are left out, and so are values with variables. */

enum { DEPTH_MAX = 8, PROFILES_MAX = 32 /* in all */ };

struct tuned {
	struct config_reader *r;
	enum config_layer sysctl;
	struct map read;    /* profiles, so that a circle of them ends: t within one, r after it */
	const char *beside; /* a folder of profiles, looked at first; NULL: none */
	struct text *left;  /* gets what has no place, "FILE:LINE: ..."; NULL: nobody asks */
};

/* A place that a section's key sets; key NULL: the key is the place. */
static const struct {
	const char *section, *key, *path;
} tuned_rows[] = {
	{ "vm", "transparent_hugepages", "/sys/kernel/mm/transparent_hugepage/enabled" },
	{ "vm", "transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled" },
	{ "vm", "transparent_hugepage.defrag", "/sys/kernel/mm/transparent_hugepage/defrag" },
	{ "cpu", "governor", "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor" },
	{ "cpu", "energy_performance_preference",
	  "/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference" },
	{ "cpu", "no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo" },
	{ "cpu", "max_perf_pct", "/sys/devices/system/cpu/intel_pstate/max_perf_pct" },
	{ "disk", "elevator", "/sys/block/*/queue/scheduler" },
	{ "disk", "readahead", "/sys/block/*/queue/read_ahead_kb" },
	{ "sysfs", NULL, NULL },
};

static void tuned_left(struct tuned *t, const char *section, const char *what, const char *why)
{
	if (t->left)
		text_printf(t->left, "%s:%u: [%s] %s: %s\n", t->r->file, t->r->line, section, what,
			    why);
}

static void section_line(struct tuned *t, const char *section, char *key, char *value)
{
	struct config_reader *r = t->r;
	const char *line = arena_printf(r->p->a, "%s=%s", key, value);
	unsigned before = r->n;
	size_t n;

	str_trim(key, strlen(key), &n);
	key[n] = '\0';
	value = config_unquote(value + strspn(value, " "));
	if (strcmp(section, "main") == 0 || strcmp(section, "variables") == 0)
		return;
	if (strstr(value, "${")) {
		tuned_left(t, section, line, "contains a variable");
		return;
	}
	if (strcmp(section, "sysctl") == 0)
		config_add(r, "sysctl", t->sysctl, key, value);
	if (strcmp(section, "bootloader") == 0 && str_starts(key, "cmdline") && *value != '-') {
		char *word;

		value += *value == '+';
		while ((word = config_word(&value)))
			config_add_argument(r, word);
	}
	for (size_t i = 0; i < sizeof(tuned_rows) / sizeof(tuned_rows[0]); i++)
		if (strcmp(section, tuned_rows[i].section) == 0 &&
		    (!tuned_rows[i].key || strcmp(key, tuned_rows[i].key) == 0))
			config_add_path(r, LAYER_TUNED,
					tuned_rows[i].path ? tuned_rows[i].path : key, value);
	if (r->n == before)
		tuned_left(t, section, line, "gputune has no setting for it");
}

static void probe_config_profile(struct tuned *t, const char *name, int depth);

/* "include=a, b" of [main]: those first, so that this profile's own lines stand over them. */
static void includes(struct tuned *t, char *names, int depth)
{
	char *name;

	for (char *c = names; *c; c++)
		if (*c == ',' || *c == ';')
			*c = ' ';
	while ((name = config_word(&names)))
		probe_config_profile(t, name, depth + 1);
}

/* As tuned reads it: " #" begins a comment anywhere in a line, and a line that stands further in
 * than the key before it continues that key's value. */
static void profile_text(struct tuned *t, char *text, int depth)
{
	struct config_lines l = { .next = text, .comment = "#;" };
	const char *section = "";
	size_t key_in = SIZE_MAX;
	char *line;

	while ((line = config_line(t->r, &l))) {
		char *comment = strstr(line, " #"), *value;
		size_t in = 0;

		while (line - in > text && line[-1 - (ptrdiff_t)in] == ' ')
			in++;
		for (; comment && *comment == ' '; comment--)
			*comment = '\0';
		value = strchr(line, '=');
		if (in > key_in) {
			tuned_left(t, section, line, "continuation lines are not supported");
			continue;
		}
		key_in = *line == '[' ? SIZE_MAX : in;
		if (*line == '[') {
			line[strcspn(line, "]")] = '\0';
			section = line + 1;
		} else if (value && value > line) {
			*value++ = '\0';
			if (strcmp(section, "main") == 0 && str_starts(line, "include"))
				includes(t, value, depth);
			section_line(t, section, line, value);
		} else {
			tuned_left(t, section, line, "not of the form \"key = value\"");
		}
	}
}

static void probe_config_profile(struct tuned *t, const char *name, int depth)
{
	const char *const folders[] = { t->beside, "/etc/tuned/profiles", "/etc/tuned",
					"/usr/lib/tuned/profiles", "/usr/lib/tuned" };
	struct config_reader *r = t->r;
	const char *file = r->file;
	unsigned line = r->line;
	char *text = NULL;
	void **at;

	/* A name, never a way out of the folders; "-" before it: it may be missing. */
	name += *name == '-';
	if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
		    strlen(name) ||
	    *name == '.' || depth >= DEPTH_MAX || t->read.n >= PROFILES_MAX) {
		tuned_left(t, "main", name, "invalid name, or too many includes");
		return;
	}
	at = map_at(r->p->a, &t->read, name);
	if (*at == t)
		tuned_left(t, "main", name, "includes itself");
	if (*at)
		return;
	*at = t;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && !text; i++)
		if (folders[i])
			text = config_text(
				r, arena_printf(r->p->a, "%s/%s/tuned.conf", folders[i], name),
				false);
	if (text)
		profile_text(t, text, depth);
	r->file = file;
	r->line = line;
	if (!text)
		tuned_left(t, "main", name, "no such profile of tuned");
	*map_at(r->p->a, &t->read, name) = r;
}

bool probe_tuned(struct probe *p, const char *what, struct text *left)
{
	struct config_reader r = { .p = p, .file = what };
	struct tuned t = { .r = &r, .sysctl = LAYER_TUNED, .left = left };

	if (str_ends(what, "/tuned.conf"))
		what = path_folder(p->a, what);
	if (strchr(what, '/'))
		t.beside = path_folder(p->a, what);
	probe_config_profile(&t, path_name(what), 0);
	return r.bytes > 0;
}

/* By default tuned applies the system's own sysctl files after the profile's. */
static bool reapplies_sysctl(struct config_reader *r)
{
	char *text = config_text(r, "/etc/tuned/tuned-main.conf", false);
	const char *value = text ? str_value(r->p->a, text, "reapply_sysctl", '=') : NULL;

	return !value || (strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0);
}

static void config_tuned(struct config_reader *r)
{
	const struct service *s = machine_service(r->p->m, "tuned.service");
	struct tuned t = { .r = r };
	char *names, *name;

	if (!s || fact_or(&s->enabled, 0) + fact_or(&s->active, 0) == 0)
		return;
	if (!seen_ok(&r->p->m->config.tuned_profile.f))
		r->p->m->config.tuned_profile = probe_str(r->p, "/etc/tuned/", "active_profile");
	if (!seen_ok(&r->p->m->config.tuned_profile.f))
		return;
	t.sysctl = reapplies_sysctl(r) ? LAYER_TUNED_EARLY : LAYER_TUNED;
	names = arena_strdup(r->p->a, r->p->m->config.tuned_profile.v);
	while ((name = config_word(&names)))
		probe_config_profile(&t, name, 0);
}

void probe_config(struct probe *p)
{
	struct config_reader r = { .p = p };
	static const char from[] = "configuration files";
	const char *why;
	enum boot_menu menu = host_boot_menu_why(p->h, &why);

	p->m->config.boot_menu = fact_str_of(boot_menu_name(menu), "", why);
	/* In the order in which they take effect; see enum config_layer. */
	config_boot(&r);
	config_modprobe(&r);
	config_sysctl(&r);
	config_tmpfiles(&r);
	config_udev(&r);
	config_network(&r);
	config_tuned(&r);
	p->m->config.unread =
		fact_str_of(arena_strdup(p->a, r.unread.s ? r.unread.s : ""), "", from);
	text_free(&r.unread);
}
