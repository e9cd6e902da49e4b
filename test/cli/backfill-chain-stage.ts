import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import { type Behaviour, type Call, type FakeNode, startNode } from '../chain/support/node.ts'
import { type Steps, steppedChain } from '../chain/support/stepped-chain.ts'
import { type SyntheticArchive, syntheticArchive } from '../chain/support/synthetic-archive.ts'
import { command } from '../support/command.ts'
import { configured, type Ended, start } from '../support/tidegauge.ts'
import { type ScriptedService, scriptedService } from './stage.ts'

const collectorFile = fileURLToPath(new URL('../chain/support/synthetic-collector.ts', import.meta.url))

/** A block every 12 seconds, none missed. */
export const regularSteps: Steps = { blocks: () => 1, seconds: () => 12 }

/** A command against a long chain. */
export interface ChainStage {
  readonly archive: SyntheticArchive
  /** Answers a request in the place of the node, where it returns true; may be set. */
  instead: ((...request: Parameters<Behaviour>) => boolean) | undefined
  /** Questions to the node: the methods of each HTTP request. */
  readonly node: FakeNode
  readonly service: ScriptedService
  readonly config: string
  readonly env: Readonly<Record<string, string>>
  readonly range: readonly string[]
  run(...args: string[]): Promise<Ended>
  start(...args: string[]): ReturnType<typeof start>
}

/**
 * Collectors of five values each of a synthetic chain whose head is a moment old.
 *
 * @param hours how many, up to three hours before the current one
 */
export async function chainStage(steps: Steps, hours: number, collectors: number): Promise<ChainStage> {
  const service = await scriptedService()
  const current = hourAt(systemTime.nowMs())
  const secondsEach = steps.seconds(1)
  const blocks = Math.floor((10_000 * hourMs) / 1000 / secondsEach)
  // Its last block was made a moment ago, so that the next one is not due while the test runs.
  const firstSeconds = Math.floor(systemTime.nowMs() / 1000) - (blocks - 1) * secondsEach
  const archive = syntheticArchive(steppedChain(steps, blocks, firstSeconds))
  const node = await startNode((...request) => {
    if (!stage.instead?.(...request)) return archive.behaviour(...request)
  })
  onTestFinished(() => node.stop())
  const uses = Array.from(
    { length: collectors },
    (_, index) =>
      `      - { use: ${collectorFile}, id: c${index}, options: { chain: main, contract: "0x${'11'.repeat(20)}", first: ${1 + 5 * index} } }\n`,
  )
  // One protocol for each collector: their labels are the same.
  const protocols = uses.map((use, index) => `  - id: p${index}\n    name: P${index}\n    collectors:\n${use}`)
  const yaml = `service: { url: "${service.url}", key: { env: METRICS_KEY } }
status: { listen: "127.0.0.1:0" }
delivery: { pace: 1000 }
chains:
  main: { id: 1, rpc: ["${node.url}"] }
protocols:
${protocols.join('')}`
  const { config } = configured(yaml)
  const env = { METRICS_KEY: 'a-key-that-nobody-may-see' }
  const last = hourAfter(current, -3)
  const words = (args: readonly string[]) => ['backfill', ...args, '--config', config]
  const stage: ChainStage = {
    archive,
    instead: undefined,
    node,
    service,
    config,
    env,
    range: ['--from', hourText(hourAfter(last, 1 - hours)), '--to', hourText(last)],
    run: (...args) => command(words(args), env),
    start: (...args) => start(words(args), env),
  }
  return stage
}

/** As a node that is away. */
export const resets: NonNullable<ChainStage['instead']> = (_, response) => {
  response.destroy()
  return true
}

const byHash = z.object({ blockHash: z.string() })

/** As a node that has no state before a block. */
export function prunedBefore(first: number): NonNullable<ChainStage['instead']> {
  const at = ({ params: [, asked] }: Call) => {
    if (typeof asked === 'string') return Number(asked)
    return Number(BigInt(`0x${byHash.parse(asked).blockHash.slice(3)}`)) - 1
  }
  const isRefused = (call: Call) => call.method === 'eth_call' && at(call) < first
  return (calls, response) => {
    const refused = new Set(calls.filter(isRefused).map(({ id }) => id))
    const error = { code: -32000, message: 'missing trie node 0x01 (path )' }
    const answered = (answer: { readonly id: number }) =>
      refused.has(answer.id) ? { jsonrpc: '2.0', id: answer.id, error } : answer
    const end = response.end.bind(response)
    Object.assign(response, {
      end(text: string) {
        const answers: unknown = JSON.parse(text)
        const all = z.array(z.looseObject({ id: z.number() })).parse(Array.isArray(answers) ? answers : [answers])
        end(JSON.stringify(Array.isArray(answers) ? all.map(answered) : answered(all[0] ?? { id: 0 })))
      },
    })
    return false
  }
}
