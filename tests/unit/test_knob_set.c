/* SPDX-License-Identifier: Apache-2.0 */
/* Services, GPUs, boost sliders and pools of a captured machine, through knobs: what they read as,
 * and what the machine is after they were set and set back. */
#include "box.h"

#include "machine/host/ask.h"
#include "machine/host/command.h"
#include "machine/host/unit_file.h"
#include "machine/write/write.h"
#include "machine/knob/io.h"

struct world {
	struct box box;
	struct host *h;
	struct arena a;
	struct err e;
};

static void unit_file(const struct box *b, const char *name, const char *install)
{
	char path[256], text[512];

	snprintf(path, sizeof(path), "c/root/usr/lib/systemd/system/%s", name);
	snprintf(text, sizeof(text),
		 "[Unit]\nDescription=x\nWantedBy=no.target\n[Service]\nExecStart=/bin/x\n%s",
		 install);
	box_file(b, path, text);
}

static const char nvml[] =
	"{\"\": {\"nvmlDeviceGetCount\": 2},"
	" \"0\": {\"nvmlDeviceGetPciInfo.busId\": \"00000000:18:00.0\","
	"  \"nvmlDeviceGetPersistenceMode\": 0, \"nvmlDeviceGetComputeMode\": 0,"
	"  \"nvmlDeviceGetPowerManagementLimit\": 700000, \"nvmlDeviceGetEnforcedPowerLimit\": "
	"700000,"
	"  \"nvmlDeviceGetPowerManagementLimitConstraints.minLimit\": 200000,"
	"  \"nvmlDeviceGetPowerManagementLimitConstraints.maxLimit\": 700000,"
	"  \"nvmlDeviceGetClockInfo(SM)\": 345, \"nvmlDeviceGetMaxClockInfo(SM)\": 1980,"
	"  \"nvmlDeviceGetClockInfo(MEM)\": 3201, \"nvmlDeviceGetMaxClockInfo(MEM)\": 3201,"
	"  \"nvmlDeviceGetSupportedMemoryClocks.count\": 1},"
	" \"1\": {\"nvmlDeviceGetPciInfo.busId\": \"0000000F:01:00.0\","
	"  \"nvmlDeviceGetClockInfo(SM)\": 2418, \"nvmlDeviceGetMaxClockInfo(SM)\": 3003,"
	"  \"*\": {\"error\": \"EOPNOTSUPP\"}}}";

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	char capture[512], overlay[512];
	struct box *b = &w->box;

	box_make(b);
	box_file(b, "c/meta.json", BOX_META("absent"));
	box_file(b, "c/api/nvml.json", nvml);
	box_file(b, "c/api/boost-slider.json",
		 "{\"0000:18:00.0\": {\"vboost\": 0, \"vboost.max\": 4}}");
	box_file(b, "c/api/zpool.json", "{\"tank\": {\"autotrim\": \"off\"}}");
	box_file(b, "c/api/nvpmodel.json", "{\"\": {\"mode\": 2}}");
	box_file(b, "c/api/jetson-clocks.json", "{\"\": {\"max\": 0}}");
	unit_file(b, "on.service", "[Install]\nWantedBy=multi-user.target\n");
	unit_file(b, "off.service",
		  "[Install]\n# WantedBy=z.target\nWantedBy=a.target b.target\nRequiredBy = "
		  "c.target\n"
		  "Alias=other.service\nWantedBy=../x\n");
	unit_file(b, "static.service", "");
	unit_file(b, "own.service", "[Install]\nWantedBy=multi-user.target\n");
	unit_file(b, "hidden.service", "[Install]\nWantedBy=multi-user.target\n");
	box_file(b, "c/root/run/systemd/generator.late/sysv.service", "[Unit]\n");
	box_link(b, "c/root/etc/systemd/system/multi-user.target.wants/on.service",
		 "/usr/lib/systemd/system/on.service");
	box_link(b, "c/root/etc/systemd/system/special.target.wants/own.service",
		 "/usr/lib/systemd/system/own.service");
	box_link(b, "c/root/etc/systemd/system/hidden.service", "/dev/null");
	box_file(b, "c/root/sys/fs/cgroup/system.slice/on.service/cgroup.procs", "42\n");
	box_folder(b, "c/root/sys/fs/cgroup/system.slice/static.service");
	w->h = host_open_overlay(box_path(b, "c", capture, sizeof(capture)),
				 box_path(b, "o", overlay, sizeof(overlay)), &w->e);
	assert_non_null(w->h);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	host_close(w->h);
	arena_free(&w->a);
	box_remove(&w->box);
	free(w);
	return 0;
}

