/* SPDX-License-Identifier: Apache-2.0 */
/* Documents through every renderer; every page on a machine whose facts are in every state, and on
 * an empty one. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "test_view_machine.h"
#include "render/figure.h"
#include "render/display_text.h"
#include "look/show/page.h"
#include "render/topology.h"

enum medium { TERM, TERM_WIDE, TERM_ASCII, TERM_COLOUR, MD, HTML, MEDIA };

/* The caller frees it. */
static char *render(const struct doc *d, enum medium medium, int width)
{
	struct term_style how = { .width = width,
				  .ascii = medium == TERM_ASCII,
				  .colour = medium == TERM_COLOUR };
	char *s = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&s, &n);

	if (medium == MD)
		doc_md(f, d);
	else if (medium == HTML)
		doc_html(f, d, NULL);
	else
		doc_term(f, d, &how);
	fclose(f);
	return s;
}

static void expect(const struct doc *d, enum medium medium, int width, const char *wanted)
{
	char *s = render(d, medium, width);

	assert_string_equal(s, wanted);
	free(s);
}

static struct doc *small(struct arena *a)
{
	static const struct column columns[] = {
		{ "GPU", false, false },
		{ "Power", true, false },
		{ "Why", false, true },
		{ "Gone", false, false },
	};
	struct doc *d = doc_new(a);
	struct node *n;
	struct cell *row;

	doc_heading(d, 1, "A|B <x>");
	n = doc_text(d, "Two %s ", "things:");
	node_span(d, n, cell_as(STYLE_CODE, "a|b`c"));
	n = doc_pairs(d, NULL);
	node_pair(d, n, "Name", cell("one & two"));
	node_pair(d, n, "Longer name", cell_as(STYLE_BAD, "\033[2Jbad\n"));
	n = doc_table(d, "Power", columns, 4);
	row = node_row(d, n);
	row[0] = cell("0");
	row[1] = cell("76.5 W");
	row[2] = cell("hardware slowdown, heat");
	row = node_row(d, n);
	row[0] = cell("1");
	row[1] = cell_as(STYLE_UNKNOWN, "denied");
	row[3] = (struct cell){ .text = "absent", .nothing = true };
	node_drop_empty(n);
	n = doc_bullets(d);
	node_bullet(d, n, cell("point"));
	return d;
}

static void terminal(void **state)
{
	struct arena a = { 0 };
	struct doc *d = small(&a);

	(void)state;
	expect(d, TERM_ASCII, 0,
	       "A|B <x>\nTwo things: a|b`c\n\n"
	       "  Name         one & two\n  Longer name  ?[2Jbad\n\n"
	       "Power\nGPU   Power  Why\n0    76.5 W  hardware slowdown, heat\n1    denied\n\n- "
	       "point\n");
	/* Too narrow for the line: broken between words. */
	expect(d, TERM_ASCII, 30,
	       "A|B <x>\nTwo things: a|b`c\n\n"
	       "  Name         one & two\n  Longer name  ?[2Jbad\n\n"
	       "Power\nGPU   Power  Why\n0    76.5 W  hardware\n             slowdown, heat\n1    "
	       "denied\n\n- point\n");
	/* Narrower still: folded, each part with the first column. */
	expect(d, TERM_ASCII, 22,
	       "A|B <x>\nTwo things: a|b`c\n\n"
	       "  Name         one &\n    two\n  Longer name  ?[2Jbad\n\n"
	       "Power\nGPU   Power\n0    76.5 W\n1    denied\n\n"
	       "GPU  Why\n0    hardware\n     slowdown, heat\n1\n\n- point\n");
	/* Not even two columns: row by row. A figure alone would not tell what it counts. */
	expect(d, TERM_ASCII, 20,
	       "A|B <x>\nTwo things: a|b`c\n\n"
	       "  Name         one &\n    two\n  Longer name\n    ?[2Jbad\n\n"
	       "Power\nGPU 0\n  Power  76.5 W\n  Why    hardware\n         slowdown,\n         "
	       "heat\n"
	       "GPU 1\n  Power  denied\n\n- point\n");
	arena_free(&a);
}

/* Every part of a folded table has the columns that name its rows; a single row is read as pairs.
 */
