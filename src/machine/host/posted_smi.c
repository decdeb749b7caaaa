/* SPDX-License-Identifier: Apache-2.0 */
/* What nvidia-smi prints, as the answers of NVML that it was made from: its report of -q, and of
 * its table what that has. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/posted.h"

enum unit {
	WORDS,	/* as they stand */
	NUMBER, /* the number that it begins with: "16x", "45 C", "3003 MHz", "5 %" */
	MILLI,	/* thousandths: "4.05 W" */
	MIB,
	MICRO, /* thousandths again, to ns: "1250000 us" */
	CHOICE /* its place among words */
};

/* section: the name at the first level, "" for lines that stand there themselves; parent: of the
 * section right above, NULL for any. */
static const struct row {
	const char *section, *parent, *name, *question;
	enum unit unit;
	const char *const *words;
} rows[] = {
#define SWITCH                                                                                     \
	CHOICE, (const char *const[])                                                              \
	{                                                                                          \
		"Disabled", "Enabled", NULL                                                        \
	}
#define YES                                                                                        \
	CHOICE, (const char *const[])                                                              \
	{                                                                                          \
		"No", "Yes", NULL                                                                  \
	}
	{ "", NULL, "Product Name", "nvmlDeviceGetName", WORDS, NULL },
	{ "", NULL, "Persistence Mode", "nvmlDeviceGetPersistenceMode", SWITCH },
	{ "", NULL, "Accounting Mode", "nvmlDeviceGetAccountingMode", SWITCH },
	{ "", NULL, "Addressing Mode", "nvmlDeviceGetAddressingMode.value", CHOICE,
	  (const char *const[]){ "None", "HMM", "ATS", NULL } },
	{ "", NULL, "Serial Number", "nvmlDeviceGetSerial", WORDS, NULL },
	{ "", NULL, "GPU UUID", "nvmlDeviceGetUUID", WORDS, NULL },
	{ "", NULL, "VBIOS Version", "nvmlDeviceGetVbiosVersion", WORDS, NULL },
	{ "", NULL, "Performance State", "nvmlDeviceGetPerformanceState", NUMBER, NULL },
	{ "", NULL, "Compute Mode", "nvmlDeviceGetComputeMode", CHOICE,
	  (const char *const[]){ "Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process",
				 NULL } },
	{ "", NULL, "GPU Recovery Action", "nvmlDeviceGetFieldValues(GET_GPU_RECOVERY_ACTION)",
	  CHOICE,
	  (const char *const[]){ "None", "Reset", "Reboot", "Drain P2P", "Drain and Reset",
				 NULL } },
	{ "MIG Mode", NULL, "Current", "nvmlDeviceGetMigMode.current", SWITCH },
	{ "MIG Mode", NULL, "Pending", "nvmlDeviceGetMigMode.pending", SWITCH },
	{ "PCI", NULL, "Bus Id", "nvmlDeviceGetPciInfo.busId", WORDS, NULL },
	{ "PCI", "PCIe Generation", "Max", "nvmlDeviceGetMaxPcieLinkGeneration", NUMBER, NULL },
	{ "PCI", "PCIe Generation", "Current", "nvmlDeviceGetCurrPcieLinkGeneration", NUMBER,
	  NULL },
	{ "PCI", "PCIe Generation", "Device Max", "nvmlDeviceGetGpuMaxPcieLinkGeneration", NUMBER,
	  NULL },
	{ "PCI", "Link Width", "Max", "nvmlDeviceGetMaxPcieLinkWidth", NUMBER, NULL },
	{ "PCI", "Link Width", "Current", "nvmlDeviceGetCurrPcieLinkWidth", NUMBER, NULL },
	{ "PCI", NULL, "Replays Since Reset", "nvmlDeviceGetPcieReplayCounter", NUMBER, NULL },
	{ "FB Memory Usage", NULL, "Total", "nvmlDeviceGetMemoryInfo.total", MIB, NULL },
	{ "FB Memory Usage", NULL, "Reserved", "nvmlDeviceGetMemoryInfo.reserved", MIB, NULL },
	{ "FB Memory Usage", NULL, "Used", "nvmlDeviceGetMemoryInfo.used", MIB, NULL },
	{ "FB Memory Usage", NULL, "Free", "nvmlDeviceGetMemoryInfo.free", MIB, NULL },
	{ "BAR1 Memory Usage", NULL, "Total", "nvmlDeviceGetBAR1MemoryInfo.bar1Total", MIB, NULL },
	{ "BAR1 Memory Usage", NULL, "Used", "nvmlDeviceGetBAR1MemoryInfo.bar1Used", MIB, NULL },
	{ "BAR1 Memory Usage", NULL, "Free", "nvmlDeviceGetBAR1MemoryInfo.bar1Free", MIB, NULL },
	{ "Utilization", NULL, "GPU", "nvmlDeviceGetUtilizationRates.gpu", NUMBER, NULL },
	{ "Utilization", NULL, "Gpu", "nvmlDeviceGetUtilizationRates.gpu", NUMBER, NULL },
	{ "Utilization", NULL, "Memory", "nvmlDeviceGetUtilizationRates.memory", NUMBER, NULL },
	{ "ECC Mode", NULL, "Current", "nvmlDeviceGetEccMode.current", SWITCH },
	{ "ECC Mode", NULL, "Pending", "nvmlDeviceGetEccMode.pending", SWITCH },
	{ "Remapped Rows", NULL, "Correctable Error", "nvmlDeviceGetRemappedRows.corrRows", NUMBER,
	  NULL },
	{ "Remapped Rows", NULL, "Uncorrectable Error", "nvmlDeviceGetRemappedRows.uncRows", NUMBER,
	  NULL },
	{ "Remapped Rows", NULL, "Pending", "nvmlDeviceGetRemappedRows.isPending", YES },
	{ "Remapped Rows", NULL, "Remapping Failure Occurred",
	  "nvmlDeviceGetRemappedRows.failureOccurred", YES },
	{ "Temperature", NULL, "GPU Current Temp", "nvmlDeviceGetTemperature(GPU)", NUMBER, NULL },
	{ "Temperature", NULL, "GPU T.Limit Temp",
	  "nvmlDeviceGetMarginTemperature.marginTemperature", NUMBER, NULL },
	{ "Temperature", NULL, "GPU Shutdown Temp", "nvmlDeviceGetTemperatureThreshold(SHUTDOWN)",
	  NUMBER, NULL },
	{ "Temperature", NULL, "GPU Slowdown Temp", "nvmlDeviceGetTemperatureThreshold(SLOWDOWN)",
	  NUMBER, NULL },
	{ "Temperature", NULL, "GPU Max Operating Temp",
	  "nvmlDeviceGetTemperatureThreshold(GPU_MAX)", NUMBER, NULL },
	{ "Temperature", NULL, "Memory Current Temp", "nvmlDeviceGetFieldValues(MEMORY_TEMP)",
	  NUMBER, NULL },
	{ "Temperature", NULL, "Memory Max Operating Temp",
	  "nvmlDeviceGetTemperatureThreshold(MEM_MAX)", NUMBER, NULL },
/* Of boards with a module's readings the GPU's own have the newer title. */
#define POWER(title)                                                                                    \
	{ title, NULL, "Power Draw", "nvmlDeviceGetPowerUsage", MILLI, NULL },                          \
		{ title, NULL, "Average Power Draw", "nvmlDeviceGetPowerUsage", MILLI, NULL },          \
		{ title, NULL, "Power Limit", "nvmlDeviceGetPowerManagementLimit", MILLI, NULL },       \
		{ title, NULL, "Requested Power Limit", "nvmlDeviceGetPowerManagementLimit",            \
		  MILLI, NULL },                                                                        \
		{ title, NULL, "Enforced Power Limit", "nvmlDeviceGetEnforcedPowerLimit",               \
		  MILLI, NULL },                                                                        \
		{ title, NULL, "Current Power Limit", "nvmlDeviceGetEnforcedPowerLimit", MILLI, NULL }, \
		{ title, NULL, "Default Power Limit", "nvmlDeviceGetPowerManagementDefaultLimit",       \
		  MILLI, NULL },                                                                        \
		{ title,                                                                                \
		  NULL,                                                                                 \
		  "Min Power Limit",                                                                    \
		  "nvmlDeviceGetPowerManagementLimitConstraints.minLimit",                              \
		  MILLI,                                                                                \
		  NULL },                                                                               \
	{                                                                                               \
		title, NULL, "Max Power Limit",                                                         \
			"nvmlDeviceGetPowerManagementLimitConstraints.maxLimit", MILLI, NULL            \
	}
	POWER("GPU Power Readings"),
	POWER("Power Readings"),
#define CLOCKS(title, question)                                                                    \
	{ title, NULL, "Graphics", question "(GRAPHICS)", NUMBER, NULL },                          \
		{ title, NULL, "SM", question "(SM)", NUMBER, NULL },                              \
		{ title, NULL, "Memory", question "(MEM)", NUMBER, NULL },                         \
	{                                                                                          \
		title, NULL, "Video", question "(VIDEO)", NUMBER, NULL                             \
	}
	CLOCKS("Clocks", "nvmlDeviceGetClockInfo"),
	CLOCKS("Applications Clocks", "nvmlDeviceGetApplicationsClock"),
	CLOCKS("Default Applications Clocks", "nvmlDeviceGetDefaultApplicationsClock"),
	CLOCKS("Max Clocks", "nvmlDeviceGetMaxClockInfo"),
	CLOCKS("Max Customer Boost Clocks", "nvmlDeviceGetMaxCustomerBoostClock"),
#define REASON(title, name)                                                                        \
	{                                                                                          \
		"Clocks Event Reasons Counters", NULL, title,                                      \
			"nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_" name ")", MICRO, NULL      \
	}
	REASON("SW Power Capping", "SW_POWER_CAP"),
	REASON("Sync Boost", "SYNC_BOOST"),
	REASON("SW Thermal Slowdown", "SW_THERM_SLOWDOWN"),
	REASON("HW Thermal Slowdown", "HW_THERM_SLOWDOWN"),
	REASON("HW Power Braking", "HW_POWER_BRAKE_SLOWDOWN"),
	{ "Fabric", NULL, "State", "nvmlDeviceGetGpuFabricInfo.state", CHOICE,
	  (const char *const[]){ "Not Supported", "Not Started", "In Progress", "Completed",
				 NULL } },
	{ "Fabric", NULL, "Status", "nvmlDeviceGetGpuFabricInfo.status", CHOICE,
	  (const char *const[]){ "Success", NULL } },
};

