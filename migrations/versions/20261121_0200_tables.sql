-- What is true is here; a Celery message is only a hint.

CREATE TABLE event (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    instance    text NOT NULL,
    digest      bytea NOT NULL,  -- SHA-256 of the body: servers give events no id
    type        text NOT NULL,
    change      integer,
    body        bytea NOT NULL,  -- bytes, not jsonb: a body may hold what PostgreSQL's texts refuse
    deliveries  integer NOT NULL DEFAULT 1,
    received_at timestamptz NOT NULL DEFAULT now(),  -- of the last delivery
    handled_at  timestamptz,
    UNIQUE (instance, digest)
);
CREATE INDEX event_unhandled ON event (received_at) WHERE handled_at IS NULL;

CREATE TABLE change (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    instance   text NOT NULL,
    number     integer NOT NULL,
    project    text NOT NULL,
    branch     text NOT NULL,
    change_id  text NOT NULL,
    subject    text NOT NULL,
    owner      text NOT NULL,
    status     text NOT NULL,
    is_wip     boolean NOT NULL,
    is_private boolean NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (instance, number)
);
CREATE INDEX change_recent ON change (updated_at DESC, id DESC);
CREATE INDEX change_number ON change (number);  -- pages name a change without its server

CREATE TABLE patch_set (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    change_id  bigint NOT NULL REFERENCES change,
    number     integer NOT NULL,
    revision   text NOT NULL,
    ref        text NOT NULL,
    kind       text NOT NULL,
    author     text NOT NULL,
    subject    text NOT NULL,
    message    text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (change_id, number)
);

CREATE TABLE run (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind         text NOT NULL CHECK (kind IN ('check', 'post-submit', 'calibration')),
    state        text NOT NULL CHECK (state IN ('planning', 'running', 'finished', 'cancelled', 'refused')),
    patch_set_id bigint REFERENCES patch_set,
    instance     text NOT NULL,
    project      text NOT NULL,
    branch       text NOT NULL,
    revision     text NOT NULL,
    parent       text,
    tree         text,
    parent_tree  text,
    subject      text NOT NULL DEFAULT '',
    author       text NOT NULL DEFAULT '',
    label        text NOT NULL DEFAULT 'Verified',
    reason       text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz,
    CHECK (kind <> 'check' OR patch_set_id IS NOT NULL)
);
CREATE UNIQUE INDEX run_one_unfinished ON run (patch_set_id) WHERE kind = 'check' AND state IN ('planning', 'running');
CREATE UNIQUE INDEX run_one_post_submit ON run (instance, project, branch, revision) WHERE kind = 'post-submit';
CREATE INDEX run_of_patch_set ON run (patch_set_id, id);
CREATE INDEX run_unfinished ON run (id) WHERE state IN ('planning', 'running');

