import { address, type CollectContext, headers, z } from 'tidegauge'
import { getAddress } from 'viem'
import { repeated } from '../contracts.ts'
import { spellingsOf } from '../decimals.ts'
import { percentage } from '../declared.ts'
import { Fraction, fractionOf, nearestNumber } from '../fraction.ts'
import { ageMistakes, answerOf, jsonPointer, maxAgeOption } from '../json-answer.ts'
import { unmet } from '../json-items.ts'
import { asksBlock, asksHour, inBody, inPlaces, inTexts, sourceBody, sourceUrl } from '../placeholders.ts'
import { answeredDecimals, answeredOptions, answeredPrice } from './answered.ts'
import { exactPrice, isUnread, requirePrice } from './exact-price.ts'

/** Tokens in a request, where nothing else is written. */
const batchUsual = 100

const notShare = 'must be a part of the price, like "2%"'

const urlSource = z
  .strictObject({
    url: sourceUrl.describe(
      'an address that answers JSON, with the hour and {tokens} in it: those that are wanted, joined by commas; or with {token}, for one a request',
    ),
    headers: headers.optional(),
    body: sourceBody.optional().describe('makes it a POST; the placeholders of the address stand in it, too'),
    token: z
      .string()
      .includes('{address}', { error: 'must have {address} in it, like "ethereum:{address}"' })
      .default('{address}')
      .describe('what the source calls a token'),
    checksum: z.literal(true).optional().describe('writes addresses with capitals, and not in lower case'),
    batch: z.int().min(1).max(10_000).optional().describe(`tokens in a request, at most; ${batchUsual}`),
    pointer: jsonPointer
      .optional()
      .describe('where the answer has the price of a token: /coins/{token}/price, or with {address}'),
    agreeWithin: percentage(notShare)
      .optional()
      .describe('the price counts only if a later source gives one that differs by no more'),
    decimals: answeredDecimals.optional().describe('of the number; or where the answer has its exponent, as pointer'),
    ...answeredOptions,
    time: jsonPointer.optional().describe('where the answer says what instant a price is of, as pointer'),
    maxAge: maxAgeOption,
  })
  .superRefine((source, context) => {
    const tell = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    const { url, token, pointer, time, batch, decimals, require = {} } = source
    if (!asksHour(source))
      tell('url', 'must contain {hour}, {hourSeconds} or {hourMs}, which the source heeds: a price is of its hour')
    if (asksBlock(source)) tell('url', 'cannot contain {block}: a price is asked for by its hour')
    for (const { path, message } of ageMistakes(source)) tell(path.join(), message)
    if (batch !== undefined && !placesIn(source).has('{tokens}'))
      tell('batch', 'belongs to {tokens}, which stands neither in url nor in body')
    if (pointer === undefined) tell('pointer', 'must be a JSON pointer like /coins/{token}/price')
    else if (!isOfOne(source) && !/\{(token|address)\}/.test(pointer))
      tell('pointer', 'must have {token} or {address} in it: an answer has the prices of several tokens')
    const patterns = { url: /^tokens?$|^address$|^hour/, token: /^address$/, pointer: /^(token|address)$/ }
    const texts = [
      ['url', url, patterns.url],
      ['token', token, patterns.token],
      ['pointer', pointer, patterns.pointer],
      ['time', time, patterns.pointer],
      ...(typeof decimals === 'string' ? [['decimals', decimals, patterns.pointer] as const] : []),
      ...Object.keys(require).map(text => ['require', text, patterns.pointer] as const),
    ] as const
    for (const [name, text = '', names] of texts) {
      const stray = [...text.matchAll(/\{(\w*)(?:[^\w{}][^{}]*)?\}/g)].find(([, place = '']) => !names.test(place))
      if (stray) tell(name, `has ${stray[0]} in it, which stands for nothing here`)
    }
  })

const namedTokens = z
  .record(address, z.string({ error: 'must be the name of a price, like USDC' }))
  .superRefine((named, context) => {
    const tokens = Object.keys(named)
    for (const place of repeated(tokens))
      context.addIssue({
        code: 'custom',
        path: [tokens[place] ?? ''],
        message: 'is there already: remove one of the two',
      })
  })
  .describe('tokens by their address, each with the name of its price')

/** The sources of the prices of a chain's tokens, in order: the first that has a price of a token stands. */
export const tokenSources = z.array(z.union([urlSource, namedTokens])).min(1)

type UrlSource = z.output<typeof urlSource>
type TokenSource = z.output<typeof tokenSources>[number]
type Means = Pick<CollectContext<unknown>, 'http' | 'price' | 'log' | 'hour' | 'nowMs'>

