import { setImmediate as turn } from 'node:timers/promises'
import { type ChainReaderDeps, createChainReader, type OpenChainReader } from '../../../src/chain/read/reader.ts'
import { systemTime, type Time } from '../../../src/edge/time.ts'
import type { FinalBlocks } from '../../../src/model/block.ts'
import type { EarliestMs } from '../../../src/model/clock.ts'
import type { FakeNode } from './node.ts'
import { type SyntheticArchive, startArchive } from './synthetic-archive.ts'

/** A clock that stands where it is set, until somebody sleeps: then it has passed already. Time-outs are the machine's. */
export class SetTime {
  #nowMs = 0
  readonly time: Time = {
    ...systemTime,
    nowMs: () => this.#nowMs,
    sleep: async (ms, signal) => {
      await turn()
      signal?.throwIfAborted()
      this.#nowMs += ms
    },
  }

  set(ms: number): void {
    this.#nowMs = ms
  }
}

/** A reader of one archive node, of chain 1. */
export function openSyntheticReader(
  url: string,
  time: Time,
  finalBlocks: FinalBlocks,
  more: Partial<ChainReaderDeps> = {},
): OpenChainReader {
  const earliestMs = () => time.nowMs() as EarliestMs
  return createChainReader({ name: 'synthetic', id: 1, endpoints: [url], time, earliestMs, finalBlocks, ...more })
}

/** An archive with its server and a clock that stands at its head. */
export class SyntheticScene implements AsyncDisposable {
  readonly archive: SyntheticArchive
  readonly clock = new SetTime()
  readonly #node: FakeNode
  readonly #readers: OpenChainReader[] = []

  private constructor(archive: SyntheticArchive, node: FakeNode) {
    this.archive = archive
    this.#node = node
    this.setHead(archive.head)
  }

  static async start(archive: SyntheticArchive): Promise<SyntheticScene> {
    return new SyntheticScene(archive, await startArchive(archive))
  }

  get url(): string {
    return this.#node.url
  }

  /** The head is this block, and now is a moment after it. */
  setHead(number: number, secondsAfter = 1): void {
    this.archive.beforeAnswer = undefined
    this.archive.head = number
    this.clock.set((this.archive.chain.timestampOf(number) + secondsAfter) * 1_000)
  }

  /** Now is this instant, and from here on the head is the last block there is by the clock. */
  followClock(ms: number): void {
    const { archive, clock } = this
    clock.set(ms)
    archive.beforeAnswer = () => {
      archive.head = archive.chain.asOf(clock.time.nowMs() / 1_000)
    }
  }

  /** A reader that knows nothing yet; it is closed with the scene. */
  reader(finalBlocks: FinalBlocks): OpenChainReader {
    const reader = openSyntheticReader(this.url, this.clock.time, finalBlocks)
    this.#readers.push(reader)
    return reader
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const reader of this.#readers) reader.close()
    await this.#node.stop()
  }
}
