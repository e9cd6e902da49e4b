/**
 * Tests whose worth lies in repetition are files `*.soak.test.ts`. `npm test` runs them, too, a few times each, so that
 * every promise is exercised; `npm run soak` runs them in full, and the files `*.long.test.ts`, which it alone runs: these
 * take long without a repetition, as they start many processes, fill disks or wait for deadlines.
 */
export const isSoak = process.env['SOAK'] === '1'

/** Part of a soak's repetitions that this run does, up to 1, so that CI ends in time. */
const share = Number(process.env['SOAK_SHARE'] ?? 1)

/** Repetitions of something. */
export interface Repetitions {
  readonly test: number
  readonly soak: number
}

/** Seeds, kills, cases of a property: as many as this run is for. */
export function repetitions({ test, soak }: Repetitions): number {
  return isSoak ? Math.max(test, Math.ceil(soak * share)) : test
}

/** All of a list of cases in a soak, else so many of them, spread evenly over the list and the first among them. */
export function sampleOf<T>(all: readonly T[], count: number): readonly T[] {
  if (isSoak || count >= all.length) return all
  return Array.from({ length: count }, (_, index) => all[Math.floor((index * all.length) / count)]).filter(
    (each): each is T => each !== undefined,
  )
}
