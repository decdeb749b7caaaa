/* SPDX-License-Identifier: Apache-2.0 */
/* Serial numbers: in files of their own, in answers, and in PCI configuration space. */
#include "machine/host/redact.h"

#include <ctype.h>
#include <linux/pci_regs.h>
#include <string.h>

/* What vendors write who give no number. */
static bool no_number(const char *s)
{
	static const char *const texts[] = { "none",
					     "0",
					     "n/a",
					     "na",
					     "unknown",
					     "default string",
					     "default",
					     "not specified",
					     "not available",
					     "not applicable",
					     "not provided",
					     "to be filled by o.e.m.",
					     "system serial number",
					     "chassis serial number",
					     "base board serial number",
					     "asset tag",
					     "no asset tag" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcasecmp(s, texts[i]) == 0)
			return true;
	return !*s;
}

const char *redact_serial(struct redactor *r, const char *s, size_t len)
{
	size_t n, digits = 0, letters = 0;
	const char *text = str_trim(s, strnlen(s, len), &n),
		   *number = arena_strndup(r->arena, text, n);
	bool word;

	for (size_t i = 0; i < n; i++) {
		digits += isdigit((unsigned char)number[i]) != 0;
		letters += isalpha((unsigned char)number[i]) != 0;
	}
	/* A word that could be a plain number or name elsewhere is not looked for there. */
	word = digits + letters == n && n >= REDACT_SERIAL_MIN &&
	       (digits > 9 || (digits && letters));
	if (no_number(number))
		return number;
	return redact_pseudonym(r, word ? &r->serials : &r->odd_serials, number,
				word ? "SERIAL%02X%02X" : "SERIAL-%02X%02X");
}

bool redact_is_secret_file(const char *path)
{
	static const char *const names[] = { "/serial",	   "_serial", "/serial_number",
					     "_asset_tag", "/wwid",   "/wwn",
					     "/nguid",	   "/eui",    "/vpd",
					     "/subsysnqn", "/hostid", "/machine-id",
					     "/boot_id" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_ends(path, names[i]))
			return true;
	return false;
}

void redact_config_space(unsigned char *config, size_t len)
{
	size_t at = 0x100;

	for (int hops = 0; hops < 480 && at >= 0x100 && at + 12 <= len; hops++) {
		unsigned header = config[at] | (unsigned)config[at + 1] << 8 |
				  (unsigned)config[at + 2] << 16 | (unsigned)config[at + 3] << 24;

		if (PCI_EXT_CAP_ID(header) == PCI_EXT_CAP_ID_DSN)
			memset(config + at + 4, 0, 8);
		at = PCI_EXT_CAP_NEXT(header);
	}
}
