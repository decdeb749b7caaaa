/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration space: identity and the capabilities that matter, found by walking the lists, never
 * at fixed places. The bytes are untrusted: devices answer all ones when they are gone, and lists
 * can loop.
 */
#include "probe/pci.h"

#include <linux/pci_regs.h>
#include <stdio.h>

enum { STANDARD_HOPS = 48, EXTENDED_HOPS = 480, EXTENDED_START = 0x100, ROOT_ONLY = 64 };

struct space {
	const unsigned char *b;
	size_t len;
	const char *dir;
};

static unsigned get16(const struct space *s, size_t at)
{
	return at + 2 <= s->len ? s->b[at] | (unsigned)s->b[at + 1] << 8 : 0xffff;
}

static unsigned get32(const struct space *s, size_t at)
{
	return at + 4 <= s->len ? get16(s, at) | get16(s, at + 2) << 16 : 0xffffffffu;
}

static struct fact_int value(const struct space *s, long long v)
{
	return fact_int_of(v, s->dir, "config");
}

static struct fact_int unseen(const struct space *s, int r)
{
	return (struct fact_int){ .f = fact_unseen(r, s->dir, "config") };
}

static unsigned header_type(const struct space *s)
{
	return s->b[PCI_HEADER_TYPE] & 0x7f;
}

/* Offset of a capability, 0 when the list ends, leaves the space or loops. */
static size_t find_standard(const struct space *s, unsigned id)
{
	bool cardbus = header_type(s) == PCI_HEADER_TYPE_CARDBUS;
	size_t at = s->b[cardbus ? PCI_CB_CAPABILITY_LIST : PCI_CAPABILITY_LIST] & ~3u;

	if (!(get16(s, PCI_STATUS) & PCI_STATUS_CAP_LIST))
		return 0;
	for (int hops = 0; hops < STANDARD_HOPS && at >= 0x40 && at + 2 <= s->len; hops++) {
		if (s->b[at] == 0xff)
			return 0;
		if (s->b[at] == id)
			return at;
		at = s->b[at + 1] & ~3u;
	}
	return 0;
}

static size_t find_extended(const struct space *s, unsigned id)
{
	size_t at = EXTENDED_START;

	for (int hops = 0; hops < EXTENDED_HOPS && at >= EXTENDED_START && at + 4 <= s->len;
	     hops++) {
		unsigned header = get32(s, at);

		if (header == 0 || header == 0xffffffffu)
			return 0;
		if (PCI_EXT_CAP_ID(header) == id)
			return at;
		at = PCI_EXT_CAP_NEXT(header);
	}
	return 0;
}

/* LnkCap and LnkSta code speeds by number. Source: pci_regs.h PCI_EXP_LNKCAP_SLS_*. */
static struct fact_int speed(const struct space *s, unsigned code)
{
	static const long long speeds[] = { 0, 2500, 5000, 8000, 16000, 32000, 64000 };

	return code && code < sizeof(speeds) / sizeof(speeds[0]) ? value(s, speeds[code])
								 : unseen(s, -EPROTO);
}

/* 128 << n; six and seven are reserved: such a device is not answering. */
static struct fact_int payload(const struct space *s, unsigned n)
{
	return n <= 5 ? value(s, 128ll << n) : unseen(s, -EPROTO);
}

