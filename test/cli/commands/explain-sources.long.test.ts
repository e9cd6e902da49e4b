import { expect, it, onTestFinished } from 'vitest'
import { Devchain } from '../../../src/devchain/devchain.ts'
import { systemTime } from '../../../src/edge/time.ts'
import { hourText } from '../../../src/model/hour.ts'
import { command } from '../../support/command.ts'
import { answering } from '../../support/listening.ts'
import { configured } from '../../support/tidegauge.ts'

interface ShownReads {
  readonly reads: readonly { readonly logs?: unknown; readonly answer: string; readonly request: object }[]
}

interface ExplainedSources {
  readonly again: ShownReads & {
    readonly value: number
    readonly prices: Readonly<Record<string, ShownReads & { usd: number }>>
  }
}

it('an explanation repeats logs, and what prices were read from', async () => {
  const scene = await Devchain.build({ nowMs: systemTime.nowMs(), hours: 4 })
  onTestFinished(() => scene.stop())
  const { tide, feed } = scene.addresses
  const { config } = configured(`service: embedded
status: { listen: "127.0.0.1:0" }
chains: { local: { id: 31337, rpc: [${scene.url}] } }
prices:
  USDX: [{ chain: local, feed: "${feed}" }]
  TIDE: [{ fixed: 2, price: USDX }]
tokenPrices:
  local: [{ "${tide}": TIDE }]
protocols:
  - id: tide
    name: Tide
    collectors:
      - use: event-sum
        options: { chain: local, address: "${tide}", event: "Transfer(address indexed from, address indexed to, uint256 value)", sum: value, decimals: 18, label: Volume }
      - use: event-sum
        id: money
        options: { chain: local, address: "${tide}", event: "Transfer(address indexed from, address indexed to, uint256 value)", sum: value, token: "${tide}", price: token, label: Money }
      - use: contract-read
        options: { chain: local, address: "${tide}", values: { Worth: { call: "totalSupply() view returns (uint256)", decimals: 18, private: true }, Cap: { product: [Worth, { price: TIDE }] } } }
`)
  const explain = async (...args: string[]) => (await command(['explain', ...args, '--config', config])).stdout
  const found = async (id: string) => (JSON.parse(await explain(id, hour, '--json')) as ExplainedSources).again
  const asked = async (request: object | undefined): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(scene.url, { method: 'POST', headers, body: JSON.stringify(request) })
    return ((await answer.json()) as { result: unknown }).result
  }
  const [hour = ''] = scene.hours.slice(-1).map(hourText)
  expect(await command(['collect', '--hour', hour, '--config', config])).toMatchObject({ code: 0 })

  const { value, reads } = await found('tide___Volume')
  const [logs] = reads
  const amounts = ((await asked(logs?.request)) as { data: string }[]).map(({ data }) => BigInt(data))
  expect(amounts).not.toEqual([])
  expect(Number(amounts.reduce((sum, amount) => sum + amount, 0n)) / 1e18).toBeCloseTo(value, 6)
  expect(logs?.logs).toHaveLength(amounts.length)

  const money = await found('tide___Money')
  const token = `local/${tide.toLowerCase()}`
  expect(money.prices[token]).toMatchObject({ prices: ['TIDE'] })
  expect(money.value).toBeCloseTo(value * (money.prices[token]?.usd ?? 0), 2)

  const { prices } = await found('tide___Cap')
  expect(Object.keys(prices).sort()).toEqual(['TIDE', 'USDX'])
  expect(prices['TIDE']).toMatchObject({ usd: 2 * (prices['USDX']?.usd ?? 0), reads: [], prices: ['USDX'] })
  const round = prices['USDX']?.reads.find(({ answer }) => answer.length > 66)
  expect(await asked(round?.request)).toBe(round?.answer)
  const text = await explain('tide___Cap', hour)
  expect(text).toMatch(/\nprice of TIDE: \S+ USD, by the price of USDX\n/)
  expect(text).toMatch(/\nprice of USDX: \S+ USD\n1\. local: .*\n {3}\{"jsonrpc"/)
})

it('an explanation repeats a call with its sender, and a POST with its body, without secrets', async () => {
  const scene = await Devchain.build({ nowMs: systemTime.nowMs(), hours: 2 })
  onTestFinished(() => scene.stop())
  const url = await answering(() => ({ status: 200, body: { tvl: 5 } }))
  const yaml = `service: embedded
status: { listen: "127.0.0.1:0" }
chains: { local: { id: 31337, rpc: [${scene.url}] } }
protocols:
  - { id: tide, name: Tide, collectors: [{ use: ./asks.ts, options: { url: "${url}", key: { env: KEY } } }] }
`
  const code = `import { defineCollector, secret, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ url: z.string(), key: secret }),
  metrics: { Supply: {}, Tvl: {} },
  history: true,
  async collect({ options: { url, key }, chain, http }) {
    const supply = await chain('local').call({ to: '${scene.addresses.tide}', data: '0x18160ddd' })
    const { tvl } = await http.json(url, z.object({ tvl: z.number() }), { body: { query: '{ tvl }', by: key } })
    return { Supply: Number(BigInt(supply)), Tvl: tvl }
  },
})
`
  const { config } = configured(yaml, { 'asks.ts': code })
  const env = { KEY: 'a-secret-of-the-source' }
  const [hour = ''] = scene.hours.slice(-1).map(hourText)
  expect(await command(['collect', '--hour', hour, '--config', config], env)).toMatchObject({ code: 0 })
  const { stdout } = await command(['explain', 'tide___Tvl', hour, '--config', config], env)
  expect(stdout).toContain(`{"from":"0xcA11bde05977b3631167028862bE2a173976CA11","to":"${scene.addresses.tide}"`)
  expect(stdout).toContain(`POST ${url}/ → {"json":{"tvl":5}}\n   {"query":"{ tvl }","by":"[redacted]"}\n`)
})
