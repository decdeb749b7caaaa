/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine's option for quantization says of the weights' width, and what it leaves open. */
#include <string.h>
#include <strings.h>

#include "models/generate/lint.h"
#include "models/inference/format.h"

/* Methods of which the model's own files tell how wide they are. */
static bool of_any_width(const char *method)
{
	static const char *const methods[] = { "gptq",	     "gptq_marlin", "gptq_bitblas",
					       "auto-round", "auto_round",  "inc",
					       "moe_wna16",  "hqq",	    "bitsandbytes" };

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strcasecmp(methods[i], method) == 0)
			return true;
	return false;
}

const char *lint_weights(const char *model, const char *method, const struct model_file *file)
{
	bool by_itself =
		file ? file->exact.name || file->format : format_in_name(model, true) != NULL;

	if (!method)
		return NULL;
	if (of_any_width(method) && by_itself)
		return NULL;
	/* Weights that are not quantized are made so when they are loaded: to NF4. */
	if (strcasecmp(method, "bitsandbytes") == 0)
		return "int4";
	return format_find(method, true) ? method : NULL;
}
