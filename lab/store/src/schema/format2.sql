-- The tables of format 2.
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY,
    workload TEXT NOT NULL,
    started_at TEXT NOT NULL,
    status TEXT NOT NULL,
    stopped_because TEXT NOT NULL DEFAULT '',
    header TEXT NOT NULL            -- JSON: host, settings, workload manifest
);
CREATE TABLE IF NOT EXISTS cells (
    run TEXT NOT NULL REFERENCES runs(id),
    idx INTEGER NOT NULL,
    record TEXT NOT NULL,           -- JSON: roles, params, status, build
    PRIMARY KEY (run, idx)
);
CREATE TABLE IF NOT EXISTS trials (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(id),
    cell INTEGER NOT NULL,
    block INTEGER NOT NULL,
    position INTEGER NOT NULL,      -- place within its block
    started_at TEXT NOT NULL,
    seconds REAL NOT NULL,          -- from launch to the last exit
    seed INTEGER NOT NULL,
    outcome TEXT NOT NULL,          -- JSON: ok, skipped or failed, with the reason
    notes TEXT NOT NULL,            -- JSON: what was seen beside the figures
    turns TEXT                      -- JSON: how it took turns with another; NULL outside a duel
);
CREATE INDEX IF NOT EXISTS trials_run ON trials(run);
CREATE TABLE IF NOT EXISTS samples (
    trial INTEGER NOT NULL REFERENCES trials(id),
    role TEXT NOT NULL,
    kind TEXT NOT NULL,             -- counter, meter, setup, result
    mark INTEGER NOT NULL,          -- the mark's id; the connection's number for setup
    at_ns INTEGER NOT NULL,         -- CLOCK_MONOTONIC of the role's host
    name TEXT NOT NULL,
    value INTEGER,                  -- NULL: not measured, source says why
    source TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS samples_trial ON samples(trial);
CREATE TABLE IF NOT EXISTS histograms (
    trial INTEGER NOT NULL REFERENCES trials(id),
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    data TEXT NOT NULL              -- HDR V2, base64
);
CREATE INDEX IF NOT EXISTS histograms_trial ON histograms(trial);
