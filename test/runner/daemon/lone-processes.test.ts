import { describe, expect, it } from 'vitest'
import type { CollectorChild } from '../../../src/runner/daemon/child.ts'
import type { Lost } from '../../../src/runner/daemon/child-spawn.ts'
import { LoneProcesses, Processes } from '../../../src/runner/daemon/processes.ts'
import { groupOf } from '../../../src/runner/daemon/sandbox.ts'
import type { Task, TaskEnd } from '../../../src/runner/messages.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
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

describe('a process that cannot be started', () => {
  const never = new AbortController().signal
  const done: TaskEnd = { kind: 'described', description: { kind: 'mistaken', mistakes: [] } }

  it('leaves the place of its collector to the next hour', async () => {
    let starts = 0
    const start = async () => {
      starts += 1
      if (starts === 1) throw new Error('too many open files')
      return { run: async () => done, end: async () => {} } as Partial<CollectorChild> as CollectorChild
    }
    const alone = new LoneProcesses(start, 1, never)
    const ends = ['a', 'a', 'b'].map(id => alone.run(taskOf(id), group, false))
    expect((await Promise.allSettled(ends)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  })

  it('leaves the place of its hour to others, also once their memory was not enough', async () => {
    let starts = 0
    const start = async () => {
      starts += 1
      if (starts === 1) throw new Error('too many open files')
      const child = {
        ...{ isAlive: true, isIdle: false, gone: turn() },
        run: async () => {
          await turn()
          child.isAlive = starts > 2
          return child.isAlive ? done : { ...lost, lacksMemory: true }
        },
      }
      return child as Partial<CollectorChild> as CollectorChild
    }
    const time = new VirtualTime(hour)
    const processes = new Processes({ start, idleMsMax: 1_000, processesMax: 1, time, stopping: never })
    await expect(processes.run(taskOf('a'), group)).rejects.toThrow('too many open files')
    expect(await Promise.all(['a', 'b'].map(id => processes.run(taskOf(id), group)))).toEqual([done, done])
  })
})