/* Reasons of the clock, by their bits. Source: nvml.h, nvmlClocksEventReason*. */
static const char *const reasons[] = { "Idle",
				       "Applications Clocks Setting",
				       "SW Power Cap",
				       "HW Slowdown",
				       "Sync Boost",
				       "SW Thermal Slowdown",
				       "HW Thermal Slowdown",
				       "HW Power Brake Slowdown",
				       "Display Clock Setting" };

static void put_number(struct posted *p, const char *object, const char *question, long long v)
{
	struct answer a = { .kind = ANSWER_INT, .i = v };

	record_put_answer(p->record, "nvml", object, question, 0, &a);
}

static void put_words(struct posted *p, const char *object, const char *question, const char *s)
{
	struct answer a = { .kind = ANSWER_TEXT, .text = s };

	record_put_answer(p->record, "nvml", object, question, 0, &a);
}

/* What a value means as an answer. Words that nobody expected say nothing. */
static void take(struct posted *p, const struct row *r, const char *object, const char *value)
{
	static const double factor[] = {
		[NUMBER] = 1, [MILLI] = 1e3, [MIB] = 1 << 20, [MICRO] = 1e3
	};
	const char *end;
	double v;

	/* "N/A" is the library's own refusal; other refusals are of who asked. */
	if (strcmp(value, "N/A") == 0) {
		record_put_answer(p->record, "nvml", object, r->question, -EOPNOTSUPP, NULL);
		return;
	}
	if (r->unit == WORDS && *value && *value != '[') {
		put_words(p, object, r->question, value);
	} else if (r->unit == CHOICE) {
		for (int i = 0; r->words[i]; i++)
			if (strcmp(r->words[i], value) == 0)
				put_number(p, object, r->question, i);
	} else if (r->unit != WORDS) {
		value += r->unit == NUMBER && *value == 'P';
		if (parse_decimal(value, &v, &end) == 0 && v > -1e6 && v < 1e15)
			put_number(p, object, r->question, (long long)(v * factor[r->unit] + 0.5));
	}
}

