import type { Metric } from '../../model/metric.ts'

/**
 * Picks metrics that are as unlike the rejected ones as can be: one of each other protocol first, then from the far end and
 * the middle. If even they are rejected, no metric is at fault.
 *
 * @param candidates in the order of delivery, without the rejected ones
 */
export function pickDissimilar(candidates: readonly Metric[], rejected: readonly Metric[], count: number): Metric[] {
  const rejectedIds = new Set(rejected.map(({ protocolId }) => protocolId))
  const byProtocol = Map.groupBy(candidates, ({ protocolId }) => protocolId)
  const ofOthers = [...byProtocol].filter(([id]) => !rejectedIds.has(id)).flatMap(([, [first]]) => first ?? [])
  const far = [candidates.at(-1), candidates[Math.floor(candidates.length / 2)], candidates[0]]
  return [...new Set([...ofOthers, ...far])].filter(metric => metric !== undefined).slice(0, count)
}
