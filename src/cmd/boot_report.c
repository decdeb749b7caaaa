/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a boot: written by the boot-time unit, printed by verify --boot; and the reboot
 * that asks for one. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/stamp.h"
#include "cmd/boot.h"
#include "cmd/page.h"
#include "cmd/persist.h"
#include "host/command.h"
#include "host/write.h"
#include "view/txn_json.h"

#define REBOOT_FILE TXN_DIR "/reboot.json"

enum { REPORT_MAX = 16 << 20, ROWS_MAX = 1 << 17, TEXT_MAX = 8192, REBOOT_MS = 60000 };

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
	r = host_make_dir(h, TXN_DIR, 0700);
	r = r == 0 || r == -EEXIST ? host_put(h, path, text, strlen(text), 0600) : r;
	free(text);
	json_decref(j);
	return r ? err_set(e, r, "%s: %s", path, strerror(-r)) : 0;
}

/* A text of an object that may hold anything; NULL. */
static const char *text_of(struct arena *a, const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s && strlen(s) <= TEXT_MAX ? arena_strdup(a, s) : NULL;
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
	const char *from = text_of(&r->arena, j, "boot_id"), *user = text_of(&r->arena, j, "user");

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

	json_object_set_new(j, "schema", json_string("gputune.boot-report/1"));
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

static bool row_from(struct arena *a, const json_t *j, struct verify_row *out)
{
	const json_t *knob = json_object_get(j, "knob");
	const char *state = text_of(a, j, "state"), *kind = text_of(a, knob, "kind");
	int s = VERIFY_IN_FORCE, k = kind ? knob_kind_parse(kind) : -1;

	*out = (struct verify_row){ .id = text_of(a, j, "id"),
				    .target = text_of(a, j, "target"),
				    .wanted = text_of(a, j, "wanted"),
				    .now = text_of(a, j, "now"),
				    .sentence = text_of(a, j, "sentence") };
	while (s <= VERIFY_UNKNOWN && state &&
	       strcmp(verify_name((enum verify_state)s), state) != 0)
		s++;
	if (!out->id || !out->target || !out->wanted || !state || s > VERIFY_UNKNOWN || k < 0)
		return false;
	out->state = (enum verify_state)s;
	out->knob = (struct knob){ (enum knob_kind)k, text_of(a, knob, "name"),
				   text_of(a, knob, "object") };
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

/* The report of this boot. */
static bool stored(struct run *r, struct host *h, struct verify *out, const char **time,
		   const char **asked)
{
	json_t *j = load(r, h, PERSIST_REPORT);
	const json_t *verify = json_object_get(j, "verify");
	const char *of = text_of(&r->arena, j, "boot_id"),
		   *schema = text_of(&r->arena, j, "schema");
	bool good = of && *of && strcmp(of, boot_id(r, h)) == 0 && schema &&
		    strcmp(schema, "gputune.boot-report/1") == 0 &&
		    rows_from(&r->arena, json_object_get(verify, "rows"), out);

	*time = text_of(&r->arena, verify, "time");
	*asked = text_of(&r->arena, j, "reboot_by");
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

	if (r->value[OPT_QUIET])
		return code;
	if (r->value[OPT_FORMAT] && strcmp(r->value[OPT_FORMAT], "json") == 0) {
		run_print_json(r, verify_json(m, v, code));
		return code;
	}
	if (!r->value[OPT_FORMAT] || strcmp(r->value[OPT_FORMAT], "term") == 0)
		fprintf(r->out, "%s\n", heading);
	failed = run_print_doc(r, page_verify(&r->arena, m, v), "gputune verify --boot");
	return failed ? failed : code;
}

int boot_verify(struct run *r, struct host *h)
{
	struct machine *m = run_change_machine(r, h);
	const char *time = NULL, *asked = NULL;
	struct kept *rows;
	struct verify v;
	size_t n;
	int code;

	if (stored(r, h, &v, &time, &asked))
		return print(r, m, &v,
			     arena_printf(&r->arena,
					  "Report of this boot, written by " PERSIST_UNIT_NAME
					  " at %s%s%s.",
					  time ? time : "an unknown time",
					  asked ? "; reboot asked for by " : "",
					  asked ? asked : ""));
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
