/**
 * Settings that a session must have, whatever the owner of a database or a role has set: how values are written, and how
 * the text of a statement is read.
 */
const settings: Readonly<Record<string, string>> = {
  client_encoding: 'UTF8',
  DateStyle: 'ISO',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  standard_conforming_strings: 'on',
  bytea_output: 'hex',
  extra_float_digits: '1',
  array_nulls: 'on',
}

/** Options of a pool whose connections have these settings from the start. */
export const settledSessions = {
  async onConnect(client: { query(text: string): Promise<unknown> }): Promise<void> {
    await client.query(
      Object.entries(settings)
        .map(([name, value]) => `SET ${name} = '${value}'`)
        .join('; '),
    )
  },
}
