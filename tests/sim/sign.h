/* SPDX-License-Identifier: Apache-2.0 */
/* The exact sign test: of the rules that proofs could use, not the one that they do. */
#ifndef SIM_SIGN_H
#define SIM_SIGN_H

#include "base/stat.h"

/*
 * The number of order statistics that the exact sign test cuts off on one side: the largest k with
 * P(Binomial(n, 1/2) < k) <= alpha. 0: n is too small for any bound at this alpha.
 */
size_t sign_rank(size_t n, double alpha);
/* The interval of the median by the exact sign test, alpha/2 a side: [x(k), x(n + 1 - k)].
 * -ENODATA when n is too small for it. It assumes independent samples and nothing else. */
int sign_interval(const double *x, size_t n, double alpha, struct stat_interval *out);

#endif
