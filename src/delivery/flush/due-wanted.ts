import type { Metric } from '../../model/metric.ts'

/**
 * Due metrics that are wanted, at least `countMin` if there are so many: reads on while unwanted ones stand before them.
 *
 * @param due reads due metrics in the order of delivery
 * @param pick picks the wanted ones, as soon as they were read
 * @param limit of the first read
 */
export async function dueWanted(
  due: (limit: number) => Promise<readonly Metric[]>,
  pick: (read: readonly Metric[]) => readonly Metric[],
  countMin: number,
  limit: number,
): Promise<readonly Metric[]> {
  for (let reach = limit; ; reach *= 2) {
    const read = await due(reach)
    const wanted = pick(read)
    if (wanted.length >= countMin || read.length < reach) return wanted
  }
}
