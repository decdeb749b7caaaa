/* SPDX-License-Identifier: Apache-2.0 */
/* Order by chance, from the generator that resampling has. */
#include "measure/prove/order.h"

#include <sys/random.h>

#include "base/clock.h"
#include "base/stat.h"

bool order_b_first(uint64_t seed, size_t i)
{
	/* Two numbers of the generator, so that neighbouring seeds are not shifted copies. */
	struct stat_random r = { seed };

	r.state = stat_random_next(&r) + i;
	return stat_random_next(&r) >> 63;
}

void order_shuffle(uint64_t seed, size_t *at, size_t n)
{
	struct stat_random r = { seed };

	for (size_t i = 0; i < n; i++)
		at[i] = i;
	for (size_t i = n; i > 1; i--) {
		size_t k = stat_random_below(&r, i), t = at[k];

		at[k] = at[i - 1];
		at[i - 1] = t;
	}
}

uint64_t order_seed(void)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed) || !seed)
		seed = (uint64_t)clock_mono_ns() | 1;
	return seed;
}