static int set(struct world *w, enum knob_kind kind, const char *name, const char *object,
	       const char *value)
{
	struct knob k = { kind, name, object };

	w->e = (struct err){ 0 };
	return knob_set(w->h, &w->a, &k, value, &w->e);
}

static const char *get(struct world *w, enum knob_kind kind, const char *name, const char *object)
{
	struct knob k = { kind, name, object };
	const char *value = "?";
	int r = knob_get(w->h, &w->a, &k, &value, &w->e);

	return r ? errno_name(r) : value;
}

static const char *unit(struct world *w, const char *name)
{
	return get(w, KNOB_UNIT, name, "");
}

static int set_unit(struct world *w, const char *name, const char *value)
{
	return set(w, KNOB_UNIT, name, "", value);
}

static bool there(struct world *w, const char *path)
{
	return host_exists(w->h, path);
}

static void services_read_as_systemd_says(void **state)
{
	struct world *w = *state;

	assert_string_equal(unit(w, "on.service"), "enabled active");
	assert_string_equal(unit(w, "off.service"), "disabled inactive");
	assert_string_equal(unit(w, "static.service"), "static active");
	assert_string_equal(unit(w, "own.service"), "enabled inactive");
	assert_string_equal(unit(w, "hidden.service"), "masked inactive");
	assert_string_equal(unit(w, "sysv.service"), "static inactive");
	assert_string_equal(unit(w, "missing.service"), "ENOENT");
}

