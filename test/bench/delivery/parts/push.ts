import { batchMetricsMax } from '../../../../src/model/limits.ts'
import { type Figure, inPairs } from '../../figures.ts'
import type { Role } from '../../role.ts'
import { bench, inFlight, metricsAnHour } from '../metrics.ts'
import { Place, startSink } from '../place.ts'
import type { Asked, Pushed } from '../roles/push.ts'

const runs = 15
const delayMs = 50
/** V8 compiles our code for the last time after about 25,000 pushes, and that of undici alone after half as many. */
const [warmUpRuns, warmUpHours] = [30, 100]
const delayedRuns = 9
/**
 * Hours of one run. A run to the sink takes about a second: where it takes a tenth of that, a single collection
 * of garbage, on either side, decides a pair.
 */
const toSink = { hours: 500, bodyHours: 50 }
/** This service stores what it is given, so that each body must be new to it. */
const toService = { hours: 100, bodyHours: 100 }
/** A flush asks for the service's clock, and sends one push, before all its lanes send: that is in both, and not in the difference. */
const [delayedHours, startHours] = [60, 20]

/** Metrics a second of delivery, against as many bodies posted by undici and nothing else. */
export async function* pushing(): AsyncGenerator<Figure> {
  await using place = new Place()
  const sink = await startSink(place)
  yield* against('a sink', place, sink.url, 'bench-key', toSink, 50_000)
  const service = place.start('../../reference/server.ts', place.file('service.sqlite'), 'stored', bench.protocolId)
  const { url, key } = await service.readLine<{ url: string; key: string }>()
  yield* against('the reference service', place, url, key, toService)
  yield* delayed(place)
}

/** The ways to push to one service, each in a process of its own: none has the garbage or the compiled code of another. */
class Pushers implements AsyncDisposable {
  readonly #start: () => Role
  readonly #roles = new Map<Asked['way'], Role>()
  #nextHour = 0

  constructor(place: Place, url: string, key: string) {
    this.#start = () => place.start('push.ts', place.folder, url, key)
  }

  /** Pushes hours that were not pushed before. @returns milliseconds */
  async push(way: Asked['way'], hours: number, bodyHours = hours): Promise<number> {
    const role = this.#roles.get(way) ?? this.#start()
    this.#roles.set(way, role)
    role.writeLine({ way, from: this.#nextHour, hours, bodyHours } satisfies Asked)
    this.#nextHour += hours
    return (await role.readLine<Pushed>()).ms
  }

  /** Lets some ways compile their code, to a service that answers at once. */
  async warmUp(ways: readonly Asked['way'][]): Promise<void> {
    for (let run = 0; run < warmUpRuns; run += 1) for (const way of ways) await this.push(way, warmUpHours)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const role of this.#roles.values()) await role.stop()
  }
}

async function* against(
  to: string,
  place: Place,
  url: string,
  key: string,
  { hours, bodyHours }: Omit<Asked, 'way' | 'from'>,
  atLeast?: number,
): AsyncGenerator<Figure> {
  await using pushers = new Pushers(place, url, key)
  const perSecond = async (way: Asked['way']) =>
    (hours * metricsAnHour * 1_000) / (await pushers.push(way, hours, bodyHours))
  await pushers.warmUp(['ours', 'bare'])
  const pairs = await inPairs(
    runs,
    () => perSecond('ours'),
    () => perSecond('bare'),
  )
  yield { what: `posted a second to ${to} by undici alone`, values: pairs.map(([, bare]) => bare), unit: ' metrics' }
  const target = atLeast === undefined ? {} : { target: { atLeast } }
  yield { what: `delivered a second to ${to}`, values: pairs.map(([ours]) => ours), unit: ' metrics', ...target }
  yield { what: `delivered to ${to}, of undici alone`, values: pairs.map(([a, b]) => a / b) }
}

async function* delayed(place: Place): AsyncGenerator<Figure> {
  const sink = await startSink(place)
  await using pushers = new Pushers(place, sink.url, 'bench-key')
  await pushers.warmUp(['ours', 'bare'])
  await sink.delay(delayMs)
  const pushes = ((delayedHours - startHours) * metricsAnHour) / batchMetricsMax
  const kept = async (way: Asked['way']) => {
    const [all, start] = [await pushers.push(way, delayedHours), await pushers.push(way, startHours)]
    return (pushes / inFlight) * (delayMs / (all - start))
  }
  const pairs = await inPairs(
    delayedRuns,
    () => kept('ours'),
    () => kept('bare'),
  )
  const what = `of ${inFlight} pushes in ${delayMs} ms, answered after that, once all are under way`
  yield { what: `${what}, by undici alone`, values: pairs.map(([, bare]) => bare) }
  yield { what, values: pairs.map(([ours]) => ours), target: { atLeast: 0.95 } }
}
