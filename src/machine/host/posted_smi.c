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
 * section right above, NULL for any. tag: section and element of -q -x. */
static const struct row {
	const char *section, *parent, *name, *tag, *question;
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
	{ "", NULL, "Product Name", "product_name", "nvmlDeviceGetName", WORDS, NULL },
	{ "", NULL, "Persistence Mode", "persistence_mode", "nvmlDeviceGetPersistenceMode",
	  SWITCH },
	{ "", NULL, "Accounting Mode", "accounting_mode", "nvmlDeviceGetAccountingMode", SWITCH },
	{ "", NULL, "Addressing Mode", "addressing_mode", "nvmlDeviceGetAddressingMode.value",
	  CHOICE, (const char *const[]){ "None", "HMM", "ATS", NULL } },
	{ "", NULL, "Serial Number", "serial", "nvmlDeviceGetSerial", WORDS, NULL },
	{ "", NULL, "GPU UUID", "uuid", "nvmlDeviceGetUUID", WORDS, NULL },
	{ "", NULL, "VBIOS Version", "vbios_version", "nvmlDeviceGetVbiosVersion", WORDS, NULL },
	{ "", NULL, "Performance State", "performance_state", "nvmlDeviceGetPerformanceState",
	  NUMBER, NULL },
	{ "", NULL, "Compute Mode", "compute_mode", "nvmlDeviceGetComputeMode", CHOICE,
	  (const char *const[]){ "Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process",
				 NULL } },
	{ "", NULL, "GPU Recovery Action", "gpu_recovery_action",
	  "nvmlDeviceGetFieldValues(GET_GPU_RECOVERY_ACTION)", CHOICE,
	  (const char *const[]){ "None", "Reset", "Reboot", "Drain P2P", "Drain and Reset",
				 NULL } },
	{ "MIG Mode", NULL, "Current", "mig_mode/current_mig", "nvmlDeviceGetMigMode.current",
	  SWITCH },
	{ "MIG Mode", NULL, "Pending", "mig_mode/pending_mig", "nvmlDeviceGetMigMode.pending",
	  SWITCH },
	{ "PCI", NULL, "Bus Id", "pci/pci_bus_id", "nvmlDeviceGetPciInfo.busId", WORDS, NULL },
	{ "PCI", "PCIe Generation", "Max", "pci/max_link_gen", "nvmlDeviceGetMaxPcieLinkGeneration",
	  NUMBER, NULL },
	{ "PCI", "PCIe Generation", "Current", "pci/current_link_gen",
	  "nvmlDeviceGetCurrPcieLinkGeneration", NUMBER, NULL },
	{ "PCI", "PCIe Generation", "Device Max", "pci/max_device_link_gen",
	  "nvmlDeviceGetGpuMaxPcieLinkGeneration", NUMBER, NULL },
	{ "PCI", "Link Width", "Max", "pci/max_link_width", "nvmlDeviceGetMaxPcieLinkWidth", NUMBER,
	  NULL },
	{ "PCI", "Link Width", "Current", "pci/current_link_width",
	  "nvmlDeviceGetCurrPcieLinkWidth", NUMBER, NULL },
	{ "PCI", NULL, "Replays Since Reset", "pci/replay_counter",
	  "nvmlDeviceGetPcieReplayCounter", NUMBER, NULL },
	{ "FB Memory Usage", NULL, "Total", "fb_memory_usage/total",
	  "nvmlDeviceGetMemoryInfo.total", MIB, NULL },
	{ "FB Memory Usage", NULL, "Reserved", "fb_memory_usage/reserved",
	  "nvmlDeviceGetMemoryInfo.reserved", MIB, NULL },
	{ "FB Memory Usage", NULL, "Used", "fb_memory_usage/used", "nvmlDeviceGetMemoryInfo.used",
	  MIB, NULL },
	{ "FB Memory Usage", NULL, "Free", "fb_memory_usage/free", "nvmlDeviceGetMemoryInfo.free",
	  MIB, NULL },
	{ "BAR1 Memory Usage", NULL, "Total", "bar1_memory_usage/total",
	  "nvmlDeviceGetBAR1MemoryInfo.bar1Total", MIB, NULL },
	{ "BAR1 Memory Usage", NULL, "Used", "bar1_memory_usage/used",
	  "nvmlDeviceGetBAR1MemoryInfo.bar1Used", MIB, NULL },
	{ "BAR1 Memory Usage", NULL, "Free", "bar1_memory_usage/free",
	  "nvmlDeviceGetBAR1MemoryInfo.bar1Free", MIB, NULL },
	{ "Utilization", NULL, "GPU", "utilization/gpu_util", "nvmlDeviceGetUtilizationRates.gpu",
	  NUMBER, NULL },
	{ "Utilization", NULL, "Gpu", "utilization/gpu_util", "nvmlDeviceGetUtilizationRates.gpu",
	  NUMBER, NULL },
	{ "Utilization", NULL, "Memory", "utilization/memory_util",
	  "nvmlDeviceGetUtilizationRates.memory", NUMBER, NULL },
	{ "ECC Mode", NULL, "Current", "ecc_mode/current_ecc", "nvmlDeviceGetEccMode.current",
	  SWITCH },
	{ "ECC Mode", NULL, "Pending", "ecc_mode/pending_ecc", "nvmlDeviceGetEccMode.pending",
	  SWITCH },
	{ "Remapped Rows", NULL, "Correctable Error", "remapped_rows/remapped_row_corr",
	  "nvmlDeviceGetRemappedRows.corrRows", NUMBER, NULL },
	{ "Remapped Rows", NULL, "Uncorrectable Error", "remapped_rows/remapped_row_unc",
	  "nvmlDeviceGetRemappedRows.uncRows", NUMBER, NULL },
	{ "Remapped Rows", NULL, "Pending", "remapped_rows/remapped_row_pending",
	  "nvmlDeviceGetRemappedRows.isPending", YES },
	{ "Remapped Rows", NULL, "Remapping Failure Occurred", "remapped_rows/remapped_row_failure",
	  "nvmlDeviceGetRemappedRows.failureOccurred", YES },
	{ "Temperature", NULL, "GPU Current Temp", "temperature/gpu_temp",
	  "nvmlDeviceGetTemperature(GPU)", NUMBER, NULL },
	{ "Temperature", NULL, "GPU T.Limit Temp", "temperature/gpu_temp_tlimit",
	  "nvmlDeviceGetMarginTemperature.marginTemperature", NUMBER, NULL },
	{ "Temperature", NULL, "GPU Shutdown Temp", "temperature/gpu_temp_max_threshold",
	  "nvmlDeviceGetTemperatureThreshold(SHUTDOWN)", NUMBER, NULL },
	{ "Temperature", NULL, "GPU Slowdown Temp", "temperature/gpu_temp_slow_threshold",
	  "nvmlDeviceGetTemperatureThreshold(SLOWDOWN)", NUMBER, NULL },
	{ "Temperature", NULL, "GPU Max Operating Temp", "temperature/gpu_temp_max_gpu_threshold",
	  "nvmlDeviceGetTemperatureThreshold(GPU_MAX)", NUMBER, NULL },
	{ "Temperature", NULL, "Memory Current Temp", "temperature/memory_temp",
	  "nvmlDeviceGetFieldValues(MEMORY_TEMP)", NUMBER, NULL },
	{ "Temperature", NULL, "Memory Max Operating Temp",
	  "temperature/gpu_temp_max_mem_threshold", "nvmlDeviceGetTemperatureThreshold(MEM_MAX)",
	  NUMBER, NULL },
	{ "Power Readings", NULL, "Power Draw", "power_readings/power_draw",
	  "nvmlDeviceGetPowerUsage", MILLI, NULL },
	{ "Power Readings", NULL, "Average Power Draw", "power_readings/average_power_draw",
	  "nvmlDeviceGetPowerUsage", MILLI, NULL },
	{ "Power Readings", NULL, "Power Limit", "power_readings/power_limit",
	  "nvmlDeviceGetPowerManagementLimit", MILLI, NULL },
	{ "Power Readings", NULL, "Requested Power Limit", "power_readings/requested_power_limit",
	  "nvmlDeviceGetPowerManagementLimit", MILLI, NULL },
	{ "Power Readings", NULL, "Enforced Power Limit", "power_readings/enforced_power_limit",
	  "nvmlDeviceGetEnforcedPowerLimit", MILLI, NULL },
	{ "Power Readings", NULL, "Current Power Limit", "power_readings/current_power_limit",
	  "nvmlDeviceGetEnforcedPowerLimit", MILLI, NULL },
	{ "Power Readings", NULL, "Default Power Limit", "power_readings/default_power_limit",
	  "nvmlDeviceGetPowerManagementDefaultLimit", MILLI, NULL },
	{ "Power Readings", NULL, "Min Power Limit", "power_readings/min_power_limit",
	  "nvmlDeviceGetPowerManagementLimitConstraints.minLimit", MILLI, NULL },
	{ "Power Readings", NULL, "Max Power Limit", "power_readings/max_power_limit",
	  "nvmlDeviceGetPowerManagementLimitConstraints.maxLimit", MILLI, NULL },
#define CLOCKS(title, tag, question)                                                               \
	{ title, NULL, "Graphics", tag "/graphics_clock", question "(GRAPHICS)", NUMBER, NULL },   \
		{ title, NULL, "SM", tag "/sm_clock", question "(SM)", NUMBER, NULL },             \
		{ title, NULL, "Memory", tag "/mem_clock", question "(MEM)", NUMBER, NULL },       \
	{                                                                                          \
		title, NULL, "Video", tag "/video_clock", question "(VIDEO)", NUMBER, NULL         \
	}
	CLOCKS("Clocks", "clocks", "nvmlDeviceGetClockInfo"),
	CLOCKS("Applications Clocks", "applications_clocks", "nvmlDeviceGetApplicationsClock"),
	CLOCKS("Default Applications Clocks", "default_applications_clocks",
	       "nvmlDeviceGetDefaultApplicationsClock"),
	CLOCKS("Max Clocks", "max_clocks", "nvmlDeviceGetMaxClockInfo"),
	CLOCKS("Max Customer Boost Clocks", "max_customer_boost_clocks",
	       "nvmlDeviceGetMaxCustomerBoostClock"),
#define REASON(title, tag, name)                                                                   \
	{                                                                                          \
		"Clocks Event Reasons Counters", NULL, title,                                      \
			"clocks_event_reasons_counters/clocks_event_reasons_counters_" tag,        \
			"nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_" name ")", MICRO, NULL      \
	}
	REASON("SW Power Capping", "sw_power_cap", "SW_POWER_CAP"),
	REASON("Sync Boost", "sync_boost", "SYNC_BOOST"),
	REASON("SW Thermal Slowdown", "sw_therm_slowdown", "SW_THERM_SLOWDOWN"),
	REASON("HW Thermal Slowdown", "hw_therm_slowdown", "HW_THERM_SLOWDOWN"),
	REASON("HW Power Braking", "hw_power_brake", "HW_POWER_BRAKE_SLOWDOWN"),
	{ "Fabric", NULL, "State", "fabric/state", "nvmlDeviceGetGpuFabricInfo.state", CHOICE,
	  (const char *const[]){ "Not Supported", "Not Started", "In Progress", "Completed",
				 NULL } },
	{ "Fabric", NULL, "Status", "fabric/status", "nvmlDeviceGetGpuFabricInfo.status", CHOICE,
	  (const char *const[]){ "Success", NULL } },
};