/* Every state that a service can be brought to, and back. */
static void services_are_put_back(void **state)
{
	static const struct {
		const char *name, *before, *value;
	} rows[] = {
		{ "on.service", "enabled active", "disabled inactive" },
		{ "on.service", "enabled active", "enabled inactive" },
		{ "on.service", "enabled active", "masked inactive" },
		{ "on.service", "enabled active", "disabled active" },
		{ "off.service", "disabled inactive", "enabled active" },
		{ "off.service", "disabled inactive", "masked inactive" },
		{ "static.service", "static active", "static inactive" },
		{ "static.service", "static active", "masked inactive" },
		{ "hidden.service", "masked inactive", "enabled active" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_string_equal(unit(w, rows[i].name), rows[i].before);
		assert_int_equal(set_unit(w, rows[i].name, rows[i].value), 0);
		assert_string_equal(unit(w, rows[i].name), rows[i].value);
		/* Twice is once. */
		assert_int_equal(set_unit(w, rows[i].name, rows[i].value), 0);
		assert_string_equal(unit(w, rows[i].name), rows[i].value);
		assert_int_equal(set_unit(w, rows[i].name, rows[i].before), 0);
		assert_string_equal(unit(w, rows[i].name), rows[i].before);
	}
}

static void enabling_makes_the_links_of_the_file(void **state)
{
	static const char *const links[] = { "/etc/systemd/system/a.target.wants/off.service",
					     "/etc/systemd/system/b.target.wants/off.service",
					     "/etc/systemd/system/c.target.requires/off.service",
					     "/etc/systemd/system/other.service" };
	struct world *w = *state;
	char **names;
	size_t n;

	assert_int_equal(set_unit(w, "off.service", "enabled inactive"), 0);
	for (size_t i = 0; i < 4; i++)
		assert_true(there(w, links[i]));
	assert_false(there(w, "/etc/systemd/system/z.target.wants"));
	assert_false(there(w, "/etc/systemd/system/no.target.wants"));
	assert_int_equal(set_unit(w, "off.service", "disabled inactive"), 0);
	for (size_t i = 0; i < 4; i++)
		assert_false(there(w, links[i]));
	/* Folders that were made are gone too. */
	assert_int_equal(host_list(w->h, "/etc/systemd/system", &w->a, &names, &n), 0);
	assert_int_equal(n, 3);
}

static void what_could_not_be_put_back_is_refused(void **state)
{
	struct world *w = *state;

	assert_int_equal(set_unit(w, "own.service", "disabled inactive"), -EOPNOTSUPP);
	assert_non_null(strstr(w->e.text, "own.service"));
	assert_string_equal(unit(w, "own.service"), "enabled inactive");
	assert_int_equal(set_unit(w, "static.service", "enabled active"), -EOPNOTSUPP);
	assert_int_equal(set_unit(w, "missing.service", "enabled active"), -ENOENT);
	assert_int_equal(set_unit(w, "hidden.service", "masked active"), -EBUSY);
}

static void names_and_values_of_units_have_a_shape(void **state)
{
	static const char *const names[] = { "",
					     ".service",
					     "-x.service",
					     "a b.service",
					     "../x.service",
					     "a/b.service",
					     "x.timer",
					     "x.service.d",
					     "x;y.service",
					     "$(x).service" };
	static const char *const values[] = {
		"",	     "enabled",		 "enabled ",	  "enabled  active",
		"on active", "enabled active x", "active enabled"
	};
	struct world *w = *state;
	struct knob k = { KNOB_UNIT, "on.service", "object" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(set_unit(w, names[i], "enabled active"), -EINVAL);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_int_equal(set_unit(w, "on.service", values[i]), -EINVAL);
	assert_false(knob_valid(&k, "enabled active", NULL));
	assert_true(unit_name_valid("getty@tty1.service"));
}

static void commands_of_units(void **state)
{
	static const struct {
		const char *value, *command;
	} rows[] = {
		{ "enabled active", "systemctl enable --now x.service" },
		{ "disabled inactive", "systemctl disable --now x.service" },
		{ "masked inactive", "systemctl mask --now x.service" },
		{ "enabled inactive", "systemctl enable x.service && systemctl stop x.service" },
		{ "disabled active", "systemctl disable x.service && systemctl start x.service" },
		{ "static active", "systemctl start x.service" },
	};
	struct knob k = { KNOB_UNIT, "x.service", "" };
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(knob_command(&w->a, &k, rows[i].value), rows[i].command);
}

static long long ask(struct world *w, const char *index, const char *question)
{
	long long v = -1;

	assert_int_equal(host_ask_int(w->h, "nvml", index, question, &v), 0);
	return v;
}

static int set_gpu(struct world *w, const char *name, const char *value)
{
	return set(w, KNOB_NVML, name, "0000:18:00.0", value);
}

static void captured_gpus_do_as_told(void **state)
{
	struct world *w = *state;

	assert_int_equal(set_gpu(w, "power-limit", "450000"), 0);
	assert_string_equal(get(w, KNOB_NVML, "power-limit", "0000:18:00.0"), "450000");
	assert_int_equal(ask(w, "0", "nvmlDeviceGetEnforcedPowerLimit"), 450000);
	assert_int_equal(set_gpu(w, "power-limit", "700001"), -EINVAL);
	assert_non_null(strstr(w->e.hint, "200000 to 700000"));
	assert_int_equal(set_gpu(w, "power-limit", "700000"), 0);
	assert_int_equal(ask(w, "0", "nvmlDeviceGetEnforcedPowerLimit"), 700000);

	assert_int_equal(set_gpu(w, "persistence-mode", "1"), 0);
	assert_int_equal(set_gpu(w, "gpu-clock-lock", "1500,1980"), 0);
	assert_int_equal(ask(w, "0", "nvmlDeviceGetClockInfo(SM)"), 1500);
	assert_int_equal(set_gpu(w, "gpu-clock-lock", "0,300"), 0);
	assert_int_equal(ask(w, "0", "nvmlDeviceGetClockInfo(SM)"), 300);
	assert_int_equal(set_gpu(w, "gpu-clock-lock", "0,3003"), -EINVAL);
	assert_int_equal(set_gpu(w, "gpu-clock-lock", "unlocked"), 0);
	assert_int_equal(ask(w, "0", "nvmlDeviceGetClockInfo(SM)"), 345);
	assert_int_equal(set_gpu(w, "gpu-clock-lock", "1980,1980"), 0);
	assert_int_equal(set_gpu(w, "persistence-mode", "0"), 0);
	assert_int_equal(ask(w, "0", "nvmlDeviceGetClockInfo(SM)"), 345);
	/* Its memory has one clock; it was never asked for accounting. */
	assert_int_equal(set_gpu(w, "memory-clock-lock", "3201,3201"), -EOPNOTSUPP);
	assert_int_equal(set_gpu(w, "accounting-mode", "1"), -ENOENT);
	/* An integrated GPU takes a clock lock and little else. */
	assert_int_equal(set(w, KNOB_NVML, "gpu-clock-lock", "000f:01:00.0", "3003,3003"), 0);
	assert_int_equal(ask(w, "1", "nvmlDeviceGetClockInfo(SM)"), 3003);
	assert_int_equal(set(w, KNOB_NVML, "power-limit", "000f:01:00.0", "100000"), -EOPNOTSUPP);
}

static void captured_sliders_and_pools_do_as_told(void **state)
{
	struct world *w = *state;
	struct knob k = { KNOB_HELPER, "vboost", "00000000:18:00.0" };
	struct fact_str seen;

	assert_string_equal(get(w, KNOB_HELPER, "vboost", "0000:18:00.0"), "0");
	assert_int_equal(set(w, KNOB_HELPER, "vboost", "0000:18:00.0", "4"), 0);
	seen = knob_read(w->h, &w->a, &k);
	assert_int_equal(seen.f.seen, SEEN_OK);
	assert_string_equal(seen.v, "4");
	assert_int_equal(set(w, KNOB_HELPER, "vboost", "0000:18:00.0", "5"), -ERANGE);
	assert_non_null(strstr(w->e.hint, "0 to 4"));
	assert_int_equal(set(w, KNOB_HELPER, "vboost", "", "1"), -EINVAL);
	assert_int_equal(set(w, KNOB_HELPER, "vboost", "0000:18:00.0", "-1"), -EINVAL);
	assert_string_equal(get(w, KNOB_HELPER, "vboost", "0000:19:00.0"), "ENOENT");
	assert_string_equal(knob_command(&w->a, &k, "1"),
			    "nvidia-smi boost-slider -i 00000000:18:00.0 --vboost 1");

	k = (struct knob){ KNOB_ZPROP, "autotrim", "tank" };
	assert_string_equal(get(w, KNOB_ZPROP, "autotrim", "tank"), "off");
	assert_int_equal(set(w, KNOB_ZPROP, "autotrim", "tank", "on"), 0);
	assert_string_equal(get(w, KNOB_ZPROP, "autotrim", "tank"), "on");
	assert_int_equal(set(w, KNOB_ZPROP, "autotrim", "tank", "maybe"), -EINVAL);
	assert_int_equal(set(w, KNOB_ZPROP, "autotrim", "-a", "on"), -EINVAL);
	assert_int_equal(set(w, KNOB_ZPROP, "readonly", "tank", "on"), -EINVAL);
	assert_int_equal(set(w, KNOB_ZPROP, "autotrim", "tank2", "on"), -ENOENT);
	assert_string_equal(knob_command(&w->a, &k, "on"), "zpool set autotrim=on tank");
}

static void captured_modules_and_modes_do_as_told(void **state)
{
	struct world *w = *state;
	struct knob k = { KNOB_MODULE, "nvidia-peermem", "" };
	struct fact_str seen;

	assert_string_equal(get(w, KNOB_MODULE, "nvidia-peermem", ""), "absent");
	assert_int_equal(set(w, KNOB_MODULE, "nvidia-peermem", "", "loaded"), 0);
	assert_string_equal(get(w, KNOB_MODULE, "nvidia-peermem", ""), "loaded");
	assert_true(host_exists(w->h, "/sys/module/nvidia_peermem"));
	assert_int_equal(set(w, KNOB_MODULE, "nvidia-peermem", "", "absent"), 0);
	assert_false(host_exists(w->h, "/sys/module/nvidia_peermem"));
	assert_int_equal(set(w, KNOB_MODULE, "nvidia-peermem", "", "1"), -EINVAL);
	assert_int_equal(set(w, KNOB_MODULE, "../x", "", "loaded"), -EINVAL);
	assert_int_equal(set(w, KNOB_MODULE, "-r", "", "loaded"), -EINVAL);
	assert_string_equal(knob_command(&w->a, &k, "loaded"), "modprobe nvidia-peermem");
	assert_string_equal(knob_command(&w->a, &k, "absent"), "rmmod nvidia-peermem");
	k.name = "nouveau";
	assert_false(knob_allows(&w->a, &k, "loaded", &(const char *){ NULL }));

	assert_string_equal(get(w, KNOB_POWER, "nvpmodel", ""), "2");
	assert_int_equal(set(w, KNOB_POWER, "nvpmodel", "", "0"), 0);
	assert_string_equal(get(w, KNOB_POWER, "nvpmodel", ""), "0");
	assert_int_equal(set(w, KNOB_POWER, "nvpmodel", "", "-1"), -EINVAL);
	assert_int_equal(set(w, KNOB_POWER, "nvpmodel", "", "100"), -EINVAL);
	assert_int_equal(set(w, KNOB_POWER, "nvp", "", "1"), -EINVAL);
	k = (struct knob){ KNOB_POWER, "nvpmodel", "" };
	assert_string_equal(knob_command(&w->a, &k, "0"), "nvpmodel -m 0");
	assert_false(knob_allows(&w->a, &k, "64", &(const char *){ NULL }));

	assert_string_equal(get(w, KNOB_HELPER, "jetson-clocks", ""), "0");
	assert_int_equal(set(w, KNOB_HELPER, "jetson-clocks", "", "1"), 0);
	k = (struct knob){ KNOB_HELPER, "jetson-clocks", "" };
	seen = knob_read(w->h, &w->a, &k);
	assert_int_equal(seen.f.seen, SEEN_OK);
	assert_string_equal(seen.v, "1");
	assert_int_equal(set(w, KNOB_HELPER, "jetson-clocks", "", "2"), -EINVAL);
	assert_int_equal(set(w, KNOB_HELPER, "jetson-clocks", "x", "1"), -EINVAL);
	assert_string_equal(knob_command(&w->a, &k, "1"), "jetson_clocks");
}

/* As Jetson Linux's guide and users show it; a processor that is offline has no say. */
static void what_jetson_programs_print(void **state)
{
#define CPU0 "cpu0:  Online=1 Governor=schedutil MinFreq="
#define GPU_LINE "GPU MinFreq=306000000 MaxFreq=306000000 CurrentFreq=306000000\n"
	static const struct {
		const char *text;
		int max; /* -1: refused */
	} shown[] = {
		{ "SOC family:tegra234  Machine:IGX Orin\nOnline CPUs: 0\n" CPU0
		  "729600 MaxFreq=2188800 CurrentFreq=729600 IdleStates: WFI=1 c7=1\n" GPU_LINE
		  "EMC MinFreq=204000000 MaxFreq=3199000000 CurrentFreq=204000000 "
		  "FreqOverride=0\nNV Power Mode: MAXN\n",
		  0 },
		{ CPU0 "2188800 MaxFreq=2188800 CurrentFreq=1 IdleStates: WFI=0 c7=0\n"
		       "cpu1:  Online=0 Governor=x MinFreq=1 MaxFreq=2 CurrentFreq=1\n" GPU_LINE
		       "EMC MinFreq=204000000 MaxFreq=3199000000 CurrentFreq=3199000000 "
		       "FreqOverride=1\n",
		  1 },
		{ CPU0 "2188800 MaxFreq=2188800 CurrentFreq=1\n"
		       "GPU MinFreq=1 MaxFreq=2 CurrentFreq=1\n",
		  0 },
		{ CPU0 "2 MaxFreq=2 CurrentFreq=2\nEMC MinFreq=2 MaxFreq=2 FreqOverride=0\n", 0 },
		{ GPU_LINE, -1 },
		{ "", -1 },
	};
	long long mode = -1;
	bool max;

	(void)state;
	assert_int_equal(nvpmodel_parse("NV Power Mode: MAXN\n0\n", &mode), 0);
	assert_int_equal(mode, 0);
	assert_int_equal(nvpmodel_parse("NVPM WARN: fan mode is not set!\nNV Power Mode: "
					"MODE_30W\n2\n",
					&mode),
			 0);
	assert_int_equal(mode, 2);
	assert_int_equal(nvpmodel_parse("NV Power Mode: 15W", &mode), -EPROTO);
	assert_int_equal(nvpmodel_parse("NV Power Mode: 15W\nx\n", &mode), -EPROTO);
	assert_int_equal(nvpmodel_parse("NV Power Mode: 15W\n1x\n", &mode), -EPROTO);
	assert_int_equal(nvpmodel_parse("NV Power Mode: 15W\n255\n", &mode), -EPROTO);
	assert_int_equal(nvpmodel_parse("", &mode), -EPROTO);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		int r = jetson_clocks_parse(shown[i].text, &max);

		assert_int_equal(r ? -1 : max, shown[i].max);
	}
}

static void what_nvidia_smi_prints(void **state)
{
	static const char table[] = "+----------------------------+\n"
				    "| GPU Boost Slider           |\n"
				    "| GPU  Slider  Max   Current |\n"
				    "|============================|\n"
				    "|   3  vboost   4      2     |\n"
				    "+----------------------------+\n";
	unsigned max = 0, level = 0;

	(void)state;
	assert_int_equal(boost_parse(table, &max, &level), 0);
	assert_int_equal(max, 4);
	assert_int_equal(level, 2);
	assert_int_equal(boost_parse("", &max, &level), -EOPNOTSUPP);
	assert_int_equal(boost_parse("No devices were found\n", &max, &level), -EOPNOTSUPP);
	assert_int_equal(boost_parse("| 0 vboost N/A N/A |", &max, &level), -EPROTO);
	assert_int_equal(boost_parse("| 0 vboost 4 |", &max, &level), -EPROTO);
	assert_int_equal(boost_parse("| 0 vboost 4 5 |", &max, &level), -EPROTO);
	assert_int_equal(boost_parse("| 0 vboost 4 0 |\n| 1 vboost 4 0 |", &max, &level), -EPROTO);
}

static void what_programs_say(void **state)
{
	static const struct {
		int status;
		const char *output, *errors;
		int error;
	} rows[] = {
		{ 0, "No devices were found", "Permission denied", 0 },
		{ 1, "", "Failed to enable unit: Access denied\n", -EACCES },
		{ 4, "Insufficient Permissions", "", -EACCES },
		{ 1, "", "cannot open 'x': no such pool\n", -ENOENT },
		{ 1, "", "Failed to enable unit: Unit file x.service does not exist.\n", -ENOENT },
		{ 1, "", "Failed to mask unit: File '/etc/x' already exists.\n", -EEXIST },
		{ 6, "No devices were found\n", "", -ENODEV },
		{ 1, "", "System has not been booted with systemd as init system\n", -EOPNOTSUPP },
		{ 137, "", "", -EIO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct command_result r = { .status = rows[i].status,
					    .output = rows[i].output,
					    .errors = rows[i].errors };

		assert_int_equal(command_errno(&r), rows[i].error);
	}
}

static void programs_are_bounded(void **state)
{
	struct world *w = *state;
	struct command_result r = { 0 };
	char *both[] = { "sh", "-c", "echo out; echo err >&2; exit 3", NULL };
	char *slow[] = { "sleep", "20", NULL };
	char *loud[] = { "sh", "-c",
			 "while :; do echo xxxxxxxxxxxxxxxx >&2; done & sleep 0.3; kill $!", NULL };
	char *wide[] = { "head", "-c", "5000", "/dev/zero", NULL };
	char *none[] = { "gputune-no-such-program", NULL };
	char *empty[] = { "env", NULL };

	assert_int_equal(command_run(&w->a, both, 5000, 100, &r), 0);
	assert_int_equal(r.status, 3);
	assert_string_equal(r.output, "out\n");
	assert_string_equal(r.errors, "err\n");
	assert_int_equal(command_run(&w->a, slow, 100, 100, &r), -ETIME);
	assert_int_equal(command_run(&w->a, wide, 5000, 4999, &r), -EFBIG);
	assert_int_equal(command_run(&w->a, none, 5000, 100, &r), -ENOENT);
	/* Too many errors are cut, not kept and not fatal. */
	assert_int_equal(command_run(&w->a, loud, 5000, 100, &r), 0);
	assert_int_equal(strlen(r.errors), COMMAND_ERRORS_MAX);
	assert_int_equal(command_run(&w->a, empty, 5000, 4096, &r), 0);
	assert_null(strstr(r.output, "HOME="));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(services_read_as_systemd_says),
		TEST(services_are_put_back),
		TEST(enabling_makes_the_links_of_the_file),
		TEST(what_could_not_be_put_back_is_refused),
		TEST(names_and_values_of_units_have_a_shape),
		TEST(commands_of_units),
		TEST(captured_gpus_do_as_told),
		TEST(captured_sliders_and_pools_do_as_told),
		TEST(captured_modules_and_modes_do_as_told),
		TEST(what_jetson_programs_print),
		TEST(what_nvidia_smi_prints),
		TEST(what_programs_say),
		TEST(programs_are_bounded),
	};

	return cmocka_run_group_tests_name("knob-told", tests, NULL, NULL);
}
