/* SPDX-License-Identifier: Apache-2.0 */
/* Values as they stand in our JSON: what is not known is null, never a word or a zero. */
#ifndef RENDER_JSON_VALUE_H
#define RENDER_JSON_VALUE_H

#include <jansson.h>

/* Bytes that are no UTF-8 are replaced (JSON has no others); null for NULL. */
json_t *json_text(const char *s);
/* null for what is no number or has no bound. */
json_t *json_figure(double v);
/* A figure with its interval: "value", "low", "high". */
json_t *json_interval(double value, double low, double high);
/* A list of texts. */
json_t *json_texts(const char *const *items, size_t n);

/* What every result begins with: schema, version of the program, time (seconds since 1970), exit
 * code. */
json_t *json_head(const char *schema, long long now, int exit_code);

#endif
