/* SPDX-License-Identifier: Apache-2.0 */
/* What lspci prints (-v to -vvv, -n or -nn, -x to -xxxx), as the folders of sysfs that it was made
 * from. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/posted.h"

enum { NVIDIA = 0x10de, CLASS_BRIDGE = 0x06, HEX_LINE = 16, SPACE = 4096, DEPTH_MAX = 32 };

/* Hexadecimal digits, all of them; -1. */
static int hex(const char *s, size_t digits)
{
	int v = 0;

	for (size_t i = 0; i < digits; i++) {
		if (!isxdigit((unsigned char)s[i]))
			return -1;
		v = v * 16 + (isdigit((unsigned char)s[i]) ? s[i] - '0' : (s[i] | 0x20) - 'a' + 10);
	}
	return v;
}

/* "0000:01:00.0 " or "01:00.0 " at the beginning; the length of the address, or 0. */
static size_t address_of(const char *line, char out[16])
{
	size_t n = strlen(line) > 12 && line[4] == ':' ? 5 : 0;
	const char *s = line + n;

	if (n && hex(line, 4) < 0)
		return 0;
	if (strlen(s) < 8 || hex(s, 2) < 0 || s[2] != ':' || hex(s + 3, 2) < 0 || s[5] != '.' ||
	    s[6] < '0' || s[6] > '7' || s[7] != ' ')
		return 0;
	snprintf(out, 16, "%.4s:%.7s", n ? line : "0000", s);
	for (char *c = out; *c; c++)
		*c = *c >= 'A' && *c <= 'F' ? (char)(*c | 0x20) : *c;
	return n + 7;
}

static struct posted_function *function_of(struct posted *p, const char *address)
{
	struct posted_function *f = map_get(&p->by_address, address);

	if (f || p->n_functions == POSTED_FUNCTIONS_MAX)
		return f;
	f = &p->functions[p->n_functions++];
	*f = (struct posted_function){ .vendor = -1,
				       .device = -1,
				       .subvendor = -1,
				       .subdevice = -1,
				       .class_ = -1,
				       .revision = -1,
				       .numa = -2,
				       .group = -1,
				       .secondary = -1,
				       .subordinate = -1 };
	strcpy(f->address, address);
	*map_at(p->arena, &p->by_address, address) = f;
	return f;
}

/* "[10de:2e12]", the last of the line; false: there is none. */
static bool pair(const char *line, int *a, int *b)
{
	const char *found = NULL;

	for (const char *s = line; (s = strchr(s, '[')); s++)
		if (strlen(s) >= 11 && s[5] == ':' && s[10] == ']' && hex(s + 1, 4) >= 0 &&
		    hex(s + 6, 4) >= 0)
			found = s;
	if (!found)
		return false;
	*a = hex(found + 1, 4);
	*b = hex(found + 6, 4);
	return true;
}

struct named {
	const char *name;
	int number;
};

/* Of pci.ids, what judgements need: without -n or -nn only the names are printed. */
static const struct named classes[] = {
	{ "3D controller", 0x0302 },
	{ "VGA compatible controller", 0x0300 },
	{ "Host bridge", 0x0600 },
	{ "PCI bridge", 0x0604 },
	{ "Bridge", 0x0680 },
	{ "Ethernet controller", 0x0200 },
	{ "Infiniband controller", 0x0207 },
	{ "Non-Volatile memory controller", 0x0108 },
};
static const struct named makers[] = {
	{ "NVIDIA Corporation", NVIDIA },
	{ "Mellanox Technologies", 0x15b3 },
	{ "Intel Corporation", 0x8086 },
	{ "Advanced Micro Devices, Inc. [AMD]", 0x1022 },
};

static int number_of(const struct named *list, size_t n, const char *s)
{
	for (size_t i = 0; i < n; i++)
		if (str_starts(s, list[i].name))
			return list[i].number;
	return -1;
}

