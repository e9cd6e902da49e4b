import { address, type CollectContext, headers, z } from 'tidegauge'
import { decimalsReader, scaleAdvice } from '../decimals.ts'
import { decimalsOption, tokenDecimals } from '../decimals-option.ts'
import { type Fraction, fractionOf } from '../fraction.ts'
import { ageMistakes, answerOf, jsonPointer } from '../json-answer.ts'
import { unmet } from '../json-items.ts'
import { asksBlock, asksHour, inBody, inPlaces, sourceBody, sourceUrl } from '../placeholders.ts'
import { calledNumber, callMistakes } from '../view-function.ts'
import { answeredDecimals, answeredOptions, answeredPrice } from './answered.ts'
import { exactPrice, requirePrice } from './exact-price.ts'
import { feedAnswer, feedMaxAge, maxAgeOption } from './feed.ts'
import { poolPrice } from './pool.ts'

const kinds = ['feed', 'pool', 'call', 'url', 'fixed'] as const
type Kind = (typeof kinds)[number]

/** Above 0, and without an exponent. */
const positiveDecimal = /^(?=.*[1-9])\d+(\.\d+)?$/

const notFixed = 'must be a number above 0, like 1, or in quotes where it is long'

/** Options that belong to each kind: those it needs, and those it may have. `price` may stand at every one. */
const ofKind: Readonly<Record<Kind, { readonly needed: readonly string[]; readonly other: readonly string[] }>> = {
  feed: { needed: ['chain'], other: ['maxAge'] },
  pool: { needed: ['chain', 'token', 'quote', 'window', 'price'], other: ['decimals', 'quoteDecimals'] },
  call: { needed: ['chain', 'address'], other: ['args', 'take', 'decimals'] },
  url: { needed: ['pointer'], other: ['headers', 'body', 'time', 'maxAge', 'decimals', 'require', 'min', 'max'] },
  fixed: { needed: [], other: [] },
}

const missing: Readonly<Record<string, string>> = {
  chain: 'must be the name of the chain',
  address: 'must be the address of the contract',
  token: 'must be the address of the token that is priced',
  quote: 'must be the address of the other token of the pool',
  window: 'must be the seconds that the price is the mean of, like 1800',
  price: 'must be the name of the price of the quote token, like USDC',
  pointer: 'must be a JSON pointer like /prices/0/usd',
}

/** A source of a price: one of `feed`, `pool`, `call`, `url` and `fixed`; or `price` alone, for the same as another price. */
export const source = z
  .strictObject({
    chain: z.string().optional().describe('the chain of a feed, a pool or a call'),
    feed: address.optional().describe('a Chainlink feed (AggregatorV3, or latestAnswer alone)'),
    pool: address.optional().describe('a Uniswap V3 pool, for the mean price over a window'),
    token: address.optional().describe('the token of the pool that is priced'),
    quote: address.optional().describe('the token of the pool in which it is priced'),
    window: z.int().min(60).max(604_800).optional().describe('seconds that the price of a pool is the mean of'),
    quoteDecimals: tokenDecimals,
    call: z
      .string()
      .optional()
      .describe('a view function of address by its signature: "stEthPerToken() view returns (uint256)"'),
    address: address.optional().describe('the contract of the call'),
    args: z.array(z.unknown()).optional().describe('arguments of the call'),
    take: z
      .union([z.string(), z.int().min(0)])
      .optional()
      .describe('which of several outputs of the call, by name or place'),
    decimals: z
      .union([decimalsOption, answeredDecimals])
      .optional()
      .describe(
        'of what the call returns; of the token of a pool that has no decimals(); of an answer, also a pointer to its exponent',
      ),
    ...answeredOptions,
    url: sourceUrl.optional().describe('an address that answers JSON, with {hour}, {hourSeconds} or {hourMs} in it'),
    headers: headers.optional(),
    body: sourceBody.optional(),
    pointer: jsonPointer.optional().describe('where the answer has the price'),
    time: jsonPointer.optional().describe('where the answer says what instant the price is of'),
    maxAge: maxAgeOption.describe('seconds that a price may be old at the hour; none for a feed without a time'),
    fixed: z
      .union([z.number().positive(), z.string().regex(positiveDecimal, { error: notFixed })], { error: notFixed })
      .optional()
      .describe('a number that does not change, such as 1; in quotes where it has more than 15 digits'),
    price: z.string().optional().describe('another price, in which this one is given'),
  })
  .superRefine((input, context) => {
    const tell = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: [...path], message })
    const options = Object.entries(input).flatMap(([name, value]) => (value === undefined ? [] : [name]))
    const [kind, ...others] = kinds.filter(each => options.includes(each))
    if (others.length > 0) return tell([], `must have one of ${kinds.join(', ')}, and has ${kind} and ${others[0]}`)
    const { needed: requiredNames, other } = kind ? ofKind[kind] : { needed: [], other: [] }
    const strayOption = options.find(
      name => name !== kind && name !== 'price' && ![...requiredNames, ...other].includes(name),
    )
    if (!kind && (strayOption !== undefined || input.price === undefined))
      return tell([], `must have one of ${kinds.join(', ')}, or a price alone`)
    if (strayOption !== undefined) tell([strayOption], `belongs to another kind of source, and this is a ${kind}`)
    for (const name of requiredNames.filter(each => !options.includes(each)))
      tell([name], missing[name] ?? 'must be given')
    if (input.pool !== undefined && typeof (input.decimals ?? 0) !== 'number')
      tell(['decimals'], 'must be a number, of a token that has none')
    const isPlaced = typeof input.decimals === 'string'
    if (isPlaced && input.url === undefined)
      tell(['decimals'], 'must be a number: an answer alone may have an exponent')
    if (input.url !== undefined && typeof (input.decimals ?? 0) !== 'number' && !isPlaced)
      tell(['decimals'], 'must be a number, or a pointer to the exponent like /price/expo')
    if (input.call !== undefined) for (const { path, message } of callMistakes(input.call, input)) tell(path, message)
    if (input.url === undefined) return
    if (input.maxAge === 'none') tell(['maxAge'], 'must be a number of seconds: a price is of its hour')
    else for (const { path, message } of ageMistakes(input)) tell(path, message)
    const request = { url: input.url, body: input.body }
    if (!asksHour(request))
      tell(['url'], 'must contain {hour}, {hourSeconds} or {hourMs}, which the source heeds: a price is of its hour')
    if (asksBlock(request)) tell(['url'], 'cannot contain {block}: a price is asked for by its hour')
  })

