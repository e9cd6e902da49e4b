import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import { faultLine } from '../model/fault.ts'
import { pollMs } from '../model/limits.ts'
import type { OutboxHealth } from '../outbox/contract/health.ts'
import type { Log } from '../telemetry/log.ts'
import type { Delivery } from './delivery.ts'
import { breakerBaseMs } from './gate/limits.ts'

/**
 * The delivery loop. Each destination flushes once a second, independently of the others, until the loop is stopped; metrics
 * that another process has put into the outbox are found, too.
 */
export class DeliveryLoop {
  readonly #loops: readonly Loop[]

  /** @param health sees the errors of the outbox, and makes room where that helps */
  constructor(deliveries: readonly Delivery[], time: Time, log: Log, health: LoopHealth) {
    this.#loops = deliveries.map(delivery => new Loop(signal => turn(delivery, health, time, log, signal)))
    for (const loop of this.#loops) loop.start()
  }

  /** Resolves when no push is under way any more. Each gets its answer, so that nothing is sent again later. */
  async stop(): Promise<void> {
    await Promise.all(this.#loops.map(loop => loop.stop()))
  }
}

async function turn(delivery: Delivery, health: LoopHealth, time: Time, log: Log, signal: AbortSignal): Promise<void> {
  // Only the outbox makes a flush reject. It may be mended by the next one.
  const restMs = await delivery.flush('due', signal, neverBrokenOff).then(
    () => pollMs,
    error => {
      const seen = health.recover(error)
      if (seen === 'room-made') return 0
      if (seen === 'other')
        log.error({ fault: faultLine(health.explain(error)) }, 'delivery: the outbox cannot be read or written')
      return breakerBaseMs
    },
  )
  await time.sleep(restMs, signal).catch(() => {})
}

type LoopHealth = Pick<OutboxHealth, 'recover' | 'explain'>

/** A push ends with its own time-out. */
const neverBrokenOff = new AbortController().signal
