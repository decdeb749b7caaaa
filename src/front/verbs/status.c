/* SPDX-License-Identifier: Apache-2.0 */
/* gputune status and verify: what the journal says, beside what the machine says. */
#include <string.h>

#include "front/verbs/boot.h"
#include "front/session.h"
#include "front/verbs/persist.h"
#include "front/change.h"
#include "machine/knob/io.h"
#include "tune/txn/layer.h"
#include "tune/txn/txn.h"
#include "tune/txn/page_txn.h"
#include "tune/txn/results.h"

/* What is not as it was left is a finding; what is stuck or open is worse. What cannot be seen is
 * not as it was left for all that is known, as verify says it. */
static int status_code(const struct journal *j, bool open, const struct hold_row *rows, size_t n)
{
	int code = EXIT_CLEAN;

	for (size_t i = 0; i < j->n; i++)
		if (open || j->items[i].state == TRANSACTION_INCOMPLETE)
			return EXIT_STUCK;
	for (size_t i = 0; i < n; i++)
		if (rows[i].hold == HOLD_FOREIGN || rows[i].hold == HOLD_BACK ||
		    rows[i].hold == HOLD_LOST || rows[i].hold == HOLD_RESET)
			code = EXIT_FINDINGS;
		else if (rows[i].hold == HOLD_UNKNOWN && code == EXIT_CLEAN)
			code = EXIT_BLIND;
	return code;
}

/* Whether anything of ours is left that an undo or persist remove would find; j is of this boot. */
static bool is_anything_left(struct host *h, const struct journal *j)
{
	for (size_t i = 0; i < j->n; i++)
		for (size_t k = 0; transaction_holds(&j->items[i]) && k < j->items[i].n; k++)
			if (entry_is_active(&j->items[i].entries[k]) &&
			    !j->items[i].entries[k].lost)
				return true;
	return host_exists(h, PERSIST_REQUEST);
}

/* For scripts. Lines that cannot be read make any code 4: run_journal_code. */
static int left_code(struct run *r, struct host *h, const struct journal *j, int code)
{
	if (!r->value[OPT_EXIT_CODE] || code == EXIT_STUCK)
		return code;
	if (!is_anything_left(h, j))
		return EXIT_CLEAN;
	return code == EXIT_CLEAN ? EXIT_FINDINGS : code;
}

/* With its configuration only where somebody is looked for: reading that takes longest. */
static struct machine *machine_for(struct run *r, struct host *h, struct hold_row *rows, size_t n)
{
	size_t i = 0;
	struct machine *m;

	while (i < n && rows[i].hold != HOLD_FOREIGN && rows[i].hold != HOLD_BACK)
		i++;
	if (i == n)
		return run_machine(r, h, false);
	m = run_change_machine(r, h);
	run_find_culprits(r, m, rows, n);
	return m;
}

int verb_status(struct run *r)
{
	struct host *h = run_change_host(r);
	struct hold_row *rows;
	struct journal j;
	struct machine *m;
	int code, failed = 0;
	bool believed;
	size_t n;

	if (!h)
		return EXIT_USAGE;
	code = -door_journal(&r->door, h, false, &j);
	if (code == 0) {
		txn_status(h, &r->arena, &j, &rows, &n);
		code = status_code(&j, run_report_open(r, h, &j), rows, n);
		believed = door_believes(&r->door, h);
		code = believed_code(believed, left_code(r, h, &j, code));
		if (n)
			door_report_lost_at_boot(&r->door, h);
		m = machine_for(r, h, rows, n);
		persist_fill_entries(r, h, rows, n);
		if (!r->value[OPT_QUIET]) {
			if (run_wants_json(r))
				run_print_json(r, status_json(m, rows, n, code), EXIT_CLEAN);
			else
				failed = run_print_doc(r,
						       page_status(&r->arena, m, rows, n,
								   believed && !j.bad_lines),
						       "gputune status", EXIT_CLEAN);
		}
	}
	host_close(h);
	return failed ? failed : code;
}

static int verify_code(const struct verify *v)
{
	if (v->count[VERIFY_DIFFERS] || v->count[VERIFY_WAITS])
		return EXIT_FINDINGS;
	return v->count[VERIFY_UNKNOWN] ? EXIT_BLIND : EXIT_CLEAN;
}

static int verb_status_verify(struct run *r, struct host *h)
{
	struct planned p = { 0 };
	struct hold_row *rows;
	struct verify v;
	struct journal j;
	int code;
	size_t n;

	if (r->n_args) {
		code = run_plan_file(r, h, r->args[0], &p);
		if (code)
			return code;
		verify_plan(&r->arena, p.m, &p.plan, door_exact_knob, knob_same, h, &v);
	} else {
		code = -door_journal(&r->door, h, false, &j);
		if (code)
			return code;
		p.m = run_machine(r, h, false);
		txn_status(h, &r->arena, &j, &rows, &n);
		verify_holds(&r->arena, rows, n, &v);
	}
	code = believed_code(door_believes(&r->door, h), verify_code(&v));
	if (r->value[OPT_QUIET])
		return code;
	if (!run_wants_json(r)) {
		n = (size_t)run_print_doc(r, page_verify(&r->arena, p.m, &v), "gputune verify",
					  EXIT_CLEAN);
		return n ? (int)n : code;
	}
	return run_print_json(r, verify_json(p.m, &v, code), code);
}

int verb_verify(struct run *r)
{
	struct host *h = run_change_host(r);
	int code;

	if (!h)
		return EXIT_USAGE;
	code = r->value[OPT_REBOOT] ? boot_reboot(r, h)
	       : r->value[OPT_BOOT] ? boot_verify(r, h)
				    : verb_status_verify(r, h);
	host_close(h);
	return code;
}
