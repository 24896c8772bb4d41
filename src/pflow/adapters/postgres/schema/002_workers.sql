-- The workers of the place, as each tells about itself while it lives. Information only: no lease depends on it.
-- `kinds` are the node types of a worker with the hashes of their definitions, `variables` the names of what it has
-- for secret inputs, never the values; both are JSON. Times are of the database's clock.
CREATE TABLE pflow.workers (
    worker text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    version text NOT NULL,
    queue text COLLATE "C" NOT NULL,
    slots integer NOT NULL,
    lease double precision NOT NULL,
    digest text NOT NULL,
    kinds text NOT NULL,
    variables text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    beat_at timestamptz NOT NULL DEFAULT now()
);

INSERT INTO pflow.schema_version (version, oldest) VALUES (2, 1);
