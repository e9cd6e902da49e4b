import type { Address, Hex } from 'viem'
import type { Time } from '../edge/time.ts'
import { unlessAborted } from '../edge/unless-aborted.ts'
import { type Hour, hourAfter, hourAt, hoursFrom } from '../model/hour.ts'
import { hourMs } from '../model/limits.ts'
import { Activity } from './activity.ts'
import { Anvil } from './anvil.ts'
import { type Deployment, deploy } from './deployment.ts'
import { type Dice, dice } from './dice.ts'
import { type Action, Miner } from './miner.ts'

const hourSeconds = hourMs / 1000
// The node keeps the states of its last 500 blocks in memory and older ones in its folder.
const nodeFlags = ['--no-mining', '--order', 'fifo', '--balance', '1000000', '--max-persisted-states', '1000']

const blocksBetween = { low: 2, high: 6 }

const pulseEveryMs = 60_000

/** A block is stamped in whole seconds: this long after the hour, one lies past it. */
const pastHourMs = 1_500

interface DevchainParts {
  readonly nowMs: number
  /** Hours of past before the current one. */
  readonly hours: number
  /** Of the node. Default: one that the system picks. */
  readonly port?: number
  /** Ends the building early: it rejects with the signal's reason, and the node has ended. */
  readonly signal?: AbortSignal
}

/** All that goes on writing the chain. */
interface Writing {
  readonly miner: Miner
  readonly activity: Activity
  readonly chance: Dice
  readonly deployment: Deployment
}

/** A local chain with a past, to try collectors on. */
export class Devchain {
  readonly chainId = 31337
  /** Every hour whose as-of block is proven by a block past it when the chain is built, oldest first. */
  readonly hours: readonly Hour[]
  readonly #anvil: Anvil
  readonly #writing: Writing
  readonly #stack: AsyncDisposableStack
  /** Seconds by which a user has moved the time of the node ahead of the clock. */
  #aheadSeconds = 0

  private constructor(anvil: Anvil, writers: Writing, hours: readonly Hour[], stack: AsyncDisposableStack) {
    this.hours = hours
    this.#anvil = anvil
    this.#writing = writers
    this.#stack = stack
  }

  /**
   * Starts a node and writes `hours` hours of the past into it, at irregular instants that are the same in every run:
   * trades, deposits, yield, prices, transfers. The last block lies at or before `nowMs`, and, unless the current hour is
   * less than a second old, past the current hour.
   *
   * @throws errors of `Anvil.start`
   */
  static async build(parts: DevchainParts): Promise<Devchain> {
    const { nowMs, hours: count, port = 0, signal = new AbortController().signal } = parts
    const last = hourAt(nowMs - 1000)
    const hours = hoursFrom(hourAfter(last, -count), last)
    await using stack = new AsyncDisposableStack()
    const genesisSeconds = hourAfter(last, -count - 1) / 1000
    const flags = [...nodeFlags, '--port', String(port)]
    const anvil = await Anvil.start(genesisSeconds, flags, signal)
    stack.defer(() => anvil.stop())
    const writers = await unlessAborted(writePast(anvil, genesisSeconds, hours, nowMs), signal)
    return new Devchain(anvil, writers, hours, stack.move())
  }

  /** Of the node's JSON-RPC server. */
  get url(): string {
    return this.#anvil.url
  }

  /** Resolves when the node has ended. */
  get ended(): Promise<void> {
    return this.#anvil.ended
  }

  /** Of its contracts, and of an account. They are the same for each chain. */
  get addresses(): Readonly<Record<'dollar' | 'tide' | 'vault' | 'pool' | 'feed' | 'treasury', Address>> {
    const { dollar, tide, vault, pool, feed, treasury } = this.#writing.deployment
    return {
      dollar: dollar.address,
      tide: tide.address,
      vault: vault.address,
      pool: pool.address,
      feed: feed.address,
      treasury,
    }
  }

