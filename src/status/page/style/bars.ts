/** Height of an hour in the strip, in units. */
export const cellUnits = 10

/**
 * Bar of an hour by its look: distinguishable without colour, also where an hour is two pixels wide. From the bottom: on
 * its way. In the middle: waits for a person. From the top: lost or refused.
 */
export const barByLook = {
  delivered: { top: 0, height: 10 },
  collected: { top: 3, height: 7 },
  due: { top: 7.5, height: 2.5 },
  failing: { top: 5, height: 5 },
  held: { top: 3, height: 4 },
  dead: { top: 0, height: 7 },
  gap: { top: 0, height: 4 },
  unexpected: { top: 4.5, height: 1 },
} as const

/** The thickness of each look's line. */
export const barsStyle = Object.entries(barByLook)
  .map(([look, { height }]) => `.strip .${look} { stroke-width: ${height}; }`)
  .join('\n')
