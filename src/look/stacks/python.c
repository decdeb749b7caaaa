/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of CPython's threads, from outside. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "look/stacks/stacks.h"

enum {
	TEXT_MAX = 1024,     /* bytes of a name */
	LINES_MAX = 1 << 16, /* bytes of a table of lines */
	INTERPRETERS_MAX = 64,
	CODES = 4096,
	ANY_ID_OFFSET = 2048, /* where a thread's own id may lie in glibc's descriptor */
};

typedef unsigned long long at_t;

/* Where things are. Bytes from the beginning of each object. */
struct layout {
	unsigned interpreters, next_interpreter, threads;
	unsigned next, interp, frame, native_id; /* of a thread; native_id 0: none */
	unsigned cframe; /* of the struct that frame leads to: the frame's place; ~0u: to it */
	unsigned previous, code, instruction;	 /* of a frame */
	unsigned file, name, line, lines, bytes; /* of a code object; bytes 0: instruction counts */
	unsigned text, length;			 /* of a text */
	unsigned body, size;			 /* of bytes */
	bool old;				 /* table of lines as before 3.11 */
};

/* Read off the headers of 3.10, 3.11 and 3.12 (64 bits), in the order above; 3.13 and later say it
 * themselves. */
static const struct layout
	layouts[] = {
		[10] = { 32,  0,   8,  8,   16, 24, 0,	~0u, 24, 32,  96,
			 104, 112, 40, 120, 0,	48, 16, 32,  16, true },
		[11] = { 40,  0,   16, 8,   16,	 56, 160, 8,  48, 32,	56,
			 112, 128, 72, 136, 184, 48, 16,  32, 16, false },
		[12] = { 40,  0,   72, 8,   16,	 56, 144, 0,  8,  0,	56,
			 112, 128, 68, 136, 192, 40, 16,  32, 16, false },
	};

/* A code object that was read before. */
struct known_code {
	at_t at, file_at, name_at;
	const char *file, *name;
	unsigned char *lines;
	size_t n_lines;
	int line;
};

struct python {
	struct arena *a;
	pid_t pid;
	int minor;
	struct layout l;
	at_t interpreters[INTERPRETERS_MAX];
	size_t n_interpreters;
	unsigned id_offset; /* of a thread's own id behind thread_id, where native_id is 0 */
	struct known_code codes[CODES];
};

int python_minor(const struct python *p)
{
	return p->minor;
}

bool stacks_peek(pid_t pid, unsigned long long at, void *to, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)(uintptr_t)at, n };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static at_t pointer(pid_t pid, at_t at)
{
	at_t v = 0;

	return at && stacks_peek(pid, at, &v, sizeof(v)) ? v : 0;
}

/* --- 3.13 and later --------------------------------------------------------------------------- */

/* The table at the beginning of _PyRuntime is a row of 64-bit numbers: a magic word, the version,
 * then groups, each of which begins with the size of its object. 3.14 has more members in three. */
static bool published(pid_t pid, at_t runtime, struct layout *l, int *minor)
{
	uint64_t t[120];
	const uint64_t *at = t + 3;
	bool later;

	if (!stacks_peek(pid, runtime, t, sizeof(t)) || memcmp(t, "xdebugpy", 8) != 0 ||
	    t[1] >> 24 != 3)
		return false;
	*minor = (int)(t[1] >> 16 & 0xff);
	later = *minor > 13;
	*l = (struct layout){ .interpreters = (unsigned)at[2], .cframe = ~0u };
	at += 3; /* interpreter */
	l->next_interpreter = (unsigned)at[2];
	l->threads = (unsigned)at[3];
	at += later ? 16 : 13; /* thread */
	l->next = (unsigned)at[2];
	l->interp = (unsigned)at[3];
	l->frame = (unsigned)at[4];
	l->native_id = (unsigned)at[6];
	at += 9; /* frame */
	l->previous = (unsigned)at[1];
	l->code = (unsigned)at[2];
	l->instruction = (unsigned)at[3];
	at += later ? 8 : 6; /* code */
	l->file = (unsigned)at[1];
	l->name = (unsigned)at[3];
	l->lines = (unsigned)at[4];
	l->line = (unsigned)at[5];
	l->bytes = (unsigned)at[9];
	at += later ? 11 : 10;	   /* object */
	at += 2 + 4 + 3 + 3;	   /* type, tuple, list */
	at += later ? 4 : 0;	   /* set */
	at += 3 + 2 + 3;	   /* dict, float, long */
	l->size = (unsigned)at[1]; /* bytes */
	l->body = (unsigned)at[2];
	at += 3; /* text */
	l->length = (unsigned)at[2];
	l->text = (unsigned)at[3];
	return l->text >= 16 && l->text < 256 && l->body < 256 && l->frame < 4096;
}

