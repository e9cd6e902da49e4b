import { describe, expect, it } from 'vitest'
import { hexOf } from '../../../src/chain/shapes.ts'
import { systemTime } from '../../../src/edge/time.ts'
import { type Hour, hourAfter } from '../../../src/model/hour.ts'
import { type Answers, archiveAnswers } from '../support/archive.ts'
import { answering, NodeError } from '../support/node.ts'
import { faultOf, firstHour, genesisSeconds, hourSeconds, node, openChain, patient } from '../support/readers.ts'
import { headerOf, type ScriptedChain, scriptedChain } from '../support/scripted-chain.ts'
import { MemoryFinalBlocks } from '../support/synthetic-final-blocks.ts'

/** Nodes that answer for blocks that are not there in ways of their own: what is found is the same. */

const numberOf = (params: readonly unknown[]) => (params[0] === 'latest' ? undefined : BigInt(String(params[0])))

/** An archive that answers some block numbers differently. */
function odd(chain: ScriptedChain, answer: (number: bigint, rest: () => unknown) => unknown, id = 1): Answers {
  const answers = archiveAnswers(chain, { chainId: id })
  return (method, params) => {
    const number = method === 'eth_getBlockByNumber' ? numberOf(params) : undefined
    return number === undefined ? answers(method, params) : answer(number, () => answers(method, params))
  }
}

describe('a node that answers an error for a block past its head', () => {
  const quietSeconds = 70 * 60
  const head = 2_000

  it.each([
    ['Avalanche', -32000, 'cannot query unfinalized data'],
    ['proxyd', -32019, 'block is out of range'],
    ['Lotus', 1, 'bad tipset height: requested a future epoch (beyond head)'],
    ['a node that is rude', -32603, 'internal error'],
  ])('is searched to its end: %s', async (_, code, message) => {
    // Quiet for 70 minutes before its last block, so that estimates of a late hour lie beyond it.
    const chain = scriptedChain(head, number => genesisSeconds + 12 * number + (number === head ? quietSeconds : 0))
    const late = odd(chain, (number, rest) => {
      if (number > chain.head) throw new NodeError(code, message)
      return rest()
    })
    const { url } = await node(answering(late))
    const reader = openChain([url])
    const lastSeconds = genesisSeconds + 12 * (head - 1)
    const hour = hourAfter(firstHour, Math.floor((lastSeconds - hourSeconds(firstHour)) / 3_600) + 1)
    expect((await reader.block(hour, patient)).number).toBe(BigInt(head - 1))
    const tooLate = await faultOf(reader.block(hourAfter(hour, 2), patient))
    expect(tooLate.code).toBe('chain-behind')
  })
})

describe('a chain with numbers that have no block', () => {
  const emptySeconds = 30
  const isEmpty = (number: bigint) => number % 97n === 40n || number % 977n === 41n || number % 120n === 94n
  const chain = scriptedChain(100_000, number => genesisSeconds + emptySeconds * number, { isEmpty })

  it.each([
    ['null', (_: bigint, rest: () => unknown) => rest()],
    [
      'an error',
      (number: bigint, rest: () => unknown) => {
        if (isEmpty(number)) throw new NodeError(12, `requested epoch was a null round (${number})`)
        return rest()
      },
    ],
    [
      'the block before',
      (number: bigint, rest: () => unknown) => {
        if (!isEmpty(number)) return rest()
        const answers = archiveAnswers(chain, { chainId: 314 })
        for (let before = number - 1n; ; before--) {
          if (!isEmpty(before)) return answers('eth_getBlockByNumber', [hexOf(before)])
        }
      },
    ],
  ] as const)('is searched exactly where they are answered by %s', async (_, answer) => {
    const { url } = await node(answering(odd(chain, answer, 314)))
    const reader = openChain([url], { id: 314 })
    const hours = Array.from({ length: 200 }, (_, index) => hourAfter(firstHour, index))
    const blocks = await Promise.all(hours.map(hour => reader.block(hour, patient)))
    const expected = hours.map(hour => {
      let number = BigInt(Math.floor((hourSeconds(hour) - genesisSeconds) / emptySeconds))
      while (isEmpty(number)) number -= 1n
      return number
    })
    expect(blocks.map(({ number }) => number)).toEqual(expected)
    // Some of the hours' own numbers are empty, else this shows nothing.
    expect(expected.some((number, index) => number !== numberAt(hours[index]))).toBe(true)
  })

  function numberAt(hour: typeof firstHour | undefined): bigint {
    return BigInt(Math.floor((hourSeconds(hour ?? firstHour) - genesisSeconds) / emptySeconds))
  }

  it('is searched live, one hour after the other', async () => {
    const { url } = await node(answering(odd(chain, (_, rest) => rest(), 314)))
    const reader = openChain([url], { id: 314 })
    for (let index = 0; index < 20; index++) {
      const hour = hourAfter(firstHour, index)
      const { timestampSeconds } = await reader.block(hour, patient)
      expect(hourSeconds(hour) - timestampSeconds).toBeLessThan(3 * emptySeconds)
    }
  })
})

