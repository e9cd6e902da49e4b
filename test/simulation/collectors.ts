import type { ChainReader } from '../../src/chain/reads.ts'
import type { CollectorConfig } from '../../src/config/config.ts'
import type { AsOfBlock, PinnedBlock } from '../../src/model/block.ts'
import { Fault, faultFromRecord, faultRecord } from '../../src/model/fault.ts'
import type { Hour } from '../../src/model/hour.ts'
import { RunBlocks } from '../../src/runner/daemon/replies.ts'
import type { DescribeResult, Runner, RunOutcome } from '../../src/runner/runner.ts'
import { chanceOf, Fortune } from './chance.ts'
import type { Clock } from './clock.ts'
import type { Facts } from './facts.ts'
import type { CollectorScript, Script } from './script.ts'

/** A second life's unit where it changes. */
export const otherUnit = 'EUR'

/** A value of a label that is read from a chain: it is another one at another block, mostly. */
export function valueAtBlock(
  seed: number,
  collector: CollectorScript,
  label: string,
  hour: Hour,
  hash: string,
): number {
  const isSteady = chanceOf(seed, 'steady', collector.id, label) < 0.3
  return valueAt(seed, { ...collector, history: true }, label, hour, 0, isSteady ? '' : hash)
}

/** A value of a label: of an hour alone where the past can be read, else also of the moment it is asked for. */
function valueAt(
  seed: number,
  { id, history }: CollectorScript,
  label: string,
  hour: Hour,
  nowMs: number,
  hash = '',
): number {
  const chance = chanceOf(seed, id, label, hour, history ? hash : nowMs)
  return Math.round((chance * 200 - (chanceOf(seed, 'low', label, hour) < 0.02 ? 200 : 0)) * 100) / 100
}

/** Reads of a run, in turn, and what it says of them. */
interface ReadBlocks {
  readonly blocks: readonly AsOfBlock[]
  readonly pins: readonly PinnedBlock[]
}

/** Dependencies of the runs of a world. */
interface RunnerWorld {
  readonly script: Script
  readonly clock: Clock
  readonly facts: Facts
}

/** Collectors by a script, as one life of the process runs them. */
export class ScriptedRunner implements Runner {
  readonly #script: Script
  readonly #clock: Clock
  readonly #facts: Facts
  readonly #isAlive: () => boolean
  readonly #chance: Fortune
  readonly #life: number
  readonly #chain: ChainReader | undefined
  readonly #stopping = new AbortController()
  /** Give up what is under way. */
  readonly #ends = new Set<() => void>()

  constructor({ script, clock, facts }: RunnerWorld, isAlive: () => boolean, life: number, chain?: ChainReader) {
    this.#script = script
    this.#clock = clock
    this.#facts = facts
    this.#isAlive = isAlive
    this.#life = life
    this.#chain = chain
    this.#chance = new Fortune(script.seed + 1_000 * life + 2)
  }

  async describe({ id }: CollectorConfig): Promise<DescribeResult> {
    await this.#pass(this.#chance.between(1, 500))
    const { metrics, history, unitChange } = this.#scriptOf(id)
    const changed =
      unitChange === undefined || this.#life === 0 ? {} : { [unitChange]: { ...metrics[unitChange], unit: otherUnit } }
    return { kind: 'usable', metrics: { ...metrics, ...changed }, history }
  }

  async collect({ id }: CollectorConfig, hour: Hour): Promise<RunOutcome> {
    const script = this.#scriptOf(id)
    const isWell = this.#clock.nowMs() >= this.#script.healthyMs
    const wellInMs = Math.max(0, this.#script.healthyMs - this.#clock.nowMs())
    const slowMs = Math.min(this.#chance.between(1, script.slowMs), wellInMs + 1_000)
    const before = script.reads ? this.#chance.roll() : 1
    await this.#pass(slowMs * before)
    const { blocks, pins } = await this.#read(script, hour)
    if (before < 1) await this.#pass(slowMs * (1 - before))
    const isFailing = () => !isWell && this.#chance.is(script.failing)
    if (isFailing()) throw new Fault('collector-threw', 'this run failed')
    const labels = Object.keys(script.metrics)
    const failed = isFailing() ? this.#chance.whole(0, labels.length - 1) : -1
    const { seed } = this.#script
    const value = (label: string) => {
      const block = blocks[labels.indexOf(label) % blocks.length]
      if (block) return valueAtBlock(seed, script, label, hour, block.hash)
      return valueAt(seed, script, label, hour, this.#clock.nowMs())
    }
    if (!script.history) this.#facts.readAtMs.set(`${id} ${hour}`, this.#clock.nowMs())
    const read = labels.filter((_, index) => index !== failed)
    const fault = faultRecord(new Fault('http-unreachable', 'no answer'))
    return {
      readings: Object.fromEntries(read.map(label => [label, value(label)])),
      failures: Object.fromEntries(labels.slice(failed, failed < 0 ? 0 : failed + 1).map(label => [label, fault])),
      pins,
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Fault('stopped', 'stopped'))
    for (const end of this.#ends) end()
  }

  /** As the runner does it: one that meets two blocks has failed. */
  async #read({ reads, slowMs }: CollectorScript, hour: Hour): Promise<ReadBlocks> {
    const chain = this.#chain
    if (!reads || !chain) return { blocks: [], pins: [] }
    const pins = new RunBlocks({ chain })
    const { signal } = this.#stopping
    const one = async () => {
      const at = reads === 'block' ? await chain.block(hour, signal) : (await chain.read(hour, [], signal)).at
      const reply = pins.checked('chain', { kind: 'block' }, { kind: 'block', at })
      if (reply.kind === 'faulted') throw faultFromRecord(reply.fault)
      return at
    }
    const first = await one()
    if (reads !== 'twice') return { blocks: [first], pins: pins.all }
    await this.#pass(this.#chance.between(1, Math.min(slowMs, 120_000)))
    return { blocks: [first, await one()], pins: pins.all }
  }

  #scriptOf(id: string): CollectorScript {
    const script = this.#script.collectors.find(collector => collector.id === id)
    if (!script) throw new Fault('collector-unusable', `there is no collector ${id}`)
    return script
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => reject(new Fault('stopped', 'stopped'))
      this.#ends.add(end)
      this.#clock.after(Math.ceil(ms), () => {
        this.#ends.delete(end)
        if (this.#isAlive()) resolve()
      })
    })
  }
}
