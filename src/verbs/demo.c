/* SPDX-License-Identifier: Apache-2.0 */
/* gputune demo: captured machines that come with the program, to try everything on. */

#include "look/settings/findings.h"
#include "verbs/door.h"

static int demo_answer(struct door *d, const void *ask, void *answer)
{
	struct listing *out = answer;
	char folder[HOST_PATH_MAX];

	(void)ask;
	out->kind = "demos";
	list_demos(d, out);
	if (out->n_names)
		return EXIT_CLEAN;
	return door_refuse(d, EXIT_BLIND,
			   "no demo machines are in %s: copy share/gputune/machines of the package "
			   "gputune there",
			   host_demo_folder(0, folder));
}

/* clang-format off */
const struct verb demo_verb = {
	.name = "demo", .group = VERB_PROGRAM, .summary = "captured machines to try gputune on, without a GPU",
	.about = "Lists the captured machines that come with gputune. --host demo:NAME works with verbs that "
	  "inspect or change a machine; bench, prove, record, roofline and top measure the real machine. apply "
	  "and undo write to your own folder.", .words = "example sandbox tutorial try playground",
	.examples = EXAMPLES({ "demo", "the machines" },
	  { "check --host demo:hgx-h100", "look at a captured machine" },
	  { "apply --host demo:dgx-spark --yes", "change a captured machine, in your own folder" },
	  { "undo --host demo:dgx-spark --yes", "undo the changes" }),
	.answer = demo_answer, .result = &list_result, .page = listing_page,
};
/* clang-format on */
