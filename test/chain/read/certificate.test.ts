import { describe, expect, it } from 'vitest'
import type { EndpointReport } from '../../../src/chain/endpoint/endpoint-pool.ts'
import { EndpointFailure } from '../../../src/chain/endpoint/failures.ts'
import { type BlockReference, Certifier, callWithHeader, takesHashes } from '../../../src/chain/read/certificate.ts'
import { archiveAnswers } from '../support/archive.ts'
import { countedEndpoint } from '../support/counted-endpoint.ts'
import { NodeError } from '../support/node.ts'
import { genesisSeconds, patient } from '../support/readers.ts'
import { headerOf, type ScriptedChain, scriptedChain } from '../support/scripted-chain.ts'
import type { SeenHeader } from '../support/synthetic-multicall.ts'

const timestampOf = (number: number) => genesisSeconds + 12 * number
const chain = scriptedChain(1_000, timestampOf)
const block = headerOf(chain, 500)

describe('what calls see of their block', () => {
  const parentHash = `0x${'7'.repeat(64)}` as const
  const ways = {
    plain: header => header,
    later: header => ({ ...header, timestampSeconds: header.timestampSeconds + 7 }),
    earlier: header => ({ ...header, timestampSeconds: header.timestampSeconds - 7 }),
    next: header => ({ ...header, number: header.number + 1n }),
    other: header => ({ ...header, number: header.number + 2n + header.number / 600n }),
    always: header => ({ ...header, number: header.number / 7n, timestampSeconds: 1_800_000_000 }),
    own: header => ({ ...header, parentHash }),
    branch: header => (header.number < 400n ? header : { ...header, parentHash }),
    once: header => (header.number === 500n ? { ...header, timestampSeconds: 5 } : header),
    parent: header => (header.number === 500n ? { ...header, parentHash } : header),
    both: header => ({ ...header, timestampSeconds: header.timestampSeconds + 7, parentHash }),
  } satisfies Record<string, (header: SeenHeader) => SeenHeader>

  const others: Readonly<Record<string, ScriptedChain>> = {
    head: scriptedChain(500, timestampOf),
    fork: scriptedChain(1_000, timestampOf, { fork: 400 }),
  }

  // Reads of the endpoint a, or b, and what comes of them.
  it.each<[title: string, stateOfB: EndpointReport['state'] | undefined, reads: string[], words?: string]>([
    ['nothing else', undefined, ['plain: believed', 'plain by number: believed']],
    ['a time, which a number does not tell', undefined, ['later by number: read at timestamp']],
    ['a later time', undefined, ['later: believed', 'later by number: does not take'], 'timestamp (+7 s)'],
    ['an earlier time', undefined, ['earlier: believed'], 'timestamp (-7 s)'],
    ['a time no more', undefined, ['later: believed', 'plain: believed']],
    ['a time, after a plain one', undefined, ['plain: believed', 'later: read at timestamp']],
    ['a time that b shows, too', 'well', ['later: read at timestamp', 'b later: believed'], 'timestamp (+7 s)'],
    ['a time that b does not show', 'well', ['later: read at timestamp', 'b earlier: read at timestamp']],
    ['a time that b cannot show', 'resting', ['later: believed'], 'timestamp (+7 s)'],
    ['a number, which b need not show', 'well', ['next: believed'], 'number (+1)'],
    ['another number each time', undefined, ['next: believed', 'other: believed'], 'number'],
    ['nothing of its block', undefined, ['always: read at timestamp']],
    ['hashes of its own', undefined, ['own: believed'], 'parent hash'],
    ['such hashes, too', undefined, ['later: believed', 'both: believed'], 'timestamp (+7 s), parent hash'],
    ['a time, without a child', undefined, ['later on a head: read at timestamp']],
    ['a time of another branch', undefined, ['later on a fork: read at timestamp']],
    ['another branch', undefined, ['branch: read on another branch']],
    ['another time once', undefined, ['once: read at timestamp 5']],
    ['another parent once', undefined, ['parent: read on another branch']],
  ])('is %s', async (_, stateOfB, reads, words) => {
    const said: string[] = []
    const all = [{ host: 'a', state: 'well' } as const, ...(stateOfB ? [{ host: 'b', state: stateOfB }] : [])]
    const certifier = new Certifier({ endpoints: () => all, contextFound: text => void said.push(text) })
    for (const each of reads) {
      const [, host = 'a', way, number, own = '', result] =
        /^(?:(b) )?(\w+)( by number)?(?: on a (\w+))?: (.*)$/.exec(each) ?? []
      const pin: BlockReference = number === undefined ? 'hash' : 'number'
      const asked: bigint[] = []
      const seenAt = ({ number }: { readonly number: bigint }) => {
        const { timestampSeconds, ...seen } = ways[way as keyof typeof ways]({
          parentHash,
          ...headerOf(chain, Number(number)),
        })
        return { ...seen, timestampSeconds: BigInt(timestampSeconds) }
      }
      const askAt = async (at: { readonly number: bigint }) => {
        asked.push(at.number)
        return seenAt(at)
      }
      const endpoint = { ...countedEndpoint(archiveAnswers(others[own] ?? chain)), host }
      const read = { endpoint, block, pin, signal: patient, askAt, askEvm: async () => seenAt({ number: 1n }) }
      const outcome = await certifier.certify(read, seenAt(block)).then(
        () => 'believed',
        (failure: EndpointFailure) => failure.reason,
      )
      expect(outcome).toContain(result)
      expect(asked.filter(number => number !== 501n)).toEqual([])
    }
    expect(certifier.words).toBe(words && `calls see another ${words} than the header of their block has`)
    if (words !== undefined) expect(said.at(-1)).toBe(certifier.words)
  })
})

