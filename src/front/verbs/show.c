/* SPDX-License-Identifier: Apache-2.0 */
/* gputune show: the facts, as one screen, one subject, or JSON. */
#include <string.h>

#include "front/session.h"
#include "look/probe/probe.h"
#include "look/show/page.h"
#include "render/topology.h"

static int show_topology(struct run *r, const struct machine *m)
{
	const char *as = r->value[OPT_AS] ? r->value[OPT_AS] : "matrix";

	if (strcmp(as, "svg") == 0 || strcmp(as, "svg-tall") == 0) {
		fputs(strcmp(as, "svg") == 0 ? svg_topology(&r->arena, m)
					     : svg_topology_tall(&r->arena, m),
		      r->out);
		return EXIT_CLEAN;
	}
	return run_print_doc(r,
			     strcmp(as, "tree") == 0 ? page_topology_tree(&r->arena, m)
						     : page_topology(&r->arena, m),
			     "gputune show topology", EXIT_CLEAN);
}

int verb_show(struct run *r)
{
	const char *subject = r->n_args ? r->args[0] : "";
	const struct page *p = page_find(subject);
	bool topology = strcmp(subject, "topology") == 0;
	struct machine *m;
	struct host *h;
	int code;

	if (r->value[OPT_AS] && !topology)
		return complain_text(EXIT_USAGE, "--as belongs to \"gputune show topology\"");
	if (r->value[OPT_AS] && run_wants_json(r))
		return complain_text(EXIT_USAGE,
				     "either --as or --format json, which draws nothing");
	h = run_host(r);
	if (!h)
		return EXIT_USAGE;
	m = run_machine(r, h, r->value[OPT_DEEP] != NULL);
	/* The names of all other devices stand in a file of 1.3 MB that only this page is worth. */
	if (strcmp(subject, "pci") == 0)
		pci_names_fill(&(struct probe){ .h = h, .a = &r->arena, .m = m });
	if (run_wants_json(r)) {
		run_print_json(r, show_json(&r->arena, m, p), EXIT_CLEAN);
		code = EXIT_CLEAN;
	} else if (topology)
		code = show_topology(r, m);
	else
		code = run_print_doc(r,
				     r->value[OPT_VERBOSE] ? page_facts(&r->arena, m, p)
							   : p->build(&r->arena, m),
				     "gputune show", EXIT_CLEAN);
	host_close(h);
	return code;
}
