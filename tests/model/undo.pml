/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of changes: what src/tune/txn, src/tune/persist and the verbs do to a machine, what people, other programs, crashes and
 * boots do to it meanwhile, and what must be true after any order of all that. spin goes through every order within the budgets of
 * a scene. tests/model/run runs it and says how; docs/UNDO.md says what is promised.
 *
 * The machine. Two knobs and three files for the next boot:
 *   place 0     a value of the kernel, kept for the next boot by a drop-in (place 3)
 *   place 1     by scene: none; another such value; one that our boot-time unit sets; one without a getter, set by the unit; a boot
 *               argument, which is its own file (a drop-in, or words in kernel-install's file or an extlinux.conf: put as a whole) and
 *               counts after a boot
 *   place 2     the request, boot.json: for each knob the value that is kept and the value before anything of ours
 *   place 3, 4  the drop-in of knob 0, and of knob 1 (or the unit)
 * A knob holds its original (0), a value of ours (A, B) or another writer's (THEIRS). Knob 1 may be away in one scene.
 *
 * The journal. Lines wait in the process, then lie in the page cache (q[0..nf)), then on the disk (D). A killed process loses
 * what waits, a power cut also any end of what is in the page cache; a line that was cut is no line. What is finished is dropped
 * from D between runs (tidy), as journal_load passes over it, so that long histories are few states. Entries and transactions are
 * as in src/tune/txn/journal.h; "old" is a transaction of an earlier boot.
 *
 * Steps. A run of gputune is atomic but for its gaps; in each of them the world does one thing or nothing: another writer writes,
 * the process is killed, the power goes. Between runs the world may also boot the machine in order, and take a device away.
 * A look at a value and the write that follows at once are one step: no program can do better there.
 *
 * Verbs. apply (also of a plan that was made elsewhere: the plan is made before the lock, and the world acts between), undo of all, of the
 * newest, of one transaction, of one knob; persist install and remove, of all and of one knob; trials that are taken back or kept (prove, tune,
 * doctor --fix); apply --boot; the watcher's re-apply, which overwrites what another wrote because it was told to.
 *
 * What is checked (each is an assert with its number):
 *   1  from every state between two runs "undo --all" and "persist remove", in either order, without a boot, end in what the machine would be
 *      without gputune (twin), and leave nothing in the journal and no file; a device that is away keeps its entry and the exit code is 4
 *   2  status, in every state in which a run begins: a value of ours that is in effect stands in the journal as held; a file of ours for the
 *      next boot is named by the request; "left to another" is said only where another wrote; exit code 0 of undo means that no value of ours is in effect
 *   3  a write finds what the plan was shown; what undo overwrites is ours
 *   4  originals: follows from 1, which asks for them everywhere
 *
 * Known limits, as in the program: where another writer had set a knob when it was applied or kept, and the machine was booted since, undo goes
 * back to that value (tainted): what the boot would have set instead nobody can know.
 *
 * Not in the model, but in the walks: what a write resets besides, pairs of sysctls, folders, half-granted values, edited drop-ins, damaged
 * lines, --force.
 *
 * Planted faults (FAULT=n), the kind of knob 1 and the budgets come from the environment: one compilation serves all. tests/model/run
 * demands that each fault is found: a check that cannot fail says nothing. Whoever adds a verb or a place that writes adds it here.
 */

/* --- words --------------------------------------------------------------------------------- */

#define ORIG 0
#define A 1
#define B 2
#define THEIRS 3
#define UNKNOWN 4 /* a value before that nobody could read */

#define PLACES 5
#define REQ 2
#define FILE0 3

/* kinds of knob 1 */
#define K_NONE 0
#define K_DROPIN 1
#define K_UNIT 2
#define K_BLIND 3
#define K_BOOTARG 4

#define NE 12 /* entries that are held at once */
#define NT 9
#define NQ 40

/* lines: kind | a << 4 | b << 8 | c << 18 */
#define L_BEGIN 1   /* a: op */
#define L_INTEND 2  /* a: place, b: before, c: after */
#define L_DONE 3    /* a: entry */
#define L_UNDONE 4  /* a: entry */
#define L_STUCK 5   /* a: entry */
#define L_REBASE 6  /* a: entry, b: before */
#define L_UNDOING 7 /* a: entry */
#define L_CLOSED 8  /* a: transaction */
#define L_END 9     /* a: transaction, b: state */

/* op of a transaction */
#define O_APPLY 1
#define O_PERSIST 2
#define O_BOOT 3
#define O_PROVE 4

/* state of a transaction */
#define OPEN 0
#define APPLIED 1
#define ROLLED 2
#define INCOMPLETE 3
#define UNDONE 4

/* state of an entry */
#define E_INTENDED 0
#define E_DONE 1
#define E_UNDONE 2
#define E_STUCK 3

/* verbs */
#define V_APPLY 1
#define V_TRIAL 2
#define V_UNDO_ALL 3
#define V_UNDO_NEWEST 4
#define V_UNDO_KNOB 5
#define V_UNDO_TXN 6
#define V_INSTALL 7
#define V_REMOVE 8
#define V_REMOVE_KNOB 9
#define V_REWRITE 10 /* the second half of the one before: the request without the row */
#define V_UNIT 11    /* apply --boot */
#define V_WATCH 12   /* the watcher sets a value again */

/* planted faults */
#define F_INTENT_NOT_SYNCED 1
#define F_INTENT_LATE 2
#define F_NO_REREAD 3
#define F_NO_FRESH 4
#define F_NO_CARRY 5
#define F_ADOPT 6
#define F_REQUEST_OUT_FIRST 7
#define F_REQUEST_IN_LAST 8
#define F_NO_ORIGINALS 9
#define F_SHARED_LOCK 10
#define F_UNDO_NO_COMPARE 11
#define F_RECOVERY_SKIPS 12
#define F_BEGIN_LOST 13
#define F_FILE_NOT_SYNCED 14
#define F_NO_HAND_DOWN 15
#define F_NO_ANNOUNCE 16
#define F_STUCK_IS_UNDONE 17
#define F_AWAY_IS_UNDONE 18
#define F_BOOT_NOT_UNDONE 19
#define F_EXIT_CLEAN 20
#define F_REQUEST_GOES 21
#define F_UNDOING_IGNORED 22
#define F_BATCH_NOT_FRESH 23
#define F_AWAY_WAITS 24
#define F_CLOSE_OLDEST_FIRST 25
#define F_REQUEST_OF_OWN_ONLY 26
#define F_STAYS_UNSEEN 27

#define WORLD 2 /* whose turn it is; 0 and 1 are runs of gputune */
#define NONE 15

typedef Entry {
	byte k, t;
	short bef, aft;
	unsigned st : 2;
	bit undoing, lost, wrote
};
typedef Txn {
	byte op;
	unsigned st : 3;
	bit old;
	bit part /* an entry of it was undone */
};
typedef Journal {
	Entry e[NE];
	Txn t[NT];
	byte ne, nt
};

/* --- the machine --------------------------------------------------------------------------- */

byte fault, kind1;
byte moves, rivals, crashes, boots; /* what may still happen */
bit two;			    /* two runs at once */
bit may_leave;			    /* knob 1 may be away */
bit echo;			    /* another writer may set A as well */

short cur[PLACES], dur[PLACES]; /* what is there; of files also what is on the disk */
byte twin[2];			/* what a knob would hold without gputune */
bit mine[2];			/* the value in effect is there because of gputune */
bit touched[2];			/* another writer wrote it */
bit tainted[2];
bit away; /* knob 1 */
bit due;  /* the boot-time unit has not run yet */

Journal D;
int q[NQ];
byte nq, nf;

byte turn;
bit lock, busy, dead, calm, over;

#define LINE(k, a, b, c) q[nq] = (k) | ((a) << 4) | ((b) << 8) | ((c) << 18); nq++
#define IS_BLIND(k) ((k) == 1 && kind1 == K_BLIND)
#define IS_RUNTIME(k) ((k) == 0 || ((k) == 1 && kind1 != K_BOOTARG && kind1 != K_NONE))
#define IS_UNIT(k) ((k) == 1 && (kind1 == K_UNIT || kind1 == K_BLIND))
#define IS_AWAY(k) ((k) == 1 && away)
#define HAS_FILE(k) ((k) == 0 || ((k) == 1 && kind1 != K_BOOTARG && kind1 != K_NONE))
/* the request: value and before of a row */
#define ROW_V(r, k) (((r) >> ((k) * 5)) & 3)
#define ROW_B(r, k) (((r) >> ((k) * 5 + 2)) & 7)
#define ROW(k, v, b) (((v) | ((b) << 2)) << ((k) * 5))
#define ACTIVE(J, i) (J.e[i].st != E_UNDONE)

/* What a line says, into a journal: of the disk or of a process. */
inline read_line(J, l)
{
	lk = (l) & 15;
	la = ((l) >> 4) & 15;
	lb = ((l) >> 8) & 1023;
	if
	:: lk == L_BEGIN -> J.t[J.nt].op = la; J.t[J.nt].st = OPEN; J.t[J.nt].old = 0; J.nt++
	:: lk == L_INTEND ->
		J.e[J.ne].k = la; J.e[J.ne].bef = lb; J.e[J.ne].aft = ((l) >> 18) & 1023;
		J.e[J.ne].st = E_INTENDED; J.e[J.ne].t = J.nt - 1; J.ne++
	:: lk == L_DONE -> J.e[la].st = E_DONE
	:: lk == L_UNDONE -> J.e[la].st = E_UNDONE; J.e[la].undoing = 0
	:: lk == L_STUCK -> J.e[la].st = E_STUCK; J.e[la].undoing = 0
	:: lk == L_REBASE -> J.e[la].bef = lb
	:: lk == L_UNDOING -> J.e[la].undoing = 1
	:: lk == L_CLOSED -> J.t[la].st = (J.t[la].st == ROLLED -> ROLLED : UNDONE)
	:: lk == L_END -> J.t[la].st = lb
	fi;
	lk = 0; la = 0; lb = 0
}

inline clear_entry(x)
{
	x.k = 0; x.t = 0; x.bef = 0; x.aft = 0; x.st = 0; x.undoing = 0; x.lost = 0; x.wrote = 0
}

inline clear_txn(x)
{
	x.op = 0; x.st = 0; x.old = 0; x.part = 0
}

/* A transaction that is over holds nothing, whatever its entries say (settle() of journal.c); what says nothing any more goes. What this
 * boot decided about values of the boot files stays: it says that a value is not ours. */
inline tidy()
{
	ti = 0; tn = 0;
	do
	:: ti < D.ne ->
		if
		:: D.t[D.e[ti].t].st == ROLLED || D.t[D.e[ti].t].st == UNDONE ->
			D.e[ti].st = E_UNDONE; D.e[ti].undoing = 0
		:: else
		fi;
		if
		:: D.e[ti].st != E_UNDONE || (D.t[D.e[ti].t].op == O_BOOT && !D.t[D.e[ti].t].old) ->
			if
			:: tn != ti ->
				D.e[tn].k = D.e[ti].k; D.e[tn].t = D.e[ti].t; D.e[tn].bef = D.e[ti].bef; D.e[tn].aft = D.e[ti].aft;
				D.e[tn].st = D.e[ti].st; D.e[tn].undoing = D.e[ti].undoing
			:: else
			fi;
			tn++
		:: else -> D.t[D.e[ti].t].part = 1
		fi;
		ti++
	:: else -> break
	od;
	ti = tn;
	do
	:: ti < D.ne -> clear_entry(D.e[ti]); ti++
	:: else -> break
	od;
	D.ne = tn;
	/* transactions without entries go, the others move up */
	ti = 0; tn = 0;
	do
	:: ti < D.nt ->
		tk = 0; tu = 0;
		do
		:: tk < D.ne -> if :: D.e[tk].t == ti -> tu = 1; D.e[tk].t = tn :: else fi; tk++
		:: else -> break
		od;
		if
		:: tu ->
			if
			:: tn != ti -> D.t[tn].op = D.t[ti].op; D.t[tn].st = D.t[ti].st; D.t[tn].old = D.t[ti].old; D.t[tn].part = D.t[ti].part
			:: else
			fi;
			tn++
		:: else
		fi;
		ti++
	:: else -> break
	od;
	ti = tn;
	do
	:: ti < D.nt -> clear_txn(D.t[ti]); ti++
	:: else -> break
	od;
	D.nt = tn;
	ti = 0; tn = 0; tk = 0; tu = 0
}

/* The lines of the page cache reach the disk. */
inline sync_lines()
{
	si = 0;
	do
	:: si < nf -> read_line(D, q[si]); si++
	:: else -> break
	od;
	sn = 0;
	do
	:: si < nq -> q[sn] = q[si]; si++; sn++
	:: else -> break
	od;
	si = sn;
	do
	:: si < nq -> q[si] = 0; si++
	:: else -> break
	od;
	nq = sn; nf = 0; si = 0; sn = 0
}

inline drop_waiting(from)
{
	do
	:: nq > from -> nq--; q[nq] = 0
	:: else -> break
	od
}

/* --- the world ----------------------------------------------------------------------------- */

/* Nothing of ours claims knob 0: who sets our value now is another. */
inline is_unclaimed(out)
{
	out = (nq == 0);
	wi = 0;
	do
	:: wi < D.ne ->
		out = out && !(D.e[wi].k == 0 && ACTIVE(D, wi));
		/* A request of an earlier boot claims it until a run of this boot has looked. */
		if
		:: D.e[wi].k == REQ && ACTIVE(D, wi) && D.t[D.e[wi].t].old && ROW_V(D.e[wi].aft, 0) != 0 ->
			wk = 0; wu = 0;
			do
			:: wk < D.ne ->
				wu = wu || (D.e[wk].k == 0 && D.t[D.e[wk].t].op == O_BOOT && !D.t[D.e[wk].t].old);
				wk++
			:: else -> break
			od;
			out = out && wu
		:: else
		fi;
		wi++
	:: else -> break
	od;
	wi = 0; wk = 0; wu = 0
}

inline another_writes(kn, val)
{
	printf("    another writer: place %d is %d\n", kn, val);
	cur[kn] = val; dur[kn] = val; twin[kn] = val; mine[kn] = 0; touched[kn] = 1
}

/* Values of the kernel are gone, files are read. */
inline boot_machine()
{
	sync_lines();
	drop_waiting(nf);
	wk = 0;
	do
	:: wk < D.nt -> D.t[wk].old = 1; wk++
	:: else -> break
	od;
	wk = 0;
	do
	:: wk < 2 ->
		if
		:: IS_RUNTIME(wk) ->
			wu = 0; wi = 0;
			do
			:: wi < D.ne ->
				wu = wu || (ACTIVE(D, wi) && ((D.e[wi].k == wk && D.e[wi].bef == THEIRS) ||
							      (D.e[wi].k == REQ && ROW_B(D.e[wi].aft, wk) == THEIRS)));
				wi++
			:: else -> break
			od;
			tainted[wk] = wu;
			twin[wk] = ORIG; touched[wk] = 0; dur[wk] = 0;
			cur[wk] = (!IS_UNIT(wk) && cur[FILE0 + wk] != 0 -> cur[FILE0 + wk] : ORIG);
			mine[wk] = cur[wk] != ORIG
		:: else
		fi;
		wk++
	:: else -> break
	od;
	tidy();
	away = 0;
	due = (kind1 == K_UNIT || kind1 == K_BLIND) && cur[FILE0 + 1] != 0 && cur[REQ] != 0;
	wi = 0; wk = 0; wu = 0
}

proctype world()
{
	byte wi, wk, si, sn, ti, tn, tk, lk, la;
	short lb;
	bit wu, tu;
end:
	do
	:: atomic {
		(turn == WORLD) ->
		if
		:: skip
		:: rivals > 0 -> rivals--;
			if
			:: cur[0] != THEIRS -> another_writes(0, THEIRS)
			:: cur[0] != ORIG -> another_writes(0, ORIG)
			:: kind1 == K_BOOTARG && cur[1] != THEIRS -> another_writes(1, THEIRS)
			:: echo && !busy && cur[0] != A -> d_step { is_unclaimed(wu) };
				if :: wu -> wu = 0; another_writes(0, A) :: else -> wu = 0 fi
			fi
		:: busy && crashes > 0 -> crashes--; dead = 1; printf("    killed\n")
		:: (busy || nf > 0) && crashes > 0 && boots > 0 -> /* the power goes */
			crashes--; boots--; dead = busy; printf("    the power goes\n");
			do
			:: nf > 0 -> nf--
			:: break
			od;
			wk = 0;
			do
			:: wk < PLACES && cur[wk] != dur[wk] && !IS_RUNTIME(wk) -> if :: cur[wk] = dur[wk] :: dur[wk] = cur[wk] fi; wk++
			:: wk < PLACES && (cur[wk] == dur[wk] || IS_RUNTIME(wk)) -> wk++
			:: wk == PLACES -> break
			od;
			wk = 0;
			d_step { drop_waiting(nf); boot_machine() }
		:: !busy && boots > 0 -> boots--; printf("    boot\n");
			d_step { dur[REQ] = cur[REQ]; dur[FILE0] = cur[FILE0]; dur[FILE0 + 1] = cur[FILE0 + 1]; boot_machine() }
		:: may_leave && !busy -> away = 1 - away
		fi;
		if
		:: turn = 0
		:: two && !over -> turn = 1
		fi
	   }
	od
}

/* --- a run of gputune ---------------------------------------------------------------------- */

/* What may happen between two steps. */
inline gap()
{
	if
	:: calm
	:: else -> turn = WORLD; (turn == me)
	fi;
	if
	:: dead -> goto killed
	:: else
	fi
}

/* write_flush(): what waits is added to the file, and synced. */
inline flush()
{
	if
	:: nq > nf ->
		nf = nq;
		gap();
		d_step { sync_lines() };
		gap()
	:: else
	fi
}

inline add_entry(place, before, after)
{
	M.e[M.ne].k = place; M.e[M.ne].bef = before; M.e[M.ne].aft = after;
	M.e[M.ne].st = E_INTENDED; M.e[M.ne].t = M.nt - 1; M.ne++;
	LINE(L_INTEND, place, before, after)
}

inline begin_txn(o)
{
	M.t[M.nt].op = o; M.t[M.nt].st = OPEN; M.nt++;
	LINE(L_BEGIN, o, 0, 0)
}

inline undone(i)
{
	M.e[i].st = E_UNDONE; M.e[i].undoing = 0;
	LINE(L_UNDONE, i, 0, 0)
}

/* layer.c: the newest active entry of the place, the nearest above i, the oldest; NONE. */
inline find_layers(place, i)
{
	top = NONE; above = NONE; bottom = NONE; x = 0;
	do
	:: x < M.ne ->
		if
		:: M.e[x].k == place && ACTIVE(M, x) && !M.e[x].lost ->
			if :: bottom == NONE -> bottom = x :: else fi;
			if :: above == NONE && x > i -> above = x :: else fi;
			top = x
		:: else
		fi;
		x++
	:: else -> break
	od;
	x = 0
}

/* boot.c: one knob. Lines wait; while planning, what went is marked as lost only. */
inline begin_boot()
{
	if
	:: bt == NONE -> begin_txn(O_BOOT); M.t[M.nt - 1].st = APPLIED; bt = M.nt - 1
	:: else
	fi
}

/* Newest first: of a part of these lines the oldest entry is left, which has the original. */
inline close_old(kn, is_lost)
{
	x = 0;
	do
	:: x < M.ne ->
		z = (fault == F_CLOSE_OLDEST_FIRST -> x : M.ne - 1 - x);
		if
		:: M.e[z].k == kn && M.t[M.e[z].t].old && ACTIVE(M, z) ->
			if
			:: is_lost && planning -> M.e[z].lost = 1
			:: else -> undone(z)
			fi
		:: else
		fi;
		x++
	:: else -> break
	od;
	x = 0; z = 0
}

inline carry_over_knob(kn)
{
	old0 = NONE; decided = 0; waits = 0; has = 0; asked = 0; x = 0;
	do
	:: x < M.ne ->
		if
		:: M.e[x].k == kn && M.t[M.e[x].t].old && ACTIVE(M, x) ->
			if :: old0 == NONE -> old0 = x :: else fi
		:: M.e[x].k == kn && !M.t[M.e[x].t].old && M.t[M.e[x].t].op == O_BOOT -> has = 1
		:: else
		fi;
		x++
	:: else -> break
	od;
	/* Requests of earlier boots: the newest that was finished, and those above it. */
	y = M.ne;
	do
	:: y == 0 || fault == F_NO_CARRY -> break
	:: else ->
		y--;
		if
		:: M.e[y].k == REQ && M.t[M.e[y].t].old && ACTIVE(M, y) ->
			v = ROW_V(M.e[y].aft, kn);
			if
			:: v != 0 ->
				if :: !asked -> asked = 1; fv = v; fb = ROW_B(M.e[y].aft, kn) :: else fi;
				if
				:: has || decided
				:: else ->
					if
					:: (IS_BLIND(kn) && old0 != NONE) || (IS_AWAY(kn) && fault != F_AWAY_WAITS) ||
					   (!IS_BLIND(kn) && !IS_AWAY(kn) && cur[kn] == v) ->
						decided = 1;
						w = (old0 != NONE -> M.e[old0].bef : ROW_B(M.e[y].aft, kn));
						if
						:: w == v -> close_old(kn, 1)
						:: else ->
							begin_boot();
							add_entry(kn, w, v);
							M.e[M.ne - 1].st = E_DONE;
							LINE(L_DONE, M.ne - 1, 0, 0);
							close_old(kn, 0)
						fi
					:: else -> waits = waits || IS_BLIND(kn) || IS_AWAY(kn)
					fi
				fi
			:: else
			fi;
			/* One that an undo has begun to take back may have gone back to an older one. */
			x = 0; w = (M.t[M.e[y].t].st == APPLIED && (!M.t[M.e[y].t].part || fault == F_UNDOING_IGNORED));
			do
			:: x < M.ne && fault != F_UNDOING_IGNORED ->
				w = w && !(M.e[x].t == M.e[y].t && (M.e[x].st != E_DONE || M.e[x].undoing)); x++
			:: else -> break
			od;
			x = 0;
			if :: w -> y = 0 :: else fi;
			w = 0
		:: else
		fi
	od;
	if
	:: asked && !has && !decided && !waits && fault != F_ADOPT ->
		w = (old0 != NONE -> M.e[old0].bef : fb);
		begin_boot();
		add_entry(kn, w, fv);
		undone(M.ne - 1)
	:: else
	fi;
	if
	:: !decided && !waits -> close_old(kn, 1)
	:: else
	fi;
	old0 = 0; decided = 0; waits = 0; has = 0; asked = 0; v = 0; fv = 0; fb = 0; w = 0; y = 0
}

inline load_journal()
{
	x = 0;
	do
	:: x < D.ne ->
		M.e[x].k = D.e[x].k; M.e[x].t = D.e[x].t; M.e[x].bef = D.e[x].bef; M.e[x].aft = D.e[x].aft;
		M.e[x].st = D.e[x].st; M.e[x].undoing = D.e[x].undoing; x++
	:: else -> break
	od;
	x = 0;
	do
	:: x < D.nt -> M.t[x].op = D.t[x].op; M.t[x].st = D.t[x].st; M.t[x].old = D.t[x].old; M.t[x].part = D.t[x].part; x++
	:: else -> break
	od;
	M.ne = D.ne; M.nt = D.nt;
	x = 0;
	do
	:: x < nf -> read_line(M, q[x]); x++
	:: else -> break
	od;
	x = 0;
	do
	:: x < M.ne ->
		if
		:: M.t[M.e[x].t].st == ROLLED || M.t[M.e[x].t].st == UNDONE || (fault == F_BEGIN_LOST && M.t[M.e[x].t].st == OPEN) ->
			M.e[x].st = E_UNDONE
		:: else
		fi;
		x++
	:: else -> break
	od;
	x = 0
}

/* What status and persist status say now. */
inline check_reports()
{
	x = 0;
	do
	:: x < 2 ->
		has = 0; y = 0;
		do
		:: y < M.ne -> has = has || (M.e[y].k == x && ACTIVE(M, y) && !M.e[y].lost && M.e[y].aft == cur[x]); y++
		:: else -> break
		od;
		assert(!mine[x] || !IS_RUNTIME(x) || IS_AWAY(x) || has); /* 2: status holds what is in effect */
		assert(!HAS_FILE(x) || cur[FILE0 + x] == 0 || ROW_V(cur[REQ], x) != 0); /* 2: persist status names it */
		x++
	:: else -> break
	od;
	x = 0; y = 0; has = 0
}

/* Every transaction of an earlier boot that has nothing left is closed; so is, at the end of an undo, any. */
inline settle(only_old)
{
	x = 0;
	do
	:: x < M.nt ->
		has = 0; y = 0;
		do
		:: y < M.ne -> has = has || (M.e[y].t == x && ACTIVE(M, y)); y++
		:: else -> break
		od;
		if
		:: !has && (M.t[x].old || !only_old) && M.t[x].st != ROLLED && M.t[x].st != UNDONE && M.t[x].op != O_BOOT ->
			M.t[x].st = UNDONE;
			LINE(L_CLOSED, x, 0, 0)
		:: else
		fi;
		x++
	:: else -> break
	od;
	x = 0; y = 0; has = 0
}

inline write_place(kn, val)
{
	printf("    place %d: %d -> %d\n", kn, cur[kn], val);
	cur[kn] = val;
	if
	:: fault == F_FILE_NOT_SYNCED && kn >= REQ
	:: else -> dur[kn] = val
	fi;
	if
	:: kn < 2 -> mine[kn] = (val == A || val == B) && val != twin[kn]
	:: else
	fi
}

/* What persist install or remove of a knob wants: the request, the files, and the plan from what is there to that. */
inline plan_files()
{
	want = 0; z = 0;
	do
	:: z < 2 ->
		v = 0; fb = UNKNOWN;
		find_layers(z, NONE);
		/* what is kept already */
		if
		:: ROW_V(cur[REQ], z) != 0 && !(verb == V_REMOVE_KNOB && z == arg) ->
			v = ROW_V(cur[REQ], z);
			fb = (!IS_RUNTIME(z) -> UNKNOWN : (bottom != NONE -> M.e[bottom].bef : ROW_B(cur[REQ], z)))
		:: else
		fi;
		/* what the journal holds, or went with an earlier boot */
		if
		:: verb == V_INSTALL ->
			y = NONE; w = 0;
			do
			:: w < M.ne ->
				if
				:: M.e[w].k == z && ACTIVE(M, w) && M.t[M.e[w].t].op != O_PERSIST && (w == top || (M.e[w].lost && top == NONE)) -> y = w
				:: else
				fi;
				w++
			:: else -> break
			od;
			w = 0;
			if
			:: y != NONE && (M.t[M.e[y].t].st == OPEN || M.e[y].st == E_STUCK || IS_AWAY(z)) -> y = NONE
			:: y != NONE && !M.e[y].lost && !IS_BLIND(z) && cur[z] != M.e[y].aft -> y = NONE
			:: else
			fi;
			if
			:: y != NONE -> v = M.e[y].aft; has = 1
			:: chg & (1 << z) && !IS_AWAY(z) && (IS_BLIND(z) || cur[z] != pa[z]) -> v = pa[z]; has = 1
			:: else
			fi;
			if
			:: has && IS_RUNTIME(z) ->
				w = (bottom != NONE -> M.e[bottom].bef : (IS_BLIND(z) -> UNKNOWN : cur[z]));
				fb = (w != UNKNOWN -> w : fb)
			:: else
			fi;
			has = 0; w = 0; y = 0
		:: else
		fi;
		if :: fault == F_NO_ORIGINALS -> fb = UNKNOWN :: else fi;
		row[z] = v;
		if :: v != 0 -> want = want | ROW(z, v, fb) :: else fi;
		z++
	:: else -> break
	od;
	z = 0; v = 0; fb = 0
}

#define STAYS(kn) (8 << (kn))
#define CHANGES(c) ((c) & 31)

inline plan_place(kn, after)
{
	if
	:: cur[kn] != after ->
		find_layers(kn, NONE);
		/* A file that is not as we left it is another's. */
		if
		:: kn >= REQ && cur[kn] != 0 && (top == NONE || cur[kn] != M.e[top].aft) -> refused = 1
		:: else
		fi;
		chg = chg | (1 << (kn)); pb[kn] = cur[kn]; pa[kn] = after
	/* It is as it shall be, and has to stay so. */
	:: cur[kn] == after && kn >= REQ && fault != F_STAYS_UNSEEN -> chg = chg | STAYS(kn); pb[kn] = after
	:: else
	fi
}

/* Which entries are taken back. */
inline mark_undo()
{
	newest = NONE; x = 0; some = 0;
	do
	:: x < M.ne ->
		y = M.e[x].t;
		mark[x] = ACTIVE(M, x) &&
			  ((verb == V_UNDO_TXN && y == arg) ||
			   ((verb == V_REMOVE || verb == V_REMOVE_KNOB) && M.t[y].op == O_PERSIST) ||
			   (verb != V_UNDO_TXN && verb != V_REMOVE && verb != V_REMOVE_KNOB && M.t[y].op != O_PERSIST &&
			    !(fault == F_BOOT_NOT_UNDONE && M.t[y].op == O_BOOT)));
		if
		:: verb == V_UNDO_KNOB && M.e[x].k != arg -> mark[x] = 0
		:: verb == V_REMOVE_KNOB && M.e[x].k != (arg == 1 && kind1 == K_BOOTARG -> 1 : FILE0 + arg) -> mark[x] = 0
		:: else
		fi;
		if :: mark[x] -> newest = y; some = 1 :: else fi;
		x++
	:: else -> break
	od;
	x = 0;
	do
	:: x < M.ne && verb == V_UNDO_NEWEST -> mark[x] = mark[x] && M.e[x].t == newest; x++
	:: else -> break
	od;
	x = 0; y = 0; newest = 0
}

inline announce()
{
	x = 0;
	do
	:: x < M.ne ->
		if
		:: mark[x] -> M.e[x].undoing = 1; LINE(L_UNDOING, x, 0, 0)
		:: else
		fi;
		x++
	:: else -> break
	od;
	x = 0
}

/* revert.c: an interrupted undo of several layers came further than this one. */
inline went_further(i)
{
	has = 0; v = M.e[i].bef; x = i; w = M.e[i].undoing;
	do
	:: x > 0 && w ->
		x--;
		if
		:: M.e[x].k == M.e[i].k && ACTIVE(M, x) && !M.e[x].lost ->
			if
			:: !M.e[x].undoing || v != M.e[x].aft -> w = 0
			:: else -> has = has || cur[M.e[i].k] == M.e[x].bef; v = M.e[x].bef
			fi
		:: else
		fi
	:: else -> break
	od;
	x = 0; v = 0; w = 0
}

inline stuck(i)
{
	if
	:: fault == F_STUCK_IS_UNDONE -> undone(i)
	:: else -> M.e[i].st = E_STUCK; M.e[i].undoing = 0; LINE(L_STUCK, i, 0, 0)
	fi;
	if :: fault == F_EXIT_CLEAN :: else -> clean = 0 fi
}

/* back.c: entry i. act: 0 noted, 1 a write that is to be read back. */
inline take_back(i)
{
	act = 0; covered = 0; k = M.e[i].k;
	/* revert.c: the request stays as long as a file that was written with it; the topmost one as long as any later file. */
	find_layers(k, i);
	x = i + 1; w = 0;
	do
	:: x < M.ne ->
		w = w || (M.e[x].k > REQ && ACTIVE(M, x) && (M.e[x].t == M.e[i].t || (above == NONE && fault != F_REQUEST_OF_OWN_ONLY)));
		x++
	:: else -> break
	od;
	x = 0;
	w = w && k == REQ && fault != F_REQUEST_GOES && fault != F_REQUEST_OUT_FIRST;
	do
	:: w -> break
	:: else -> find_layers(k, i);
		if
		:: above == NONE -> break
		:: M.e[top].bef == UNKNOWN || IS_BLIND(k) || IS_AWAY(k) || cur[k] == M.e[top].aft || cur[k] != M.e[top].bef ->
			covered = 1; break
		:: else -> undone(top)
		fi
	od;
	if
	:: w -> stuck(i)
	:: !w && covered ->
		if
		:: fault != F_NO_HAND_DOWN && (M.e[above].bef == UNKNOWN || M.e[above].bef == M.e[i].aft) ->
			M.e[above].bef = M.e[i].bef;
			LINE(L_REBASE, above, M.e[i].bef, 0)
		:: else
		fi;
		undone(i)
	:: else ->
		went_further(i);
		if
		:: IS_AWAY(k) && fault != F_AWAY_IS_UNDONE -> M.e[i].st = E_STUCK; M.e[i].undoing = 0; LINE(L_STUCK, i, 0, 0); clean = 0
		:: IS_AWAY(k) && fault == F_AWAY_IS_UNDONE -> undone(i)
		:: !IS_AWAY(k) && IS_BLIND(k) ->
			nv = (M.e[i].bef != UNKNOWN -> M.e[i].bef : ORIG);
			write_place(k, nv);
			nv = 0;
			undone(i)
		:: !IS_AWAY(k) && !IS_BLIND(k) && (cur[k] == M.e[i].bef || has) -> undone(i)
		:: !IS_AWAY(k) && !IS_BLIND(k) && cur[k] != M.e[i].bef && !has &&
		   (cur[k] == M.e[i].aft || fault == F_UNDO_NO_COMPARE) && M.e[i].bef != UNKNOWN ->
			act = 1
		:: else ->
			assert(k >= 2 || touched[k]); /* 2: said to be another's, and is */
			undone(i)
		fi;
		has = 0
	fi;
	covered = 0; w = 0; top = 0; above = 0; bottom = 0
}

inline forget()
{
	x = 0;
	do
	:: x < NE -> clear_entry(M.e[x]); mark[x] = 0; x++
	:: else -> break
	od;
	x = 0;
	do
	:: x < NT -> clear_txn(M.t[x]); x++
	:: else -> break
	od;
	M.ne = 0; M.nt = 0; x = 0; i = 0; k = 0; first = 0; ret = 0; act = 0; fail = 0; clean = 1; some = 0; refused = 0; bt = NONE; tx = 0;
	want = 0; row[0] = 0; row[1] = 0; planning = 0
}

inline forget_plan()
{
	x = 0;
	do
	:: x < PLACES -> pb[x] = 0; pa[x] = 0; x++
	:: else -> break
	od;
	x = 0; chg = 0; verb = 0; arg = 0; op = 0
}

/* reapply.c: under the lock, and only where the journal is as it was when the watcher saw the change. What another wrote is given up, so
 * that the machine without gputune is what undo would go back to. */
inline watcher_writes()
{
	x = 0; top = NONE; fail = (nq != 0 || lock);
	do
	:: x < D.ne ->
		if :: D.e[x].k == 0 && ACTIVE(D, x) -> top = x :: else fi;
		fail = fail || D.t[D.e[x].t].st == OPEN || D.t[D.e[x].t].old;
		x++
	:: else -> break
	od;
	x = 0;
	if
	:: !fail && top != NONE ->
		if
		:: D.e[top].st == E_DONE && cur[0] != D.e[top].aft ->
			w = D.e[top].bef; x = top;
			do
			:: x > 0 ->
				x--;
				if
				:: D.e[x].k == 0 && ACTIVE(D, x) -> if :: D.e[x].aft == w -> w = D.e[x].bef :: else -> x = 0 fi
				:: else
				fi
			:: else -> break
			od;
			twin[0] = w;
			nv = D.e[top].aft;
			write_place(0, nv);
			nv = 0; w = 0; x = 0
		:: else
		fi
	:: else
	fi;
	fail = 0; top = 0
}

#define RET_RECOVER 1
#define RET_UNDO 2
#define RET_FAIL 3
#define RET_TRIAL 4

proctype gputune(byte me)
{
	Journal M;
	bit mark[NE];
	short pb[PLACES], pa[PLACES], want, lb, nv;
	byte row[2];
	byte verb, arg, op, chg, i, k, x, y, z, v, w, fv, fb, lk, la, top, above, bottom, old0, bt, tx, first, ret, act, newest;
	byte si, sn, ti, tn, tk, judge;
	bit planning, decided, waits, has, asked, covered, fail, clean, some, refused, locked, tu, order;

	clean = 1; bt = NONE;
	atomic {
		skip;
idle:
		if
		:: over -> goto stop
		:: else
		fi;
		gap();
		if
		:: over -> goto stop
		:: moves > 0 && D.ne + nf <= NE - 6 && D.nt <= NT - 3 -> moves--;
			if
			:: verb = V_APPLY; chg = 1; pa[0] = A
			:: verb = V_APPLY; chg = 1; pa[0] = B
			:: kind1 != K_NONE -> verb = V_APPLY; chg = 2; pa[1] = A
			:: kind1 != K_NONE -> verb = V_APPLY; chg = 3; pa[0] = A; pa[1] = A
			:: verb = V_TRIAL; chg = 1; pa[0] = A
			:: verb = V_UNDO_ALL
			:: verb = V_UNDO_NEWEST
			:: verb = V_UNDO_KNOB; arg = 0
			:: D.nt > 1 -> verb = V_UNDO_TXN; arg = 0
			:: verb = V_INSTALL
			:: verb = V_INSTALL; chg = (kind1 == K_NONE -> 1 : 3); pa[0] = A; pa[1] = A
			:: verb = V_INSTALL; chg = 1; pa[0] = B
			:: verb = V_REMOVE
			:: kind1 != K_NONE -> verb = V_REMOVE_KNOB; arg = 1
			:: kind1 != K_NONE -> verb = V_REMOVE_KNOB; arg = 0
			fi
		:: due -> due = 0; verb = V_UNIT
		:: moves > 0 && mine[0] == 0 && touched[0] && !two -> moves--; verb = V_WATCH
		:: !two -> calm = 1; judge = 1; if :: order = 0 :: order = 1 fi; verb = (order -> V_REMOVE : V_UNDO_ALL)
		:: two && moves == 0 && !busy && !lock -> calm = 1; over = 1; judge = 1; verb = V_UNDO_ALL
		fi;
		/* What is shown first: values now, and for files what they would be. Writes nothing, takes no lock. */
		d_step {
			x = 0;
			do
			:: x < 2 ->
				pb[x] = cur[x];
				if
				:: (verb == V_APPLY || verb == V_TRIAL) && (chg & (1 << x)) && !IS_BLIND(x) && (cur[x] == pa[x] || IS_AWAY(x)) ->
					chg = chg & (3 - (1 << x))
				:: else
				fi;
				x++
			:: else -> break
			od;
			x = 0;
			op = (verb == V_TRIAL -> O_PROVE : (verb == V_INSTALL -> O_PERSIST : O_APPLY));
			planning = verb == V_INSTALL || verb == V_REMOVE_KNOB || verb == V_UNIT
		};
		if
		:: (verb == V_APPLY || verb == V_TRIAL) && chg == 0 -> goto finish
		:: verb == V_WATCH -> d_step { watcher_writes() }; goto finish
		:: planning ->
			d_step {
				sn = nq; /* of another run */
				load_journal();
				carry_over_knob(0);
				if :: IS_RUNTIME(1) -> carry_over_knob(1) :: else fi;
				drop_waiting(sn);
				sn = 0;
				check_reports();
				/* What is interrupted is rolled back before anything is planned. */
				x = 0;
				do
				:: x < M.nt -> some = some || M.t[x].st == OPEN; x++
				:: else -> break
				od;
				x = 0;
				if
				:: verb == V_UNIT ->
					v = ROW_V(cur[REQ], 1);
					chg = 0;
					if
					:: v != 0 && !IS_AWAY(1) && (IS_BLIND(1) || cur[1] != v) -> chg = 2; pa[1] = v; pb[1] = cur[1]
					:: else
					fi;
					v = 0
				:: some && verb != V_UNIT -> verb = V_UNDO_TXN; arg = NONE; chg = 0 /* recovery alone */
				:: !some && verb != V_UNIT ->
					plan_files();
					chg = 0;
					if
					:: verb == V_REMOVE_KNOB && (want == 0 || want == cur[REQ]) ->
						if :: want == cur[REQ] -> refused = 1 :: else -> verb = V_REMOVE fi
					:: verb == V_REMOVE_KNOB && want != 0 && want != cur[REQ] -> plan_place(REQ, want)
					:: verb == V_INSTALL && want == 0 -> refused = 1
					:: verb == V_INSTALL && want != 0 ->
						if :: kind1 == K_BOOTARG && row[1] != 0 -> plan_place(1, row[1]) :: else fi;
						plan_place(REQ, want);
						if :: row[0] != 0 -> plan_place(FILE0, row[0]) :: else fi;
						if
						:: HAS_FILE(1) && row[1] != 0 -> plan_place(FILE0 + 1, (IS_UNIT(1) -> 1 : row[1]))
						:: else
						fi
					fi
				fi;
				some = refused || ((verb == V_UNIT || verb == V_INSTALL) && CHANGES(chg) == 0);
				i = some;
				v = verb; w = arg; x = op; act = chg;
				top = 0; above = 0; bottom = 0
			};
			d_step { forget(); verb = v; arg = w; chg = chg; v = 0; w = 0; act = 0 };
			if
			:: (verb == V_UNIT || verb == V_INSTALL || verb == V_REMOVE_KNOB) && CHANGES(chg) == 0 -> goto finish
			:: else
			fi
		:: else
		fi;
		gap();
begin:
		printf("verb %d (knobs or transaction %d, changes %d) from %d %d | %d %d %d\n", verb, arg, chg, cur[0], cur[1], cur[2], cur[3], cur[4]);
		do
		:: lock && fault != F_SHARED_LOCK -> gap()
		:: else -> lock = 1; locked = 1; busy = 1; break
		od;
		skip;
		d_step {
			load_journal();
			carry_over_knob(0);
			if :: IS_RUNTIME(1) -> carry_over_knob(1) :: else fi;
			check_reports();
			if
			:: bt != NONE -> LINE(L_END, bt, APPLIED, 0)
			:: else
			fi;
			settle(1)
		};
		flush();
		/* What a crash left open is rolled back, newest first. */
recover:
		skip;
		d_step {
			tx = NONE; x = 0;
			do
			:: x < M.nt -> if :: M.t[x].st == OPEN -> tx = x :: else fi; x++
			:: else -> break
			od;
			x = 0;
			do
			:: x < M.ne && tx != NONE -> mark[x] = M.e[x].t == tx && ACTIVE(M, x) && fault != F_RECOVERY_SKIPS; x++
			:: else -> break
			od;
			x = 0
		};
		if
		:: tx != NONE -> ret = RET_RECOVER; goto take
recovered:
		skip;
			d_step {
				M.t[tx].st = (clean -> ROLLED : INCOMPLETE);
				LINE(L_END, tx, M.t[tx].st, 0);
				clean = 1; tx = 0
			};
			goto recover
		:: else
		fi;
		flush();
		if
		:: verb == V_APPLY || verb == V_TRIAL || verb == V_INSTALL || verb == V_REWRITE || verb == V_UNIT -> goto make
		:: else
		fi;

		/* --- undo ----------------------------------------------------------------------- */
		d_step { mark_undo() };
		if
		:: !some && verb == V_REMOVE_KNOB -> goto finish
		:: !some && verb != V_REMOVE_KNOB -> goto finish
		:: else
		fi;
		if
		:: fault != F_NO_ANNOUNCE -> d_step { announce() }; flush()
		:: else
		fi;
		ret = RET_UNDO;
		goto take
was_undone:
		skip;
		d_step { settle(0) };
		flush();
		goto finish;

		/* --- take back what is marked, newest first ---------------------------------------- */
take:
		first = 0;
		do
		:: first < M.ne ->
			i = (fault == F_REQUEST_OUT_FIRST && ret == RET_UNDO -> first : M.ne - 1 - first);
			first++;
			if
			:: mark[i] && ACTIVE(M, i) ->
				mark[i] = 0;
				d_step { take_back(i) };
				if
				:: act == 1 ->
					if
					:: assert(k >= 2 || mine[k]); /* 3: what is overwritten is ours */
						d_step { nv = M.e[i].bef; write_place(k, nv); nv = 0 };
						gap()
					:: !calm && crashes > 0 -> crashes--; printf("    the write is refused\n")
					fi;
					skip;
					d_step {
						if
						:: cur[k] == M.e[i].bef -> undone(i)
						:: else -> stuck(i)
						fi;
						act = 0
					}
				:: else
				fi
			:: else -> mark[i] = 0
			fi
		:: else -> break
		od;
		i = 0; k = 0; first = 0;
		if
		:: ret == RET_RECOVER -> ret = 0; goto recovered
		:: ret == RET_UNDO -> ret = 0; goto was_undone
		:: ret == RET_FAIL -> ret = 0; goto rolled_back
		fi;

		/* --- apply: chg, pb, pa ---------------------------------------------------------- */
make:
		skip;
		d_step {
			x = 0; fail = 0;
			do
			:: x < PLACES ->
				fail = fail || ((chg & (1 << x)) && !IS_BLIND(x) && cur[x] != pb[x] && fault != F_NO_FRESH) ||
				       (x >= REQ && (chg & STAYS(x)) && cur[x] != pb[x]);
				x++
			:: else -> break
			od;
			x = 0; chg = CHANGES(chg)
		};
		if
		:: fail -> goto finish
		:: else
		fi;
		skip;
		d_step { begin_txn(op); tx = M.nt - 1 };
batch:
		skip;
		if
		:: chg == 0 -> goto made
		:: else
		fi;
		/* Intents: one for a setting, all of them for files. */
		d_step {
			first = M.ne;
			if
			:: chg & 3 ->
				k = (chg & 1 -> 0 : 1);
				find_layers(k, NONE);
				w = (!IS_BLIND(k) -> cur[k] : (top != NONE -> M.e[top].aft : UNKNOWN));
				/* apply.c: prepare(): earlier changes of the plan took time. */
				fail = !IS_BLIND(k) && w != pb[k] && fault != F_BATCH_NOT_FRESH && fault != F_NO_FRESH;
				if :: !fail -> add_entry(k, w, pa[k]) :: else fi;
				chg = chg & (31 - (1 << k))
			:: else ->
				x = REQ;
				do
				:: x < PLACES ->
					k = (fault != F_REQUEST_IN_LAST -> x : (x == 4 -> REQ : x + 1));
					if :: chg & (1 << k) -> add_entry(k, cur[k], pa[k]) :: else fi;
					x++
				:: else -> break
				od;
				chg = 0; x = 0
			fi;
			k = 0; w = 0; top = 0; above = 0; bottom = 0
		};
		if
		:: fail -> ret = RET_FAIL; goto back
		:: else
		fi;
		if
		:: fault == F_INTENT_LATE
		:: fault == F_INTENT_NOT_SYNCED -> nf = nq
		:: else -> gap(); flush()
		fi;
		i = first; first = 0;
		do
		:: i < M.ne ->
			k = M.e[i].k;
			if
			:: !IS_BLIND(k) && (cur[k] != M.e[i].bef || IS_AWAY(k)) && fault != F_NO_REREAD -> fail = 1
			:: else ->
				M.e[i].wrote = 1;
				if
				:: assert(IS_BLIND(k) || cur[k] == pb[k]); /* 3: what the plan was shown */
					d_step { nv = M.e[i].aft; write_place(k, nv); nv = 0 };
					gap();
					if
					:: IS_BLIND(k) || cur[k] == M.e[i].aft -> d_step { M.e[i].st = E_DONE; LINE(L_DONE, i, 0, 0) }
					:: else -> fail = 1
					fi
				:: crashes > 0 -> crashes--; fail = 1; printf("    the write is refused\n")
				fi
			fi;
			k = 0;
			if :: fail -> break :: else fi;
			i++
		:: else -> break
		od;
		i = 0;
		if
		:: !fail -> goto batch
		:: else
		fi;
		ret = RET_FAIL;
back:
		skip;
		d_step {
			x = 0;
			do
			:: x < M.ne ->
				if
				:: M.e[x].t == tx && ACTIVE(M, x) ->
					if
					:: M.e[x].wrote -> mark[x] = 1
					:: else -> undone(x)
					fi
				:: else
				fi;
				x++
			:: else -> break
			od;
			x = 0; fail = 0; chg = 0
		};
		goto take;
rolled_back:
		skip;
		d_step { M.t[tx].st = (clean -> ROLLED : INCOMPLETE); LINE(L_END, tx, M.t[tx].st, 0); clean = 1 };
		flush();
		goto finish;
made:
		skip;
		if
		:: verb == V_TRIAL -> gap(); if :: ret = RET_FAIL; goto back :: skip fi
		:: else
		fi;
		skip;
		d_step { M.t[tx].st = APPLIED; LINE(L_END, tx, APPLIED, 0) };
		flush();

		/* --- the end of a run ------------------------------------------------------------- */
finish:
		skip;
		d_step {
			if
			:: locked ->
				drop_waiting(nf);
				if :: nq == 0 -> tidy() :: else fi
			:: else
			fi;
			/* 2: exit code 0 of undo --all */
			assert(verb != V_UNDO_ALL || !clean || !locked || (!mine[0] && (!mine[1] || !IS_RUNTIME(1) || away)) || two);
			some = verb == V_REMOVE_KNOB && clean && (chg & (1 << REQ)) != 0 && locked;
			/* What has gone has to stay away until the request says so. */
			if
			:: some && arg < 2 -> chg = (1 << REQ) | STAYS(FILE0 + arg); pb[FILE0 + arg] = cur[FILE0 + arg]
			:: else
			fi;
			if :: locked -> lock = 0; locked = 0; busy = 0 :: else fi
		};
		if
		:: some -> d_step { want = pa[REQ]; forget(); verb = V_REWRITE; op = O_PERSIST }; gap(); goto begin
		:: else
		fi;
		if
		:: judge == 0 -> d_step { forget(); forget_plan() }; goto idle
		:: judge == 1 && away && locked == 0 ->
			/* A device that is away keeps its entry; when it is back it is undone. */
			assert(!mine[1] || !clean || verb != V_UNDO_ALL);
			away = 0;
			d_step { forget(); forget_plan(); verb = (order -> V_REMOVE : V_UNDO_ALL) };
			goto begin
		:: judge == 1 && !away -> judge = 2; d_step { forget(); forget_plan(); verb = (order -> V_UNDO_ALL : V_REMOVE) }; goto begin
		:: judge == 2 ->
			d_step {
				assert(clean);
				sync_lines();
				tidy();
				x = 0;
				do
				:: x < 2 -> assert(cur[x] == twin[x] || (tainted[x] && cur[x] == THEIRS)); x++ /* 1 */
				:: else -> break
				od;
				assert(cur[REQ] == 0 && cur[FILE0] == 0 && cur[FILE0 + 1] == 0); /* 1 */
				x = 0;
				do
				:: x < D.ne -> assert(!ACTIVE(D, x)); x++ /* 1: nothing is held */
				:: else -> break
				od
			};
			over = 1;
			goto stop
		fi;
killed:
		skip;
		d_step {
			drop_waiting(nf);
			if
			:: nq == 0 -> tidy()
			:: else
			fi;
			if :: locked -> lock = 0; locked = 0; busy = 0 :: else fi;
			dead = 0;
			forget(); forget_plan()
		};
		goto idle
	};
stop:	skip
}

c_decl {
	\#include <stdlib.h>
	static int number_of(const char *name)
	{
		const char *s = getenv(name);

		return s ? atoi(s) : 0;
	}
}

init
{
	atomic {
		c_code {
			now.fault = number_of("FAULT");
			now.kind1 = number_of("KIND");
			now.moves = number_of("MOVES");
			now.rivals = number_of("RIVALS");
			now.crashes = number_of("CRASHES");
			now.boots = number_of("BOOTS");
			now.two = number_of("TWO");
			now.may_leave = number_of("LEAVE");
			now.echo = number_of("ECHO");
		};
		turn = WORLD;
		run world();
		run gputune(0);
		if
		:: two -> run gputune(1)
		:: else
		fi
	}
}
