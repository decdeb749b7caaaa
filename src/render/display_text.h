/* SPDX-License-Identifier: Apache-2.0 */
/* What a text from a machine may do to a medium: nothing. Cleaning, measuring and breaking lines.
 */
#ifndef RENDER_DISPLAY_TEXT_H
#define RENDER_DISPLAY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/text.h"

/* Columns that s takes on a terminal, in the locale that is set. */
size_t display_width(const char *s);
/* Adds s: blanks for newlines and tabs, a replacement for what is not harmless or, if ascii, not
 * ASCII. */
void display_clean(struct text *t, const char *s, bool ascii);
/* Adds n bytes of a whole page for a terminal: its lines, tabs and colours ("ESC [ 1;31 m") stay,
 * what else is not harmless is replaced. */
void display_page(struct text *t, const char *s, size_t n);
/* Columns that its longest piece takes, of those that display_wrap breaks only for want of room. */
size_t display_word_width(const char *s);
/* Adds s broken by newlines so that no line is wider than width; between words where it can be. */
void display_wrap(struct text *t, const char *s, size_t width);
/* Adds s for the inside of an HTML, SVG or Markdown element or quoted attribute: escaped,
 * blanks for tabs. */
void display_escape(struct text *t, const char *s);
/* How much of a code cell's text is prose before the command: MACHINE_THERE. */
size_t display_prose(const char *code);
/* A label of an exposition for Prometheus: name="value". */
void display_label(FILE *out, const char *name, const char *value);

#endif
