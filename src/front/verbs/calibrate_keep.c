/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calibrations that are kept: one file a machine in the state folder, with what the machine was
 * then. Read back as somebody else's text, whatever wrote it.
 */
#include <ctype.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "measure/bench/bench.h"
#include "front/verbs/bench.h"
#include "front/verbs/calibrate.h"
#include "machine/write/write.h"

enum { FILE_MAX = 1 << 20 };

/* What predictions depend on, of all that a fingerprint has. */
static bool counts(const char *name)
{
	return str_starts(name, "gpu") || strcmp(name, "product") == 0 || strcmp(name, "cpu") == 0;
}

static const char *key_of(struct arena *a, const struct place *p)
{
	char *s = arena_printf(a, "on-%s-x%d-of-%d", p->gpu->name, p->gpus, p->nodes);

	for (char *c = s; *c; c++)
		*c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
	return s;
}

void calibrate_place_of(struct run *r, struct host *h, const struct machine *m,
			const struct place *place, struct calibrate_place *out)
{
	struct record rec = { 0 };

	*out = (struct calibrate_place){ .key = "this-machine", .taken = "this machine" };
	if (!m) {
		out->key = key_of(&r->arena, place);
		out->taken = place->taken;
		return;
	}
	record_fingerprint(&r->arena, h, m, &rec);
	if (h->id.captured) {
		out->key = arena_printf(&r->arena, "captured-%s", rec.machine);
		out->taken = arena_printf(&r->arena, "the captured machine %s", h->id.source);
	}
	out->pairs = arena_array(&r->arena, rec.n_fingerprint + 1, sizeof(*out->pairs));
	out->pairs[out->n++] = (struct record_pair){ "machine", rec.machine };
	for (size_t i = 0; i < rec.n_fingerprint; i++)
		if (counts(rec.fingerprint[i].name))
			out->pairs[out->n++] = rec.fingerprint[i];
}

static const char *folder(struct run *r)
{
	return arena_printf(&r->arena, "%s/calibration", bench_state(r));
}

static const char *path_of(struct run *r, const struct calibrate_place *at)
{
	return arena_printf(&r->arena, "%s/%s.json", folder(r), at->key);
}

int calibrate_keep(struct run *r, const struct calibrate_place *at, const struct calibration *c,
		   const char **path)
{
	struct host *h = host_open_live();
	json_t *j = calibration_kept_json(c, at->taken, at->pairs, at->n, (long long)time(NULL));
	char *text = json_dumps(j, JSON_INDENT(2));
	int code;

	*path = path_of(r, at);
	code = host_own_dir(h, bench_state(r));
	code = code ? code : host_own_dir(h, folder(r));
	code = code ? code : host_put(h, *path, text, strlen(text), 0600);
	free(text);
	json_decref(j);
	host_close(h);
	if (code)
		return complain_text(EXIT_USAGE,
				     "%s cannot be written: %s; --state DIR keeps it elsewhere, "
				     "--dry-run does not keep it",
				     *path, strerror(-code));
	return 0;
}

int calibrate_forget(struct run *r, const struct calibrate_place *at)
{
	struct host *h = host_open_live();
	int code = host_remove(h, path_of(r, at));

	host_close(h);
	if (code)
		return complain_text(EXIT_USAGE, "%s cannot be removed: %s", path_of(r, at),
				     strerror(-code));
	return 0;
}

/* The first thing that is another than it was, in a sentence; NULL: all is as it was. */
static const char *changed(struct arena *a, const struct calibration_kept *k,
			   const struct calibrate_place *at)
{
	for (size_t i = 0; i < at->n; i++) {
		const char *was = NULL;

		for (size_t f = 0; f < k->n_pairs; f++)
			if (strcmp(k->pairs[f].name, at->pairs[i].name) == 0)
				was = k->pairs[f].value;
		if (!was || strcmp(was, at->pairs[i].value) != 0)
			return strcmp(at->pairs[i].name, "machine") == 0
				       ? "it is of another machine"
				       : arena_printf(a, "%s was %s, is %s", at->pairs[i].name,
						      was ? was : "not there", at->pairs[i].value);
	}
	return k->n_pairs > at->n ? "something of this machine is gone since" : NULL;
}

