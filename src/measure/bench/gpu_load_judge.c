/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules in the order in which a cause hides the others: heat, the server's brake, the latch,
 * the link, a limit, and what is left without one.
 */
#include "measure/bench/gpu_load_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stat.h"
#include "machine/model/gpu.h"

enum { SAMPLES_MIN = 4, SAMPLES_MAX = 4096 };

/* Percent of the time from which on it is no accident. */
#define WARM_SHARE 5.0
#define BRAKE_SHARE 1.0
#define CAPPED_SHARE 20.0
#define BUSY_PERCENT 90.0

const struct gpu_load_limit gpu_load_limits[] = {
	{ "NVIDIA H200", 600, 3900, 1000, 350,
	  "own measurements: BF16 657 to 798 TFLOP/s, copies 4164 to 4257 GB/s; DCGM's sources: "
	  "2950 to 3110 GB/s each way",
	  "2026-11" },
	{ "NVIDIA H100 80GB HBM3", 600, 2540, 1000, 350,
	  "gpu-fryer's reference (730 TFLOP/s), Nebius (729 to 731); DCGM's sources (2540 GB/s)",
	  "2025" },
	{ "NVIDIA B200", 1400, 5430, 1000, 450,
	  "Stas Bekman's table of achievable products (1745 TFLOP/s); DCGM's sources (5430 to "
	  "5870 GB/s)",
	  "2025" },
	{ "NVIDIA GB10", 55, 150, 900, 35,
	  "owners' figures: 62 to 97 TFLOP/s by library, copies 161 GB/s; the latch at 500 to "
	  "850 MHz or 15 to 30 W (NVIDIA's DGX Spark forum)",
	  "2026" },
	{ "NVIDIA RTX 6000 Ada Generation", 200, 600, 900, 120,
	  "derived: 55 % of the data sheet's 364 TFLOP/s, 63 % of 960 GB/s; nobody's measurement",
	  "2023" },
};
const size_t gpu_load_limit_count = sizeof(gpu_load_limits) / sizeof(gpu_load_limits[0]);

const struct gpu_load_limit *gpu_load_limit_of(const char *name)
{
	for (size_t i = 0; name && i < gpu_load_limit_count; i++)
		if (strcmp(gpu_load_limits[i].name, name) == 0)
			return &gpu_load_limits[i];
	return NULL;
}

const char *gpu_load_verdict_name(enum gpu_load_verdict v)
{
	static const char *const names[GPU_LOAD_VERDICTS] = { "healthy",     "thermal",
							      "power-brake", "power-latch",
							      "link",	     "power-cap",
							      "slow",	     "unknown" };

	return names[v];
}

/* --- from samples to one number each ------------------------------------------------------------
 */

static double median_of(const struct gpu_load_sample *s, size_t n, size_t offset)
{
	double *x = calloc(n, sizeof(*x)), out = -1;
	size_t k = 0;

	for (size_t i = 0; x && i < n; i++) {
		double v;

		memcpy(&v, (const char *)&s[i] + offset, sizeof(v));
		if (v >= 0)
			x[k++] = v;
	}
	if (k)
		out = stat_median_in_place(x, k);
	free(x);
	return out;
}

/* Percent of the time; negative when no sample tells. */
static double share_of(const struct gpu_load_sample *s, size_t n, size_t offset)
{
	double sum = 0, time = 0;

	for (size_t i = 0; i < n; i++) {
		double v;

		memcpy(&v, (const char *)&s[i] + offset, sizeof(v));
		if (v < 0 || !(s[i].seconds > 0))
			continue;
		sum += v < s[i].seconds ? v : s[i].seconds;
		time += s[i].seconds;
	}
	return time > 0 ? 100 * sum / time : -1;
}

/* Percent of the samples in which NVML gave one of these reasons. */
static double said(const struct gpu_load_sample *s, size_t n, long long bits)
{
	size_t told = 0, yes = 0;

	for (size_t i = 0; i < n; i++) {
		told += s[i].reasons >= 0;
		yes += s[i].reasons >= 0 && (s[i].reasons & bits);
	}
	return told ? 100.0 * (double)yes / (double)told : -1;
}

#define MEDIAN(s, n, member) median_of(s, n, offsetof(struct gpu_load_sample, member))
#define SHARE(s, n, member) share_of(s, n, offsetof(struct gpu_load_sample, member))

/* --- rules --------------------------------------------------------------------------------------
 */

static enum gpu_load_verdict give(struct gpu_load_answer *out, enum gpu_load_verdict v,
				  const char *remedy)
{
	snprintf(out->remedy, sizeof(out->remedy), "%s", remedy);
	return v;
}

/* Low clock and low power at full use. */
static bool starved(const struct gpu_load_sample *s, size_t n, const struct gpu_load_answer *a,
		    const struct gpu_load_limit *l)
{
	double busy = MEDIAN(s, n, busy_percent);

	return l && a->mhz >= 0 && a->mhz < l->latch_mhz && a->power_w >= 0 &&
	       a->power_w < l->latch_w && (busy < 0 || busy >= BUSY_PERCENT);
}

/* In most samples narrower or slower than card and slot can do: at full load no link sleeps. */
static bool narrow_link(const struct gpu_load_sample *s, size_t n, const struct gpu_load_facts *f)
{
	size_t told = 0, low = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i].link_gen <= 0 || s[i].link_width <= 0 || f->link_gen_max <= 0 ||
		    f->link_width_max <= 0)
			continue;
		told++;
		low += s[i].link_gen < f->link_gen_max || s[i].link_width < f->link_width_max;
	}
	return told && 2 * low > told;
}