/** A price of a token, or why there is none. */
type TokenAnswer = { readonly price: Fraction } | TokenFailure

interface TokenFailure {
  readonly failure: string
  /** Whether the source could not be asked, and may have one. */
  readonly isUnread: boolean
}

/** A price that a source has. */
interface Offer {
  /** Of the source. */
  readonly name: string
  readonly price: Fraction
  /** The part of it by which a later one may differ; absent where none need agree. */
  readonly tolerance: Fraction | undefined
}

/** A token, and the answers of sources so far. */
interface WantedToken {
  /** Its address in lower case. */
  readonly token: string
  readonly offers: Offer[]
  readonly failures: TokenFailure[]
}

/**
 * The exact prices of tokens as of the hour, in their order: each of the first source whose price counts, which with
 * `agreeWithin` is one that a later source agrees with. Later sources are asked for what is still open.
 *
 * @param tokens their addresses, each once
 */
export async function tokenPrices(
  sources: readonly TokenSource[],
  tokens: readonly string[],
  means: Means,
): Promise<readonly TokenAnswer[]> {
  const wantedTokens = tokens.map((token): WantedToken => ({ token: token.toLowerCase(), offers: [], failures: [] }))
  for (const [place, source] of sources.entries()) {
    const undecidedTokens = wantedTokens.filter(({ offers }) => !isDecided(offers))
    const addresses = undecidedTokens.map(({ token }) => token)
    // No source after the last one could agree with it.
    const tolerance = place < sources.length - 1 ? toleranceOf(source) : undefined
    const answers = await (isOfUrl(source) ? askedOf(source, addresses, means) : namedIn(source, addresses, means))
    for (const { token, offers, failures } of undecidedTokens) {
      const answer = answers.get(token)
      if (!answer) continue
      const name = isOfUrl(source) ? new URL(source.url).host : `price ${nameIn(source, token)}`
      if ('price' in answer) offers.push({ name, price: answer.price, tolerance })
      // A request that failed names its host.
      else
        failures.push(answer.failure.startsWith(name) ? answer : { ...answer, failure: `${name}: ${answer.failure}` })
    }
  }
  return wantedTokens.map(decided)
}

/** Whether the first source's price stands whatever the others say. */
function isDecided([first, ...others]: readonly Offer[]): boolean {
  if (!first) return false
  return first.tolerance === undefined || others.some(other => isNear(first, other, first.tolerance))
}

function decided({ offers, failures }: WantedToken): TokenAnswer {
  const [first, ...laterOffers] = offers
  const isOpen = failures.some(({ isUnread }) => isUnread)
  const reasons = failures.map(({ failure }) => failure)
  if (!first) return { failure: reasons.join('; ') || 'no source of tokenPrices has it', isUnread: isOpen }
  if (first.tolerance === undefined) return first
  const agreement = offers.find((offer, place) =>
    offers.slice(place + 1).some(later => isNear(offer, later, offer.tolerance ?? first.tolerance)),
  )
  if (agreement) return agreement
  const said = offers.map(({ name, price }) => `${name} says ${nearestNumber(price)}`).join(', ')
  const why = laterOffers.length > 0 ? 'no two of them agree' : 'no later source has a price to agree with it'
  return { failure: [`${said}: ${why}`, ...reasons].join('; '), isUnread: isOpen }
}

/** Whether a later price differs by no more than a part of the first. */
function isNear({ price }: Offer, later: Offer, tolerance = new Fraction(0)): boolean {
  return later.price.sub(price).abs().compare(price.mul(tolerance)) <= 0
}

function toleranceOf(source: TokenSource): Fraction | undefined {
  const share = isOfUrl(source) ? source.agreeWithin : undefined
  return share === undefined ? undefined : fractionOf(share.slice(0, -1)).div(100)
}

function isOfUrl(source: TokenSource): source is UrlSource {
  return 'url' in source
}

/** The name of a token's price; one for either address of the coin holds for both, and the exact one goes before. */
function nameIn(named: Readonly<Record<string, string>>, token: string): string | undefined {
  const names = new Map(Object.entries(named).map(([address, name]) => [address.toLowerCase(), name]))
  return names.get(token) ?? spellingsOf(token).flatMap(address => names.get(address) ?? [])[0]
}

