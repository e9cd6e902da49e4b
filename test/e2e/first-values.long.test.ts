import { type Address, type Hex, keccak256, numberToHex, parseAbi } from 'viem'
import { expect, it, onTestFinished } from 'vitest'
import { artifact } from '../../src/devchain/contracts.ts'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import { tinyContract } from '../cli/commands/tiny-contract.ts'
import { ownContract } from '../support/contracts.ts'
import { feeEmitter, feeEvent } from '../support/fee-emitter.ts'
import { answering } from '../support/listening.ts'
import { ProtocolChain } from '../support/protocol-chain.ts'
import { configured, source, tidegauge, untilNextLook } from '../support/tidegauge.ts'

const treasury: Address = `0x${'7e'.repeat(20)}`
const coin: Address = `0x${'e'.repeat(40)}`
/** Decimals of what is paid as fees, and the price of a whole one in units of a ten thousandth. */
const kinds = [
  { decimals: 18, paid: 70_000_000_000_000_001n, price: 30_001_250n },
  { decimals: 0, paid: 3n, price: 3_700n },
  { decimals: 6, paid: 5_001_000_001n, price: 10_001n },
  { decimals: 18, paid: 12_345_678_901_234_567_891n, price: 25_005_000n },
  // It has no decimals(): its documents say 3.
  { decimals: 3, paid: 64_000_007n, price: 122_500n },
] as const

const wordsOf = (values: readonly bigint[]): Hex =>
  `0x${values.map(value => value.toString(16).padStart(64, '0')).join('')}`

/** Items of an API from an offset on, 100 at once. */
const loans = Array.from({ length: 730 }, (_, number) => ({
  id: `loan-${number}`,
  owed: `${number * 37}.${String(number % 100).padStart(2, '0')}`,
}))

/** An item of the registry by its number. */
const vaultOf = (number: number) => BigInt(keccak256(numberToHex(number, { size: 32 }))) % 2n ** 160n

it('the first values of a new user: fees, 1,200 vaults, overlapping pages and a list of the present', async () => {
  // A list of the present is read for the current hour alone, which must not end meanwhile.
  while (systemTime.nowMs() % 3_600_000 > 3_500_000) await untilNextLook()
  const current = hourAt(systemTime.nowMs())
  const chain = await ProtocolChain.start(31_337, hourAfter(current, -1))
  onTestFinished(() => chain.stop())
  const registry = await chain.deploy(await ownContract('Registry'))
  for (const first of [0, 410, 820]) await chain.send(registry, 'add', [first, 410])
  // As an EnumerableSet: the last one takes the place of the removed one.
  for (let removed = 0; removed < 30; removed += 1) await chain.send(registry, 'remove', [removed * 7])
  const vaults = Array.from({ length: 1_230 }, (_, number) => vaultOf(number))
  for (let removed = 0; removed < 30; removed += 1) vaults[removed * 7] = vaults.pop() ?? 0n
  const dex = await chain.deploy(feeEmitter())
  const deployed = [
    await chain.deploy(artifact('Token'), ['T', 'T', 0]),
    await chain.deploy(artifact('Token'), ['T', 'T', 6]),
    await chain.deploy(artifact('Token'), ['T', 'T', 18]),
    await chain.deploy(tinyContract({ 'balanceOf(address)': wordsOf([64_000_007n]) }, 'reverts')),
  ]
  const tokens = [coin, ...deployed.map(({ address }) => address)]
  await chain.nextHour()
  for (const [place, { paid }] of kinds.entries()) {
    const token = deployed[place - 1]
    if (token && place < 4) await chain.send(token, 'mint', [treasury, paid])
    await chain.send(dex, 'pay', [tokens[place], paid])
  }
  const giving = { address: treasury, abi: parseAbi(['function give()']) }
  await chain.send(giving, 'give', [], { value: kinds[0].paid })
  expect(await chain.nextHour()).toBe(current)
  // The chain has a block past it.
  await chain.send(dex, 'pay', [coin, 1n])

  const url = await answering(request => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://a')
    const offset = Number(searchParams.get('offset'))
    if (pathname === '/loans') return { body: { loans: loans.slice(offset, offset + 100) } }
    return { body: { tokens: [...tokens.slice(1), null].map(address => ({ address, kind: 'token' })) } }
  })
  const yaml = (step: number) => `service: embedded
chains: { local: { id: 31337, rpc: ["${chain.url}"] } }
prices:
${kinds.map(({ price }, place) => `  P${place}: [{ fixed: "${price / 10_000n}.${String(price % 10_000n).padStart(4, '0')}" }]`).join('\n')}
tokenPrices: { local: [{ ${tokens.map((token, place) => `"${token}": P${place}`).join(', ')} }] }
lists:
  vaults: { chain: local, address: "${registry.address}", length: "length() view returns (uint256)", item: "itemAt(uint256) view returns (address)" }
  tokens: { chain: local, url: "${url}/tokens", pointer: /tokens/*/address, where: { /address: { not: null } }, now: true }
protocols:
  - id: p
    name: P
    collectors:
      - { use: event-sum, id: fees, options: { chain: local, address: "${dex.address}", event: "${feeEvent}", sum: amount, token: token, price: token, decimals: 3, label: Fees, unit: USD } }
      - { use: balances, id: held, options: { label: Held, unit: USD, of: { local: { owners: ["${treasury}"], assets: [{ native: true, price: token }, { token: { each: tokens }, price: token, decimals: 3 }] } } } }
      - use: contract-read
        id: vaults
        options:
          chain: local
          each: vaults
          values:
            Weight: { call: "weight(address item) view returns (uint256)", address: "${registry.address}", args: [item], private: true }
            Vaults: { count: true }
            Weights: { total: Weight }
      - { use: http-json, id: loans, options: { url: "${url}/loans", pointer: /loans/*/owed, take: sum, pages: { parameter: offset, step: ${step}, id: /id }, label: Owed, unit: USD } }
`
  const collect = async (step: number) => {
    const { config } = configured(yaml(step))
    const hour = ['--hour', hourText(current)]
    const { stdout, stderr } = await tidegauge(
      ['collect', '--dry-run', '--json', ...hour, '--config', config],
      {},
      source,
    )
    const { metrics = [] } = JSON.parse(stdout) as { metrics?: { id: string; value: number }[] }
    return { values: Object.fromEntries(metrics.map(({ id, value }) => [id, value])), stderr, stdout }
  }
  const dollars = kinds.map(({ decimals, paid, price }) => paid * price * 10n ** BigInt(18 - decimals))
  const total = Number(`${dollars.reduce((sum, each) => sum + each)}e-22`)
  const cents = loans.reduce((sum, { owed }) => sum + BigInt(owed.replace('.', '')), 0n)
  const weights = Number(vaults.reduce((sum, vault) => sum + (vault % 1_000_003n), 0n))
  const others = { p___Fees: total, p___Held: total, p___Vaults: 1_200, p___Weights: weights }
  const overlapping = await collect(50)
  expect(overlapping.values).toEqual(others)
  expect(overlapping.stdout + overlapping.stderr).toMatch(/on page 1 and on page 2: .* \(write the step of an offset\)/)
  expect((await collect(100)).values).toEqual({ ...others, p___Owed: Number(`${cents}e-2`) })
})
