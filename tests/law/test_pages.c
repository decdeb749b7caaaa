/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of the captured machines, and of every verb, at every usual width of a terminal:
 *
 *   names   every part of a table that was folded names each of its rows
 *   lost    every word of every cell is printed as often as it stands in the document
 *   cut     no word or number is broken that has room in a line
 *   wide    no line of several words is wider than the terminal
 *
 * Nothing is known here of how a table is folded: what is drawn is compared with the document.
 */
#include <ftw.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "front/session.h"
#include "look/settings/check.h"
#include "look/show/page.h"
#include "render/display_text.h"
#include "vary.h"
#include "verbs/page_check.h"
#include "verbs/page_plan.h"

enum { SHOWN = 20, INDENT = 4, PARTS = 64 };
static const int widths[] = { 40, 60, 80, 100, 120, 200 };
enum { WIDTHS = sizeof(widths) / sizeof(widths[0]) };

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

	/* A row or column that says only that there is nothing may be left out. */
	for (size_t i = 0; i < n->n_rows; i++)
		for (size_t c = 0; c < columns; c++) {
			const struct cell *x = &n->rows[i].cells[c];

			display_clean(&t, x->text && !x->nothing ? x->text : "", false);
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

static void law(struct pages *p, struct node *n, const int *at, size_t n_at)
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
	for (size_t i = 0; i < n_at; i++) {
		char *s = draw(n, at[i]);

		words(p, all, at[i], s, strlen(s), "lost or cut");
		names(p, keys, at[i], s);
		lines(p, at[i], s);
		free(s);
	}
}

static void page(struct pages *p, const char *name, const struct doc *d)
{
	p->name = name;
	for (size_t i = 0; i < d->n; i++)
		law(p, d->nodes[i], widths, WIDTHS);
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
	static const struct check_view one = { .verbose = true, .ledger = &nothing };
	struct findings f, none[PROFILES] = { 0 };

	settings_check(&w->a, w->m, &profile, world_knob, w, &f);
	page(p, "check", page_check(&w->a, w->m, &profile, &f, &all));
	for (size_t i = 0; i < f.n; i++)
		if (f.items[i].v.kind == VERDICT_FAIL)
			page(p, f.items[i].s->id,
			     page_explain(&w->a, f.items[i].s, w->m, &profile,
					  &(struct findings){ .items = &f.items[i], .n = 1 }, none,
					  &one));
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

/* --- every verb ------------------------------------------------------------------------------- */

/* A command for each verb with a page; $M: captured machines, $S: the tree, $T: a folder that goes
 * away. In this order: what is applied is shown, kept, taken back. */
static const char *const commands[] = {
	"show --host $M/hgx-h100",
	"check --host $M/hgx-h100 --all",
	"explain pcie.link --host $M/hgx-h100",
	"doctor --host $M/hgx-h100 --passive",
	"doctor list",
	"list",
	"list facts",
	"list machines",
	"lint --host $M/dgx-spark",
	"defects check --host $M/h200-x4",
	"defects list nccl",
	"defects search hang",
	"defects explain nccl-arm-cas-gcc9",
	"defects lint $S/src/knowledge/defects/nccl.json",
	"defects new --component nccl all_reduce hangs after an hour",
	"stack check --host $M/dgx-spark",
	"stack env",
	"profile show inference --host $M/hgx-h100",
	"profile diff default published",
	"profile recommend --host $M/igx-orin",
	"profile active",
	"profile policy",
	"plan --host $M/hgx-h100",
	"apply --host $M/hgx-h100 --overlay $T/o --yes --only memory,net,cpu,nic",
	"status --host $M/hgx-h100 --overlay $T/o",
	"persist install --host $M/hgx-h100 --overlay $T/o --yes",
	"persist status --host $M/hgx-h100 --overlay $T/o",
	"persist diff --host $M/hgx-h100 --overlay $T/o",
	"verify --host $M/hgx-h100 --overlay $T/o",
	"history --host $M/hgx-h100 --overlay $T/o",
	"journal check --host $M/hgx-h100 --overlay $T/o",
	"persist remove --host $M/hgx-h100 --overlay $T/o --yes",
	"undo --host $M/hgx-h100 --overlay $T/o --yes --all",
	"bench list --state $T/s",
	"bench show $S/tests/fuzz/seeds/bench.json",
	"compare $S/tests/fuzz/seeds/bench.json $S/tests/fuzz/seeds/bench.json",
	"predict inference --model llama-3.3-70b --weights nvfp4 --on dgx-spark --explain",
	"predict training --model llama-3.1-8b --on h100x8 --what-if --scale 1,2,4",
	"advise --model llama-3.3-70b --weights nvfp4 --on dgx-spark",
	"generate nccl --on h200",
	"generate vllm --on h200 --model llama-3.1-8b",
	"diagnose training $S/tests/data/training/nccl.log $S/tests/data/training/hf.log",
	"cluster check --from $M/two-sparks.json",
	"cluster discover --from $M/two-sparks.json",
	"cluster plan --from $M/two-sparks.json",
	"fleet $S/tests/fuzz/seeds/fleet.jsonl",
	"data status",
};

/* Pages that only a measurement, another machine, a network or a job has. */
static const char *const elsewhere[] = {
	"stack canary",
	"stack compare",
	"stack arch",
	"stack build-plan",
	"stack wheelhouse",
	"capture",
	"demo",
	"approve",
	"propose",
	"bench",
	"prove",
	"tune",
	"roofline",
	"normal",
	"calibrate",
	"model",
	"diagnose serving",
	"diagnose hang",
	"cluster undo",
	"qualify",
	"since",
	"kubernetes",
	"slurm",
	"data update",
	"data back",
	"journal repair",
	"journal compact",
	"generate",
	"profile new",
	"profile edit",
	"profile check",
	"stack compare-one",
	"diagnose",
};

static struct host *live(void *ctx)
{
	(void)ctx;
	return host_open_live();
}

static void say(void *ctx, int code, const struct err *e)
{
	(void)ctx;
	if (code > EXIT_FINDINGS)
		printf("%d: %s\n", code, e->text);
}

static int agree(void *ctx, const struct doc *shown, const char *question)
{
	(void)ctx;
	(void)shown;
	(void)question;
	return 0;
}

static char *placed(struct arena *a, const char *word, const char *dir)
{
	const char *to = !str_starts(word, "$") ? ""
			 : word[1] == 'M'	? MACHINES
			 : word[1] == 'S'	? SOURCE_ROOT
						: dir;

	return arena_printf(a, "%s%s", to, word + (*to ? 2 : 0));
}

/* Answers a command as the program does, and draws its page at each width. */
static bool verb_page_holds(struct pages *p, const char *command, const char *dir)
{
	struct run r = { .out = stdout, .file = -1 };
	char *line = arena_strdup(&r.arena, command), *save = NULL, *argv[32];
	const void *other;
	void *answer;
	int argc = 0, code;

	for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = placed(&r.arena, w, dir);
	argv[argc] = NULL;
	p->name = command;
	r.verb = verb_find(argv[0]);
	assert_non_null(r.verb);
	if (options_parse(&r, argc, argv))
		return false;
	r.door = (struct door){
		.arena = &r.arena, .live = live, .say = say, .agree = agree, .may_change = true
	};
	answer = verb_answer_new(&r.arena, r.verb);
	code = r.verb->answer(&r.door, r.ask, answer);
	other = answer;
	for (size_t i = 0; code >= 0 && r.verb->page && i < WIDTHS; i++) {
		const struct doc *d =
			r.verb->page(&r.arena, r.ask, other,
				     &(struct page_view){ .width = widths[i], .verbose = true });

		for (size_t k = 0; k < d->n; k++)
			law(p, d->nodes[k], &widths[i], 1);
	}
	arena_free(&r.arena);
	return code >= 0;
}

/* Whether a verb is in one of the lists, by its own name or that of the verb it is of. */
static bool is_listed(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_starts(list[i], name) &&
		    (!list[i][strlen(name)] || list[i][strlen(name)] == ' '))
			return true;
	return false;
}

