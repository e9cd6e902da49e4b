/**
 * Time that commands take to start, and how much memory a daemon keeps, against a bare Node in the same run. Ends with 1
 * when a figure is not what is aimed at. `node test/bench/start.ts [ENTRY]`; ENTRY: what the build
 * has made, unless it says otherwise.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Place, type Sink, startSink } from './delivery/place.ts'
import { type Figure, figureHead, figureRow, inPairs, isMet, median } from './figures.ts'
import { backlogPlace, localPlace, millionPlace } from './start/places.ts'
import { bareMs, childrenOf, type Program, residentMb, sleepingNode } from './start/program.ts'

const root = resolve(import.meta.dirname, '../..')
const pairs = 7
/** Until a daemon's start and its first hour are over, and its child rests. */
const settledMs = 10_000
const deliveredMetrics = 50_000

const entry = resolve(process.argv[2] ?? join(root, 'dist/bin.cjs'))
if (!existsSync(entry)) throw new Error(`there is no ${entry}: npm run build makes it`)

/** A time against the middle of a bare Node's, measured in turn with it. */
async function timed(what: string, atMost: number, act: () => Promise<number> | number): Promise<Figure> {
  const values = await inPairs(
    pairs,
    async () => act(),
    async () => bareMs(),
  )
  const bare = median(values.map(([, ms]) => ms))
  return { what, values: values.map(([ms]) => ms / bare), target: { atMost } }
}

async function* starts(local: Program, million: Program): AsyncGenerator<Figure> {
  yield await timed('--version', 2.5, () => local.version())
  const daemon = await local.daemon()
  yield await timed('healthcheck --live', 2.5, () => local.ended(['healthcheck', '--live']))
  yield await timed('healthcheck', 2.5, () => local.ended(['healthcheck'], [0, 1]))
  yield await timed('status', 7, () => local.ended(['status'], [0, 1]))
  await daemon.stop()
  yield await timed('status, no daemon', 7, () => local.ended(['status'], [0, 1]))
  yield await timed('check', 7, () => local.ended(['check']))
  yield await timed('status, 1,000,000 rows', 8, () => million.ended(['status'], [0, 1]))
  yield await timed('check, 1,000,000 rows', 8, () => million.ended(['check']))
  yield await timed('first value of collect --dry-run', 12, () =>
    local.printed(['collect', '--dry-run'], /___Load\s+\d/),
  )
  yield await timed('daemon answers /livez', 6, async () => {
    const { readyMs, stop } = await local.daemon()
    await stop()
    return readyMs
  })
}

interface MemoryPlaces {
  readonly local: Program
  /** Nothing was collected in it: what a push needs is loaded, too. */
  readonly fresh: Program
  readonly backlog: Program
}

/** Memory of a daemon, of its children with it, and after a backlog was delivered, of a bare Node's. */
async function* memory({ local, fresh, backlog }: MemoryPlaces, sink: Sink): AsyncGenerator<Figure> {
  const bare = sleepingNode()
  const daemon = await local.daemon()
  await sleep(settledMs)
  const [own, nothing] = [residentMb(daemon.pid), residentMb(bare.pid)]
  const children = childrenOf(daemon.pid).reduce((sum, pid) => sum + residentMb(pid), 0)
  yield { what: 'a sleeping bare Node', values: [nothing], unit: ' MB' }
  yield { what: 'memory asleep', values: [own / nothing], target: { atMost: 2.1 } }
  yield { what: 'with the process of collectors', values: [(own + children) / nothing], target: { atMost: 4.2 } }
  await daemon.stop()
  const first = await fresh.daemon()
  await sleep(settledMs)
  yield { what: 'asleep after a first push', values: [residentMb(first.pid) / nothing], target: { atMost: 2.1 } }
  await first.stop()
  const after = await delivered(backlog, sink)
  yield { what: 'after 50,000 metrics', values: [after / nothing], target: { atMost: 2.6 } }
  await bare.stop()
}

/** Memory of a daemon that has delivered its backlog. */
async function delivered(backlog: Program, sink: Sink): Promise<number> {
  const daemon = await backlog.daemon()
  await sink.until(deliveredMetrics)
  await sleep(settledMs)
  const own = residentMb(daemon.pid)
  await daemon.stop()
  return own
}

await using place = new Place()
const sink = await startSink(place)
const local = await localPlace(place.file('local'), entry)
const fresh = await localPlace(place.file('fresh'), entry)
const million = await millionPlace(place.file('million'), entry)
const backlog = await backlogPlace(place.file('backlog'), entry, sink.url, deliveredMetrics)

console.log(figureHead)
for await (const figure of starts(local, million)) show(figure)
for await (const figure of memory({ local, fresh, backlog }, sink)) show(figure)

function show(figure: Figure): void {
  console.log(figureRow(figure))
  if (isMet(figure) === false) process.exitCode = 1
}
