/* SPDX-License-Identifier: Apache-2.0 */
/* The fitted constants, and reading others from a file. */
#include <errno.h>
#include <string.h>

#include "models/training/fit.h"
#include "base/text.h"
#include "models/training/work.h"

static const char *const train_fit_names[TFITS] = {
	"half_ampere",
	"half_hopper",
	"half_blackwell",
	"half_other",
	"half_h200",
	"fp8_hopper",
	"fp8_blackwell",
	"fp32",
	"size",
	"flash_ampere",
	"flash_hopper",
	"flash3",
	"flash_blackwell",
	"memory",
	"fused",
	"launch_us",
	"launch_fused",
	"link",
	"net",
	"hop_us",
	"hide",
	"contend",
	"tp_hidden",
	"ep_exposed",
	"expert",
	"expert_passes",
	"slack",
};

void train_fit_default(struct train_fit *f)
{
	const struct train_config none = { 0 };

	*f = *train_fit_of(&none);
}

static int train_fit_read_line(struct train_fit *f, const char *line, size_t len)
{
	const char *eq = memchr(line, '=', len);
	size_t key, value;
	char number[32];
	double v;

	if (!eq)
		return -EINVAL;
	len -= (size_t)(eq + 1 - line);
	line = str_trim(line, (size_t)(eq - line), &key);
	eq = str_trim(eq + 1, len, &value);
	if (value == 0 || value >= sizeof(number))
		return -EINVAL;
	memcpy(number, eq, value);
	number[value] = '\0';
	if (parse_real(number, &v) || v < 0 || v > 1e6)
		return -EINVAL;
	for (int i = 0; i < TFITS; i++)
		if (strlen(train_fit_names[i]) == key &&
		    strncmp(train_fit_names[i], line, key) == 0) {
			f->v[i] = v;
			return 0;
		}
	return -EINVAL;
}

int train_fit_read(struct train_fit *f, const char *text, struct err *e)
{
	int number = 0;

	while (*text) {
		size_t len = strcspn(text, "\n"), n;
		const char *line = str_trim(text, len, &n);

		number++;
		if (n && *line != '#' && train_fit_read_line(f, line, n) < 0)
			return err_set(e, -EINVAL,
				       "line %d: expected \"NAME = VALUE\" of a training constant, "
				       "0 to 1000000",
				       number);
		text += len + (text[len] == '\n');
	}
	return 0;
}
