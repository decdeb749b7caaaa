/* SPDX-License-Identifier: Apache-2.0 */
/* Two fields of PCI configuration space: the largest read request and access control. Found by
 * walking the capability lists, written as one masked word. */
#include <errno.h>
#include <linux/pci_regs.h>
#include <string.h>

#include "base/text.h"
#include "machine/write/write.h"
#include "machine/knob/kinds.h"
#include "machine/model/pci.h"

enum { SMALLEST_REQUEST = 128, LARGEST_REQUEST = 4096 };

static bool is_mrrs(const struct knob *k)
{
	return strcmp(k->name, "mrrs") == 0;
}

static const char *config_path(struct arena *a, const struct knob *k)
{
	return arena_printf(a, "/sys/bus/pci/devices/%s/config", k->object);
}

/* One 16-bit register: where, what it holds, which bits may be set, and its capability. */
struct place16 {
	size_t at;
	unsigned now, mask;
};

static int find_mrrs(const struct pci_space *s, struct place16 *out)
{
	size_t cap = pci_find_capability(s, PCI_CAP_ID_EXP);
	unsigned type;

	if (!cap || cap + PCI_EXP_DEVCTL + 2 > s->len)
		return -EOPNOTSUPP;
	type = (pci_get16(s, cap + PCI_EXP_FLAGS) & PCI_EXP_FLAGS_TYPE) >> 4;
	out->at = cap + PCI_EXP_DEVCTL;
	out->now = pci_get16(s, out->at);
	out->mask = PCI_EXP_DEVCTL_READRQ;
	/* Bit 15 resets a function when it is written as one, and reads as zero unless the device
	 * lies. A bridge to conventional PCI keeps a setting of its own there. */
	if (type != PCI_EXP_TYPE_PCI_BRIDGE)
		out->now &= ~(unsigned)PCI_EXP_DEVCTL_BCR_FLR;
	return 0;
}

static int find_acs(const struct pci_space *s, struct place16 *out)
{
	size_t cap = pci_find_extended(s, PCI_EXT_CAP_ID_ACS);
	unsigned can;

	if (!cap || cap + PCI_ACS_CTRL + 2 > s->len)
		return -EOPNOTSUPP;
	can = pci_get16(s, cap + PCI_ACS_CAP);
	out->at = cap + PCI_ACS_CTRL;
	out->now = pci_get16(s, out->at);
	/* Bit 7 says that the enhanced controls, bits 7 to 12, are there. */
	out->mask = (can & 0x7f) | (can & 0x80 ? 0x1f80 : 0);
	return 0;
}

static int knob_pci_find(struct host *h, struct arena *a, const struct knob *k, struct place16 *out)
{
	unsigned char config[PCI_CFG_SPACE_EXP_SIZE];
	struct pci_space s = { config, 0 };
	/* A virtual machine traps on every four bytes: no more than is needed. */
	size_t want = is_mrrs(k) ? PCI_CFG_SPACE_SIZE : sizeof(config), len = 0;
	int r = h->ops->read(h, config_path(a, k), (char *)config, want, &len);

	if (r)
		return r;
	s.len = len < want ? len : want;
	if (s.len < PCI_SPACE_HEADER)
		return -EPROTO;
	if (pci_all_ones(&s))
		return -ENODEV;
	/* The rest is hidden from this user. */
	if (s.len == PCI_SPACE_HEADER)
		return -EACCES;
	r = is_mrrs(k) ? find_mrrs(&s, out) : find_acs(&s, out);
	/* It went away while it was read. */
	return r == 0 && pci_get16(&s, out->at) == 0xffff ? -ENODEV : r;
}

static int pci_fail(struct err *e, int r, const char *verb, const struct knob *k)
{
	if (r == -ENODEV)
		return err_set(e, r,
			       "could not %s %s of %s: the device is unreachable (reads all ones)",
			       verb, k->name, k->object);
	if (r == -EOPNOTSUPP)
		return err_set(e, r, "could not %s %s of %s: the function lacks this capability",
			       verb, k->name, k->object);
	return knob_fail(e, r, verb, k);
}

