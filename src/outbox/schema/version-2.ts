import type { Migration } from '../../sqlite/database.ts'

/**
 * Protocols get numbers, so that what is due for one destination is found without reading past another's backlog;
 * metrics are counted as they change; a metric's unit is known hour by hour.
 */
export const version2: Migration = {
  name: 'due by protocol, counts, descriptions by the hour, detained with kind, status and attempts',
  sql: `
    CREATE TABLE protocol (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE
    ) STRICT;
    INSERT INTO protocol (name) SELECT DISTINCT protocol FROM metric ORDER BY protocol;

    -- Each metric id once, so that a row of the outbox costs a few bytes.
    CREATE TABLE metric_2 (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      protocol INTEGER NOT NULL REFERENCES protocol,
      collector INTEGER NOT NULL REFERENCES collector,
      UNIQUE (id, protocol)
    ) STRICT;
    INSERT INTO metric_2 (id, name, protocol, collector)
      SELECT metric.id, metric.name, protocol.id, collector FROM metric JOIN protocol ON protocol.name = metric.protocol;

    -- How a metric is described from an hour on: its unit is pinned by the first row, and changes only when a person says so.
    CREATE TABLE description (
      metric INTEGER NOT NULL REFERENCES metric_2,
      since INTEGER NOT NULL CHECK (since > 0),
      unit TEXT,
      module TEXT,
      PRIMARY KEY (metric, since)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO description (metric, since, unit, module) SELECT id, 1, unit, module FROM metric;

    -- One row for a metric and hour, for ever the same value. 0 due, 1 delivered, 2 dead, 3 held, 4 dropped by a person.
    CREATE TABLE outbox_2 (
      hour INTEGER NOT NULL CHECK (hour > 0),
      metric INTEGER NOT NULL,
      protocol INTEGER NOT NULL,
      state INTEGER NOT NULL DEFAULT 0 CHECK (state IN (0, 1, 2, 3, 4)),
      value REAL NOT NULL CHECK (abs(value) <= 1.7976931348623157e308),
      PRIMARY KEY (hour, metric),
      FOREIGN KEY (metric, protocol) REFERENCES metric_2 (id, protocol)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO outbox_2 (hour, metric, protocol, state, value)
      SELECT hour, metric, metric_2.protocol, state, value FROM outbox JOIN metric_2 ON metric_2.id = outbox.metric;

    -- Why a dead or held metric waits for a person. 'refused' are dead, the others held.
    CREATE TABLE detained_2 (
      hour INTEGER NOT NULL,
      metric INTEGER NOT NULL,
      kind TEXT NOT NULL CHECK (kind IN ('refused', 'bounds', 'jump', 'unit')),
      reason TEXT NOT NULL,
      status INTEGER,
      attempts INTEGER,
      unit TEXT,
      at_ms INTEGER NOT NULL,
      PRIMARY KEY (hour, metric),
      FOREIGN KEY (hour, metric) REFERENCES outbox_2 (hour, metric) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
    INSERT INTO detained_2 (hour, metric, kind, reason, at_ms)
      SELECT hour, metric, iif(state = 2, 'refused', 'bounds'), reason, at_ms FROM detained JOIN outbox USING (hour, metric);

    DROP TABLE detained;
    DROP TABLE outbox;
    DROP TABLE metric;
    ALTER TABLE metric_2 RENAME TO metric;
    ALTER TABLE outbox_2 RENAME TO outbox;
    ALTER TABLE detained_2 RENAME TO detained;
    CREATE INDEX outbox_due ON outbox (protocol, hour) WHERE state = 0;

    -- How many rows there are in each state; 5 counts the delivered ones that were pruned.
    CREATE TABLE tally (
      protocol INTEGER NOT NULL REFERENCES protocol,
      state INTEGER NOT NULL CHECK (state IN (0, 1, 2, 3, 4, 5)),
      metrics INTEGER NOT NULL CHECK (metrics >= 0),
      PRIMARY KEY (protocol, state)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO tally (protocol, state, metrics) SELECT protocol, state, count(*) FROM outbox GROUP BY protocol, state;

    -- How many metrics an hour gave, and their digest: by that it is known after a damage what is missing, or is not what
    -- it was. NULL for hours of before this was counted.
    ALTER TABLE collection ADD COLUMN metrics INTEGER DEFAULT 0;
    ALTER TABLE collection ADD COLUMN digest INTEGER DEFAULT 0;
    UPDATE collection SET metrics = NULL, digest = NULL;

    -- A column that is added is written into every row: rows of one table are told from others' by how many they have.
    -- How far the service's clock is ahead of this machine's, when it was last seen.
    ALTER TABLE destination ADD COLUMN skew_ms INTEGER;
    UPDATE destination SET skew_ms = NULL;

    -- The service's remarks about pushes, once for each kind and metric; an acknowledged one is counted on in silence.
    CREATE TABLE warning_2 (
      metric TEXT NOT NULL DEFAULT '',
      kind TEXT NOT NULL,
      text TEXT NOT NULL,
      count INTEGER NOT NULL CHECK (count > 0),
      first_ms INTEGER NOT NULL,
      last_ms INTEGER NOT NULL,
      acknowledged INTEGER NOT NULL DEFAULT 0 CHECK (acknowledged IN (0, 1)),
      PRIMARY KEY (metric, kind)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO warning_2 (metric, kind, text, count, first_ms, last_ms) SELECT metric, text, text, count, first_ms, last_ms FROM warning;
    DROP TABLE warning;
    ALTER TABLE warning_2 RENAME TO warning;
  `,
}
