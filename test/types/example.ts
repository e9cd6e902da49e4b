import { address, type Collector, defineCollector, headers, secret, units, z } from 'tidegauge'
import { erc20Abi, erc4626Abi, parseAbi } from 'viem'

export const good = defineCollector({
  options: z.strictObject({ chain: z.string(), vault: address }),
  metrics: { TVL: { unit: 'USDC', min: 0 }, SharePrice: { unit: 'USDC', min: 0 } },
  history: true,
  async collect({ options, chain }) {
    const vault = { address: options.vault, abi: erc4626Abi } as const
    const [assets, price] = await chain(options.chain).read([
      { ...vault, functionName: 'totalAssets' },
      { ...vault, functionName: 'convertToAssets', args: [10n ** 18n] },
    ])
    return { TVL: units(assets, 6), SharePrice: units(price, 6) }
  },
})

export const single = defineCollector({
  options: z.strictObject({ chain: z.string(), token: address }),
  metrics: { Supply: {}, Name: {} },
  history: true,
  async collect({ options, chain }) {
    const ethereum = chain(options.chain)
    const supply = ethereum.read({ address: options.token, abi: erc20Abi, functionName: 'totalSupply' })
    const balance = ethereum.read({
      address: options.token,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [options.token],
    })
    // @ts-expect-error a name is a string, not a number of units
    units(await ethereum.read({ address: options.token, abi: erc20Abi, functionName: 'name' }), 6)
    // @ts-expect-error balanceOf needs its argument
    await ethereum.read({ address: options.token, abi: erc20Abi, functionName: 'balanceOf', args: [] })
    // @ts-expect-error no such option
    options.vault
    return { Supply: supply.then(amount => units(amount, 6)), Name: balance.then(amount => units(amount, 6)) }
  },
})

export const partial = defineCollector({
  options: z.strictObject({ chain: z.string(), vault: address }),
  metrics: { TVL: {}, Caller: {} },
  history: true,
  async collect({ options, chain }) {
    const vault = { address: options.vault, abi: erc4626Abi } as const
    const [assets, name] = await chain(options.chain).read(
      [
        { ...vault, functionName: 'totalAssets' },
        { ...vault, abi: erc20Abi, functionName: 'name' },
      ],
      { partial: true },
    )
    // @ts-expect-error a call that failed has no result
    units(assets.result, 6)
    if (name.status === 'failure') throw name.error
    const text: string = name.result
    const whole = await chain(options.chain).read([{ ...vault, functionName: 'totalAssets' }], { partial: false })
    const amount: bigint = whole[0]
    const own = await chain(options.chain).read({
      ...vault,
      functionName: 'maxDeposit',
      args: [options.vault],
      from: options.vault,
    })
    const slot: `0x${string}` = await chain(options.chain).storage(options.vault, 5n)
    const bytes: `0x${string}` = await chain(options.chain).call({ to: options.vault, data: '0x', from: options.vault })
    // @ts-expect-error it is a bigint, or 32 bytes
    await chain(options.chain).storage(options.vault, 5)
    return { TVL: units(assets.result ?? own, 6), Caller: Number(amount) + text.length + slot.length + bytes.length }
  },
})

export const emitted = defineCollector({
  options: z.strictObject({ chain: z.string(), token: address }),
  metrics: { Net: {} },
  history: true,
  async collect({ options, chain }) {
    const [approval, transfer] = parseAbi([
      'event Approval(address indexed owner, address indexed spender, uint256 value)',
      'event Transfer(address indexed from, address indexed to, uint256 amount)',
    ])
    const logs = await chain(options.chain).logs({ address: options.token, events: [approval, transfer] })
    const [first] = await chain(options.chain).logs({
      address: options.token,
      event: transfer,
      args: { from: options.token },
    })
    const before = await chain(options.chain, { hoursBefore: 24 }).balance(options.token)
    // @ts-expect-error hours are a number
    chain(options.chain, { hoursBefore: '24' })
    const name: 'Transfer' | undefined = first?.eventName
    // @ts-expect-error only an approval has an owner
    logs[0]?.args.owner
    // @ts-expect-error the arguments belong to one event
    await chain(options.chain).logs({ address: options.token, events: [approval], args: {} })
    const sent = logs.flatMap(log => (log.eventName === 'Transfer' ? [log.args.amount] : [log.args.value]))
    return {
      Net:
        units(
          sent.reduce((sum, amount) => sum + amount, 0n),
          18,
        ) +
        (name?.length ?? 0) +
        Number(before) +
        Number(logs[0]?.transactionHash),
    }
  },
})

