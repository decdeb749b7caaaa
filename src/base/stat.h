/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of samples, pure: arrays in, figures out. Everything here is robust against a few wild
 * samples and against samples that depend on their neighbours, because measurements are both.
 *
 * All functions expect finite samples; stat_check is how a caller makes sure. Those that can be
 * asked something that has no answer (no samples, too few) return a negative errno and leave *out
 * untouched: -ENODATA for too few samples, -EINVAL for a sample that is no number.
 */
#ifndef BASE_STAT_H
#define BASE_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stat_interval {
	double low, high;
};

/* 0; -ENODATA when there are none; -EINVAL when one is NaN or infinite. */
int stat_check(const double *x, size_t n);

/* --- order ------------------------------------------------------------------------------------ */
void stat_sort(double *x, size_t n);
/* The median of n >= 1 samples; reorders x. The mean of the middle two when n is even. */
double stat_median_in_place(double *x, size_t n);
int stat_median(const double *x, size_t n, double *out);
/*
 * The quantile p in [0, 1] of sorted samples: linear between the order statistics around
 * (n - 1) p, counted from 0 (definition 7 of Hyndman and Fan 1996, the default of R and NumPy).
 */
double stat_quantile(const double *sorted, size_t n, double p);
/* Median absolute deviation from the median, not scaled: times 1.4826 it estimates sigma. */
int stat_mad(const double *x, size_t n, double *out);

/* Samples far from the median, in robust sigmas (1.4826 MAD; 1.2533 mean deviation where more than
 * half of all samples are equal). */
struct stat_outliers {
	size_t low, high;
	double fence_low, fence_high;
};
int stat_outliers(const double *x, size_t n, double sigmas, struct stat_outliers *out);

/* --- order in time ---------------------------------------------------------------------------- */
/*
 * The integrated autocorrelation time: how many samples are worth one independent one. Initial
 * positive, monotone sequence (Geyer 1992). At least 1: what alternates is not called more than
 * independent. Above 65,536 samples by means of batches.
 */
double stat_act(const double *x, size_t n);
/* n / stat_act: between 1 and n; 0 for n = 0. */
double stat_effective(const double *x, size_t n);

struct stat_drift {
	double slope;	 /* per sample; the median of all pairs' slopes (Theil and Sen) */
	double relative; /* slope * (n - 1) / |median|: the change over the whole run */
	double p;	 /* Mann-Kendall, two-sided; variance widened for autocorrelation */
	bool found;	 /* p < 0.001 and |relative| >= tolerance */
};
/* At least 8 samples. Above 1,024 it works on medians of groups. */
int stat_drift(const double *x, size_t n, double tolerance, struct stat_drift *out);

/*
 * Whether the last window samples are steady: no trend larger than tolerance (relative to the
 * median) that noise does not explain (Mann-Kendall p < 0.05). False with fewer than window.
 */
bool stat_steady(const double *x, size_t n, size_t window, double tolerance);

/* --- two states ------------------------------------------------------------------------------- */
struct stat_modes {
	bool found;	   /* two modes that are apart by at least tolerance of the median */
	bool step;	   /* and the change happened once: a level shift, no flipping */
	double low, high;  /* the median of each state */
	double split;	   /* between them */
	double share_high; /* of the samples */
	size_t switches;   /* how often neighbours in time are in different states */
	double dip;	   /* Hartigan's dip of all samples */
};
/* Hartigan's dip statistic of sorted samples (n >= 1): the distance to the nearest distribution
 * with one mode. Between 1/(2n) and 1/4. */
double stat_dip(const double *sorted, size_t n);
/* The dip that 1 % of samples of this size from a uniform distribution exceed. */
double stat_dip_critical(size_t n);
/* At least 10 samples. */
int stat_modes(const double *x, size_t n, double tolerance, struct stat_modes *out);

/* --- intervals by resampling ------------------------------------------------------------------ */
/* A small generator of its own: results do not depend on a library's. */
struct stat_random {
	uint64_t state;
};
uint64_t stat_random_next(struct stat_random *r);
/* Uniform in [0, n), n >= 1, n < 2^32. */
size_t stat_random_below(struct stat_random *r, size_t n);
/* Standard normal. */
double stat_random_normal(struct stat_random *r);

enum { STAT_RESAMPLES = 2000, STAT_RESAMPLE_MAX = 4096 };

/*
 * Percentile bootstrap of the median, with circular blocks of about two autocorrelation times when
 * samples depend on each other. Above STAT_RESAMPLE_MAX samples, where resampling is slow and adds
 * nothing, the order statistics around the middle, their distance widened by the autocorrelation
 * of "below the median". Deterministic: the same samples and seed give the same interval.
 * One sample gives an interval without width.
 */
int stat_median_interval(const double *x, size_t n, double level, uint64_t seed,
			 struct stat_interval *out);

/* A run measured in rounds (fresh set-up each); first[i] is the index of round i's first sample. */
struct stat_arm {
	const double *x;
	size_t n;
	const size_t *first;
	size_t rounds;
};

struct stat_ratio {
	double ratio; /* median of b over median of a */
	struct stat_interval interval;
	/* What decided the width: samples within rounds, or rounds that differ from each other. */
	bool by_rounds;
};
/*
 * The ratio of two medians of positive samples with its interval: the wider one of resampled
 * samples and (with at least two rounds each) of Welch's t over the logarithms of the rounds'
 * medians. The second covers what a fresh set-up changes, which no number of samples in one round
 * shows. -ERANGE: a sample is not positive.
 */
int stat_ratio(const struct stat_arm *a, const struct stat_arm *b, double level, uint64_t seed,
	       struct stat_ratio *out);
/* The quantile p of Student's t with df >= 1 (not only whole) degrees of freedom. */
double stat_t_quantile(double p, double df);

/* --- all of it -------------------------------------------------------------------------------- */
struct stat_summary {
	size_t n;
	double median, mad, mean, min, max;
	double p1, p5, p25, p75, p95, p99;
	struct stat_interval interval; /* of the median, 95 % */
	bool has_interval;	       /* at least STAT_INTERVAL_N samples */
	double act, effective;
	struct stat_outliers outliers; /* beyond 5 robust sigmas */
	struct stat_drift drift;       /* p is 1 with too few samples */
	struct stat_modes modes;
};
enum { STAT_SEED = 20240229, STAT_INTERVAL_N = 5 };
int stat_summary(const double *x, size_t n, struct stat_summary *out);
/* Half the interval's width relative to the median; infinite without an interval. */
double stat_half_width(const struct stat_summary *s);

#endif
