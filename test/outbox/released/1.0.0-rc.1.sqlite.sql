PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE collector (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    since INTEGER NOT NULL CHECK (since > 0)
  ) STRICT;
INSERT INTO collector VALUES(1,'vault/c',498659);
CREATE TABLE provenance (
    id INTEGER PRIMARY KEY,
    version TEXT NOT NULL,
    code TEXT NOT NULL,
    options TEXT NOT NULL,
    hosts TEXT NOT NULL CHECK (json_valid(hosts)),
    UNIQUE (version, code, options, hosts)
  ) STRICT;
INSERT INTO provenance VALUES(1,'1.0.0-rc.1','c','o','{"1":"node.example.com"}');
CREATE TABLE collection (
    hour INTEGER NOT NULL CHECK (hour > 0),
    collector INTEGER NOT NULL REFERENCES collector,
    state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 2),
    attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_attempt_ms INTEGER NOT NULL DEFAULT 0,
    fault TEXT,
    fault_code TEXT,
    metrics INTEGER DEFAULT 0,
    digest INTEGER DEFAULT 0,
    provenance INTEGER REFERENCES provenance,
    failures TEXT,
    changes INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (hour, collector),
    CHECK (state <> 2 OR fault IS NOT NULL),
    CHECK ((fault IS NULL) = (fault_code IS NULL))
  ) STRICT, WITHOUT ROWID;
INSERT INTO collection VALUES(498659,1,1,1,0,NULL,NULL,4,338476245,1,NULL,0);
INSERT INTO collection VALUES(498660,1,1,1,0,NULL,NULL,3,3336697650,NULL,NULL,0);
INSERT INTO collection VALUES(498661,1,1,1,0,NULL,NULL,3,3111331152,NULL,NULL,0);
CREATE TABLE backfill_failure (
    hour INTEGER NOT NULL CHECK (hour > 0),
    collector INTEGER NOT NULL REFERENCES collector,
    at_ms INTEGER NOT NULL,
    fault TEXT NOT NULL,
    PRIMARY KEY (hour, collector)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE planned (
    collector INTEGER NOT NULL PRIMARY KEY REFERENCES collector,
    hour INTEGER NOT NULL CHECK (hour > 0)
  ) STRICT, WITHOUT ROWID;
INSERT INTO planned VALUES(1,498661);
CREATE TABLE input (
    metric TEXT NOT NULL,
    collector TEXT NOT NULL,
    hours INTEGER NOT NULL CHECK (hours > 0),
    PRIMARY KEY (metric, collector)
  ) STRICT, WITHOUT ROWID;
INSERT INTO input VALUES('vault___M0','vault/d',24);
CREATE TABLE protocol (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
  ) STRICT;
INSERT INTO protocol VALUES(1,'vault');
CREATE TABLE metric (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    protocol INTEGER NOT NULL REFERENCES protocol,
    collector INTEGER NOT NULL REFERENCES collector
  ) STRICT;
INSERT INTO metric VALUES(1,'vault___M0',1,1);
INSERT INTO metric VALUES(2,'vault___M1',1,1);
INSERT INTO metric VALUES(3,'vault___M2',1,1);
INSERT INTO metric VALUES(4,'vault___M3',1,1);
CREATE TABLE description (
    metric INTEGER NOT NULL REFERENCES metric,
    since INTEGER NOT NULL CHECK (since > 0),
    unit TEXT,
    module TEXT,
    PRIMARY KEY (metric, since)
  ) STRICT, WITHOUT ROWID;
INSERT INTO description VALUES(1,498659,'USD',NULL);
INSERT INTO description VALUES(2,498659,'USD',NULL);
INSERT INTO description VALUES(3,498659,'USD',NULL);
INSERT INTO description VALUES(4,498659,'USD',NULL);
CREATE TABLE outbox (
    hour INTEGER NOT NULL CHECK (hour > 0),
    metric INTEGER NOT NULL REFERENCES metric,
    protocol INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
    value REAL NOT NULL CHECK (abs(value) <= 1.7976931348623157e308),
    collected_ms INTEGER NOT NULL,
    delivered_ms INTEGER NOT NULL,
    PRIMARY KEY (hour, metric)
  ) STRICT, WITHOUT ROWID;
INSERT INTO outbox VALUES(498659,1,1,1,99.0,1795179660000,1795179660000);
INSERT INTO outbox VALUES(498659,2,1,1,1.0,1795179660000,1795179660000);
INSERT INTO outbox VALUES(498659,3,1,1,2.0,1795179660000,1795179660000);
INSERT INTO outbox VALUES(498659,4,1,1,3.0,1795179660000,1795179660000);
INSERT INTO outbox VALUES(498660,1,1,2,0.0,1795179660000,1795179660000);
INSERT INTO outbox VALUES(498660,2,1,3,1.0,1795179660000,1795179660000);
INSERT INTO outbox VALUES(498660,3,1,3,2.0,1795179660000,1795179660000);
INSERT INTO outbox VALUES(498661,1,1,0,0.0,1795179660000,1795179660000);
INSERT INTO outbox VALUES(498661,2,1,0,1.0,1795179660000,1795179660000);
INSERT INTO outbox VALUES(498661,3,1,0,2.0,1795179660000,1795179660000);
CREATE TABLE tally (
    protocol INTEGER NOT NULL REFERENCES protocol,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 5),
    metrics INTEGER NOT NULL CHECK (metrics >= 0),
    PRIMARY KEY (protocol, state)
  ) STRICT, WITHOUT ROWID;
