import { expect, it } from 'vitest'
import { QuestionRoom } from '../../../src/runner/daemon/question-room.ts'
import type { Ask } from '../../../src/runner/messages.ts'

const asking = (reads: number): Ask => {
  const requests = Array(reads).fill({ kind: 'balance', address: `0x${'1'.repeat(40)}` })
  return { ask: 1, run: '', chain: 'main', question: { kind: 'read', requests } }
}

it('a process that asks little is read on, whatever others wait for', async () => {
  const room = new QuestionRoom()
  const [one, other, small] = [{}, {}, {}]
  const leave = room.take(one, asking(20_000))
  expect([room.isFreeFor(one), room.isFreeFor(other)]).toEqual([false, true])
  room.take(other, asking(30_000))
  room.take(small, asking(500))
  expect([room.isFreeFor(other), room.isFreeFor(small)]).toEqual([false, true])
  const free = room.freeFor(one, new AbortController().signal)
  leave()
  await free
})

it('an end of the process ends its wait, and leaves nothing behind', async () => {
  const room = new QuestionRoom()
  const process = {}
  room.take(process, asking(30_000))
  const gone = new AbortController()
  const free = room.freeFor(process, gone.signal)
  gone.abort()
  await free
})
