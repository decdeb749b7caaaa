/* SPDX-License-Identifier: Apache-2.0 */
/* What a person does for a kernel argument where no file of ours reaches the next boot. */
#include "tune/plan/plan.h"

const char *plan_boot_by_hand(struct arena *a, const struct machine *m, const struct knob *k,
			      const char *value)
{
	const struct fact_str *menu = &m->config.boot_menu;
	const char *token = *value ? arena_printf(a, "%s=%s", k->name, value) : k->name;

	if (k->kind != KNOB_BOOTARG || !seen_ok(&menu->f) || fact_is(menu, "grub") ||
	    fact_is(menu, "kernel-install"))
		return NULL;
	if (fact_is(menu, "grubby"))
		return arena_printf(a,
				    "GRUB takes the arguments from its loader entries here: "
				    "grubby --update-kernel=ALL --args=\"%s\"",
				    token);
	if (fact_is(menu, "kernel-install-without-file"))
		return arena_printf(a,
				    "kernel-install copies the running kernel's arguments here: "
				    "write those of /proc/cmdline and %s into /etc/kernel/cmdline, "
				    "then run kernel-install add-all",
				    token);
	return arena_printf(a,
			    "this machine's boot loader takes no drop-in: add %s to its own "
			    "configuration",
			    token);
}
