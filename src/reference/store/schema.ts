import type { Schema } from '../../sqlite/database.ts'

/**
 * The service's tables. The key of a value is (protocol, instant, metric): a push writes neighbouring rows, and the
 * last hour of a protocol is one range.
 */
export const serviceSchema: Schema = {
  version: 1,
  sql: `
    -- A key is known by its SHA-256 and shown by its first characters; rotating changes both and keeps the owner.
    CREATE TABLE api_key (
      no INTEGER PRIMARY KEY,
      name TEXT NOT NULL CHECK (name <> ''),
      prefix TEXT NOT NULL UNIQUE,
      hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
      created_at_ms INTEGER NOT NULL,
      revoked_at_ms INTEGER
    ) STRICT;

    CREATE TABLE protocol (
      no INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE CHECK (id <> '' AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
      name TEXT NOT NULL CHECK (name <> ''),
      logo TEXT,
      chains TEXT CHECK (json_type(chains) = 'array'),
      visibility TEXT NOT NULL CHECK (visibility IN ('private', 'public')),
      owner_no INTEGER NOT NULL REFERENCES api_key (no),
      created_at_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TRIGGER protocol_id_is_immutable BEFORE UPDATE OF id ON protocol
      BEGIN SELECT raise(ABORT, 'a protocol id does not change'); END;

    -- Rows are never deleted: a number once given stays, so that it may be remembered outside the file.
    CREATE TABLE metric (
      no INTEGER PRIMARY KEY,
      protocol_no INTEGER NOT NULL REFERENCES protocol (no),
      id TEXT NOT NULL,
      latest_at_ms INTEGER NOT NULL,
      UNIQUE (protocol_no, id)
    ) STRICT;

    -- Unit and module of a value, each pair once.
    CREATE TABLE form (
      no INTEGER PRIMARY KEY,
      unit TEXT,
      module TEXT NOT NULL
    ) STRICT;

    CREATE TABLE metric_value (
      protocol_no INTEGER NOT NULL,
      at_ms INTEGER NOT NULL,
      metric_no INTEGER NOT NULL,
      value REAL NOT NULL,
      form_no INTEGER NOT NULL,
      key_no INTEGER NOT NULL,
      PRIMARY KEY (protocol_no, at_ms, metric_no)
    ) STRICT, WITHOUT ROWID;
  `,
}
