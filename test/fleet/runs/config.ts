import type { Config, ProtocolConfig } from '../../../src/config/config.ts'
import type { FleetScript } from './script.ts'

const place = { file: 'tidegauge.yaml', line: 1, column: 1 }

/** The variable of the environment with the address of the fleet's database. */
export const addressVariable = 'FLEET_RUN_DATABASE'

/** The configuration of all daemons of a fleet. */
export function fleetConfig(script: FleetScript): Config {
  return {
    file: place.file,
    includes: [],
    digest: 'd1',
    service: { kind: 'remote', url: 'https://metrics.example' },
    data: { kind: 'postgres', address: { kind: 'env', name: addressVariable, place }, keptIn: '/nowhere' },
    fleet: { lanes: ['ethereum', 'base', 'web'] },
    collect: { deadlineMs: 60_000, catchUpMs: 7 * 24 * 3_600_000 },
    delivery: { timeoutMs: 30_000, inFlight: script.inFlight, pacePerSecond: script.pacePerSecond },
    outbox: { keepMs: 90 * 24 * 3_600_000 },
    status: { host: '127.0.0.1', port: 0, hosts: [], ready: 'late' },
    log: { level: 'error' },
    chains: [],
    prices: [],
    lists: [],
    notify: [],
    protocols: ['tides', 'ports'].map(id => protocolOf(script, id)),
  }
}

function protocolOf(script: FleetScript, id: string): ProtocolConfig {
  const collectors = script.collectors
    .filter(({ protocolId }) => protocolId === id)
    .map(collector => ({
      id: collector.id,
      protocolId: id,
      use: collector.id,
      options: collector.chain === undefined ? {} : { chain: collector.chain },
      since: script.since,
      place,
      placeOf: () => place,
    }))
  const key = { kind: 'env', name: 'PORTS_KEY', place } as const
  return { id, name: id, register: false, collectors, place, ...(id === 'ports' && { key }) }
}
