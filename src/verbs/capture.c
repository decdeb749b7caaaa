/* SPDX-License-Identifier: Apache-2.0 */
/* gputune capture: run everything that reads on a recording backend, and store the answers. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/posted.h"
#include "measure/doctor/observations.h"
#include "render/doc.h"
#include "verbs/persist/persist.h"

struct capture_ask {
	struct machine_ask machine;
	const char *output;
	struct ask_texts from;
	bool no_redact;
};

/* Compressed, it would become a folder of that name. */
static int output_check(const char *path, struct err *e)
{
	static const char *const ends[] = { ".tgz", ".txz", ".gz", ".xz", ".zst", ".bz2" };

	if (strcmp(path, "-") == 0)
		return err_set(e, -EINVAL, "expected a file, not \"-\"");
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (str_ends(path, ends[i]))
			return err_set(e, -EINVAL,
				       "expected a folder or FILE.tar, not %s: compress the tar "
				       "afterwards (zstd FILE.tar); --host reads both",
				       path);
	return 0;
}

static const struct ask_row capture_ask_rows[] = {
	{ ASK_PART(capture_ask, machine, machine_ask) },
	{ "output",
	  "the capture: a tar if PATH ends in .tar, else a folder; no compressed name (.tar.gz) "
	  "(default: captures/gputune-TIME.tar in /var/lib/gputune of root, "
	  "~/.local/state/gputune of other users)",
	  ASK_TEXT(capture_ask, output), .letter = 'o', .arg = "PATH", .files = true,
	  .check = output_check },
	{ "from", "a file that a user posted: nvidia-bug-report.log.gz, a sosreport, or text",
	  ASK_TEXTS(capture_ask, from), .arg = "FILE", .files = true },
	{ "no-redact", "keep serial numbers, UUIDs, addresses and names",
	  ASK_FLAG(capture_ask, no_redact) },
};

struct capture_answer {
	const char *path;
	size_t places, answers;
	bool redacted, partial;
};

static const struct shape_row capture_rows[] = {
	{ "path", "Path of the capture.", SHAPE_TEXT(capture_answer, path) },
	{ "places", "Files, links and folders in the capture.",
	  SHAPE_COUNT(capture_answer, places) },
	{ "answers", "Kinds of answers from libraries and tools in the capture.",
	  SHAPE_COUNT(capture_answer, answers) },
	{ "redacted", "true: names, addresses and serial numbers are replaced.",
	  SHAPE_FLAG(capture_answer, redacted) },
	{ "partial", "true: made from posted files; anything that they do not show is unknown.",
	  SHAPE_FLAG(capture_answer, partial) },
};
static const struct shape capture_shape = SHAPE(capture_answer, capture);

static const struct result_shape capture_result = {
	.name = "capture",
	.title = "gputune capture",
	.meaning = "Contents of a capture.",
	.shape = &capture_shape,
	.exit_codes = 1u << EXIT_CLEAN,
};

/* Every profile, because each may read knobs that the others leave alone; and its plan, which reads
 * what a change would replace. */
static void read_all_knobs(struct door *d, struct host *h, const struct machine *m)
{
	for (int id = 0; id < PROFILES; id++) {
		struct profile p = { .name = profile_name((enum profile_id)id),
				     .base = (enum profile_id)id };
		const struct plan_target w = { .profile = &p };
		struct findings f;
		struct plan ignored;

		settings_check(d->arena, m, &p, door_read_knob, h, &f);
		plan_make(d->arena, m, &w, &f, door_read_knob, door_exact_knob, h, &ignored);
	}
}

/* What gputune keeps for the next boot, so that status and persist answer as here. */
static void read_own(struct door *d, struct host *h, struct machine *m)
{
	struct persisting s = { .d = d, .h = h, .m = m };
	struct err ignored = { 0 };

	(void)persist_request_rows(d, h, &s.p.rows);
	if (journal_load(h, d->arena, false, &s.journal, &ignored) == 0)
		(void)persist_look(&s);
}

