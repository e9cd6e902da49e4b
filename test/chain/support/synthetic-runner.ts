import type { ChainReader } from '../../../src/chain/reads.ts'
import type { CollectorConfig } from '../../../src/config/config.ts'
import type { Hex } from '../../../src/model/block.ts'
import type { Hour } from '../../../src/model/hour.ts'
import type { DescribeResult, Runner, RunOutcome } from '../../../src/runner/runner.ts'

/** Result of each collector. */
export const labels = ['One', 'Two', 'Three', 'Four', 'Five']
const patient = new AbortController().signal

/** Collectors as functions of this process, so that a clock that jumps sees all that goes on: five values each. */
export class PlainRunner implements Runner {
  readonly #chain: ChainReader
  readonly #signal: AbortSignal

  constructor(chain: ChainReader, signal: AbortSignal = patient) {
    this.#chain = chain
    this.#signal = signal
  }

  async describe(): Promise<DescribeResult> {
    return { kind: 'usable', metrics: Object.fromEntries(labels.map(label => [label, {}])), history: true }
  }

  async collect({ id }: CollectorConfig, hour: Hour): Promise<RunOutcome> {
    const first = 1 + labels.length * Number(/\d+$/.exec(id)?.[0] ?? 0)
    const requests = labels.map((_, index) => ({ kind: 'call' as const, to: contract, input: inputOf(first + index) }))
    const { at, value } = await this.#chain.read(hour, requests, this.#signal)
    const readings = labels.map((label, index) => {
      const answer = value[index]
      if (answer?.kind !== 'returned') throw new Error('the archive did not answer')
      return [label, Number(answer.output)] as const
    })
    return { readings: Object.fromEntries(readings), failures: {}, pins: [{ chainId: this.#chain.id, block: at }] }
  }

  async stop(): Promise<void> {}
}

const contract: Hex = `0x${'11'.repeat(20)}`

function inputOf(which: number): Hex {
  return `0x${which.toString(16).padStart(64, '0')}`
}