static void gpu_line(struct posted *p, const char *name, const char *value)
{
	char object[16];
	const char *section = p->smi.depth ? p->smi.path[0] : "",
		   *parent = p->smi.depth ? p->smi.path[p->smi.depth - 1] : "";

	snprintf(object, sizeof(object), "%d", p->smi.gpu);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, name) == 0 && strcmp(rows[i].section, section) == 0 &&
		    (!rows[i].parent || strcmp(rows[i].parent, parent) == 0))
			take(p, &rows[i], object, value);
	if (strcmp(section, "Clocks Event Reasons") != 0 &&
	    strcmp(section, "Clocks Throttle Reasons") != 0)
		return;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strcmp(reasons[i], name) == 0) {
			if (p->smi.reasons < 0)
				p->smi.reasons = 0;
			p->smi.reasons |= strcmp(value, "Active") == 0 ? 1LL << i : 0;
		}
}

/* "13.0" as 13000. */
static void put_cuda(struct posted *p, const char *value)
{
	unsigned major, minor;

	if (sscanf(value, "%3u.%2u", &major, &minor) == 2)
		put_number(p, "", "nvmlSystemGetCudaDriverVersion", major * 1000 + minor * 10);
}

static void system_line(struct posted *p, const char *name, const char *value)
{
	long long n;

	if (strcmp(name, "Driver Version") == 0 && *value >= '0' && *value <= '9')
		put_words(p, "", "nvmlSystemGetDriverVersion", value);
	else if (strcmp(name, "CUDA Version") == 0)
		put_cuda(p, value);
	else if (strcmp(name, "Attached GPUs") == 0 && parse_i64(value, &n) == 0 && n >= 0 &&
		 n <= POSTED_GPUS_MAX)
		put_number(p, "", "nvmlDeviceGetCount", n);
}

