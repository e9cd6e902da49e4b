import type { Migration } from '../../sqlite/database.ts'

/** What is known of chains' blocks, of values that have changed since they were stored, and of how far hours are planned. */
export const version3: Migration = {
  name: 'final blocks, pins, corrections, gaps and due hours by collector, how far hours are planned',
  sql: `
    -- The as-of block of an hour, once it is final. Chains are numbered as eth_chainId answers; instants are seconds here.
    CREATE TABLE final_block (
      chain INTEGER NOT NULL CHECK (chain > 0),
      hour INTEGER NOT NULL CHECK (hour > 0),
      number INTEGER NOT NULL CHECK (number >= 0),
      hash BLOB NOT NULL CHECK (length(hash) = 32),
      timestamp INTEGER NOT NULL,
      PRIMARY KEY (chain, hour)
    ) STRICT, WITHOUT ROWID;

    -- A block that was not final when values of a collector's hour were read at it.
    CREATE TABLE pin (
      chain INTEGER NOT NULL CHECK (chain > 0),
      hour INTEGER NOT NULL CHECK (hour > 0),
      collector INTEGER NOT NULL REFERENCES collector,
      number INTEGER NOT NULL CHECK (number >= 0),
      hash BLOB NOT NULL CHECK (length(hash) = 32),
      timestamp INTEGER NOT NULL,
      -- Logs that the values were made of, as JSON: each filter with the digest of what it gave.
      logs TEXT,
      PRIMARY KEY (chain, hour, collector)
    ) STRICT, WITHOUT ROWID;

    -- A metric whose value has changed, until the new one is delivered: the old one may be on its way.
    CREATE TABLE correction (
      hour INTEGER NOT NULL,
      metric INTEGER NOT NULL,
      at_ms INTEGER NOT NULL,
      PRIMARY KEY (hour, metric),
      FOREIGN KEY (hour, metric) REFERENCES outbox (hour, metric) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;

    -- Rows of hours were deleted when they were old; from now on they stay, and what is missing is missed.
    UPDATE collector SET since = max(since, coalesce((SELECT min(hour) FROM collection WHERE collector = collector.id), since));

    CREATE INDEX collection_gap ON collection (collector, hour) WHERE state = 2;
    -- A collector's due hours are found without reading past another's, and the next attempt without reading any other.
    DROP INDEX collection_due;
    CREATE INDEX collection_due ON collection (collector, hour, next_attempt_ms) WHERE state = 0;
    CREATE INDEX collection_attempt ON collection (next_attempt_ms) WHERE state = 0;

    -- The last hour of those that are rows without a hole, from the collector's start on, so that nobody has to look at a
    -- year of them. Where there is none it is looked for; it is never later than it is true.
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
  `,
}
