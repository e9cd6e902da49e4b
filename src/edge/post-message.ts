import { type AnswerTimes, answerTimes } from '../model/answer-times.ts'
import { basicAuthorization } from '../model/host.ts'
import { type PeerText, peerText } from '../model/text.ts'
import { isTransientStatus } from '../model/verdict.ts'
import { HttpExchange } from './http-exchange.ts'
import { networkFix, networkReason } from './network-reason.ts'
import type { Time } from './time.ts'

/** Bytes read of an answer. */
const bytesMax = 65_536

/** A message for a server, which is sent in one POST. */
export interface Post {
  /** Whole address, credentials and query included. Secret. */
  readonly url: string
  readonly contentType: string
  readonly body: string
}

/** Answer to a message, or why there is none. */
export type PostAnswer =
  | ({
      readonly kind: 'answered'
      readonly status: number
      /** Empty when it is too long or broke off. */
      readonly text: PeerText
    } & Pick<AnswerTimes, 'notBeforeMs'>)
  | {
      readonly kind: 'unanswered'
      readonly reason: string
      /** Instruction, where the reason is a known one. */
      readonly fix?: string | undefined
    }

/** Dependencies of `postMessage`. */
interface PostDeps {
  readonly time: Time
  /** Time limit, whole answer included, in milliseconds. */
  readonly timeoutMs: number
  readonly stop?: AbortSignal
}

/**
 * Posts a message on a connection of its own, which is closed afterwards. Redirects are not followed: the message must
 * not go elsewhere. Never rejects; a reason names neither the address nor a part of it.
 */
export async function postMessage(post: Post, { time, timeoutMs, stop }: PostDeps): Promise<PostAnswer> {
  const url = new URL(post.url)
  const exchange = new HttpExchange({ url: url.origin, timeoutMs, connections: 1, time })
  const authorization = basicAuthorization(url)
  const headers = {
    'content-type': post.contentType,
    // Without this header any encoding would be acceptable.
    'accept-encoding': 'identity',
    'user-agent': 'tidegauge',
    ...(authorization !== undefined && { authorization }),
  }
  try {
    const sentMs = time.nowMs()
    const path = `${url.pathname}${url.search}`
    const {
      status,
      headers: answerHeaders,
      text,
    } = await exchange.ask({ method: 'POST', path, headers, body: post.body, bytesMax, stop })
    const { notBeforeMs } = answerTimes(answerHeaders, { sentMs, receivedMs: time.nowMs() })
    return { kind: 'answered', status, text: peerText(text ?? ''), ...(notBeforeMs !== undefined && { notBeforeMs }) }
  } catch (error) {
    return { kind: 'unanswered', reason: networkReason(error), fix: networkFix(error) }
  } finally {
    await exchange.close()
  }
}

/** Whether the same message may be accepted later: the server does not answer, fails, or asks to wait. */
export function mayBeAcceptedLater(answer: PostAnswer): boolean {
  return answer.kind === 'unanswered' || isTransientStatus(answer.status)
}
