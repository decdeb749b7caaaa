/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of safetensors: exact bytes of a checkpoint, from its tensors' places or its index. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "models/inference/config.h"

#define MOST_BYTES (256u << 20)

/* Bytes between the two offsets of a tensor; negative: they make no sense. */
static double extent(const json_t *tensor)
{
	const json_t *o = json_object_get(tensor, "data_offsets");
	json_int_t from, to;

	if (json_array_size(o) != 2 || !json_is_integer(json_array_get(o, 0)) ||
	    !json_is_integer(json_array_get(o, 1)))
		return -1;
	from = json_integer_value(json_array_get(o, 0));
	to = json_integer_value(json_array_get(o, 1));
	return from >= 0 && to >= from ? (double)(to - from) : -1;
}

static int safetensors_sum(const json_t *root, double *bytes, struct err *e)
{
	const json_t *total = json_object_get(json_object_get(root, "metadata"), "total_size");
	const char *key;
	json_t *v;
	double all = 0;

	if (json_is_object(json_object_get(root, "weight_map"))) {
		if (!json_is_number(total) || json_number_value(total) <= 0)
			return err_set(e, -EINVAL, "the index gives no total_size");
		*bytes += json_number_value(total);
		return 0;
	}
	json_object_foreach((json_t *)root, key, v)
	{
		double n = strcmp(key, "__metadata__") == 0 ? 0 : extent(v);

		if (n < 0)
			return err_set(e, -EINVAL, "the tensor \"%.80s\" has no sensible place",
				       key);
		all += n;
	}
	*bytes += all;
	return 0;
}

int safetensors_read(const char *text, size_t len, double *bytes, struct err *e)
{
	json_error_t bad;
	json_t *root;
	int r;

	if (len > MOST_BYTES)
		return err_set(e, -EINVAL, "a header of more than %u MiB is none",
			       MOST_BYTES >> 20);
	root = json_loadb(text, len, 0, &bad);
	if (!json_is_object(root)) {
		json_decref(root);
		return err_set(e, -EINVAL, "the header is no JSON object (line %d: %.160s)",
			       bad.line, bad.text);
	}
	r = safetensors_sum(root, bytes, e);
	json_decref(root);
	return r;
}
