/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approvals (src/tune/txn/approval.c, apply --approved): a client proposes plans, a person approves, two appliers try at the same time and
 * again, processes are killed, time passes, the machine boots, and somebody alters a proposal that lies there. What must be true whatever the order:
 *   1  a plan is written only if a person approved that very plan, in this boot, and it has not expired
 *   2  an approval makes at most one write
 *   3  the undo by a hash takes back only what that hash applied in this boot
 * FAULT=n comes from the environment; tests/model/run demands that each planted fault is found.
 */

#define NONE 255
#define OWN 1   /* the bytes that the hash is of */
#define OTHER 2 /* what somebody made of the file */

#define F_TAKE_LATE 1      /* the mark of use is made after the write */
#define F_NO_BOOT 2        /* the boot is not compared */
#define F_NO_EXPIRY 3      /* the expiry is not compared */
#define F_LOOK_THEN_TAKE 4 /* the mark is looked for, then made: two may pass */
#define F_NO_DIGEST 5      /* the proposal's bytes are not held against its name */
#define F_UNDO_OLD 6       /* the note of what was applied outlives the boot */

byte fault; /* of the environment: one compilation serves all */

/* One hash: plans of different hashes share nothing. */
bool proposed, approved, taken, expired;
byte content, seen;       /* of the file now; what the person was shown */
byte made_in, boot;       /* boots */
byte applied_in = NONE;   /* boot of the note; NONE: there is none */
byte writes, approvals;

#define WHOLE(c) (fault == F_NO_DIGEST || c == OWN)
#define HERE ((fault == F_NO_BOOT || made_in == boot) && (fault == F_NO_EXPIRY || !expired))

/* gputune apply --approved. It may be killed in every gap, and a boot kills it. */
proctype applier(byte most) {
	byte got, mine, tries;
	bool free, held;

	do
	:: tries < most ->
		tries++;
		atomic { mine = boot; got = content; held = made_in == boot && !expired; free = !taken }
		if
		:: atomic { mine == boot && proposed && approved && WHOLE(got) && HERE } -> skip
		:: else -> goto again
		fi;
		if
		:: fault == F_LOOK_THEN_TAKE -> if :: free -> taken = true :: else -> goto again fi
		:: fault == F_TAKE_LATE -> if :: taken -> goto again :: else -> skip fi
		:: else -> if :: atomic { !taken && mine == boot -> taken = true; approved = false } :: else -> goto again fi
		fi;
		if
		:: skip /* killed: the approval is lost */
		:: atomic { mine == boot ->
			assert(seen == got && held);
			writes++;
			assert(writes <= approvals);
			applied_in = boot }
			taken = true
		:: mine != boot -> skip
		fi;
again:		skip
	:: break
	od
}

/* The client proposes once a boot, and undoes what the hash applied. */
proctype client() {
	byte steps;

	do
	:: steps < 2 ->
		steps++;
		if
		:: atomic { !proposed -> proposed = true; content = OWN; made_in = boot; expired = false }
		:: atomic { applied_in != NONE && (fault == F_UNDO_OLD || applied_in == boot) -> assert(applied_in == boot) }
		:: else -> skip
		fi
	:: break
	od
}

/* gputune approve: root at a terminal, shown what lies there. */
proctype person() {
	byte steps;

	do
	:: steps < 2 ->
		steps++;
		if
		:: atomic { proposed && WHOLE(content) && HERE && !taken -> seen = content; approved = true; approvals++ }
		:: else -> skip
		fi
	:: break
	od
}

proctype world() {
	byte steps;

	do
	:: steps < 2 ->
		steps++;
		if
		:: expired = true
		:: proposed -> content = OTHER
		:: boot < 1 -> boot++
		fi
	:: break
	od
}

init {
	atomic {
		c_code {
			const char *s = getenv("FAULT");

			now.fault = s ? (unsigned char)atoi(s) : 0;
		};
		run applier(2);
		run applier(1);
		run client();
		run person();
		run world()
	}
}