/* "3D controller: NVIDIA Corporation Device 2331 (rev a1)" */
static int header_of_names(struct posted_function *f, const char *s)
{
	const char *maker = strstr(s, ": "), *device = maker ? strstr(maker, " Device ") : NULL;

	f->vendor = maker ? number_of(makers, sizeof(makers) / sizeof(*makers), maker + 2) : -1;
	f->device = device && strlen(device) >= 12 ? hex(device + 8, 4) : -1;
	return number_of(classes, sizeof(classes) / sizeof(*classes), s);
}

/* "VGA compatible controller [0300]: NVIDIA Corporation GB10 [10de:2e12] (rev a1)", or, with -n,
 * "0300: 10de:2e12 (rev a1)". */
static void header(struct posted_function *f, const char *s)
{
	const char *rev = strstr(s, "(rev "), *prog = strstr(s, "(prog-if "), *c = strstr(s, "]: ");
	int class_ = -1, interface = prog ? hex(prog + 9, 2) : 0;

	if (strlen(s) >= 15 && s[4] == ':' && s[5] == ' ' && s[10] == ':' && hex(s + 6, 4) >= 0 &&
	    hex(s + 11, 4) >= 0) {
		class_ = hex(s, 4);
		f->vendor = hex(s + 6, 4);
		f->device = hex(s + 11, 4);
	} else if (c && c - s >= 5 && c[-5] == '[') {
		class_ = hex(c - 4, 4);
		pair(c, &f->vendor, &f->device);
	} else {
		class_ = header_of_names(f, s);
	}
	if (class_ >= 0)
		f->class_ = class_ << 8 | (interface > 0 ? interface : 0);
	f->is_virtual = f->is_virtual || strstr(s, "Virtual Function");
	if (rev)
		f->revision = hex(rev + 5, 2);
}

static void link_line(struct posted_link *l, const char *line)
{
	const char *speed = strstr(line, "Speed "), *width = strstr(line, "Width x"), *end;
	long long n;

	if (speed && parse_decimal(speed + 6, &l->gts, &end))
		l->gts = 0;
	if (!width)
		return;
	n = strtoll(width + 7, NULL, 10);
	l->width = n >= 0 && n <= 64 ? (int)n : 0;
}

/* "10: 86 80 ..." of -x; false: it is none. */
static bool hex_line(struct posted *p, struct posted_function *f, const char *line)
{
	size_t digits = strcspn(line, ":");
	int at = digits >= 2 && digits <= 3 && line[digits] == ':' ? hex(line, digits) : -1;
	const char *s = line + digits + 1;

	if (at < 0 || at % HEX_LINE || at > SPACE - HEX_LINE || *s != ' ')
		return false;
	if (!f->config)
		f->config = arena_alloc(p->arena, SPACE);
	for (int i = 0; i < HEX_LINE && *s == ' '; i++, s += 3) {
		int byte = strlen(s) >= 3 ? hex(s + 1, 2) : -1;

		if (byte < 0)
			return i > 0;
		f->config[at + i] = (unsigned char)byte;
		/* A dump has no holes. */
		if ((size_t)at + (size_t)i == f->config_len)
			f->config_len++;
	}
	return true;
}

static void detail(struct posted *p, struct posted_function *f, const char *s)
{
	unsigned a, b, c;

	if (str_starts(s, "Subsystem:") && !pair(s, &f->subvendor, &f->subdevice) &&
	    strlen(s) >= 20 && s[15] == ':' && hex(s + 11, 4) >= 0 && hex(s + 16, 4) >= 0) {
		f->subvendor = hex(s + 11, 4);
		f->subdevice = hex(s + 16, 4);
	}
	if (str_starts(s, "Kernel driver in use: ")) {
		snprintf(f->driver, sizeof(f->driver), "%.*s",
			 (int)strspn(s + 22, "abcdefghijklmnopqrstuvwxyz0123456789_-"), s + 22);
		p->drivers_shown = true;
	}
	if (sscanf(s, "Bus: primary=%2x, secondary=%2x, subordinate=%2x", &a, &b, &c) == 3) {
		f->secondary = (int)b;
		f->subordinate = (int)c;
	}
	if (sscanf(s, "NUMA node: %4u", &a) == 1)
		f->numa = (int)a;
	if (sscanf(s, "IOMMU group: %6u", &a) == 1)
		f->group = (int)a;
	if (str_starts(s, "LnkCap:"))
		link_line(&f->most, s);
	if (str_starts(s, "LnkSta:"))
		link_line(&f->now, s);
	if (strstr(s, "<access denied>"))
		p->refused = true;
}