/* The reasons of one GPU are complete when the next begins. */
void posted_smi_finish(struct posted *p)
{
	char object[16];

	snprintf(object, sizeof(object), "%d", p->smi.gpu);
	if (p->smi.gpu >= 0 && p->smi.reasons >= 0)
		put_number(p, object, "nvmlDeviceGetCurrentClocksEventReasons", p->smi.reasons);
	p->smi.reasons = -1;
	p->smi.depth = 0;
}

static bool next_gpu(struct posted *p)
{
	posted_smi_finish(p);
	if (p->smi.gpu + 1 >= POSTED_GPUS_MAX)
		return false;
	p->smi.gpu++;
	if (p->gpus < (size_t)p->smi.gpu + 1)
		p->gpus = (size_t)p->smi.gpu + 1;
	return true;
}

bool posted_smi_line(struct posted *p, const char *line)
{
	size_t indent = strspn(line, " \t"), n = strlen(line + indent), name;
	const char *colon = strstr(line + indent, " : "), *value;
	char key[48];

	if (!n)
		return true;
	if (!indent && str_starts(line, "GPU ") && strlen(line) >= 16 && strchr(line, ':') &&
	    !colon)
		return next_gpu(p);
	if (!indent && !colon)
		return strcmp(line, "vGPU Driver Capability") == 0;
	str_trim(line + indent, colon ? (size_t)(colon - line) - indent : n, &name);
	snprintf(key, sizeof(key), "%.*s", (int)(name < sizeof(key) ? name : sizeof(key) - 1),
		 line + indent);
	while (p->smi.depth && p->smi.indent[p->smi.depth - 1] >= (int)indent)
		p->smi.depth--;
	if (colon) {
		value = str_trim(colon + 3, strlen(colon + 3), &n);
		value = arena_strndup(p->arena, value, n);
		if (p->smi.gpu < 0 || !indent)
			system_line(p, key, value);
		else
			gpu_line(p, key, value);
		return true;
	}
	if (p->smi.depth < 3) {
		strcpy(p->smi.path[p->smi.depth], key);
		p->smi.indent[p->smi.depth++] = (int)indent;
	}
	return true;
}

