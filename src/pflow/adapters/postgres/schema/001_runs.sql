-- Runs, their events and large values, what was delivered to them, and what workflows keep between runs.
-- Strings hold `\0` for a NUL, which Postgres cannot store, and `\\` for a backslash.
CREATE SCHEMA IF NOT EXISTS pflow;

-- Each migration adds its row. `oldest` is the oldest version that a pflow may know and still work with the schema.
CREATE TABLE pflow.schema_version (
    version integer PRIMARY KEY,
    oldest integer NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO pflow.schema_version (version, oldest) VALUES (1, 1);

-- `next` is the number of the next event; `delivered` counts the mail. Both stand here, in the row that every append
-- and every delivery locks, because a count of other rows could miss what is committed meanwhile.
-- `owner` is a random number. `leased`: the owner has the run by ticket; else it lives while a session holds the
-- advisory lock of that number.
CREATE TABLE pflow.runs (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL UNIQUE,
    workflow text COLLATE "C" NOT NULL,
    status text NOT NULL DEFAULT 'running',
    started_at double precision NOT NULL,
    ended_at double precision,
    owner bigint,
    leased boolean NOT NULL DEFAULT false,
    ticket bigint NOT NULL DEFAULT 0,
    next integer NOT NULL DEFAULT 0,
    cancel boolean NOT NULL DEFAULT false,
    wake_at double precision,
    delivered integer NOT NULL DEFAULT 0,
    mail boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70);
CREATE INDEX runs_cancel ON pflow.runs (owner) WHERE cancel;
CREATE INDEX runs_waiting ON pflow.runs (key) WHERE status = 'waiting';
CREATE INDEX runs_running ON pflow.runs (key) WHERE status = 'running';
CREATE INDEX runs_workflow ON pflow.runs (workflow, key);

CREATE TABLE pflow.events (
    run bigint NOT NULL,
    seq integer NOT NULL,
    kind text NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (run, seq)
);

CREATE TABLE pflow.run_values (
    run bigint NOT NULL,
    digest text COLLATE "C" NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (run, digest)
);

CREATE TABLE pflow.inbox (
    run bigint NOT NULL,
    number integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    data bytea NOT NULL,
    sender text NOT NULL,
    via text NOT NULL,
    at double precision NOT NULL,
    PRIMARY KEY (run, number),
    UNIQUE (run, key)
);

CREATE TABLE pflow.state (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    value bytea,
    run_id text NOT NULL,
    at double precision NOT NULL,
    UNIQUE (workflow, key, version)
);
