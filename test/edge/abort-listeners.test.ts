import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { AbortListeners } from '../../src/edge/abort-listeners.ts'

describe('what a signal ends', () => {
  const ended: string[] = []
  const named = (name: string) => ({ end: (reason: Error) => void ended.push(`${name}: ${reason.message}`) })

  it('is all that was added and not deleted, by one listener', () => {
    const [all, controller, other] = [new AbortListeners(), new AbortController(), new AbortController()]
    const [a, b, c] = [named('a'), named('b'), named('c')]
    for (const one of [a, b, c]) all.add(controller.signal, one)
    all.add(other.signal, named('d'))
    all.delete(controller.signal, b)
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
    controller.abort(new Error('stop'))
    expect(ended).toEqual(['a: stop', 'c: stop'])
  })

  it('leaves no listener once all is over', () => {
    const [all, { signal }] = [new AbortListeners(), new AbortController()]
    const [a, b] = [named('a'), named('b')]
    all.add(signal, a)
    all.add(signal, b)
    all.delete(signal, a)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    all.delete(signal, b)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})