static void store(struct door *d, const struct capture_ask *ask, struct host *record, int *code,
		  struct capture_answer *out)
{
	struct err e = { 0 };
	const char *path =
		ask->output ? ask->output : door_save_path(d, SAVED_CAPTURES, ".tar", &e);

	if (!path || record_save(record, path, !ask->no_redact, &e))
		*code = door_fail(d, EXIT_BLIND, &e);
	*out = (struct capture_answer){ .path = path,
					.places = record_places(record)->n,
					.answers = record_pages(record)->n,
					.redacted = !ask->no_redact,
					.partial = ask->from.n > 0 };
}

static int from_posted(struct door *d, const struct capture_ask *ask, struct capture_answer *out)
{
	struct posted *p = posted_open(d->arena);
	struct host *record = NULL;
	struct err e = { 0 };
	int r = 0, code = EXIT_CLEAN;
	size_t listed;

	for (size_t i = 0; r == 0 && i < ask->from.n; i++)
		r = posted_add(p, ask->from.items[i], &e);
	listed = p->n_functions;
	if (r == 0)
		r = posted_finish(p, &record, &e);
	if (r) {
		posted_close(p);
		return door_fail(d, EXIT_BLIND, &e);
	}
	if (listed && !p->n_functions)
		door_warn(d, "lspci shows only some functions of a device: that device is left "
			     "out, because its other functions would seem absent");
	store(d, ask, record, &code, out);
	posted_close(p);
	return code;
}

static int capture_answer(struct door *d, const struct capture_ask *ask, struct capture_answer *out)
{
	struct observations ignored;
	struct machine *m;
	HOST_AUTO *h = NULL;
	int code = EXIT_CLEAN;

	if (ask->from.n)
		return from_posted(d, ask, out);
	h = door_host(d, &ask->machine);
	if (!h)
		return -EXIT_USAGE;
	h = record_open(h);
	m = door_machine(d, h, &(struct door_look){ .deep = true, .config = true });
	read_all_knobs(d, h, m);
	read_own(d, h, m);
	observations_read_machine(d->arena, h, m, &ignored);
	store(d, ask, h, &code, out);
	if (code == EXIT_CLEAN && fact_or(&m->euid, 0) != 0)
		door_warn(d, "captured as a normal user: data that only root can read is missing");
	return code;
}

static struct doc *capture_page(struct arena *a, const struct capture_answer *c)
{
	struct doc *d = doc_new(a);

	doc_text(d, "%s: %zu paths and %zu kinds of answers%s%s", c->path, c->places, c->answers,
		 c->partial ? " from posted files" : "",
		 c->redacted ? ", redacted" : ", with all names, addresses and serial numbers");
	doc_text(d, "Check it here or elsewhere with \"gputune check --host %s\".", c->path);
	return d;
}

VERB_ANSWER(capture_answer_any, capture_answer, capture_ask, capture_answer)
VERB_PAGE_OF(capture_page_any, capture_page, capture_answer)

/* clang-format off */
const struct verb capture_verb = {
	.name = "capture", .group = VERB_LOOK, .summary = "save this machine to a file, to check it elsewhere",
	.about = "Records everything that check and show read. Elsewhere, commands use it with --host. "
	  "Replaces serial numbers, addresses and names unless --no-redact. --from makes a capture from posted "
	  "files: nvidia-bug-report, sosreport, or lspci and nvidia-smi.",
	.words = "snapshot dump export save bugreport bug-report support send share",
	.examples = EXAMPLES({ "capture -o node7.tar", "this machine" },
		{ "check --host node7.tar", "inspect the capture, here or elsewhere" },
		{ "capture --from lspci.txt -o posted.tar", "from text that a user posted" }),
	.ask = ASK_OF(capture_ask, NULL, capture_ask_rows), .answer = capture_answer_any,
	.result = &capture_result, .page = capture_page_any,
};
