import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Devchain } from '../../src/devchain/devchain.ts'
import type { Time } from '../../src/edge/time.ts'
import { hourAfter, hourAt } from '../../src/model/hour.ts'
import { configText } from './config.ts'
import { type Daemon, freePort, startDaemon } from './daemon.ts'
import { DemoError, type Ending } from './ending.ts'
import { type DemoProtocol, demoPrices, demoProtocols } from './protocols.ts'
import type { Terminal } from './terminal.ts'

const pastHours = 48
const preferredPort = 9464

export interface DemoContext {
  readonly time: Time
  readonly terminal: Terminal
  readonly ending: Ending
}

/** The daemon on the chain, running. */
export interface Running {
  readonly chain: Devchain
  readonly daemon: Daemon
  readonly protocols: readonly DemoProtocol[]
  /** Of the status server, without a trailing slash. */
  readonly page: string
}

/** Starts the chain and the daemon on it; both end with the stack, and their files go. */
export async function start(context: DemoContext, stack: AsyncDisposableStack): Promise<Running> {
  const { time, terminal, ending } = context
  const folder = await mkdtemp(join(tmpdir(), 'tidegauge-demo-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  ending.signal.throwIfAborted()
  const nowMs = time.nowMs()
  const chain = await startChain(context, stack, nowMs)

  const protocols = demoProtocols(chain.addresses)
  const prices = demoPrices(chain.addresses)
  const port = await freePort(preferredPort)
  if (port !== preferredPort) terminal.say(`Port ${preferredPort} is taken: the page is on port ${port}.`)
  const files = { config: join(folder, 'tidegauge.yaml'), log: join(folder, 'daemon.log') }
  await writeFile(
    files.config,
    configText({
      chain: { id: chain.chainId, url: chain.url },
      protocols,
      prices,
      since: hourAfter(hourAt(nowMs), -pastHours),
      port,
    }),
  )
  terminal.say(`Starting the daemon. Configuration: ${files.config}`)
  terminal.say(`Its log: ${files.log}`)
  ending.signal.throwIfAborted()
  const daemon = startDaemon(files, time)
  stack.defer(() => daemon.stop({ isAsked: ending.reachesChildren }))
  const died = (how: string) => new DemoError(`The daemon ended: ${how}. Its last lines:`, daemon.tail())
  stack.use(ending.watch(daemon.ended, died))
  return { chain, daemon, protocols, page: `http://127.0.0.1:${port}` }
}

/** Starts the chain and lets it live; it ends with the stack. */
async function startChain(
  { time, terminal, ending }: DemoContext,
  stack: AsyncDisposableStack,
  nowMs: number,
): Promise<Devchain> {
  terminal.say(`Building a local chain with ${pastHours} hours of past.`)
  const chain = await Devchain.build({ nowMs, hours: pastHours, signal: ending.signal }).catch(async error => {
    const why = error instanceof Error ? error.message : error
    await ending.die(new DemoError(`The local chain cannot be built: ${why}`))
    throw error
  })
  stack.use(chain)
  const stopped = new AbortController()
  const living = chain.live(time, stopped.signal).catch(async error => {
    if (!stopped.signal.aborted) await ending.die(new DemoError(`The local chain does not go on: ${error}`))
  })
  stack.defer(async () => {
    stopped.abort()
    await living
  })
  return chain
}
