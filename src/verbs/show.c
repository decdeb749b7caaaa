/* SPDX-License-Identifier: Apache-2.0 */
/* gputune show: the facts, as one screen, one subject, or JSON. */

#include "base/text.h"
#include "look/probe/probe.h"
#include "look/show/page.h"
#include "render/topology.h"
#include "verbs/ranks.h"

enum drawing { DRAW_MATRIX, DRAW_TREE, DRAW_SVG, DRAW_SVG_TALL, DRAWINGS };

struct show_ask {
	const char *subject;
	struct machine_ask machine;
	enum drawing as;
	bool deep;
	struct ranks_ask ranks;
};

/* All but the first, which has no name. */
static const char *subject_proposal(size_t i)
{
	return i + 1 < page_count ? pages[i + 1].name : NULL;
}

/* "gpus" is gpu, "network" is net. */
static const char *subject_meant(const char *word)
{
	for (size_t i = 1; i < page_count; i++)
		if (str_same_word(pages[i].name, word) || words_name(pages[i].words, word))
			return pages[i].name;
	return NULL;
}

static const char *const drawings[] = { "matrix", "tree", "svg", "svg-tall" };

/* clang-format off */
static const struct ask_row show_ask_rows[] = {
	{ "SUBJECT", "a subject, such as gpu or memory", ASK_TEXT(show_ask, subject), .argument = true,
	  .proposal = subject_proposal, .meant = subject_meant, .strict = true },
	{ ASK_PART(show_ask, machine, machine_ask) },
	{ "as", "format of the topology; svg-tall is 360 pixels wide (default: matrix)",
	  ASK_CHOICE(show_ask, as, drawings), .arg = "DRAWING" },
	{ DEEP_ROW(show_ask) },
	{ ASK_PART(show_ask, ranks, ranks_ask) },
};
/* clang-format on */
static const struct ask_shape show_ask_shape = ASK_SHAPE(show_ask, NULL, show_ask_rows);

static int show_answer(struct door *d, const struct show_ask *ask, struct show_answer *out)
{
	const struct page *p = page_find(ask->subject ? ask->subject : "");
	struct machine *m;
	HOST_AUTO *h = NULL;

	if (ask->as < DRAWINGS && p->build != page_topology)
		return door_refuse(d, EXIT_USAGE, "--as requires \"gputune show topology\"");
	h = door_host(d, &ask->machine);
	if (!h)
		return -EXIT_USAGE;
	m = door_machine(d, h, &(struct door_look){ .deep = ask->deep });
	/* The names of all other devices stand in a file of 1.3 MB that only this page is worth. */
	if (p->build == page_pci)
		pci_names_fill(&(struct probe){ .h = h, .a = d->arena, .m = m });
	*out = show_answer_of(d->arena, m, p);
	return EXIT_CLEAN;
}

static struct doc *show_page(struct arena *a, const struct show_ask *ask,
			     const struct show_answer *s, const struct page_view *view)
{
	const struct page *p = &pages[s->page];
	struct doc *d;

	if (ask->as == DRAW_TREE)
		return page_topology_tree(a, s->m);
	d = view->verbose && p->build != page_topology ? page_facts(a, s->m, p) : p->build(a, s->m);
	if (p->build != page_topology)
		page_disagreements(d, s->m, p);
	return d;
}

static int show_svg(FILE *out, const void *ask, const void *answer, int code)
{
	const struct machine *m = ((const struct show_answer *)answer)->m;
	bool tall = ((const struct show_ask *)ask)->as == DRAW_SVG_TALL;
	ARENA_AUTO a = { 0 };

	fputs(tall ? svg_topology_tall(&a, m) : svg_topology(&a, m), out);
	return code;
}

static const struct verb_format *show_drawing(const void *ask)
{
	static const struct verb_format svg = { "svg", show_svg };
	enum drawing as = ((const struct show_ask *)ask)->as;

	return as == DRAW_SVG || as == DRAW_SVG_TALL ? &svg : NULL;
}

VERB_ANSWER(show_answer_any, show_answer, show_ask, show_answer)
VERB_PAGE(show_page_any, show_page, show_ask, show_answer)
VERB_HEAD(show_head, show_answer, m)
VERB_RANKS(show_ranks, show_ask, !x->machine.capture && x->as == DRAWINGS)

/* clang-format off */
const struct verb show_verb = {
	.name = "show", .group = VERB_LOOK, .common = true,
	.summary = "facts of this machine: GPUs, CPUs, memory, links, disks, software",
	.about = "Prints the facts of a machine: one screen, or with SUBJECT its table or tree. Root is not "
	  "required; values that only root can read are marked.",
	.words = "info inventory facts hardware specs nvidia-smi lspci fastfetch",
	.examples = EXAMPLES({ "show", "this machine on one screen" },
	  { "show gpu", "clocks, power, health and links of each GPU" },
	  { "show topology --as tree", "devices under their CPUs and PCIe bridges" },
	  { "show --format json -o facts.json", "all facts, for a script" }),
	.ask = &show_ask_shape, .answer = show_answer_any, .result = &show_result, .page = show_page_any,
	.drawing = show_drawing, .head = show_head, .ranks = show_ranks, .reads = READS_CAPTURE,
};
/* clang-format on */