static void folded(void **state)
{
	struct arena a = { 0 };
	struct doc *d = doc_new(&a);
	struct node *n = DOC_TABLE(d, NULL, "!Setting", "!On", "Now", "Wanted");

	(void)state;
	NODE_ROW(d, n, cell("nic.mtu"), cell("eth0"), cell("1500 bytes"), cell("9000 bytes"));
	expect(d, TERM_ASCII, 30, "nic.mtu eth0\n  Now     1500 bytes\n  Wanted  9000 bytes\n");
	NODE_ROW(d, n, cell("nic.mtu"), cell("eth1"), cell("9000 bytes"), cell("9000 bytes"));
	expect(d, TERM_ASCII, 30,
	       "Setting  On    Now\nnic.mtu  eth0  1500 bytes\nnic.mtu  eth1  9000 bytes\n\n"
	       "Setting  On    Wanted\nnic.mtu  eth0  9000 bytes\nnic.mtu  eth1  9000 bytes\n");
	arena_free(&a);
}

/* Equal objects are one row; what the odd one has otherwise is strong. */
static void merged(void **state)
{
	struct arena a = { 0 };
	struct doc *d = doc_new(&a);
	struct node *n = DOC_TABLE(d, NULL, "GPU", "Link", "Fan");

	(void)state;
	for (int i = 0; i < 8; i++)
		NODE_ROW(d, n, cellf(d, "%d", i), cell(i == 5 ? "x8" : "x16"),
			 i == 3 ? cell_as(STYLE_BAD, "off") : cell(NULL));
	node_merge(d, n);
	expect(d, TERM_ASCII, 0,
	       "GPU        Link  Fan\n0-2,4,6-7  x16\n3          x16   off\n5          x8\n");
	assert_int_equal(n->rows[2].cells[1].style, STYLE_STRONG);
	assert_int_equal(n->rows[1].cells[1].style, STYLE_PLAIN);
	assert_int_equal(n->rows[1].cells[2].style, STYLE_BAD);
	n = DOC_TABLE(d, NULL, "Disk", "Size");
	NODE_ROW(d, n, cell("sda"), cell("1 TB"));
	NODE_ROW(d, n, cell("sdb"), cell("1 TB"));
	node_merge(d, n);
	assert_int_equal(n->n_rows, 1);
	assert_string_equal(n->rows[0].cells[0].text, "sda, sdb");
	arena_free(&a);
}

static void colours(void **state)
{
	struct arena a = { 0 };
	struct doc *d = doc_new(&a);
	struct node *n = doc_paragraph(d);

	(void)state;
	node_span(d, n, cell_as(STYLE_GOOD, "fine"));
	node_span(d, n, cell(", not "));
	node_span(d, n, cell_as(STYLE_BAD, "bad"));
	expect(d, TERM_COLOUR, 0, "\033[32mfine\033[0m, not \033[1;31mbad\033[0m\n");
	expect(d, TERM, 0, "fine, not bad\n");
	arena_free(&a);
}

static void markdown(void **state)
{
	struct arena a = { 0 };

	(void)state;
	expect(small(&a), MD, 0,
	       "# A\\|B &lt;x&gt;\n\nTwo things: `` a|b`c ``\n\n"
	       "| | |\n|---|---|\n| Name | one &amp; two |\n| Longer name | **\xef\xbf\xbd\\[2Jbad "
	       "** |\n\n"
	       "**Power**\n\n| GPU | Power | Why |\n|---|---:|---|\n| 0 | 76.5 W | hardware "
	       "slowdown, heat |\n"
	       "| 1 | _denied_ |  |\n\n- point\n");
	arena_free(&a);
}

