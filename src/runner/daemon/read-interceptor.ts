import type { Hour } from '../../model/hour.ts'
import type {
  ChainQuestion,
  ChainReply,
  HttpRead,
  HttpReply,
  ListReply,
  PriceReply,
  ShownRequests,
} from '../messages.ts'

/** A question about a chain with the hour it is as of. */
export interface ChainRead {
  readonly chain: string
  /** The hour that is read, which may lie before that of the run. */
  readonly hour: Hour
  readonly question: ChainQuestion
}

/** A run that reads. */
export interface ReadingRun {
  /** Token of the run. */
  readonly token: string
  readonly hour: Hour
}

/**
 * Stands between the runs of collectors and their sources: it records what they read, or answers in place of the sources.
 * The runs of prices and lists are not intercepted: each is one answer. No method rejects.
 */
export interface ReadInterceptor {
  /** Whether off-chain requests are sent and come here with their answers, or come here unsent. */
  readonly requests: ShownRequests
  /** @param ask asks the chain */
  chain(run: ReadingRun, read: ChainRead, ask: () => Promise<ChainReply>): Promise<ChainReply>
  /** @param ask reads the price */
  price(run: ReadingRun, name: string, ask: () => Promise<PriceReply>): Promise<PriceReply>
  /** @param ask reads the list */
  list(run: ReadingRun, name: string, ask: () => Promise<ListReply>): Promise<ListReply>
  http(run: ReadingRun, read: HttpRead): Promise<HttpReply>
}
