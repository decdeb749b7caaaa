/* SPDX-License-Identifier: Apache-2.0 */
/* cuFile's table of functions, its environment, and its counters. */
#include "machine/cuda/cufile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define MISSING                                                                                    \
	(struct cufile_answer)                                                                     \
	{                                                                                          \
		CUFILE_MISSING, 0                                                                  \
	}
static struct cufile_answer missing_driver_open(void)
{
	return MISSING;
}

static struct cufile_answer missing_properties(struct cufile_properties *out)
{
	return MISSING;
}

static struct cufile_answer missing_file_add(void **out, const struct cufile_file *f)
{
	return MISSING;
}

static void missing_file_end(void *file)
{
}

static struct cufile_answer missing_buffer_add(cuda_address at, size_t bytes, int flags)
{
	return MISSING;
}

static struct cufile_answer missing_buffer_end(cuda_address at)
{
	return MISSING;
}

static ssize_t missing_read(void *file, cuda_address at, size_t bytes, off_t from, off_t offset)
{
	return -CUFILE_MISSING;
}

static struct cufile_answer missing_count_level(int level)
{
	return MISSING;
}

static struct cufile_answer missing_count_read(void *out)
{
	return MISSING;
}
#pragma GCC diagnostic pop
#define missing_driver_close missing_driver_open
#define missing_count_start missing_driver_open

#define CUFILE_CALL(answer, field, symbol, params)                                                 \
	{ symbol, offsetof(struct cufile_api, field), (void (*)(void))missing_##field },
static const struct vendor_symbol symbols[] = {
#include "machine/cuda/cufile.def"
};

static const char *cufile_sentence(int error)
{
	static const struct {
		int error;
		const char *text;
	} rows[] = {
		{ 5001, "nvidia-fs is not loaded, and compatibility mode is off" },
		{ 5004, "nvidia-fs and the library have different versions" },
		{ 5007, "not supported on this platform" },
		{ 5008, "this type of file or file system is not supported" },
		{ 5009, "not supported for this GPU" },
		{ 5010, "rejected by nvidia-fs" },
		{ CUFILE_CUDA, "rejected by the CUDA driver" },
		{ 5016, "exceeds the limit of pinned memory" },
		{ 5018, "not supported for this type of file" },
		{ 5019, "the file is open with unsupported flags" },
		{ 5020, "the file was opened without O_DIRECT" },
		{ 5027, "udev does not list the file's disk or file system; in a container, mount "
			"/run/udev" },
		{ 5031, "cannot reopen the file by its name" },
		{ 5033, "nvidia-fs did not start" },
		{ 5034, "disabled in cufile.json" },
		{ CUFILE_MISSING, "the library lacks this function" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].error == error)
			return rows[i].text;
	return "unknown error";
}

int cufile_check(struct cufile_answer a, struct err *e, const char *what)
{
	char cuda[32] = "";

	if (!a.error)
		return 0;
	if (a.error == CUFILE_CUDA)
		snprintf(cuda, sizeof(cuda), ", CUDA error %d", a.cuda);
	return err_set(e, -EOPNOTSUPP, "cuFile: %s: %s (error %d%s)", what,
		       cufile_sentence(a.error), a.error, cuda);
}

#define MOST (1ull << 40)

/* Level 3 of its statistics; sizes and places of CUfileStatsLevel3_t in 64-bit words. */
enum {
	LEVEL = 3,
	WORDS = 4096,
	GPUS = 128, /* how many, 32 bits */
	FIRST = 129,
	PER_GPU = 31,
	PER_UUID = 2,
	READS = PER_UUID + 4,
	PEER,
	MODULE,
	HOST,
	GPUS_MAX = 16
};

bool cufile_count(const struct cufile *c, struct cufile_counts *out)
{
	uint64_t *words = c->counts ? calloc(WORDS, sizeof(*words)) : NULL, n;
	bool well = words && !c->api.count_read(words).error;

	*out = (struct cufile_counts){ 0 };
	n = well ? words[GPUS] & 0xffffffff : 0;
	for (uint64_t i = 0; i < n && i < GPUS_MAX; i++) {
		const uint64_t *g = words + FIRST + i * PER_GPU;

		out->reads += g[READS];
		out->peer += g[PEER];
		out->module += g[MODULE];
		out->host += g[HOST];
	}
	free(words);
	/* Numbers that cannot be are of a layout that is not known here. */
	return well && n && n <= GPUS_MAX &&
	       (out->reads | out->peer | out->module | out->host) < MOST;
}

const char *cufile_way(const struct cufile *c, const struct cufile_counts *from,
		       const struct cufile_counts *to)
{
	uint64_t peer = from && to ? to->peer - from->peer : 0,
		 module = from && to ? to->module - from->module : 0,
		 host = from && to ? to->host - from->host : 0;

	if (peer && !host)
		return "direct: PCI peer-to-peer";
	if (module && !host)
		return "direct: nvidia-fs";
	if (peer || module)
		return "data goes partly directly, partly through host memory";
	if (host)
		return "compatibility mode: data goes through host memory, not directly";
	if (!c->module_major)
		return "nvidia-fs is not loaded: reads go through host memory unless PCI "
		       "peer-to-peer is on; this library does not count direct reads";
	return "nvidia-fs is loaded; this library does not count direct reads";
}

int cufile_open(struct cufile *c, struct err *e)
{
	struct cufile_properties p;
	int r;

	*c = (struct cufile){ 0 };
	setenv("CUFILE_LOGFILE_PATH", "/dev/null", 0);
	setenv("CUFILE_ALLOW_COMPAT_MODE", "true", 0);
	r = cuda_library_open(cuda_cufile, false, symbols, sizeof(symbols) / sizeof(symbols[0]),
			      &c->api, &c->lib, e);
	if (r)
		return r;
	if (c->api.read == missing_read || c->api.file_add == missing_file_add)
		r = err_set(e, -ELIBACC, "%s is not the cuFile library", c->lib.path);
	/* Starting it says how many of a GPU's reads took which way from then on. */
	if (r == 0 && !c->api.count_level(LEVEL).error)
		c->counts = true;
	r = r ? r : cufile_check(c->api.driver_open(), e, "initializing");
	if (r) {
		cuda_library_close(&c->lib);
		return r;
	}
	c->counts = c->counts && !c->api.count_start().error;
	memset(&p, 0, sizeof(p));
	if (!c->api.properties(&p).error)
		c->module_major = p.major;
	return 0;
}

void cufile_close(struct cufile *c)
{
	if (c->lib.handle)
		c->api.driver_close();
	c->lib.handle = NULL;
}