static void html(void **state)
{
	struct arena a = { 0 };

	(void)state;
	expect(small(&a), HTML, 0,
	       "<h1>A|B &lt;x&gt;</h1>\n<p>Two things: <code>a|b`c</code></p>\n"
	       "<dl>\n<dt>Name</dt><dd>one &amp; two</dd>\n"
	       "<dt>Longer name</dt><dd><span "
	       "class=\"bad\">\xef\xbf\xbd[2Jbad\n</span></dd>\n</dl>\n"
	       "<div class=\"wide\" tabindex=\"0\"><table>\n<caption>Power</caption>\n"
	       "<thead><tr><th scope=\"col\">GPU</th>"
	       "<th scope=\"col\" class=\"right\">Power</th><th "
	       "scope=\"col\">Why</th></tr></thead>\n<tbody>\n"
	       "<tr><th scope=\"row\">0</th><td class=\"right\">76.5 W</td>"
	       "<td class=\"wrap\">hardware slowdown, heat</td></tr>\n"
	       "<tr><th scope=\"row\">1</th><td class=\"right\"><span "
	       "class=\"unknown\">denied</span></td>"
	       "<td "
	       "class=\"wrap\"></td></tr>\n</tbody>\n</table></div>\n<ul>\n<li>point</li>\n</"
	       "ul>\n");
	arena_free(&a);
}

static void trees(void **state)
{
	static const struct column columns[] = { { "Place", false, false },
						 { "Link", false, false } };
	static const unsigned depths[] = { 0, 1, 2, 9, 1, 0 };
	struct arena a = { 0 };
	struct doc *d = doc_new(&a);
	struct node *n = doc_tree(d, NULL, columns, 2);

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		struct cell *row = node_branch(d, n, depths[i]);

		row[0] = cell(arena_printf(&a, "p%zu", i));
		row[1] = cell("x16");
	}
	expect(d, TERM_ASCII, 0,
	       "Place     Link\np0        x16\n|-p1      x16\n| `-p2    x16\n"
	       "|   `-p3  x16\n`-p4      x16\np5        x16\n");
	expect(d, MD, 0,
	       "```text\nPlace     Link\np0        x16\n|-p1      x16\n| `-p2    x16\n|   `-p3  "
	       "x16\n`-p4      x16\n"
	       "p5        x16\n```\n");
	arena_free(&a);
}

static void figures(void **state)
{
	static const struct {
		const char *unit;
		long long v;
		const char *text;
	} rows[] = {
		{ "bytes", 137438953472, "128 GiB" },
		{ "bytes", 1536, "1.5 KiB" },
		{ "bytes", 1500, "1500 B" },
		{ "bytes", 9194, "9194 B" },
		{ "bytes", 12289, "12 KiB" },
		{ "bytes", 0, "0 B" },
		{ "bytes", 3840755982336, "3.49 TiB" },
		{ "KiB", 125829120, "120 GiB" },
		{ "KiB", 4, "4 KiB" },
		{ "kHz", 3900000, "3.9 GHz" },
		{ "kHz", 800000, "800 MHz" },
		{ "MHz", 1980, "1980 MHz" },
		{ "Mb/s", 400000, "400 Gb/s" },
		{ "Mb/s", 100, "100 Mb/s" },
		{ "mW", 76543, "76.5 W" },
		{ "us", 133, "133 us" },
		{ "us", 2500000, "2.5 s" },
		{ "MT/s", 32000, "32 GT/s" },
		{ "lanes", 16, "x16" },
		{ "%", 7, "7%" },
		{ NULL, -1, "-1" },
		{ "bytes", 0x7fffffffffffffffll, "8 EiB" },
		{ "KiB", 0x7fffffffffffffffll, "too large" },
	};
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(figure(&a, rows[i].unit, rows[i].v), rows[i].text);
	assert_int_equal(pcie_generation(32000), 5);
	assert_int_equal(pcie_generation(31999), 0);
	assert_string_equal(figure_time(&a, 1790000000), "2026-09-21 14:13 UTC");
	arena_free(&a);
}

static void lines(void **state)
{
	TEXT_AUTO t = { 0 };

	(void)state;
	display_wrap(&t, "aaa bbb ccc", 7);
	assert_string_equal(t.s, "aaa bbb\nccc");
	text_clear(&t);
	display_wrap(&t, "abcdefghij", 4);
	assert_string_equal(t.s, "abcd\nefgh\nij");
	text_clear(&t);
	display_wrap(&t, "0-16,18-223,300-400", 12);
	assert_string_equal(t.s, "0-16,18-223,\n300-400");
	text_clear(&t);
	assert_int_equal(display_word_width(""), 0);
	assert_int_equal(display_word_width("one two,three /four"), 5);
	display_clean(&t,
		      "a\xe2\x80\xae"
		      "b\x9b\xc2\x9b",
		      true);
	assert_string_equal(t.s, "a?b??");
}