describe('a node without old blocks', () => {
  const chain = scriptedChain(100_000, number => genesisSeconds + 12 * number)
  const first = 60_000n
  const pruned = (number: bigint, rest: () => unknown) => {
    if (number < first) throw new NodeError(4444, 'pruned history unavailable')
    return rest()
  }
  const emptied = (number: bigint, rest: () => unknown) => (number > 0n && number < first ? null : rest())
  const hourOfBlock = (number: number) => hourAfter(firstHour, Math.floor((12 * number) / 3_600))

  it('is searched where it has them, also when block 0 is gone', async () => {
    const { url } = await node(answering(odd(chain, pruned)))
    const hour = hourOfBlock(70_000)
    const expected = BigInt(
      (hourSeconds(hour) - genesisSeconds) / 12 - (((hourSeconds(hour) - genesisSeconds) / 12) % 1),
    )
    expect((await openChain([url]).block(hour, patient)).number).toBe(expected)
  })

  it.each([
    ['an error', pruned, /pruned history unavailable/],
    ['nothing', emptied, /has no header of block \d+, though of its last block: it does not have block \d+/],
  ] as const)('lacks an hour before them, and leaves the others their blocks: %s', async (_, answer, words) => {
    const { url } = await node(answering(odd(chain, answer)))
    const reader = openChain([url])
    const [old, recent] = await Promise.all([
      faultOf(reader.block(hourOfBlock(40_000), patient)),
      reader.block(hourOfBlock(80_000), patient),
    ])
    expect(old).toMatchObject({ code: 'chain-state-missing', message: expect.stringMatching(words) })
    expect(old.fix).toMatch(/archive/)
    expect(recent.number).toBeGreaterThan(first)
    expect(reader.health()).toMatchObject([{ state: 'well', trouble: 'pruned' }])
  })

  it('lacks the logs of an hour whose block is known from before', async () => {
    const { url } = await node(answering(odd(chain, emptied)))
    const finalBlocks = new MemoryFinalBlocks()
    const hour = hourOfBlock(40_000)
    const hours = [hour, hourAfter(hour, -1)]
    const blocks = hours.map(each => ({ hour: each, block: headerOf(chain, chain.asOf(hourSeconds(each))) }))
    await finalBlocks.keep(blocks)
    const contract = `0x${'c0'.repeat(20)}` as const
    const reader = openChain([url], { finalBlocks })
    const fault = await faultOf(reader.logs(hour, { address: contract, topics: [] }, patient))
    expect(fault.code).toBe('chain-state-missing')
  })
})

it('a block that one node of a balancer lacks is a failure, and not a hole', async () => {
  const chain = scriptedChain(1_000, number => genesisSeconds + 12 * number)
  const missing = BigInt(((hourSeconds(hourAfter(firstHour, 1)) - genesisSeconds) / 12) | 0)
  const { url } = await node(answering(odd(chain, (number, rest) => (number === missing ? null : rest()))))
  const fault = await faultOf(openChain([url]).block(hourAfter(firstHour, 1), patient))
  expect(fault.code).toBe('chain-unreachable')
  expect(fault.message).toMatch(/does not have block/)
})

describe('headers that cannot be are named with their host', () => {
  const chain = scriptedChain(1_000, number => genesisSeconds + 12 * number)
  type Header = Record<string, unknown>
  const isOf = (header: Header, divisor: bigint) => BigInt(String(header['number'])) % divisor === 0n

  it.each([
    [
      'a parent that is another block',
      (header: Header) => ({ ...header, parentHash: `0x${'d'.repeat(64)}` }),
      /not of one chain: the parent of block \d+ is 0xd+, and block \d+ is 0xa/,
    ],
    [
      'times that fall',
      (header: Header) => (isOf(header, 2n) ? header : { ...header, timestamp: '0x1' }),
      /not of one chain: block \d+ is older than block \d+/,
    ],
    [
      'another number',
      (header: Header) => (isOf(header, 1_000n) ? header : { ...header, number: '0x3e7' }),
      /answered block 999 when asked for block \d+/,
    ],
    [
      'times in milliseconds',
      (header: Header) => ({ ...header, timestamp: hexOf(BigInt(String(header['timestamp'])) * 1_000n) }),
      /timestamps that are not in seconds: block \d+ is of 1700\d{9}$/,
    ],
  ])('%s', async (_, change, words) => {
    const answers = archiveAnswers(chain)
    const { url, host, requests } = await node(
      answering((method, params) => {
        const answer = answers(method, params)
        return method === 'eth_getBlockByNumber' && answer ? change(answer as Header) : answer
      }),
    )
    const fault = await faultOf(openChain([url]).block(hourAfter(firstHour, 1), patient))
    expect(fault).toMatchObject({ code: 'chain-unreachable', message: expect.stringMatching(words) })
    expect(fault.message).toContain(host)
    expect(fault.fix).toContain('compare its blocks with those of another node')
    expect(requests.length).toBeLessThan(40)
  })
})

