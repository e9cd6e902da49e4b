import { expect, it, onTestFinished } from 'vitest'
import { type SignalRequest, Signals } from '../../src/cli/signals.ts'

const names = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** Signals without those of the process of the tests. */
function signals(): Signals {
  const before = names.map(name => process.listeners(name))
  onTestFinished(() => {
    for (const [index, name] of names.entries()) {
      for (const added of process.listeners(name)) if (!before[index]?.includes(added)) process.off(name, added)
    }
  })
  return new Signals()
}

it.each<[string, (typeof names)[number][], SignalRequest[]]>([
  ['a storm of reloads is one', ['SIGHUP', 'SIGHUP', 'SIGHUP'], ['reload']],
  [
    'a stop goes first, however many reloads were asked for before it',
    ['SIGHUP', 'SIGHUP', 'SIGINT'],
    ['stop', 'stop'],
  ],
  ['nothing follows a stop', ['SIGTERM', 'SIGHUP'], ['stop', 'stop']],
])('%s', async (_, sent, expected) => {
  const asked = signals()
  for (const signal of sent) process.emit(signal)
  const heard: SignalRequest[] = []
  for (const _each of expected) heard.push(await asked.next())
  const ended = AbortSignal.abort()
  expect([...heard, asked.stopSignal.aborted, await asked.next(ended)]).toEqual([
    ...expected,
    expected.includes('stop'),
    'stop',
  ])
})

it('keeps one reload that is asked for during another, and none after that', async () => {
  const asked = signals()
  const end = new AbortController()
  process.emit('SIGHUP')
  expect(await asked.next()).toBe('reload')
  for (let time = 0; time < 30; time += 1) process.emit('SIGHUP')
  expect(await asked.next()).toBe('reload')
  const next = asked.next(end.signal)
  end.abort()
  expect(await next).toBe('stop')
})
