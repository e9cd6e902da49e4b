import type { ProtocolConfig } from '../../../src/config/config.ts'
import type { Destination } from '../../../src/delivery/destination.ts'

/** A protocol as it is configured, with nothing that collects for it. */
export function protocol(id: string, register = false): ProtocolConfig {
  return { id, name: id, register, collectors: [], place: { file: 'tidegauge.yaml', line: 1, column: 1 } }
}

/** A destination of one protocol, with a key of its own. */
export function keyedDestination(id: string): Destination {
  return { name: id, readKey: () => `the-key-of-${id}`, protocols: [protocol(id)] }
}
