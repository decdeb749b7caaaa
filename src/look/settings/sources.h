/* SPDX-License-Identifier: Apache-2.0 */
/* The documents that settings cite by a short key. */
#ifndef SETTINGS_SOURCES_H
#define SETTINGS_SOURCES_H

/* The title behind a key such as "S0"; NULL when the text is a title already. */
const char *source_title(const char *key);

#endif