/* What a page may be made of, whoever made it: no cursor, no title, no answer of the terminal. */
static void whole_pages(void **state)
{
	static const struct {
		const char *in, *out;
	} of[] = {
		{ "one\n\ttwo\n", "one\n\ttwo\n" },
		{ "\033[1;31mred\033[0m\033[m", "\033[1;31mred\033[0m\033[m" },
		{ "\033[2J", "\xef\xbf\xbd[2J" },
		{ "\033[31", "\xef\xbf\xbd[31" },
		{ "\033]0;title\007", "\xef\xbf\xbd]0;title\xef\xbf\xbd" },
		{ "\033[[m\033m", "\xef\xbf\xbd[[m\xef\xbf\xbdm" },
		{ "\r\b\177", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xe2\x80\xae\xc2\x9b\x9b", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xe2\x94\x80 \xc3\xa4", "\xe2\x94\x80 \xc3\xa4" },
	};
	TEXT_AUTO t = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		text_clear(&t);
		display_page(&t, of[i].in, strlen(of[i].in));
		assert_string_equal(t.s, of[i].out);
	}
	text_clear(&t);
	display_page(&t, "a\0b", 3);
	assert_string_equal(t.s, "a\xef\xbf\xbd"
				 "b");
}

/* Half a value would be read as another: other columns give way first, where they can. */
static void words_stay_whole(void **state)
{
	static const struct column columns[] = { { .title = "Setting" },
						 { .title = "Before", .wrap = true },
						 { .title = "After", .wrap = true } };
	struct arena a = { 0 };
	struct doc *d = doc_new(&a);
	struct node *n = doc_table(d, NULL, columns, 3);
	struct cell *c = node_row(d, n);

	(void)state;
	c[0] = cell("dirty");
	c[1] = cell("vm.dirty_ratio=200");
	c[2] = cell("1 2 3 4 5 6 7 8 9 10 11");
	expect(d, TERM, 45,
	       "Setting  Before              After\n"
	       "dirty    vm.dirty_ratio=200  1 2 3 4 5 6 7 8\n"
	       "                             9 10 11\n");
	/* Where they cannot, rows are stacked; a word that has no room beside its title stands
	 * below. */
	expect(d, TERM, 26,
	       "dirty\n"
	       "  Before\n"
	       "    vm.dirty_ratio=200\n"
	       "  After   1 2 3 4 5 6 7 8\n"
	       "          9 10 11\n");
	/* A single word is as wide as it is. */
	expect(d, TERM, 20,
	       "dirty\n"
	       "  Before\n"
	       "    vm.dirty_ratio=200\n"
	       "  After   1 2 3 4 5\n"
	       "          6 7 8 9 10\n"
	       "          11\n");
	arena_free(&a);
}

/* Nothing of a machine's texts may act: no escape sequence, no tag that is not ours. */
static void harmless(const char *s, enum medium medium, const char *page)
{
	if (medium != TERM_COLOUR && strchr(s, '\033'))
		fail_msg("page %s: an escape character reaches the medium", page);
	if (medium == TERM_COLOUR && strstr(s, "\033[31mred"))
		fail_msg("page %s: an escape sequence of the machine's reaches the terminal", page);
	for (const char *tag = s; medium == HTML && (tag = strstr(tag, "name<")); tag++)
		if (tag[5] >= '0' && tag[5] <= '9')
			fail_msg("page %s: a tag of the machine's reaches the page", page);
	if (medium == HTML && strstr(s, "<b>"))
		fail_msg("page %s: a tag of the machine's reaches the page", page);
	for (; medium == TERM_ASCII && *s; s++)
		if ((unsigned char)*s > 0x7e)
			fail_msg("page %s: a byte beyond ASCII", page);
}