export type PriceSource = z.output<typeof source>

type Means = Pick<CollectContext<unknown>, 'chain' | 'http' | 'price' | 'hour' | 'nowMs'>

/** Whether it is read on a chain, where one question more costs nothing. */
export function isOnChain({ chain }: PriceSource): boolean {
  return chain !== undefined
}

/**
 * The exact price of a source as of the hour.
 *
 * @throws Error when it has none, it is old, zero or negative; Fault when it cannot be read
 */
export async function sourcePrice(source: PriceSource, means: Means): Promise<Fraction> {
  const quoted = source.price === undefined ? undefined : exactPrice(means.price, source.price)
  const [own, of] = await Promise.all([ownPrice(source, means), quoted])
  return requirePrice(of ? own.mul(of) : own)
}

/** The name of a source, for a message: without any path, which may hold a key. */
export function sourceName({ chain, feed, pool, call, address, url, fixed: fixedPrice, price }: PriceSource): string {
  if (feed !== undefined) return `feed ${feed} of ${chain}`
  if (pool !== undefined) return `pool ${pool} of ${chain}`
  if (call !== undefined) return `${call.split('(')[0]} of ${address} of ${chain}`
  if (url !== undefined) return new URL(url).host
  return fixedPrice === undefined ? `price ${price}` : `fixed ${fixedPrice}`
}

async function ownPrice(source: PriceSource, means: Means): Promise<Fraction> {
  const { chain = '', feed, pool, token, quote, window, call, address, fixed: fixedPrice, maxAge } = source
  if (feed !== undefined) return feedAnswer(means.chain(chain), feed, maxAge ?? feedMaxAge, means.hour)
  if (pool !== undefined && token !== undefined && quote !== undefined && window !== undefined)
    return poolPrice(means.chain(chain), { ...source, pool, token, quote, window })
  if (call !== undefined && address !== undefined) {
    const own = means.chain(chain)
    const decimals = typeof source.decimals === 'string' ? undefined : source.decimals
    return calledNumber(own, decimalsReader(own, scaleAdvice), { ...source, call, address, decimals })
  }
  if (source.url !== undefined) return priceOfAddress({ ...source, url: source.url }, means)
  return fractionOf(fixedPrice ?? 1)
}

async function priceOfAddress(
  { url, headers, body, pointer = '', time, maxAge, require = {}, ...form }: PriceSource & { readonly url: string },
  { http, hour, nowMs }: Means,
): Promise<Fraction> {
  const request = { headers, body: inBody(body, { hour }), isRead: true, numbers: 'text' } as const
  const unmetIn = (json: unknown) => unmet(json, require)
  const source = { url, body, time, maxAge: maxAge === 'none' ? undefined : maxAge, pointer, unmet: unmetIn }
  const { json } = await http.json(inPlaces(url, { hour }), answerOf(source, { hour, nowMs }), request)
  const { decimals, min, max } = form
  return answeredPrice(json, pointer, {
    min,
    max,
    ...(typeof decimals !== 'object' && decimals !== true && { decimals }),
  })
}
