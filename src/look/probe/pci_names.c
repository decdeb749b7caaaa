/* SPDX-License-Identifier: Apache-2.0 */
/* Names of PCI devices: a few that this program is about, and the system's pci.ids for all others.
 */
#include <stdlib.h>
#include <string.h>

#include "look/probe/probe.h"
#include "base/arena.h"
#include "base/text.h"

enum { NVIDIA = 0x10de, MELLANOX = 0x15b3, IDS_MAX = 8 << 20 };

/* Vendor and device of a function as one number, -1 when one of them was not seen. */
static long long key_of(const struct pci_function *f)
{
	long long vendor = fact_or(&f->vendor, -1), device = fact_or(&f->device, -1);

	return vendor < 0 || device < 0 ? -1 : (vendor & 0xffff) << 16 | (device & 0xffff);
}

static int by_key(const void *a, const void *b)
{
	long long x = key_of(*(struct pci_function *const *)a);
	long long y = key_of(*(struct pci_function *const *)b);

	return x < y ? -1 : x > y;
}

/* The first function whose key is not below key. */
static size_t lower_bound(struct pci_function *const *list, size_t n, long long key)
{
	size_t lo = 0;

	while (lo < n) {
		size_t mid = lo + (n - lo) / 2;

		if (key_of(list[mid]) < key)
			lo = mid + 1;
		else
			n = mid;
	}
	return lo;
}

struct names {
	struct probe *p;
	struct pci_function **list; /* sorted by key */
	size_t n;
	const char *from;
};

static void name(struct names *s, struct fact_str *fact, const char *text)
{
	if (!fact->f.leaf)
		*fact = fact_str_of(arena_strdup(s->p->a, text), "", s->from);
}

const char *pci_known_name(const struct pci_function *f)
{
	/* Source: pci.ids; 2335 as its driver names it. */
	static const struct {
		unsigned short vendor, device;
		const char *name;
	} known[] = {
		{ NVIDIA, 0x2335, "H200 SXM" },
		{ NVIDIA, 0x233b, "H200 NVL" },
		{ NVIDIA, 0x2330, "H100 SXM" },
		{ NVIDIA, 0x2331, "H100 PCIe" },
		{ NVIDIA, 0x2321, "H100 NVL" },
		{ NVIDIA, 0x20b0, "A100 SXM 40GB" },
		{ NVIDIA, 0x20b2, "A100 SXM 80GB" },
		{ NVIDIA, 0x20b5, "A100 PCIe 80GB" },
		{ NVIDIA, 0x20f1, "A100 PCIe 40GB" },
		{ NVIDIA, 0x26b1, "RTX 6000 Ada" },
		{ NVIDIA, 0x26b5, "L40" },
		{ NVIDIA, 0x26b9, "L40S" },
		{ NVIDIA, 0x2230, "RTX A6000" },
		{ NVIDIA, 0x22a3, "NVSwitch (H100)" },
		{ NVIDIA, 0x1af1, "NVSwitch (A100)" },
		{ MELLANOX, 0x1013, "ConnectX-4" },
		{ MELLANOX, 0x1015, "ConnectX-4 Lx" },
		{ MELLANOX, 0x1017, "ConnectX-5" },
		{ MELLANOX, 0x1019, "ConnectX-5 Ex" },
		{ MELLANOX, 0x101b, "ConnectX-6" },
		{ MELLANOX, 0x101d, "ConnectX-6 Dx" },
		{ MELLANOX, 0x101e, "ConnectX virtual function" },
		{ MELLANOX, 0x101f, "ConnectX-6 Lx" },
		{ MELLANOX, 0x1021, "ConnectX-7" },
		{ MELLANOX, 0x1023, "ConnectX-8" },
		{ MELLANOX, 0xa2d2, "BlueField" },
		{ MELLANOX, 0xa2d6, "BlueField-2" },
		{ MELLANOX, 0xa2dc, "BlueField-3" },
	};
	long long vendor = fact_or(&f->vendor, 0), device = fact_or(&f->device, 0);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].vendor == vendor && known[i].device == device)
			return known[i].name;
	return gb10_name(f);
}

/* "10de  NVIDIA Corporation": true, and its number, when functions of that vendor are there. */
static bool vendor_line(struct names *s, const char *number, const char *text,
			unsigned long long *vendor)
{
	size_t i;

	if (parse_hex(number, vendor) || *vendor > 0xffff)
		return false;
	i = lower_bound(s->list, s->n, (long long)*vendor << 16);
	if (i == s->n || key_of(s->list[i]) >> 16 != (long long)*vendor)
		return false;
	for (; i < s->n && key_of(s->list[i]) >> 16 == (long long)*vendor; i++)
		name(s, &s->list[i]->vendor_name, text);
	return true;
}

static void device_line(struct names *s, const char *number, const char *text,
			unsigned long long vendor)
{
	unsigned long long device;
	long long key;

	if (parse_hex(number, &device) || device > 0xffff)
		return;
	key = (long long)(vendor << 16 | device);
	for (size_t i = lower_bound(s->list, s->n, key); i < s->n && key_of(s->list[i]) == key; i++)
		name(s, &s->list[i]->device_name, text);
}

/* Vendors begin a line, their devices stand behind one tab, subsystems behind two; after the
 * vendors follow classes ("C 03  Display controller"). Source: the head of the file itself. */
static void read_ids(struct names *s, char *text)
{
	unsigned long long vendor = 0;
	bool wanted = false;
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		bool device = line[0] == '\t' && line[1] != '\t';
		char *blank;

		if (*line == '#' || (line[0] == '\t' && (!device || !wanted)))
			continue;
		blank = strstr(line, "  ");
		if (!blank) {
			wanted = wanted && device;
			continue;
		}
		*blank = '\0';
		if (device)
			device_line(s, line + 1, blank + 2, vendor);
		else
			wanted = vendor_line(s, line, blank + 2, &vendor);
	}
}

void pci_names_fill(struct probe *p)
{
	static const char *const places[] = { "/usr/share/misc/pci.ids",
					      "/usr/share/hwdata/pci.ids" };
	struct names s = { .p = p, .n = p->m->pci.n };
	char *text;

	s.list = arena_array(p->a, s.n, sizeof(*s.list));
	for (size_t i = 0; i < s.n; i++)
		s.list[i] = (struct pci_function *)p->m->pci.items + i;
	qsort(s.list, s.n, sizeof(*s.list), by_key);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (host_read(p->h, places[i], IDS_MAX, p->a, &text, NULL))
			continue;
		s.from = places[i];
		read_ids(&s, text);
		return;
	}
}
