/* SPDX-License-Identifier: Apache-2.0 */
/* What "gputune journal" says of the files. */
#include "tune/txn/page_journal.h"

#include "look/settings/findings.h"
#include "render/json_value.h"

static struct cell bytes(struct doc *d, const char *path, size_t n)
{
	return n ? cell_printf(d, STYLE_PLAIN, "%s, %zu bytes", path, n)
		 : cell_printf(d, STYLE_MUTED, "%s, not there", path);
}

static struct cell lines(struct doc *d, const struct journal *j)
{
	if (j->bad_lines && j->bad_at)
		return cell_printf(d, STYLE_BAD, "%zu could not be read, the first is line %zu",
				   j->bad_lines, j->bad_at);
	if (j->bad_lines)
		return cell_printf(d, STYLE_BAD, "%zu could not be read", j->bad_lines);
	if (j->mended)
		return cell_printf(d, STYLE_WARN, "%zu are damaged, and were read from the copy",
				   j->mended);
	return cell_as(STYLE_GOOD, "all can be read");
}

/* Transactions that may still hold a change. */
static size_t count_open(const struct journal *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->n; i++)
		n += transaction_holds(&j->items[i]) && !transaction_is_over(&j->items[i]);
	return n;
}

struct doc *page_journal(struct arena *a, const struct journal *j)
{
	const struct journal_files *f = &j->files;
	struct doc *d = doc_new(a);
	struct node *p;

	if (!f->format) {
		doc_text(d, "There is no journal: gputune has changed nothing on this machine.");
		return d;
	}
	p = doc_pairs(d, NULL);
	node_pair(d, p, "Journal", bytes(d, TXN_JOURNAL, f->bytes));
	node_pair(d, p, "Copy",
		  f->format == 1 || f->copy_is_whole
			  ? bytes(d, TXN_COPY, f->copy_bytes)
			  : cell_printf(d, STYLE_WARN, "%s, differs from the journal", TXN_COPY));
	node_pair(d, p, "History", bytes(d, TXN_HISTORY, f->history_bytes));
	node_pair(d, p, "Format",
		  f->format == 1 ? cell("1: no checksums; the next change writes it as format 2")
				 : cell_printf(d, STYLE_PLAIN, "%d", f->format));
	node_pair(d, p, "Lines", lines(d, j));
	node_pair(d, p, "Transactions",
		  cell_printf(d, STYLE_PLAIN, "%zu, of which %zu may still hold a change", j->n,
			      count_open(j)));
	return d;
}

static json_t *size(size_t n)
{
	return json_integer((json_int_t)n);
}

json_t *journal_json(const char *action, const struct machine *m, const struct journal *journal,
		     int exit_code)
{
	const struct journal_files *f = &journal->files;
	json_t *j = result_json("journal", m, exit_code);

	json_object_set_new(j, "action", json_string(action));
	json_object_set_new(j, "format", f->format ? json_integer(f->format) : json_null());
	json_object_set_new(j, "copy_is_whole", json_boolean(f->copy_is_whole));
	json_object_set_new(j, "journal_bytes", size(f->bytes));
	json_object_set_new(j, "copy_bytes", size(f->copy_bytes));
	json_object_set_new(j, "history_bytes", size(f->history_bytes));
	json_object_set_new(j, "bad_lines", size(journal->bad_lines));
	json_object_set_new(j, "first_bad_line",
			    journal->bad_at ? size(journal->bad_at) : json_null());
	json_object_set_new(j, "lines_from_copy", size(journal->mended));
	json_object_set_new(j, "torn", json_boolean(journal->torn));
	json_object_set_new(j, "transactions", size(journal->n));
	json_object_set_new(j, "open_transactions", size(count_open(journal)));
	return j;
}
