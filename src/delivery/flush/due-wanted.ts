import type { Metric } from '../../model/metric.ts'

/**
 * Due metrics that are wanted, at least `fewest` if there are so many: reads on while unwanted ones stand before them.
 *
 * @param due reads due metrics in the order of delivery
 * @param limit of the first read
 */
export async function dueWanted(
  due: (limit: number) => Promise<readonly Metric[]>,
  isWanted: (metric: Metric) => boolean,
  fewest: number,
  limit: number,
): Promise<readonly Metric[]> {
  for (let reach = limit; ; reach *= 2) {
    const read = await due(reach)
    const wanted = read.filter(isWanted)
    if (wanted.length >= fewest || read.length < reach) return wanted
  }
}
