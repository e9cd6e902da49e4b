import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keccak256, numberToHex } from 'viem'
import { expect, it, onTestFinished } from 'vitest'
import type { Deployed } from '../../src/devchain/miner.ts'
import { systemTime } from '../../src/edge/time.ts'
import type { Hex } from '../../src/model/block.ts'
import { type Hour, hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import type { RememberedList } from '../../src/model/list-memory.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { type Behaviour, forwardingTo, json, startNode } from '../chain/support/node.ts'
import { Fortune } from '../simulation/chance.ts'
import { ownContract } from '../support/contracts.ts'
import { ProtocolChain } from '../support/protocol-chain.ts'
import { repetitions } from '../support/soak.ts'
import { configured, startDaemon, tidegauge, untilNextLook } from '../support/tidegauge.ts'

/** Count and sum of the weights of some items. */
interface Values {
  readonly count: number
  readonly weight: number
}

const weightOf = (items: readonly Hex[]) => Number(items.reduce((sum, item) => sum + (BigInt(item) % 1_000_003n), 0n))
const valuesOf = (items: Iterable<Hex>): Values => {
  const each = [...new Set(items)]
  return { count: each.length, weight: weightOf(each) }
}

/** A contract on a real node whose items change at random from hour to hour, and what it says at each hour. */
class World {
  readonly now = new Map<Hour, Values>()
  readonly ever = new Map<Hour, Values>()
  readonly chain: ProtocolChain
  readonly registry: Deployed
  readonly #fortune: Fortune
  #hours: Hour[] = []
  #added: Hex[] = []
  #next = 1

  private constructor(chain: ProtocolChain, registry: Deployed, fortune: Fortune) {
    this.chain = chain
    this.registry = registry
    this.#fortune = fortune
  }

  static async start(fortune: Fortune, hoursCount: number): Promise<World> {
    // The last hour is well before the current one, so that none turns meanwhile.
    const chain = await ProtocolChain.start(31_337, hourAfter(hourAt(systemTime.nowMs()), -hoursCount - 4))
    onTestFinished(() => chain.stop())
    return new World(chain, await chain.deploy(await ownContract('Registry')), fortune)
  }

  get hours(): readonly Hour[] {
    return this.#hours
  }

  get newest(): Hour {
    return this.#hours.at(-1) as Hour
  }

  /** Adds items, not more at once than fit into a block. */
  async add(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 500)
      await this.#send('add', this.#born(Math.min(left, 500)), Math.min(left, 500))
  }

  /** An hour in which a few items change. */
  async pass(): Promise<void> {
    const changes = this.#fortune.whole(0, this.#fortune.is(0.2) ? 12 : 3)
    for (let change = 0; change < changes; change += 1) await this.#change()
    const hour = await this.chain.nextHour()
    this.#hours.push(hour)
    this.now.set(hour, valuesOf(await this.chain.read<readonly Hex[]>(this.registry, 'all', [], hour)))
    this.ever.set(hour, valuesOf(this.#added))
  }

  /** A block past the newest hour. */
  async settle(): Promise<void> {
    await this.#send('add', this.#born(0), 0)
  }

  /** Result: takes all back that happens from now on, as a reorg does. */
  async replaceable(): Promise<() => Promise<void>> {
    const [restore, hours, added] = [await this.chain.replaceable(), [...this.#hours], [...this.#added]]
    return async () => {
      await restore()
      this.#hours = hours
      this.#added = added
    }
  }

  async #change(): Promise<void> {
    const length = Number(await this.chain.read(this.registry, 'length'))
    const place = () => this.#fortune.whole(0, length - 1)
    const kind = length < 2 ? 'add' : this.#fortune.pick(['add', 'remove', 'remove', 'put', 'swap'])
    if (kind === 'add') await this.add(this.#fortune.whole(1, 3))
    else if (kind === 'remove') await this.#send('remove', place())
    else if (kind === 'put') await this.#send('put', place(), this.#born(1))
    else await this.#send('swap', place(), place())
  }

  /** The number of the first of some new items. */
  #born(count: number): number {
    this.#next += count
    return this.#next - count
  }

  async #send(name: string, ...args: readonly number[]): Promise<void> {
    await this.chain.send(this.registry, name, args)
    const [first = 0, second = 0] = args
    if (name === 'add') this.#added.push(...Array.from({ length: second }, (_, index) => itemOf(first + index)))
    if (name === 'put') this.#added.push(itemOf(second))
  }
}

/** As the contract makes it of a number. */
const itemOf = (number: number): Hex => `0x${keccak256(numberToHex(number, { size: 32 })).slice(-40)}`

/** A proxy that leaves out logs, repeats some, and answers as if it had not seen the last block with logs. */
function faultyTo(url: string, fortune: Fortune): Behaviour {
  const spoil = (logs: readonly { readonly blockNumber: string }[]) => {
    const log = logs[fortune.whole(0, logs.length - 1)]
    if (!log || fortune.is(0.7)) return logs
    const lost = fortune.is(0.5) ? log : logs.at(-1)
    if (fortune.is(0.3)) return [...logs, log]
    return logs.filter(({ blockNumber }) => blockNumber !== lost?.blockNumber)
  }
  return async (calls, response, body) => {
    const sent = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const answer = (await sent.json()) as { id: number; result?: never }[] | { id: number; result?: never }
    const methods = new Map(calls.map(({ id, method }) => [id, method]))
    const spoilt = [answer].flat().map(each => {
      const isOfLogs = methods.get(each.id) === 'eth_getLogs' && each.result
      return isOfLogs ? { ...each, result: spoil(each.result as never) } : each
    })
    json(response, Array.isArray(answer) ? spoilt : spoilt[0])
  }
}

/** Damages of a memory since it was written. */
const damages: Readonly<Record<string, (kept: RememberedList, fortune: Fortune) => RememberedList>> = {
  'cut at its end': kept => ({ ...kept, items: kept.items.slice(0, -1) }),
  'cut at its beginning': kept => ({ ...kept, items: kept.items.slice(1) }),
  'another item': ({ items, ...kept }, fortune) => {
    const place = fortune.whole(0, items.length - 1)
    return { ...kept, items: items.with(place, itemOf(0)) }
  },
}

/** A configuration of both lists, and the commands on it. */
class Folder {
  readonly #world: World
  readonly #first: Hour
  readonly #place: { readonly folder: string; readonly config: string }

  constructor(world: World, url: string) {
    this.#world = world
    this.#first = hourAfter(world.newest, 1)
    this.#place = configured('')
    this.write(url, 0)
  }

  /** @param earlier hours before the first item from which on events count */
  write(url: string, earlier: number): void {
    const { address } = this.#world.registry
    const values = (name: string) => `
      - use: contract-read
        id: ${name.toLowerCase()}
        since: ${hourText(this.#first)}
        options:
          chain: c
          each: ${name.toLowerCase()}
          values:
            Weight: { call: "weight(address) pure returns (uint256)", address: "${address}", args: [item], private: true }
            ${name}: { total: Weight }
            ${name}Count: { count: true }`
    writeFileSync(
      this.#place.config,
      `service: embedded
data: ../data
status: { listen: "127.0.0.1:0" }
chains: { c: { id: 31337, rpc: ["${url}"], settle: 0s } }
collect: { catchUp: 30d }
lists:
  now: { chain: c, address: "${address}", length: "length() view returns (uint256)", item: "itemAt(uint256) view returns (address)" }
  ever: { chain: c, address: "${address}", event: "Added(address item)", take: item, since: ${hourText(hourAfter(this.#first, -1 - earlier))} }
protocols:
  - id: p
    name: P
    collectors:${values('Now')}${values('Ever')}
`,
    )
  }

  command(...args: readonly string[]) {
    return tidegauge([...args, '--config', this.#place.config])
  }

  /** Lets a daemon read until it has the newest hour, and all before. */
  async run(): Promise<void> {
    const daemon = await startDaemon(this.#place.config)
    const hours = this.#world.hours.filter(hour => hour >= this.#first)
    while ((await this.stored()).size < 4 * hours.length) await untilNextLook()
    await daemon.kill('SIGTERM')
  }

  async backfill(from: Hour, to: Hour): Promise<void> {
    const range = ['--from', hourText(from), '--to', hourText(to), '--overwrite']
    const { code, stdout, stderr } = await this.command('backfill', ...range)
    expect([code, code === 0 || stdout + stderr]).toEqual([0, true])
  }

  /** Values that are stored, by metric and hour. */
  async stored(): Promise<ReadonlyMap<string, number>> {
    const range = ['--from', hourText(this.#first), '--to', hourText(this.#world.newest)]
    const { stdout } = await this.command('export', ...range, '--all')
    const rows = stdout.trim().split('\n').slice(1)
    return new Map(rows.map(row => row.split(',')).map(([id, hour, value]) => [`${id} ${hour}`, Number(value)]))
  }

  /** Values of an hour that are read and not stored. */
  async collected(hour: Hour): Promise<ReadonlyMap<string, number>> {
    const { stdout } = await this.command('collect', '--dry-run', '--json', '--hour', hourText(hour))
    const { metrics } = JSON.parse(stdout) as { metrics: { metricId?: string; id?: string; value: number }[] }
    return new Map(metrics.map(({ metricId, id = metricId, value }) => [`${id} ${hourText(hour)}`, value]))
  }

  /** Values of the contract itself at some hours. */
  expected(hours: readonly Hour[]): ReadonlyMap<string, number> {
    const { now, ever } = this.#world
    return new Map(
      hours.flatMap(hour =>
        Object.entries({ Now: now.get(hour), Ever: ever.get(hour) }).flatMap(([name, values]): [string, number][] => [
          [`p___${name} ${hourText(hour)}`, values?.weight ?? -1],
          [`p___${name}Count ${hourText(hour)}`, values?.count ?? -1],
        ]),
      ),
    )
  }

  async hold(): Promise<void> {
    const hours = this.#world.hours.filter(hour => hour >= this.#first)
    expect(sorted(await this.stored())).toEqual(sorted(this.expected(hours)))
  }

  async damage(name: 'now' | 'ever', fortune: Fortune): Promise<void> {
    const outbox = new SqliteOutbox(join(this.#place.folder, 'data/embedded/outbox.db'))
    const kept = await outbox.lists.read(name)
    const [first = '', ...others] = Object.keys(damages)
    const damaged = kept && damages[fortune.pick([first, ...others])]?.(kept, fortune)
    if (damaged) await outbox.lists.save(damaged)
    await outbox.close()
  }
}

const sorted = (values: ReadonlyMap<string, number>) => [...values].sort(([a], [b]) => (a < b ? -1 : 1))

const hoursCount = repetitions({ test: 10, soak: 200 })

it.each([
  ['a node that is well', 1, false],
  ['a node that leaves out, repeats and delays logs', 2, true],
] as const)(
  'lists of a contract that changes at random are at each hour what it says: %s',
  async (_, seed, isFaulty) => {
    const fortune = new Fortune(Number(process.env['SEED'] ?? seed))
    const world = await World.start(fortune, hoursCount)
    const proxy = await startNode(isFaulty ? faultyTo(world.chain.url, fortune) : forwardingTo(world.chain.url))
    onTestFinished(() => proxy.stop())
    await world.add(fortune.pick([fortune.whole(1, 60), fortune.whole(900, 5_000)]))
    await world.pass()
    const folder = new Folder(world, proxy.url)
    while (world.hours.length < hoursCount) {
      const before = world.newest
      const steps = Math.min(
        hoursCount - world.hours.length,
        fortune.is(0.3) ? fortune.whole(1, 100) : fortune.whole(1, 4),
      )
      const isReplaced = fortune.is(0.25)
      const restore = isReplaced ? await world.replaceable() : undefined
      for (let branch = 0; branch <= (isReplaced ? 1 : 0); branch += 1) {
        if (branch > 0) await restore?.()
        for (let step = 0; step < steps; step += 1) await world.pass()
        await world.settle()
        if (branch > 0) await folder.backfill(hourAfter(before, 1), world.newest)
        else if (fortune.is(0.5)) await folder.run()
        else {
          // Also backwards, the newest part first.
          const middle = world.hours.at(-fortune.whole(1, steps)) as Hour
          await folder.backfill(middle, world.newest)
          await folder.backfill(hourAfter(before, 1), world.newest)
        }
        await folder.hold()
        const past = fortune.pick([world.newest, ...world.hours.slice(1)])
        expect(sorted(await folder.collected(past))).toEqual(sorted(folder.expected([past])))
      }
      if (fortune.is(0.3)) await folder.damage(fortune.pick(['now', 'ever']), fortune)
      if (fortune.is(0.2)) await folder.command('lists', 'forget', fortune.pick(['now', 'ever']))
      if (fortune.is(0.2)) folder.write(proxy.url, fortune.whole(0, 2))
    }
  },
  // An hour takes 5 to 20 s, by the machine.
  120_000 * hoursCount,
)