struct posted_function *posted_lspci_line(struct posted *p, const char *line,
					  struct posted_function *at)
{
	char address[16];
	size_t n = address_of(line, address);

	if (n) {
		at = function_of(p, address);
		if (at)
			header(at, line + n + 1);
		return at;
	}
	if (at && (*line == '\t' || *line == ' ')) {
		detail(p, at, line + strspn(line, " \t"));
		return at;
	}
	return at && hex_line(p, at, line) ? at : NULL;
}

static unsigned from_config(const struct posted_function *f, size_t at, unsigned bytes)
{
	unsigned v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (unsigned)f->config[at + i] << 8 * i;
	return v;
}

/* Configuration space says what the words left out. */
static void complete(struct posted_function *f)
{
	unsigned id = 0xffffffff;

	if (f->config && f->config_len >= 64)
		id = from_config(f, 0, 4);
	/* The registers of a virtual function answer no ids. */
	f->is_virtual = f->is_virtual || (f->config && f->config_len >= 64 && id == 0xffffffff);
	if (id == 0xffffffff || id == 0)
		return;
	f->vendor = (int)(id & 0xffff);
	f->device = (int)(id >> 16);
	f->class_ = (int)from_config(f, 9, 3);
	if ((f->config[0x0e] & 0x7f) == 1) {
		f->secondary = f->config[0x19];
		f->subordinate = f->config[0x1a];
	} else if (f->subvendor < 0) {
		f->subvendor = (int)from_config(f, 0x2c, 2);
		f->subdevice = (int)from_config(f, 0x2e, 2);
	}
}

/* All functions of the machine: said so, or a listing that has bridges and other makers' devices,
 * as one of NVIDIA's alone has not. */
static bool is_whole(const struct posted *p)
{
	bool bridge = false, other = false;

	for (size_t i = 0; i < p->n_functions; i++) {
		bridge = bridge || p->functions[i].class_ >> 16 == CLASS_BRIDGE;
		other = other || (p->functions[i].vendor >= 0 && p->functions[i].vendor != NVIDIA);
	}
	return p->all_functions || (bridge && other);
}

static int bus_of(const struct posted_function *f)
{
	return hex(f->address + 5, 2);
}

/* The bridge that f's bus hangs from; NULL: none covers it. */
static const struct posted_function *bridge_of(const struct posted *p,
					       const struct posted_function *f)
{
	const struct posted_function *best = NULL;

	for (size_t i = 0; i < p->n_functions; i++) {
		const struct posted_function *b = &p->functions[i];

		if (b != f && b->secondary > 0 && strncmp(b->address, f->address, 5) == 0 &&
		    bus_of(b) < b->secondary && b->secondary <= bus_of(f) &&
		    bus_of(f) <= b->subordinate && (!best || b->secondary > best->secondary))
			best = b;
	}
	return best;
}

/* Its folder below /sys/devices; NULL: the bridges on the way were not printed. */
static const char *folder_of(struct posted *p, const struct posted_function *f, int depth)
{
	const struct posted_function *up = bridge_of(p, f);
	const char *folder;

	if (!up)
		return arena_printf(p->arena, "/sys/devices/pci%.7s/%s", f->address, f->address);
	folder = depth < DEPTH_MAX && up->secondary == bus_of(f) ? folder_of(p, up, depth + 1)
								 : NULL;
	return folder ? arena_printf(p->arena, "%s/%s", folder, f->address) : NULL;
}

