import type { Migration } from '../../sqlite/database.ts'

/** What is known of chains' blocks, and of values that have changed since they were stored. */
export const version3: Migration = {
  name: 'final blocks, pins, corrections, gaps by collector',
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
  `,
}
