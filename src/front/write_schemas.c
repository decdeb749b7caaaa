/* SPDX-License-Identifier: Apache-2.0 */
/* write_schemas FOLDER NAME...: the JSON Schemas of all results that are described by a shape, of
 * which NAME are expected, as FOLDER/NAME.json. Runs when the program is built. */
#include <stdio.h>
#include <string.h>

#include "front/result_shapes.h"

static bool schema_expected(const char *name, char **names)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

static int write_schema(const struct result_shape *r, const char *folder)
{
	json_t *j = result_shape_schema(r);
	char path[4096];
	FILE *out;
	int bad;

	snprintf(path, sizeof(path), "%s/%s.json", folder, r->name);
	out = fopen(path, "w");
	bad = !out || json_dumpf(j, out, JSON_INDENT(2)) || fputc('\n', out) == EOF;
	bad |= out && fclose(out);
	json_decref(j);
	if (bad)
		perror(path);
	return bad;
}

int main(int argc, char **argv)
{
	int n = 0;

	if (argc < 2)
		return 2;
	for (; result_shapes[n]; n++) {
		if (!schema_expected(result_shapes[n]->name, argv + 2)) {
			fprintf(stderr, "%s is missing in schemas/meson.build\n",
				result_shapes[n]->name);
			return 1;
		}
		if (write_schema(result_shapes[n], argv[1]))
			return 1;
	}
	if (n == argc - 2)
		return 0;
	fprintf(stderr, "schemas/meson.build names results that have no shape\n");
	return 1;
}
