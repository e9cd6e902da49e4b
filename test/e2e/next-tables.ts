import { tablesVersion } from '../../src/outbox/store/schema.ts'

/** Makes a command that of a later version, whose tables have a column more; see the file. */
export const next = { NODE_OPTIONS: `--import ${new URL('../support/next-version.ts', import.meta.url).href}` }

/** The version of its tables. */
export const nextTables = tablesVersion + 1

/** A daemon of a fleet that collects from its machine. */
export const fleetYaml = (name: string) => `service: { url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
fleet: { name: ${name} }
status: { listen: "127.0.0.1:0" }
protocols: [{ id: this-machine, name: This machine, collectors: [{ use: host }] }]
`