/* Reasons of the clock, by their bits. Source: nvml.h, nvmlClocksEventReason*. */
static const struct {
	const char *name, *tag;
} reasons[] = { { "Idle", "gpu_idle" },
		{ "Applications Clocks Setting", "applications_clocks_setting" },
		{ "SW Power Cap", "sw_power_cap" },
		{ "HW Slowdown", "hw_slowdown" },
		{ "Sync Boost", "sync_boost" },
		{ "SW Thermal Slowdown", "sw_thermal_slowdown" },
		{ "HW Thermal Slowdown", "hw_thermal_slowdown" },
		{ "HW Power Brake Slowdown", "hw_power_brake_slowdown" },
		{ "Display Clock Setting", "display_clocks_setting" } };

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
			put_number(p, object, r->question,
				   (long long)(v * factor[r->unit] + (v < 0 ? -0.5 : 0.5)));
	}
}

static void put_row(struct posted *p, const struct row *r, const char *value)
{
	char object[16];

	snprintf(object, sizeof(object), "%d", p->smi.gpu);
	take(p, r, object, value);
}

/* Of the clock; name: as a line or an element calls it. */
static void put_reason(struct posted *p, const char *name, const char *value)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strcmp(reasons[i].name, name) == 0 || strcmp(reasons[i].tag, name) == 0) {
			if (p->smi.reasons < 0)
				p->smi.reasons = 0;
			p->smi.reasons |= strcmp(value, "Active") == 0 ? 1LL << i : 0;
		}
}

