/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What configuration space says of a function: identity and the capabilities that matter. The bytes
 * are untrusted; the walks stand in machine/model/pci_caps.c.
 */
#include "look/probe/pci.h"

#include <linux/pci_regs.h>
#include <stdio.h>

#include "machine/model/pci_caps.h"

struct space {
	struct pci_space s;
	const char *dir;
};

static struct fact_int value(const struct space *s, long long v)
{
	return fact_int_of(v, s->dir, "config");
}

static struct fact_int unseen(const struct space *s, int r)
{
	return (struct fact_int){ .f = fact_unseen(r, s->dir, "config") };
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
	unsigned flags = pci_get16(&s->s, at + PCI_EXP_FLAGS),
		 devcap = pci_get32(&s->s, at + PCI_EXP_DEVCAP),
		 devctl = pci_get16(&s->s, at + PCI_EXP_DEVCTL),
		 lnkcap = pci_get32(&s->s, at + PCI_EXP_LNKCAP),
		 lnkctl = pci_get16(&s->s, at + PCI_EXP_LNKCTL),
		 lnksta = pci_get16(&s->s, at + PCI_EXP_LNKSTA);
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
		unseen(s, s->s.len > PCI_CFG_SPACE_SIZE ? -ENOENT : -EOPNOTSUPP);
	if (s->s.len <= PCI_CFG_SPACE_SIZE)
		return;
	acs = pci_find_extended(&s->s, PCI_EXT_CAP_ID_ACS);
	if (acs && acs + 8 <= s->s.len) {
		f->acs_cap = value(s, pci_get16(&s->s, acs + PCI_ACS_CAP));
		f->acs_ctrl = value(s, pci_get16(&s->s, acs + PCI_ACS_CTRL));
	}
	rebar = pci_find_extended(&s->s, PCI_EXT_CAP_ID_REBAR);
	if (rebar && rebar + 12 <= s->s.len) {
		unsigned sizes = pci_get32(&s->s, rebar + PCI_REBAR_CAP) >> 4,
			 ctrl = pci_get32(&s->s, rebar + PCI_REBAR_CTRL);
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
	bool bridge = pci_header_type(&s->s) != PCI_HEADER_TYPE_NORMAL;

	f->vendor = value(s, pci_get16(&s->s, PCI_VENDOR_ID));
	f->device = value(s, pci_get16(&s->s, PCI_DEVICE_ID));
	f->class_ = value(s, pci_get32(&s->s, PCI_CLASS_REVISION) >> 8);
	f->subvendor = bridge ? unseen(s, -EOPNOTSUPP)
			      : value(s, pci_get16(&s->s, PCI_SUBSYSTEM_VENDOR_ID));
	f->subdevice =
		bridge ? unseen(s, -EOPNOTSUPP) : value(s, pci_get16(&s->s, PCI_SUBSYSTEM_ID));
}

/* Everything behind the header, with one reason why it was not seen. */
static void no_capabilities(struct pci_function *f, const struct space *s, int r)
{
	f->pcie_cap = f->port_type = f->mps = f->mps_cap = f->mrrs = f->relaxed_ordering = f->aspm =
		f->acs_cap = f->acs_ctrl = f->rebar_bytes = f->rebar_max_bytes = f->speed_mts =
			f->max_speed_mts = f->width = f->max_width = unseen(s, r);
}

bool pci_config_parse(struct pci_function *f, const unsigned char *config, size_t len,
		      const char *dir)
{
	struct space s = { { config, len }, dir };
	size_t at;

	if (len < PCI_SPACE_HEADER || pci_all_ones(&s.s)) {
		f->config_bytes = unseen(&s, len < PCI_SPACE_HEADER ? -EPROTO : -EIO);
		no_capabilities(f, &s, len < PCI_SPACE_HEADER ? -EPROTO : -EIO);
		return false;
	}
	f->config_bytes = value(&s, (long long)len);
	identity(f, &s);
	/* A normal user gets the header alone: the rest is hidden, not missing. */
	if (len == PCI_SPACE_HEADER) {
		no_capabilities(f, &s, -EACCES);
		return true;
	}
	at = pci_find_capability(&s.s, PCI_CAP_ID_EXP);
	if (!at || at + PCI_EXP_LNKSTA + 2 > s.s.len) {
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
	const struct pci_space s = { config, len };
	unsigned base = pci_get32(&s, PCI_CLASS_REVISION) >> 24;

	return len >= PCI_CFG_SPACE_SIZE && (base == 0x06 || base == 0x03) &&
	       pci_find_capability(&s, PCI_CAP_ID_EXP);
}

/* A virtual machine traps on every four bytes, 2 ms for the whole: the first 256 bytes come first
 * and often suffice. Nothing traps where a capture is read. */
bool pci_config_read(struct probe *p, struct pci_function *f, const char *dir)
{
	unsigned char config[PCI_CFG_SPACE_EXP_SIZE];
	char path[HOST_PATH_MAX];
	const struct space none = { { NULL, 0 }, dir };
	size_t first = p->h->id.captured ? sizeof(config) : PCI_CFG_SPACE_SIZE, len = 0;
	bool more = false, wanted, left_out;
	int r = -ENAMETOOLONG;

	/* Not host_read(): 500 functions would leave two megabytes in the arena. */
	if ((size_t)snprintf(path, sizeof(path), "%sconfig", dir) < sizeof(path))
		r = p->h->ops->read(p->h, path, (char *)config, first, &len);
	if (r == 0 && len > PCI_CFG_SPACE_SIZE) {
		more = wants_extended(config, PCI_CFG_SPACE_SIZE);
		wanted = more && !(p->lean && !p->deep && config[PCI_CLASS_DEVICE + 1] == 0x03);
		if (!wanted)
			len = PCI_CFG_SPACE_SIZE;
		else if (first < sizeof(config))
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
	const struct space none = { { NULL, 0 }, dir };

	f->config_bytes = unseen(&none, -EOPNOTSUPP);
	no_capabilities(f, &none, -EOPNOTSUPP);
}

void pci_config_conventional(struct pci_function *f, const char *dir)
{
	const struct space none = { { NULL, 0 }, dir };

	f->config_bytes = unseen(&none, -EOPNOTSUPP);
	no_capabilities(f, &none, -ENOENT);
}

void pci_config_virtual(struct pci_function *f, const char *dir)
{
	const struct space none = { { NULL, 0 }, dir };

	f->mps = f->mrrs = f->relaxed_ordering = f->aspm = f->speed_mts = f->max_speed_mts =
		f->width = f->max_width = unseen(&none, -EOPNOTSUPP);
}
