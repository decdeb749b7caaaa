/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PCI configuration space of any content and length: the parser ends, stays inside, and says of
 * every fact either a value that the registers can hold or why there is none. libFuzzer's entry;
 * driver.c runs it without libFuzzer.
 */
#include <stdlib.h>

#include "look/probe/probe.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void expect(bool holds)
{
	if (!holds)
		abort();
}

static bool power_of_two(long long v, long long lo, long long hi)
{
	return v >= lo && v <= hi && (v & (v - 1)) == 0;
}

static void size_ok(const struct fact_int *f)
{
	expect(f->f.seen != SEEN_UNASKED);
	expect(!seen_ok(&f->f) || power_of_two(f->v, 128, 4096));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct pci_function f = { 0 };
	/* A copy of exactly this length, so that a sanitizer sees every byte too many. */
	unsigned char *config = calloc(1, size ? size : 1);
	bool there;

	if (!config)
		return 0;
	for (size_t i = 0; i < size; i++)
		config[i] = data[i];
	there = pci_config_parse(&f, config, size > 4096 ? 4096 : size, "/d/");
	free(config);
	expect(there == seen_ok(&f.config_bytes.f));
	expect(there || size < 64 || f.config_bytes.f.err == EIO);
	size_ok(&f.mps);
	size_ok(&f.mps_cap);
	size_ok(&f.mrrs);
	expect(!seen_ok(&f.pcie_cap.f) ||
	       (f.pcie_cap.v >= 0x40 && f.pcie_cap.v <= 0xfc && f.pcie_cap.v % 4 == 0));
	expect(!seen_ok(&f.speed_mts.f) || (f.speed_mts.v >= 2500 && f.speed_mts.v <= 64000));
	expect(!seen_ok(&f.width.f) || (f.width.v >= 0 && f.width.v < 64));
	expect(!seen_ok(&f.rebar_bytes.f) || power_of_two(f.rebar_bytes.v, 1 << 20, 1ll << 60));
	expect(!seen_ok(&f.aspm.f) || (f.aspm.v >= 0 && f.aspm.v <= 3));
	return 0;
}