static void gpu_line(struct posted *p, const char *name, const char *value)
{
	const char *section = p->smi.depth ? p->smi.path[0] : "",
		   *parent = p->smi.depth ? p->smi.path[p->smi.depth - 1] : "";

	/* Of boards with a module's readings the GPU's own have the newer title. */
	if (strcmp(section, "GPU Power Readings") == 0)
		section += 4;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, name) == 0 && strcmp(rows[i].section, section) == 0 &&
		    (!rows[i].parent || strcmp(rows[i].parent, parent) == 0))
			put_row(p, &rows[i], value);
	if (strcmp(section, "Clocks Event Reasons") == 0 ||
	    strcmp(section, "Clocks Throttle Reasons") == 0)
		put_reason(p, name, value);
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

	if ((strcmp(name, "Driver Version") == 0 || strcmp(name, "driver_version") == 0) &&
	    *value >= '0' && *value <= '9')
		put_words(p, "", "nvmlSystemGetDriverVersion", value);
	else if (strcmp(name, "CUDA Version") == 0 || strcmp(name, "cuda_version") == 0)
		put_cuda(p, value);
	else if ((strcmp(name, "Attached GPUs") == 0 || strcmp(name, "attached_gpus") == 0) &&
		 parse_i64(value, &n) == 0 && n >= 0 && n <= POSTED_GPUS_MAX)
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