static void pcie(struct pci_function *f, const struct space *s, size_t at)
{
	unsigned flags = get16(s, at + PCI_EXP_FLAGS), devcap = get32(s, at + PCI_EXP_DEVCAP),
		 devctl = get16(s, at + PCI_EXP_DEVCTL), lnkcap = get32(s, at + PCI_EXP_LNKCAP),
		 lnkctl = get16(s, at + PCI_EXP_LNKCTL), lnksta = get16(s, at + PCI_EXP_LNKSTA);
	unsigned type = (flags & PCI_EXP_FLAGS_TYPE) >> 4;

	f->pcie_cap = value(s, (long long)at);
	f->port_type = value(s, type);
	f->mps_cap = payload(s, devcap & PCI_EXP_DEVCAP_PAYLOAD);
	f->mps = payload(s, (devctl & PCI_EXP_DEVCTL_PAYLOAD) >> 5);
	f->mrrs = payload(s, (devctl & PCI_EXP_DEVCTL_READRQ) >> 12);
	f->relaxed_ordering = value(s, (devctl & PCI_EXP_DEVCTL_RELAX_EN) != 0);
	/* A device inside the root complex has no link. */
	if (type == PCI_EXP_TYPE_RC_END || type == PCI_EXP_TYPE_RC_EC) {
		f->speed_mts = f->max_speed_mts = f->width = f->max_width = f->aspm =
			unseen(s, -EOPNOTSUPP);
		return;
	}
	f->max_speed_mts = speed(s, lnkcap & PCI_EXP_LNKCAP_SLS);
	f->max_width = value(s, (lnkcap & PCI_EXP_LNKCAP_MLW) >> 4);
	f->speed_mts = speed(s, lnksta & PCI_EXP_LNKSTA_CLS);
	f->width = value(s, (lnksta & PCI_EXP_LNKSTA_NLW) >> 4);
	f->aspm = value(s, lnkctl & PCI_EXP_LNKCTL_ASPMC);
}

static void extended(struct pci_function *f, const struct space *s)
{
	size_t acs, rebar;

	f->acs_cap = f->acs_ctrl = f->rebar_bytes = f->rebar_max_bytes =
		unseen(s, s->len > EXTENDED_START ? -ENOENT : -EOPNOTSUPP);
	if (s->len <= EXTENDED_START)
		return;
	acs = find_extended(s, PCI_EXT_CAP_ID_ACS);
	if (acs && acs + 8 <= s->len) {
		f->acs_cap = value(s, get16(s, acs + PCI_ACS_CAP));
		f->acs_ctrl = value(s, get16(s, acs + PCI_ACS_CTRL));
	}
	rebar = find_extended(s, PCI_EXT_CAP_ID_REBAR);
	if (rebar && rebar + 12 <= s->len) {
		unsigned sizes = get32(s, rebar + PCI_REBAR_CAP) >> 4,
			 ctrl = get32(s, rebar + PCI_REBAR_CTRL);
		unsigned now = (ctrl & PCI_REBAR_CTRL_BAR_SIZE) >> 8, top = 0;

		for (unsigned bit = 0; bit < 28; bit++)
			if (sizes >> bit & 1)
				top = bit;
		if (now < 40 && sizes) {
			f->rebar_bytes = value(s, 1ll << (20 + now));
			f->rebar_max_bytes = value(s, 1ll << (20 + top));
		}
	}
}

static void identity(struct pci_function *f, const struct space *s)
{
	/* Bridges keep theirs in a capability, where they have one. */
	bool bridge = header_type(s) != PCI_HEADER_TYPE_NORMAL;

	f->vendor = value(s, get16(s, PCI_VENDOR_ID));
	f->device = value(s, get16(s, PCI_DEVICE_ID));
	f->class_ = value(s, get32(s, PCI_CLASS_REVISION) >> 8);
	f->subvendor =
		bridge ? unseen(s, -EOPNOTSUPP) : value(s, get16(s, PCI_SUBSYSTEM_VENDOR_ID));
	f->subdevice = bridge ? unseen(s, -EOPNOTSUPP) : value(s, get16(s, PCI_SUBSYSTEM_ID));
}

/* Everything behind the header, with one reason why it was not seen. */
static void no_capabilities(struct pci_function *f, const struct space *s, int r)
{
	f->pcie_cap = f->port_type = f->mps = f->mps_cap = f->mrrs = f->relaxed_ordering = f->aspm =
		f->acs_cap = f->acs_ctrl = f->rebar_bytes = f->rebar_max_bytes = f->speed_mts =
			f->max_speed_mts = f->width = f->max_width = unseen(s, r);
}

/* A device that is gone answers all ones everywhere; a virtual function only for vendor and device.
 */
static bool all_ones(const struct space *s)
{
	for (size_t i = 0; i < ROOT_ONLY; i++)
		if (s->b[i] != 0xff)
			return false;
	return true;
}

