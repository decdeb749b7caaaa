/* SPDX-License-Identifier: Apache-2.0 */
/* Around inih, which cuts long lines without saying so and passes over what is no line. */
#include "base/ini_file.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 190 };

int ini_bad(struct ini_file *f, const char *fmt, ...)
{
	char what[400];
	va_list ap;

	if (f->result)
		return 0;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	f->complained = f->line;
	f->result = err_set(f->e, -EINVAL, "%s:%d: %s", f->path, f->line, what);
	return 0;
}

static char *ini_next_line(char *buf, int cap, void *stream)
{
	struct ini_file *f = stream;
	size_t n = strcspn(f->rest, "\n");

	n += f->rest[n] == '\n';
	if (f->result || !n)
		return NULL;
	f->line++;
	if (n > LINE_BYTES || n >= (size_t)cap) {
		ini_bad(f, "the line exceeds %d characters", LINE_BYTES);
		return NULL;
	}
	memcpy(buf, f->rest, n);
	buf[n] = '\0';
	f->rest += n;
	return buf;
}

int ini_file_read(struct ini_file *f, const char *text, size_t len, ini_key *on_key, void *ctx)
{
	int line;

	f->rest = text;
	f->line = f->complained = f->result = 0;
	line = strlen(text) == len ? ini_parse_stream(ini_next_line, f, on_key, ctx) : 1;
	/* A line that is no INI is passed over by the parser; what follows from it must not hide
	 * it. */
	if (line > 0 && f->complained > line)
		f->result = 0;
	if (!f->result && line) {
		f->line = line > 0 ? line : f->line;
		ini_bad(f, "expected \"key = value\", \"[section]\" or a comment");
	}
	return f->result;
}
