import { expect, it } from 'vitest'
import { VirtualTime } from '../support/virtual-time.ts'
import { DemoError, Ending } from './ending.ts'

it('a part that dies ends the demo with its error', async () => {
  const ending = new Ending(new VirtualTime(0))
  const { promise, resolve } = Promise.withResolvers<string>()
  ending.watch(promise, how => new DemoError(`died of ${how}`))
  resolve('hunger')
  await new Promise(over => ending.signal.addEventListener('abort', over))
  expect(ending.causeOf(new Error('what that broke'))).toMatchObject({ message: 'died of hunger' })
  expect(ending.isAsked).toBe(false)
})

it('a part that dies of the Ctrl-C that is on its way to us is no error', async () => {
  const ending = new Ending(new VirtualTime(0))
  const dying = ending.die(new DemoError('the daemon ended'))
  ending.ask('SIGINT')
  await dying
  expect(ending.isAsked).toBe(true)
  expect(ending.reachesChildren).toBe(true)
})

it('a part whose end is meant ends nothing', async () => {
  const time = new VirtualTime(0)
  const ending = new Ending(time)
  const { promise, resolve } = Promise.withResolvers<void>()
  ending.watch(promise, () => new DemoError('it ended'))[Symbol.dispose]()
  resolve()
  await time.sleep(10_000)
  expect(ending.signal.aborted).toBe(false)
})
