import type { Foreseen } from './foreseen.ts'
import { note } from './terminal.ts'

/** Metrics named in one line; further ones are counted. */
const namedMax = 3

/** Prints predicted warnings on stderr: each sentence once, however many metrics it is about. */
export function noteForeseen(all: readonly Foreseen[]): void {
  for (const [text, of] of Map.groupBy(all, ({ text }) => text)) note(`warning: ${namedMetrics(of)}: ${text}`)
}

function namedMetrics(of: readonly Foreseen[]): string {
  const named = of.slice(0, namedMax).map(({ metric }) => metric)
  return [...named, ...(of.length > namedMax ? [`${of.length - namedMax} more`] : [])].join(', ')
}