-- The pairs of equal trees under equal configuration continue one another, whichever build measured them.
CREATE TABLE sequence (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest     text NOT NULL UNIQUE,
    seed       text NOT NULL,
    listing    jsonb,  -- the benchmarks of both sides, fixed before the first launch
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE environment (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fingerprint text NOT NULL UNIQUE,
    facts       jsonb NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE machine (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name           text NOT NULL UNIQUE,
    class          text NOT NULL,
    pool           text NOT NULL,
    environment_id bigint REFERENCES environment,
    first_seen_at  timestamptz NOT NULL DEFAULT now(),
    last_seen_at   timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE job_number (
    job    text PRIMARY KEY,
    number integer NOT NULL
);

CREATE TABLE build (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job              text NOT NULL,
    number           integer NOT NULL,
    kind             text NOT NULL,
    pool             text NOT NULL,
    priority         smallint NOT NULL,
    state            text NOT NULL CHECK (state IN ('queued', 'running', 'executed', 'finished')),
    phase            text NOT NULL DEFAULT '',
    attempt          integer NOT NULL DEFAULT 0,
    cancel_requested boolean NOT NULL DEFAULT false,
    is_voting        boolean NOT NULL,
    spec             jsonb NOT NULL,  -- what to do, frozen when it was planned
    execution        jsonb,           -- what the machine reports of it
    outcome          text,
    result           text,
    causes           jsonb NOT NULL DEFAULT '[]',
    sequence_id      bigint REFERENCES sequence,
    machine          text,
    environment_id   bigint REFERENCES environment,
    log              text,            -- artifact
    created_at       timestamptz NOT NULL DEFAULT now(),
    not_before       timestamptz NOT NULL DEFAULT now(),  -- a passing fault waits before the next attempt
    deadline_at      timestamptz NOT NULL,
    started_at       timestamptz,
    executed_at      timestamptz,
    finished_at      timestamptz,
    UNIQUE (job, number)
);
CREATE INDEX build_queue ON build (pool, priority, id) WHERE state = 'queued';
CREATE INDEX build_unfinished ON build (id) WHERE state <> 'finished';

CREATE TABLE run_build (
    run_id    bigint NOT NULL REFERENCES run,
    job       text NOT NULL,
    build_id  bigint NOT NULL REFERENCES build,
    position  integer NOT NULL,
    is_reused boolean NOT NULL DEFAULT false,
    PRIMARY KEY (run_id, job)
);
CREATE INDEX run_build_of_build ON run_build (build_id);

CREATE SEQUENCE lease_token;
CREATE TABLE lease (
    build_id   bigint PRIMARY KEY REFERENCES build,
    machine    text NOT NULL,
    token      bigint NOT NULL,
    renewed_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX lease_of_machine ON lease (machine);

CREATE TABLE launch (
    sequence_id bigint NOT NULL REFERENCES sequence,
    pair        integer NOT NULL,
    suite       text NOT NULL,
    side        text NOT NULL CHECK (side IN ('base', 'patch')),
    build_id    bigint NOT NULL REFERENCES build,
    artifact    text NOT NULL,  -- the raw JSON of the whole pair
    facts       jsonb NOT NULL, -- seconds, exit code, load and steal around it
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (sequence_id, pair, suite, side)
);

-- "binary" is a word of SQL.
CREATE TABLE kept_binary (
    digest       text PRIMARY KEY,
    artifact     text NOT NULL,
    manifest     jsonb NOT NULL,
    build_id     bigint NOT NULL REFERENCES build,
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE series (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest        bytea NOT NULL UNIQUE,  -- of the eight parts: a benchmark's name may exceed an index row
    instance      text NOT NULL,
    project       text NOT NULL,
    branch        text NOT NULL,
    machine_class text NOT NULL,
    job           text NOT NULL,
    suite         text NOT NULL,
    benchmark     text NOT NULL,
    metric        text NOT NULL,
    unit          text NOT NULL,
    better        text NOT NULL CHECK (better IN ('lower', 'higher'))
);
CREATE INDEX series_of_job ON series (job, suite, id);

-- Element k of samples belongs to pair k; null where the pair was discarded or incomplete.
-- measured_at is the build's creation: one value per build, so that storing it again finds its rows.
CREATE TABLE result (
    measured_at timestamptz NOT NULL,
    build_id    bigint NOT NULL,
    series_id   bigint NOT NULL,
    side        smallint NOT NULL CHECK (side IN (0, 1)),  -- 0 base, 1 patch
    samples     double precision[] NOT NULL,
    PRIMARY KEY (build_id, series_id, side, measured_at)
) PARTITION BY RANGE (measured_at);

CREATE TABLE comparison (
    measured_at timestamptz NOT NULL,
    series_id   bigint NOT NULL,
    build_id    bigint NOT NULL,
    kind        smallint NOT NULL CHECK (kind IN (0, 1, 2)),  -- 0 check, 1 post-submit, 2 calibration
    position    integer NOT NULL,
    pairs       integer NOT NULL,
    verdict     text NOT NULL,
    ratio       double precision,
    low         double precision,
    high        double precision,
    base        double precision,
    patch       double precision,
    reason      text NOT NULL DEFAULT '',
    PRIMARY KEY (build_id, series_id, measured_at)
) PARTITION BY RANGE (measured_at);
-- The trend: one series and kind of run, newest first.
CREATE INDEX comparison_trend ON comparison (series_id, kind, measured_at DESC);

-- A month a partition; made ahead by the schedule. The default catches what nobody foresaw.
CREATE TABLE result_default PARTITION OF result DEFAULT;
CREATE TABLE comparison_default PARTITION OF comparison DEFAULT;

-- Months begin in UTC, whoever calls: bounds that follow the session's time zone would overlap.
CREATE FUNCTION ensure_partitions(first_day date, months integer) RETURNS void
LANGUAGE plpgsql SET timezone = 'UTC' SET client_min_messages = 'warning' AS $$
DECLARE
    start_day date := date_trunc('month', first_day);
    parent    text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('ensure_partitions'));
    FOR i IN 0 .. months LOOP
        FOREACH parent IN ARRAY ARRAY['result', 'comparison'] LOOP
            BEGIN
                EXECUTE format(
                    'CREATE TABLE IF NOT EXISTS %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
                    parent || to_char(start_day, '_YYYY_MM'), parent, start_day,
                    start_day + interval '1 month');
            EXCEPTION WHEN check_violation THEN
                -- The default holds rows of this month already and keeps them; later months go on.
                RAISE WARNING 'the default partition of % holds rows of %', parent, start_day;
            END;
        END LOOP;
        start_day := start_day + interval '1 month';
    END LOOP;
END $$;
SELECT ensure_partitions(current_date, 2);

CREATE TABLE decision (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id       bigint NOT NULL REFERENCES run,
    patch_set_id bigint REFERENCES patch_set,
    number       integer NOT NULL,  -- per patch set, or per run where there is none
    vote         smallint CHECK (vote IN (-1, 1)),
    header       text NOT NULL,
    message      text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (run_id, number)
);
CREATE UNIQUE INDEX decision_of_patch_set ON decision (patch_set_id, number) WHERE patch_set_id IS NOT NULL;

-- Everything that leaves: hints to workers (deleted once sent) and messages to the review server (kept).
CREATE TABLE outbox (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind       text NOT NULL CHECK (kind IN ('task', 'review')),
    dedup_key  text UNIQUE,
    payload    jsonb NOT NULL,
    state      text NOT NULL DEFAULT 'pending'
               CHECK (state IN ('pending', 'sent', 'superseded', 'refused', 'dead')),
    attempts   integer NOT NULL DEFAULT 0,
    next_at    timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL DEFAULT now(),
    sent_at    timestamptz,
    last_error text
);
CREATE INDEX outbox_pending ON outbox (next_at) WHERE state = 'pending';

CREATE FUNCTION notify_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('outbox', '');
    RETURN NULL;
END $$;
CREATE TRIGGER outbox_added AFTER INSERT ON outbox FOR EACH STATEMENT EXECUTE FUNCTION notify_outbox();

-- Failures of steps, so that a step that cannot succeed ends instead of running for ever.
CREATE TABLE setback (
    task       text NOT NULL,
    entity     bigint NOT NULL,
    attempts   integer NOT NULL,
    next_at    timestamptz NOT NULL,
    is_dead    boolean NOT NULL DEFAULT false,
    last_error text NOT NULL,
    PRIMARY KEY (task, entity)
);

-- Signs of life: of parts of the service, and how far the reconciler has looked.
CREATE TABLE pulse (
    part    text PRIMARY KEY,
    beat_at timestamptz NOT NULL,
    note    text NOT NULL DEFAULT ''
);