INSERT INTO tally VALUES(1,0,3);
INSERT INTO tally VALUES(1,1,4);
INSERT INTO tally VALUES(1,2,1);
INSERT INTO tally VALUES(1,3,2);
CREATE TABLE detained (
    hour INTEGER NOT NULL,
    metric INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('refused', 'bounds', 'jump', 'unit')),
    reason TEXT NOT NULL,
    status INTEGER,
    attempts INTEGER,
    unit TEXT,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (hour, metric)
  ) STRICT, WITHOUT ROWID;
INSERT INTO detained VALUES(498660,1,'refused','no',400,1,NULL,1795179660000);
INSERT INTO detained VALUES(498660,2,'bounds','odd',NULL,NULL,NULL,1795179660000);
INSERT INTO detained VALUES(498660,3,'bounds','odd',NULL,NULL,NULL,1795179660000);
CREATE TABLE correction (
    hour INTEGER NOT NULL,
    metric INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (hour, metric)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE earlier_value (
    hour INTEGER NOT NULL,
    metric INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (hour, metric, until_ms)
  ) STRICT, WITHOUT ROWID;
INSERT INTO earlier_value VALUES(498659,1,1795179660000,0.0);
CREATE TABLE destination (
    name TEXT NOT NULL PRIMARY KEY,
    not_before_ms INTEGER NOT NULL DEFAULT 0,
    probe_at_ms INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    waiting TEXT,
    cure TEXT,
    last_push_ms INTEGER,
    last_verdict TEXT,
    last_status INTEGER,
    skew_ms INTEGER
  ) STRICT, WITHOUT ROWID;
INSERT INTO destination VALUES('service',1795179660000,0,2,'it answers 503',NULL,1795179660000,'transient',NULL,NULL);
CREATE TABLE unsuccessful_flush (
    destination TEXT NOT NULL,
    first_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    flushes INTEGER NOT NULL CHECK (flushes > 0),
    reason TEXT NOT NULL,
    PRIMARY KEY (destination, first_ms)
  ) STRICT, WITHOUT ROWID;
INSERT INTO unsuccessful_flush VALUES('service',1795179660000,1795179660000,1,'it answers 503');
CREATE TABLE warning (
    metric TEXT NOT NULL DEFAULT '',
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    count INTEGER NOT NULL CHECK (count > 0),
    first_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    acknowledged INTEGER NOT NULL DEFAULT 0 CHECK (acknowledged IN (0, 1)),
    PRIMARY KEY (metric, kind)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE final_block (
    chain INTEGER NOT NULL CHECK (chain > 0),
    hour INTEGER NOT NULL CHECK (hour > 0),
    number INTEGER NOT NULL CHECK (number >= 0),
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    timestamp INTEGER NOT NULL,
    PRIMARY KEY (chain, hour)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE pin (
    chain INTEGER NOT NULL CHECK (chain > 0),
    hour INTEGER NOT NULL CHECK (hour > 0),
    collector INTEGER NOT NULL REFERENCES collector,
    number INTEGER NOT NULL CHECK (number >= 0),
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    timestamp INTEGER NOT NULL,
    logs TEXT,
    PRIMARY KEY (chain, hour, collector)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE report (
    reporter TEXT NOT NULL PRIMARY KEY,
    state TEXT NOT NULL CHECK (json_valid(state))
  ) STRICT, WITHOUT ROWID;
INSERT INTO report VALUES('notify','{"told":[]}');
CREATE TABLE migration (version INTEGER PRIMARY KEY, made_by TEXT NOT NULL, at TEXT NOT NULL) STRICT;
INSERT INTO migration VALUES(13,'1.0.0-rc.1','2026-11-27T09:16:40Z');
CREATE INDEX collection_gap ON collection (collector, hour) WHERE state = 2;
CREATE INDEX collection_due ON collection (collector, hour, next_attempt_ms) WHERE state = 0;
CREATE INDEX collection_attempt ON collection (next_attempt_ms) WHERE state = 0;
CREATE INDEX metric_collector ON metric (collector);
CREATE INDEX outbox_due ON outbox (protocol, hour, metric) WHERE state = 0;
CREATE VIEW metric_values AS
    SELECT metric.name AS metric, strftime('%Y-%m-%dT%H:%M:%SZ', outbox.hour * 3600000.0 / 1000.0, 'unixepoch') AS hour, outbox.value,
      CASE WHEN detained.kind = 'unit' THEN detained.unit ELSE (
        SELECT unit FROM description WHERE description.metric = outbox.metric AND since = coalesce(
          (SELECT max(since) FROM description AS own WHERE own.metric = outbox.metric AND since <= outbox.hour),
          (SELECT min(since) FROM description AS own WHERE own.metric = outbox.metric))) END AS unit,
      CASE outbox.state WHEN 0 THEN 'due' WHEN 1 THEN 'delivered' WHEN 2 THEN 'dead' WHEN 3 THEN 'held' ELSE 'dropped' END AS state,
      strftime('%Y-%m-%dT%H:%M:%SZ', outbox.collected_ms / 1000.0, 'unixepoch') AS collected_at,
      CASE WHEN outbox.state = 1 THEN strftime('%Y-%m-%dT%H:%M:%SZ', outbox.delivered_ms / 1000.0, 'unixepoch') END AS delivered_at,
      detained.reason
    FROM outbox JOIN metric ON metric.id = outbox.metric
      LEFT JOIN detained ON detained.hour = outbox.hour AND detained.metric = outbox.metric;
COMMIT;
PRAGMA user_version = 13;