/* --- interpreters and threads ----------------------------------------------------------------- */

/* A thread's structure names its interpreter; the first one has none before it. */
static bool is_thread(const struct python *p, at_t thread, at_t interpreter)
{
	return thread && !(thread & 7) && pointer(p->pid, thread + p->l.interp) == interpreter;
}

/* Whether what stands there is an interpreter whose first thread knows it. */
static bool find_interpreter(struct python *p, at_t runtime)
{
	at_t at = pointer(p->pid, runtime + p->l.interpreters);
	at_t thread = at ? pointer(p->pid, at + p->l.threads) : 0;

	for (; at && p->n_interpreters < INTERPRETERS_MAX;
	     at = pointer(p->pid, at + p->l.next_interpreter))
		p->interpreters[p->n_interpreters++] = at;
	return thread && is_thread(p, thread, p->interpreters[0]);
}

struct python *python_open(struct arena *a, pid_t pid, unsigned long long runtime, int minor,
			   struct err *e)
{
	struct python *p = ARENA_NEW(a, struct python);

	*p = (struct python){ .a = a, .pid = pid, .minor = minor };
	if (published(pid, runtime, &p->l, &p->minor)) {
		find_interpreter(p, runtime);
		return p->n_interpreters
			       ? p
			       : (err_set(e, -ENOENT, "Python has not started yet"), NULL);
	}
	if (minor < 10 || minor > 12) {
		err_set(e, -ENOTSUP,
			minor < 0 ? "unknown version of Python"
				  : "Python 3.%d is not supported (3.10 or later)",
			minor);
		return NULL;
	}
	p->l = layouts[minor];
	if (!find_interpreter(p, runtime)) {
		err_set(e, -ENOENT, "no interpreter found in its memory");
		return NULL;
	}
	return p;
}

/* --- code objects ----------------------------------------------------------------------------- */

/* A name; those beyond ASCII are shown as "?". */
static const char *text_of(struct python *p, at_t at)
{
	long long length = 0;
	char buf[TEXT_MAX];

	if (!stacks_peek(p->pid, at + p->l.length, &length, sizeof(length)) || length < 1 ||
	    length >= TEXT_MAX || !stacks_peek(p->pid, at + p->l.text, buf, (size_t)length))
		return NULL;
	for (long long i = 0; i < length; i++)
		if (buf[i] < ' ' || buf[i] > '~')
			return "?";
	return arena_strndup(p->a, buf, (size_t)length);
}

static bool read_code(struct python *p, at_t code, struct known_code *out)
{
	at_t table = pointer(p->pid, code + p->l.lines);
	long long size = 0;
	const char *file = text_of(p, out->file_at), *name = text_of(p, out->name_at);

	if (!file || !name || !table ||
	    !stacks_peek(p->pid, code + p->l.line, &out->line, sizeof(out->line)) ||
	    !stacks_peek(p->pid, table + p->l.size, &size, sizeof(size)) || size < 0 ||
	    size > LINES_MAX)
		return false;
	out->lines = arena_alloc(p->a, (size_t)size + 1);
	out->n_lines = (size_t)size;
	out->file = file;
	out->name = name;
	out->at = code;
	return stacks_peek(p->pid, table + p->l.body, out->lines, (size_t)size);
}