static void every_page(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 8; seed++) {
		struct arena a = { 0 };
		struct machine *m =
			seed == 7 ? ARENA_NEW(&a, struct machine) : make_machine(&a, seed);

		for (size_t i = 0; i < page_count * 2 + 1; i++) {
			const struct page *p = &pages[i % page_count];
			const struct doc *d = i == page_count * 2 ? page_topology_tree(&a, m)
					      : i < page_count	  ? p->build(&a, m)
								  : page_facts(&a, m, p);

			for (enum medium k = TERM; k < MEDIA; k++) {
				char *s = render(d, k, k == TERM_WIDE ? 0 : 80), *again;

				if (i < page_count)
					assert_true(*s != '\0');
				harmless(s, k, p->name);
				again = render(d, k, k == TERM_WIDE ? 0 : 80);
				assert_string_equal(s, again);
				free(s);
				free(again);
			}
		}
		arena_free(&a);
	}
}

/* A table of 120 rows is drawn in a few milliseconds, sanitizers and all. */
static void quick(void **state)
{
	static const struct column columns[] = { { "Id", false, false },
						 { "Now", false, false },
						 { "Want", false, false },
						 { "Why", false, true } };
	struct arena a = { 0 };
	struct doc *d = doc_new(&a);
	struct node *n = doc_table(d, NULL, columns, 4);
	struct timespec from, to;
	double ms;

	(void)state;
	for (unsigned i = 0; i < 120; i++) {
		struct cell *row = node_row(d, n);

		row[0] = cell(arena_printf(&a, "group.setting-%u", i));
		row[1] = cell_as(STYLE_BAD, "powersave");
		row[2] = cell("performance");
		row[3] = cell(
			"The governor lowers the clock between the short bursts that feed a GPU.");
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	free(render(d, TERM_COLOUR, 80));
	clock_gettime(CLOCK_MONOTONIC, &to);
	ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
	print_message("120 rows: %.2f ms\n", ms);
	assert_true(ms < 200);
	arena_free(&a);
}

static void drawing(void **state)
{
	struct arena a = { 0 };
	struct machine *m = ARENA_NEW(&a, struct machine);
	struct pci_function *bridge = list_add(&a, &m->pci, sizeof(*bridge)), *gpu;
	const char *s;

	(void)state;
	*bridge = (struct pci_function){ .name = "0000:00:01.0",
					 .path = "/sys/devices/pci0000:00/0000:00:01.0",
					 .parent = "",
					 .root = "pci0000:00",
					 .class_ = { { SEEN_OK, 0, NULL, "" }, 0x060400 } };
	gpu = list_add(&a, &m->pci, sizeof(*gpu));
	*gpu = (struct pci_function){ .name = "0000:01:00.0",
				      .parent = "0000:00:01.0",
				      .root = "pci0000:00",
				      .path = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0",
				      .class_ = { { SEEN_OK, 0, NULL, "" }, 0x030200 },
				      .vendor = { { SEEN_OK, 0, NULL, "" }, 0x10de },
				      .device_name = { { SEEN_OK, 0, NULL, "" }, "<evil>" },
				      .speed_mts = { { SEEN_OK, 0, NULL, "" }, 32000 },
				      .max_speed_mts = { { SEEN_OK, 0, NULL, "" }, 32000 },
				      .width = { { SEEN_OK, 0, NULL, "" }, 8 },
				      .max_width = { { SEEN_OK, 0, NULL, "" }, 16 } };
	s = svg_topology(&a, m);
	assert_non_null(strstr(s, ">Gen5 x8<"));
	assert_non_null(strstr(s, ">of Gen5 x16<"));
	assert_non_null(strstr(s, "class=\"slow\""));
	assert_non_null(strstr(s, ">pci0000:00<"));
	assert_null(strstr(s, "<evil>"));
	/* A port that leads to one thing alone is left out. */
	assert_null(strstr(s, "class=\"switch\" "));
	assert_null(strstr(s, ">switch"));
	assert_string_equal(s, svg_topology(&a, m));
	arena_free(&a);
}

/* Two GPUs and a NIC on two nodes: the classes and who is near whom. */
static void matrix(void **state)
{
	static const struct {
		const char *name, *root;
		int class_, vendor, node;
	} rows[] = {
		{ "0000:01:00.0", "pci0000:00", 0x030200, 0x10de, 0 },
		{ "0000:02:00.0", "pci0000:00", 0x020700, 0x15b3, 0 },
		{ "0000:81:00.0", "pci0000:80", 0x030200, 0x10de, 1 },
	};
	struct arena a = { 0 };
	struct machine *m = ARENA_NEW(&a, struct machine);
	struct rdma_port *port = list_add(&a, &m->net.rdma, sizeof(*port));
	const struct fact seen = { SEEN_OK, 0, NULL, "x" };
	char *s;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct pci_function *f = list_add(&a, &m->pci, sizeof(*f));

		*f = (struct pci_function){ .name = rows[i].name,
					    .root = rows[i].root,
					    .parent = "",
					    .path = arena_printf(&a, "/sys/devices/%s/%s",
								 rows[i].root, rows[i].name),
					    .class_ = { seen, rows[i].class_ },
					    .vendor = { seen, rows[i].vendor },
					    .numa_node = { seen, rows[i].node } };
		if (rows[i].vendor == 0x10de) {
			struct gpu *g = list_add(&a, &m->gpu.gpus, sizeof(*g));

			g->index = (unsigned)i / 2;
			g->pci = rows[i].name;
		}
	}
	for (unsigned i = 0; i < 2; i++) {
		struct numa_node *n = list_add(&a, &m->cpu.nodes, sizeof(*n));

		n->index = i;
		n->cpus.f = seen;
		idset_parse(&a, i ? "8-15" : "0-7", &n->cpus.v);
	}
	*port = (struct rdma_port){ .name = "mlx5_0/1", .device = "mlx5_0", .pci = rows[1].name };
	s = render(page_topology(&a, m), TERM_ASCII, 80);
	assert_non_null(strstr(s, "      GPU0  GPU1  NIC0  NUMA\nGPU0  X     SYS   PHB   0\n"
				  "GPU1  SYS   X     SYS   1\nNIC0  PHB   SYS   X     0\n"));
	assert_non_null(strstr(s, "0     0-7   GPU0 NIC0\n1     8-15  GPU1\n"));
	assert_non_null(strstr(s, "GPU0  mlx5_0       PHB\n"));
	assert_non_null(strstr(s, "NIC0  mlx5_0, 0000:02:00.0\n"));
	free(s);
	arena_free(&a);
}

