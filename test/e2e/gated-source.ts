import type { ServerResponse } from 'node:http'
import { type Hour, hourNumber } from '../../src/model/hour.ts'
import { listening } from '../support/listening.ts'

/** Labels of each protocol. */
export const labels: readonly string[] = Array.from({ length: 20 }, (_, index) => `M${index}`)

/** Whole part of the one true value of a metric. */
export function truth(protocolId: string, label: string, hour: Hour): number {
  return (Number(protocolId.slice(1)) * 100 + Number(label.slice(1))) * 100_000 + (hourNumber(hour) % 100_000)
}

/** A collector of all labels of a protocol, which asks the source and says which daemon it runs for. */
export const gatedCollector = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ source: z.string(), protocol: z.string() }),
  metrics: ${JSON.stringify(Object.fromEntries(labels.map(label => [label, { unit: 'm' }])))},
  history: true,
  collect: ({ options, http, hour }) =>
    http.json(\`\${options.source}/\${options.protocol}/\${hour}?daemon=\${process.ppid}\`, z.record(z.string(), z.number())),
})
`

/** One protocol and hour that is asked for. */
export interface Row {
  readonly protocolId: string
  readonly hour: Hour
}

interface Given extends Row {
  times: number
}

/**
 * Where the collectors’ values come from. It gives only as many rows as it is let, so that collecting lasts through all
 * lives of the daemon. One that was lost with a daemon is given again when it is asked for again, and is then another:
 * the fraction of a value says how often it was asked for.
 */
export class GatedSource {
  url = ''
  /** Called for every question of the daemon that lives now. */
  onAsked: () => void = () => {}
  readonly #given = new Map<string, Given>()
  #waiting: { readonly row: Row; readonly response: ServerResponse }[] = []
  #allowed = 0
  #daemon: number | undefined

  /** Every row that was given, once or more often. */
  get given(): readonly Row[] {
    return [...this.#given.values()]
  }

  /** A new daemon is to be answered; what an older one has asked stays without an answer. */
  serve(daemon: number | undefined): void {
    this.#daemon = daemon
    this.#waiting = []
  }

  /** Lets so many different rows be given in all, at once or when they are asked for. */
  allow(rows: number): void {
    this.#allowed = rows
    while (this.#given.size < this.#allowed) {
      const next = this.#waiting.shift()
      if (!next) return
      this.#give(next.row, next.response)
    }
  }

  /** @param url path and query of a collector’s question */
  asked(url: string, response: ServerResponse): void {
    const [, protocolId = '', hour = '', daemon = ''] = /^\/(\w+)\/(\d+)\?daemon=(\d+)$/.exec(url) ?? []
    if (Number(daemon) !== this.#daemon) return
    const row = { protocolId, hour: Number(hour) as Hour }
    const place = { row, response }
    response.once('close', () => {
      this.#waiting = this.#waiting.filter(other => other !== place)
    })
    this.onAsked()
    if (this.#given.has(keyOf(row))) this.#give(row, response)
    else this.#waiting.push(place)
    this.allow(this.#allowed)
  }

  #give(row: Row, response: ServerResponse): void {
    const times = (this.#given.get(keyOf(row))?.times ?? 0) + 1
    this.#given.set(keyOf(row), { ...row, times })
    const values = labels.map(label => [label, truth(row.protocolId, label, row.hour) + times / 1024] as const)
    response.end(JSON.stringify(Object.fromEntries(values)))
  }
}

/** Starts a source; it ends with the test. */
export async function startGatedSource(): Promise<GatedSource> {
  const source = new GatedSource()
  source.url = await listening(({ url = '' }, response) => source.asked(url, response))
  return source
}

function keyOf({ protocolId, hour }: Row): string {
  return `${protocolId} ${hour}`
}