static size_t unlisted(struct arena *a, const struct verb *const *among, const char *before)
{
	size_t n = 0;

	for (; among && *among; among++) {
		const char *name =
			arena_printf(a, "%s%s%s", before, *before ? " " : "", (*among)->name);

		if ((*among)->page &&
		    !is_listed(name, commands, sizeof(commands) / sizeof(commands[0])) &&
		    !is_listed(name, elsewhere, sizeof(elsewhere) / sizeof(elsewhere[0])) &&
		    !is_listed(before, elsewhere, sizeof(elsewhere) / sizeof(elsewhere[0]))) {
			printf("%s: its page is not drawn\n", name);
			n++;
		}
		n += unlisted(a, (*among)->subs, name);
	}
	return n;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static void verbs_at_all_widths(void **state)
{
	struct pages p = { 0 };
	char dir[] = "/tmp/pages.XXXXXX";
	size_t silent = 0;

	(void)state;
	assert_non_null(mkdtemp(dir));
	setenv("HOME", dir, 1);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!verb_page_holds(&p, commands[i], dir)) {
			printf("no page: %s\n", commands[i]);
			silent++;
		}
	printf("%zu nodes of verbs' pages, %zu broken\n", p.nodes, p.broken);
	assert_int_equal(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	assert_int_equal(unlisted(&p.a, verbs, ""), 0);
	arena_free(&p.a);
	assert_int_equal(silent, 0);
	assert_int_equal(p.broken, 0);
	assert_true(p.nodes > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(pages_at_all_widths),
					    cmocka_unit_test(verbs_at_all_widths) };

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
