/* SPDX-License-Identifier: Apache-2.0 */
/* Narrow spots for programs. */
#include "look/show/topology_json.h"

#include "machine/model/narrow.h"
#include "render/json_value.h"

/* A capture may claim any rate. */
static json_t *whole(double v)
{
	return json_figure(v < 1e15 ? (double)(long long)(v + 0.5) : v);
}

json_t *narrow_json(struct arena *a, const struct machine *m)
{
	static const char *const kinds[] = { "lanes",  "speed", "nvlink", "far",
					     "uplink", "port",	"slot" };
	json_t *list = json_array();
	size_t n;
	const struct narrow *spots = narrow_spots(a, m, &n);

	for (size_t i = 0; i < n; i++) {
		const struct narrow *s = &spots[i];
		bool rated = s->could > 0;
		json_t *j = json_object();

		json_object_set_new(j, "kind", json_string(kinds[s->kind]));
		json_object_set_new(j, "name", json_text(s->name));
		json_object_set_new(j, "address", json_text(s->address));
		json_object_set_new(j, "fault", json_boolean(s->fault));
		json_object_set_new(j, "now", rated ? whole(s->now) : json_null());
		json_object_set_new(j, "could", rated ? whole(s->could) : json_null());
		json_object_set_new(j, "unit",
				    rated ? json_string(s->kind == NARROW_NVLINK ? "links" : "MB/s")
					  : json_null());
		json_object_set_new(j, "reason", json_text(s->reason));
		json_array_append_new(list, j);
	}
	return list;
}