/* --- nvidia-smi -q -x ------------------------------------------------------------------------- */

enum { XML_DEPTH = 12, XML_NAME = 64, XML_VALUE = 256 };

/* Where the reader stands: the names of the elements that are open. */
struct xml {
	struct posted *p;
	char open[XML_DEPTH][XML_NAME];
	size_t depth;
	const char *text; /* of the element that was opened last; NULL: it has others inside */
};

/* nvidia_smi_log/gpu/section/.../element; a section's own name is unique in it. */
static void xml_value(struct xml *x, const char *value)
{
	char key[2 * XML_NAME];
	const char *name = x->open[x->depth - 1], *section = x->open[2], *reason;

	if (x->depth == 2)
		system_line(x->p, name, value);
	if (x->depth < 3 || strcmp(x->open[1], "gpu") != 0 || x->p->smi.gpu < 0)
		return;
	if (str_starts(section, "gpu_power_readings"))
		section += 4;
	snprintf(key, sizeof(key), "%s%s%s", x->depth > 3 ? section : "", x->depth > 3 ? "/" : "",
		 name);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].tag, key) == 0)
			put_row(x->p, &rows[i], value);
	reason = strstr(name, "_reason_");
	if (reason && str_starts(section, "clocks_") && str_ends(section, "_reasons"))
		put_reason(x->p, reason + 8, value);
}

/* The element that ends before the "<" of its end tag. An entity in it leaves it unknown. */
static bool xml_close(struct xml *x, const char *name, size_t n, const char *before)
{
	char value[XML_VALUE];
	size_t len;

	if (strlen(x->open[x->depth - 1]) != n || memcmp(x->open[x->depth - 1], name, n) != 0)
		return false;
	if (x->text) {
		const char *s = str_trim(x->text, (size_t)(before - x->text), &len);

		if (len < sizeof(value) && !memchr(s, '&', len) && !memchr(s, '<', len)) {
			memcpy(value, s, len);
			value[len] = '\0';
			xml_value(x, value);
		}
	}
	x->text = NULL;
	x->depth--;
	return true;
}

static bool xml_open(struct xml *x, const char *name, size_t n, const char *behind)
{
	if (!n || n >= XML_NAME || x->depth == XML_DEPTH)
		return false;
	memcpy(x->open[x->depth], name, n);
	x->open[x->depth++][n] = '\0';
	x->text = behind;
	return x->depth != 2 || strcmp(x->open[1], "gpu") != 0 || next_gpu(x->p);
}

/* The ">" of what begins at s; NULL: cut short. */
static const char *xml_end(const char *s, const char *end)
{
	size_t left = (size_t)(end - s);

	if (left < 4 || memcmp(s, "<!--", 4) != 0)
		return memchr(s, '>', left);
	s = memmem(s + 4, left - 4, "-->", 3);
	return s ? s + 2 : NULL;
}

const char *posted_smi_xml(struct posted *p, const char *s, const char *end)
{
	struct xml x = { .p = p };
	const char *close = NULL;

	p->smi.gpu = -1;
	while ((s = memchr(s, '<', (size_t)(end - s))) && (close = xml_end(s, end))) {
		bool fine = true;
		const char *name = s + 1 + (s[1] == '/');
		size_t n = 0;

		while (name + n < close && !strchr(" \t\r\n/", name[n]))
			n++;
		if (s[1] == '/')
			fine = xml_close(&x, name, n, s);
		else if (s[1] != '!' && s[1] != '?')
			fine = xml_open(&x, name, n, close + 1) &&
			       (close[-1] != '/' || xml_close(&x, name, n, close + 1));
		s = close + 1;
		if (!fine || !x.depth)
			break;
	}
	posted_smi_finish(p);
	return s && close ? s : end;
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
