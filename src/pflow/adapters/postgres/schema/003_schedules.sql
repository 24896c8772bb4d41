-- What the schedules of the place run: `data` is the schedule with the document of its workflow, as JSON. When they
-- are due is held by whoever fires them.
CREATE TABLE pflow.schedules (
    queue text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (queue, name)
);

INSERT INTO pflow.schema_version (version, oldest) VALUES (3, 1);