static enum gpu_load_verdict rule(const struct gpu_load_sample *s, size_t n,
				  const struct gpu_load_facts *f, const struct gpu_load_limit *l,
				  struct gpu_load_answer *out)
{
	bool slow = l && ((out->tflop_s >= 0 && out->tflop_s < l->tflop_s) ||
			  (out->copy_gb_s >= 0 && out->copy_gb_s < l->copy_gb_s));
	double held = said(s, n,
			   EVENT_SW_POWER | EVENT_HW_SLOWDOWN | EVENT_SW_THERMAL |
				   EVENT_HW_THERMAL | EVENT_HW_POWER);
	bool low = starved(s, n, out, l);
	bool lowered =
		f->limit_w > 0 && f->limit_default_w > 0 && f->limit_w < 0.99 * f->limit_default_w;

	if (out->warm > WARM_SHARE ||
	    said(s, n, EVENT_SW_THERMAL | EVENT_HW_THERMAL) > CAPPED_SHARE)
		return give(
			out, GPU_LOAD_THERMAL,
			"too warm: look at fans, air flow, filters, the cold plate's contact and "
			"the temperature of what cools it");
	if (out->brake > BRAKE_SHARE || said(s, n, EVENT_HW_POWER) > CAPPED_SHARE)
		return give(out, GPU_LOAD_BRAKE,
			    "the server pulls its power brake: look at power supplies, their "
			    "redundancy and the chassis' power limit");
	if (low && held >= 0 && held < CAPPED_SHARE)
		return give(
			out, GPU_LOAD_LATCH,
			"low clock and low power at full use without any reason: power delivery "
			"is latched; take the machine off mains power for a minute (with USB-C "
			"power, the cable and supply too), then update its firmware");
	if (narrow_link(s, n, f))
		return give(out, GPU_LOAD_LINK,
			    "reseat the card or its riser, and look at the link's errors (\"show "
			    "pci\") and the slot's settings in the firmware");
	if (slow && lowered && out->capped > CAPPED_SHARE)
		return give(out, GPU_LOAD_CAPPED,
			    "its power limit is below the default: nvidia-smi -pl sets it");
	/* Where no reason can be told, that there is none was not seen. */
	if (low && held < 0)
		return give(
			out, GPU_LOAD_SLOW,
			"low clock and low power at full use, and NVML does not tell reasons: look "
			"at its power limit and temperature; where these are as usual, power "
			"delivery may be latched: take the machine off mains power for a minute");
	if (slow)
		return give(out, GPU_LOAD_SLOW,
			    "look who else uses it, at ECC and remapped rows (\"show gpu\"), and "
			    "compare with its neighbours");
	if (out->tflop_s < 0 && out->mhz < 0)
		return give(out, GPU_LOAD_UNKNOWN, "");
	return give(out, GPU_LOAD_HEALTHY, "");
}

/* "clock 1335 MHz", or that it was not told. */
static size_t value_text(char *text, size_t size, const char *name, double v, const char *unit,
			 int digits)
{
	int n = v >= 0 ? snprintf(text, size, "%s %.*f %s", name, digits, v, unit)
		       : snprintf(text, size, "%s not told", name);

	return n > 0 && (size_t)n < size ? (size_t)n : size - 1;
}

static void describe(struct gpu_load_answer *a, const struct gpu_load_limit *l)
{
	const struct {
		const char *name, *unit;
		double v;
		int digits;
	} rows[] = { { "products", "TFLOP/s", a->tflop_s, 0 },
		     { "copies", "GB/s", a->copy_gb_s, 0 },
		     { "clock", "MHz", a->mhz, 0 },
		     { "power", "W", a->power_w, 0 },
		     { "temperature", "C", a->temperature_c, 0 },
		     { "held by the power limit", "% of the time", a->capped, 0 },
		     { "by heat", "%", a->warm, 0 } };
	size_t at = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (i && at + 2 < sizeof(a->text)) {
			memcpy(a->text + at, ", ", 3);
			at += 2;
		}
		at += value_text(a->text + at, sizeof(a->text) - at, rows[i].name, rows[i].v,
				 rows[i].unit, rows[i].digits);
	}
	if (!l && at + 1 < sizeof(a->text))
		snprintf(a->text + at, sizeof(a->text) - at,
			 "; no thresholds are known for this hardware");
}

void gpu_load_judge(const struct gpu_load_sample *s, size_t n, const struct gpu_load_facts *f,
		    const struct gpu_load_limit *limit, struct gpu_load_answer *out)
{
	*out = (struct gpu_load_answer){ .verdict = GPU_LOAD_UNKNOWN };
	if (n < SAMPLES_MIN || n > SAMPLES_MAX) {
		snprintf(out->text, sizeof(out->text), "%zu samples; at least %d are needed", n,
			 SAMPLES_MIN);
		return;
	}
	/* What it settles to, not how it begins. */
	s += n / 2;
	n -= n / 2;
	out->tflop_s = MEDIAN(s, n, tflop_s);
	out->copy_gb_s = MEDIAN(s, n, copy_gb_s);
	out->mhz = MEDIAN(s, n, mhz);
	out->power_w = MEDIAN(s, n, power_w);
	out->temperature_c = MEDIAN(s, n, temperature_c);
	out->capped = SHARE(s, n, capped_s);
	out->warm = SHARE(s, n, warm_s);
	out->brake = SHARE(s, n, brake_s);
	describe(out, limit);
	out->verdict = rule(s, n, f, limit, out);
}
