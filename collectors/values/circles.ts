/**
 * Circles among names: in each, every name needs the next, and the last the first.
 *
 * @param neededBy the names that a name needs; none for one that is unknown
 */
export function circlesIn<N>(names: Iterable<N>, neededBy: (name: N) => readonly N[]): (readonly N[])[] {
  const visits = new Set<N>()
  const circles: (readonly N[])[] = []
  const follow = (name: N, namesAbove: readonly N[]) => {
    const place = namesAbove.indexOf(name)
    if (place >= 0) circles.push(namesAbove.slice(place))
    if (place >= 0 || visits.has(name)) return
    for (const needed of neededBy(name)) follow(needed, [...namesAbove, name])
    visits.add(name)
  }
  for (const name of names) follow(name, [])
  return circles
}