describe('whether an endpoint takes hashes', () => {
  const hash = '1'.repeat(64)
  // Its answers to a hash of the chain, to one that no block has, and to a number: the words of a refusal, if it refuses.
  it.each([
    ['tells them apart', '', 'header not found', '', true],
    ['knows neither', 'header not found', 'header not found', 'header not found', true],
    ['answers any', '', '', '', false],
    ['refuses one in words of its own', '', 'no such thing', '', true],
    ['refuses both in the same words', 'no such thing', 'no such thing', '', false],
    ['names the hash in its words', `bad 0x${hash}`, `bad 0x${hash.replaceAll('1', 'f')}`, '', false],
    ['refuses both, each in other words', 'no such thing', 'no', '', true],
    ['refuses the number, too', 'no such thing', 'no such thing', 'no such thing', 'no such thing'],
    ['is away', '', 'away', '', 'is away'],
    ['reverts', '', 'execution reverted', '', false],
  ])('is known where it %s, and asked once', async (_, ofBlock, ofNone, ofNumber, expected) => {
    const headers = archiveAnswers(chain)
    const endpoint = countedEndpoint((method, params) => {
      if (method !== 'eth_call') return headers(method, params)
      const isOfNone = JSON.stringify(params[1]).includes('f'.repeat(64))
      const refusal = typeof params[1] === 'string' ? ofNumber : isOfNone ? ofNone : ofBlock
      if (refusal === 'away') throw new EndpointFailure('node.test', 'is away')
      if (refusal !== '') throw new NodeError(-32000, refusal)
      return '0x'
    })
    const taken = () => takesHashes(endpoint, block, patient).catch((failure: EndpointFailure) => failure.reason)
    expect(await taken()).toEqual(typeof expected === 'string' ? expect.stringContaining(expected) : expected)
    const { length } = endpoint.calls
    await taken()
    if (typeof expected === 'boolean') expect(endpoint.calls).toHaveLength(length)
    const asked = [headerOf(chain, 0).hash, `0x${'f'.repeat(64)}`].map(blockHash => ({
      blockHash,
      requireCanonical: true,
    }))
    expect(endpoint.calls.slice(1, 4).map(({ params }) => params[1])).toEqual([...asked, '0x1f4'])
  })
})

it.each([
  ['there is none', chain, 1_001, 'does not have block 1001'],
  ['it is of another branch', scriptedChain(1_000, () => 5, { fork: 500 }), 500, 'has another block 500'],
])('calls with the header fail where %s', async (_, other, number, message) => {
  const sought = { ...block, number: BigInt(number) }
  const calling = callWithHeader(countedEndpoint(archiveAnswers(other)), sought, [], patient)
  await expect(calling).rejects.toThrow(message)
})