static int pci_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		   struct err *e)
{
	struct place16 p;
	unsigned code;
	int r = knob_pci_find(h, a, k, &p);

	if (r)
		return pci_fail(e, r, "read", k);
	if (!is_mrrs(k)) {
		*value = arena_printf(a, "0x%x", p.now);
		return 0;
	}
	code = (p.now & PCI_EXP_DEVCTL_READRQ) >> 12;
	/* Six and seven are reserved. */
	if (code > 5)
		return err_set(e, -EPROTO, "mrrs of %s has the reserved code %u", k->object, code);
	*value = arena_printf(a, "%u", SMALLEST_REQUEST << code);
	return 0;
}

/* Decimal, or hexadecimal with 0x. */
static bool parse_word(const char *text, unsigned long long *out)
{
	return (str_starts(text, "0x") ? parse_hex(text, out) : parse_u64(text, out)) == 0 &&
	       *out <= 0xffff;
}

/* The register's bits for the value, which has the right shape. */
static unsigned encode(const struct knob *k, const char *value)
{
	unsigned long long v = 0;
	unsigned code = 0;

	parse_word(value, &v);
	if (!is_mrrs(k))
		return (unsigned)v;
	while (SMALLEST_REQUEST << code < (int)v)
		code++;
	return code << 12;
}

/* "none [integrity] confidentiality": the chosen word, NULL when the kernel is not locked down. */
static const char *knob_pci_lockdown(struct host *h, char *buf, size_t cap)
{
	char *open, *close;

	if (host_read_line(h, "/sys/kernel/security/lockdown", buf, cap))
		return NULL;
	open = strchr(buf, '[');
	close = open ? strchr(open, ']') : NULL;
	if (!close)
		return NULL;
	*close = '\0';
	return strcmp(open + 1, "none") == 0 ? NULL : open + 1;
}

static int write_failed(struct host *h, const struct knob *k, int r, struct err *e)
{
	char buf[128];
	const char *mode = r == -EPERM ? knob_pci_lockdown(h, buf, sizeof(buf)) : NULL;

	if (!mode)
		return pci_fail(e, r, "set", k);
	err_set(e, r,
		"could not set %s of %s: the kernel is locked down (%s) and blocks writes to "
		"configuration space",
		k->name, k->object, mode);
	err_hint(e, "lockdown comes with Secure Boot on most distributions; it also blocks setpci");
	return r;
}

static int pci_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		   struct err *e)
{
	struct place16 p;
	unsigned bits = encode(k, value), now;
	unsigned char word[2];
	int r = knob_pci_find(h, a, k, &p);

	if (r)
		return pci_fail(e, r, "set", k);
	if (bits & ~p.mask)
		return err_set(e, -ERANGE, "could not set %s of %s to %s: only the bits 0x%x exist",
			       k->name, k->object, value, p.mask);
	now = (p.now & ~p.mask) | bits;
	word[0] = (unsigned char)now;
	word[1] = (unsigned char)(now >> 8);
	r = host_write_at(h, config_path(a, k), (long long)p.at, word, sizeof(word));
	return r ? write_failed(h, k, r, e) : 0;
}

static bool pci_valid(const struct knob *k, const char *value, const char **why)
{
	unsigned long long v;

	if (!is_mrrs(k) && strcmp(k->name, "acs-control") != 0)
		return knob_unsound(why, "configuration space has no field of that name");
	if (!knob_is_pci_address(k->object))
		return knob_unsound(why, "\"object\" is not a PCI address such as 0000:01:00.0");
	if (!value)
		return true;
	if (!parse_word(value, &v))
		return knob_unsound(why, "the value is not a 16-bit number");
	if (is_mrrs(k) && (v < SMALLEST_REQUEST || v > LARGEST_REQUEST || (v & (v - 1))))
		return knob_unsound(
			why, "a read request must be 128, 256, 512, 1024, 2048 or 4096 bytes");
	return true;
}

static const char *pci_command(struct arena *a, const struct knob *k, const char *value)
{
	if (is_mrrs(k))
		return arena_printf(a, "setpci -s %s CAP_EXP+8.w=%04x:7000", k->object,
				    encode(k, value));
	return arena_printf(a, "setpci -s %s ECAP_ACS+6.w=%04x", k->object, encode(k, value));
}

const struct knob_ops knob_ops_pci = {
	.get = pci_get,
	.set = pci_set,
	.valid = pci_valid,
	.command = pci_command,
	.place = knob_place_pci,
};
