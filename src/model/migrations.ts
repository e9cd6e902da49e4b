/** A change of tables into those of a version, from the version before. */
interface Step {
  readonly to: number
}

/**
 * The steps that tables of a version need; empty when they need none, or there are none for them: they were never released, or
 * are newer. Pure.
 *
 * @param all steps since the first released version, oldest first, one a version
 */
export function stepsFrom<T extends Step>(found: number, all: readonly T[]): readonly T[] {
  const [first] = all
  return first && found >= first.to - 1 ? all.filter(({ to }) => to > found) : []
}
