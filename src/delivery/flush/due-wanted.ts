import type { MetricList } from '../../model/metric-list.ts'

/**
 * Due metrics that are wanted, at least `countMin` if there are so many: reads on while unwanted ones stand before them.
 *
 * @param due reads due metrics in the order of delivery
 * @param pick picks the wanted ones, as soon as they were read
 * @param limit of the first read
 */
export async function dueWanted<T extends { readonly length: number }>(
  due: (limit: number) => Promise<MetricList>,
  pick: (read: MetricList) => T,
  countMin: number,
  limit: number,
): Promise<T> {
  for (let reach = limit; ; reach *= 2) {
    const read = await due(reach)
    const wanted = pick(read)
    if (wanted.length >= countMin || read.length < reach) return wanted
  }
}
