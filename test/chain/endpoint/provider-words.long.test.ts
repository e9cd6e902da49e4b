import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Hex } from '../../../src/model/block.ts'
import { sampleOf } from '../../support/soak.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { archiveAnswers, valueAt } from '../support/archive.ts'
import { echoes, open, results } from '../support/endpoints.ts'
import { type Behaviour, type Call, type FakeNode, json, NodeError, startNode } from '../support/node.ts'
import { type ProviderError, providerErrors } from '../support/provider-errors.ts'
import { faultOf, firstHour, genesisSeconds, openChain, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'

/**
 * Each meaning of an error is expressed in the words of every node and provider: what is asked next, and what a user
 * reads, follow from the meaning, which is found by asking.
 */

const chain = scriptedChain(10_000, number => genesisSeconds + 12 * number)
const honest = archiveAnswers(chain, { multicallFrom: 9_999n })
const contract = `0x${'c0'.repeat(20)}` as const
const inputs: readonly Hex[] = ['0x02', '0x05', '0x0b']
const asOf = 233n

type Answer = Readonly<Record<string, unknown>>

function answerOf({ id, method, params }: Call): Answer {
  try {
    return { jsonrpc: '2.0', id, result: method === 'echo' ? params[0] : honest(method, params) }
  } catch (error) {
    if (!(error instanceof NodeError)) throw error
    return { jsonrpc: '2.0', id, error: { code: error.code, message: error.message } }
  }
}

const answering =
  (change: (call: Call, at: number, calls: readonly Call[]) => Answer | undefined): Behaviour =>
  (calls, response, body) => {
    const answers = calls.map((call, at) => change(call, at, calls) ?? answerOf(call))
    json(response, body.startsWith('[') ? answers : answers[0])
  }

/** Meanings that an error of a node may have. */
const truths = {
  'no batches':
    (error: unknown): Behaviour =>
    (calls, response, body) =>
      body.startsWith('[') ? json(response, { id: null, error }) : answering(() => undefined)(calls, response, body),
  'no batches, said of each call': (error: unknown) =>
    answering(({ id }, _, calls) => (calls.length > 1 ? { id, error } : undefined)),
  'a long answer is cut': (error: unknown) => answering(({ id }, at) => (at > 1 ? { id, error } : undefined)),
  'no old state': (error: unknown) =>
    answering(({ id, method, params }) =>
      method === 'eth_call' && params[1] !== 'latest' ? { id, error } : undefined,
    ),
  'it fails': (error: unknown) => answering(({ id }) => ({ id, error })),
  // As a call of its own, and within code that certifies it.
  'this read reverts': (error: unknown) =>
    answering(({ id, params }) =>
      /"(data":"0x|code":"0x[\da-f]+)05"/.test(JSON.stringify(params)) ? { id, error } : undefined,
    ),
}

let behave: Behaviour = truths['it fails']({})
let server: FakeNode
beforeAll(async () => {
  server = await startNode((...request) => behave(...request))
})
afterAll(() => server.stop())

/** Rows whose errors are of a kind, each with what a node means by it. */
function* each(errors: readonly ProviderError[], truth: keyof typeof truths, ...as: ProviderError['as'][]) {
  for (const error of errors.filter(one => as.includes(one.as))) {
    behave = truths[truth](error)
    server.requests.length = 0
    yield error
  }
}

/** Outcome of calls that are sent together, with the chain id. */
async function called(count: number) {
  const endpoint = open(server.url, { time: new VirtualTime(Date.now()) })
  const outcome = await endpoint.call(echoes(count), patient).then(results, (error: unknown) => error)
  endpoint.close()
  return { outcome, sizes: server.requests.map(({ length }) => length), rate: endpoint.rate.callsPerSecondMax }
}

/** Outcome of reads of an hour. */
async function read(inputs: readonly Hex[]) {
  const reader = openChain([server.url], { time: new VirtualTime(Date.now()) })
  const requests = inputs.map(input => ({ kind: 'call', to: contract, input }) as const)
  const outcome = await reader.read(firstHour, requests, patient).then(({ value }) => value, faultOfError)
  reader.close()
  return outcome
}

/** Advice to a user, by the words of an error. */
const fixes = {
  key: /^check the key/,
  plan: /^look up at the provider what the plan/,
  rate: /^set rate: of this endpoint/,
  none: /look into the log of the node/,
} as const

const faultOfError = (error: unknown) => faultOf(Promise.reject(error))
const unlimited = Number.POSITIVE_INFINITY

describe.each(sampleOf(Object.entries(providerErrors), 6))('in the words of %s', (_, errors) => {
  it('a node that takes no batches is asked single calls, and is not slowed down', async () => {
    for (const error of each(errors, 'no batches', undefined, 'rate')) {
      // Words of a key are believed.
      if (error.account && !/batch/i.test(String(error.message))) continue
      // Other errors are halved, as one call may be to blame.
      const next = error.as === 'rate' ? 1 : 2
      const { outcome, sizes, rate } = await called(2)
      expect([error, outcome, sizes.slice(0, 2), rate]).toEqual([error, [0, 1], [3, next], unlimited])
    }
    for (const error of each(errors, 'no batches, said of each call', undefined, 'rate')) {
      const { outcome, sizes, rate } = await called(2)
      expect([error, outcome, sizes.slice(0, 2), rate]).toEqual([error, [0, 1], [3, 1], unlimited])
    }
  })

  it('a node that cuts long answers is asked one more alone, then halves', async () => {
    for (const error of each(errors, 'a long answer is cut', undefined)) {
      const { outcome, sizes } = await called(3)
      expect([error, outcome, sizes]).toEqual([error, [0, 1, 2], [4, 1, 2, 2]])
    }
  })

  it('a node without old state is asked the same call there and at its last block, twice', async () => {
    for (const error of each(errors, 'no old state', undefined)) {
      const fault = await read(['0x02'])
      const text = /^ethereum: \S+ has no state of block 233, though of its last block: it answered an error: /
      const expected = { code: 'chain-state-missing', message: expect.stringMatching(text) }
      expect([error, fault]).toEqual([error, expect.objectContaining(expected)])
      const probe = ['eth_getBlockByNumber', 'eth_call', 'eth_call']
      expect([error, server.requests.slice(-2).map(methods => methods.slice(-3))]).toEqual([error, [probe, probe]])
    }
  })

  it('a node that fails at everything is named with its words, and what to do', async () => {
    for (const error of each(errors, 'it fails', undefined, 'rate')) {
      const message = typeof error.message === 'string' ? error.message : 'no reason given'
      const text = `answered an error: ${message.replace(/\s+/g, ' ').slice(0, 100)}`
      const fix = fixes[error.account ?? (error.as === 'rate' ? 'rate' : 'none')]
      const expected = {
        code: 'chain-unreachable',
        message: expect.stringContaining(text),
        fix: expect.stringMatching(fix),
      }
      const fault = await read(['0x02'])
      expect([error, fault]).toEqual([error, expect.objectContaining(expected)])
    }
  })

  it('a revert is that of its own read, and says nothing about the node', async () => {
    for (const error of each(errors, 'this read reverts', 'revert')) {
      const expected = inputs.map(input => (input === '0x05' ? 'reverted' : valueAt(input, asOf)))
      const outcome = [await read(inputs)]
        .flat()
        .map(one => ('kind' in one && one.kind === 'returned' ? one.output : 'kind' in one && one.kind))
      expect([error, outcome]).toEqual([error, expected])
    }
  })
})
