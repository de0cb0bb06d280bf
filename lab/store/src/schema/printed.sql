-- Printed verdicts and the origin of runs. These tables are not part of the format: older versions ignore them.
CREATE TABLE IF NOT EXISTS printed (
    run TEXT PRIMARY KEY,
    text TEXT NOT NULL              -- JSON: the program's version, the verdicts
);
CREATE TABLE IF NOT EXISTS imported (
    run TEXT PRIMARY KEY            -- measured elsewhere, and never resumed
);
