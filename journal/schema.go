package journal

// applicationID marks the file as ours ("flot" in ASCII), so that another
// program's database is told from a journal before anything is written to it.
const applicationID = 0x666c6f74

// migrations bring a journal from version i to i+1. What has been released is
// never edited; a change is a further entry.
//
// The big tables (intent, outcome, answer) have no index but their rowid and
// nothing unique: appended rows then go to the last page, where a unique
// 32-byte key costs five times as much (facts/dependencies.md, journal).
// AUTOINCREMENT keeps ids of removed rows from being given again, since ids
// are locations.
var migrations = []string{v1, v2, v3, v4}

const v1 = `
-- A process that has written here. start is the process's start in the unit of
-- its system, to tell a pid from its next owner.
CREATE TABLE proc(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	pid INTEGER NOT NULL, host TEXT NOT NULL, boot TEXT NOT NULL, space TEXT NOT NULL, start INTEGER NOT NULL,
	opened INTEGER NOT NULL, seen INTEGER NOT NULL, ended INTEGER
);
CREATE TABLE job(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	key TEXT NOT NULL UNIQUE, identity BLOB NOT NULL,
	provider TEXT NOT NULL, emulated TEXT NOT NULL,
	command TEXT NOT NULL, inputs TEXT NOT NULL, n INTEGER NOT NULL,
	created INTEGER NOT NULL, ended INTEGER, state TEXT NOT NULL, totals TEXT NOT NULL DEFAULT '',
	first_attempt INTEGER NOT NULL, first_outcome INTEGER NOT NULL -- none of its rows lies below
);
CREATE INDEX job_identity ON job(identity);
-- One invocation of a job by a process; job 0 is none.
CREATE TABLE run(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	job INTEGER NOT NULL, proc INTEGER NOT NULL, realm INTEGER NOT NULL,
	opened INTEGER NOT NULL, ended INTEGER, crashed INTEGER NOT NULL DEFAULT 0,
	low_intent INTEGER NOT NULL, low_attempt INTEGER NOT NULL, low_outcome INTEGER NOT NULL -- no open intent lies below
);
CREATE INDEX run_job ON run(job);
CREATE INDEX run_live ON run(proc) WHERE ended IS NULL;
CREATE TABLE out(job INTEGER NOT NULL, path TEXT NOT NULL, durable INTEGER NOT NULL, PRIMARY KEY(job, path)) WITHOUT ROWID;

-- Words and lanes that rows name by number.
CREATE TABLE word(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE lane(
	id INTEGER PRIMARY KEY, org TEXT NOT NULL, pool TEXT NOT NULL, tier TEXT NOT NULL, model TEXT NOT NULL,
	UNIQUE(org, pool, tier, model)
);

-- Times are Unix nanoseconds, money is nano-dollars.
CREATE TABLE intent(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	run INTEGER NOT NULL, row INTEGER NOT NULL, attempt INTEGER NOT NULL, lane INTEGER NOT NULL,
	at INTEGER NOT NULL, worst INTEGER NOT NULL
);
-- day is where charged is booked, the local day of sending. charged is of the one attempt that the row ends, cost of all attempts of the
-- call in its process. doubt: 0 known, 1 in doubt, 2 in doubt since its process died.
-- own: the failure counts against the row.
CREATE TABLE attempt(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	job INTEGER NOT NULL, run INTEGER NOT NULL, row INTEGER NOT NULL, attempt INTEGER NOT NULL, lane INTEGER NOT NULL,
	at INTEGER NOT NULL, day INTEGER NOT NULL, charged INTEGER NOT NULL, doubt INTEGER NOT NULL, own INTEGER NOT NULL,
	status INTEGER NOT NULL, tokens INTEGER NOT NULL
);
CREATE TABLE outcome(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	job INTEGER NOT NULL, run INTEGER NOT NULL, row INTEGER NOT NULL, attempt INTEGER NOT NULL, lane INTEGER NOT NULL,
	at INTEGER NOT NULL, day INTEGER NOT NULL, charged INTEGER NOT NULL, cost INTEGER NOT NULL, doubt INTEGER NOT NULL,
	type INTEGER NOT NULL, status INTEGER NOT NULL, tries INTEGER NOT NULL,
	latency INTEGER NOT NULL, stop INTEGER NOT NULL, mark INTEGER NOT NULL, hash BLOB NOT NULL, nth INTEGER NOT NULL,
	cached INTEGER NOT NULL, answer INTEGER NOT NULL -- 0: none
);
CREATE TABLE answer(id INTEGER PRIMARY KEY, body BLOB NOT NULL);

-- Sums that the rows above give, kept beside them: money by run and local day
-- of sending (yyyymmdd), and tokens of a rolling day by bins of ten minutes.
CREATE TABLE spend(
	run INTEGER NOT NULL, day INTEGER NOT NULL,
	spent INTEGER NOT NULL DEFAULT 0, open INTEGER NOT NULL DEFAULT 0, granted INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY(run, day)
) WITHOUT ROWID;
CREATE TABLE tokens(
	realm INTEGER NOT NULL, org TEXT NOT NULL, pool TEXT NOT NULL, bin INTEGER NOT NULL, tokens INTEGER NOT NULL,
	PRIMARY KEY(realm, org, pool, bin)
) WITHOUT ROWID;
`

