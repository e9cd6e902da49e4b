import type { Migration } from '../../sqlite/database.ts'

/** The outbox's first schema. It is never changed: files of that time are brought forward from here. */
export const version1: Migration = {
  name: 'hours, metrics and what became of them',
  sql: `
      -- Who is expected to answer, and from which hour on.
      CREATE TABLE collector (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        since INTEGER NOT NULL CHECK (since > 0)
      ) STRICT;

      -- Every expected (collector, hour) is a row. 0 due, 1 collected, 2 gap.
      CREATE TABLE collection (
        hour INTEGER NOT NULL CHECK (hour > 0),
        collector INTEGER NOT NULL REFERENCES collector,
        state INTEGER NOT NULL DEFAULT 0 CHECK (state IN (0, 1, 2)),
        attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
        next_attempt_ms INTEGER NOT NULL DEFAULT 0,
        fault TEXT,
        PRIMARY KEY (hour, collector),
        CHECK (state <> 2 OR fault IS NOT NULL)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX collection_due ON collection (hour) WHERE state = 0;

      -- Each metric id once, so that a row of the outbox costs a few bytes.
      CREATE TABLE metric (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        protocol TEXT NOT NULL,
        collector INTEGER NOT NULL REFERENCES collector,
        unit TEXT,
        module TEXT,
        CHECK (substr(name, 1, length(protocol) + 3) = protocol || '___')
      ) STRICT;

      -- One row for a metric and hour, for ever the same value. 0 due, 1 delivered, 2 dead, 3 held.
      CREATE TABLE outbox (
        hour INTEGER NOT NULL CHECK (hour > 0),
        metric INTEGER NOT NULL REFERENCES metric,
        state INTEGER NOT NULL DEFAULT 0 CHECK (state IN (0, 1, 2, 3)),
        value REAL NOT NULL CHECK (abs(value) <= 1.7976931348623157e308),
        PRIMARY KEY (hour, metric)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX outbox_due ON outbox (hour) WHERE state = 0;

      -- Why a dead or held metric waits for a person.
      CREATE TABLE detained (
        hour INTEGER NOT NULL,
        metric INTEGER NOT NULL,
        reason TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        PRIMARY KEY (hour, metric),
        FOREIGN KEY (hour, metric) REFERENCES outbox (hour, metric) ON DELETE CASCADE
      ) STRICT, WITHOUT ROWID;

      -- What must outlive a restart about where metrics go: one row for each key's name (never the key).
      CREATE TABLE destination (
        name TEXT PRIMARY KEY,
        not_before_ms INTEGER NOT NULL DEFAULT 0,
        probe_at_ms INTEGER NOT NULL DEFAULT 0,
        failures INTEGER NOT NULL DEFAULT 0,
        waiting TEXT,
        last_push_ms INTEGER,
        last_verdict TEXT
      ) STRICT, WITHOUT ROWID;

      -- The service's remarks about pushes, each kind of words once.
      CREATE TABLE warning (
        metric TEXT NOT NULL DEFAULT '',
        text TEXT NOT NULL,
        count INTEGER NOT NULL,
        first_ms INTEGER NOT NULL,
        last_ms INTEGER NOT NULL,
        PRIMARY KEY (metric, text)
      ) STRICT, WITHOUT ROWID;
    `,
}
