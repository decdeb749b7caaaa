/* SPDX-License-Identifier: Apache-2.0 */
/* gputune show: the facts, as one screen, one subject, or JSON. */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/page.h"
#include "view/findings.h"
#include "view/page.h"
#include "view/svg.h"
#include "view/topology_json.h"

/* The part of the machine that a subject's page shows; the whole machine for the overview and
 * topology. */
static json_t *facts_json(const struct machine *m, const struct page *p)
{
	json_t *all = schema_to_json(&schema_machine, m), *part;

	if (!p->key)
		return all;
	part = json_incref(json_object_get(all, p->key));
	json_decref(all);
	return part ? part : json_object();
}

static int show_json(struct run *r, const struct machine *m, const struct page *p)
{
	json_t *j = result_json("show", m, EXIT_CLEAN);

	json_object_set_new(j, "subject", json_string(*p->name ? p->name : "all"));
	json_object_set_new(j, "facts", facts_json(m, p));
	if (strcmp(p->name, "topology") == 0)
		json_object_set_new(j, "narrow", narrow_json(&r->arena, m));
	run_print_json(r, j);
	return EXIT_CLEAN;
}

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
			     "gputune show topology");
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
	h = run_host(r);
	if (!h)
		return EXIT_USAGE;
	m = run_machine(r, h, r->value[OPT_DEEP] != NULL);
	if (r->value[OPT_FORMAT] && strcmp(r->value[OPT_FORMAT], "json") == 0)
		code = show_json(r, m, p);
	else if (topology)
		code = show_topology(r, m);
	else
		code = run_print_doc(r,
				     r->value[OPT_VERBOSE] ? page_facts(&r->arena, m, p)
							   : p->build(&r->arena, m),
				     "gputune show");
	host_close(h);
	return code;
}
