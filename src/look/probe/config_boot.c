/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the kernel's arguments of the next boot come from: the files of GRUB, kernel-install,
 * loader entries and extlinux. Shell syntax is read as far as these files use it: assignments, and
 * a variable within its own new value.
 */
#include <string.h>
#include <strings.h>

#include "look/probe/config.h"

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

void config_boot(struct config_reader *r)
{
	grub(r);
	config_boot_kernel_install(r);
	loader_entry(r);
	extlinux(r);
}
