import type { IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { listening } from './listening.ts'

/** A POST as it came. */
export interface ReceivedPost {
  /** With its query. */
  readonly path: string
  readonly body: string
  readonly headers: IncomingHttpHeaders
}

/** An answer of a receiver. */
export interface ReceiverAnswer {
  readonly status: number
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A server that takes reports; it ends with the test. */
export interface Receiver {
  /** Without a trailing slash. */
  readonly url: string
  readonly posts: readonly ReceivedPost[]
  /** Resolves when so many posts have come. */
  until(count: number): Promise<void>
}

/** @param answerOf the answer to a post, `hang` for none; by default 200 OK */
export async function receiver(
  answerOf: (post: ReceivedPost, index: number) => ReceiverAnswer | 'hang' | undefined = () => undefined,
): Promise<Receiver> {
  const posts: ReceivedPost[] = []
  const waiting = new Set<() => void>()
  const url = await listening(async (request, response) => {
    const body = await text(request)
    const post = { path: request.url ?? '', body, headers: request.headers }
    if (request.method !== 'POST') return void response.writeHead(405).end()
    posts.push(post)
    const answer = answerOf(post, posts.length - 1) ?? { status: 200 }
    for (const wake of waiting) wake()
    waiting.clear()
    if (answer !== 'hang') response.writeHead(answer.status, answer.headers).end(answer.body ?? 'OK')
  })
  return {
    url,
    posts,
    async until(count) {
      while (posts.length < count) await new Promise<void>(resolve => waiting.add(resolve))
    },
  }
}
