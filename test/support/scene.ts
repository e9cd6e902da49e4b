import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Address } from 'viem'
import { type Hour, hourAfter, hourAt, hoursFrom } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import { startAnvil } from './anvil.ts'
import { type Dice, dice } from './dice.ts'
import { type Action, Miner } from './miner.ts'
import { buildStage, type Stage } from './stage.ts'
import { Story } from './story.ts'

/** A living chain with a past. */
export interface Scene {
  readonly url: string
  readonly chainId: 31337
  /** Every hour whose as-of block is proven by a block past it when the scene is built, oldest first. */
  readonly hours: readonly Hour[]
  readonly addresses: Readonly<Record<'dollar' | 'tide' | 'vault' | 'pool' | 'feed' | 'treasury', Address>>
  /**
   * Life goes on: one block at this instant, with a trade or a deposit now and then. Nothing when the last block has
   * the same second. Not to be called again before it has resolved.
   */
  pulse(nowMs: number): Promise<void>
  /** Of the node. */
  readonly pid: number | undefined
  /** Resolves when the node has ended. */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

export interface SceneParts {
  readonly nowMs: number
  /** Hours of past before the current one. */
  readonly hours: number
  /** Of the node; by default one that the system picks. */
  readonly port?: number
  /** Ends the building early: it rejects with the signal's reason, and the node has ended. */
  readonly signal?: AbortSignal
}

const hourSeconds = hourMs / 1000
// The node keeps the states of its last 500 blocks in memory and older ones, 250 KB each, in a folder it never removes.
const nodeFlags = ['--no-mining', '--order', 'fifo', '--balance', '1000000', '--max-persisted-states', '1000']

const blocksBetween = { low: 2, high: 6 }

/**
 * Starts a node and writes `hours` hours of the past into it, at irregular instants that are the same in every run:
 * trades, deposits, yield, prices, transfers. The last block lies at or before `nowMs`, and, unless the current hour is
 * less than a second old, past the current hour.
 */
export async function buildScene({ nowMs, hours, port = 0, signal }: SceneParts): Promise<Scene> {
  const last = hourAt(nowMs - 1000)
  const first = hourAfter(last, -hours)
  const genesisSeconds = first / 1000 - hourSeconds
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'tidegauge-chain-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const anvil = await startAnvil(genesisSeconds, ...nodeFlags, '--port', String(port), '--cache-path', folder)
  stack.defer(() => anvil.stop())
  const miner = new Miner(anvil, genesisSeconds)
  const stage = await buildStage(anvil, miner)
  const chance = dice(20)
  const story = new Story(stage, chance)
  for (const hour of hoursFrom(first, last)) {
    signal?.throwIfAborted()
    await liveHour(hour, nowMs, { miner, story, chance })
  }
  const pulseAt = async (secondsNow: number) => {
    if (secondsNow > miner.lastSeconds) await miner.mine(secondsNow, await pulseActions({ miner, story, chance }))
  }
  const built = stack.move()
  const node = { url: anvil.url, pid: anvil.pid, ended: anvil.ended, stop: () => built.disposeAsync() }
  return scene(node, stage, hoursFrom(first, last), pulseAt)
}

interface Writing {
  readonly miner: Miner
  readonly story: Story
  readonly chance: Dice
}

/**
 * The blocks after `hour`, up to and including the next, or up to now. The first and the last change everything there is
 * to read: a block too early or too late at the hour shows in every value.
 */
async function liveHour(hour: Hour, nowMs: number, { miner, story, chance }: Writing): Promise<void> {
  const seconds = instants(Math.min(hourSeconds, Math.floor((nowMs - hour) / 1000)), chance)
  for (const second of seconds) {
    const isOuter = second === seconds[0] || second === seconds.at(-1)
    const actions: Action[] = isOuter ? await story.everything(miner) : []
    for (let count = chance.whole(0, 2); count > 0; count--) actions.push(await story.incident(miner))
    await miner.mine(hour / 1000 + second, actions)
  }
}

/** Distinct seconds from 1 to `length`, ascending: near both ends, on the next hour itself often, and some between. */
function instants(length: number, chance: Dice): number[] {
  const first = chance.whole(1, Math.min(3, length))
  const last = chance.roll() < 0.5 ? length : Math.max(1, length - chance.whole(1, 10))
  const between = Array.from({ length: chance.whole(blocksBetween.low, blocksBetween.high) }, () =>
    chance.whole(1, length),
  )
  return [...new Set([first, ...between, last])].sort((a, b) => a - b)
}

async function pulseActions({ miner, story, chance }: Writing): Promise<Action[]> {
  if (chance.roll() < 0.6) return []
  return [...(chance.roll() < 0.3 ? [story.price()] : []), await story.incident(miner)]
}

function scene(
  node: Pick<Scene, 'url' | 'pid' | 'ended' | 'stop'>,
  { dollar, tide, vault, pool, feed, treasury }: Stage,
  hours: readonly Hour[],
  pulseAt: (secondsNow: number) => Promise<void>,
): Scene {
  return {
    ...node,
    chainId: 31337,
    hours,
    addresses: {
      dollar: dollar.address,
      tide: tide.address,
      vault: vault.address,
      pool: pool.address,
      feed: feed.address,
      treasury,
    },
    pulse: nowMs => pulseAt(Math.floor(nowMs / 1000)),
  }
}
