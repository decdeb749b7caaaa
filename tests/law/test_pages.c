/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of the captured machines at every usual width of a terminal:
 *
 *   names   every part of a table that was folded names each of its rows
 *   lost    every word of every cell is printed as often as it stands in the document
 *   cut     no word or number is broken that has room in a line
 *   wide    no line of several words is wider than the terminal
 *
 * Nothing is known here of how a table is folded: what is drawn is compared with the document.
 */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "look/settings/check.h"
#include "look/show/page.h"
#include "render/display_text.h"
#include "vary.h"
#include "verbs/page_check.h"
#include "verbs/page_plan.h"

enum { SHOWN = 20, INDENT = 4, PARTS = 64 };
static const int widths[] = { 40, 60, 80, 100, 120, 200 };

struct pages {
	struct arena a; /* of one page */
	const char *name;
	size_t broken, nodes;
};

static void breaks(struct pages *p, const char *law, int width, const char *what, const char *drawn)
{
	p->broken++;
	if (p->broken <= SHOWN)
		printf("%s: %s, %d columns: %s\n%s\n", law, p->name, width, what, drawn);
}

static char *draw(struct node *n, int width)
{
	struct doc d = { .nodes = &n, .n = 1 };
	const struct term_style how = { .width = width };
	char *s = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&s, &len);

	assert_non_null(f);
	doc_term(f, &d, &how);
	assert_int_equal(fclose(f), 0);
	return s;
}

/* How often a word stands in n bytes of s. */
static size_t count_of(const char *s, size_t n, const char *word)
{
	const char *end = s + n;
	size_t times = 0;

	while ((s = strstr(s, word)) && s + strlen(word) <= end) {
		times++;
		s += strlen(word);
	}
	return times;
}

/* The next piece that may stand in a line of its own: "32.0", "0-63,", "/usr/". NULL: none. */
static const char *piece(struct pages *p, const char **s)
{
	size_t n;

	*s += strspn(*s, " \n");
	n = strcspn(*s, " ,/\n");
	n += (*s)[n] == ',' || (*s)[n] == '/';
	if (!n)
		return NULL;
	*s += n;
	return arena_strndup(&p->a, *s - n, n);
}

/* All cells of the first columns, one a line, as they are cleaned for a terminal. */
static const char *cells(struct pages *p, const struct node *n, size_t columns)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < n->n_rows; i++)
		for (size_t c = 0; c < columns; c++) {
			display_clean(&t, n->rows[i].cells[c].text ? n->rows[i].cells[c].text : "",
				      false);
			text_addc(&t, '\n');
		}
	return arena_strdup(&p->a, t.s ? t.s : "");
}

/* Every word of the cells stands as often in n bytes of s. */
static void words(struct pages *p, const char *cells, int width, const char *s, size_t n,
		  const char *law)
{
	struct map counted = { 0 };
	const char *at = cells, *word;

	while ((word = piece(p, &at))) {
		void **times = map_at(&p->a, &counted, word);

		if (*times || display_width(word) + INDENT > (size_t)width)
			continue;
		*times = &counted;
		if (count_of(s, n, word) < count_of(cells, strlen(cells), word))
			breaks(p, law, width, word, s);
	}
}

static void names(struct pages *p, const char *keys, int width, const char *s)
{
	for (const char *end; *s; s = *end ? end + 1 : end) {
		end = strstr(s, "\n\n");
		end = end ? end + 1 : s + strlen(s);
		words(p, keys, width, s, (size_t)(end - s), "names");
	}
}

static void lines(struct pages *p, int width, const char *s)
{
	while (*s) {
		size_t n = strcspn(s, "\n");
		char *line = arena_strndup(&p->a, s, n);
		const char *word = line + strspn(line, " -");

		if (display_width(line) > (size_t)width && strchr(word, ' '))
			breaks(p, "wide", width, line, "");
		s += n + (s[n] == '\n');
	}
}

static void law(struct pages *p, struct node *n)
{
	bool table = n->kind == NODE_TABLE;
	size_t columns = table || n->kind == NODE_TREE ? n->n_columns
			 : n->kind == NODE_PAIRS       ? 2
						       : 1;
	const char *all = cells(p, n, columns), *keys = cells(p, n, table ? n->n_keys : 0);

	if (node_nothing(n) || n->kind == NODE_CODE || n->kind == NODE_FIGURE || !n->n_rows)
		return;
	p->nodes++;
	n->title = NULL;
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		char *s = draw(n, widths[i]);

		words(p, all, widths[i], s, strlen(s), "lost or cut");
		names(p, keys, widths[i], s);
		lines(p, widths[i], s);
		free(s);
	}
}

static void page(struct pages *p, const char *name, const struct doc *d)
{
	p->name = name;
	for (size_t i = 0; i < d->n; i++)
		law(p, d->nodes[i]);
	arena_free(&p->a);
}

static void show_pages(struct pages *p, struct world *w)
{
	for (size_t i = 0; i < page_count; i++)
		page(p, pages[i].name, pages[i].build(&w->a, w->m));
	page(p, "tree", page_topology_tree(&w->a, w->m));
}

static void verb_pages(struct pages *p, struct world *w)
{
	static const struct profile profile = { .name = "default", .base = PROFILE_DEFAULT };
	static const struct check_view all = { .all = true, .verbose = true };
	static const struct ledger nothing;
	struct findings f, none[PROFILES] = { 0 };

	settings_check(&w->a, w->m, &profile, world_knob, w, &f);
	page(p, "check", page_check(&w->a, w->m, &profile, &f, &all));
	for (size_t i = 0; i < f.n; i++)
		if (f.items[i].v.kind == VERDICT_FAIL)
			page(p, f.items[i].s->id,
			     page_explain(&w->a, f.items[i].s, w->m,
					  &(struct findings){ .items = &f.items[i], .n = 1 }, none,
					  &nothing));
}

static void pages_at_all_widths(void **state)
{
	static struct world worlds[MACHINES_MAX];
	struct pages p = { 0 };
	size_t n = worlds_open(worlds, false);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		show_pages(&p, &worlds[i]);
		verb_pages(&p, &worlds[i]);
	}
	printf("%zu nodes of pages, %zu broken\n", p.nodes, p.broken);
	worlds_close(worlds, n);
	assert_int_equal(p.broken, 0);
	assert_true(p.nodes > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(pages_at_all_widths) };

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