it('a block is in the chain, or not, or a node that has later ones does not say', async () => {
  const chain = scriptedChain(1_000, number => genesisSeconds + 12 * number)
  const { url } = await node(answering(odd(chain, (number, rest) => (number < 500n ? null : rest()))))
  const reader = openChain([url])
  const [there, early] = [headerOf(chain, 900), headerOf(chain, 400)]
  const past = { number: 1_001n, hash: there.hash }
  const blocks = [there, { ...there, hash: early.hash }, past, early]
  const answers = await Promise.all(blocks.map(block => reader.hasBlock(block, patient)))
  expect(answers).toEqual([true, false, false, undefined])
})

it('whether a block is in the chain is asked until the time is up, and the node is named', async () => {
  const { url, host } = await node(() => new Promise<never>(() => {}))
  const stopping = new AbortController()
  const asking = faultOf(openChain([url]).hasBlock({ number: 1n, hash: `0x${'aa'.repeat(32)}` }, stopping.signal))
  stopping.abort(new DOMException('the time is up', 'TimeoutError'))
  expect(await asking).toMatchObject({ code: 'chain-unreachable', message: expect.stringContaining(host) })
})

it('a chain that began again has no hour without logs between its two pasts', async () => {
  let chain = scriptedChain(2_000, number => genesisSeconds + 12 * number)
  const { url } = await node(answering((...asked) => archiveAnswers(chain)(...asked)))
  const reader = openChain([url])
  const filter = { address: `0x${'c0'.repeat(20)}`, topics: [] } as const
  const logs = () => reader.logs(hourAfter(firstHour, 1), filter, patient)
  await reader.block(firstHour, patient)
  chain = scriptedChain(400, number => genesisSeconds + 50 * number, { fork: 1 })
  const fault = await faultOf(logs())
  expect(fault.message).toBe(
    'ethereum has block 128 at the end of the hour, and block 233 at the end of an earlier one',
  )
  expect(fault.permanence).toBe('transient')
  expect([...(await logs()).value].map(({ blockNumber }) => Number(blockNumber)).slice(0, 1)).toEqual([57])
})

describe('a final block that a reorg replaced', () => {
  const contract = { address: `0x${'c0'.repeat(20)}`, topics: [] } as const
  const before = scriptedChain(2_000, number => genesisSeconds + 12 * number)
  // The new branch has other numbers at the end of each hour.
  const after = scriptedChain(
    2_000,
    number => genesisSeconds + 12 * Math.min(number, 100) + 11 * Math.max(0, number - 100),
    {
      fork: 101,
    },
  )
  const asOf = (chain: ScriptedChain, hour: Hour) => chain.asOf(hourSeconds(hour))

  it('is not what an hour of logs begins after, nor where a process finds it, or later in the same one', async () => {
    let chain = before
    let steadyMs = 0
    const time = { ...systemTime, steadyMs: () => steadyMs }
    const { url, requests } = await node(answering((...asked) => archiveAnswers(chain)(...asked)))
    const finalBlocks = new MemoryFinalBlocks()
    const running = openChain([url], { finalBlocks, time })
    await running.block(firstHour, patient)
    const asked = requests.length
    await running.block(firstHour, patient)
    expect(requests, 'what was seen just now is not asked for').toHaveLength(asked)
    chain = after
    steadyMs += 3_600_000
    const begun = openChain([url], { finalBlocks: await copyOf(finalBlocks), time })
    const hour = hourAfter(firstHour, 1)
    for (const reader of [running, begun]) {
      const numbers = [...(await reader.logs(hour, contract, patient)).value].map(({ blockNumber }) =>
        Number(blockNumber),
      )
      expect([numbers[0], numbers.at(-1)]).toEqual([asOf(after, firstHour) + 1, asOf(after, hour)])
      expect(Number((await reader.block(firstHour, patient)).number)).toBe(asOf(after, firstHour))
    }
  })
})

/** Final blocks as a process finds them that begins now. */
async function copyOf(finalBlocks: MemoryFinalBlocks): Promise<MemoryFinalBlocks> {
  const copy = new MemoryFinalBlocks()
  await copy.keep([...finalBlocks.all()].map(([hour, block]) => ({ hour, block })))
  return copy
}
