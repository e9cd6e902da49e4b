import type { PostgresSettings } from './server.ts'

/** Settings that an owner of a database may choose, each of them other than usual. */
export const oddSettings: PostgresSettings = {
  client_encoding: 'LATIN1',
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kathmandu',
  standard_conforming_strings: 'off',
  escape_string_warning: 'off',
  bytea_output: 'escape',
  extra_float_digits: '-12',
  array_nulls: 'off',
  default_transaction_isolation: 'serializable',
  synchronous_commit: 'off',
}
