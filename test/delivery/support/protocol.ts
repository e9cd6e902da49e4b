import type { ProtocolConfig } from '../../../src/config/config.ts'

/** A protocol as it is configured, with nothing that collects for it. */
export function protocol(id: string, register = false): ProtocolConfig {
  return { id, name: id, register, collectors: [], place: { file: 'tidegauge.yaml', line: 1, column: 1 } }
}
