/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the description and looking answers up in it. */
#include "stub.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/nvml.h"

/* What a library of C functions without a handle has to keep: the description, and what was set. */
static json_t *machine, *told;

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

static json_t *description(void)
{
	const char *path = getenv("GPUTUNE_STUB");
	FILE *f = path ? fopen(path, "r") : NULL;
	char line[1024];
	json_t *j = f ? json_loadf(f, 0, NULL) : NULL;

	if (!j)
		j = machine = json_object();
	if (f && !json_object_size(j)) {
		rewind(f);
		while (fgets(line, sizeof(line), f))
			add_line(line);
	}
	if (f)
		fclose(f);
	return j;
}

static const char *state_path(void)
{
	return json_string_value(json_object_get(json_object_get(machine, "stub"), "state"));
}

void stub_load(void)
{
	stub_unload();
	machine = description();
	told = state_path() ? json_load_file(state_path(), 0, NULL) : NULL;
	if (!told)
		told = json_object();
}

static void keep(void)
{
	if (state_path() && json_dump_file(told, state_path(), JSON_SORT_KEYS))
		abort();
}

void stub_set_int(const char *object, const char *question, long long v)
{
	json_t *o = json_object_get(told, object);

	if (!o) {
		o = json_object();
		json_object_set_new(told, object, o);
	}
	json_object_set_new(o, question, json_integer(v));
	keep();
}

void stub_forget(const char *object, const char *question)
{
	if (json_object_del(json_object_get(told, object), question) == 0)
		keep();
}

void stub_forget_all(const char *object)
{
	if (json_object_del(told, object) == 0)
		keep();
}

/* Also when the library is closed without a shutdown, as after a failed start. */
__attribute__((destructor)) void stub_unload(void)
{
	json_decref(machine);
	json_decref(told);
	machine = told = NULL;
}

static const json_t *find_own(const char *object, const char *question)
{
	const json_t *o = json_object_get(machine, object), *v = json_object_get(o, question);

	return v ? v : json_object_get(o, "*");
}

static const json_t *find(const char *object, const char *question)
{
	const json_t *v = json_object_get(json_object_get(told, object), question);

	return v ? v : find_own(object, question);
}

/* 0 when v is a value, else the NVML result it stands for. */
static int error_of(const json_t *v)
{
	const char *name = json_string_value(json_object_get(v, "error"));

	if (!v)
		return NVML_NOT_SUPPORTED;
	return name ? nvml_result(name) : NVML_SUCCESS;
}

static int int_of(const json_t *v, long long *out)
{
	int r = error_of(v);

	if (r)
		return r;
	if (!json_is_integer(v))
		return NVML_UNKNOWN;
	*out = json_integer_value(v);
	return NVML_SUCCESS;
}

int stub_int(const char *object, const char *question, long long *out)
{
	return int_of(find(object, question), out);
}

int stub_own_int(const char *object, const char *question, long long *out)
{
	return int_of(find_own(object, question), out);
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
