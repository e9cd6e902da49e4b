import type { PostgresServer } from '../../support/postgres/server.ts'
import { Place, startSink } from '../delivery/place.ts'
import type { Figure } from '../figures.ts'
import { startRole } from '../role.ts'
import { Member } from './member.ts'

const delivers = 'this daemon delivers now'
const rounds = 5

/** Promised times, in milliseconds. */
const promised = { SIGKILL: 15_000, SIGTERM: 5_000 } as const

/** Time until another daemon delivers after the one that did was killed, or was asked to stop; of what is promised. */
export async function* takingOver(server: PostgresServer): AsyncGenerator<Figure> {
  await using place = new Place()
  const sink = await startSink(place)
  const archive = startRole(new URL('../chain/roles/archive.ts', import.meta.url), ['slots', '0'])
  await server.query('CREATE DATABASE takeover')
  const { url: rpc } = await archive.readLine<{ url: string }>()
  const urls = { rpc, service: sink.url, address: server.address('', 'takeover') }
  let [holder, next] = [new Member(place, 'eu-1', urls), new Member(place, 'eu-2', urls)]
  try {
    const held = holder.logged(delivers)
    await holder.start()
    await held
    await next.start()
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const waits: number[] = []
      while (waits.length < rounds) {
        const taken = next.logged(delivers)
        const startMs = performance.now()
        await holder.kill(signal)
        waits.push((await taken) - startMs)
        // The same name may start again at once.
        await holder.start()
        ;[holder, next] = [next, holder]
      }
      const [limitMs, how] = [promised[signal], signal === 'SIGKILL' ? 'was killed' : 'stopped']
      const what = `time until another delivers once a daemon ${how}, of ${limitMs / 1_000} s`
      yield { what, values: waits.map(waitMs => waitMs / limitMs), target: { atMost: 1 } }
    }
  } finally {
    await Promise.all([holder, next].map(member => member.kill('SIGTERM')))
    await archive.stop()
  }
}