bool calibrate_kept(struct run *r, struct host *h, const struct calibrate_place *at,
		    struct calibration_kept *out)
{
	struct fits fits;
	struct err e = { 0 };
	char *text;
	int code;

	*out = (struct calibration_kept){ .path = path_of(r, at) };
	code = host_read(h, out->path, FILE_MAX, &r->arena, &text, NULL);
	if (code == -ENOENT || code == -ENOTDIR)
		return false;
	if (code == -EACCES && !r->value[OPT_STATE])
		return false; /* the folder is root's: there may be none */
	if (code) {
		out->why_not = arena_printf(&r->arena, "it cannot be read: %s", strerror(-code));
		return true;
	}
	if (calibration_kept_read(&r->arena, text, out, &e) < 0)
		out->why_not = arena_strdup(&r->arena, e.text);
	else
		out->why_not = changed(&r->arena, out, at);
	fits_default(&fits);
	for (size_t i = 0; !out->why_not && i < out->n_sets; i++)
		if (fits_read(&fits, out->sets[i].constants, &e) < 0)
			out->why_not = arena_strdup(&r->arena, e.text);
	return true;
}

/* live: where the state folder is. */
static bool place_asked(struct run *r, struct host *live, struct calibrate_place *at)
{
	struct place p;
	struct err e = { 0 };
	struct host *h;
	struct machine *m;

	if (r->value[OPT_ON]) {
		if (place_parse(&r->arena, r->value[OPT_ON], &p, &e) < 0)
			return false;
		calibrate_place_of(r, NULL, NULL, &p, at);
		return true;
	}
	*at = (struct calibrate_place){ .key = "this-machine" };
	/* Looking at the machine takes time: only where there is something to be compared. */
	if (!host_exists(live, r->value[OPT_HOST] ? folder(r) : path_of(r, at)))
		return false;
	h = run_host(r);
	m = h ? run_machine(r, h, false) : NULL;
	if (m)
		calibrate_place_of(r, h, m, NULL, at);
	if (h)
		host_close(h);
	return m != NULL;
}

/* The shape that --model means: kept sets name it. NULL: none, or it is not known. */
static const char *model_asked(struct run *r)
{
	struct model_hint none = { 0 };
	struct arch arch;
	struct err e = { 0 };
	const char *taken, *name = r->value[OPT_MODEL];

	if (!name || access(name, F_OK) == 0)
		return name;
	return model_find(&r->arena, name, &none, &arch, &taken, &e) == 0 ? arch.name : NULL;
}

static const char *use(struct run *r, const struct calibration_kept *kept, struct fits *fits)
{
	const char *model = model_asked(r);
	struct err e = { 0 };
	size_t used = 0;

	for (size_t i = 0; !kept->why_not && i < kept->n_sets; i++)
		if (calibration_for(&kept->sets[i], model)) {
			fits_read(fits, kept->sets[i].constants, &e);
			used++;
		}
	if (kept->why_not || !used)
		return arena_printf(&r->arena, "%s; the calibration %s is not used: %s",
				    fits->origin, kept->path,
				    kept->why_not ? kept->why_not : "it is of other models");
	return arena_printf(&r->arena, "calibrated %s on %s (%s); else %s", kept->time, kept->from,
			    kept->path, fits->origin);
}

void calibration_use(struct run *r, struct fits *fits)
{
	struct calibration_kept kept;
	struct calibrate_place at;
	struct host *h;

	if (r->value[OPT_CALIBRATION] || r->value[OPT_NO_CALIBRATION])
		return;
	h = host_open_live();
	if (place_asked(r, h, &at) && calibrate_kept(r, h, &at, &kept))
		fits->origin = use(r, &kept, fits);
	host_close(h);
}