/* By address; its file and name say whether it is still the same. NULL: it is none. */
static const struct known_code *code_at(struct python *p, at_t code)
{
	struct known_code *known = &p->codes[(code >> 4) % CODES], now = { 0 };

	now.file_at = pointer(p->pid, code + p->l.file);
	now.name_at = pointer(p->pid, code + p->l.name);
	if (!now.file_at || !now.name_at)
		return NULL;
	if (known->at == code && known->file_at == now.file_at && known->name_at == now.name_at)
		return known;
	if (!read_code(p, code, &now))
		return NULL;
	*known = now;
	return known;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Numbers of six bits a byte, the least first; bit 6: there is more. */
static unsigned varint(const unsigned char *t, size_t n, size_t *at)
{
	unsigned v = 0, shift = 0;
	unsigned char b = 0x40;

	while (b & 0x40 && *at < n && shift < 30) {
		b = t[(*at)++];
		v |= (unsigned)(b & 0x3f) << shift;
		shift += 6;
	}
	return v;
}

static int signed_varint(const unsigned char *t, size_t n, size_t *at)
{
	unsigned v = varint(t, n, at);

	return v & 1 ? -(int)(v >> 1) : (int)(v >> 1);
}

/* PEP 626's table, as of 3.11: an entry begins with a byte that has bit 7. */
static int line_of(const struct known_code *c, long long unit)
{
	long long from = 0;
	int line = c->line;

	for (size_t i = 0; i < c->n_lines;) {
		unsigned char first = c->lines[i++];
		int kind = first >> 3 & 15, units = (first & 7) + 1;
		bool none = kind == 15;

		if (kind == 14 || kind == 13)
			line += signed_varint(c->lines, c->n_lines, &i);
		else if (kind >= 10 && kind <= 12)
			line += kind - 10;
		if (unit < from + units)
			return none ? 0 : line;
		from += units;
		while (i < c->n_lines && !(c->lines[i] & 0x80))
			i++;
	}
	return 0;
}

/* 3.10's: pairs of bytes of code and lines. */
static int old_line_of(const struct known_code *c, long long unit)
{
	long long from = 0;
	int line = c->line;

	for (size_t i = 0; i + 1 < c->n_lines; i += 2) {
		int delta = (signed char)c->lines[i + 1];

		if (delta != -128)
			line += delta;
		from += c->lines[i];
		if (2 * unit < from)
			return delta == -128 ? 0 : line;
	}
	return 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

static at_t first_frame(const struct python *p, at_t thread)
{
	at_t at = pointer(p->pid, thread + p->l.frame);

	return p->l.cframe == ~0u ? at : at ? pointer(p->pid, at + p->l.cframe) : 0;
}

static bool frame_of(struct python *p, at_t at, struct stack_frame *out)
{
	at_t code = pointer(p->pid, at + p->l.code) & ~(at_t)7, instruction = 0;
	const struct known_code *c = code ? code_at(p, code) : NULL;
	long long unit;
	int last;

	/* 3.12's frame between C and Python is no code of anybody's. */
	if (!c || strcmp(c->file, "<shim>") == 0)
		return false;
	*out = (struct stack_frame){ .function = c->name, .file = c->file };
	if (p->l.old) {
		out->line = stacks_peek(p->pid, at + p->l.instruction, &last, sizeof(last))
				    ? old_line_of(c, last)
				    : 0;
		return true;
	}
	instruction = pointer(p->pid, at + p->l.instruction);
	unit = (long long)(instruction - (code + p->l.bytes)) / 2;
	out->line = instruction >= code + p->l.bytes && unit < 1 << 24 ? line_of(c, unit) : 0;
	return true;
}

/* A thread's own id: as the interpreter keeps it, or, before 3.11, as glibc does: the main thread's
 * tells where that lies. */
static pid_t thread_id_of(struct python *p, at_t thread)
{
	unsigned char pthread[ANY_ID_OFFSET];
	unsigned long native = 0;
	/* 3.10: ... gilstate_counter, async_exc, thread_id. */
	at_t self = p->l.native_id ? 0 : pointer(p->pid, thread + 176);
	int id = 0;

	if (p->l.native_id)
		return stacks_peek(p->pid, thread + p->l.native_id, &native, sizeof(native))
			       ? (pid_t)native
			       : 0;
	if (!self || !stacks_peek(p->pid, self, pthread, sizeof(pthread)))
		return 0;
	for (unsigned at = 0; !p->id_offset && at + 4 <= sizeof(pthread); at += 4) {
		memcpy(&id, pthread + at, 4);
		if (id == p->pid)
			p->id_offset = at;
	}
	memcpy(&id, pthread + p->id_offset, 4);
	return p->id_offset ? id : 0;
}

bool python_read(struct python *p, struct arena *a,
		 void (*give)(void *ctx, pid_t tid, struct stack_frame *frames, size_t n),
		 void *ctx)
{
	struct stack_frame frames[STACK_FRAMES_MAX];
	size_t threads = 0;

	for (size_t i = 0; i < p->n_interpreters; i++)
		for (at_t t = pointer(p->pid, p->interpreters[i] + p->l.threads);
		     is_thread(p, t, p->interpreters[i]) && threads < STACK_THREADS_MAX;
		     t = pointer(p->pid, t + p->l.next), threads++) {
			at_t at = first_frame(p, t);
			struct stack_frame *kept;
			size_t n = 0, left = STACK_FRAMES_MAX;

			/* Frames without code, on the C stack, lead from one to the next. */
			for (; at && left; at = pointer(p->pid, at + p->l.previous), left--)
				n += frame_of(p, at, &frames[n]);
			kept = arena_array(a, n ? n : 1, sizeof(*kept));
			memcpy(kept, frames, n * sizeof(*kept));
			give(ctx, thread_id_of(p, t), kept, n);
		}
	return threads > 0;
}