  /**
   * Life goes on: one block at this instant, with a trade or a deposit now and then. Nothing when the last block has
   * the same second. Where a user has moved the node's time ahead of the clock, it stays so far ahead. Not to be called
   * again before it has resolved.
   */
  async pulse(nowMs: number): Promise<void> {
    const { miner } = this.#writing
    const { timestamp } = await this.#anvil.rpc<{ timestamp: Hex }>('eth_getBlockByNumber', 'latest', false)
    const last = Number(timestamp)
    const clockSeconds = Math.floor(nowMs / 1000)
    // A block of a user, by evm_increaseTime and evm_mine: an earlier one would be refused.
    if (last > miner.lastSeconds) this.#aheadSeconds = Math.max(0, last - clockSeconds)
    miner.lastSeconds = last
    const secondsNow = clockSeconds + this.#aheadSeconds
    if (secondsNow <= last) return
    const actions = await pulseActions(this.#writing)
    // The node refuses a transaction where a user has spent what the account had: the block is made without it.
    await miner.mine(secondsNow, actions).catch(() => miner.mine(secondsNow, []))
  }

  /**
   * Lets the chain go on at the pace of the clock.
   *
   * @throws the signal's reason; Error when the node has ended, or fails
   */
  async live(time: Time, signal: AbortSignal): Promise<never> {
    const gone = new AbortController()
    void this.ended.then(() => gone.abort(new Error('the local chain has ended: its anvil is gone')))
    const end = AbortSignal.any([signal, gone.signal])
    for (;;) {
      await unlessAborted(this.pulse(time.nowMs()), end)
      await time.sleep(pulsePauseMs(time.nowMs()), end)
    }
  }

  async stop(): Promise<void> {
    await this.#stack.disposeAsync()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

/** Time until the next block: a minute, and sooner where a full hour lies between, which needs a block past it. */
export function pulsePauseMs(nowMs: number): number {
  const untilPastHourMs = hourMs - (nowMs % hourMs) + pastHourMs
  return Math.min(pulseEveryMs, untilPastHourMs)
}

async function writePast(
  anvil: Anvil,
  genesisSeconds: number,
  hours: readonly Hour[],
  nowMs: number,
): Promise<Writing> {
  const miner = new Miner(anvil, genesisSeconds)
  const deployment = await deploy(anvil, miner)
  const chance = dice(20)
  const writers = { miner, deployment, chance, activity: new Activity(deployment, chance) }
  for (const hour of hours) await liveHour(hour, nowMs, writers)
  return writers
}

/**
 * The blocks after `hour`, up to and including the next, or up to now. The first and the last change everything there is
 * to read: a block too early or too late at the hour shows in every value.
 */
async function liveHour(hour: Hour, nowMs: number, { miner, activity, chance }: Writing): Promise<void> {
  const seconds = instants(Math.min(hourSeconds, Math.floor((nowMs - hour) / 1000)), chance)
  for (const second of seconds) {
    const isOuter = second === seconds[0] || second === seconds.at(-1)
    const actions: Action[] = isOuter ? await activity.everything(miner) : []
    for (let count = chance.whole(0, 2); count > 0; count--) actions.push(await activity.incident(miner))
    await miner.mine(hour / 1000 + second, actions)
  }
}

/** Distinct seconds from 1 to `length`, ascending: near both ends, on the next hour itself often, and some between. */
function instants(length: number, chance: Dice): number[] {
  const first = chance.whole(1, Math.min(3, length))
  const last = chance.roll() < 0.5 ? length : Math.max(1, length - chance.whole(1, 10))
  const innerSeconds = Array.from({ length: chance.whole(blocksBetween.low, blocksBetween.high) }, () =>
    chance.whole(1, length),
  )
  return [...new Set([first, ...innerSeconds, last])].sort((a, b) => a - b)
}

async function pulseActions({ miner, activity, chance }: Writing): Promise<Action[]> {
  if (chance.roll() < 0.6) return []
  return [...(chance.roll() < 0.3 ? [activity.price()] : []), await activity.incident(miner)]
}