bool pci_config_parse(struct pci_function *f, const unsigned char *config, size_t len,
		      const char *dir)
{
	struct space s = { config, len, dir };
	size_t at;

	if (len < ROOT_ONLY || all_ones(&s)) {
		f->config_bytes = unseen(&s, len < ROOT_ONLY ? -EPROTO : -EIO);
		no_capabilities(f, &s, len < ROOT_ONLY ? -EPROTO : -EIO);
		return false;
	}
	f->config_bytes = value(&s, (long long)len);
	identity(f, &s);
	/* A normal user gets the header alone: the rest is hidden, not missing. */
	if (len == ROOT_ONLY) {
		no_capabilities(f, &s, -EACCES);
		return true;
	}
	at = find_standard(&s, PCI_CAP_ID_EXP);
	if (!at || at + PCI_EXP_LNKSTA + 2 > s.len) {
		no_capabilities(f, &s, -ENOENT);
		return true;
	}
	pcie(f, &s, at);
	extended(f, &s);
	return true;
}

/* Only ports (access control) and GPUs (resizable BAR) have something of interest there. */
static bool wants_extended(const unsigned char *config, size_t len)
{
	const struct space s = { config, len, NULL };
	unsigned base = get32(&s, PCI_CLASS_REVISION) >> 24;

	return len >= PCI_CFG_SPACE_SIZE && (base == 0x06 || base == 0x03) &&
	       find_standard(&s, PCI_CAP_ID_EXP);
}

/* A virtual machine traps on every four bytes, 2 ms for the whole: the first 256 bytes come first
 * and often suffice. */
bool pci_config_read(struct probe *p, struct pci_function *f, const char *dir)
{
	unsigned char config[PCI_CFG_SPACE_EXP_SIZE];
	char path[HOST_PATH_MAX];
	const struct space none = { NULL, 0, dir };
	size_t len = 0;
	bool more = false, left_out;
	int r = -ENAMETOOLONG;

	/* Not host_read(): 500 functions would leave two megabytes in the arena. */
	if ((size_t)snprintf(path, sizeof(path), "%sconfig", dir) < sizeof(path))
		r = p->h->ops->read(p->h, path, (char *)config, PCI_CFG_SPACE_SIZE, &len);
	if (r == 0 && len > PCI_CFG_SPACE_SIZE) {
		len = PCI_CFG_SPACE_SIZE;
		more = wants_extended(config, len);
		if (more && !(p->lean && !p->deep && config[PCI_CLASS_DEVICE + 1] == 0x03))
			r = p->h->ops->read(p->h, path, (char *)config, sizeof(config), &len);
	}
	if (r) {
		f->config_bytes = unseen(&none, r);
		no_capabilities(f, &none, r);
		return false;
	}
	left_out = more && len == PCI_CFG_SPACE_SIZE;
	more = pci_config_parse(f, config, len < sizeof(config) ? len : sizeof(config), dir);
	/* Not asked is not the same as not there. */
	if (left_out)
		f->acs_cap = f->acs_ctrl = f->rebar_bytes = f->rebar_max_bytes =
			(struct fact_int){ 0 };
	return more;
}

void pci_config_asleep(struct pci_function *f, const char *dir)
{
	const struct space none = { NULL, 0, dir };

	f->config_bytes = unseen(&none, -EOPNOTSUPP);
	no_capabilities(f, &none, -EOPNOTSUPP);
}

void pci_config_conventional(struct pci_function *f, const char *dir)
{
	const struct space none = { NULL, 0, dir };

	f->config_bytes = unseen(&none, -EOPNOTSUPP);
	no_capabilities(f, &none, -ENOENT);
}

void pci_config_virtual(struct pci_function *f, const char *dir)
{
	const struct space none = { NULL, 0, dir };

	f->mps = f->mrrs = f->relaxed_ordering = f->aspm = f->speed_mts = f->max_speed_mts =
		f->width = f->max_width = unseen(&none, -EOPNOTSUPP);
}
