import { type Abi, decodeFunctionData, encodeFunctionResult, toFunctionSelector } from 'viem'
import { afterAll } from 'vitest'
import type { RawLog } from '../../src/chain/log-list.ts'
import type { ChainReader } from '../../src/chain/reads.ts'
import { systemTime } from '../../src/edge/time.ts'
import type { LogFilter } from '../../src/model/block.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import type { Runner } from '../../src/runner/runner.ts'
import { hour } from '../runner/setup.ts'
import { chainOf } from '../support/reads.ts'

/**
 * A chain on which every contract has this ABI, and answers so, or as a function of the arguments says. A function that is
 * refused or has no answer reverts, as one that a contract does not have.
 */
export function contractOf(
  abi: Abi,
  answers: Readonly<Record<string, unknown>>,
  isRefused: (functionName: string) => boolean = () => false,
  logs: (filter: LogFilter) => readonly RawLog[] = () => [],
): ChainReader {
  return chainOf({
    block: async () => ({ number: 1n, hash: '0x00', timestampSeconds: hour / 1000 }),
    logs: async (_hour, filter) => logs(filter),
    read: async (_hour, requests) =>
      requests.map(request => {
        if (request.kind !== 'call') throw new Error('no balance is asked for')
        const known = abi.some(item => item.type === 'function' && request.input.startsWith(toFunctionSelector(item)))
        if (!known) return { kind: 'reverted', output: '0x' }
        const { functionName, args = [] } = decodeFunctionData({ abi, data: request.input })
        const answer = answers[functionName]
        if (answer === undefined || isRefused(functionName)) return { kind: 'reverted', output: '0x' }
        const result: unknown = typeof answer === 'function' ? answer(...args) : answer
        return { kind: 'returned', output: encodeFunctionResult({ abi, functionName, result }) }
      }),
  })
}

/** A runner for all tests of a file: a process costs more than what is asked of it. */
export interface AnsweringRunner {
  readonly runner: Runner
  /** Log lines of its collectors. */
  readonly lines: readonly string[]
  /** From now on its chain `demo` is this one. */
  use(chain: ChainReader): void
}

/** Call it outside of tests; it ends with the file. */
export function answeringRunner(): AnsweringRunner {
  let current: ChainReader | undefined
  const now = () => current ?? contractOf([], {})
  const demo: ChainReader = {
    ...contractOf([], {}),
    block: (...asked) => now().block(...asked),
    read: (...asked) => now().read(...asked),
    logs: (...asked) => now().logs(...asked),
  }
  const lines: string[] = []
  const log = (_collector: string, _level: string, message: string) => void lines.push(message)
  const runner = new ProcessRunner({ chains: { demo }, deadlineMs: 60_000, time: systemTime, log })
  afterAll(() => runner.stop())
  return {
    runner,
    lines,
    use(chain) {
      current = chain
    },
  }
}
