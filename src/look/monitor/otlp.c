/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look as OpenTelemetry metrics: one line of OTLP/HTTP JSON, of the GPUs, by the conventions for
 * hardware (https://opentelemetry.io/docs/specs/semconv/hardware/gpu/, status development,
 * 2026-08). What the conventions have no name for is not among them: the text format for Prometheus
 * has all.
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "look/monitor/page_monitor.h"

enum otlp_kind { OTLP_GAUGE, OTLP_UP_DOWN, OTLP_COUNTER };

/* A metric, and its value by columns and what the machine is. */
struct otlp_metric {
	const char *name, *unit, *what;
	enum otlp_kind kind;
	const char *type;	/* hw.type */
	const char *key, *word; /* one attribute besides; NULL: none */
	double (*value)(const struct instant *f, const struct monitor_gpu *g, const char *target);
};

static double column(const struct instant *f, const char *type, const char *target)
{
	long i = monitor_find(f->mon, type, target);

	return i < 0 ? NAN : f->now[i];
}

static double busy(const struct instant *f, const struct monitor_gpu *g, const char *t)
{
	(void)g;
	return column(f, "gpu.busy", t) / 100;
}

static double used(const struct instant *f, const struct monitor_gpu *g, const char *t)
{
	(void)g;
	return column(f, "gpu.memory-used", t);
}

static double limit(const struct instant *f, const struct monitor_gpu *g, const char *t)
{
	(void)f;
	(void)t;
	return g->memory_bytes > 0 && !g->integrated ? g->memory_bytes : NAN;
}

static double share(const struct instant *f, const struct monitor_gpu *g, const char *t)
{
	return used(f, g, t) / limit(f, g, t);
}

static double watts(const struct instant *f, const struct monitor_gpu *g, const char *t)
{
	(void)g;
	return column(f, "gpu.power", t);
}

static double celsius(const struct instant *f, const struct monitor_gpu *g, const char *t)
{
	(void)g;
	return column(f, "gpu.temperature", t);
}

/* PCIe, and NVLink where there is one. */
static double io(const struct instant *f, const char *pcie, const char *nvlink, const char *t)
{
	double more = column(f, nvlink, t);

	return column(f, pcie, t) + (isnan(more) ? 0 : more);
}

static double sent(const struct instant *f, const struct monitor_gpu *g, const char *t)
{
	(void)g;
	return io(f, "gpu.pcie-sent", "gpu.nvlink-sent", t);
}

static double received(const struct instant *f, const struct monitor_gpu *g, const char *t)
{
	(void)g;
	return io(f, "gpu.pcie-received", "gpu.nvlink-received", t);
}

#define IO                                                                                         \
	"hw.gpu.io", "By", "Bytes received and transmitted by the GPU.", OTLP_COUNTER, "gpu",      \
		"network.io.direction"

/* Rows of one name stand together. */
static const struct otlp_metric metrics[] = {
	{ "hw.gpu.utilization", "1", "Fraction of time spent in a specific task.", OTLP_GAUGE,
	  "gpu", "hw.gpu.task", "general", busy },
	{ "hw.gpu.memory.usage", "By", "GPU memory used.", OTLP_UP_DOWN, "gpu", NULL, NULL, used },
	{ "hw.gpu.memory.limit", "By", "Size of the GPU memory.", OTLP_UP_DOWN, "gpu", NULL, NULL,
	  limit },
	{ "hw.gpu.memory.utilization", "1", "Fraction of GPU memory used.", OTLP_GAUGE, "gpu", NULL,
	  NULL, share },
	{ IO, "transmit", sent },
	{ IO, "receive", received },
	{ "hw.power", "W", "Instantaneous power consumed by the component.", OTLP_GAUGE, "gpu",
	  NULL, NULL, watts },
	{ "hw.temperature", "Cel", "Temperature in degrees Celsius.", OTLP_GAUGE, "temperature",
	  "hw.sensor_location", "gpu_die", celsius },
};

static void attribute(json_t *list, const char *key, const char *value)
{
	if (value)
		json_array_append_new(list, json_pack("{s:s, s:{s:o}}", "key", key, "value",
						      "stringValue", json_text(value)));
}

static void add_point(json_t *points, const struct instant *f, const struct otlp_metric *m,
		      const struct monitor_gpu *g, long long time_ms)
{
	char target[24], when[32], id[40];
	json_auto_t *attributes = json_array();
	bool sensor = strcmp(m->type, "temperature") == 0;
	double v;

	snprintf(target, sizeof(target), "gpu%u", g->index);
	snprintf(id, sizeof(id), "%s%s", target, sensor ? ".temperature" : "");
	snprintf(when, sizeof(when), "%lld000000", time_ms);
	v = m->value(f, g, target);
	attribute(attributes, "hw.id", id);
	attribute(attributes, "hw.type", m->type);
	attribute(attributes, "hw.parent", sensor ? target : NULL);
	attribute(attributes, "hw.name", target);
	attribute(attributes, "hw.model", g->name);
	attribute(attributes, "hw.vendor", "NVIDIA");
	attribute(attributes, "hw.driver_version", f->mon->machine.driver);
	attribute(attributes, m->key, m->word);
	if (isfinite(v))
		json_array_append_new(points, json_pack("{s:O, s:s, s:f}", "attributes", attributes,
							"timeUnixNano", when, "asDouble", v));
}

/* The points of all rows of that name. */
static json_t *metric_json(const struct instant *f, const struct otlp_metric *m, size_t n,
			   long long time_ms)
{
	const struct monitor_machine *mm = &f->mon->machine;
	json_t *points = json_array(), *data = json_pack("{s:o}", "dataPoints", points);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < mm->n_gpus; k++)
			add_point(points, f, &m[i], &mm->gpus[k], time_ms);
	if (m->kind != OTLP_GAUGE) {
		json_object_set_new(data, "aggregationTemporality",
				    json_integer(2)); /* cumulative */
		json_object_set_new(data, "isMonotonic", json_boolean(m->kind == OTLP_COUNTER));
	}
	if (json_array_size(points))
		return json_pack("{s:s, s:s, s:s, s:o}", "name", m->name, "unit", m->unit,
				 "description", m->what, m->kind == OTLP_GAUGE ? "gauge" : "sum",
				 data);
	json_decref(data);
	return NULL;
}

void monitor_otlp(struct text *out, const struct instant *f, long long time_ms)
{
	enum { ROWS = sizeof(metrics) / sizeof(metrics[0]) };
	json_t *list = json_array(), *of = json_array(), *j;

	for (size_t i = 0, n; i < ROWS; i += n) {
		for (n = 1; i + n < ROWS && strcmp(metrics[i + n].name, metrics[i].name) == 0;)
			n++;
		j = metric_json(f, &metrics[i], n, time_ms);
		if (j)
			json_array_append_new(list, j);
	}
	attribute(of, "service.name", "gputune");
	attribute(of, "host.name", f->mon->machine.name);
	j = json_pack("{s:[{s:{s:o}, s:[{s:{s:s, s:s}, s:o}]}]}", "resourceMetrics", "resource",
		      "attributes", of, "scopeMetrics", "scope", "name", "gputune", "version",
		      GPUTUNE_VERSION, "metrics", list);
	json_add(out, j, JSON_COMPACT | JSON_REAL_PRECISION(15));
	text_add(out, "\n");
	json_decref(j);
}
