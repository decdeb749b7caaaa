/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a boot: written by the boot-time unit, printed by verify --boot; and the reboot
 * that asks for one. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/stamp.h"
#include "base/text.h"
#include "front/verbs/boot.h"
#include "front/verbs/boot_report.h"
#include "front/verbs/page.h"
#include "front/verbs/persist.h"
#include "machine/host/command.h"
#include "machine/write/write.h"
#include "render/glyph.h"
#include "tune/txn/txn_json.h"

#define REBOOT_FILE TXN_DIR "/reboot.json"

enum { REPORT_MAX = 16 << 20, REBOOT_MS = 60000 };

static const char *boot_id(struct run *r, struct host *h)
{
	char buf[64];

	return host_read_line(h, "/proc/sys/kernel/random/boot_id", buf, sizeof(buf))
		       ? ""
		       : arena_strdup(&r->arena, buf);
}

static int put_json(struct host *h, const char *path, json_t *j, struct err *e)
{
	char *text = json_dumps(j, JSON_INDENT(1));
	int r;

	if (!text)
		abort();
	r = host_own_dir(h, TXN_DIR);
	r = r ? r : host_put(h, path, text, strlen(text), 0600);
	free(text);
	json_decref(j);
	return r ? err_set(e, r, "%s: %s", path, strerror(-r)) : 0;
}

static json_t *load(struct run *r, struct host *h, const char *path)
{
	json_error_t why;
	char *text;
	size_t len;

	return host_read(h, path, REPORT_MAX, &r->arena, &text, &len)
		       ? NULL
		       : json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
}

/* Who asked for the reboot that this boot follows; NULL: nobody. */
static const char *asked_by(struct run *r, struct host *h)
{
	json_t *j = load(r, h, REBOOT_FILE);
	const char *from = boot_text(&r->arena, j, "boot_id"),
		   *user = boot_text(&r->arena, j, "user");

	json_decref(j);
	return from && user && strcmp(from, boot_id(r, h)) != 0 ? user : NULL;
}

int boot_report_write(struct run *r, struct host *h, const struct machine *m,
		      const struct verify *v, int code)
{
	const char *asked = asked_by(r, h);
	struct err e = { 0 };
	json_t *j = json_object();
	int result;

	json_object_set_new(j, "schema", json_string(BOOT_REPORT_SCHEMA));
	json_object_set_new(j, "boot_id", json_string(boot_id(r, h)));
	json_object_set_new(j, "reboot_by", asked ? json_string(asked) : json_null());
	json_object_set_new(j, "verify", verify_json(m, v, code));
	result = put_json(h, PERSIST_REPORT, j, &e);
	if (result)
		return complain(result, &e);
	if (asked)
		host_remove(h, REBOOT_FILE);
	return 0;
}

/* --- verify --boot -----------------------------------------------------------------------------
 */

/* The report of this boot. */
static bool stored(struct run *r, struct host *h, struct boot_report *out)
{
	json_t *j = load(r, h, PERSIST_REPORT);
	bool good = boot_report_read(&r->arena, j, out) && strcmp(out->boot_id, boot_id(r, h)) == 0;

	json_decref(j);
	return good;
}

static int exit_of(const struct verify *v)
{
	if (v->count[VERIFY_DIFFERS] || v->count[VERIFY_WAITS])
		return EXIT_FINDINGS;
	return v->count[VERIFY_UNKNOWN] ? EXIT_BLIND : EXIT_CLEAN;
}

static int print(struct run *r, const struct machine *m, const struct verify *v,
		 const char *heading)
{
	int code = exit_of(v), failed;
	TEXT_AUTO line = { 0 };

	if (r->value[OPT_QUIET])
		return code;
	if (r->value[OPT_FORMAT] && strcmp(r->value[OPT_FORMAT], "json") == 0) {
		run_print_json(r, verify_json(m, v, code));
		return code;
	}
	/* A report in a capture may say anything. */
	glyph_clean(&line, heading, false);
	if (!r->value[OPT_FORMAT] || strcmp(r->value[OPT_FORMAT], "term") == 0)
		fprintf(r->out, "%s\n", line.s);
	failed = run_print_doc(r, page_verify(&r->arena, m, v), "gputune verify --boot");
	return failed ? failed : code;
}

int boot_verify(struct run *r, struct host *h)
{
	struct machine *m = run_change_machine(r, h);
	struct boot_report report;
	struct kept *rows;
	struct verify v;
	size_t n;
	int code;

	if (stored(r, h, &report))
		return print(r, m, &report.verify,
			     arena_printf(&r->arena,
					  "Report of this boot, written by " PERSIST_UNIT_NAME
					  " at %s%s%s.",
					  report.time ? report.time : "an unknown time",
					  report.asked ? "; reboot asked for by " : "",
					  report.asked ? report.asked : ""));
	code = persist_installed(r, h, &rows, &n);
	if (code)
		return code;
	boot_compare(r, h, m, rows, n, NULL, &v);
	return print(r, m, &v, "There is no report of this boot; this is what is to be seen now.");
}

