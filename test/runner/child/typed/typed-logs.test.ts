import { encodeAbiParameters, encodeEventTopics, pad, parseAbiItem } from 'viem/utils'
import { describe, expect, it } from 'vitest'
import type { RawLog } from '../../../../src/chain/log-list.ts'
import type { Hex, LogFilter } from '../../../../src/model/block.ts'
import { chainAsOf } from '../../../../src/runner/child/typed-reads.ts'
import { faultOf, firstHour, patient } from '../../../chain/support/readers.ts'

const erc20 = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)')
const noIndexed = parseAbiItem('event Transfer(address from, address to, uint256 value)')
const oneIndexed = parseAbiItem('event Transfer(address indexed from, address to, uint256 value)')
const erc721 = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 indexed value)')
const [token, nft] = [`0x${'20'.repeat(20)}`, `0x${'72'.repeat(20)}`] as const
const [signature] = encodeEventTopics({ abi: [erc20] }) as [Hex]
const who = pad('0xaa', { size: 32 })
const transactionHash: Hex = `0x${'77'.repeat(32)}`
const word = (value: bigint) => encodeAbiParameters([{ type: 'uint256' }], [value])

/** As an ERC-20 token emits it: two indexed arguments, and the amount in the data. */
function transfer(amount: bigint, parts: Partial<RawLog> = {}): RawLog {
  const log = {
    address: token,
    topics: [signature, who, who],
    data: word(amount),
    blockNumber: 7n,
    logIndex: 0,
    transactionHash,
  }
  return { ...log, ...parts }
}

/** As an ERC-721 token emits it: all three are indexed. */
const ofNft = (id: bigint) => transfer(id, { address: nft, topics: [signature, who, who, word(id)], data: '0x' })

function chain(...logs: RawLog[]) {
  const never = () => Promise.reject(new Error('not asked for here'))
  return chainAsOf({ block: never, read: never, logs: async () => logs }, firstHour, patient, 'ethereum')
}

