/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the NVML and CUDA providers everything they can be asked on the machine it runs on, and
 * prints "object TAB question TAB microseconds TAB value": a text, a number, or "!" and an errno's
 * name. Read by nvml_check.py, which compares it with other programs' answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine/host/ask.h"
#include "machine/host/nvml_read.h"

static struct arena arena;
static void *nvml_state, *cuda_state;

/* The live host's, which this program leaves out with all of its providers. */
void answer_int(struct answer *out, long long v)
{
	*out = (struct answer){ .kind = ANSWER_INT, .i = v };
}

void answer_text(struct answer *out, const char *text)
{
	*out = (struct answer){ .kind = ANSWER_TEXT, .text = text };
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int ask(const struct provider *p, void **state, const char *object, const char *field)
{
	struct answer ans;
	double t = now_us();
	int r = p->ask(state, &arena, object, field, &ans);

	printf("%s\t%s\t%.1f\t", object, field, now_us() - t);
	if (r)
		printf("!%s\n", errno_name(r));
	else if (ans.kind == ANSWER_INT)
		printf("%lld\n", ans.i);
	else
		printf("%s\n", ans.text);
	return r;
}

static void ask_members(const char *object, const struct nvml_question *q, const char *args)
{
	char field[256];

	if (!q->members[0]) {
		snprintf(field, sizeof(field), "%s%s", q->name, args);
		ask(&provider_nvml, &nvml_state, object, field);
	}
	for (int i = 0; i < NVML_MEMBERS && q->members[i]; i++) {
		snprintf(field, sizeof(field), "%s%s.%s", q->name, args, q->members[i]);
		ask(&provider_nvml, &nvml_state, object, field);
	}
}

static void ask_question(const char *object, const struct nvml_question *q, size_t gpus)
{
	const struct nvml_args *a = q->args;
	size_t numbers = !a || !a->numbers ? 1 : a->numbers == NVML_GPUS_MAX ? gpus : 18;
	char args[64] = "";

	for (size_t i = 0; i < numbers; i++)
		for (size_t k = 0; k < (a && a->n ? a->n : 1); k++) {
			if (a && a->numbers && a->n)
				snprintf(args, sizeof(args), "(%zu,%s)", i, a->names[k]);
			else if (a && a->numbers)
				snprintf(args, sizeof(args), "(%zu)", i);
			else if (a)
				snprintf(args, sizeof(args), "(%s)", a->names[k]);
			ask_members(object, q, args);
		}
}

static void ask_fields(const char *object)
{
	char field[256];

	for (size_t i = 0; i < NVML_FIELD_NAMES; i++)
		for (int l = 0; l < (nvml_field_of_link(&nvml_field_names[i]) ? 18 : 1); l++) {
			snprintf(field, sizeof(field),
				 nvml_field_of_link(&nvml_field_names[i])
					 ? "nvmlDeviceGetFieldValues(%s,%d)"
					 : "nvmlDeviceGetFieldValues(%s)",
				 nvml_field_names[i].name, l);
			ask(&provider_nvml, &nvml_state, object, field);
		}
}

static void ask_cuda(const char *object)
{
	static const char *const attributes[] = { "cuDeviceGetAttribute(18)",
						  "cuDeviceGetAttribute(116)",
						  "cuDeviceGetAttribute(124)" };
	struct answer ans;
	char address[64];

	if (provider_nvml.ask(&nvml_state, &arena, object, "nvmlDeviceGetPciInfo.busId", &ans))
		return;
	snprintf(address, sizeof(address), "%s", ans.text + 4);
	for (char *c = address; *c; c++)
		*c = *c >= 'A' && *c <= 'F' ? (char)(*c + 32) : *c;
	for (size_t i = 0; i < 3; i++)
		ask(&provider_cuda, &cuda_state, address, attributes[i]);
}

int main(int argc, char **argv)
{
	static const char *const system[] = { "nvmlSystemGetNVMLVersion",
					      "nvmlSystemGetDriverVersion", "nvmlDeviceGetCount",
					      "nvmlSystemGetCudaDriverVersion" };
	struct answer count = { .i = 0 };
	char object[32];

	(void)argv;
	for (size_t i = 0; i < 4; i++)
		ask(&provider_nvml, &nvml_state, "", system[i]);
	ask(&provider_cuda, &cuda_state, "", "cuDriverGetVersion");
	if (provider_nvml.ask(&nvml_state, &arena, "", "nvmlDeviceGetCount", &count))
		return 1;
	for (long long g = 0; g < count.i; g++) {
		snprintf(object, sizeof(object), "%lld", g);
		for (size_t i = 0; i < nvml_questions_n; i++)
			ask_question(object, &nvml_questions[i], (size_t)count.i);
		ask_fields(object);
		ask(&provider_nvml, &nvml_state, object, "nvmlDeviceGetComputeRunningProcesses");
		ask(&provider_nvml, &nvml_state, object,
		    "nvmlDeviceGetComputeRunningProcesses(0).pid");
		ask(&provider_nvml, &nvml_state, object,
		    "nvmlDeviceGetComputeRunningProcesses(0).usedGpuMemory");
		ask(&provider_nvml, &nvml_state, object, "nvmlDeviceGetGraphicsRunningProcesses");
		ask(&provider_nvml, &nvml_state, object, "nvmlDeviceGetMPSComputeRunningProcesses");
	}
	for (long long g = 0; argc > 1 && g < count.i; g++) {
		snprintf(object, sizeof(object), "%lld", g);
		ask_cuda(object);
	}
	provider_nvml.close(nvml_state);
	if (cuda_state)
		provider_cuda.close(cuda_state);
	arena_free(&arena);
	return 0;
}