const v2 = `
ALTER TABLE job ADD COLUMN signal INTEGER NOT NULL DEFAULT 0;
-- Doubts up to these ids were cleared by a person: they count as spent no more.
CREATE TABLE clearance(
	id INTEGER PRIMARY KEY, job INTEGER NOT NULL, at INTEGER NOT NULL,
	attempts INTEGER NOT NULL, nanos INTEGER NOT NULL,
	last_attempt INTEGER NOT NULL, last_outcome INTEGER NOT NULL
);
CREATE INDEX clearance_job ON clearance(job);
-- Slots of a shared cap; expires is real time.
CREATE TABLE lease(
	pot TEXT NOT NULL, proc INTEGER NOT NULL, held INTEGER NOT NULL, want INTEGER NOT NULL, expires INTEGER NOT NULL,
	PRIMARY KEY(pot, proc)
) WITHOUT ROWID;
CREATE TABLE hint(
	realm INTEGER NOT NULL, lane TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, at INTEGER NOT NULL,
	PRIMARY KEY(realm, lane, name)
) WITHOUT ROWID;
`

// Rows that a batch carried have, as the attempt in attempt and outcome, the
// negated id of its row here: sync attempts count from 1. That costs an append
// nothing.
const v3 = `
-- template is the same for jobs whose requests are made alike, so that their answers are about as long; 0: unknown.
ALTER TABLE job ADD COLUMN template INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outcome ADD COLUMN out INTEGER NOT NULL DEFAULT 0; -- output tokens of a success
ALTER TABLE spend ADD COLUMN held INTEGER NOT NULL DEFAULT 0; -- reserved for batches, whoever sent them
-- A batch from its intent on. rows is a packed list; held is what of worst is still reserved, under run and day; due
-- counts the rows that no outcome or attempt of it has come for. made, closed: 0 not yet. low_*: none of those lies below.
CREATE TABLE batch(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	job INTEGER NOT NULL, run INTEGER NOT NULL, number INTEGER NOT NULL, lane INTEGER NOT NULL, orgid INTEGER NOT NULL,
	at INTEGER NOT NULL, day INTEGER NOT NULL, worst INTEGER NOT NULL, bytes INTEGER NOT NULL,
	sent INTEGER NOT NULL, rows BLOB NOT NULL,
	low_attempt INTEGER NOT NULL, low_outcome INTEGER NOT NULL,
	held INTEGER NOT NULL, due INTEGER NOT NULL, won INTEGER NOT NULL DEFAULT 0,
	name TEXT NOT NULL DEFAULT '', sure INTEGER NOT NULL DEFAULT 0, canceling INTEGER NOT NULL DEFAULT 0,
	made INTEGER NOT NULL DEFAULT 0, closed INTEGER NOT NULL DEFAULT 0, lost INTEGER NOT NULL DEFAULT 0,
	UNIQUE(job, number)
);
CREATE INDEX batch_open ON batch(job) WHERE closed = 0;
`

// Money of a block is among the sums' open; what is in doubt of one after a
// crash is an attempt of row -1, which has the negated id of the block here.
const v4 = `
-- kind: run, judge, measure, serve, batch. client: of the gateway, whose job it is; its runs have it too, since they
-- outlast their job. shape: what makes its rows again, as JSON. cap: set by a person while it runs; null: none.
ALTER TABLE job ADD COLUMN kind TEXT NOT NULL DEFAULT 'run';
ALTER TABLE job ADD COLUMN client TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN shape TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN cap INTEGER;
ALTER TABLE run ADD COLUMN client TEXT NOT NULL DEFAULT '';
-- Money reserved ahead for a line's calls. held is what of worst has not been moved to charges, under run and day.
CREATE TABLE block(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	job INTEGER NOT NULL, run INTEGER NOT NULL, number INTEGER NOT NULL, lane INTEGER NOT NULL,
	at INTEGER NOT NULL, day INTEGER NOT NULL, worst INTEGER NOT NULL, held INTEGER NOT NULL,
	closed INTEGER NOT NULL DEFAULT 0,
	UNIQUE(job, number)
);
CREATE INDEX block_open ON block(run) WHERE closed = 0;
-- Who may call the gateway. A name may come again once it was revoked; 0: it was not.
CREATE TABLE client(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL, key_hash BLOB NOT NULL UNIQUE, max_per_day INTEGER NOT NULL, priority TEXT NOT NULL, weight REAL NOT NULL,
	created INTEGER NOT NULL, revoked INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX client_name ON client(name) WHERE revoked = 0;
-- Batches that clients of the gateway created, each carried by a job; times that are 0 have not come.
CREATE TABLE client_batch(
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE, client TEXT NOT NULL, provider TEXT NOT NULL, emulated TEXT NOT NULL,
	job INTEGER NOT NULL, spool TEXT NOT NULL, n INTEGER NOT NULL,
	created INTEGER NOT NULL, expires INTEGER NOT NULL, ended INTEGER NOT NULL, canceling INTEGER NOT NULL,
	deleted INTEGER NOT NULL, archived INTEGER NOT NULL,
	succeeded INTEGER NOT NULL, errored INTEGER NOT NULL, canceled INTEGER NOT NULL, expired INTEGER NOT NULL,
	prefer TEXT NOT NULL, priority TEXT NOT NULL, weight REAL NOT NULL, deadline INTEGER NOT NULL,
	version TEXT NOT NULL, betas TEXT NOT NULL
);
CREATE INDEX client_batch_job ON client_batch(job);
`
