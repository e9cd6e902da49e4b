/**
 * Rate of a backfill of a year over three daemons of a fleet, one of which is killed each minute, compared with that of one
 * daemon; the node is 20 ms away. Ends with 1 when a figure is not what is aimed at. `node test/bench/fleet.ts [HOURS]`
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { hourAfter, hourText, parseHour } from '../../src/model/hour.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { PostgresServer } from '../support/postgres/server.ts'
import { collectors, writeConfig } from './chain/configured.ts'
import { Place, startSink } from './delivery/place.ts'
import { figureHead, figureRow, isMet } from './figures.ts'
import { startRole } from './role.ts'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const hours = Number(process.argv[2] ?? 8_760)
const killEveryMs = 60_000
const delayMs = 20
const from = parseHour('2024-01-01T00:00:00Z')

/** A daemon of the fleet, under a name. */
class Member {
  readonly #file: string
  readonly #env: NodeJS.ProcessEnv
  readonly #log: string
  #child: ChildProcess | undefined

  constructor(place: Place, name: string, urls: Parameters<typeof writeConfig>[1], address: string) {
    this.#file = place.file(`${name}.json`)
    this.#log = place.file(`${name}.log`)
    this.#env = { ...process.env, BENCH_KEY: 'bench-key', DATABASE_URL: address }
    writeConfig(this.#file, urls)
    const config = JSON.parse(readFileSync(this.#file, 'utf8'))
    const own = {
      data: { postgres: { env: 'DATABASE_URL' } },
      fleet: { name, folder: `./${name}` },
      log: { level: 'info' },
    }
    writeFileSync(this.#file, JSON.stringify({ ...config, ...own }))
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [main, 'run', '--config', this.#file], {
      env: this.#env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child = child
    if (!child.stderr) throw new Error('a daemon has no log')
    for await (const line of createInterface({ input: child.stderr })) if (line.includes('"running"')) return
    throw new Error('a daemon ended before it ran')
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }

  /** Runs a backfill to its end, which must be a good one. */
  async backfill(): Promise<void> {
    const range = ['--from', hourText(from), '--to', hourText(hourAfter(from, hours - 1))]
    const output = openSync(this.#log, 'a')
    const child = spawn(process.execPath, [main, 'backfill', '--config', this.#file, ...range], {
      env: this.#env,
      stdio: ['ignore', output, output],
    })
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`the backfill ended with ${code}: ${readFileSync(this.#log, 'utf8').slice(-2_000)}`)
  }
}

/** Hours a second of a backfill over so many daemons. */
async function rate(server: PostgresServer, count: number): Promise<number> {
  await using place = new Place()
  const sink = await startSink(place)
  const archive = startRole(new URL('chain/roles/archive.ts', import.meta.url), ['slots', `${delayMs}`])
  const database = `fleet_${count}`
  await server.query(`CREATE DATABASE ${database}`)
  const { url: rpc } = await archive.readLine<{ url: string }>()
  const names = Array.from({ length: count }, (_, index) => `eu-${index + 1}`)
  const urls = { rpc, service: sink.url }
  const members = names.map(name => new Member(place, name, urls, server.address('', database)))
  const ending = new AbortController()
  try {
    await Promise.all(members.map(member => member.start()))
    const killing = count > 1 ? killInTurn(members, ending.signal) : undefined
    const startMs = performance.now()
    await members[0]?.backfill()
    const seconds = (performance.now() - startMs) / 1_000
    ending.abort()
    await killing
    return hours / seconds
  } finally {
    await Promise.all(members.map(member => member.kill('SIGTERM')))
    await archive.stop()
  }
}

async function killInTurn(members: readonly Member[], signal: AbortSignal): Promise<void> {
  for (let turn = 0; ; turn += 1) {
    await sleep(killEveryMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    const member = members[turn % members.length]
    await member?.kill('SIGKILL')
    await member?.start()
  }
}

if (postgresPlace.kind === 'missing') throw new Error(postgresPlace.reason)
const server = await PostgresServer.started(postgresPlace.path)
try {
  const what = `hours of ${collectors} collectors a second, of ${hours.toLocaleString('en')},`
  const one = await rate(server, 1)
  const three = await rate(server, 3)
  console.log(figureHead)
  for (const figure of [
    { what: `${what} by one daemon`, values: [one] },
    { what: `${what} by three`, values: [three] },
    { what: 'a backfill by three daemons, of one', values: [three / one], target: { atLeast: 2.5 } },
  ]) {
    console.log(figureRow(figure))
    if (isMet(figure) === false) process.exitCode = 1
  }
} finally {
  await server.stop()
}
