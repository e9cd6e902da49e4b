import { describe, expect, it } from 'vitest'
import { thrownText } from '../../../src/runner/child/thrown.ts'

describe('the text of an error that a collector throws', () => {
  const cyclic = new Error('round')
  cyclic.cause = cyclic

  it.each<[string, Error, string]>([
    ['a cause', new Error('outer', { cause: new TypeError('inner') }), 'outer: inner'],
    ['a cause of a cause', new Error('a', { cause: new Error('b', { cause: new Error('c') }) }), 'a: b: c'],
    ['a cause that it quotes', new Error('it failed: inner', { cause: new Error('inner') }), 'it failed: inner'],
    [
      'a cause that it quotes, with a cause',
      new Error('source A: fetch failed', { cause: new Error('fetch failed', { cause: new Error('ECONNREFUSED') }) }),
      'source A: fetch failed: ECONNREFUSED',
    ],
    ['reasons and no message', new AggregateError([new Error('one'), new Error('two')]), 'one; two'],
    ['a cause that is no error', new Error('outer', { cause: 5 }), 'outer'],
    ['itself as its cause', cyclic, 'round'],
    [
      'the reasons of Promise.any',
      new AggregateError(
        [1, 2, 3, 4].map(count => new Error(`source ${count} is down`)),
        'All promises were rejected',
      ),
      'All promises were rejected: source 1 is down; source 2 is down; source 3 is down; and 1 more',
    ],
  ])('has %s', (_, error, text) => {
    expect(thrownText(error).message).toBe(text)
  })
})
