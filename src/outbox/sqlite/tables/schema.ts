import type { Schema } from '../../../sqlite/database.ts'
import { runMetricsMax } from '../../rows/run-values.ts'

/**
 * Tables of the outbox. Instants are milliseconds since 1970, unless a comment says otherwise; hours are hours since
 * 1970, which SQLite stores in three bytes. Keys begin with the hour: rows are written and read by the hour, so they
 * are adjacent on disk. Versions 1 to 9 were never released.
 */
export const outboxSchema: Schema = {
  version: 11,
  sql: `
    -- Who is expected to answer, and from which hour on.
    CREATE TABLE collector (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      since INTEGER NOT NULL CHECK (since > 0)
    ) STRICT;

    -- How values of an hour came about: the version of tidegauge, digests of the collector's files and of its options, and
    -- the host that served each chain, as JSON by eth_chainId. Many hours share a row.
    CREATE TABLE provenance (
      id INTEGER PRIMARY KEY,
      version TEXT NOT NULL,
      code TEXT NOT NULL,
      options TEXT NOT NULL,
      hosts TEXT NOT NULL CHECK (json_valid(hosts)),
      UNIQUE (version, code, options, hosts)
    ) STRICT;

    -- Every expected (collector, hour) is a row. 0 due, 1 collected, 2 gap. Rows of hours are never deleted because of age.
    -- "metrics" says how many metrics the hour gave, "digest" adds theirs up: by these it is known after a damage what is
    -- missing, or is not what it was. Both are NULL once the hour is pruned. "provenance" is that of the latest values.
    -- "fault_code" is that of the fault: hours are planned by it, and not by words of other programs. "failures" has a line
    -- for each of the newest failed attempts, the newest first.
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
      PRIMARY KEY (hour, collector),
      CHECK (state <> 2 OR fault IS NOT NULL),
      CHECK ((fault IS NULL) = (fault_code IS NULL))
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX collection_gap ON collection (collector, hour) WHERE state = 2;
    -- A collector's due hours are found without reading past another's, and the next attempt without reading any other.
    CREATE INDEX collection_due ON collection (collector, hour, next_attempt_ms) WHERE state = 0;
    CREATE INDEX collection_attempt ON collection (next_attempt_ms) WHERE state = 0;

    -- The last hour of those that are rows without a hole, from the collector's start on, so that a year of them need not
    -- be read. A missing row is found again; it is never later than it is true.
    CREATE TABLE planned (
      collector INTEGER PRIMARY KEY REFERENCES collector,
      hour INTEGER NOT NULL CHECK (hour > 0)
    ) STRICT;
    CREATE TRIGGER planned_deleted AFTER DELETE ON collection BEGIN
      DELETE FROM planned WHERE collector = OLD.collector AND OLD.hour <= (SELECT since FROM collector WHERE id = OLD.collector);
      UPDATE planned SET hour = OLD.hour - 1 WHERE collector = OLD.collector AND hour >= OLD.hour;
    END;
    CREATE TRIGGER planned_since AFTER UPDATE OF since ON collector WHEN NEW.since <> OLD.since BEGIN
      DELETE FROM planned WHERE collector = OLD.id;
    END;

    -- Hours that a backfill was asked for and could not read, until a later one has them.
    CREATE TABLE backfill_failure (
      hour INTEGER NOT NULL CHECK (hour > 0),
      collector INTEGER NOT NULL REFERENCES collector,
      at_ms INTEGER NOT NULL,
      fault TEXT NOT NULL,
      PRIMARY KEY (hour, collector)
    ) STRICT, WITHOUT ROWID;

    -- Protocols have numbers, so that what is due for one destination is found without reading past another's backlog.
    CREATE TABLE protocol (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE
    ) STRICT;

    -- Each metric id once, so that a metric of the outbox costs a few bytes.
    CREATE TABLE metric (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      protocol INTEGER NOT NULL REFERENCES protocol,
      collector INTEGER NOT NULL REFERENCES collector,
      UNIQUE (protocol, id)
    ) STRICT;

    -- How a metric is described from an hour on: its unit is locked by the first row, and changes only when a person says so.
    CREATE TABLE description (
      metric INTEGER NOT NULL REFERENCES metric,
      since INTEGER NOT NULL CHECK (since > 0),
      unit TEXT,
      module TEXT,
      PRIMARY KEY (metric, since)
    ) STRICT, WITHOUT ROWID;

    -- A row is a run: metrics of one protocol, hour and state whose numbers are consecutive, from "first" on. Each metric
    -- and hour is in one run at most. States: 0 due, 1 delivered, 2 dead, 3 held, 4 dropped by a person. "metric_values"
    -- are 64-bit numbers, little-endian; "digest" is the sum of what the hour's digest adds up of each. "delivered_ms" counts
    -- once they are delivered, and is that of their collection before: a row that keeps its size is changed in its place.
    CREATE TABLE outbox (
      hour INTEGER NOT NULL CHECK (hour > 0),
      first INTEGER NOT NULL CHECK (first > 0),
      protocol INTEGER NOT NULL,
      state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
      collected_ms INTEGER NOT NULL,
      delivered_ms INTEGER NOT NULL,
      metrics INTEGER NOT NULL CHECK (metrics BETWEEN 1 AND ${runMetricsMax}),
      digest INTEGER NOT NULL,
      metric_values BLOB NOT NULL,
      PRIMARY KEY (hour, first),
      FOREIGN KEY (first, protocol) REFERENCES metric (id, protocol),
      CHECK (length(metric_values) = 8 * metrics)
    ) STRICT, WITHOUT ROWID;
    -- A run is divided by shortening it, never by deleting it: with a row its metrics are deleted.
    CREATE TRIGGER outbox_deleted AFTER DELETE ON outbox BEGIN
      DELETE FROM detained WHERE hour = OLD.hour AND metric BETWEEN OLD.first AND OLD.first + OLD.metrics - 1;
      DELETE FROM correction WHERE hour = OLD.hour AND metric BETWEEN OLD.first AND OLD.first + OLD.metrics - 1;
      DELETE FROM earlier_value WHERE hour = OLD.hour AND metric BETWEEN OLD.first AND OLD.first + OLD.metrics - 1;
    END;

    -- How many metrics of a protocol and hour are due; no row for none. An index of due rows would be written twice for
    -- each metric.
    CREATE TABLE due_count (
      protocol INTEGER NOT NULL REFERENCES protocol,
      hour INTEGER NOT NULL CHECK (hour > 0),
      metrics INTEGER NOT NULL CHECK (metrics >= 0),
      PRIMARY KEY (protocol, hour)
    ) STRICT, WITHOUT ROWID;

    -- How many metrics of a protocol are in states 2 to 4, each; 5 counts the delivered ones that were pruned, and 6 all that
    -- are stored. Those that are due are in due_count, and the rest is delivered: a delivery changes one count.
    CREATE TABLE tally (
      protocol INTEGER NOT NULL REFERENCES protocol,
      state INTEGER NOT NULL CHECK (state BETWEEN 2 AND 6),
      metrics INTEGER NOT NULL CHECK (metrics >= 0),
      PRIMARY KEY (protocol, state)
    ) STRICT, WITHOUT ROWID;

    -- Why a dead or held metric waits for a person. 'refused' are dead, the others held.
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

    -- A metric whose value has changed, until the new one is delivered: the old one may be on its way.
    CREATE TABLE correction (
      hour INTEGER NOT NULL,
      metric INTEGER NOT NULL,
      at_ms INTEGER NOT NULL,
      PRIMARY KEY (hour, metric)
    ) STRICT, WITHOUT ROWID;

    -- The values that a metric had before it was corrected, and until when.
    CREATE TABLE earlier_value (
      hour INTEGER NOT NULL,
      metric INTEGER NOT NULL,
      until_ms INTEGER NOT NULL,
      value REAL NOT NULL,
      PRIMARY KEY (hour, metric, until_ms)
    ) STRICT, WITHOUT ROWID;

    -- What must outlive a restart about where metrics go: one row for each key's name (never the key). "skew_ms" says how
    -- far the service's clock is ahead of this machine's, when it was last seen.
    CREATE TABLE destination (
      name TEXT PRIMARY KEY,
      not_before_ms INTEGER NOT NULL DEFAULT 0,
      probe_at_ms INTEGER NOT NULL DEFAULT 0,
      failures INTEGER NOT NULL DEFAULT 0,
      waiting TEXT,
      last_push_ms INTEGER,
      last_verdict TEXT,
      skew_ms INTEGER
    ) STRICT, WITHOUT ROWID;

    -- Flushes after which metrics were left over, with the reason; those with equal reasons, one after the other, are one row.
    CREATE TABLE unsuccessful_flush (
      destination TEXT NOT NULL,
      first_ms INTEGER NOT NULL,
      last_ms INTEGER NOT NULL,
      flushes INTEGER NOT NULL CHECK (flushes > 0),
      reason TEXT NOT NULL,
      PRIMARY KEY (destination, first_ms)
    ) STRICT, WITHOUT ROWID;

    -- The service's remarks about pushes, once for each kind and metric; an acknowledged one is counted on in silence.
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

    -- The as-of block of an hour, once it is final. Chains are numbered as eth_chainId answers; instants are seconds here.
    CREATE TABLE final_block (
      chain INTEGER NOT NULL CHECK (chain > 0),
      hour INTEGER NOT NULL CHECK (hour > 0),
      number INTEGER NOT NULL CHECK (number >= 0),
      hash BLOB NOT NULL CHECK (length(hash) = 32),
      timestamp INTEGER NOT NULL,
      PRIMARY KEY (chain, hour)
    ) STRICT, WITHOUT ROWID;

    -- A block that was not final when values of a collector's hour were read at it. "logs" are those that the values were
    -- made of, as JSON: each filter with the digest of what it gave.
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

    -- What was reported to people, so that a restart repeats nothing: a row for each reporter, its state as JSON.
    CREATE TABLE report (
      reporter TEXT PRIMARY KEY,
      state TEXT NOT NULL CHECK (json_valid(state))
    ) STRICT, WITHOUT ROWID;
  `,
}
