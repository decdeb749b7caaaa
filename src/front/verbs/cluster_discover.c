/* SPDX-License-Identifier: Apache-2.0 */
/* gputune cluster discover: which port hears which, and what is wrong with that. */
#include <string.h>
#include <time.h>

#include "base/stamp.h"
#include "front/verbs/cluster.h"
#include "front/verbs/page.h"
#include "many/cluster/page_cluster.h"

static int exit_code(const struct cluster *c)
{
	size_t answered = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		answered += !*c->nodes[i].failure;
	if (!answered)
		return EXIT_BLIND;
	/* Notes are no findings: nothing has to be done about them. */
	return c->n_findings && c->findings[0].severity != CLUSTER_NOTE ? EXIT_FINDINGS
									: EXIT_CLEAN;
}

static int print(struct run *r, const struct cluster_run *c, int code)
{
	char stamp[STAMP_SIZE] = "";
	int failed;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r)) {
		stamp_format((long long)time(NULL), stamp);
		run_print_json(r, cluster_json(&c->cluster, stamp, code));
		return code;
	}
	if (r->value[OPT_AS] && strcmp(r->value[OPT_AS], "svg") == 0) {
		fprintf(r->out, "%s\n", svg_cluster(&r->arena, &c->cluster));
		return code;
	}
	failed = run_print_doc(
		r, page_cluster(&r->arena, &c->cluster, c->seconds, r->value[OPT_VERBOSE] != NULL),
		"gputune cluster discover");
	return failed ? failed : code;
}

int cluster_discover_run(struct run *r)
{
	struct cluster_run c = { .air_by_option = true };
	int code;

	if (r->n_args)
		return complain_text(EXIT_USAGE, "cluster discover takes no argument \"%s\"",
				     r->args[0]);
	code = cluster_run_open(r, &c, false);
	if (code)
		return code;
	/* A kept discovery is judged anew: what is a fault may be known better by now. */
	if (!c.rsh) {
		struct cluster before;
		struct err e = { 0 };
		bool against = r->value[OPT_AGAINST];

		if (against && cluster_load(&r->arena, r->value[OPT_AGAINST], &before, &e))
			return complain(EXIT_USAGE, &e);
		cluster_judge(&r->arena, &c.cluster, against ? &before : NULL);
	}
	code = print(r, &c, exit_code(&c.cluster));
	cluster_run_close(&c);
	return code;
}
