/* SPDX-License-Identifier: Apache-2.0 */
/* What vendors set or recommend for a setting, by kind of machine: rows of vendor_opinions.rows. */
#ifndef KNOWLEDGE_VENDOR_H
#define KNOWLEDGE_VENDOR_H

#include "base/rows.h"

/* How the row is known. */
enum vendor_evidence {
	VENDOR_TEXT,	    /* the vendor's own repository or manual */
	VENDOR_PACKAGE,	    /* somebody's decoding of the vendor's package */
	VENDOR_CAPTURE,	    /* read on a machine as shipped */
	VENDOR_THIRD_PARTY, /* somebody else's recipe */
};

struct vendor_opinion {
	const char *setting; /* its id */
	bool maker; /* from who makes the machine or its GPU: the profile vendor takes it */
	const char *by, *where;
	unsigned on;	   /* kinds of machines, as enum on of the settings */
	unsigned relation; /* as enum relation of the settings */
	const char *value; /* NULL: left alone */
	const char *says;
	const char *differs; /* why the default profile does not follow it; NULL: it does */
	const char *source, *date;
	enum vendor_evidence evidence;
};

extern const struct vendor_opinion vendor_opinions[];
extern const size_t n_vendor_opinions;

#endif
