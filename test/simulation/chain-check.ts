import type { FaultCode } from '../../src/model/fault.ts'
import { type Hour, hourAt, hourText } from '../../src/model/hour.ts'
import type { WorldChain } from './chain.ts'
import type { Clock } from './clock.ts'
import { valueAtBlock } from './collectors.ts'
import type { Facts } from './facts.ts'
import type { CollectionSeen, Look, Row } from './look.ts'
import type { CollectorScript, Script } from './script.ts'
import type { Service } from './service.ts'

/** Facts about a world's chain, and about the values read from it. */
export interface ChainWorld {
  readonly script: Script
  readonly chain: WorldChain | undefined
  readonly clock: Clock
  readonly facts: Facts
  readonly service: Service
}

/** Whether an hour may be given up for a reason, now. */
export function mayBeGap({ chain, clock }: ChainWorld, hour: Hour, code: FaultCode | undefined): boolean {
  if (!chain) return false
  const final = chain.finalAsOf(hour)
  if (code === 'chain-before-first-block') return final === undefined
  if (code !== 'chain-state-missing' || !final) return false
  return hour < hourAt(clock.nowMs()) && chain.isStateMissing(final.seconds, clock.nowMs())
}

/** It is not looked at again whether an hour's block was replaced. */
export function givesUp({ script, facts, clock }: ChainWorld, collector: string, hour: Hour): void {
  const { history } = script.collectors.find(({ id }) => id === collector) ?? {}
  const isOld = hour < hourAt(clock.nowMs()) - script.catchUpMs
  if (history && !isOld) facts.broken(`${collector} of ${hourText(hour)} is given up`)
  facts.givenUp.add(`${collector} ${hour}`)
}

/** Once everything has come to rest: every hour has the values of the chain as it is in the end, or is a gap. */
export function checkChain(world: ChainWorld, rows: readonly Row[], look: Look, lastHour: Hour): void {
  const { script, chain } = world
  if (!chain) return
  const waiting = new Set(look.pins().map(({ collector, hour }) => `${collector} ${hour}`))
  const byHour = Map.groupBy(rows, ({ protocolId, hour }) => `${protocolId} ${hour}`)
  for (const seen of look.expectedHours()) {
    const { collector, hour, state, code } = seen
    const own = script.collectors.find(({ id }) => id === collector)
    if (!own?.reads || hour > lastHour) continue
    const isLost = own.history && chain.script.stateMs !== undefined && own.reads !== 'block'
    const isWaiting = waiting.has(`${collector} ${hour}`)
    const isOld = hour < lastHour - script.catchUpMs
    if (isWaiting && (!isLost || isOld))
      world.facts.broken(`${collector} of ${hourText(hour)}: its block was never looked at again`)
    if (own.history && state !== 1 && !isGapLegit(world, seen, lastHour)) {
      world.facts.broken(`${collector} has no values of ${hourText(hour)}: ${state} ${code}`)
    }
    const found = byHour.get(`${own.protocolId} ${hour}`) ?? []
    checkValues(
      world,
      chain,
      own,
      found,
      isWaiting || world.facts.givenUp.has(`${collector} ${hour}`) ? 'any' : 'final',
    )
  }
}

function isGapLegit({ chain, script }: ChainWorld, { hour, state, code }: CollectionSeen, lastHour: Hour): boolean {
  if (state !== 2 || !chain) return false
  if (hour < lastHour - script.catchUpMs) return true
  // Whether its state was missing was seen when it was given up.
  return code === 'chain-state-missing' || (code === 'chain-before-first-block' && !chain.finalAsOf(hour))
}

function checkValues(
  { script: { seed }, facts, service }: ChainWorld,
  chain: WorldChain,
  own: CollectorScript,
  rows: readonly Row[],
  which: 'any' | 'final',
): void {
  for (const { id, hour, value, state } of rows) {
    const label = id.slice(own.protocolId.length + 3)
    if (!own.metrics[label] || state === 'dropped') continue
    const key = `${id} ${hourText(hour)}`
    const hashes = own.history && which === 'final' ? [chain.finalAsOf(hour)?.hash ?? ''] : [...chain.candidates(hour)]
    const values = hashes.map(hash => valueAtBlock(seed, own, label, hour, hash))
    if (!values.includes(value)) facts.broken(`${key} is ${value}, of its block it is ${values}`)
    const stored = service.stored.get(key)
    if (state === 'delivered' && stored !== value) facts.broken(`the service has ${stored} as ${key}, and not ${value}`)
  }
}
