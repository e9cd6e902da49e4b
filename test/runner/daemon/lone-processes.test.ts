import { describe, expect, it } from 'vitest'
import type { CollectorChild } from '../../../src/runner/daemon/child.ts'
import type { Lost } from '../../../src/runner/daemon/child-spawn.ts'
import { LoneProcesses } from '../../../src/runner/daemon/processes.ts'
import { groupOf } from '../../../src/runner/daemon/sandbox.ts'
import type { Task, TaskEnd } from '../../../src/runner/messages.ts'
import { hour } from '../setup.ts'

/** A task of a collector; each is another one. */
function taskOf(id: string): Task {
  return { kind: 'collect', collector: { id, use: './any.ts', configFile: 'tidegauge.yaml', options: {} }, hour }
}

const group = groupOf({ use: './any.ts', configFile: '/tidegauge.yaml' }, [])
const lost: Lost = { kind: 'lost', how: 'ended' }

interface Pool {
  readonly alone: LoneProcesses
  /** Collectors that have a process now, in the order in which they got it. */
  running(): string[]
  /** Ends the process of a collector, and lets the next one start. */
  finish(id: string): Promise<void>
}

/** A pool whose processes are promises. */
function poolOf(places: number, stopping = new AbortController().signal): Pool {
  const under: { readonly id: string; readonly done: (end: TaskEnd | Lost) => void }[] = []
  const start = async () => {
    const child: Pick<CollectorChild, 'run' | 'end'> = {
      run: ({ collector }) => new Promise(done => under.push({ id: collector.id, done })),
      end: async () => {},
    }
    return child as CollectorChild
  }
  return {
    alone: new LoneProcesses(start, places, stopping),
    running: () => under.map(({ id }) => id),
    async finish(id) {
      const index = under.findIndex(entry => entry.id === id)
      under.splice(index, 1)[0]?.done(lost)
      await turn()
    },
  }
}

/** Whatever runs on promises alone has come to rest after it. */
const turn = () => new Promise<void>(resolve => setImmediate(resolve))

describe('processes of one collector each', () => {
  it('run at most so many at a time', async () => {
    const { alone, running, finish } = poolOf(2)
    for (const id of ['a', 'b', 'c']) void alone.run(taskOf(id), group, false)
    await turn()
    expect(running()).toEqual(['a', 'b'])
    await finish('b')
    expect(running()).toEqual(['a', 'c'])
  })

  it('are never two of the same collector, however many hours of it wait and places are free', async () => {
    const { alone, running, finish } = poolOf(3)
    for (const id of ['a', 'a', 'a', 'b']) void alone.run(taskOf(id), group, false)
    await turn()
    expect(running()).toEqual(['a', 'b'])
    await finish('b')
    expect(running()).toEqual(['a'])
    await finish('a')
    expect(running()).toEqual(['a'])
  })

  it('go to the probably innocent first', async () => {
    const { alone, running, finish } = poolOf(1)
    void alone.run(taskOf('first'), group, false)
    void alone.run(taskOf('culprit'), group, true)
    void alone.run(taskOf('innocent'), group, false)
    await turn()
    await finish('first')
    expect(running()).toEqual(['innocent'])
    await finish('innocent')
    expect(running()).toEqual(['culprit'])
  })

  it('are not started any more after a stop: what waited is lost', async () => {
    const stopping = new AbortController()
    const { alone, running, finish } = poolOf(1, stopping.signal)
    void alone.run(taskOf('a'), group, false)
    const waiting = alone.run(taskOf('b'), group, false)
    await turn()
    stopping.abort()
    await finish('a')
    expect(await waiting).toEqual({ kind: 'lost', how: 'was stopped' })
    expect(running()).toEqual([])
  })
})