static void put(struct posted *p, const char *folder, const char *name, const char *text)
{
	record_put_file(p->record, arena_printf(p->arena, "%s/%s", folder, name), text,
			strlen(text));
}

static void put_link_state(struct posted *p, const char *folder, const char *when,
			   const struct posted_link *l)
{
	if (!l->width)
		return;
	put(p, folder, arena_printf(p->arena, "%s_link_speed", when),
	    l->gts > 0 ? arena_printf(p->arena, "%.1f GT/s PCIe\n", l->gts) : "Unknown\n");
	put(p, folder, arena_printf(p->arena, "%s_link_width", when),
	    arena_printf(p->arena, "%d\n", l->width));
}

static void put_function(struct posted *p, const struct posted_function *f, const char *folder)
{
	struct arena *a = p->arena;

	/* Text without any driver line does not show whether a driver is loaded. */
	if (p->drivers_shown && f->class_ >= 0 && f->vendor >= 0 && f->device >= 0)
		put(p, folder, "uevent",
		    arena_printf(a,
				 "%s%s%sPCI_CLASS=%X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\n"
				 "PCI_SLOT_NAME=%s\n",
				 *f->driver ? "DRIVER=" : "", f->driver, *f->driver ? "\n" : "",
				 (unsigned)f->class_, (unsigned)f->vendor, (unsigned)f->device,
				 f->subvendor < 0 ? 0 : (unsigned)f->subvendor,
				 f->subdevice < 0 ? 0 : (unsigned)f->subdevice, f->address));
	if (f->class_ >= 0)
		put(p, folder, "class", arena_printf(a, "0x%06x\n", (unsigned)f->class_));
	if (f->vendor >= 0)
		put(p, folder, "vendor", arena_printf(a, "0x%04x\n", (unsigned)f->vendor));
	if (f->device >= 0)
		put(p, folder, "device", arena_printf(a, "0x%04x\n", (unsigned)f->device));
	if (f->numa >= 0)
		put(p, folder, "numa_node", arena_printf(a, "%d\n", f->numa));
	put_link_state(p, folder, "current", &f->now);
	put_link_state(p, folder, "max", &f->most);
	if (f->config && f->config_len >= 64)
		record_put_file(p->record, arena_printf(a, "%s/config", folder),
				(const char *)f->config,
				f->config_len >= SPACE ? SPACE
				: f->config_len >= 256 ? 256
						       : 64);
	if (*f->driver)
		record_put_link(p->record, arena_printf(a, "%s/driver", folder),
				arena_printf(a, "/sys/bus/pci/drivers/%s", f->driver));
	if (f->is_virtual)
		record_put_link(p->record, arena_printf(a, "%s/physfn", folder),
				arena_printf(a, "/sys/bus/pci/devices/%.7s:00.0", f->address));
	if (f->group >= 0)
		record_put_link(p->record, arena_printf(a, "%s/iommu_group", folder),
				arena_printf(a, "/sys/kernel/iommu_groups/%d", f->group));
}

void posted_lspci_finish(struct posted *p)
{
	bool bridges = false;

	for (size_t i = 0; i < p->n_functions; i++) {
		complete(&p->functions[i]);
		bridges = bridges || p->functions[i].secondary > 0;
	}
	/* What is missing of a part of the list would seem absent. */
	if (!is_whole(p))
		p->n_functions = 0;
	for (size_t i = 0; i < p->n_functions; i++) {
		const struct posted_function *f = &p->functions[i];
		const char *place = arena_printf(p->arena, "/sys/bus/pci/devices/%s", f->address),
			   *folder = bridges ? folder_of(p, f, 0) : NULL;

		if (folder)
			record_put_link(p->record, place, folder);
		/* Its ids were not printed: it is there, and no more is known. */
		if (f->vendor >= 0 || f->class_ >= 0)
			put_function(p, f, folder ? folder : place);
		else if (!folder)
			put(p, place, "posted", "");
	}
	if (p->n_functions)
		record_put_names(p->record, "/sys/bus/pci/devices");
}
