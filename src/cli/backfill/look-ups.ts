import {
  type ChainSample,
  type Cost,
  callsIn,
  type LookUpCost,
  lookUpsLike,
  sumOf,
} from '../../intake/backfill/cost.ts'
import type { AsOfBlock } from '../../model/block.ts'
import type { Hour } from '../../model/hour.ts'
import { ModelChain } from './model.ts'

/** What look-ups are planned from. */
export interface LookUpPlanning {
  readonly sampled: ChainSample
  /** The as-of blocks the sample has met, ascending. */
  readonly met: ReadonlyMap<Hour, AsOfBlock>
  /** What all timestamps that the sample saw are apart, or a multiple of it. */
  readonly tickSeconds: number | undefined
  readonly windows: readonly (readonly Hour[])[]
  /** Whether an hour's block is known from earlier runs: it is not looked up. */
  readonly isKnown: (hour: Hour) => boolean
  readonly nowMs: number
}

/**
 * What finding the blocks of all windows takes: the search itself, run on a model of the chain. Exact where the chain is
 * as regular as the model, which shows in the sample's own search and in the
 * timestamps that it saw.
 */
export function lookUpCost({ sampled, met, tickSeconds, windows, isKnown, nowMs }: LookUpPlanning): LookUpCost {
  const [first, last] = [[...met.values()][0], [...met.values()].at(-1)]
  const chain = ModelChain.through(first, last, nowMs / 1000)
  if (!chain) return lookUpsLike(sampled, windows)
  const own = costOf(chain.callsByRound([...met.keys()], []))
  const isRegular = chain.spacingSeconds === tickSeconds
  const isLike = isRegular && own.requests === sampled.lookUps.requests && callsIn(own) === callsIn(sampled.lookUps)
  const found: Hour[] = []
  const costs = windows.map(window => {
    const hours = window.filter(hour => !isKnown(hour))
    if (hours.length === 0) return costOf([])
    const cost = costOf(chain.callsByRound(hours, found))
    found.push(...hours)
    found.sort((one, other) => one - other)
    return cost
  })
  const hasKnown = windows.some(window => window.some(isKnown))
  return { ...sumOf(costs), certainty: isLike && !hasKnown ? 'exact' : 'about' }
}

function costOf(callsByRound: readonly number[]): Cost {
  const calls = callsByRound.reduce((sum, count) => sum + count, 0)
  return { requests: callsByRound.length, calls: calls === 0 ? {} : { eth_getBlockByNumber: calls } }
}
