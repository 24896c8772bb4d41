-- With what questions are signed: the same for all who drive runs of the place, so that whoever takes a run over knows
-- which question was answered. It opens nothing that is sealed.
CREATE TABLE pflow.signing (
    key bytea NOT NULL,
    alone boolean PRIMARY KEY DEFAULT true CHECK (alone)
);

INSERT INTO pflow.signing (key) VALUES (uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

INSERT INTO pflow.schema_version (version, oldest) VALUES (4, 1);