async function namedIn(
  names: Readonly<Record<string, string>>,
  tokens: readonly string[],
  { price }: Means,
): Promise<ReadonlyMap<string, TokenAnswer>> {
  const answers = tokens.flatMap(token => {
    const name = nameIn(names, token)
    return name === undefined
      ? []
      : [
          exactPrice(price, name)
            .then(found, failed)
            .then(each => [token, each] as const),
        ]
  })
  return new Map(await Promise.all(answers))
}

/** Asks a source for tokens, as many in a request as it takes. */
async function askedOf(
  source: UrlSource,
  tokens: readonly string[],
  means: Means,
): Promise<ReadonlyMap<string, TokenAnswer>> {
  const size = isOfOne(source) ? 1 : placesIn(source).has('{tokens}') ? (source.batch ?? batchUsual) : tokens.length
  const batches = Array.from({ length: Math.ceil(tokens.length / size) }, (_, index) =>
    tokens.slice(index * size, (index + 1) * size),
  )
  const reads = batches.map(batch =>
    answerTo(source, batch, means).catch((error: unknown) => {
      const answer = failed(error)
      if (isOfOne(source)) return batch.map(token => [token, answer] as const)
      means.log.warn(`${answer.failure}: no prices of tokens`, { tokens: batch.length })
      // A refusal of many says nothing of one of them.
      return batch.map(token => [token, { ...answer, isUnread: true }] as const)
    }),
  )
  return new Map((await Promise.all(reads)).flat())
}

async function answerTo(
  source: UrlSource,
  tokens: readonly string[],
  { http, hour, nowMs }: Means,
): Promise<readonly (readonly [string, TokenAnswer])[]> {
  const { headers, maxAge, pointer = '', time } = source
  const [first = ''] = tokens
  const words = { ...wordsFor(source, first), '{tokens}': tokens.map(each => wordsFor(source, each)['{token}']).join() }
  const url = filled(source.url, words)
  const body = inTexts(source.body, text => filled(text, words))
  const request = { headers, body: inBody(body, { hour }), isRead: true, numbers: 'text' } as const
  const run = { hour, nowMs }
  const { json } = await http.json(inPlaces(url, { hour }), answerOf({ url, body }, run), request)
  return tokens.map(token => {
    const pointerValues = pointerWords(wordsFor(source, token))
    const valuePointer = filled(pointer, pointerValues)
    const conditions = Object.entries(source.require ?? {}).map(
      ([path, each]) => [filled(path, pointerValues), each] as const,
    )
    const unmetIn = (answer: unknown) => unmet(answer, Object.fromEntries(conditions))
    const timed = time && { time: filled(time, pointerValues) }
    const checked = answerOf({ url, body, maxAge, pointer: valuePointer, unmet: unmetIn, ...timed }, run)
    const { success, error } = checked.safeParse(json)
    if (!success) return [token, { failure: error.issues[0]?.message ?? 'it has none', isUnread: false }] as const
    try {
      const { decimals } = source
      const form = { ...source, decimals: typeof decimals === 'string' ? filled(decimals, pointerValues) : decimals }
      return [token, found(answeredPrice(json, valuePointer, form))] as const
    } catch (thrown) {
      return [token, failed(thrown)] as const
    }
  })
}

/** @throws Error when it is no price */
function found(price: Fraction): TokenAnswer {
  return { price: requirePrice(price) }
}

function failed(error: unknown): TokenFailure {
  return { failure: error instanceof Error ? error.message : String(error), isUnread: isUnread(error) }
}

const tokenPlaces = /\{(tokens|token|address)\}/g

/** The placeholders of tokens in a request. */
function placesIn({ url, body }: Pick<UrlSource, 'url' | 'body'>): ReadonlySet<string> {
  return new Set((url + (JSON.stringify(body) ?? '')).match(tokenPlaces))
}

/** Whether each token takes a request of its own. */
function isOfOne(source: Pick<UrlSource, 'url' | 'body'>): boolean {
  const places = placesIn(source)
  return places.size > 0 && !places.has('{tokens}')
}

type Words = Readonly<Record<string, string>>

function wordsFor({ token, checksum }: UrlSource, written: string) {
  const own = checksum ? getAddress(written) : written
  return { '{address}': own, '{token}': token.replaceAll('{address}', own) }
}

/** Words as a JSON pointer has them. */
function pointerWords(words: Words): Words {
  const escaped = (text: string) => text.replaceAll('~', '~0').replaceAll('/', '~1')
  return Object.fromEntries(Object.entries(words).map(([place, text]) => [place, escaped(text)]))
}

function filled(text: string, words: Words): string {
  return text.replace(tokenPlaces, place => words[place] ?? place)
}