/* The cells of a row between "|", without blanks; how many there are. */
static size_t cells(struct arena *a, const char *line, const char *out[4])
{
	size_t n = 0, len;

	while (*line == '|' && line[1] && n < 4) {
		size_t width = strcspn(line + 1, "|");
		const char *s = str_trim(line + 1, width, &len);

		out[n++] = arena_strndup(a, s, len);
		line += 1 + width;
	}
	return n;
}

/* "0  NVIDIA GB10   On" and "0000000F:01:00.0 Off". */
static void table_first(struct posted *p, const char *left, const char *middle)
{
	char object[16];
	const char *name, *mode = strrchr(left, ' ');
	size_t n;
	long number = strtol(left, NULL, 10);

	if (!mode || number < 0 || number >= POSTED_GPUS_MAX ||
	    (strcmp(mode, " On") != 0 && strcmp(mode, " Off") != 0))
		return;
	name = left + strspn(left, "0123456789");
	name = str_trim(name, (size_t)(mode - name), &n);
	snprintf(object, sizeof(object), "%ld", number);
	put_words(p, object, "nvmlDeviceGetName", arena_strndup(p->arena, name, n));
	put_words(p, object, "nvmlDeviceGetPciInfo.busId",
		  arena_strndup(p->arena, middle, strcspn(middle, " ")));
	put_number(p, object, "nvmlDeviceGetPersistenceMode", mode[2] == 'n');
	p->smi.row = (int)number;
	if (p->gpus < (size_t)number + 1)
		p->gpus = (size_t)number + 1;
}

/* "N/A   36C    P8    4W /  N/A", "0MiB / 81559MiB" and "0%   Default". */
static void table_second(struct posted *p, const char *left, const char *middle)
{
	char object[16];
	unsigned celsius, state, watts;
	unsigned long long used, total;
	const char *c = strstr(left, "C ");

	snprintf(object, sizeof(object), "%d", p->smi.row);
	while (c && c > left && c[-1] >= '0' && c[-1] <= '9')
		c--;
	if (c && sscanf(c, "%3uC P%2u %4uW", &celsius, &state, &watts) == 3) {
		put_number(p, object, "nvmlDeviceGetTemperature(GPU)", celsius);
		put_number(p, object, "nvmlDeviceGetPerformanceState", state);
		put_number(p, object, "nvmlDeviceGetPowerUsage", watts * 1000LL);
	}
	if (sscanf(middle, "%8lluMiB / %8lluMiB", &used, &total) == 2)
		put_number(p, object, "nvmlDeviceGetMemoryInfo.total", (long long)total << 20);
	p->smi.row = -1;
}

bool posted_smi_table(struct posted *p, const char *line)
{
	const char *version = strstr(line, "Driver Version: "), *cuda, *cell[4];
	size_t n;

	if (*line != '|')
		return *line == '+' && line[strspn(line, "+-=")] == '\0';
	if (version && strstr(line, "NVIDIA-SMI ")) {
		version += 16;
		put_words(p, "", "nvmlSystemGetDriverVersion",
			  arena_strndup(p->arena, version, strcspn(version, " |")));
		cuda = strstr(line, "CUDA Version: ");
		if (cuda)
			put_cuda(p, cuda + 14);
		return true;
	}
	n = cells(p->arena, line, cell);
	if (n >= 2 && cell[0][0] >= '0' && cell[0][0] <= '9' && strlen(cell[1]) >= 12 &&
	    strchr(cell[1], ':'))
		table_first(p, cell[0], cell[1]);
	else if (n >= 2 && p->smi.row >= 0)
		table_second(p, cell[0], cell[1]);
	return true;
}
