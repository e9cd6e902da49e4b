/**
 * Circles among names: in each, every name needs the next, and the last the first.
 *
 * @param neededBy the names that a name needs; none for one that is unknown
 */
export function circlesIn<N>(names: Iterable<N>, neededBy: (name: N) => readonly N[]): (readonly N[])[] {
  const visits = new Set<N>()
  const circles: (readonly N[])[] = []
  const follow = (name: N, above: readonly N[]) => {
    const place = above.indexOf(name)
    if (place >= 0) circles.push(above.slice(place))
    if (place >= 0 || visits.has(name)) return
    for (const needed of neededBy(name)) follow(needed, [...above, name])
    visits.add(name)
  }
  for (const name of names) follow(name, [])
  return circles
}
