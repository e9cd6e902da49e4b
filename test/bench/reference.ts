/**
 * Pushes a second of the reference service against the same server without storage, in alternating pairs, then a long
 * run that must end without an error. Server and load are processes of their own. `node test/bench/reference.ts`
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connections, type Load, type Loaded, metricsPerPush, protocolIdOf } from './reference/roles.ts'
import { startRole } from './role.ts'

const aimedRatio = 0.5
const pairs = 7
const loadMs = 2_000
const longRunPushes = 10_000

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-bench-'))
const protocolIds = Array.from({ length: connections }, (_, connection) => protocolIdOf(connection))

async function startServer(storing: 'stored' | 'not-stored') {
  const script = new URL('reference/server.ts', import.meta.url)
  const role = startRole(script, [join(folder, `${storing}.sqlite`), storing, ...protocolIds])
  return { role, ...(await role.readLine<{ url: string; key: string }>()) }
}

const servers = { stored: await startServer('stored'), 'not-stored': await startServer('not-stored') }
const load = startRole(new URL('reference/load.ts', import.meta.url), [])
let nextHour = 0

async function push(storing: keyof typeof servers, amount: Pick<Load, 'pushes' | 'ms'>): Promise<Loaded> {
  const { url, key } = servers[storing]
  load.writeLine({ url, key, startHour: nextHour, ...amount } satisfies Load)
  const loaded = await load.readLine<Loaded>()
  nextHour += loaded.pushes
  if (loaded.errors > 0) throw new Error(`${loaded.errors} of ${loaded.pushes} pushes failed (${storing})`)
  return loaded
}

const perSecond = ({ pushes, ms }: Loaded) => Math.round((pushes / ms) * 1_000)
const median = (numbers: readonly number[]) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

try {
  for (const storing of ['stored', 'not-stored'] as const) await push(storing, { ms: loadMs })
  console.log(`pushes a second of ${metricsPerPush} metrics from ${connections} connections`)
  const ratios: number[] = []
  for (let pair = 1; pair <= pairs; pair += 1) {
    const stored = perSecond(await push('stored', { ms: loadMs }))
    const notStored = perSecond(await push('not-stored', { ms: loadMs }))
    ratios.push(stored / notStored)
    console.log(`  pair ${pair}: ${stored} stored, ${notStored} not stored, ratio ${(stored / notStored).toFixed(2)}`)
  }
  const ratio = median(ratios)
  console.log(`median ratio ${ratio.toFixed(2)} (aim: at least ${aimedRatio})`)
  const long = await push('stored', { pushes: longRunPushes })
  console.log(
    `${long.pushes} pushes stored without an error in ${(long.ms / 1_000).toFixed(1)} s, ${perSecond(long)} a second`,
  )
  if (ratio < aimedRatio) process.exitCode = 1
} finally {
  await Promise.all([load.stop(), ...Object.values(servers).map(({ role }) => role.stop())])
  rmSync(folder, { recursive: true })
}