/* Folds, what they embed, and links to them. */
static void sections(void **state)
{
	struct arena a = { 0 };
	struct doc *d = doc_new(&a), *part = doc_new(&a);
	struct node *n;

	(void)state;
	doc_heading(part, 1, "Left out");
	doc_heading(part, 2, "Deeper");
	n = doc_bullets(part);
	node_bullet(part, n, (struct cell){ .text = "there", .link = "x" });
	doc_section(d, 2, "x", "A & B", cell_as(STYLE_BAD, "3 wrong"), true);
	doc_append(d, part, 2);
	doc_section_end(d);
	expect(d, HTML, 0,
	       "<section aria-labelledby=\"x-h\"><details open><summary><h2 id=\"x-h\">A &amp; "
	       "B</h2> <span class=\"bad\">3 wrong</span></summary>\n"
	       "<div class=\"body\" id=\"x\">\n<h3>Deeper</h3>\n<ul>\n<li><a "
	       "href=\"#x\">there</a></li>\n</ul>\n</div></details></section>\n");
	expect(d, MD, 0, "## A &amp; B\n\n**3 wrong**\n\n### Deeper\n\n- there\n");
	expect(d, TERM, 80, "A & B\n3 wrong\n\nDeeper\n- there\n");
	assert_int_equal(part->nodes[1]->level, 2); /* what was embedded is as it was */
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terminal),    cmocka_unit_test(folded),
		cmocka_unit_test(merged),      cmocka_unit_test(colours),
		cmocka_unit_test(markdown),    cmocka_unit_test(html),
		cmocka_unit_test(trees),       cmocka_unit_test(figures),
		cmocka_unit_test(lines),       cmocka_unit_test(every_page),
		cmocka_unit_test(whole_pages), cmocka_unit_test(words_stay_whole),
		cmocka_unit_test(sections),    cmocka_unit_test(quick),
		cmocka_unit_test(drawing),     cmocka_unit_test(matrix),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
