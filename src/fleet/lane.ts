import { namedChains } from '../config/checks.ts'
import type { CollectorConfig } from '../config/config.ts'

/** A group of reads that travel together: the name of a chain, `web`, or `machine/NAME`. */
export type Lane = string

/** The lane of collectors that read no chain. */
export const webLane: Lane = 'web'

/** The shipped collector that reads the machine it runs on. */
const machineCollector = 'host'

/** A collector, as far as its lane depends on it. */
export type LaneCollector = Pick<CollectorConfig, 'use' | 'options'> & { readonly machine?: string }

/** The lane of one machine, by the name of its daemon. */
export function machineLane(name: string): Lane {
  return `machine/${name}`
}

/**
 * The lane of a collector: the machine that its entry names, else the first chain that its options name, else `web`.
 * `host` belongs to a machine in any case. Pure.
 *
 * @param ownName name of this daemon
 */
export function laneOf({ use, options, machine }: LaneCollector, ownName: string): Lane {
  if (machine !== undefined) return machineLane(machine)
  if (isMachineBound({ use })) return machineLane(ownName)
  return namedChains(options)[0] ?? webLane
}

/** Whether a collector without `machine` stays on the machine of the daemon that ran it first. */
export function isMachineBound({ use, machine }: Pick<LaneCollector, 'use' | 'machine'>): boolean {
  return machine === undefined && use === machineCollector
}

/** Lanes that a daemon may work. */
export interface WantedLanes {
  /** Its name. */
  readonly name: string
  /** As configured; absent: the chains and `web`. */
  readonly configured: readonly Lane[] | undefined
  /** Names of the chains with a node that answers. */
  readonly chains: readonly string[]
}

/** The lanes that a daemon works, each once; its own machine's always. Pure. */
export function workedLanes({ name, configured, chains }: WantedLanes): readonly Lane[] {
  return [...new Set([...(configured ?? [...chains, webLane]), machineLane(name)])]
}
