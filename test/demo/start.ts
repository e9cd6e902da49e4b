import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Time } from '../../src/edge/time.ts'
import { hourAfter, hourAt } from '../../src/model/hour.ts'
import { buildScene, type Scene } from '../support/scene.ts'
import { configText } from './config.ts'
import { type Daemon, freePort, startDaemon } from './daemon.ts'
import { DemoError, type Ending } from './ending.ts'
import { guard } from './guard.ts'
import { keepAlive } from './life.ts'
import { type DemoProtocol, demoPrices, demoProtocols } from './protocols.ts'
import type { Terminal } from './terminal.ts'

const pastHours = 48
const preferredPort = 9464

export interface DemoContext {
  readonly time: Time
  readonly terminal: Terminal
  readonly ending: Ending
}

/** The daemon on the scene, running. */
export interface Running {
  readonly scene: Scene
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
  const scene = await startScene(context, stack, { nowMs })

  const protocols = demoProtocols(scene.addresses)
  const prices = demoPrices(scene.addresses)
  const port = await freePort(preferredPort)
  if (port !== preferredPort) terminal.say(`Port ${preferredPort} is taken: the page is on port ${port}.`)
  const files = { config: join(folder, 'tidegauge.yaml'), log: join(folder, 'daemon.log') }
  const chain = { id: scene.chainId, url: scene.url }
  await writeFile(
    files.config,
    configText({ chain, protocols, prices, since: hourAfter(hourAt(nowMs), -pastHours), port }),
  )
  terminal.say(`Starting the daemon. Configuration: ${files.config}`)
  terminal.say(`Its log: ${files.log}`)
  ending.signal.throwIfAborted()
  const daemon = startDaemon(files, time)
  stack.use(guard(daemon.pid))
  stack.defer(() => daemon.stop({ isAsked: ending.reachesChildren }))
  const died = (how: string) => new DemoError(`The daemon ended: ${how}. Its last lines:`, daemon.tail())
  stack.use(ending.watch(daemon.ended, died))
  return { scene, daemon, protocols, page: `http://127.0.0.1:${port}` }
}

/**
 * Starts the chain and keeps it alive; it ends with the stack.
 *
 * @param parts the instant that its past ends at, by default now; the port of the node, by default one that the system picks
 */
export async function startScene(
  context: DemoContext,
  stack: AsyncDisposableStack,
  parts: { readonly nowMs?: number; readonly port?: number } = {},
): Promise<Scene> {
  const { time, terminal, ending } = context
  terminal.say(`Building a local chain with ${pastHours} hours of past.`)
  const scene = await buildScene({ nowMs: time.nowMs(), ...parts, hours: pastHours, signal: ending.signal }).catch(
    async error => {
      const why = error instanceof Error ? error.message : error
      await ending.die(new DemoError(`The local chain cannot be built: ${why}`))
      throw error
    },
  )
  stack.use(guard(scene.pid))
  stack.defer(() => scene.stop())
  stack.use(ending.watch(scene.ended, () => new DemoError('The local chain ended.')))
  stack.use(keepAlive(scene, time, ending))
  ending.signal.throwIfAborted()
  return scene
}
