import { setTimeout as sleep } from 'node:timers/promises'
import { hourAfter, hourText, parseHour } from '../../../src/model/hour.ts'
import type { PostgresServer } from '../../support/postgres/server.ts'
import { Place, startSink } from '../delivery/place.ts'
import type { Figure } from '../figures.ts'
import { startRole } from '../role.ts'
import { Member } from './member.ts'

const killEveryMs = 60_000
const delayMs = 20
const from = parseHour('2024-01-01T00:00:00Z')

/**
 * Rate of a backfill over three daemons, one of which is killed each minute, compared with that of one daemon; the node is
 * 20 ms away, and all that is read is delivered, too. One collector shows the reading, ten what this machine has room for.
 */
export async function* backfilling(server: PostgresServer, hours: number): AsyncGenerator<Figure> {
  for (const collectors of [1, 10]) {
    const one = await rate(server, 1, hours, collectors)
    const three = await rate(server, 3, hours, collectors)
    const what = `hours of ${collectors === 1 ? 'a collector' : `${collectors} collectors`} a second, of ${hours.toLocaleString('en')}`
    yield { what: `${what}, by one daemon`, values: [one] }
    yield { what: `${what}, by three`, values: [three] }
    yield { what: 'by three, of one', values: [three / one], target: { atLeast: 2.5 } }
  }
}

async function rate(server: PostgresServer, count: number, hours: number, collectors: number): Promise<number> {
  await using place = new Place()
  const sink = await startSink(place)
  const archive = startRole(new URL('../chain/roles/archive.ts', import.meta.url), ['slots', `${delayMs}`])
  const database = `backfill_${count}_${collectors}`
  await server.query(`CREATE DATABASE ${database}`)
  const { url: rpc } = await archive.readLine<{ url: string }>()
  const urls = { rpc, service: sink.url, address: server.address('', database) }
  const members = Array.from({ length: count }, (_, index) => new Member(place, `eu-${index + 1}`, urls, collectors))
  const ending = new AbortController()
  try {
    await Promise.all(members.map(member => member.start()))
    const killing = count > 1 ? killInTurn(members, ending.signal) : undefined
    const startMs = performance.now()
    await members[0]?.backfill(['--from', hourText(from), '--to', hourText(hourAfter(from, hours - 1))])
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
