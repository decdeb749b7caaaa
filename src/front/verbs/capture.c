/* SPDX-License-Identifier: Apache-2.0 */
/* gputune capture: run everything that reads on a recording backend, and store the answers. */
#include <string.h>

#include "base/text.h"
#include "front/session.h"
#include "measure/doctor/observations.h"
#include "machine/host/record.h"

/* Every profile, because each may read knobs that the others leave alone. */
static void read_all_knobs(struct run *r, struct host *h, const struct machine *m)
{
	for (int id = 0; id < PROFILES; id++) {
		struct profile p = { .name = profile_name((enum profile_id)id),
				     .base = (enum profile_id)id };
		struct findings ignored;

		settings_check(&r->arena, m, &p, run_read_knob, h, &ignored);
	}
}

/* Else it would become a folder of that name. */
static bool verb_capture_compressed(const char *path)
{
	static const char *const ends[] = { ".tgz", ".txz", ".gz", ".xz", ".zst", ".bz2" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (str_ends(path, ends[i]))
			return true;
	return false;
}

int verb_capture(struct run *r)
{
	const char *path = r->value[OPT_OUTPUT];
	struct observations ignored;
	struct err e = { 0 };
	struct machine *m;
	struct host *h;
	int code = EXIT_CLEAN;

	if (!path)
		return complain_text(
			EXIT_USAGE,
			"capture needs -o PATH: a new folder, or a name that ends in .tar");
	if (verb_capture_compressed(path))
		return complain_text(EXIT_USAGE,
				     "%s: a capture is a folder or an uncompressed tar; name it "
				     ".tar, and compress that",
				     path);
	h = run_host(r);
	if (!h)
		return EXIT_USAGE;
	h = record_open(h);
	m = run_machine(r, h, true);
	read_all_knobs(r, h, m);
	observations_read_machine(&r->arena, h, m, &ignored);
	if (record_save(h, path, !r->value[OPT_NO_REDACT], &e))
		code = complain(EXIT_BLIND, &e);
	else if (!r->value[OPT_QUIET])
		fprintf(r->out, "%s: %zu places and %zu kinds of answers%s\n", path,
			record_places(h)->n, record_pages(h)->n,
			r->value[OPT_NO_REDACT] ? ", with all names, addresses and serial numbers"
						: ", redacted");
	if (code == EXIT_CLEAN && fact_or(&m->euid, 0) != 0)
		complain_text(0, "captured as a normal user: what only root may read is missing");
	host_close(h);
	return code;
}
