-- Since format 3: data for lists of runs, because loading a thousand headers takes a second, and results of probes.
CREATE INDEX runs_newest ON runs(started_at DESC, id DESC);
CREATE TABLE overviews (
    run TEXT PRIMARY KEY REFERENCES runs(id),
    preset TEXT NOT NULL,
    contenders TEXT NOT NULL,       -- JSON: who plays a role that is compared
    command TEXT NOT NULL,          -- JSON: the command line
    outcome TEXT,                   -- what a run that ended says, in a line
    digest_version INTEGER,         -- of what made outcome and digest
    digest TEXT                     -- JSON: figures by contender, for histories
);
CREATE TABLE IF NOT EXISTS probes (
    run TEXT NOT NULL,
    cell INTEGER NOT NULL,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,             -- kernel, syscalls, allocations, profile
    record TEXT NOT NULL,           -- JSON: what was found, by whom, at which cost
    PRIMARY KEY (run, cell, role, kind)
);
