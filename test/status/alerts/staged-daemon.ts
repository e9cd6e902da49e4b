import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { startDaemon } from '../../../src/app/daemon.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { systemTime, type Time } from '../../../src/edge/time.ts'
import { hourAfter, hourAt } from '../../../src/model/hour.ts'
import { hourMs } from '../../../src/model/limits.ts'
import { Reloads } from '../../../src/status/sources.ts'
import { Redactor } from '../../../src/telemetry/redactor.ts'
import { type ArchiveTraits, archiveAnswers } from '../../chain/support/archive.ts'
import { answering, NodeError, startNode } from '../../chain/support/node.ts'
import { scriptedChain } from '../../chain/support/scripted-chain.ts'
import { HttpService } from '../../delivery/support/http-service.ts'
import { silentLog } from '../../support/log.ts'
import { configured } from '../../support/tidegauge.ts'

/** The current hour of a staged daemon: later than any file that a test has written. */
export const stagedHour = hourAfter(hourAt(systemTime.nowMs()), 24)

/** The instant at which it starts: its hour is overdue if it is not collected and delivered. */
const stageMs = stagedHour + 40 * 60_000

/** Waits up to here are for another try; longer ones are limits. */
const retryMsMax = 5_000

/** Seconds between two blocks of the staged chain. */
const blockSeconds = 12

/** Differences from a daemon that is well. */
export interface Staging {
  /** Milliseconds by which the last block of the node is old. Default: none. */
  readonly lagMs?: number
  readonly node?: ArchiveTraits & { readonly isDead?: boolean; readonly isPruned?: boolean }
  /** Whether a second node must agree, and has other blocks. Default: there is none. */
  readonly isContradicted?: boolean
  readonly service?: (service: HttpService) => void
  /** Value of the `pool`'s metric, whose bounds are 0 and 100; what is no number fails. Default: 5. */
  readonly level?: string
  /** The first hour that is expected of the `pool`, as it is written; default: the current one. */
  readonly since?: string
  /** Milliseconds by which this machine's clock is ahead. Default: none. */
  readonly clockAheadMs?: number
  readonly dataFolder?: string
  readonly key?: string
  /** Called before the state is read. */
  readonly also?: (reloads: Reloads) => void
}

/**
 * The exposition of a real daemon in a state: it reads a scripted chain over HTTP, runs collectors in processes, pushes to a
 * service over HTTP, and serves /metrics. It ends with the test.
 *
 * @param isThere whether the exposition shows the state
 */
export async function stagedExposition(staging: Staging, isThere: (text: string) => boolean): Promise<string> {
  const service = await HttpService.start(() => systemTime.nowMs() + shiftMs)
  staging.service?.(service)
  const config = loadConfig(await written(staging, service))
  const redactor = new Redactor()
  const time = shiftedTime(shiftMs + (staging.clockAheadMs ?? 0))
  const reloads = new Reloads(config, time.nowMs())
  const daemon = await startDaemon({ config, time, log: silentLog, redactor }, reloads)
  onTestFinished(() => daemon.stop())
  staging.also?.(reloads)
  for (;;) {
    const text = await (await fetch(`${daemon.statusUrl}/metrics`)).text()
    if (isThere(text)) return text
    await systemTime.sleep(50)
  }
}

const shiftMs = stageMs - systemTime.nowMs()

/** A clock that is off, and waits that are short. */
function shiftedTime(aheadMs: number): Time {
  return {
    ...systemTime,
    chance: () => 0,
    nowMs: () => systemTime.nowMs() + aheadMs,
    sleep: (ms, signal) => systemTime.sleep(ms <= retryMsMax ? ms / 20 : ms, signal),
  }
}

async function written(staging: Staging, service: HttpService): Promise<string> {
  const { since, dataFolder, level = '5', key = 'a-key-that-stays-here' } = staging
  const { config } = configured(
    `service: { url: "${service.url}", key: { file: key } }
${dataFolder === undefined ? '' : `data: ${dataFolder}\n`}status: { listen: "127.0.0.1:0" }
collect: { deadline: 2m, catchUp: 2h }
chains:
  mainnet: { id: 1, ${staging.isContradicted ? 'agree: 2, ' : ''}rpc: ${JSON.stringify(await nodeUrls(staging))} }
protocols:
  - id: vault
    name: Vault
    collectors:
      - use: contract-read
        options:
          chain: mainnet
          address: "0x00000000000000000000000000000000000000aa"
          values: { Supply: { call: "totalSupply() view returns (uint256)", unit: AWE } }
  - id: pool
    name: Pool
    collectors:
      - { use: ./level.ts${since === undefined ? '' : `, since: ${since}`} }
`,
    { 'level.ts': levelCollector(level) },
  )
  writeFileSync(join(dirname(config), 'key'), key, { mode: 0o600 })
  return config
}

const levelCollector = (level: string) => `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Level: { unit: 'm', min: 0, max: 100 } },
  history: true,
  collect: () => ({ Level: ${level} }),
})
`

function nodeUrls(staging: Staging): Promise<string[]> {
  // Of a node without old state, the hour is not among its last blocks.
  const seconds = staging.node?.isPruned ? 2 : blockSeconds
  const blocks = staging.isContradicted ? [seconds / 2, seconds, seconds] : [seconds]
  return Promise.all(blocks.map(each => nodeUrl(staging, each)))
}

/** The address of a node with a block each so many seconds; it ends with the test. */
async function nodeUrl({ node = {}, lagMs = 0 }: Staging, secondsOfBlock: number): Promise<string> {
  const genesisSeconds = (stageMs - 50 * hourMs) / 1000
  const head = Math.floor((stageMs - lagMs - genesisSeconds * 1000) / 1000 / secondsOfBlock)
  const chain = scriptedChain(head, number => genesisSeconds + number * secondsOfBlock)
  const answer = archiveAnswers(chain, node)
  const running = await startNode(
    answering((method, params) => {
      if (node.isPruned && method === 'eth_call' && params[1] !== 'latest')
        throw new NodeError(-32000, 'missing trie node')
      return answer(method, params)
    }),
  )
  if (node.isDead) await running.stop()
  else onTestFinished(() => running.stop())
  return running.url
}
