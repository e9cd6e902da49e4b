import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { startNode } from '../chain/support/node.ts'
import { steppedChain } from '../chain/support/stepped-chain.ts'
import { syntheticArchive } from '../chain/support/synthetic-archive.ts'
import { regularSteps } from '../cli/backfill-chain-stage.ts'
import { scriptedService } from '../cli/stage.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { configured, startDaemon, tidegauge } from '../support/tidegauge.ts'
import { untilTrue } from '../support/until-true.ts'

const collectorFile = fileURLToPath(new URL('../chain/support/synthetic-collector.ts', import.meta.url))

/** Days of a past that a block every 12 seconds goes back to. */
const days = 40

/** A node that breaks connections off. */
async function deadNode() {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function livingNode() {
  const firstSeconds = Math.floor(systemTime.nowMs() / 1_000) - days * 86_400
  const archive = syntheticArchive(steppedChain(regularSteps, days * 7_200, firstSeconds))
  const node = await startNode(archive.behaviour)
  onTestFinished(() => node.stop())
  return node
}

describe.skipIf(postgresPlace.kind === 'missing')('a node that one daemon of a fleet cannot reach', () => {
  const databases = useTestDatabases()

  it('keeps no window of a backfill from the others, is named by the command, and is not well there', async () => {
    const [dead, node, spare, service] = [
      await deadNode(),
      await livingNode(),
      await livingNode(),
      await scriptedService(),
    ]
    const current = hourAt(systemTime.nowMs())
    // Nothing of it is due now.
    const expected = hourAfter(current, -12)
    const options = `{ chain: main, contract: "0x${'11'.repeat(20)}", first: 1 }`
    const schedule = `at: "${hourText(expected).slice(11, 16)}", since: "${hourText(current)}"`
    const configOf = (name: string, rpc: readonly string[]) =>
      configured(`service: { url: "${service.url}", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
fleet: { name: ${name} }
status: { listen: "127.0.0.1:0" }
chains: { main: { id: 1, rpc: [${rpc.map(url => `"${url}"`)}] } }
protocols:
  - { id: tide, name: Tide, collectors: [{ use: ${collectorFile}, ${schedule}, options: ${options} }] }
`).config
    const env = { METRICS_KEY: 'a-key-nobody-may-see', DATABASE_URL: await databases.empty() }
    const alone = configOf('eu-1', [`http://${dead.host}`])
    const both = configOf('eu-2', [node.url, spare.url])
    const first = await startDaemon(alone, env)
    const words = ['backfill', '--from', hourText(hourAfter(expected, -48)), '--to', hourText(expected), '--json']
    const asking = tidegauge([...words, '--config', both], env)
    const claimed = `SELECT 1 FROM tidegauge_jobs.job WHERE name LIKE 'backfill/%' AND state = 'active'`
    const database = new URL(env.DATABASE_URL).pathname.slice(1)
    // The first use of the table makes it.
    const claims = () => databases.server.query(claimed, [], database).catch(() => [])
    await untilTrue(async () => (await claims()).length > 0)
    const second = await startDaemon(both, env)
    const { code, stdout, stderr } = await asking
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(`eu-1 lets other daemons try: main: ${dead.host} does not answer`),
    ])
    expect(JSON.parse(stdout).collectors).toMatchObject([{ done: 3, failed: 0 }])
    const states = async ({ status }: typeof first) =>
      (await status<StatusJson>(() => true)).endpoints.map(({ state }) => state)
    expect(await states(first)).toEqual(['resting'])
    expect(await states(second)).toEqual(['well', 'unasked'])
    const metrics = await (await fetch(`${first.url}/metrics`)).text()
    expect(metrics).toContain(`tidegauge_endpoint_state{chain="main",endpoint="${dead.host}",state="unreachable"} 1`)
  })
})
