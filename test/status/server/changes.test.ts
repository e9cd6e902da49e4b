import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../../src/edge/time.ts'
import { listenersMax, startStatus } from '../../../src/status/server/server.ts'
import { emptySnapshot } from '../../support/snapshot.ts'

/** A status server whose looks go on one at a time. */
class Bench {
  state = 'first'
  looks = 0
  #wake: (() => void) | undefined
  #asleep = Promise.withResolvers<void>()

  async start(): Promise<string> {
    const server = await startStatus({
      host: '127.0.0.1',
      port: 0,
      snapshot: () => emptySnapshot,
      ready: () => emptySnapshot.ready,
      history: async () => undefined,
      state: async () => {
        this.looks += 1
        if (this.state === 'broken') throw new Error('disk')
        return this.state
      },
      exposition: async () => '',
      time: {
        ...systemTime,
        sleep: (_, signal) =>
          new Promise((resolve, reject) => {
            this.#wake = resolve
            signal?.addEventListener('abort', () => reject(signal.reason))
            this.#asleep.resolve()
          }),
      },
    })
    onTestFinished(() => server.stop())
    this.stop = () => server.stop()
    return server.url
  }

  stop = async (): Promise<void> => {}

  /** Lets one more look happen; resolves when it is over. */
  async look(): Promise<void> {
    await this.#asleep.promise
    this.#asleep = Promise.withResolvers()
    this.wake()
  }

  /** Ends the present pause, if there is one. */
  wake(): void {
    this.#wake?.()
  }
}

async function listen(url: string, host?: string): Promise<IncomingMessage> {
  const page = await (await fetch(url)).text()
  const call = get(`${url}${/data-events="([^"]+)"/.exec(page)?.[1]}`, { headers: host === undefined ? {} : { host } })
  onTestFinished(() => void call.destroy())
  const [answer] = await once(
    call.on('error', () => {}),
    'response',
  )
  answer.setEncoding('utf8')
  return answer
}

/** Reads until a text has arrived. @returns all that was read */
async function readUntil(answer: IncomingMessage, wanted: string): Promise<string> {
  let text = ''
  for await (const part of answer.iterator({ destroyOnReturn: false })) {
    text += part
    if (text.includes(wanted)) break
  }
  return text
}

describe('the changes of the page', () => {
  it('are an event at once, one when the state is another, and a comment now and then', async () => {
    const bench = new Bench()
    const answer = await listen(await bench.start())
    expect(answer.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    })
    expect(await readUntil(answer, 'first')).toBe('retry: 2000\n\ndata: first\n\n')
    for (let count = 0; count < 8; count += 1) await bench.look()
    expect(await readUntil(answer, 'here')).toBe(': still here\n\n')
    bench.state = 'second'
    await bench.look()
    expect(await readUntil(answer, 'second')).toBe('data: second\n\n')
    bench.state = 'broken'
    await bench.look()
    expect(await readUntil(answer, 'data')).toBe('data: unreadable\n\n')
  })

  it('are looked for once for all pages, and not at all while none listens', async () => {
    const bench = new Bench()
    const url = await bench.start()
    await fetch(url)
    expect(bench.looks).toBe(0)
    const first = await listen(url)
    await readUntil(first, 'first')
    const second = await listen(url)
    expect(await readUntil(second, 'first')).toContain('data: first')
    expect(bench.looks).toBe(1)
    first.destroy()
    second.destroy()
    // The server learns of it at some time: from then on a wake has no look after it.
    let before = -1
    for (let count = 0; count < 100 && bench.looks !== before; count += 1) {
      before = bench.looks
      bench.wake()
      await fetch(url)
    }
    expect(bench.looks).toBe(before)
    await readUntil(await listen(url), 'first')
    expect(bench.looks).toBe(before + 1)
  })

  it('are for a number of pages, and for those that may ask', async () => {
    const bench = new Bench()
    const url = await bench.start()
    expect((await listen(url, 'rebound.example.com')).statusCode).toBe(403)
    const answers = await Promise.all(Array.from({ length: listenersMax }, () => listen(url)))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => 200))
    expect((await listen(url)).statusCode).toBe(503)
    answers[0]?.destroy()
    await readUntil(answers[1] ?? (await listen(url)), 'first')
    expect((await fetch(`${url}/events`)).status, 'a page that could not read the token').toBe(403)
    const head = await fetch(`${url}/events`, { method: 'HEAD' })
    expect(head.status).toBe(404)
  })

  it('end when the server stops', async () => {
    const bench = new Bench()
    const answer = await listen(await bench.start())
    await readUntil(answer, 'first')
    const ended = once(answer, 'close')
    answer.resume().on('error', () => {})
    await bench.stop()
    await ended
  })
})
