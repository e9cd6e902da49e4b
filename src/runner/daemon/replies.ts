import type { Chains } from '../../chain/reads.ts'
import { Fault, faultRecord } from '../../model/fault.ts'
import { type Hour, hourAfter } from '../../model/hour.ts'
import type { Ask, ChainAsk, ChainQuestion, ChainReply, PriceReply, Reply, RunQuestion } from '../messages.ts'
import { replyFromChain } from './chain-replies.ts'
import type { Meeting } from './meeting.ts'
import type { Prices } from './prices.ts'
import type { RunBlocks } from './run-blocks.ts'

/** A run that asks. */
export interface AskingRun {
  /** Token of the run. */
  readonly token: string
  readonly hour: Hour
  readonly pins: RunBlocks
  /** Aborted when the run is over. */
  readonly signal: AbortSignal
}

/** Dependencies of replies on the daemon. */
export interface ReplyDeps {
  readonly chains: Chains
  readonly prices: Prices
  readonly meeting: Meeting
}

/** Questions of one message: for prices first, whose runs join the hour's meeting before a question of a chain ends it. */
export function inOrderOfMeeting(asks: readonly Ask[]): readonly Ask[] {
  const isOfPrice = (ask: Ask) => 'price' in ask
  return [...asks.filter(isOfPrice), ...asks.filter(ask => !isOfPrice(ask))]
}

/** Answers a run's question. Never rejects: a failure is a reply, too. */
export function replyTo(question: RunQuestion, run: AskingRun, deps: ReplyDeps): Promise<Reply['reply']> {
  return 'price' in question ? priceReply(question.price, run, deps) : chainReply(question, run, deps)
}

async function chainReply(
  { chain, question, hoursBefore = 0 }: ChainAsk,
  { token, hour, pins, signal }: AskingRun,
  { chains, meeting }: ReplyDeps,
): Promise<ChainReply> {
  await meeting.ask(hour, token)
  const ask = (at: Hour, question: ChainQuestion) => replyFromChain(chains, chain, at, question, signal)
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
