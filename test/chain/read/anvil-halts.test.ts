import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ReadRequest } from '../../../src/chain/reads.ts'
import { Anvil } from '../../../src/devchain/anvil.ts'
import type { Hex } from '../../../src/model/block.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { mineAt, placeMulticall3 } from '../support/probe.ts'
import { firstHour, genesisSeconds, hourSeconds, openChain, patient } from '../support/readers.ts'

/** A real node whose contracts halt in the ways of the EVM; Multicall3 comes in the second hour. */
let anvil: Anvil
const at = (end: string): Hex => `0x${end.padStart(40, '0')}`
const read = (to: Hex): ReadRequest => ({ kind: 'call', to, input: '0x18160ddd' })

const contracts: Readonly<Record<string, readonly [address: Hex, code: Hex]>> = {
  'an undefined opcode': [at('b1'), '0x0c'],
  'the invalid opcode': [at('b2'), '0xfe'],
  'a memory offset beyond all': [at('b3'), `0x7f${'ff'.repeat(32)}51`],
  'a stack underflow': [at('b4'), '0x01'],
  'a stack overflow': [at('b5'), '0x5b60006000600056'],
  'a bad jump': [at('b6'), '0x60ff56'],
  'return data out of bounds': [at('b7'), '0x6001600060003e'],
  'all the gas': [at('b8'), '0x5b600056'],
  'a revert without data': [at('b9'), '0x60006000fd'],
  'code that begins with 0xef': [at('ba'), '0xef'],
}
const good = at('a1')
/** Answers who asks. */
const asker = at('c1')

beforeAll(async () => {
  anvil = await Anvil.start(genesisSeconds, ['--chain-id', '1'])
  await anvil.rpc('anvil_setCode', good, '0x602a60005260206000f3')
  await anvil.rpc('anvil_setCode', asker, '0x3360005260206000f3')
  for (const [address, code] of Object.values(contracts)) await anvil.rpc('anvil_setCode', address, code)
  const [first, second] = [hourSeconds(firstHour), hourSeconds(hourAfter(firstHour, 1))]
  await mineAt(anvil, first - 5, first + 5)
  await placeMulticall3(anvil)
  await mineAt(anvil, second - 5, second + 5)
})
afterAll(() => anvil?.stop())

const word = (hex: string) => ({ kind: 'returned', output: `0x${hex.padStart(64, '0')}` })

describe.each([
  ['one by one', firstHour],
  ['together', hourAfter(firstHour, 1)],
])('contracts of a real node, read %s', (_, hour) => {
  it.each(Object.entries(contracts))('%s fails that read alone', async (_name, [address]) => {
    const reader = openChain([anvil.url])
    const failing = reader.read(hour, [read(address)], patient).then(({ value }) => value[0])
    const mate = reader.read(hour, [read(good)], patient)
    expect((await mate).value).toEqual([word('2a')])
    const failed = await failing.catch((error: unknown) => error)
    if (failed instanceof Error) expect(failed).toMatchObject({ code: 'chain-call-failed' })
    else expect(failed).toEqual({ kind: 'reverted', output: '0x' })
    expect(reader.health()).toMatchObject([{ state: 'well' }])
  })

  it('all of them at once fail alone', async () => {
    const reader = openChain([anvil.url])
    const all = Object.values(contracts).map(([address]) =>
      reader.read(hour, [read(address)], patient).catch((error: unknown) => error),
    )
    expect((await reader.read(hour, [read(good)], patient)).value).toEqual([word('2a')])
    expect(await Promise.all(all)).toHaveLength(Object.keys(contracts).length)
  })

  it('a view that looks at who asks answers the same on every path', async () => {
    const { value } = await openChain([anvil.url]).read(hour, [read(asker)], patient)
    expect(value).toEqual([word('ca11bde05977b3631167028862be2a173976ca11')])
  })
})
