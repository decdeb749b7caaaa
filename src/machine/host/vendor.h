/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a vendor's library at run time and fills a table of its functions. A symbol that the
 * installed library lacks gets the table's fall-back, which answers "function not found" with the
 * right type, so that no caller ever tests a pointer. Knows nothing of any one library.
 */
#ifndef HOST_VENDOR_H
#define HOST_VENDOR_H

#include <stdbool.h>
#include <stddef.h>

/* One function: its place in the caller's table of pointers, and what stands in when it is missing.
 */
struct vendor_symbol {
	const char *name;
	size_t offset;
	void (*fallback)(void);
};

/* Whether the loader takes a name as it is: for words behind a '$' ("$LIB", "${ORIGIN}") it puts
 * folders of its own, so that another file than the one that was looked at is loaded. */
bool vendor_literal(const char *soname);
/*
 * Opens soname (searched like any library), resolves every symbol into table. The symbols stay
 * private to the caller. 0 and *lib (close with vendor_close), or -ELIBACC with every pointer at
 * its fall-back.
 */
int vendor_open(const char *soname, const struct vendor_symbol *symbols, size_t n, void *table,
		void **lib);
/* The first symbol that the library of an open table lacks: its name; NULL: none. For those who
 * cannot do without any. */
const char *vendor_lacks(const struct vendor_symbol *symbols, size_t n, const void *table);
/* The symbols of one that is open are there for libraries that it opens itself. */
bool vendor_publish(const char *soname);
void vendor_close(void *lib);

/*
 * Calls fn(ctx) in a thread that takes no signals and waits for its end: threads that a vendor's
 * library starts meanwhile (cuInit does) inherit that. One of theirs that takes signals would take
 * ours: SIGCHLD would be lost, and SIGTERM would end the program before it has cleaned up, whatever
 * waits for it. The caller's thread takes signals as before, also while a driver hangs.
 */
void vendor_call(void (*fn)(void *ctx), void *ctx);

/* What may be loaded with root's rights: nobody but root may have written the file or any folder on
 * the way to it. path: resolved, links and all. */
bool vendor_trusted(const char *path);

#endif
