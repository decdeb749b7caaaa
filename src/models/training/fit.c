/* SPDX-License-Identifier: Apache-2.0 */
/* The fitted constants, and reading others from a file. */
#include <errno.h>
#include <string.h>

#include "models/inference/fit.h"
#include "models/training/fit.h"
#include "models/training/work.h"

static const char *const train_fit_names[TFITS] = {
	"half_ampere",	   "half_hopper",  "half_blackwell",
	"half_other",	   "half_h200",	   "fp8_hopper",
	"fp8_blackwell",   "fp32",	   "size",
	"flash_ampere",	   "flash_hopper", "flash3",
	"flash_blackwell", "flash1",	   "scan",
	"memory",	   "fused",	   "launch_us",
	"launch_fused",	   "link",	   "net",
	"hop_us",	   "hide",	   "contend",
	"tp_hidden",	   "ep_exposed",   "expert",
	"expert_passes",   "slack",
};

void train_fit_default(struct train_fit *f)
{
	const struct train_config none = { 0 };

	*f = *train_fit_of(&none);
}

static int take_constant(void *fit, const char *name, size_t len, double v)
{
	for (int i = 0; i < TFITS; i++)
		if (strlen(train_fit_names[i]) == len &&
		    strncmp(train_fit_names[i], name, len) == 0) {
			((struct train_fit *)fit)->v[i] = v;
			return 0;
		}
	return -EINVAL;
}

int train_fit_read(struct train_fit *f, const char *text, struct err *e)
{
	return fit_lines(text, take_constant, f,
			 "\"NAME = VALUE\" of a training constant, above 0 and at most 1000000", e);
}
