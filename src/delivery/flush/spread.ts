import type { Metric } from '../../model/metric.ts'

/**
 * Picks metrics that are as unlike the suspects as can be: one of each other protocol first, then from the far end and
 * the middle. If even they are refused, it is not the metrics.
 *
 * @param candidates in the order of delivery, none of them a suspect
 */
export function spread(candidates: readonly Metric[], suspects: readonly Metric[], count: number): Metric[] {
  const suspected = new Set(suspects.map(({ protocolId }) => protocolId))
  const byProtocol = Map.groupBy(candidates, ({ protocolId }) => protocolId)
  const ofOthers = [...byProtocol].filter(([id]) => !suspected.has(id)).flatMap(([, [first]]) => first ?? [])
  const far = [candidates.at(-1), candidates[Math.floor(candidates.length / 2)], candidates[0]]
  return [...new Set([...ofOthers, ...far])].filter(metric => metric !== undefined).slice(0, count)
}
