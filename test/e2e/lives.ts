import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { createInterface } from 'node:readline'
import { setImmediate } from 'node:timers/promises'
import type { Dice } from '../../src/devchain/dice.ts'
import { hourText } from '../../src/model/hour.ts'
import { metricId } from '../../src/model/metric.ts'
import type { FaultyService, ReceivedPush } from '../support/faulty-service.ts'
import { start } from '../support/tidegauge.ts'
import { type GatedSource, labels, type Row } from './gated-source.ts'

/** Events in a life that may be its end, and how often at most before it is. */
const momentsMax = {
  'push received': 4,
  'push stored': 3,
  'push acknowledged': 3,
  'collector asked': 12,
  'line logged': 10,
  // The first ones are of the start, before there is a log.
  'file written': 40,
} as const

type Moment = keyof typeof momentsMax

/** Turns of the event loop, a fraction of a millisecond each, that a kill comes later than its moment, at most. */
const turnsLateMax = 40

/** A life ends when all is delivered, at the latest; one that lasts so long has lost something, or is stuck. */
const stuckMs = 600_000

/** End of a life: at the count-th time of something; or when all was delivered and that would not come any more. */
export interface Death {
  readonly at: Moment | 'all delivered'
  readonly count: number
  /** Rows on their way from the source to the service: given to a collector, nothing of them pushed yet. */
  readonly rowsUnderWay: number
  readonly pushesUnderWay: number
  /** Pushes of this life that were answered in whole. */
  readonly acknowledged: readonly ReceivedPush[]
}

/** Where lives are lived. */
export interface World {
  readonly config: string
  readonly dataFolder: string
  readonly env: Readonly<Record<string, string>>
  readonly service: FaultyService
  readonly source: GatedSource
  readonly dice: Dice
}

/**
 * One life of the daemon: it is started, given some rows to collect, half of the new ones once it pushes, and killed with
 * SIGKILL at a moment chosen by the dice.
 *
 * @param rows given in this life and before
 */
export async function liveAndDie(world: World, rows: number): Promise<Death> {
  const { config, dataFolder, env, service, source } = world
  const child = start(['run', '--config', config], env)
  const exited = once(child, 'exit', { signal: AbortSignal.timeout(stuckMs) })
  const life = new Life(world, () => child.kill('SIGKILL'))
  const watcher = watch(dataFolder, () => life.happened('file written'))
  const log = logOf(child, () => life.happened('line logged'))
  source.onAsked = () => life.happened('collector asked')
  service.signals
    .on('received', push => {
      source.allow(rows)
      life.received(push)
    })
    .on('stored', () => life.happened('push stored'))
    .on('acknowledged', push => life.acknowledged(push, rows))
    .on('over', push => life.over(push))
  source.serve(child.pid)
  source.allow(Math.ceil((source.given.length + rows) / 2))
  await exited.catch(() => {
    throw new Error(`stuck: of ${source.given.length} rows given some never arrive\n${log.join('\n')}`)
  })
  watcher.close()
  service.signals.removeAllListeners()
  service.killed()
  if (!life.death) throw new Error(`the daemon ended\n${log.join('\n')}`)
  return life.death
}

function logOf({ stderr }: ChildProcess, spoken: () => void): readonly string[] {
  const lines: string[] = []
  if (!stderr) return lines
  createInterface({ input: stderr }).on('line', line => {
    lines.push(line)
    spoken()
  })
  return lines
}

class Life {
  readonly #world: World
  readonly #kill: () => void
  readonly #at: Moment
  readonly #count: number
  readonly #turnsLate: number
  readonly #pushes = new Set<ReceivedPush>()
  readonly #acknowledged: ReceivedPush[] = []
  #left: number
  /** Its end, once it has ended. */
  death: Death | undefined

  constructor(world: World, kill: () => void) {
    const { dice } = world
    const moments = Object.keys(momentsMax) as Moment[]
    this.#world = world
    this.#kill = kill
    this.#at = moments[dice.whole(0, moments.length - 1)] ?? 'push received'
    this.#count = dice.whole(1, momentsMax[this.#at])
    this.#left = this.#count
    this.#turnsLate = dice.roll() < 0.5 ? 0 : dice.whole(1, turnsLateMax)
  }

  happened(what: Moment): void {
    if (what === this.#at) this.#left -= 1
    if (this.#left === 0) this.#end(this.#at)
  }

  received(push: ReceivedPush): void {
    this.#pushes.add(push)
    this.happened('push received')
  }

  acknowledged(push: ReceivedPush, rows: number): void {
    this.#acknowledged.push(push)
    this.happened('push acknowledged')
    const { source, service } = this.#world
    const isDelivered = (row: Row) => keysOf(row).every(key => service.arrivals.get(key)?.acknowledged)
    if (source.given.length >= rows && source.given.every(isDelivered)) this.#end('all delivered')
  }

  over(push: ReceivedPush): void {
    this.#pushes.delete(push)
  }

  #end(at: Death['at']): void {
    if (this.death) return
    const { source, service } = this.#world
    const rowsUnderWay = source.given.filter(row => !keysOf(row).some(key => service.arrivals.has(key))).length
    const [count, acknowledged, pushesUnderWay] = [this.#count, this.#acknowledged, this.#pushes.size]
    this.death = { at, count, rowsUnderWay, pushesUnderWay, acknowledged }
    void this.#killLate()
  }

  async #killLate(): Promise<void> {
    for (let turn = 0; turn < this.#turnsLate; turn += 1) await setImmediate()
    this.#kill()
  }
}

/** As the service keys them: `{metric id} {timestamp}`. */
function keysOf({ protocolId, hour }: Row): string[] {
  return labels.map(label => `${metricId(protocolId, label)} ${hourText(hour)}`)
}