/* --- verify --reboot ---------------------------------------------------------------------------
 */

static int save_request(struct run *r, struct host *h)
{
	struct txn_who who = run_who(r);
	char stamp[STAMP_SIZE];
	struct err e = { 0 };

	if (stamp_format(h->id.time_s, stamp))
		stamp[0] = '\0';
	return put_json(h, REBOOT_FILE,
			json_pack("{s:s, s:s, s:s}", "boot_id", boot_id(r, h), "time", stamp,
				  "user", who.user),
			&e)
		       ? complain(EXIT_NOT_APPLIED, &e)
		       : 0;
}

int boot_reboot(struct run *r, struct host *h)
{
	char *const argv[] = { "systemctl", "reboot", NULL };
	struct command_result res = { 0 };
	struct kept *rows;
	size_t n;
	int code = persist_installed(r, h, &rows, &n);

	if (code)
		return code;
	if (h->id.captured)
		return complain_text(EXIT_USAGE, "a captured machine is not rebooted");
	if (!n) {
		complain_text(0, "nothing is kept for the next boot: there would be nothing to "
				 "verify; see \"gputune persist install\"");
		return EXIT_USAGE;
	}
	fprintf(r->out,
		"This reboots the machine. %zu values are kept; at boot " PERSIST_UNIT_NAME
		" applies its share and writes\na report of all of them. \"gputune verify --boot\" "
		"prints it.\n",
		n);
	if (!run_agreed(r, "Reboot now?"))
		return r->value[OPT_YES] || isatty(STDIN_FILENO) ? EXIT_NOT_APPLIED : EXIT_USAGE;
	code = save_request(r, h);
	if (code)
		return code;
	code = command_run(&r->arena, argv, REBOOT_MS, 1 << 16, &res);
	if (code || res.status) {
		host_remove(h, REBOOT_FILE);
		return complain_text(EXIT_NOT_APPLIED, "systemctl reboot failed: %.200s",
				     code ? strerror(-code) : res.errors);
	}
	return EXIT_CLEAN;
}

/* Reading the report of a boot without believing it. */

enum { ROWS_MAX = 1 << 17, TEXT_MAX = 8192 };

const char *boot_text(struct arena *a, const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s && strlen(s) <= TEXT_MAX ? arena_strdup(a, s) : NULL;
}

static bool row_from(struct arena *a, const json_t *j, struct verify_row *out)
{
	const json_t *knob = json_object_get(j, "knob");
	const char *state = boot_text(a, j, "state"), *kind = boot_text(a, knob, "kind");
	int s = VERIFY_IN_FORCE, k = kind ? knob_kind_parse(kind) : -1;

	*out = (struct verify_row){ .id = boot_text(a, j, "id"),
				    .target = boot_text(a, j, "target"),
				    .wanted = boot_text(a, j, "wanted"),
				    .now = boot_text(a, j, "now"),
				    .sentence = boot_text(a, j, "sentence") };
	while (s <= VERIFY_UNKNOWN && state &&
	       strcmp(verify_name((enum verify_state)s), state) != 0)
		s++;
	if (!out->id || !out->target || !out->wanted || !state || s > VERIFY_UNKNOWN || k < 0)
		return false;
	out->state = (enum verify_state)s;
	out->knob = (struct knob){ (enum knob_kind)k, boot_text(a, knob, "name"),
				   boot_text(a, knob, "object") };
	return out->knob.name && out->knob.object;
}

static bool rows_from(struct arena *a, const json_t *list, struct verify *out)
{
	size_t n = json_array_size(list);

	*out = (struct verify){ .rows = arena_array(a, n, sizeof(*out->rows)) };
	if (!json_is_array(list) || n > ROWS_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!row_from(a, json_array_get(list, i), &out->rows[i]))
			return false;
		out->count[out->rows[i].state]++;
		out->n++;
	}
	return true;
}

bool boot_report_read(struct arena *a, const json_t *j, struct boot_report *out)
{
	const json_t *verify = json_object_get(j, "verify");
	const char *schema = boot_text(a, j, "schema");

	*out = (struct boot_report){ .boot_id = boot_text(a, j, "boot_id"),
				     .time = boot_text(a, verify, "time"),
				     .asked = boot_text(a, j, "reboot_by") };
	return out->boot_id && *out->boot_id && schema && strcmp(schema, BOOT_REPORT_SCHEMA) == 0 &&
	       rows_from(a, json_object_get(verify, "rows"), &out->verify);
}
