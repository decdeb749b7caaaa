/* SPDX-License-Identifier: Apache-2.0 */
/* What holds this machine, or a captured one, back: one line a finding.
 *
 *     cc check.c $(pkg-config --cflags --libs gputune jansson) -o check && ./check [CAPTURE] */
#include <gputune/gputune.h>
#include <jansson.h>
#include <stdio.h>

static int print(const char *text)
{
	json_t *result = json_loads(text, 0, NULL), *finding;
	int code;
	size_t i;

	json_array_foreach(json_object_get(result, "findings"), i, finding)
	{
		const char *id, *target, *verdict, *reason;

		if (json_unpack(finding, "{s:s, s:s, s:s, s:s}", "id", &id, "target", &target,
				"verdict", &verdict, "reason", &reason) == 0 &&
		    verdict[0] == 'f')
			printf("%s %s: %s\n", id, target, reason);
	}
	code = (int)json_integer_value(json_object_get(result, "exit_code"));
	json_decref(result);
	return code;
}

int main(int argc, char **argv)
{
	struct gputune_error why = { 0 };
	struct gputune_machine *machine = gputune_open(argc > 1 ? argv[1] : NULL, &why);
	char *text = machine ? gputune_check(machine, "{\"profile\": \"default\"}", &why) : NULL;
	int code = text ? print(text) : 2;

	if (!text)
		fprintf(stderr, "check: %s\n       %s\n", why.text, why.hint);
	gputune_free(text);
	gputune_close(machine);
	return code;
}