export const undeclared = defineCollector({
  options: z.strictObject({}),
  metrics: { TVL: {} },
  history: false,
  // @ts-expect-error Price is not declared
  async collect() {
    return { TVL: 1, Price: 2 }
  },
})

export const missing = defineCollector({
  options: z.strictObject({}),
  metrics: { TVL: {}, Price: {} },
  history: false,
  // @ts-expect-error Price is missing
  async collect() {
    return { TVL: 1 }
  },
})

export const dynamic = defineCollector({
  options: z.strictObject({ labels: z.array(z.string()) }),
  metrics: options => Object.fromEntries(options.labels.map(label => [label, { unit: 'ETH' }])),
  history: false,
  collect: ({ options }) => Object.fromEntries(options.labels.map(label => [label, 1])),
})

export const passedOn = defineCollector({
  options: z.strictObject({ unit: z.string().optional(), max: z.number().optional() }),
  // An option that may be absent is passed on as it is.
  metrics: ({ unit, max }) => ({ Supply: { unit, min: 0, max } }),
  history: true,
  collect: () => ({ Supply: 1 }),
})

export const jumping = defineCollector({
  options: z.strictObject({}),
  metrics: { TVL: { unit: 'USD', maxJump: '20%' }, Rate: { maxJump: 0.5 } },
  history: true,
  collect: () => ({ TVL: 1, Rate: 1 }),
})

export const misjumping = defineCollector({
  options: z.strictObject({}),
  // @ts-expect-error a jump is a number, or a part of the last value like '20%'
  metrics: { TVL: { maxJump: 'a lot' } },
  history: true,
  collect: () => ({ TVL: 1 }),
})

export const mistyped = defineCollector({
  options: z.strictObject({}),
  // @ts-expect-error a unit is text
  metrics: { Supply: { unit: 5 } },
  history: true,
  collect: () => ({ Supply: 1 }),
})

export const unconverted = defineCollector({
  options: z.strictObject({ chain: z.string(), token: address }),
  metrics: { Supply: {} },
  history: true,
  // @ts-expect-error a bigint is no reading: units() makes one of it
  async collect({ options, chain }) {
    const amount = await chain(options.chain).read({
      address: options.token,
      abi: erc20Abi,
      functionName: 'totalSupply',
    })
    return { Supply: amount }
  },
})

export const maybe = defineCollector({
  options: z.strictObject({}),
  metrics: { Level: {} },
  history: false,
  // @ts-expect-error a value that is not known is no reading
  async collect({ http }) {
    return { Level: await http.json('https://example.com', z.number().optional()) }
  },
})

export const keyed = defineCollector({
  options: z.strictObject({ apiKey: secret, more: z.array(secret).optional() }),
  metrics: { Chars: {} },
  history: false,
  collect({ options }) {
    const key: string = options.apiKey
    // @ts-expect-error it is text, not where it is kept
    options.apiKey.env
    return { Chars: key.length + (options.more?.length ?? 0) }
  },
})

export const posting = defineCollector({
  options: z.strictObject({ headers: headers.optional() }),
  metrics: { TVL: {}, Rows: {} },
  history: false,
  async collect({ http, options }) {
    const { headers } = options
    const answer = z.object({ tvl: z.number() })
    const request = { headers, body: { query: '{ tvl }' }, isRead: true }
    // @ts-expect-error there is no such part of a request
    await http.text('https://example.com', { retries: 3 })
    // @ts-expect-error a collector reads
    await http.text('https://example.com', { method: 'DELETE' })
    const rows = await http.text('https://example.com/csv', { headers })
    const { tvl } = await http.json('https://example.com', answer, request)
    return { TVL: tvl, Rows: rows.split('\n').length }
  },
})

export const all: readonly Collector[] = [good, single, partial]

export const ofOptions: Collector = defineCollector({
  options: z.strictObject({ days: z.int() }),
  metrics: ({ days }) => ({ [`Sum${days}d`]: { min: 0 } }),
  history: ({ days }) => days > 1,
  collect: ({ options }) => ({ [`Sum${options.days}d`]: options.days }),
})

// @ts-expect-error `collect` is a function
export const broken: Collector = { ...good, collect: 5 }
