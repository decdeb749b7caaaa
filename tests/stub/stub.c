/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the description and looking answers up in it. */
#include "stub.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "host/nvml.h"

/* The one thing a library of C functions without a handle has to keep. */
static json_t *machine;

static void add_line(char *line)
{
	char *question, *value;
	long long number;
	json_t *object, *v;

	line[strcspn(line, "#\n")] = '\0';
	question = strchr(line, ' ');
	value = question ? strchr(question, '=') : NULL;
	if (!value)
		return;
	*question++ = '\0';
	*value++ = '\0';
	if (strcmp(line, "-") == 0)
		line[0] = '\0';
	object = json_object_get(machine, line);
	if (!object) {
		object = json_object();
		json_object_set_new(machine, line, object);
	}
	if (value[0] == '!')
		v = json_pack("{s:s}", "error", value + 1);
	else
		v = parse_i64(value, &number) == 0 ? json_integer(number) : json_string(value);
	json_object_set_new(object, question, v);
}

void stub_load(void)
{
	const char *path = getenv("GPUTUNE_STUB");
	FILE *f = path ? fopen(path, "r") : NULL;
	char line[1024];

	stub_unload();
	machine = f ? json_loadf(f, 0, NULL) : NULL;
	if (machine) {
		fclose(f);
		return;
	}
	machine = json_object();
	if (!f)
		return;
	rewind(f);
	while (fgets(line, sizeof(line), f))
		add_line(line);
	fclose(f);
}

/* Also when the library is closed without a shutdown, as after a failed start. */
__attribute__((destructor)) void stub_unload(void)
{
	json_decref(machine);
	machine = NULL;
}

static const json_t *find(const char *object, const char *question)
{
	const json_t *o = json_object_get(machine, object), *v = json_object_get(o, question);

	return v ? v : json_object_get(o, "*");
}

/* 0 when v is a value, else the NVML result it stands for. */
static int error_of(const json_t *v)
{
	const char *name = json_string_value(json_object_get(v, "error"));

	if (!v)
		return NVML_NOT_SUPPORTED;
	return name ? nvml_result(name) : NVML_SUCCESS;
}

int stub_int(const char *object, const char *question, long long *out)
{
	const json_t *v = find(object, question);
	int r = error_of(v);

	if (r)
		return r;
	if (!json_is_integer(v))
		return NVML_UNKNOWN;
	*out = json_integer_value(v);
	return NVML_SUCCESS;
}

int stub_text(const char *object, const char *question, char *buf, size_t size)
{
	const json_t *v = find(object, question);
	int r = error_of(v);

	if (r)
		return r;
	if (!json_is_string(v))
		return NVML_UNKNOWN;
	if (strlen(json_string_value(v)) >= size)
		return NVML_INSUFFICIENT_SIZE;
	strcpy(buf, json_string_value(v));
	return NVML_SUCCESS;
}

long long stub_setting(const char *question, long long fallback)
{
	long long v = fallback;

	return stub_int("stub", question, &v) ? fallback : v;
}

int stub_has(const char *object)
{
	return json_object_get(machine, object) != NULL;
}

int stub_error(const char *question)
{
	const json_t *v = json_object_get(json_object_get(machine, "stub"), question);

	return v ? error_of(v) : NVML_SUCCESS;
}