describe('logs of an event', () => {
  it('are decoded', async () => {
    const logs = await chain(transfer(5n), transfer(6n)).logs({ address: token, event: erc20 })
    expect(logs.map(({ args }) => args.value)).toEqual([5n, 6n])
  })

  it.each([
    ['none', noIndexed],
    ['one', oneIndexed],
    ['three', erc721],
  ])('whose ABI says that %s of two arguments are indexed are a fault, and never none', async (_, event) => {
    const fault = await faultOf(chain(transfer(5n), transfer(6n)).logs({ address: token, event }))
    expect(fault).toMatchObject({
      code: 'chain-call-undecodable',
      facts: { chain: 'ethereum', contract: token, event: 'Transfer', block: 7 },
      fix: 'check which arguments of Transfer are indexed, and that address and event belong together',
    })
    expect(fault.message).toMatch(/^a log of Transfer has 3 topics and 32 bytes where the ABI describes \d topics?$/)
  })

  it.each([
    ['no', '0x'],
    ['half of its', `0x${'00'.repeat(16)}`],
  ] as const)('with %s data are a fault also among others', async (_, data) => {
    const fault = await faultOf(chain(transfer(5n), transfer(6n, { data })).logs({ address: token, event: erc20 }))
    expect(fault.code).toBe('chain-call-undecodable')
    expect(fault.message).toContain('where the ABI describes other data')
  })

  it('leave out those of the same signature with another number of topics, where others of their contract fit', async () => {
    const mixed = transfer(1n, { topics: [signature, who, who, word(1n)], data: '0x' })
    const logs = await chain(mixed, transfer(5n)).logs({ address: token, event: erc20 })
    expect(logs.map(({ args }) => args.value)).toEqual([5n])
  })

  it('are judged for each contract of a list: an NFT among tokens is a fault, and not left out', async () => {
    const filter = { address: [token, nft], event: erc20 }
    const fault = await faultOf(chain(transfer(5n), ofNft(1n), transfer(6n)).logs(filter))
    expect(fault).toMatchObject({ code: 'chain-call-undecodable', facts: { contract: nft } })
  })

  it('are a fault where a word does not fit its type, in the topics and in the data', async () => {
    const level = parseAbiItem('event Level(address indexed who, bytes indexed name, uint8 level)')
    const [topic] = encodeEventTopics({ abi: [level] }) as [Hex]
    const log = (address: Hex, data: bigint) =>
      transfer(0n, { topics: [topic, address, pad('0xff')], data: word(data) })
    const logs = (one: RawLog) => chain(one).logs({ address: token, event: level })
    expect((await logs(log(who, 255n)))[0]?.args.level).toBe(255)
    for (const wrong of [log(who, 256n), log(pad('0x01', { dir: 'right' }), 1n)])
      expect((await faultOf(logs(wrong))).code).toBe('chain-call-undecodable')
  })

  it('of an NFT alone are not those of a token', async () => {
    const fault = await faultOf(chain(ofNft(1n)).logs({ address: nft, event: erc20 }))
    expect(fault.message).toBe('a log of Transfer has 4 topics and 0 bytes where the ABI describes 3 topics')
    expect(await chain(ofNft(1n)).logs({ address: nft, event: erc721 })).toHaveLength(1)
  })

  const approval = parseAbiItem('event Approval(address indexed owner, address indexed spender, uint256 value)')
  const [approved] = encodeEventTopics({ abi: [approval] }) as [Hex]
  const approve = (amount: bigint) => transfer(amount, { topics: [approved, who, who] })

  it('of several events have the name of theirs, and the transaction', async () => {
    const logs = await chain(transfer(5n), approve(6n), transfer(7n)).logs({
      address: token,
      events: [erc20, approval],
    })
    const spenders = logs.flatMap(log => (log.eventName === 'Approval' ? [log.args.spender] : []))
    expect(logs.map(({ eventName, args }) => [eventName, args.value])).toEqual([
      ['Transfer', 5n],
      ['Approval', 6n],
      ['Transfer', 7n],
    ])
    expect(logs[0]?.transactionHash).toBe(transactionHash)
    expect(spenders).toHaveLength(1)
  })

  it('of several events are one request, of each signature once', async () => {
    const asked: LogFilter[] = []
    const never = () => Promise.reject(new Error('not asked for here'))
    const logs = async (_: unknown, filter: LogFilter) => {
      asked.push(filter)
      return []
    }
    const view = chainAsOf({ block: never, read: never, logs }, firstHour, patient, 'ethereum')
    await view.logs({ address: token, events: [erc20, approval, erc721] })
    expect(asked).toEqual([{ address: token, topics: [[signature, approved]] }])
  })

  it('of two events with one signature are distinguished by their topics', async () => {
    const filter = { address: [token, nft], events: [erc20, erc721] } as const
    const logs = await chain(ofNft(1n), transfer(5n)).logs(filter)
    expect(logs.map(({ address, args }) => [address, args.value])).toEqual([
      [nft, 1n],
      [token, 5n],
    ])
  })

  it('are a fault where one of several events fits no log of its signature', async () => {
    const wrong = chain(transfer(5n), approve(6n)).logs({ address: token, events: [erc721, approval] })
    expect((await faultOf(wrong)).message).toBe(
      'a log of Transfer has 3 topics and 32 bytes where the ABI describes 4 topics',
    )
  })

  it.for<[object, string]>([
    [{}, 'logs has one event, or a list of events'],
    [{ events: [] }, 'logs has one event, or a list of events'],
    [{ event: erc20, events: [approval] }, 'logs has one event, or a list of events'],
    [{ events: [erc20], args: { from: token } }, 'logs has args of several events'],
    [{ event: erc20, args: { value: 5 } }, 'logs has args of value, which is no indexed argument of Transfer'],
    [{ event: erc20, args: { sender: token } }, 'logs has args of sender, which is no indexed argument of Transfer'],
    [{ event: erc20, args: { to: [] } }, 'logs has no value for to'],
    [{ event: erc20, args: [[]] }, 'logs has no value for from'],
  ])('are not asked for by %j', async ([filter, message]) => {
    const asked = chain().logs({ address: token, ...filter } as { address: Hex; event: typeof erc20 })
    expect(await faultOf(asked)).toMatchObject({ code: 'collector-threw', message })
  })

  it.each([undefined, null, new Date(firstHour)])('are not asked for since %s, which is no hour', async since => {
    const asked = chain(transfer(5n)).logsSince(since as never, { address: token, event: erc20 })
    expect(await faultOf(asked)).toMatchObject({
      code: 'collector-threw',
      message: `logsSince: "${since}" is not an hour`,
      fix: 'write it like 2026-11-20T13:00:00Z',
    })
  })

  describe('that is anonymous', () => {
    const note = { ...parseAbiItem('event Note(address indexed from, uint256 value)'), anonymous: true } as const
    const bare = { ...parseAbiItem('event Bare(uint256 amount, bool isPaid)'), anonymous: true } as const
    const wide = { ...parseAbiItem('event Wide(uint256 indexed id, string text)'), anonymous: true } as const
    const noteOf = (value: bigint, parts: Partial<RawLog> = {}) => transfer(value, { topics: [who], ...parts })
    const paid = (amount: bigint) =>
      transfer(amount, { topics: [], data: `${word(amount)}${word(1n).slice(2)}` as Hex })
    /** Of the contract, too: an ordinary event without indexed arguments, one with other data, one with more topics. */
    const others = [transfer(9n, { topics: [signature] }), transfer(8n), paid(7n)]

    it.each([
      ['with a topic', note, [noteOf(5n), ...others, noteOf(6n)], [[who], 5n, 6n]],
      ['without one', bare, [...others, paid(5n)], [[], 7n, 5n]],
    ] as const)('%s are those that fit its arguments', async (_, event, all, [topics, ...values]) => {
      const logs = await chain(...all).logs({ address: token, event })
      expect(logs.map(({ args }) => ('value' in args ? args.value : args.amount))).toEqual(values)
      expect(topics).toHaveLength(event.inputs.filter(input => 'indexed' in input).length)
    })

    it('are none among others, and a fault where only the data do not fit', async () => {
      expect(await chain(...others).logs({ address: token, event: note })).toEqual([])
      const fault = await faultOf(chain(noteOf(5n, { data: '0x' }), ...others).logs({ address: token, event: note }))
      expect(fault.message).toBe('a log of Note has 1 topic and 0 bytes where the ABI describes other data')
    })

    it.each([
      [note, undefined, []],
      [note, { from: token }, [pad(token, { size: 32 })]],
      [bare, undefined, []],
      [wide, { id: 3n }, [word(3n)]],
    ] as const)('are asked for by address and arguments', async (event, args, topics) => {
      const asked: LogFilter[] = []
      const never = () => Promise.reject(new Error('not asked for here'))
      const logs = async (_: unknown, filter: LogFilter) => {
        asked.push(filter)
        return []
      }
      const view = chainAsOf({ block: never, read: never, logs }, firstHour, patient, 'ethereum')
      await view.logs({ address: token, event, ...(args && { args }) } as { address: Hex; event: typeof note })
      expect(asked).toEqual([{ address: token, topics }])
    })

    it.for<[object, string]>([
      [{ event: wide }, 'logs cannot tell the anonymous Wide from other events'],
      [{ events: [erc20, note] }, 'logs has an anonymous event among several'],
    ])('are not asked for where that is ambiguous', async ([filter, message]) => {
      const asked = chain().logs({ address: token, ...filter } as { address: Hex; event: typeof note })
      const fault = await faultOf(asked)
      expect(fault.code).toBe('collector-threw')
      expect(fault.message).toContain(message)
    })
  })

  it('are none where there are none', async () => {
    expect(await chain().logs({ address: token, event: noIndexed })).toEqual([])
  })
})
