import type { Chains } from '../../chain/reads.ts'
import { Fault, faultRecord } from '../../model/fault.ts'
import { type Hour, hourAfter } from '../../model/hour.ts'
import type {
  Ask,
  ChainAsk,
  ChainQuestion,
  ChainReply,
  HttpReply,
  PriceReply,
  Reply,
  RunQuestion,
} from '../messages.ts'
import { replyFromChain } from './chain-replies.ts'
import type { Meeting } from './meeting.ts'
import type { Prices } from './prices.ts'
import type { ReadInterceptor, ReadingRun } from './read-interceptor.ts'
import type { RunBlocks } from './run-blocks.ts'

/** A run that asks. */
export interface AskingRun extends ReadingRun {
  readonly pins: RunBlocks
  /** Whether it reads a price, which is not intercepted. */
  readonly isOfPrice: boolean
  /** Aborted when the run is over. */
  readonly signal: AbortSignal
}

/** Dependencies of replies on the daemon. */
export interface ReplyDeps {
  readonly chains: Chains
  readonly prices: Prices
  readonly meeting: Meeting
  /** Records or answers what collectors read. Default: nothing does. */
  readonly interceptor?: ReadInterceptor | undefined
}

/** Questions of one message: for prices first, whose runs join the hour's meeting before a question of a chain ends it. */
export function inOrderOfMeeting(asks: readonly Ask[]): readonly Ask[] {
  const isOfPrice = (ask: Ask) => 'price' in ask
  return [...asks.filter(isOfPrice), ...asks.filter(ask => !isOfPrice(ask))]
}

/** Answers a run's question. Never rejects: a failure is a reply, too. */
export async function replyTo(question: RunQuestion, run: AskingRun, deps: ReplyDeps): Promise<Reply['reply']> {
  const interceptor = run.isOfPrice ? undefined : deps.interceptor
  if ('http' in question) return interceptor ? interceptor.http(run, question.http) : unshown
  if (!('price' in question)) return chainReply(question, run, { ...deps, interceptor })
  const ask = () => priceReply(question.price, run, deps)
  return interceptor ? interceptor.price(run, question.price, ask) : ask()
}

const unshown: HttpReply = {
  kind: 'faulted',
  fault: faultRecord(new Fault('http-refused', 'requests are not shown to the daemon')),
}

async function chainReply(
  { chain, question, hoursBefore = 0 }: ChainAsk,
  run: AskingRun,
  { chains, meeting, interceptor }: ReplyDeps,
): Promise<ChainReply> {
  const { token, hour, pins, signal } = run
  await meeting.ask(hour, token)
  const ask = (at: Hour, question: ChainQuestion) => {
    const live = () => replyFromChain(chains, chain, at, question, signal)
    return interceptor ? interceptor.chain(run, { chain, hour: at, question }, live) : live()
  }
  if (hoursBefore === 0) return pins.checked(chain, question, await ask(hour, question))
  const block: ChainQuestion = { kind: 'block' }
  const [own, earlier] = await Promise.all([ask(hour, block), ask(hourAfter(hour, -hoursBefore), question)])
  const checked = pins.checked(chain, block, own)
  return checked.kind === 'faulted' ? checked : pins.checkedEarlier(chain, question, earlier, hoursBefore)
}

async function priceReply(
  name: string,
  { token, hour, pins, signal }: AskingRun,
  { prices, meeting }: ReplyDeps,
): Promise<PriceReply> {
  try {
    const waited = prices.price(name, hour, signal)
    void meeting.ask(hour, token)
    const price = await waited
    pins.add(price.pins)
    return { kind: 'price', price }
  } catch (error) {
    if (error instanceof Fault && error.code === 'chain-reorganized') prices.forget(name, hour)
    return { kind: 'faulted', fault: faultRecord(faultOf(error, name)) }
  }
}

function faultOf(error: unknown, name: string): Fault {
  return error instanceof Fault ? error : new Fault('price-missing', `the price ${name} cannot be read`)
}
